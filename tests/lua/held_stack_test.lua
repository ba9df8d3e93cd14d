-- Stacks through functions whose frames are found by registers that calls do not keep, as the C library's vfork.
local tap = require "tap"
local target = require "target"
local is = tap.is

-- Runs PROGRAM under a handler of the system call CALL: the counts of stacks, whether they are whole, their names.
local function stacks(call, program)
  local run = target.uplua(([[-e 's = count()
    syscall("%s", function(e) s[e:ustack()]:inc() end)
    at_exit(function() for k, n in s:pairs() do
      print("stack", n, k:incomplete() or "whole", k:text { offsets = false, one_line = " " })
    end s:clear() end)' -- %s]])
    :format(call, program))
  local list = {}
  for count, whole, names in run.out:gmatch "stack\t(%d+)\t([^\t\n]*)\t([^\n]*)" do
    list[#list + 1] = { count = tonumber(count), whole = whole, names = names }
  end
  table.sort(list, function(a, b) return a.count > b.count end)
  return list, run
end

local function check(call, program, count, pattern, what)
  local list, run = stacks(call, program)
  local one = list[1] or {}
  is(#list, 1, what .. ": one stack")
  is(one.count, count, "as often as it calls")
  is(one.whole, "whole", "which is whole")
  tap.like(one.names, pattern, "and has each caller")
  is(run.err, "", "nothing is missing")
end

for _, program in ipairs { "vfork_stack", "vfork_stack-plain" } do
  local function made_by(call)
    local list = stacks(call, "build/targets/" .. program)
    return #list > 0 and call
  end
  local call = made_by "vfork" or "clone" -- the C library of aarch64 has only that
  check(call, "./build/targets/" .. program, 23, "^%S*vfork do_vfork outer main .*_start$", program)
end

check("getppid", "./build/targets/held register", 23, "^in_register calls main .*_start$",
  "a return address in a register")
check("getppid", "./build/targets/held base", 23, "^by_base calls main .*_start$", "a frame that a register finds")
check("getppid", "./build/targets/held fault", 23, "^syscall on_fault %S+ faults calls main .*_start$",
  "the first, as a signal interrupted it")

-- A frame pointer is no word for what call frame information says otherwise.
local list, run = stacks("getppid", "./build/targets/held lost")
is(#list, 1, "a rule that no walk follows: one stack")
is(list[1] and list[1].names:match "^%S+", "unfollowed", "which has the function")
if jit.arch == "x64" then
  is(list[1] and list[1].names:find "main", nil, "and no other one in its caller's place")
  is(list[1] and list[1].whole, "[no unwind table: held]", "which is said")
  is(run.err:match "×[^\n]*", "× stack incomplete: a frame's code has no unwind table and no frame pointer",
    "in the ledger, too")
end

tap.done_testing()
