-- systrace.lua beside strace on 60 commands of Debian's, and systrace.lua -y beside strace -yy: `make test-strace`.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local neighbour    = require "neighbour"
local strace_lines = require "strace_lines"
local tap          = require "tap"

local equal, with_files, all = 0, 0, 0
for _, command in ipairs(require "strace_commands") do
  local before = command[3] == "tree" and neighbour.tree or command[3]
  local wrong, calls, same = strace_lines.compare(command[2], before)
  tap.is(wrong, "", ("%s: systrace.lua's lines are strace's, %d of %d"):format(command[1], same, calls))
  tap.ok(calls > 20, command[1] .. ": there are calls")
  all, equal = all + 1, equal + (same == calls and 1 or 0)
  wrong, calls, same = strace_lines.compare(command[2], before, "-y", "-yy")
  tap.is(wrong, "", ("%s: with the files of descriptors, %d of %d"):format(command[1], same, calls))
  with_files = with_files + (same == calls and 1 or 0)
end
print(("# %d of %d commands: all lines are the same; with the files of descriptors %d"):format(equal, all, with_files))
neighbour.done()
