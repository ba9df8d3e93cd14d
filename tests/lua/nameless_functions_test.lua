-- Functions without a name are told apart by where they begin: those of a stripped program are those of the program
-- itself, each by its name.
local tap    = require "tap"
local target = require "target"

local PROGRAM, STRIPPED = "build/targets/leak", "build/targets/leak-stripped"
if not tap.has("nm", "binutils") then tap.done_testing() end

-- The folded stacks of the mallocs of PROGRAM: line → number.
local function folded(program)
  local file = target.folder() .. "/folded"
  target.uplua(("stackcount.lua --folded %s libc:malloc -- %s"):format(file, program))
  local lines, count = {}, 0
  for line, number in target.read(file):gmatch "([^\n]-;[^\n]*) (%d+)\n" do
    lines[line:gsub("^[^;]*;", "")] = tonumber(number)
    count = count + 1
  end
  return lines, count
end

-- Where each function of the program begins, as nm tells.
local starts = {}
local pipe = io.popen("nm " .. PROGRAM)
for line in pipe:lines() do
  local address, name = line:match "^(%x+) [tT] (%S+)$"
  if address then starts[name] = ("0x%x"):format(tonumber(address, 16)) end
end
pipe:close()

local named, count = folded(PROGRAM)
local nameless = folded(STRIPPED)
tap.ok(count >= 2, ("%d stacks"):format(count))
local renamed, other, places = {}, {}, 0
for line, number in pairs(named) do
  line = line:gsub("[^;]+", function(name)
    if starts[name] then places = places + 1 end
    return starts[name] and "leak-stripped+" .. starts[name]
  end)
  renamed[line] = (renamed[line] or 0) + number
end
for line, number in pairs(nameless) do
  if renamed[line] ~= number then other[#other + 1] = ("%s: %d, not %s"):format(line, number, renamed[line]) end
  renamed[line] = nil
end
tap.is(table.concat(other, "; ") .. (next(renamed) or ""), "", "the same stacks, with starts for names")
tap.ok(places >= 2 * count, "of functions of the program")
local r = target.uplua(("-e 'n = count() uprobe(\"libc:malloc\", function(e) n[sym(e.caller)]:inc() end)' -- %s")
  :format(STRIPPED))
local callers, known = 0, 0
for start in r.out:gmatch "leak%-stripped%+(0x%x+)" do
  callers = callers + 1
  for _, address in pairs(starts) do
    if address == start then known = known + 1 break end
  end
end
tap.ok(callers > 0 and callers == known, ("up.sym: %d of %d by their functions"):format(known, callers))
target.done()
tap.done_testing()
