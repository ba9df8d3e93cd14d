-- What each construct of the handler language means: handlers on known calls leave exactly these values. All cases run
-- in one setup, on build/targets/calls with one thread: add3(i, 2i, 0) 23 times, negative(i) → -i - 1 101 times, six(1
-- … 6) → 21 23 times, factorial_depth(101) nested 101 deep.
local tap = require "tap"
local target = require "target"

-- { name, declarations and probes, expression at the end, what it prints as }
local cases = {
  { "a count without keys", [[local n = up.count() up.uprobe(ADD3, function(e) n:inc() end)]], "n:get()", "23" },
  { "a sum of an argument", [[local n = up.sum() up.uprobe(ADD3, function(e) n:add(e.arg1) end)]], "n:get()", "506" },
  { "a Lua number goes on past 2^53 as an integer", [[local m = up.hash() up.uprobe(ADD3, function(e)
      local n = 9007199254740990 for i = 1, 5 do n = n + 1 end m[1] = n
    end)]], "m[1]", "9007199254740995LL" },
  { "remainders of Lua numbers that are not negative", [[local n = up.count() up.uprobe(ADD3, function(e)
      for i = 0, 7 do n[i % 3]:inc() end for i = 7, 0, -2 do n[10 + i % 3]:inc() end
      local k = 4 while k < 9 do k = k + 2 n[20 + (k + 1) % 4 % 3]:inc() end n[30 + #e.comm % 4]:inc()
    end)]], "n[0], n[1], n[2], n[10], n[11], n[12], n[20], n[21], n[31]", "69 69 46 23 46 23 46 23 23" },
  { "a count by key", [[local n = up.count() up.uprobe(ADD3, function(e) n[e.arg0 % 2]:inc() end)]], "n[0], n[1]",
    "12 11" },
  { "a count by constant string", [[local n = up.count() up.uprobe(ADD3, function(e) n.all:inc() n["x y"]:inc() end)]],
    "n.all, n['x y']", "23 23" },
  { "a key of a tuple", [[local n = up.count() up.uprobe(ADD3, function(e) n[{ e.comm, e.arg0 % 3 }]:inc() end)]],
    "n[{ 'calls', 0 }], n[{ 'calls', 1 }], n[{ 'calls', 2 }]", "8 8 7" },
  { "a tuple is printed in its order, constants where they stand", [[local n = up.count()
    up.uprobe(ADD3, function(e) n[{ e.comm, 7, e.arg0 % 1, "x" }]:inc() end)]],
    "(function() for k in n:pairs() do return k end end)()", "calls, 7, 0, x" },
  { "a histogram", [[local h = up.hist() up.uprobe(ADD3, function(e) h:add(e.arg0 - 3) end)]],
    "h.count, h.sum, h.min, h.max", "23 184 -3 19" },
  { "a histogram by key", [[local h = up.hist() up.uprobe(ADD3, function(e) h[e.comm]:add(e.arg0) end)]],
    "h.calls.count, h.calls.sum", "23 253" },
  { "a map's lossless addition", [[local m = up.hash() up.uprobe(ADD3, function(e) m.n = (m.n or 0) + e.arg0 end)]],
    "m.n", "253" },
  { "a map's lossless subtraction", [[local m = up.hash() up.uprobe(ADD3, function(e) m.n = (m.n or 0) - e.arg0 end)]],
    "m.n", "-253" },
  { "addition to an entry by a tuple", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[{ e.pid, 7 }] = (m[{ e.pid, 7 }] or 0) + 1 end)]],
    "(function() for k, v in m:pairs() do return k[2], v end end)()", "7 23" },
  { "addition where no entry is ends the handler", [[local m, n = up.hash(), up.count() m:set(1, 100)
    up.uprobe(ADD3, function(e) m[e.arg0] = m[e.arg0] + 1 n:inc() end)]], "m[1], m:size(), n:get()", "101 1 1" },
  { "a field's addition in place", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if not m[1] then m[1] = { n = 0, comm = e.comm } end
      m[1].n = m[1].n + e.arg0
    end)]], "m[1].n, m[1].comm", "253 calls" },
  { "a reference updates in place", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local r = m[1]
      if r == nil then m[1] = { n = 0, last = 0 } else r.n = r.n + 1 r.last = e.arg0 end
    end)]], "m[1].n, m[1].last", "22 22" },
  { "deletion", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[e.arg0] = 1 if e.arg0 > 4 then m[e.arg0 - 5] = nil end end)]],
    "m:size(), m[22]", "5 1" },
  { "storing nil deletes", [[local m = up.hash() m:set(1, 1)
    up.uprobe(ADD3, function(e) local x if e.arg0 > 30 then x = e.arg0 end m[1] = x end)]], "m:size()", "0" },
  { "absent is nil, 0 is true", [[local m, n = up.hash(), up.count() m:set(0, 0)
    up.uprobe(ADD3, function(e) if m[e.arg0] then n:inc() end end)]], "n:get()", "1" },
  { "a default by or", [[local m, n = up.hash(), up.sum() m:set(3, 1000)
    up.uprobe(ADD3, function(e) n:add(m[e.arg0] or 1) end)]], "n:get()", "1022" },
  { "and, or as values", [[local m = up.hash()
    up.uprobe(ADD3, function(e) local t = m[1] m[1] = t and t + 2 or 1 end)]], "m[1]", "45" },
  { "not, and comparisons as values", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[e.arg0] = not (e.arg0 < 20) end)]], "m[19], m[20]", "false true" },
  { "a choice of strings", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[e.arg0] = e.arg0 == 7 and "seven" or "another one" end)]],
    "m[7], m[8]", "seven another one" },
  { "a local that and-or leaves as it was on three of its ways", [[local m, on = up.hash(), true
    up.uprobe(ADD3, function(e)
      local x = e.arg0
      x = e.arg0 > 4 and (m[-1] or (on and x or x)) or x
      m[x] = x + 1
    end)]], "m[0], m[22], m:size()", "1 23 23" },
  { "comparison of strings", [[local n = up.count()
    up.uprobe(ADD3, function(e)
      if e.comm == "calls" then n.same:inc() end
      if e.comm ~= "call" then n.shorter:inc() end
      if e.comm == "calls and much more than fits" then n.longer:inc() end
    end)]], "n.same, n.shorter, n.longer", "23 23 0" },
  { "an optional field", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local r = { always = 1 }
      if e.arg0 % 2 == 0 then r.even = e.arg0 end
      m[e.arg0] = r
    end)]], "m[2].even, m[3].even, m[3].always", "2 nil 1" },
  { "nested records", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[e.arg0] = { at = { x = e.arg0, y = { e.arg1, 5 } } } end)]],
    "m[3].at.x, m[3].at.y[1], m[3].at.y[2]", "3 6 5" },
  { "a copied record", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if e.arg0 == 0 then m[1] = { a = 5, s = e.comm } end
      local r = m[1]
      if r then r.a = 6 m[2] = up.copy(r) end
    end)]], "m[1].a, m[2].a, m[2].s", "6 6 calls" },
  { "copies of a record that changes before or after they are stored", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if e.arg0 == 0 then m[1] = { a = 5 } end
      local r = m[1]
      if r then local c = up.copy(r) r.a = r.a + 1 m[2] = c end
      local s = m[1]
      if s then m[3] = up.copy(s) end
    end)]], "m[1].a, m[2].a, m[3].a", "28 27 28" },
  { "a reference used before its map changes, another way after", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local r = m[1]
      if r then r.n = r.n + 1 if r.n > 5 then m[2] = up.copy(r) end else m[1] = { n = 0 } end
    end)]], "m[1].n, m[2].n", "22 22" },
  { "a numeric for", [[local n = up.sum()
    up.uprobe(ADD3, function(e) local s = 0 for i = 1, e.arg0 do s = s + i end n:add(s) end)]], "n:get()", "2024" },
  { "a for that counts down, in a for", [[local m = up.hash()
    up.uprobe(ADD3, function(e) for i = 10, 1, -3 do for j = 1, 2 do m[i] = (m[i] or 0) + j end end end)]],
    "m:size(), m[10], m[1], m[2]", "4 69 69 nil" },
  { "the counter of a for up to an integer is an integer", [[local n = up.sum()
    up.uprobe(ADD3, function(e) for i = 1, e.arg0 do n:add(i / 2 + i % 2) end end)]], "n:get()", "1078" },
  { "while with break", [[local n = up.sum()
    up.uprobe(ADD3, function(e) local x = e.arg0 while x > 0 do x = x - 2 if x == 5 then break end end n:add(x) end)]],
    "n:get()", "37" },
  { "repeat", [[local n = up.sum()
    up.uprobe(ADD3, function(e) local x, k = e.arg0, 0 repeat k = k + 1 x = x / 2 until x == 0 n:add(k) end)]],
    "n:get()", "85" },
  { "loops in helpers, returning from within", [[local n = up.sum()
    local function log2(x) local k = 0 while true do x = x / 2 if x == 0 then return k end k = k + 1 end end
    up.uprobe(ADD3, function(e) n:add(log2(e.arg0 + 1) + log2(e.arg1 + 1)) end)]], "n:get()", "150" },
  { "a read before a loop is not a read in each round", [[local m = up.hash()
    up.uprobe(ADD3, function(e) local t = m[1] or 0 for i = 1, 3 do m[1] = t + 1 end end)]], "m[1]", "23" },
  { "strings and optional values through loops", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local s, found = "none", nil
      for i = 1, e.arg0 do if i == 7 then found = i s = e.comm elseif i == 9 then s = "nine and more" end end
      m[e.arg0] = { s = s, found = found }
    end)]], "m[3].s, m[3].found, m[8].s, m[8].found, m[22].s", "none nil calls 7 nine and more" },
  { "casts", [[local m = up.hash()
    up.uretprobe(NEGATIVE, function(e)
      if e.arg0 == 100 then
        m.i8, m.u8, m.i16, m.u16 = up.i8(e.ret), up.u8(e.ret), up.i16(e.ret), up.u16(e.ret)
        m.i32, m.u32, m.u64 = up.i32(e.ret), up.u32(e.ret), up.u64(up.i32(e.ret)) / 2
      end
    end)]], "m.i8, m.u8, m.i16, m.u16, m.i32, m.u32, tostring(m.u64)",
    "-101 155 -101 65435 -101 4294967195 9223372036854775757LL" },
  { "truncating division and remainder", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if e.arg0 == 3 then
        m[1], m[2], m[3], m[4] = (e.arg0 - 10) / 2, (e.arg0 - 10) % 2, (e.arg0 + 4) / -2, 7 % (e.arg0 - 6) end
    end)]], "m[1], m[2], m[3], m[4]", "-3 -1 -3 1" },
  { "unsigned comparison", [[local n = up.count()
    up.uprobe(ADD3, function(e) if up.u64(e.arg0 - 1) > 1000 then n:inc() end end)]], "n:get()", "1" },
  { "helpers with several results", [[local n = up.sum()
    local function minmax(a, b) if a < b then return a, b end return b, a end
    up.uprobe(ADD3, function(e) local low, high = minmax(e.arg0, 10) n:add(high * 100 + low) end)]],
    "n:get()", "30975" },
  { "helpers that call helpers", [[local n = up.sum()
    local function twice(x) return 2 * x end
    local function four(x) return twice(twice(x)) end
    up.uprobe(ADD3, function(e) n:add(four(e.arg0) + twice(1)) end)]], "n:get()", "1058" },
  { "constants from upvalues and tables", [[local n, LIMITS, ON = up.count(), { low = 5, ["high"] = 8 }, true
    up.uprobe(ADD3, function(e) if ON and e.arg0 >= LIMITS.low and e.arg0 < LIMITS.high then n:inc() end end)]],
    "n:get()", "3" },
  { "code behind a false constant is not looked at", [[local n, NEVER = up.count(), false
    up.uprobe(ADD3, function(e) if NEVER then nothing.at_all() end n:inc() end)]], "n:get()", "23" },
  { "entry values at return", [[local n = up.sum()
    up.uretprobe(SIX, function(e)
      n:add(e.ret * 1000000 + e.arg0 * 100000 + e.arg1 * 10000 + e.arg2 * 1000 + e.arg3 * 100 +
      e.arg4 * 10 + e.arg5) end)]], "n:get()", "485839488" },
  { "one entry value at return", [[local n = up.count()
    up.uretprobe(NEGATIVE, function(e) if up.i32(e.ret) == -e.arg0 - 1 then n:inc() end end)]], "n:get()", "101" },
  { "recursive calls pair with their own entries (the kernel hooks 64 of the 101 nested returns)",
    [[local n = up.count()
    up.uretprobe(CALLS .. "factorial_depth", function(e) n[e.ret == e.arg0 * (e.arg0 + 1) / 2]:inc() end)
    local t = up.count()
    up.uretprobe(CALLS .. "factorial_depth", function(e) t[e.elapsed > 0 and e.arg0 > 0 and e.arg0 <= 101]:inc() end)]],
    "n[true], n[false], t[true], t[false]", "64 0 64 0" },
  { "return values alone", [[local n = up.sum() up.uretprobe(ADD3, function(e) n:add(e.ret) end)]], "n:get()", "759" },
  { "elapsed time of a call that sleeps for 2 ms", [[local n = up.count()
    up.uretprobe(CALLS .. "slow", function(e) n[e.elapsed >= 2000000 and e.elapsed < 120000000000]:inc() end)]],
    "n[true]", "1" },
  { "booleans of a map", [[local m, n, other = up.hash(), up.count(), up.hash()
    up.uprobe(ADD3, function(e)
      m[e.arg0] = e.arg0 > 5
      if m[e.arg0] then n[0]:inc() end
      if m[e.arg0] == false then n[1]:inc() end
      if m[e.arg0 + 100] == nil then n[2]:inc() end
      other[e.arg0] = { was = m[e.arg0] }
    end)]], "n[0], n[1], n[2], m[5], m[6], other[5].was, other[6].was", "17 6 23 false true false true" },
  { "what a map held before it changed", [[local m, n = up.hash(), up.sum()
    up.uprobe(ADD3, function(e)
      local before = m[1]
      m[1] = e.arg0
      if before then n:add(before) m[2] = before end
    end)]], "n:get(), m[1], m[2]", "231 22 21" },
  { "what a map holds, read on the way on which it is there", [[local m, n, s = up.hash(), up.sum(), up.hash()
    up.uprobe(ADD3, function(e)
      local before = m[1]
      if before then n:add(before) m[1] = before + 1 else m[1] = 100 end
      local name = s[e.arg0 - 1]
      if name then s[e.arg0] = name else s[e.arg0] = e.comm end
    end)]], "n:get(), m[1], s[22]", "2431 122 calls" },
  { "variables", [[local v, w = up.var(5), up.var(0)
    up.uprobe(ADD3, function(e) v:add(2) w:set(w:get() + e.arg0) end)]], "v:get(), w:get()", "51 253" },
  { "a ring", [[local r, sum, seen = up.ring(), 0, 0
    up.uprobe(ADD3, function(e) r:emit { a = e.arg0, comm = e.comm, ok = e.arg0 > 3 } end)
    r:each(function(ev) seen = seen + 1 if ev.ok and ev.comm == "calls" then sum = sum + ev.a end end)]],
    "seen, sum", "23 247" },
  { "two shapes in one ring", [[local r, a, b = up.ring(), 0, 0
    up.uprobe(ADD3, function(e) r:emit { a = e.arg0 } end)
    up.uretprobe(ADD3, function(e) r:emit { b = e.ret, c = 1 } end)
    r:each(function(ev) if ev.c then b = b + ev.b else a = a + ev.a end end)]], "a, b", "253 759" },
  { "memory of the program", [[local n = up.count()
    up.uprobe(CALLS .. "name", function(e) if up.read_u8(e.arg0) == 117 and up.read_u64(e.arg0) ~= nil then n:inc() end
      end)]],
    "n:get()", "23" },
  { "who and where", [[local n = up.count()
    up.uprobe(ADD3, function(e)
      if e.pid == e.tid and e.uid == 0 and e.gid == 0 and e.cpu >= 0 and e.time > 0 and e.ip > 0 and e.caller > 0 then
        n:inc() end
      n[0]:inc()
    end)]], nil },
  { "the probe's name", [[local m = up.hash()
    up.uprobe(ADD3, function(e) m[e.func] = 1 m[e.probe] = 2 end)]], "m.add3, m['./build/targets/calls:add3']", "1 2" },
  { "unsigned constants and shifts", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if e.arg0 == 5 then m[1], m[2], m[3] = bit.lshift(e.arg0, 40), bit.rshift(-e.arg0, 60), bit.arshift(-e.arg0, 1)
        m[4] = 0xffULL % 16 end
    end)]], "m[1], m[2], m[3], m[4]", "5497558138880 15 -3 15" },
  { "rotations, swapped bytes, 32 bits", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      if e.arg0 == 5 then
        m[1], m[2], m[3], m[4] = bit.rol(e.arg0, 60), bit.ror(-e.arg0, e.arg1),
            bit.bswap(e.arg0), bit.tobit(e.arg0 * 0xfffffffff)
      end
    end)]], "m[1], m[2], m[3], m[4]", "5764607523034234880LL -72057594037927937LL 360287970189639680LL -5" },
  { "goto", [[local n, m = up.sum(), up.count()
    up.uprobe(ADD3, function(e)
      if e.arg0 % 2 == 0 then goto done end
      n:add(e.arg0)
      do return end
      ::done::
      m:inc()
    end)]], "n:get(), m:get()", "121 12" },
  { "goto continue, out of two loops, and back", [[local n, m = up.sum(), up.sum()
    up.uprobe(ADD3, function(e)
      local k = 0
      for i = 1, 5 do
        for j = 1, 5 do
          if j == 2 then goto continue end
          if i + j > e.arg0 then goto out end
          k = k + 1
          ::continue::
        end
      end
      ::out::
      n:add(k)
      local i = 0
      ::again::
      i = i + 1
      if i < e.arg1 then goto again end
      m:add(i)
    end)]], "n:get(), m:get()", "319 507" },
  { "sixty keys share the stack", [[local n, m = up.count(), up.hash()
    up.uprobe(ADD3, function(e) ]] ..
      ("n[{ e.arg0, e.comm }]:inc() m[e.arg1 * 3 + 1] = { a = e.arg0, s = e.comm } "):rep(30) .. [[ end)]],
    "n[{ 3, 'calls' }], m[13].a, m[13].s", "30 2 calls" },
  { "early returns", [[local n = up.count()
    up.uprobe(ADD3, function(e) if e.arg0 < 20 then return end n:inc() if e.arg0 == 21 then return end n:inc() end)]],
    "n:get()", "5" },
}

