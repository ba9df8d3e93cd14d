-- systrace.lua's lines beside strace's, of five commands; `make test-strace` has 60. Runs once: what is read of a
-- call's memory depends on no way to set probes.
package.path = "tests/neighbours/?.lua;" .. package.path
local tap    = require "tap"
local target = require "target"

if os.execute "command -v strace >/dev/null" ~= 0 then
  print "1..0 # SKIP needs strace"
  os.exit(0)
end
local strace_lines = require "strace_lines"
local commands     = require "strace_commands"

for i = 1, 5 do
  local wrong, calls, same = strace_lines.compare(commands[i][2])
  tap.is(wrong, "", ("%s: systrace.lua's lines are strace's, %d of %d"):format(commands[i][1], same, calls))
  tap.ok(calls > 20, commands[i][1] .. ": there are calls")
end
for _, i in ipairs { 3, 6 } do
  local wrong, calls, same = strace_lines.compare(commands[i][2], nil, "-y", "-yy")
  tap.is(wrong, "", ("%s: with the files of descriptors, %d of %d"):format(commands[i][1], same, calls))
end
for _, how in ipairs { {}, { "-y", "-yy" } } do
  local wrong, calls, same = strace_lines.compare('./build/targets/structures "$D/x"', nil, how[1], how[2])
  tap.is(wrong, "", ("sets, messages, attributes %s: %d of %d"):format(how[1] or "", same, calls))
  tap.ok(calls > 60, "there are calls")
end
target.done()
tap.done_testing()
