-- Loops of every form: handlers on known calls leave exactly what the same Lua would, and no run of one makes more
-- rounds than its budget. add3(i, 2i, 0) is called for i = 0 … 22. As NAME@older, and on kernels before 6.9, the same
-- by bpf_loop.
local tap = require "tap"
local target = require "target"

local BUDGET = 65536

-- { name, declarations and probes, expression at the end, what it prints as, line of the loss (from the case's first)
-- or nil }
local cases = {
  { "an endless loop makes exactly its budget of rounds", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e) if e.arg0 == 7 then while true do n:add(1) end end after:inc() end)]],
    "n:get(), after:get()", BUDGET .. " 22", 2 },
  { "repeat until never", [[local n = up.var(0)
    up.uprobe(ADD3, function(e) if e.arg0 == 7 then repeat n:add(1) until e.arg0 == 8 end end)]],
    "n:get()", tostring(BUDGET), 2 },
  { "a for of as many rounds as the budget runs to its end", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e) if e.arg0 == 7 then for i = 1, 65536 do n:add(1) end end after:inc() end)]],
    "n:get(), after:get()", BUDGET .. " 23" },
  { "so does one in a handler with much on its stack, which kernels keep elsewhere",
    [[local n, after = up.sum(), up.hash()
    up.uprobe(ADD3, function(e)
      for i = 1, 65536 do n:add(1) end
      after[{ 1, 2, 3, 4, 5, 6, 7, 8, e.arg0 }] = 1
    end)
    up.uprobe(ADD3, function(e)
      for i = 1, 65536 do n:add(1) end
      local t = { 1, 2, 3, 4, 5, 6, 7, 8, -e.arg0 - 1 }
      after[t] = up.i64(t[8]) + t[7]
    end)]], "n:get(), after:size()", BUDGET * 46 .. " 46" },
  { "one round more does not", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e) if e.arg0 == 7 then for i = 1, 65537 do n:add(1) end end after:inc() end)]],
    "n:get(), after:get()", BUDGET .. " 22", 2 },
  { "all loops of a run have one budget: 5040 rounds of one in each of the other",
    [[local outer, inner = up.sum(), up.sum()
    up.uprobe(ADD3, function(e)
      if e.arg0 ~= 7 then return end
      for i = 1, 1000 do
        outer:add(1)
        for j = 1, 5040 do inner:add(1) end
      end
    end)]], "outer:get(), inner:get()", "14 65522", 6 },
  { "loops one behind the other, the second in a function", [[local first, second = up.sum(), up.sum()
    local function spend(x) while x > 0 do second:add(1) end end
    up.uprobe(ADD3, function(e)
      if e.arg0 ~= 7 then return end
      for i = 1, 60000 do first:add(1) end
      spend(e.arg0)
    end)]], "first:get(), second:get()", "60000 5536", 2 },
  { "each run has the whole budget", [[local n = up.sum()
    up.uprobe(ADD3, function(e) local i = 0 while i < 40000 do i = i + 1 end n:add(i) end)]], "n:get()", "920000" },
  { "a goto back", [[local n = up.sum()
    up.uprobe(ADD3, function(e) local i = 0 ::again:: i = i + 1 if i < e.arg0 then goto again end n:add(i) end)]],
    "n:get()", "254" },
  { "an empty endless loop ends", [[local n = up.count()
    up.uprobe(ADD3, function(e) n:inc() if e.arg0 == 7 then while true do end end end)]], "n:get()", "23", 2 },
  { "a step that only the run knows, from -11 to 11: none of 0 comes to an end", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e) for i = 1, 10, e.arg0 - 11 do n:add(1) end after:inc() end)]],
    "n:get(), after:get()", BUDGET + 34 .. " 22", 2 },
  { "the other way one of 0 never begins", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e) for i = 10, 1, e.arg0 - 11 do n:add(1) end after:inc() end)]],
    "n:get(), after:get()", "34 23" },
  { "a step that is a Lua number, in another such loop", [[local n, m = up.sum(), up.sum()
    up.uprobe(ADD3, function(e)
      local step = #e.comm - 3
      for i = 1, 11, step do n:add(i) for j = 5, 1, -step do m:add(j) end end
    end)]], "n:get(), m:get()", 36 * 23 .. " " .. 9 * 6 * 23 },
  { "a constant step of 0", [[local n = up.sum()
    up.uprobe(ADD3, function(e) if e.arg0 == 7 then for i = 1, 3, 0 do n:add(1) end end
      for i = 3, 1, 0 do n:add(1) end end)]],
    "n:get()", tostring(BUDGET), 2 },
  { "break leaves one loop", [[local n = up.sum()
    up.uprobe(ADD3, function(e)
      for i = 1, 10 do for j = 1, 10 do if j > e.arg0 then break end n:add(1) end if i == 3 then break end end
    end)]], "n:get()", tostring(3 * (45 + 13 * 10)) },
  { "three loops in each other", [[local n, m = up.sum(), up.hash()
    up.uprobe(ADD3, function(e)
      local s = 0
      for i = 1, 3 do for j = i, 4 do local k = 0 while k < j do k = k + 1 s = s + i * j * k end end end
      m[e.arg0] = s
    end)]], "m[0], m[22]", "367 367" },
  { "a return from an inlined loop inside of a loop", [[local n = up.sum()
    local function first_divisor(x) for d = 2, 100 do if x % d == 0 then return d end end return x end
    up.uprobe(ADD3, function(e) local s = 0 for i = e.arg0 + 2, e.arg0 + 5 do s = s + first_divisor(i) end
      n:add(s) end)]],
    "n:get()", "532" },
  { "a return of the handler in a loop in a loop", [[local n, after = up.sum(), up.count()
    up.uprobe(ADD3, function(e)
      for i = 1, 5 do for j = 1, 5 do n:add(1) if i * j == e.arg0 then return end end end
      after:inc()
    end)]], "n:get(), after:get()", "373 10" },
  { "eleven variables change places", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local a, b, c, d, f, g, h, i, j, k, l = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
      for n = 1, e.arg0 do a, b, c, d, f, g, h, i, j, k, l = l, a, b, c, d, f, g, h, i, j, k end
      m[e.arg0] = { a, b, c, d, f, g, h, i, j, k, l }
    end)]], "m[0][1], m[3][1], m[3][11], m[22][1], m[22][11]", "1 9 8 1 11" },
  { "nil, booleans and numbers from round to round", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local last, seen, odd, count = nil, false, true, 0
      for i = 1, e.arg0 do
        if last and last > 4 then seen = true end
        if up.i64(i) % 3 == 0 then last = i elseif up.i64(i) % 7 == 0 then last = nil end
        odd = not odd
        if last == nil then count = count + 1 end
      end
      m[e.arg0] = { last = last, seen = seen, odd = odd, count = count }
    end)]], "m[2].last, m[2].seen, m[3].last, m[8].last, m[8].seen, m[8].odd, m[22].last, m[22].count",
    "nil false 3 nil true true 21 5" },
  { "strings from round to round", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local name, previous = "start", "none"
      for i = 1, e.arg0 do
        if up.i64(i) % 4 == 1 then previous = name end
        if up.i64(i) % 2 == 0 then name = "even and long" else name = e.comm end
      end
      m[e.arg0] = { name = name, previous = previous }
    end)]], "m[0].name, m[0].previous, m[1].name, m[1].previous, m[6].name, m[6].previous",
    "start none calls start even and long even and long" },
  { "a record that a loop fills", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local r = { n = 0, biggest = 0, who = e.comm }
      for i = 1, e.arg0 do r.n = r.n + i if r.n > 50 then r.biggest = i end end
      m[e.arg0] = r
    end)]], "m[22].n, m[22].biggest, m[22].who, m[9].biggest", "253 22 calls 0" },
  { "a record made in each round, as key and as value", [[local m, n = up.hash(), up.count()
    up.uprobe(ADD3, function(e)
      for i = 1, 3 do n[{ i, e.comm }]:inc() m[i] = { i = i, at = e.arg0, s = i > 1 and "more" or "one" } end
    end)]], "n[{ 2, 'calls' }], m[3].i, m[3].at, m[1].s, m[2].s", "23 3 22 one more" },
  { "a reference held over rounds", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local r = m[1]
      if r == nil then m[1] = { n = 0, max = 0, inner = { x = 0 } } return end
      local inner = r.inner
      for i = 1, e.arg0 do
        r.n = r.n + 1
        inner.x = inner.x + i
        if r.max < i then r.max = i end
      end
    end)]], "m[1].n, m[1].max, m[1].inner.x", "253 22 2024" },
  { "a reference that may be nil, tested in each round", [[local m, absent = up.hash(), up.sum()
    m:set(3, { n = 0 }) m:set(5, { n = 100 })
    up.uprobe(ADD3, function(e)
      local r = m[e.arg0]
      for i = 1, 4 do if r then r.n = r.n + i else absent:add(1) end end
      if r then r.n = r.n + 1000 end
    end)]], "m[3].n, m[5].n, absent:get()", "1010 1110 84" },
  { "a chain of references", [[local m, length = up.hash(), up.sum()
    for i = 0, 22 do m:set(i, { next = i - 5, visits = 0 }) end
    up.uprobe(ADD3, function(e)
      local r, n = m[e.arg0], 0
      while r do
        n = n + 1
        r.visits = r.visits + 1
        r = m[r.next]
      end
      length:add(n)
    end)]], "length:get(), m[0].visits, m[22].visits, m[2].visits", "65 5 1 5" },
  { "a number of a map that may be nil", [[local m, n = up.hash(), up.sum() m:set(4, 40)
    up.uprobe(ADD3, function(e)
      local v, s = m[e.arg0], 0
      for i = 1, 3 do if v then s = s + v else s = s + 1 end end
      n:add(s)
    end)]], "n:get()", "186" },
  { "writing to maps, aggregations and rings in a loop", [[
    local m, h, r, seen, sum = up.hash(), up.hist(), up.ring(), 0, 0
    up.uprobe(ADD3, function(e)
      for i = 1, e.arg0 do
        m[i] = (m[i] or 0) + e.arg0
        h:add(i)
        if up.i64(i) % 11 == 0 then r:emit { i = i, who = e.comm } end
        if i > 20 then m[i] = nil end
      end
    end)
    r:each(function(ev) seen = seen + 1 if ev.who == "calls" then sum = sum + ev.i end end)]],
    "m[1], m[20], m[21], m:size(), h.count, h.sum, seen, sum", "253 63 nil 20 253 2024 13 154" },
  { "arguments at the return, in a loop", [[local n = up.sum()
    up.uretprobe(ADD3, function(e) local s = e.ret for i = 1, e.arg0 do s = s + e.arg1 end n:add(s) end)]], "n:get()",
    tostring(759 + 2 * 3795) },
  { "memory read in a loop", [[local m = up.hash()
    up.uprobe(CALLS .. "name", function(e)
      local n = 0
      while n < 64 do
        local c = up.read_u8(e.arg0 + n)
        if c == nil or c == 0 then break end
        n = n + 1
      end
      m[n] = (m[n] or 0) + 1
    end)]], "m[8]", "23" },
  { "stacks in a loop", [[local n = up.count()
    up.uprobe(ADD3, function(e) for i = 1, 2 do n[{ e:ustack(), i }]:inc() end end)]],
    "(function() local s = 0 for k, v in n:pairs() do s = s + v * k[2] end return s end)()", "69" },
}

