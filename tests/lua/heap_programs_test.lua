-- Programs of others, each as it is and with a leak that a preloaded library injects: what was injected is proven lost,
-- and the program goes on and gives the answers that it always gives. uplua attaches in the middle. With UPLUA_LONG,
-- which make test-long sets.
local tap    = require "tap"
local target = require "target"
local ok, is = tap.ok, tap.is

if not os.getenv "UPLUA_LONG" then tap.skip_rest "it takes minutes: make test-long" end
tap.compiler()

local LOST, BYTES = 101, 72

-- postgres does not work for root.
local NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups "

-- Of each program: how it is started ($D is a folder), reading its standard input from a pipe; WORK, lines that it is
-- given before and after the look at it, and that are true once it has given ANSWER in $D/answer; BEFORE, what is done
-- first; AS, by whom; LAST, what ends it; KEPT, how many of the lost blocks its allocator may still have pointers to.
local PROGRAMS = {
  { "cc1", "$(gcc -print-prog-name=cc1) -quiet -o $D/answer -", package = "gcc", at_end = true,
    work = "int answer42;", answer = "answer42" },
  { "python3", "$(python3 -c 'import sys; print(sys.executable)') -c 'import sys\nfor line in sys.stdin: exec(line)'",
    work = "open('$D/answer', 'w').write(str(sum(len(str(i)) for i in range(20000))))", answer = "88890",
    last = "sys.exit()" },
  { "sqlite3", "sqlite3 :memory:",
    work = "create table if not exists t(x); insert into t select 7 from t union all select 7; "
      .. "select 6 * max(x) from t;", answer = "42", last = ".quit" },
  { "vim", "vim -u NONE -e -s", work = "call writefile([string(6 * 7)], '$D/answer')", answer = "42", last = "qa!" },
  { "postgres", "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/postgres --single -D $D/data postgres",
    package = "postgresql", as = NOBODY, work = "select 6 * 7 as answer, count(*) from pg_class;", answer = "42",
    before = "chmod 755 $D; chmod 666 $D/*; rm -rf $D/data; mkdir $D/data; chown 65534 $D/data; "
      .. NOBODY .. "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/initdb -D $D/data >/dev/null 2>&1" },
  { "redis-server", "redis-server --port 0 --unixsocket $D/socket --save ''", package = "redis-server",
    client = "redis-cli -s $D/socket eval 'for i = 1, 2000 do redis.call(\"set\", i, i) end "
      .. "return redis.call(\"get\", 42)' 0", answer = "42", kept = 16 },
  { "nginx", "nginx -p $D -c $D/nginx.conf", package = "nginx",
    client = "curl -s --unix-socket $D/socket http://x/", answer = "42", files = { ["nginx.conf"] = [[
daemon off; master_process off; pid $D/pid; error_log $D/log;
events {}
http { access_log off; server { listen unix:$D/socket; location / { return 200 "42"; } } }
]] } },
}

-- What to do for WORK: a line of input, or a client's call, until the answer is there.
local function work_of(program)
  local answered = ("grep -q %s \"$D/answer\""):format(program.answer)
  if program.client then
    return ("await %s $program\n"):format(target.quote(program.client .. ' >"$D/answer" 2>&1; ' .. answered))
  end
  local wait = ("await '%s' $program\n"):format(answered)
  local line = program.work:gsub('["\\]', "\\%0")
  return (': >"$D/answer"\necho "%s" >&7\n'):format(line) .. (program.at_end and "" or wait)
end

local function run(program, inject)
  local files = {}
  for name, content in pairs(program.files or {}) do
    files[#files + 1] = ("cat >\"$D/%s\" <<END\n%sEND\n"):format(name, content)
  end
  local script = ([[
    set -m
    mkfifo "$D/in" "$D/inject"
    : >"$D/injected"
    : >"$D/answer"
    FILES
    BEFORE
    ALIAS env INJECT="$D/inject" INJECTED="$D/injected" LD_PRELOAD=$PWD/build/targets/libinject.so COMMAND \
      <"$D/in" >"$D/answer" 2>"$D/target" &
    program=$!
    exec 7>"$D/in"
    await 'grep -q libinject /proc/$program/maps' $program
    WORK
    ./uplua mallocleak.lua --top 0 --stop=20s -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces
    WORK
    INJECTION
    kill -INT $uplua
    wait $uplua
    uplua_status=$?
    WORK
    LAST
    exec 7>&-
    wait $program
    echo $? >"$D/status"
    rm -rf "$D/data"
    grep -q ANSWER "$D/answer" || exit 96
    exit $uplua_status
  ]]):gsub("%u%u%u%u+", {
    FILES = table.concat(files), BEFORE = program.before or "", ALIAS = program.as or "", COMMAND = program[2],
    WORK = work_of(program), ANSWER = program.answer,
    INJECTION = inject and "printf x >\"$D/inject\"; await 'grep -q lost \"$D/injected\"' $program" or "",
    LAST = program.client and "kill -TERM $program" or program.last and "echo '" .. program.last .. "' >&7" or "",
  })
  return target.shell(script)
end

-- The blocks that are lost of those that injected() has allocated.
local function injected(r)
  local sum = 0
  for blocks, name in r.out:gmatch "\n   [%d,]+ bytes? in ([%d,]+) blocks? lost, [^\n]*\n%s+([^\n]*)" do
    if name:find "^injected%+" then sum = sum + tonumber((blocks:gsub(",", ""))) end
  end
  return sum
end

local only = os.getenv "PROGRAM" -- to look at one
for _, program in ipairs(PROGRAMS) do
  if only and only ~= program[1] then -- not asked for
  elseif program[1] == "cc1" or tap.has(program[1], program.package or program[1]) then
    local name = program[1]
    local r = run(program, false)
    is(r.status, 0, name .. ", as it is: it goes on, and answers " .. r.noise)
    is(injected(r), 0, name .. ", as it is: nothing was injected")
    r = run(program, true)
    is(r.status, 0, name .. ", with a leak: it goes on, and answers " .. r.noise)
    local found, kept = injected(r), program.kept or 0
    ok(found <= LOST and found >= LOST - kept, ("%s, with a leak: %d of %d blocks of %d bytes are proven lost"):format(
      name, found, LOST, BYTES))
  end
end

target.done()
tap.done_testing()
