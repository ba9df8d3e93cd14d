-- Tables of handlers whose keys are computed: arrays of integers, in rings, maps and keys, and declared. On
-- build/targets/buffers: data(p, size, n) 23 times for each n from 0 to 11.
local tap = require "tap"
local target = require "target"

-- { name, declarations and probes, expression at the end, what it prints as }
local cases = {}
local function case(name, declarations, expression, want)
  cases[#cases + 1] = { name, declarations, expression, want }
end

case("words of memory, in a record of a ring", [[local r, seen, n = up.ring(), {}, 0
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 8 do t[i] = up.read_u8(e.arg0 + 8 * (i - 1)) end
    r:emit { n = e.arg2, tokens = t }
  end)
  r:each(function(ev) seen[ev.n] = table.concat(ev.tokens, ",") .. "/" .. #ev.tokens n = n + 1 end)]],
  "seen[2], seen[5], seen[7], n", "0,8,16,24,32,40,48,56/8 101,97/2 /0 276")
case("a table for each event, which stays", [[local r, kept = up.ring(), {}
  up.uprobe(DATA, function(e)
    if e.arg2 > 2 then return end
    local t = {}
    for i = 1, 3 do t[i] = e.arg2 * 10 + i end
    r:emit { t = t }
  end)
  r:each(function(ev) kept[ev.t[1] ] = ev.t end)]],
  "table.concat(kept[1], ' '), table.concat(kept[11], ' '), table.concat(kept[21], ' '), getmetatable(kept[1])",
  "1 2 3 11 12 13 21 22 23 nil")
case("as many as there are", [[local m = up.hash()
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 5 do
      if i > e.arg2 then break end
      t[i] = i * e.arg2
    end
    m[e.arg2] = { t = t, third = t[3] }
  end)]], "list(m[0].t), list(m[2].t), list(m[4].t), list(m[11].t), m[2].third, m[3].third",
  "{} {2 4} {4 8 12 16} {11 22 33 44 55} nil 9")
case("elements that are nil, and become it", [[local m = up.hash()
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 6 do t[i] = i % 2 == 0 and e.arg2 or nil end
    for i = 4, 6 do t[i] = t[i - 2] end
    t[2] = nil
    m[e.arg2] = t
  end)]], "all(m[7], 6)", "nil nil nil 7 nil 7")
case("keys that are computed in other ways", [[local m = up.hash()
  up.uprobe(DATA, function(e)
    local t, u = {}, { 100, 200, 300 }
    for i = 3, 1, -1 do t[2 * i - 1] = u[i] end
    t[bit.band(e.arg2, 1) * 5 + 2] = e.arg2
    t[up.u64(e.arg2) % 4 + 1] = -1
    for i = -2, 9 do t[8] = (t[8] or 0) + (u[i] or 1) end
    m[e.arg2] = t
  end)]], "all(m[4], 8), all(m[7], 8)", "-1 4 200 nil 300 nil nil 609 100 nil 200 -1 300 nil 7 609")
case("signed and unsigned", [[local m, n = up.hash(), up.hash()
  up.uprobe(DATA, function(e)
    local t, u = {}, {}
    for i = 1, 2 do t[i] = -i u[i] = up.u64(0xffffffffffffff00ULL + i) end
    m[1] = t n[1] = u
  end)]], "list(m[1]), list(n[1])", "{-1 -2} {18446744073709551361ULL 18446744073709551362ULL}")
case("keys of maps", [[local n = up.count()
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 3 do t[i] = e.arg2 % i end
    n[t]:inc()
    n[{ t = 1 } and t]:inc()
  end)]], "n:get({ 0, 0, 0 }), n:get({ 0, 1, 2 }), n:get({ 0, 1, 1 }), n:get({ 5 }), n:size()", "92 92 92 0 6")