local preamble = [[
local up = require "uplua"
local CALLS = "./build/targets/calls:"
local ADD3 = CALLS .. "add3"
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]]

-- The losses expected: one at each line where a budget ends.
local script, line, losses = { preamble }, select(2, preamble:gsub("\n", "")) + 2, {}
for number, case in ipairs(cases) do
  local text = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(case[2], number, case[3])
  script[#script + 1] = text
  if case[5] then losses[#losses + 1] = "1 line " .. line + case[5] - 1 end
  line = line + select(2, text:gsub("\n", "")) + 1
end
local run = target.script(table.concat(script, "\n"), "-- ./build/targets/calls 1")
local values = {}
for number, value in run.out:gmatch "case (%d+): ([^\n]*)" do values[tonumber(number)] = value end
for number, case in ipairs(cases) do tap.is(values[number], case[4], case[1]) end
local counted = {}
for times, at in run.err:gmatch "(%d+) × handler ended: its loops ran 65,536 rounds, [^\n]*:(%d+)\n" do
  counted[#counted + 1] = times .. " line " .. at
end
tap.is(table.concat(counted, ", "), table.concat(losses, ", "), "each budget's end is counted, with its line")
local rest = run.err:gsub("^uplua: not everything was seen:\n",
  ""):gsub("  %d+ × handler ended: its loops ran 65,536 rounds, [^\n]*:%d+\n", "")
tap.is(rest, "", "nothing else is lost")
tap.is(run.status, 0, "the target's status is uplua's")

-- Which of two pieces of the stack a local means must be known where bpf_loop runs the rounds.
run = target.uplua [[-e 'm = hash() uprobe("./build/targets/calls:add3", function(e)
  local r = e.arg0 > 10 and { n = 1 } or { n = 2 }
  for i = 1, e.arg0 do r.n = r.n + i end
  m[e.arg0] = r
end) at_exit(function() printf("%d %d\n", m[22].n, m[10].n) end)' -- ./build/targets/calls 1]]
if run.status == 1 then
  tap.like(run.err, "^uplua: %-e:3: which of several records this is cannot be kept over the rounds of a loop on " ..
                    "kernels before Linux 6%.9", "a choice of records is refused")
else
  tap.like(run.out, "254 57\n", "a choice of records")
end

-- What found no register before the rounds begin is still there when they do, where bpf_loop runs them.
run = target.script([[
  local up = require "uplua"
  local n, inside = up.count(), up.hash { max = 1024 }
  up.uprobe("./build/targets/calls:add3", function(e) inside[e.tid] = 1 end)
  local function leave(e)
    local depth = inside[e.tid]
    if not depth then return false end
    if depth > 1 then inside[e.tid] = depth - 1 return false end
    inside[e.tid] = nil
    return true
  end
  up.uretprobe("./build/targets/calls:add3", function(e)
    if leave(e) and e.ret ~= -1 then
      local class, bytes = 16, e.arg0
      while class < bytes do class = class * 2 end
      n[class]:inc()
    end
  end)
]], "-- ./build/targets/calls 1")
tap.like(run.out, "n:\n16  17\n32   6\n", "a register that a return handler needs in its rounds", run.err)
target.done()
tap.done_testing()
