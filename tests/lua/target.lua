-- Runs uplua on the programs of tests/targets as a user would: as commands, or by PID while they wait.
local core = require "uplua.core"
local ffi  = require "ffi"

ffi.cdef [[
  typedef struct tests_pipe tests_pipe;
  tests_pipe *popen(const char *command, const char *mode);
  size_t fread(void *buffer, size_t size, size_t count, tests_pipe *pipe);
  int pclose(tests_pipe *pipe);
]]

local target = {}

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end
target.quote = quote

-- The file's text, "" where there is none.
local function read(path)
  local file = io.open(path)
  if not file then return "" end
  local text = file:read "*a"
  file:close()
  return text
end
target.read = read

-- A folder for the run's files, removed by the next call of done().
local folder

function target.folder()
  if not folder then
    local pipe = io.popen "mktemp -d"
    folder = pipe:read "*l"
    pipe:close()
  end
  return folder
end

function target.done()
  if folder then os.execute(("rm -rf %s %s"):format(quote(folder), quote(folder .. "-own"))) end
  folder = nil
end

-- Copies PROGRAM, or a library, to a path of this run's own, of a name that no other has and that fits e.comm: what
-- traces the whole machine does not see there what other tests run. Until done().
function target.copy(program)
  local own = target.folder() .. "-own"
  local pipe = io.popen(("mkdir -p %s && ls %s | wc -l"):format(quote(own), quote(own)))
  local path = ("%s/%s%d-%s"):format(own, program:match "([^/]+)$":sub(1, 3), pipe:read "*n", folder:match "%w+$")
  pipe:close()
  assert(os.execute(("cp %s %s"):format(quote(program), quote(path))) == 0, program)
  return path
end

-- Removes the files in it.
local function clear()
  for _, name in ipairs(core.system.names(target.folder())) do os.remove(folder .. "/" .. name) end
end

-- What a run has left there. WAITED: its status, as wait(2) has it; NOISE: what the shell itself printed.
local function result(waited, noise)
  local signal = waited % 128
  return { out = read(folder .. "/out"), err = read(folder .. "/err"), target = read(folder .. "/target"),
    status = signal > 0 and 128 + signal or math.floor(waited / 256), noise = noise }
end

-- Why watchpoints on ACCESS ("w", which nil means, "rw", "x") cannot be tested here, as a trial has found; nil where
-- they can.
function target.watch_problem(access) return (require "uplua.probe.watch_trial".problem(access or "w")) end

-- Whether they can; if not, that is said as a skipped check.
function target.watches(access)
  local problem = target.watch_problem(access)
  if problem then require "tap".skip(problem) end
  return not problem
end

-- Whether a feature of `uplua --info` is used here: the kernel has it, UPLUA_WITHOUT does not say otherwise, and
-- watchpoints are found to work.
function target.has(feature)
  if feature == "watchpoint" and target.watch_problem() then return false end
  for _, known in ipairs(core.system.features()) do
    if known.name == feature then return known.available end
  end
  error("no such feature: " .. feature, 2)
end

-- The most samples a second that the kernel permits. It lowers that itself where taking them costs too much, as on a
-- busy machine.
function target.max_hertz() return core.event.max_rate() end

-- For how long the machine's CPUs have been taken away from it, ns: the kernel's clocks of threads do not count that,
-- and clocks of the time do (proc(5), "steal").
function target.stolen()
  local _, _, ticks = read "/proc/stat":find "^cpu +%d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+)"
  return (ticks or 0) * 10e6
end

-- WANTED samples a second, or fewer where the kernel might not permit as many any more.
function target.hertz(wanted) return math.min(wanted, math.ceil(target.max_hertz() / 2)) end

-- For scripts: tests/await.sh, and with it: wait until the target, $program, has said a word, and until uplua, $uplua,
-- traces, or has ended without.
local FUNCTIONS = read "tests/await.sh" .. [[
until_said() { await "grep -q '$1' \"\$D/target\"" $program; }
until_traces() { await 'grep -q tracing "$D/err"' $uplua; }
until_traces_or_ends() { await 'grep -q tracing "$D/err" || ! kill -0 $uplua 2>/dev/null'; }
]]

-- Waits until CONDITION(), which is looked at a hundred times a second, and returns what that returns: not nil or
-- false. Raises that it waited in vain for WHAT after half a minute of looks.
function target.await(what, condition)
  for _ = 1, 3000 do
    local got = condition()
    if got then return got end
    os.execute "sleep 0.01"
  end
  error("waited in vain for " .. what, 2)
end