case("declared: the elements are there, 0 at first", [[
  local d = up.hash { value = { ids = "u16[5]", wide = "i64[2]", n = "u8" } }
  d:set(100, { ids = { 1, 2, 3 }, wide = {}, n = 7 })
  up.uprobe(DATA, function(e)
    local w = {}
    for i = 1, 2 do w[i] = e.arg1 * i end
    if not d[e.arg2] then d[e.arg2] = { ids = {}, wide = w, n = 0 } end
    local r = d[e.arg2]
    if not r then return end
    for i = 1, 3 do r.ids[i] = up.u16(e.arg1 + i) end
    for i = 1, 5 do r.ids[5] = up.u16(r.ids[5] + (r.ids[i - 1] or 0)) end
    r.ids[e.arg2] = 9
  end)]], "list(d[0].ids), list(d[1].ids), list(d[4].wide), list(d[100].ids), list(d[6].wide)",
  "{1 2 3 0 138} {9 20 21 0 1380} {-1 -2} {1 2 3 0 0} {12 24}")
case("declared as a map's value, and of an array", [[
  local v, a = up.hash { value = "u32[3]" }, up.array { max = 2, value = "i8[4]" }
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 3 do t[i] = up.u32(e.arg2 + i) end
    v[e.arg2] = t
    local x = a[1]
    if x then x[up.u64(e.arg2) % 4 + 1] = up.i8(-e.arg2) end
  end)
  v:set(50, { 7, 8 })]],
  [[list(v[5]), list(v[50]), list(a[1]), list(a[0]), (pcall(v.set, v, 1, { 1, 2, 3, 4 })),
    (pcall(v.set, v, 1, { 'x' }))]],
  "{6 7 8} {7 8 0} {-8 -9 -10 -11} {0 0 0 0} false false")
case("through functions, and in loops", [[local m = up.hash()
  local function fill(t, from) for i = 1, 4 do t[i] = from + i end return t end
  local function sum(t) local s = 0LL for i = 1, 4 do s = s + (t[i] or 0) end return s end
  up.uprobe(DATA, function(e)
    local s = 0LL
    for round = 1, 3 do s = s + sum(fill({}, e.arg2 * round)) end
    m[e.arg2] = s
  end)]], "m[0], m[5]", "30 150")
case("printed", [[local m = up.hash()
  up.uprobe(DATA, function(e)
    local t = {}
    for i = 1, 3 do if i ~= 2 or e.arg2 > 5 then t[i] = e.arg2 end end
    m[e.arg2] = { t = t, n = 1 }
    if e.arg2 == 11 then up.printf("printed %s\n", t) end
  end)]], "tostring(m[7])", "n=1 t={7, 7, 7}")
case("tuples in records are what they were", [[local r, seen = up.ring(), {}
  up.uprobe(DATA, function(e) r:emit { addrs = { e.arg0, e.arg1, e.arg2 } } end)
  r:each(function(ev) seen[ev.addrs[3] ] = ev.addrs[2] end)]], "seen[1], seen[9]", "18 6")

local script = { [[
local up = require "uplua"
local DATA = "./build/targets/buffers:data"
local function list(t)
  local parts = {}
  for i, v in ipairs(t) do parts[i] = tostring(v) end
  return "{" .. table.concat(parts, " ") .. "}"
end
local function all(t, n)
  local parts = {}
  for i = 1, n do parts[i] = tostring(t[i]) end
  return table.concat(parts, " ")
end
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]] }
for number, c in ipairs(cases) do
  script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(c[2], number, c[3])
end
local run, values = target.script(table.concat(script, "\n"), "-- ./build/targets/buffers"), {}
if run.status ~= 0 then io.stderr:write(run.err) end
for number, value in run.out:gmatch "case (%d+): ([^\n]*)" do values[tonumber(number)] = value end
for number, c in ipairs(cases) do tap.is(values[number], c[4], c[1]) end
tap.is(select(2, run.out:gsub("printed 11, 11, 11\n", "")), 23, "an array prints its elements")
tap.is(run.status, 0, "the run ends well")
tap.like(run.err, "\n  161 × an index outside of an array: not stored, ", "keys that a declared array lacks")
local losses = run.err:gsub("\n  [%d,]+ × unreadable memory read as nil, [^\n]*:%d+", "")
losses = losses:gsub("\n  161 × an index outside of an array: not stored, [^\n]*:%d+", "")
tap.is(losses, "uplua: not everything was seen:\n", "nothing else is lost")
target.done()
tap.done_testing()
