-- --list: what can be probed, of files and of processes, with and without privilege.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local function lines(text)
  local n = 0
  for _ in text:gmatch "\n" do n = n + 1 end
  return n
end

local FILE = "./build/targets/usdt"
local run = target.uplua("--list usdt:" .. FILE)
is(run.status, 0, "a file's USDT probes")
is(lines(run.out), 10, "each once, however many places it has")
like(run.out, "^usdt:/%S+/build/targets/usdt:app:counter\nusdt:", "in the file's order, as a spec")
like(run.out, "\nusdt:/%S+:other:counter\n$", "of all providers")

run = target.uplua("-v --list " .. FILE:gsub("^", "usdt:") .. ":app:w*")
is(lines(run.out), 2, "a pattern, verbose")
like(run.out, "\n    1 place: arg0 i8 .*, arg1 u8 .*, arg2 i16 .*, arg3 u16 .*, arg4 i32 .*, arg5 u32 .*, arg6 i64 .*, arg7 u64 %S+\n$", "all sizes and signs")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:places")
like(run.out, "\n    2 places: arg0 i32 .-\n    1 place: arg0 i32 .-\n    1 place: arg0 i32 [^\n]+\n$", "places with equal arguments are one line")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:guarded")
like(run.out, "\n    1 place, with a semaphore: arg0 i32 ", "a semaphore")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:none")
like(run.out, "\n    1 place, no arguments\n$", "no arguments")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:fraction")
like(run.out, "arg1 %? 8f@", "a fraction has no type in handlers")
run = target.uplua("--list usdt:" .. FILE .. ":other")
is(lines(run.out), 1, "a provider")

run = target.shell([[
  mkfifo "$D/in"
  build/targets/usdt 1 wait <"$D/in" >"$D/target" &
  exec 7>"$D/in"
  until grep -q ready "$D/target"; do sleep 0.01; done
  ./uplua --list usdt:$! >"$D/out" 2>"$D/err"
  ./uplua --list "usdt:$!:oth*:*" >>"$D/out" 2>>"$D/err"
  ./uplua -p $! --list "usdt" >>"$D/out" 2>>"$D/err"
  exec 7>&-
  wait
]])
is(run.err, "", "a process's")
local _, counters = run.out:gsub(":other:counter\n", "")
is(counters, 3, "named, by a pattern, and as the target")
run = target.uplua("--list usdt -- " .. FILE)
is(run.status == 0 and lines(run.out), 10, "a command's")

if os.execute "command -v setpriv >/dev/null" == 0 then
  run = target.shell [[
    cp uplua build/targets/usdt "$D/" && chmod 755 "$D" && cd "$D" || exit 1
    setpriv --reuid 65534 --regid 65534 --clear-groups ./uplua --list usdt:./usdt:app:text >out 2>err
  ]]
  is(run.err, "", "without privilege")
  like(run.out, "^usdt:/%S+/usdt:app:text\n$", "the same")
end

for _, case in ipairs {
  { "usd:./uplua", 2, "no such kind of probe: usd; did you mean usdt%?" },
  { "usdt", 2, "needs a PID or a file" },
  { "usdt:/nope", 1, "no such file: /nope" },
  { "usdt:4194304", 1, "no process 4194304" },
  { "usdt:" .. FILE .. ":nope", 1, "usdt:./build/targets/usdt:nope: there are no such USDT probes" },
  { "usdt:/bin/sh", 1, "there are no such USDT probes" },
  { "usdt:/etc/passwd", 1, "it is not an ELF program or library" },
} do
  run = target.uplua("--list '" .. case[1] .. "'")
  is(run.status, case[2], case[1] .. ": status")
  like(run.err, case[3], case[1] .. ": " .. case[3])
end
target.done()

tap.done_testing()
