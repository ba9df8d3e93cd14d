-- Handlers of each construct, by hand: { what, body, outside of it (helpers, or nil), why LuaJIT would not do the same
-- (or nil), events = how many of corpus.events it is run on, or nil for all }.
-- They work on the maps m, q, k (which begins with entries 1, 2 and 7) and full (of 4 entries), percpu p, the counts n
-- and c, the sum s, the histograms h and hk, the variable v, the ring r, the lhist l, the hdr d, the stats st, the min
-- low, the max high.
local corpus = {}

corpus.objects = [[
local k, m, q, full, p = up.hash { max = 64 }, up.hash { max = 64 }, up.hash { max = 64 },
    up.hash { max = 4 }, up.percpu_hash { max = 64 }
local n, c, s, h, hk, v, r, l, d, st, low, high = up.count { max = 64 }, up.count { max = 64 },
    up.sum { max = 64 }, up.hist(), up.hist { max = 64 },
  up.var(5), up.ring { size = "64K" }, up.lhist(-3, 12, 5), up.hdr(2, { max = 64 }),
      up.stats { max = 64 }, up.min { max = 64 }, up.max()
k:set(1, 10) k:set(2, -20) k:set(7, 9223372036854775807LL)
]]
corpus.names = { "k", "m", "q", "full", "p", "n", "c", "s", "h", "hk", "v", "r", "l", "d", "st", "low", "high" }

-- What the words of an event are, for each run of a handler.
corpus.events = {}
local EDGES = { 0, 1, -1, 2, 7, -13, 64, 255, 256, 65535, 2147483647, -2147483648, 4294967296LL, 9223372036854775807LL,
  -9223372036854775807LL - 1, 1311768467463790320LL }