-- What the LuaJIT that uplua is linked with may be too old for.
if loadstring "return 1 & 1" then
  cases[#cases + 1] = { "the bit operators", [[local m = up.hash()
    up.uprobe(ADD3, function(e)
      local x = -e.arg0
      if e.arg0 == 5 then m[1], m[2], m[3], m[4], m[5], m[6], m[7] = x & 6, x | 2, x ~ 1, ~x, x << 40, x >> 60, x ~>> 1
        end
    end)]], "m[1], m[2], m[3], m[4], m[5], m[6], m[7]", "2 -5 -6 4 -5497558138880 15 -3" }
end

-- A case whose value is nil does not belong into the one setup: it is refused, which refusals_test.lua checks.
local preamble = [[
local up = require "uplua"
local CALLS = "./build/targets/calls:"
local ADD3, NEGATIVE, SIX = CALLS .. "add3", CALLS .. "negative", CALLS .. "six"
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]]

local script = { preamble }
for number, case in ipairs(cases) do
  if case[3] then
    script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(case[2], number, case[3])
  end
end
local run = target.script(table.concat(script, "\n"), "-- ./build/targets/calls 1")
local values = {}
for number, value in run.out:gmatch "case (%d+): ([^\n]*)" do values[tonumber(number)] = value end
for number, case in ipairs(cases) do
  if case[3] then tap.is(values[number], case[4], case[1]) end
