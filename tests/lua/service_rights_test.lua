-- What a service may do once it is attached, and what those that have started it hear of it.
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

service.need()

local function file(name) return target.read(target.folder() .. "/" .. name) end

local NAMES = { "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG",
                "CAP_CHECKPOINT_RESTORE" }
local NUMBERS = { 39, 38, 19, 2, 34, 40 }

-- The capabilities NUMBERS as /proc/PID/status has them.
local function mask(numbers)
  local bits = 0ULL
  for _, number in ipairs(numbers) do bits = bit.bor(bits, bit.lshift(1ULL, number)) end
  return ("%016s"):format((tostring(bit.tohex(bits))))
end

local PROBE = 'local n = count() uprobe("CALLS:add3", function(e) n:inc() end) up.metric("n", n) '

-- What another program does, once told to: tries what is not allowed.
local TRIES = PROBE .. [[
  local ffi = require "ffi"
  ffi.cdef "long ptrace(int request, int pid, void *address, void *data); int kill(int pid, int signal);"
  local first = tonumber(os.getenv "FIRST")
  local function try(name, result) print(name, result, ffi.errno()) end
  every("50ms", function()
    if not io.open(os.getenv "D" .. "/go") then return end
    print("write", io.open("/etc/uplua-test", "w"))
    print("read", io.open(os.getenv "D" .. "/closed/file") and "yes")
    try("ptrace", tonumber(ffi.C.ptrace(0x4206, first, nil, nil)))
    try("kill", ffi.C.kill(first, 0))
    io.stdout:flush()
    exit()
  end)
]]