for i = 1, 23 do
  local words = {}
  for k = 1, 12 do words[k] = k <= 2 and i - 5 * k or EDGES[(i * k + k) % #EDGES + 1] end
  corpus.events[i] = words
end

corpus.cases = {
  { "a count without keys", "n:inc()" },
  { "a count by integer, string, boolean and tuple",
    "n[e.arg0]:inc() c[{ e.comm, e.arg1 % 3 }]:inc() s[e.arg0 > 3]:add(e.arg1) hk.text:add(e.arg0)" },
  { "a sum of large numbers", "s:add(e.arg3) s:add(e.arg4)" },
  { "unsigned values", "s:add(up.u64(e.arg3)) l:add(up.u64(e.arg4)) d[1]:add(up.u64(e.arg5)) " ..
                       "st[1]:add(up.u64(e.arg6)) low[1]:add(up.u64(e.arg7))" ..
    " high:add(up.u64(e.arg8)) h:add(up.u64(e.arg9)) hk[e.arg0 > 3]:add(up.u64(e.arg3))" },
  { "remainders of counters", [[
    for i = 0, 9 do n[i % 3]:inc() end for i = 9, 2, -3 do n[i % 4]:inc() end
    for i = 5, 9 do n[(i + 3) % 7 % 2]:inc() end
    local k = 0 while k < 9 do n[k % 5]:inc() if e.arg0 > 3 then k = k + 1 else k = k + 2 end end
    n[#e.comm % 3]:inc()]] },
  { "a histogram of all sizes", "h:add(e.arg0) h:add(e.arg2) h:add(e.arg3) hk[e.arg1]:add(e.arg4)" },
  { "linear and precise histograms", "l:add(e.arg0) l:add(e.arg2) d[e.arg1 % 3]:add(e.arg3) d[7]:add(e.arg2 / 3)" },
  { "minimum, maximum, statistics",
    "low[e.arg0 % 3]:add(e.arg2) high:add(e.arg0) high:add(e.arg4) st[e.comm]:add(e.arg3)" },
  { "extremes that are not there", "if e.arg0 > 100 then high:add(e.arg0) low[1]:add(7) st[1]:add(5) l:add(3) end" },
  { "a map's entries are replaced, read and deleted",
    "if e.arg0 % 3 == 0 then m[e.arg0] = nil else m[e.arg0] = e.arg1 end q[e.arg0] = m[e.arg1]" },
  { "one value of each sort",
    "m[1] = e.arg0 q[e.comm] = { i = e.arg1, b = e.arg0 < 3, s = e.comm, n = 7, t = { 1, e.probe } }" },
  { "a lossless addition and subtraction", "m[e.arg0 % 5] = (m[e.arg0 % 5] or 0) + e.arg1 q.x = (q.x or 0) - 3" },
  { "many additions of what a condition says", [[
    m[e.arg0] = (m[e.arg0] or 0) + (e.arg1 > 3 and e.arg2 or 1LL)
    m[e.arg1] = (m[e.arg1] or 0) + (e.arg0 > 3 and e.arg3 or 2LL)
    m[1] = (m[1] or 0) + (e.arg1 > 3 and e.arg2 or 1LL) m[e.arg3] = (m[e.arg3] or 0) + (e.arg0 > 3 and e.arg3 or 2LL)
    q.x = (q.x or 0) + (e.arg2 > 3 and e.arg4 or 3LL) q.y = (q.y or 0) - (e.arg3 > 3 and e.arg5 or 4LL)
    full[e.arg0] = (full[e.arg0] or 0) + (k[e.arg1] or 5) p[e.arg0 % 3] = (p[e.arg0 % 3] or 0) + (k[e.arg0] or 6)]] },
  { "an addition that needs its entry", "k[e.arg0] = k[e.arg0] + 1 n:inc()" },
  { "an addition to a field, in place",
    "if not m[1] then m[1] = { n = 0, s = e.comm } end m[1].n = m[1].n + e.arg0 m[1].n = m[1].n - e.arg3" },
  { "a reference updates in place", [[
    local x = m[e.arg0 % 3]
    if x then x.n = x.n + e.arg1 x.last = x.n * 2 else m[e.arg0 % 3] = { n = 1LL, last = e.arg0 } end]] },
  { "a reference of a reference", [[
    local x = m[1]
    if x == nil then m[1] = { a = { b = { c = e.arg0 }, d = 2LL } } else local y = x.a.b
      y.c = y.c + e.arg1 x.a.d = y.c end]] },
  { "a copy is apart", [[
    m[1] = { a = e.arg0, t = { e.arg1, e.comm } }
    local x = m[1]
    if x then
      local y = up.copy(x)
      x.a = x.a + 5
      q[1] = y
      q[2] = up.copy(x)
    end]] },
  { "each round of a loop reads what it has stored", [[
    for i = 1, 4 do
      m[i] = { a = e.arg0 * i }
      local x = m[5 - i]
      if x then x.a = x.a + 1 s:add(x.a) end
    end]] },
  { "a reference that a loop carries into its next round, and out of it", [[
    m[1] = { a = e.arg0 } m[2] = { a = 7LL }
    local last
    for i = 1, 4 do
      if last then last.a = last.a * 3 n[last.a]:inc() end
      last = m[i]
    end
    for i = 1, 3 do
      m[i + 1] = { a = i + e.arg1 }
      last = m[i]
    end
    if last then s:add(last.a) end]] },
  { "a record that one branch stores and makes anew",
    "local x = { a = e.arg0 } if e.arg0 > 4 then m[1] = x x = { a = 2LL } end x.a = x.a + 1 m[2] = x" },
  { "a map that is full",
    "full[e.arg0] = e.arg1 full[e.arg1] = (full[e.arg1] or 0) + 1 if e.arg0 > 9 then full[e.arg0 - 9] = nil end" },
  { "a map per CPU", "p[e.arg0 % 3] = (p[e.arg0 % 3] or 0) + e.arg1 local x = p[1] if x then n[x]:inc() end" },
  { "assigning nil deletes", "m[e.arg0] = 1 local x if e.arg0 > 3 then x = e.arg0 end m[e.arg0 - 1] = x" },
  { "what is absent is nil, 0 is true",
    "if m[e.arg0] then n:inc() else m[e.arg0] = 0 end if m[e.arg1] == nil then c:inc() end" },
  { "and, or, not as values", [[
    local x = m[e.arg0]
    m[e.arg0] = x and x + 2 or 1LL
    q[e.arg0] = { a = e.arg0 > 3 and e.arg1 or e.arg2, b = not (e.arg0 < 5 or e.arg1 == 2), c = not x }]] },
  { "a way that what is never nil does not take",
    "local x = e.arg2 for i = 1, 2 do x = (not ('a' == 'b')) and x or e.arg3 % x m[i] = x end" },
  { "a choice between a value and itself", [[
    local x, y = e.arg0, e.comm x, y = e.arg1 > 2 and x or x, e.arg0 > 2 and y or y y = 5 and y or y
    x = e.arg3 > 4 and (k[1] and x or 7LL) or x m[x] = y]] },
  { "comparisons of all kinds", [[
    local a, b = e.arg2, e.arg3
    m[1], m[2], m[3], m[4], m[5], m[6] = a < b, a <= b, a > b, a >= b, a == b, a ~= b
    local x, y = up.u64(a), up.u64(b)
    m[7], m[8], m[9], m[10] = x < y, x <= b, a > y, x == b
    m[11], m[12], m[13], m[14] = a < 5, 5 < a, x < 5, x > 5
    r:emit { m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10], m[11], m[12], m[13], m[14] }]] },
  { "arithmetic of all kinds", [[
    local a, b = e.arg2, e.arg5
    r:emit { add = a + b, sub = a - b, mul = a * b, neg = -a, plus = a + 1, from = 10 - a, times = 3 * a }]] },
  { "division and remainder", [[
    local a, b = e.arg2, e.arg5
    r:emit { div = a / b, mod = a % b, by7 = a / 7, mod7 = a % 7, byn = a / -3, modn = a % -3, one = 100 / b,
        two = 100 % b, by1 = a / -1LL, m1 = a % -1LL }]],
    nil, "division by zero" },
  { "a negative num with an unsigned integer",
    "local x = up.u64(e.arg2) m[1], m[2], q[1], q[2] = x > -5, x == -13, x / -3, x + -1", nil,
    "a negative num with a u64" },
  { "division of unsigned", [[
    local a, b = up.u64(e.arg2), up.u64(bit.bor(e.arg5, 1))
    r:emit { div = a / b, mod = a % b, by7 = a / 7, mod7 = a % 7, s = e.arg2 / b, t = a % 10ULL, neg = -a }]] },
  { "bit operations", [[
    local a, b = e.arg2, e.arg3
    r:emit { n = bit.band(a, b), o = bit.bor(a, b, 5), x = bit.bxor(a, b), t = bit.bnot(a), l = bit.lshift(a, 5),
        r = bit.rshift(a, 7), s = bit.arshift(a, 9),
      lv = bit.lshift(a, b), rv = bit.rshift(a, b), sv = bit.arshift(a, b),
          u = bit.rshift(up.u64(a), 60), us = bit.arshift(up.u64(a), 60) }]] },
  { "a shift has the sign of what it shifts", [[
    local x, y = bit.lshift(e.arg2, up.u64(e.arg0)), bit.lshift(up.u64(e.arg2), e.arg0)
    m[1], m[2], q[1] = x < 0, y > 5, x / 2]] },
  { "a num shifted by an integer",
    "local x = 1 for i = 1, 3 do x = x + i end m[1], m[2] = bit.lshift(x, up.i64(40)), bit.bnot(up.i64(x))", nil,
    "a num shifted by an integer" },
  { "bit operations on nums alone", "m[1], m[2], m[3] = bit.lshift(1, 10), bit.band(6, 3) + 1, bit.bnot(5) - e.arg0" },
  { "casts", [[
    local a = e.arg2
    r:emit { a = up.i8(a), b = up.u8(a), c = up.i16(a), d = up.u16(a), e = up.i32(a), f = up.u32(a), g = up.i64(a),
        h = up.u64(a) / 3, k = up.i64(up.u64(a)) / 3,
      l = up.i32(7), m = up.u8(-1), n = up.i8(up.u64(200)) }]] },
  { "constants of all kinds", [[
    r:emit { 1, -1, 65536, 4294967296, 9007199254740992, -9007199254740992, 9223372036854775807LL,
        0xffffffffffffffffULL, true, "text", "",
      "a longer text than the others" }
    m[1], m[2] = 7 / 1, 6 * 7 - 2]] },
  { "folded constants", "local a, b = 10, 4 m[1], m[2], m[3], m[4] = a / 2, a % b, -7 % 3, (a + b) * (a - b)" },
  { "numbers that become integers", "local x = 1 if e.arg0 > 3 then x = e.arg0 end m[1], m[2] = x * 2, x + 0.0" },
  { "an early return", "n:inc() if e.arg0 < 3 then return end c:inc() if e.arg1 > 3 then return end s:add(1)" },
  { "if, elseif, else", [[
    local x
    if e.arg0 < 0 then x = "negative" elseif e.arg0 == 0 then
      x = "zero" elseif e.arg0 < 5 and e.arg1 ~= 2 then x = e.comm else x = "large" end
    n[x]:inc()]] },
  { "multiple assignment", "local a, b, d = e.arg0, e.arg1 a, b = b, a a, d = d or 5LL, b m[a], m[b] = b, a q[1] = d" },
  { "shadowed locals",
    "local x = e.arg0 do local x = x + 1 m[x] = x end if x > 2 then local x = 9LL m[x] = x end m[100] = x" },
  { "a numeric for", "local x = 0LL for i = 1, 10 do x = x + i * e.arg0 end m[x] = x" },
  { "fors of all steps", [[
    local x = 0LL
    for i = 3, -4, -2 do x = x * 3 + i end for i = 5, 4 do x = 99LL end
    for i = 0, 10, 4 do for j = i, 1, -1 do x = x + i * j end end
    m[1] = x]] },
  { "a for up to an integer",
    "local x = 0 for i = 1, e.arg0 do x = x + i end m[1] = x for i = e.arg0, e.arg1 do n[i]:inc() end", nil,
    "a for loop over integers" },
  { "conditions that are constants", [[
    local t, i, yes, no = {}, 0, 1, nil
    while 1 do i = i + 1 if i > 3 then break end end
    while "text" do i = i + 1 if i > 6 then break end end
    while {} do i = i + 1 if i > 9 then break end end
    repeat i = i + 1 until 0
    repeat i = i + 1 if i > 15 then break end until nil
    while nil do n.never:inc() end
    while false do n.never:inc() end
    if {} then n.table:inc() else n.never:inc() end
    if t then n["a local table"]:inc() else n.never:inc() end
    if 0 then n.zero:inc() end
    if "" then n.empty:inc() end
    if yes then n.number:inc() end
    if no then n.never:inc() elseif not no then n["not"]:inc() end
    if not 1 then n.never:inc() end
    if not {} or not "x" or no then n.never:inc() end
    if yes and t and not no and up.i32 then n["and"]:inc() end
    m.i, m.either = i, (no or yes) + (yes and 2 or 3) + (t and 4 or 5) + (no and 6 or 7) + (false or 8)]] },
  { "a for by a step that only the run knows", [[
    local x = 0 for i = 1, 20, e.arg0 do x = x + i if x > 500 then break end end
    m[1] = x for i = 5, -5, e.arg1 do n[i]:inc() end]], nil, "a for loop over integers" },
  { "a for by a step that may be nil", "for i = 1, 9, k[e.arg0] do n[i]:inc() end c.after:inc()", nil,
    "a for loop over integers" },
  { "fors by steps that are numbers",
    "local x = #e.comm for i = 1, 12, x do n[i]:inc() end for i = 12, 1, x - 8 do c[i]:inc() end" },
  { "a for by an integer step that has one round", [[
    for i = 1, 3, bit.band(e.arg0, 3) + 1 do n[bit.band(i, 6)]:inc() if ("x"):starts "" then break end end]],
    nil, "a for loop over integers" },
  { "a for by an unsigned step", "local x = 0 for i = 3, 23, up.u64(bit.band(e.arg0, 3) + 1) do x = x + i end m[1] = x",
    nil, "a for loop over integers" },
  { "a for to an unsigned bound", "local x = 0 for i = 1, up.u64(bit.band(e.arg0, 7)) do x = x + i end m[1] = x", nil,
    "a for loop over integers" },
  { "while and break", "local x = e.arg3 while x ~= 0 do x = x / 2 if x == 7 then break end n:inc() end m[1] = x" },
  { "repeat", "local x, k = e.arg3, 0 repeat k = k + 1 x = x / 3 until x == 0 m[k] = k" },
  { "loops in loops, left by return", [[
    for i = 1, 5 do
      local j = 0
      while true do
        j = j + 1
        if j > i then break end
        if i * j == 6 and e.arg0 > 3 then return end
        n[{ i, j }]:inc()
      end
    end
    c:inc()]] },
  { "the budget of rounds", "local x = 0 while true do x = x + 1 v:set(x) end", nil, "the budget of rounds",
    events = 1 },
  { "helpers with several results",
    "local low, high = order(e.arg0, e.arg1) m[1], m[2], m[3] = low, high, order(high, 5)",
    "local function order(a, b) if a < b then return a, b end return b, a end" },
  { "helpers that call helpers", "m[1] = four(e.arg0) + twice(1) n[twice(e.arg1)]:inc()",
    "local function twice(x) return 2 * x end local function four(x) return twice(twice(x)) end" },
  { "fewer and more arguments and results",
    "local a, b, d = f(e.arg0) m[1] = { a = a, b = b, d = d } f(e.arg0, 2, 3) m[2] = { a = (f(1, e.arg1)) }",
    "local function f(x, y) if y then return y end if x > 3 then return x, 5 end return x, nil end" },
  { "helpers with loops and returns from within", "m[1] = log2(e.arg0) * 100 + log2(e.arg3)",
    "function log2(x) local k = 0 while true do x = x / 2 if x == 0 then return k end k = k + 1 end end" },
  { "helpers with effects", "record(e.arg0) record(e.arg1, 'b')",
    "local function record(x, name) n[name or 'a']:inc() if x > 3 then m[x] = (m[x] or 0) + 1 end end" },
  { "results of a call as arguments and fields",
    "m[1] = { two(e.arg0) } order(two(e.arg1)) q[1] = { x = 1, two(e.arg0) }",
    "local function two(x) return x, x + 1 end local function order(a, b) n[{ a, b }]:inc() end" },
  { "a tail call", "m[1] = f(e.arg0)",
    "local function g(x, y) return x - y end local function f(x) return g(x, 3) end" },
  { "constants from outside", "if ON and e.arg0 > LIMITS.low then n[LIMITS.name]:inc() end m[1] = LIMITS.deep[2] + BIG",
    "local ON, BIG, LIMITS = true, 0x7fffffffffffffffLL, { low = 2, name = 'x', deep = { 5, 6 } }" },
  { "strings compared", [[
    local x = e.arg0 > 3 and "uplua" or "uplu"
    m[1], m[2], m[3], m[4] = e.comm == "uplua", e.comm ~= x, x == "uplua and more that does not fit", e.probe == e.func
    if x == "" then n:inc() end]] },
  { "strings looked for in strings", [[
    local x = e.arg0 > 3 and "uplua" or "a text of some more bytes, with text"
    local from, to = x:find("text", 1, true)
    m[1], m[2], m[3] = from, to, e.comm:find "lua"
    m[4], m[5], m[6] = x:find("text", 4), x:find "text of some more", x:find(".", 1, true)
    m[7], m[8] = x:find("u", nil, true), e.comm:find "uplua "
    if to then n[to - from]:inc() end]] },
  { "the places of a string as results, by a function",
    "m[1], m[2] = place(e.arg0 > 2 and 'b' or 'abab') m[3] = last(e.comm)",
    "local function place(s) return s:find('b', 2) end " ..
    "local function last(s) local a, b = s:find 'pl' return b or 0 end" },
  { "strings kept", [[
    local x = m[e.arg0 % 3]
    if x ~= nil and x == "seven" then n:inc() end
    m[e.arg0 % 3] = e.arg0 == 7 and "seven" or e.arg0 > 7 and "another one, which is long" or e.comm
    q[x or "none"] = e.arg0]] },
  { "strings as keys of different capacity",
    "n[e.comm]:inc() n.uplua:inc() n['a text beyond sixteen bytes']:inc() n[m[1] or 'q']:inc() m[1] = e.comm" },
  { "an optional field", [[
    local x = { always = e.arg0 }
    if e.arg0 % 2 == 0 then x.even = e.arg1 end
    if e.arg0 > 5 then x.name = "large" end
    m[e.arg0] = x
    local y = m[e.arg1]
    if y then
      if y.even then n[y.even]:inc() end
      c[y.name or "none"]:inc()
      y.even = nil
      if e.arg1 > 2 then y.name = nil end
    end]] },
  { "an optional field is nil in arithmetic",
    "local x = { a = 1LL } if e.arg0 > 3 then x.b = e.arg0 end n:inc() m[1] = x.a + x.b c:inc()" },
  { "an optional field in a key", "local x = { e.arg0 % 2, nil } if e.arg1 > 3 then x[2] = e.arg1 % 3 end n[x]:inc()" },
  { "records emitted in two shapes",
    "if e.arg0 > 3 then r:emit { a = e.arg0, b = { e.comm, e.arg1 } } else r:emit { c = e.arg0 > 1 } end" },
  { "a record of a map is emitted",
    "m[1] = { a = e.arg0, b = e.comm } local x = m[1] if x then if r:emit(x) then n:inc() end end" },
  { "a record by steps",
    "local x = {} x.a = e.arg0 x.b = x.a + 1 x[1] = 5LL if x.b > 4 then x.a = x[1] end m[x.a] = x" },
  { "variables", "v:add(e.arg0) s:add(v:get()) if v:get() > 9 then v:set(e.arg1) end" },
  { "errors: arithmetic on nil", "n:inc() local x = k[e.arg0] + 1 c:inc() m[x] = x" },
  { "errors: comparison on nil", "n:inc() m[2] = 1LL\nif m[e.arg0] > 0 then\nc:inc() end" },
  { "errors: nil to a cast, a bit operation, minus", [[
    m[3] = 3LL
    n:inc()
    if e.arg0 > 2 then
      s:add(up.i32(m[e.arg0]))
    elseif e.arg0 > 0 then
      s:add(bit.band(m[e.arg0], 7))
    else
      s:add(-m[e.arg0])
    end]] },
  { "errors: indexing nil", "m[1] = { a = 1 }\nlocal x = m[e.arg0]\nn:inc()\ns:add(x.a)" },
  { "errors: a field of nil is assigned", "m[1] = { a = 1 }\nlocal x = m[e.arg0]\nn:inc()\nx.a = e.arg0\nc:inc()" },
  { "errors: nil as a key", "m[1] = 2\nlocal x = m[e.arg0]\nn:inc()\nq[x] = 1\nc:inc()" },
  { "errors: nil as a key that is read, deleted, counted", [[
    m[1] = 2LL
    q[2] = 1LL
    local x = m[e.arg0]
    if e.arg1 > 0 then
      s:add(q[x] or 5)
    elseif e.arg1 > -3 then
      q[x] = nil
    else
      n[x]:inc()
    end
    c:inc()]] },
  { "errors: nil to a sum, a variable, a ring", [[
    m[1] = { a = 2 }
    q[3] = 9
    if e.arg0 > 2 then
      r:emit(m[e.arg1])
    elseif e.arg0 > -1 then
      v:set(q[e.arg1])
    else
      s:add(q[e.arg1])
    end
    c:inc()]] },
  { "errors: in a helper, with its line", "n:inc()\nm[1] = 2\ns:add(twice(m[e.arg0]))\nc:inc()",
    "local function twice(x)\nreturn 2 * x end" },
  { "errors in what nobody uses", "local x = k[e.arg0] + 1 n:inc() m[3] = 1 local y = e.arg0 < k[e.arg1] c:inc()" },
  { "divisions that nobody uses are counted", "local x = e.arg0 / e.arg2 local y = e.arg0 % e.arg2 n:inc()", nil,
    "division by zero" },
  { "the same division twice is counted twice",
    "m[1] = e.arg0 / e.arg2\nm[2] = e.arg0 / e.arg2\nm[3] = e.arg0 / e.arg2", nil, "division by zero" },
  { "memory", [[
    local at = MEMORY + bit.band(e.arg0, 63)
    r:emit { a = up.read_u8(at), b = up.read_i8(at), c = up.read_u16(at), d = up.read_i16(at), e = up.read_u32(at),
        f = up.read_i32(at), g = up.read_i64(at) }
    s:add(up.read_u64(at))]], "local MEMORY = 0x30000000" },
  { "tables that are filled by computed keys", [[
    local t, u = {}, { e.arg2, e.arg3, e.arg4 }
    for i = 1, 8 do
      if i > e.arg0 then break end
      t[i] = e.arg1 * i
    end
    for i = 4, 2, -1 do u[i * 2 - 1] = u[i] or e.arg0 end
    for i = 0, 9 do s:add(t[i] or i) end
    t[3] = nil
    for i = 1, 2 do t[i + 1] = k[i] end
    q[{ t[2] or 0, t[3] or 0, t[4] or 0 }] = u[5]
    r:emit { tokens = t, n = 7, first = t[1] }
    m[1] = { t = u, last = t[8] }]] },
  { "tables whose keys are integers", [[
    local t = {}
    t[bit.band(e.arg0, 15) + 1] = e.arg1
    for i = 1, 16 do if t[i] then n[i]:inc() end end
    m[1] = t[up.i64(e.arg2)]
    r:emit { t = t }]], nil, "an integer as the key of a table" },
  { "a table in each round", [[
    for i = 1, 3 do
      local t = {}
      for j = 1, i do t[j] = e.arg0 + j end
      m[i] = t
      if m[i] then m[i][2] = 5 c:inc() end
    end]] },
  { "buffers", [[
    local at = MEMORY + bit.band(e.arg0, 63)
    local b, c = up.buf(at, e.arg1), up.buf(at, bit.band(e.arg1, 31), 10)
    m[e.arg0] = { b = b, c = c, same = b == c, n = c and #c }
    q[{ up.buf(at, 5), up.buf(at, up.u64(e.arg2), 3) }] = e.arg1
    r:emit { b or up.buf(at, 12), up.buf(MEMORY + 4090, e.arg0), up.buf(0, 0) }
    local x = b
    for i = 1, 3 do if e.arg1 > i then x = up.buf(at + i, i, 7) end end
    if x and x ~= c then n[#x]:inc() end
    if c and c:starts "%" then h:add(c:find("J", 1, true) or 9) end]], "local MEMORY = 0x30000000" },
  { "buffers whose size leads nowhere", "n:inc() local x = up.buf(e.arg0, e.arg1) c:inc() s:add(#x)" },
  { "memory that cannot be read", "local x = up.read_u32(e.arg0) n:inc() if x == nil then c:inc() end s:add(x + 1)" },
  { "who and where", "m[1] = e.pid == e.tid and e.uid == 0 and e.gid == 0 and e.time > 0 and e.cpu " ..
                     ">= 0 n[e.comm]:inc() c[e.probe]:inc()" },
  { "values that live across many calls", [[
    local a, b, d, f, g, k = e.arg0, e.arg1, e.arg2, e.arg3, e.arg4, e.arg5
    for i = 1, 3 do
      n[a + i]:inc() m[b] = d s:add(f) v:add(g) a, b, d, f, g, k = k, a, b + i, d - f, f * g, g
    end
    r:emit { a, b, d, f, g, k }]] },
  { "branches that meet again", [[
    local x, y, z = e.arg0, nil, "none"
    if x > 3 then y = x z = e.comm elseif x > 1 then x = x * 2 z = "some text" end
    if y then x = x + y end
    for i = 1, 4 do if i == x then y = i z = "found" end end
    m[1] = { x = x, y = y, z = z }]] },
}

return corpus