end
tap.is(run.status, 0, "the target's status is uplua's")
local losses = run.err:gsub("uplua: not everything was seen:\n", "")
tap.like(losses, "^  22 × handler ended by an error: arithmetic or comparison on nil, " ..
                 "[^\n]*:%d+\n  74 × [^\n]*:factorial_depth: return not seen: [^\n]*\n$",
  "the one error on purpose is counted, and for two handlers the 37 of 101 nested calls whose return " ..
  "the kernel does not follow; nothing else")

-- What the program itself prints of each call: its arguments, from where it was called, and its stack pointer.
local printed = target.folder() .. "-printed"
run = target.uplua(([[-e '
uprobe("./build/targets/printer:printed", function(e)
  printf("%%d %%u %%s %%u %%x %%x\n", i32(e.arg0), u64(e.arg1), str(e.arg2), u64(e.arg3), e.caller, e.sp)
end)' -- ./build/targets/printer %s]]):format(printed))
local own = target.read(printed)
os.remove(printed)
tap.is(select(2, own:gsub("\n", "")), 101, "the program has printed each call")
tap.is(run.out, own,
  "its lines are ours: negative and large numbers, strings, sizes, return addresses, stack pointers")
tap.is(run.err, "", "nothing is lost")
target.done()
tap.done_testing()