-- As another user, all that is left.
local run = target.shell(([[
  chmod 755 "$D"
  mkdir -m 700 "$D/closed"
  echo text >"$D/closed/file"
  sleep 1000 &
  first=$!
  D=$D FIRST=$first ./uplua --serve 0 --as nobody -e %s >"$D/out" 2>"$D/err" &
  uplua=$!
  await 'grep -q "runs on as nobody" "$D/err"' $uplua
  %s 1 >/dev/null
  cat /proc/$uplua/status >"$D/status"
  touch "$D/go"
  wait $uplua
  echo "status $?"
  kill $first
  rm -f /etc/uplua-test
]]):format(target.quote((TRIES:gsub("CALLS", service.CALLS))), service.CALLS))
like(run.noise, "status 0\n$", "a service that becomes another user")
like(run.err, "uplua: runs on as nobody with CAP_BPF, [^\n]*%(%-%-keep: with all rights%)\n", "… says what it keeps")
local status = file "status"
like(status, "\nUid:\t65534\t65534\t65534\t65534\n", "… is that user")
like(status, "\nNoNewPrivs:\t1\nSeccomp:\t2\n", "… and gains nothing by what it executes")
local kept, held = {}, {} -- what this machine lets root have
for i, name in ipairs(NAMES) do
  if run.err:find(name .. "[ ,]") then kept[#kept + 1], held[#held + 1] = NUMBERS[i], name end
end
ok(#kept >= 4, "… of its capabilities")
is(status:match "\nCapEff:\t(%x+)", mask(kept), "… these are the ones that it has")
is(status:match "\nCapPrm:\t(%x+)", mask(kept), "… and may have")
is(status:match "\nCapBnd:\t(%x+)", mask(kept), "… and what it executes may have")
like(run.out, "write\tnil\t/etc/uplua%-test: Permission denied", "a file of root's cannot be written")
like(run.out, "read\tyes\n", "… but read")
like(run.out, "ptrace\t%-1\t1\n", "processes cannot be traced")
like(run.out, "kill\t%-1\t1\n", "… nor be sent a signal")
like(run.out, "\nn: 23\n$", "… and what was attached counts")

-- As the same user, and with all rights.
run = service.served(PROBE, [[
  await 'grep -q "runs on with" "$D/err"' $uplua
  cat /proc/$uplua/status >"$D/status"
  run
  await 'ask /metrics | grep -q "^n_total 23$"' $uplua
]])
like(run.noise, "status 143\n$", "a service that stays who it is")
is(file "status":match "\nCapEff:\t(%x+)", mask(kept), "… gives up rights, too")
run = service.served(PROBE, [[
  cat /proc/$uplua/status >"$D/status"
  cat /proc/$$/status >"$D/own"
]], nil, "--keep")
is(file "status":match "\nCapEff:\t(%x+)", file "own":match "\nCapEff:\t(%x+)", "--keep keeps them")
ok(not run.err:find "runs on", "… and says nothing")

-- A command that was started can be ended, and is not what has given up its rights.
run = target.shell(([[
  ./uplua --serve 0 -e %s -- sleep 1000 >"$D/out" 2>"$D/err" &
  uplua=$!
  await 'grep -q "runs on with" "$D/err"' $uplua
  for child in $(cat /proc/$uplua/task/$uplua/children); do cat /proc/$child/status >>"$D/status"; done
  kill -TERM $uplua
  wait $uplua
  echo "status $?"
  cat /proc/$$/status >"$D/own"
]]):format(target.quote 'uprobe("libc:malloc", function(e) end)'))
like(run.noise, "status 143\n$", "a command ends with its service")
is(file "status":match "\nCapEff:\t(%x+)", file "own":match "\nCapEff:\t(%x+)", "… and had its rights")

-- As systemd's DynamicUser= has it, and without one of the capabilities each.
if tap.has("setpriv", "util-linux") then
  local function only(names, arguments)
    local list = "-all"
    for _, name in ipairs(names) do list = list .. ",+" .. name:sub(5):lower() end
    return target.shell(([[
      chmod 755 "$D"
      cp uplua "$D/uplua"
      mkdir -p "$D/open" "$D/closed"
      chmod 700 "$D/closed"
      cp build/targets/calls "$D/open"
      cp build/targets/calls "$D/closed"
      setpriv --reuid 1234 --regid 1234 --clear-groups sleep 1000 &
      sleeper=$!
      run() {
        setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=%s --ambient-caps=%s --bounding-set=%s \
          timeout 60 "$D/uplua" "$@"
      }
      await '[ "$(cat /proc/$sleeper/comm)" = sleep ]' $sleeper
      %s
      kill $sleeper
    ]]):format(list, list, list, arguments))
  end
  local function without(left_out)
    local names = {}
    for _, name in ipairs(held) do names[#names + 1] = name ~= left_out and name or nil end
    return names
  end
  local CASES = [[
    run -e 'uprobe("'$D'/open/calls:add3", function(e) exit() end)' -- "$D/open/calls" 1 2>&1 >/dev/null | head -1
    run -e 'uprobe("libc:clock_nanosleep", function() end) after("0s", exit)' -- $sleeper 2>&1 | head -1
    run -e 'uprobe("'$D'/closed/calls:add3", function() end) after("0s", exit)' 2>&1 | head -1
  ]]
  local shown = only(held, CASES).noise
  is(shown, "", "with these capabilities alone all can be attached")
  like(only(without "CAP_BPF", CASES).noise, "CAP_BPF", "without CAP_BPF it is missed, by its name")
  like(only(without "CAP_PERFMON", CASES).noise, "CAP_PERFMON", "… without CAP_PERFMON")
  like(only(without "CAP_SYS_PTRACE", CASES).noise,
    "^uplua: process %d+ %(sleep%) belongs to another user: tracing it needs CAP_SYS_PTRACE", "… CAP_SYS_PTRACE")
  like(only(without "CAP_DAC_READ_SEARCH", CASES).noise,
    "^uplua: %-e:1: uprobe [^\n]*: a folder of [^\n]*/closed/calls is closed to this user: that needs " ..
    "CAP_DAC_READ_SEARCH\n$", "… CAP_DAC_READ_SEARCH")
end

-- What systemd hears. The socket is a file, and one of the space of abstract names.
if tap.has("python3") then
  for _, address in ipairs { "$D/notify", "@uplua-test-$$" } do
    run = target.shell(([[
      export NOTIFY_SOCKET="%s" WATCHDOG_USEC=100000
      echo 'up.uprobe("%s:add3", function() end)' | sed '1i local up = require "uplua"' >"$D/x.lua"
      python3 -c '
import os, socket
path = os.environ["NOTIFY_SOCKET"]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(path.replace("@", "\0"))
print("bound", flush=True)
text = ""
while "STOPPING" not in text:
    text = s.recv(1000).decode()
    print(text, flush=True)
' >"$D/heard" &
      hearer=$!
      await 'grep -q bound "$D/heard"' $hearer
      ./uplua --serve 0 "$D/x.lua" >"$D/out" 2>"$D/err" &
      uplua=$!
      await '[ "$(grep -c WATCHDOG=1 "$D/heard")" -ge 3 ]' $uplua
      kill -HUP $uplua
      await '[ "$(grep -c READY=1 "$D/heard")" -ge 2 ]' $uplua
      kill -TERM $uplua
      wait $uplua
      wait $hearer
    ]]):format(address, service.CALLS))
    like(file "heard", "^bound\nREADY=1\nSTATUS=serving metrics at 127.0.0.1:%d+\nWATCHDOG=1\n", "what systemd hears")
    like(file "heard", "\nRELOADING=1\nMONOTONIC_USEC=%d+\nREADY=1\n", "… of SIGHUP")
    like(file "heard", "\nSTOPPING=1\n$", "… and of the end")
  end
end
run = target.shell([[
  NOTIFY_SOCKET=$D/nobody timeout 20 ./uplua --serve 0 --duration 200ms -e 'after("1h", function() end)' 2>"$D/err"
  echo "status $?"
]])
like(run.noise, "status 0\n$", "where nobody hears, nothing ends")
like(run.err, "\nuplua: $NOTIFY_SOCKET, [^\n]*/nobody: No such file or directory\n", "… and that is said")

-- What is wrong.
like(target.uplua("--serve 0 --as no-such-user -e 'print(1)'").err, "^uplua: %-%-as no%-such%-user: there is no user ",
  "a user that there is not")
like(target.uplua("--as nobody -e 'print(1)'").err,
  "^uplua: %-%-as is for %-%-serve and %-%-otlp\n", "--as without --serve")
like(target.uplua("--keep -e 'print(1)'").err, "^uplua: %-%-keep is for %-%-serve and %-%-otlp\n", "--keep without it")
like(target.uplua("--serve 0 --keep --as nobody -e 'print(1)'").err, "^uplua: %-%-keep keeps the rights that %-%-as ",
  "both of them")
target.done()
tap.done_testing()
