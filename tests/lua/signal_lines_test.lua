-- The lines of systrace.lua for signals of every kind of cause beside strace's (tests/targets/signal_causes.c).
local tap    = require "tap"
local target = require "target"

if os.execute "command -v strace >/dev/null" ~= 0 then
  print "1..0 # SKIP needs strace"
  os.exit(0)
end

local PROGRAM = "./build/targets/signal_causes"

-- The signals' lines of a tool's OUTPUT, without what differs from run to run: numbers of processes, and addresses but
-- for small ones.
local function signals(output)
  local lines = {}
  for line in output:gmatch "%-%-%- SIG[^\n]* %-%-%-" do
    lines[#lines + 1] = line:gsub("si_pid=%d+", "si_pid=N"):gsub("0x%x%x%x%x%x%x+", "ADDRESS")
      :gsub("si_([us]time)=%d+", "si_%1=N")
  end
  return table.concat(lines, "\n"), #lines
end

local strace = target.shell(("strace -f -o \"$D/out\" %s"):format(PROGRAM)).out
local run = target.uplua(("scripts/systrace.lua --signals -- %s"):format(PROGRAM))
local want, count = signals(strace)
tap.is(count, 15, "strace has a line for each")
tap.is((signals(run.out)), want, "… and systrace.lua has the same")
target.done()
tap.done_testing()
