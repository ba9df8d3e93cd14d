-- The lines of stacks that return probes take: the innermost is the call's, which has just returned, whatever the
-- report is (tests/targets/returned_lines.c).
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM = "./build/targets/returned_lines"

-- The line of the program's source that is called NAME.
local function line_of(name)
  local number = 0
  for text in io.lines "tests/targets/returned_lines.c" do
    number = number + 1
    if text:find("/* LINE " .. name .. " */", 1, true) then return number end
  end
end

-- What a probe of KIND with OPTIONS has counted by its stack, as lines.
local function counts(kind, options)
  local run = target.uplua(([[--lines -e 'n = count() %s("%s:called"%s, function(e) n[e:ustack()]:inc() end)
    at_exit(function()
      for stack, count in n:pairs() do
        local where = {}
        for line in tostring(stack):gmatch "returned_lines%%.c:(%%d+)" do where[#where + 1] = line end
        print(table.concat(where, " "), count)
      end
      n:clear()
    end)' -- %s]]):format(kind, PROGRAM, options or "", PROGRAM))
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines, function(a, b) return tonumber(a:match "%d+$") < tonumber(b:match "%d+$") end)
  return table.concat(lines, "\n"), run
end

local first, inlined, around = line_of "first", line_of "inlined", line_of "around"
local want = ("%d\t23\n%d %d\t101"):format(first, inlined, around)
local got, run = counts "uretprobe"
is(got, want, "a return probe")
is(run.err, "", "… without a loss")
local entry = counts "uprobe"
is(entry:gsub("%f[%d]7 ", ""):gsub("%f[%d]8 ", ""), want, "as at the entry, below the function's own frame")
local exits = counts("uretprobe", ', { returns = "instructions" }')
like(exits, ("%d\t23\n.*%d %d\t101$"):format(first, inlined, around), "at return instructions, too")

run = target.uplua(("scripts/stackcount.lua -l uretprobe:%s:called -- %s"):format(PROGRAM, PROGRAM))
like(run.out, ("returned_lines.c:%d\n.*\n +23\n"):format(first), "stackcount.lua --lines")
run = target.uplua(("scripts/trace.lua --return --stack --lines %s:called -- %s"):format(PROGRAM, PROGRAM))
like(run.out, ("called%%(i=22%%) = 22 [^\n]*\n +main%%S* %%S*returned_lines.c:%d\n"):format(first), "trace.lua")
target.done()
tap.done_testing()
