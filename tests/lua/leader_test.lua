-- A thread other than the first that executes a program: probes of functions go on in it. A command misses nothing;
-- what a process that is traced by its number does meanwhile is in the ledger.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local EXECUTES = "./build/targets/executes"
local SCRIPT = [[
local up = require "uplua"
local step, back, own, marks, parents = up.count(), up.count(), up.sum(), up.count(), up.count()
up.uprobe("./build/targets/executes:step", function(e) step:inc() end)
up.uretprobe("./build/targets/executes:step", function(e)
  back:inc()
  own:add(e.ret)
end)
up.uretprobe("libc:getppid", { returns = "instructions" }, function(e) parents:inc() end)
up.usdt("./build/targets/executes:app:guarded", function(e) marks:inc() end)
up.at_exit(function()
  print(("%d %d %d %d %d"):format(step:get(), back:get(), own:get(), parents:get(), marks:get()))
end)
]]

-- What SCRIPT prints of 101 calls behind so many executions: those of step before each have -1.
local function counts(times) return ("%d %d %d 101 101\n"):format(101 + times, 101 + times, 101 * 100 - 2 * times) end

for _, how in ipairs { "first", "thread" } do
  for _, times in ipairs { 1, 3 } do
    local run = target.script(SCRIPT, ("-- %s %s %d 101"):format(EXECUTES, how, times))
    local what = ("a command executes %d times by %s"):format(times, how == "first" and how or "another thread")
    is(run.out, "calls 101, guarded 101\n" .. counts(times), what)
    is(run.err, "", "… and nothing is said")
    is(run.status, 0, "… its status")
  end
end

-- A library and a function of it that the program before did not have mapped; and a probe that is taken off.
local run = target.uplua(("-e 'n = count() local p = uprobe(\"libc:getppid\", function(e) n:inc() end) " ..
  "p:detach() p:attach()' -- %s thread 2 23"):format(EXECUTES))
is(run.out .. run.err, "calls 23, guarded 0\nn: 23\n", "a probe that was detached and attached before")

-- A kernel that does not tell of it, as one without types.
run = target.script([[
  local up = require "uplua"
  require "uplua.core".kernel.raw_tracepoint = function() error("no types", 0) end
  n = up.count()
  up.uprobe("./build/targets/executes:step", function(e) n:inc() end)]], ("-- %s first 1 23"):format(EXECUTES))
is(run.out, "calls 23, guarded 0\nn: 24\n", "where the kernel does not tell of such threads, probes are set anyhow")
is(run.err, "uplua: functions are not probed in a program that a thread other than the first executes: no types\n",
  "… and that is said")

-- By its number: it waits in front of the execution, and goes on behind it once it is seen. Another process beside it
-- is seen all the time.
run = target.shell([[
  mkfifo "$D/in" "$D/other-in"
  exec 7<>"$D/in" 8<>"$D/other-in"
  ./build/targets/executes thread 1 101 asked <"$D/in" >"$D/target" & program=$!
  ./build/targets/executes first 1 23 asked <"$D/other-in" >"$D/other" & other=$!
  until_said ready
  await 'grep -q ready "$D/other"' $other
  cat >"$D/script.lua" <<'EOF'
]] .. SCRIPT .. [[
local heard = up.count()
up.uprobe("./build/targets/executes:beat", function(e) if e.pid == PROGRAM then heard:inc() end end)
up.after(0, function() io.stderr:write "tracing\n" end)
up.every("10ms", function() if heard:get() > 0 then io.stderr:write("heard\n") end end)
EOF
  sed -i "s/PROGRAM/$program/" "$D/script.lua"
  ./uplua "$D/script.lua" -- $program $other >"$D/out" 2>"$D/err" & uplua=$!
  until_traces
  echo >&8
  echo >&8
  await_end $other
  echo >&7
  await 'grep -q heard "$D/err"' $uplua
  echo >&7
  wait $uplua
  status=$?
  cat "$D/other"
  exit $status]])
is(run.status, 0, "by PID: the status")
is(run.out, "126 126 " .. (101 * 100 - 2 + 23 * 22 - 2) .. " 124 124\n",
  "… what came behind is counted, and the other process's")
like(run.target, "calls 101, guarded 101\n$", "… and its semaphore is raised again")
like(run.noise, "calls 23, guarded 23\n$", "… as the other's is")
like(run.err, "1 × process %d+ executed a program by a thread other than its first: no function was seen there for " ..
  "[%d.]+ %a+\n", "… the ledger says for how long nothing was seen")

target.done()
tap.done_testing()
