-- What grows from report to report, what differs between two, what was held when the most was, and files for other
-- tools: uplua.heap and mallocleak.lua on tests/targets/peak, which knows.
-- Runs once: its probes are mallocleak_test's.
local heap   = require "uplua.heap"
local tap    = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

-- --- growth ---

local MINUTE = 60e9

-- A growth of stacks with these VALUES each, a report a minute.
local function growth_of(stacks, most)
  local growth, count = heap.growth(most), 0
  for _, values in pairs(stacks) do count = math.max(count, #values) end
  for i = 1, count do
    local list = {}
    for name, values in pairs(stacks) do
      if values[i] and values[i] > 0 then list[#list + 1] = { name = name, bytes = values[i], blocks = 1 } end
    end
    growth:add(list, i * MINUTE)
  end
  return growth
end

do
  local rising, noise, falling, late, spike = {}, {}, {}, {}, {}
  for i = 1, 13 do
    rising[i], falling[i] = 1000 * i, 1000 * (20 - i)
    noise[i] = 5000 + (i % 2) * 100
    late[i] = i > 4 and 100 * i or 0
    spike[i] = i == 6 and 90000 or 1000 * i
  end
  local growth = growth_of { rising = rising, noise = noise, falling = falling, late = late, spike = spike }
  local of = growth:of "rising"
  is(of.rate, 1000, "the slope, in bytes a minute")
  is(of.rises .. " of " .. of.steps, "12 of 12", "all steps rise")
  is(of.direction, 1, "which is growth")
  like(growth:line "rising", "^grows 1000 B/min, 12 of 12 reports  %S+$", "as a line")
  is(growth:of("noise").direction, 0, "up and down is none")
  is(growth:line "noise", nil, "… and no line")
  is(growth:of("falling").direction, -1, "falling")
  like(growth:line "falling", "^shrinks 1000 B/min, 12 of 12 reports  %S+$", "as a line")
  is(growth:of("late").values[4], 0, "a stack that comes later held nothing before")
  is(growth:of("spike").rate, 1000, "one high report does not change the slope")
  is(growth:of "nothing", nil, "a stack that held nothing")
  local names = {}
  for _, h in ipairs(growth:growing { { name = "noise" }, { name = "late" }, { name = "rising" } }) do
    names[#names + 1] = h.name
  end
  is(table.concat(names, " "), "rising late", "the fastest first")
end

-- By the sign test seven steps of seven are needed, or ten of eleven.
for _, case in ipairs { { 7, 7, 1 }, { 6, 6, 0 }, { 10, 11, 1 }, { 9, 11, 0 } } do
  local values = { 1000 }
  for i = 1, case[2] do values[i + 1] = values[i] + (i <= case[1] and 100 or -50) end
  is(growth_of({ x = values }):of("x").direction, case[3], ("%d of %d steps"):format(case[1], case[2]))
end

do
  local values = {}
  for i = 1, 30 do values[i] = i end
  is(#growth_of({ x = values }, 10):of("x").values, 10, "so many reports are remembered")
  ok(not pcall(heap.growth, 1), "one report tells nothing")
end

-- --- the difference ---

do
  local function h(name, bytes, blocks) return { name = name, bytes = bytes, blocks = blocks } end
  local list, sum = heap.difference({ h("a", 100, 1), h("b", 50, 5), h("same", 7, 7) },
    { h("c", 1000, 2), h("a", 90, 1), h("same", 7, 7) })
  local lines = {}
  for i, d in ipairs(list) do lines[i] = ("%s %d %d"):format(d.name, d.bytes, d.blocks) end
  is(table.concat(lines, ", "), "c 1000 2, b -50 -5, a -10 0", "what differs, the largest change first")
  is(sum.bytes .. " " .. sum.blocks, "940 -3", "in all")
  is(heap.changes(list, sum, { top = 1 })[1], "   +1,000 bytes in +2 blocks", "for people")
  is(heap.changes(list, sum, { top = 1 })[4], "   and 2 more stacks", "… with what is left")
end

-- --- a program ---

-- "1,000 bytes in 2 blocks" of the stack of TEXT that begins with the function NAME, or nil.
local function of_function(text, name)
  return text:match("([%d,]+ bytes? in [%d,]+ blocks?)[^\n]*\n%s+" .. name .. "%+0x")
end

do
  local r = target.uplua "mallocleak.lua --top 0 --peak -- build/targets/peak"
  local report, peak = r.out:match "^(.-\n   total [^\n]*\n)(.*)$"
  is(r.status, 0, "--peak: exit status")
  like(peak or "", "^\n   peak: 200,000 bytes, after [%d.]+ %a+\n", "how much, and when")
  is(of_function(peak, "early"), "100,000 bytes in 100 blocks", "what early() held then")
  is(of_function(report, "early"), nil, "… and at the end")
  is(of_function(report, "after"), "3,000 bytes in 30 blocks", "what came later is in the report")
  is(of_function(peak, "after"), nil, "… and not in the peak")
  local bytes, late = 0, 0
  for n, rest in peak:gmatch "\n   ([%d,]+) bytes? in ([^\n]*\n%s+[^\n]*)" do
    local number = tonumber((n:gsub(",", "")))
    bytes = bytes + number
    if rest:find "late%+" then late = late + number end
  end
  is(late, 100000, "what late() held, by malloc and by realloc")
  is(bytes, tonumber((peak:match "peak: ([%d,]+)":gsub(",", ""))), "the stacks add up to the peak")
end

do
  local r = target.shell [[
    set -m
    mkfifo "$D/in"
    build/targets/peak grow <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    ./uplua mallocleak.lua 100ms 14 -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces
    printf x >&7
    wait $uplua
    status=$?
    ./uplua mallocleak.lua --growth 100ms 14 -- $program >"$D/growth" 2>/dev/null
    : >"$D/err"
    ./uplua mallocleak.lua --growth 1m 1 -- $program >"$D/none" 2>"$D/err" &
    uplua=$!
    until_traces
    kill -INT $uplua
    wait $uplua
    ./uplua mallocleak.lua --difference 200ms 3 -- $program >"$D/difference" 2>/dev/null
    kill $program
    exit $status
  ]]
  is(r.status, 0, "growth: exit status")
  local last = r.out:match ".*\n(mallocleak: .*)$"
  like(last, "blocks, [%d.]+ %%, [%d.]+ [KM]B/s, oldest [^\n]*\n     grows [%d.]+ [kM]B/min, %d+ of %d+ reports  "
    .. "[^\n]+\n         grow%+", "what grows is said")
  is(last:find "grows[^\n]*\n         steady%+", nil, "what does not is not")
  local growth = target.read(target.folder() .. "/growth"):match ".*\n(mallocleak: .*)$"
  like(growth, "^mallocleak: [^\n]*\n\n   [^\n]*\n     grows [^\n]*\n         grow%+", "--growth: what grows")
  is(growth:find "\n         steady%+", nil, "… alone")
  like(target.read(target.folder() .. "/none"), "\n   no stack grows from report to report, as far as is known\n",
    "--growth: after one report none is known to")
  local difference = target.read(target.folder() .. "/difference")
  local changes = difference:match ".*\nmallocleak: (.*)$"
  like(changes, "\n   %+[%d,]+ bytes in %+%d+ blocks?\n         grow%+", "--difference: what came since")
  like(changes, "\n   in all %+[%d,]+ bytes in %+%d+ blocks? from %d stacks?\n", "… and the sum")
end

for _, case in ipairs {
  { "--growth --difference", "%-%-growth and %-%-difference: choose one" },
  { "--prove --growth", "%-%-prove and %-%-growth: choose one" },
  { "--stop --difference", "%-%-prove and %-%-difference: choose one" },
  { "--fail-on-leak --older 1s", "%-%-prove and %-%-older: choose one" },
  { "--prove --gc 1s", "%-%-prove and %-%-gc: choose one" },
  { "--prove --combined-only", "%-%-prove and %-%-combined%-only: choose one" },
  { "-o /nope/x.pb.gz", "%-%-output: cannot write /nope/x.pb.gz" },
} do
  local r = target.uplua(("mallocleak.lua %s -- build/targets/peak"):format(case[1]))
  is(r.status, 2, case[1] .. ": refused")
  like(r.err, case[2], case[1] .. ": and why")
end

do
  local r = target.uplua "mallocleak.lua --gc 1h -- build/targets/peak"
  like(r.out, "\n   left out: [%d,]+ bytes in [%d,]+ blocks that are younger than 60 min 0 s\n", "--gc: what survived")
end

target.done()
tap.done_testing()