-- What COMMAND prints until nobody has that pipe open any more, and its status, as wait(2) has it: io.popen has none.
local function capture(command)
  local pipe, buffer, parts = ffi.C.popen(command, "r"), ffi.new "char[4096]", {}
  repeat
    local size = tonumber(ffi.C.fread(buffer, 1, 4096, pipe))
    parts[#parts + 1] = ffi.string(buffer, size)
  until size == 0
  return table.concat(parts), ffi.C.pclose(pipe)
end

-- Runs a SCRIPT of bash; it finds the folder in $D, and the functions above. Returns { out, err, target (the files of
-- these names), status, noise (what it printed itself) }.
function target.shell(script)
  local D = target.folder()
  clear()
  local file = assert(io.open(D .. "/script", "w"))
  file:write(FUNCTIONS, script)
  file:close()
  local noise, waited = capture(("D=%s exec bash %s/script 2>&1"):format(quote(D), quote(D)))
  local r = result(waited, noise)
  for line in read(folder .. "/waited"):gmatch "[^\n]+" do require "tap".ok(false, line) end
  return r
end

-- ./uplua ARGUMENTS, words of sh that find the folder in $D, with standard output and error kept. What ends the shell
-- ends uplua: forks are what most runs take longest for.
function target.uplua(arguments)
  clear()
  local waited = os.execute(('export D=%s; exec ./uplua %s >"$D/out" 2>"$D/err" </dev/null')
    :format(quote(folder), arguments))
  return result(waited, "")
end

-- ./uplua on a file with the script TEXT, uplua's OPTIONS in front of it (none), and ARGUMENTS behind it.
function target.script(text, arguments, options)
  local path = target.folder() .. "-script.lua"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local run = target.uplua(("%s %s %s"):format(options or "", path, arguments))
  os.remove(path)
  return run
end

-- Makes a cgroup, which the caller removes: its folder, or nil where none can be made, which is said as a skipped
-- check.
function target.cgroup()
  local made = target.shell([[
    for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
      [ -e $root/cgroup.controllers ] && mkdir $root/uplua-test-$$ && echo $root/uplua-test-$$ >"$D/out" && exit 0
    done]])
  local cgroup = made.out:match "%S+"
  if not cgroup then
    require "tap".skip("no cgroup can be made: " ..
      (made.noise ~= "" and made.noise or "no cgroup2 is mounted at /sys/fs/cgroup"))
  end
  return cgroup
end

-- Whether a terminal can be opened, which needs a devpts at /dev/pts; if not, that is said as a skipped check.
function target.has_terminal()
  local try = target.shell "build/targets/pty true </dev/null"
  if try.status ~= 0 then require "tap".skip("no terminal can be opened: " .. try.noise) end
  return try.status == 0
end

-- Starts COMMAND, which prints "ready" and waits for a byte on its standard input; runs ./uplua ARGUMENTS -- its PID;
-- once that says that it traces, gives the byte, waits until COMMAND has printed another line, and sends uplua SIGINT
-- (ENDS true: ends the command instead).
function target.attached(command, arguments, ends)
  return target.shell(([[
    set -m # without job control, bash starts what runs beside it with SIGINT ignored
    mkfifo "$D/in"
    %s <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    ./uplua %s -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces_or_ends
    printf x >&7
    await '[ $(wc -l <"$D/target") -gt 1 ]'
    %s
    wait $uplua
    status=$?
    exec 7>&-
    wait $program
    exit $status
  ]]):format(command, arguments, ends and "exec 7>&-" or "kill -INT $uplua"))
end

-- Runs ./uplua ARGUMENTS for SECONDS, once it traces, on COMMAND, which is at work before, during and after.
function target.at_work(command, arguments, seconds)
  return target.shell(([[
    set -m
    %s >/dev/null &
    program=$!
    await '[ "$(cut -d " " -f 14 /proc/$program/stat)" -ge 5 ]' $program # ticks of its own code: it is past its start
    ./uplua %s -- $program >"$D/out" 2>"$D/err" &
    uplua=$!
    until_traces_or_ends
    sleep %s
    kill -INT $uplua
    wait $uplua
    status=$?
    kill $program
    exit $status
  ]]):format(command, arguments, seconds))
end

-- The lines of OUT that begin with KIND, sorted, without that.
function target.lines(out, kind)
  local list = {}
  for line in out:gmatch("%f[^\n%z]" .. kind .. "\t([^\n]*)") do list[#list + 1] = line end
  table.sort(list)
  return table.concat(list, "\n")
end

-- MAKE(thread, i) for each of COUNT times, from 0, of each of THREADS threads, as lines, sorted.
function target.expected(threads, count, make)
  local list = {}
  for thread = 0, threads - 1 do
    for i = 0, count - 1 do list[#list + 1] = make(thread, i) end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

-- The address of "Linux version …" in the kernel, as text. Where its symbol is not listed, a handler looks for it among
-- the constants.
function target.banner()
  local constants
  for line in io.lines "/proc/kallsyms" do
    local address, name = line:match "^(%x+) . ([%w_]+)$"
    if name == "linux_banner" then return "0x" .. address end
    if name == "__start_rodata" then constants = address end
  end
  local run = target.uplua(([[-e 'found = hash() uprobe("./build/targets/strings:text", function(e)
      for i = 0, 9999 do
        local at = 0x%sULL + (e.arg1 * 10000 + i) * 32
        local s = kstr(at, 16)
        if s and s:starts "Linux version " and not found[1] then found[1] = at end
      end
    end) at_exit(function() printf("%%x\n", found:get(1) + 0LL) end)' -- ./build/targets/strings]]):format(constants))
  return "0x" .. run.out:match "ffff%x+"
end

return target
