-- Records, strings and keys that do not fit on the stack lie in scratch memory: of handlers that run at the same time,
-- that sleep, and that end early. On build/targets/strings: many(s, t, i) by 4 threads t, 1,009 times each, s = "T:I:"
-- and letters up to 3,000 bytes.
local tap = require "tap"
local target = require "target"

local preamble = [[
local up = require "uplua"
local MANY = "./build/targets/strings:many"
local function text(t, i)
  local head = ("%d:%d:"):format(t, i)
  return head .. string.char(97 + i % 26):rep(3000 - #head)
end
]]

-- Runs uplua on the script CODE and the target with ARGUMENTS.
local function run(code, arguments)
  local path = target.folder() .. "-scratch.lua"
  local file = assert(io.open(path, "w"))
  file:write(preamble, code)
  file:close()
  local result = target.uplua(path .. " -- ./build/targets/strings " .. arguments)
  os.remove(path)
  return result
end

-- What the script CODE prints with 4 threads.
local function prints(code, want, name)
  local result = run(code, "4")
  tap.is(result.out:gsub("absent %d+\n", ""), want, name)
  -- Texts are cut on purpose, also where they are keys.
  local lost = result.err:gsub("\n  [%d,]+ × a key of '[^\n]*' was cut: [^\n]*", "")
  tap.is((lost:gsub("^uplua: not everything was seen:\n$", "")), "", "… nothing is lost")
end

prints([[
local r, seen, wrong = up.ring { size = "64M" }, 0, 0
up.uprobe(MANY, function(e) r:emit { s = up.str(e.arg0, 4096), t = e.arg1, i = e.arg2, cut = up.str(e.arg0, 2000) } end)
r:each(function(ev)
  local whole = text(ev.t, ev.i)
  seen = seen + 1
  if ev.s ~= whole or ev.cut ~= whole:sub(1, 1999) .. "…" then wrong = wrong + 1 end
end)
up.at_exit(function() print(seen, wrong) end)
]], "4036\t0\n", "strings of 4,096 bytes as fields of what is emitted")

prints([[
local m, n, wrong = up.hash(), up.count(), 0
up.uprobe(MANY, function(e)
  local s = up.str(e.arg0, 4096)
  m[s] = { t = e.arg1, i = e.arg2, n = #s, s = up.str(e.arg0, 300) }
  n[s]:inc()
end)
up.uretprobe(MANY, function(e) n[up.str(e.arg0, 4096)]:inc() end)
up.at_exit(function()
  for s, v in m:pairs() do
    if s ~= text(v.t, v.i) or v.n ~= 3000 or v.s ~= s:sub(1, 299) .. "…" then wrong = wrong + 1 end
  end
  local twice = 0
  for s, times in n:pairs() do if times == 2 and m[s] then twice = twice + 1 end end
  print(m:size(), wrong, twice)
end)
]], "4036\t0\t4036\n", "as keys, in values, at the return too")


prints([[
local n, m = up.count(), up.hash()
local function first(s, i)
  if i % 3 == 0 then return nil end
  return s
end
up.uprobe(MANY, function(e)
  local s, t = up.str(e.arg0, 1000), up.str(e.arg0, 1000)
  if e.arg2 % 5 == 0 then n.returned:inc() return end
  local kept = first(s, e.arg2)
  if kept == nil then n.nothing:inc() return end
  if kept ~= t or t ~= s then n.wrong:inc() end
  if not m[e.arg1] then m[e.arg1] = { s = s } end
  n.last:inc()
end)
up.at_exit(function() print(n.returned, n.nothing, n.wrong, n.last, m:size()) end)
]], ("%d\t%d\t0\t%d\t4\n"):format(4 * 202, 4 * 269, 4 * 538), "handlers that return early give the memory back")

-- 1,009 - 202 (i % 5 == 0) - 269 (of the others, i % 3 == 0) = 538.
local ended = run([[
local n = up.count()
local known = up.hash()
known:set("other", 1)
up.uprobe(MANY, function(e)
  local s = up.str(e.arg0, 2000)
  if e.arg2 % 2 == 0 then known[s] = known[e.comm] + 1 end
  if s:starts "3:" then n.three:inc() end
end)
up.at_exit(function() print(n.three) end)
]], "4")
tap.is(ended.out:gsub("absent %d+\n", ""), "504\n", "handlers that end by an error give the memory back")
tap.like(ended.err, "^uplua: not everything was seen:\n  2,020 × handler ended by an error: " ..
                    "arithmetic or comparison on nil, [^\n]*:%d+\n$",
         "… they are counted, and nothing else")

local fields, reads = {}, {}
local MANY = tap.fewer(200, 71) -- of 8 bytes: more than the stack has
for i = 1, MANY do fields[i] = ("f%d = e.arg2 * 1000 + %d"):format(i, i) end
prints(([[
local m, wrong = up.hash(), 0
up.uprobe(MANY, function(e) m[{ e.arg1, e.arg2 }] = { %s } end)
up.at_exit(function()
  for k, v in m:pairs() do for i = 1, %d do if v["f" .. i] ~= k[2] * 1000 + i then wrong = wrong + 1 end end end
  print(m:size(), wrong)
end)
]]):format(table.concat(fields, ", "), MANY), "4036\t0\n", ("records of %d fields"):format(MANY))

for i = 1, 20 do
  fields[i], reads[i] = ("n[s%d]:inc()"):format(i), ("local s%d = up.str(e.arg0, %d)"):format(i, 100 + 8 * i)
end
prints(([[
local n, wrong, counted = up.count(), 0, 0
up.uprobe(MANY, function(e)
  if e.arg2 >= 101 then return end
  %s
  local stack = e:ustack()
  %s
end)
up.at_exit(function()
  for k, times in n:pairs() do
    local t, i, length = k:match "^(%%d+):(%%d+):", nil, #k - #"…"
    counted = counted + times
    if k ~= text(k:match "^(%%d+):(%%d+):"):sub(1, length) .. "…" or times ~= 1 then wrong = wrong + 1 end
  end
  print(n:size(), wrong)
end)
]]):format(table.concat(reads, "\n"), table.concat(fields, " ", 1, 20)), ("%d\t0\n"):format(4 * 101 * 20),
"twenty strings at a time, beside a stack")

-- Frames of all sizes leave the walk enough of the stack: where that is too little (before Linux 6.13) the verifier
-- says so.
for size = 24, 312, tap.fewer(32, 96) do
  prints(([[
local n, frames = up.count(), up.count()
up.uprobe(MANY, function(e)
  local s = up.str(e.arg0, %d)
  frames[e:ustack()]:inc()
  if e.arg2 < 101 and s:starts "3:" then n[s]:inc() end
end)
up.uretprobe(MANY, function(e) frames[e:ustack()]:inc() end)
up.at_exit(function()
  local keys, hits = 0, 0
  for k in n:pairs() do keys = keys + 1 end
  for s, count in frames:pairs() do hits = hits + count end
  print(keys, hits)
end)
]]):format(size), "101\t8072\n", ("a string of %d bytes beside a stack"):format(size))
end

prints([[
local m, wrong = up.hash(), 0
local function choose(e, s)
  local a, b = { s = s, n = 1 }, { s = up.str(e.arg0, 700), n = 2 }
  local r = a
  if e.arg2 % 2 == 0 then r = b end
  return r
end
up.uprobe(MANY, function(e)
  local s = up.str(e.arg0, 500)
  local name = e.arg2 % 4 == 0 and s or up.str(e.arg0, 600)
  local r = choose(e, s)
  m[{ e.arg1, e.arg2 }] = { n = r.n, s = r.s, name = name }
end)
up.at_exit(function()
  for k, v in m:pairs() do
    local whole, even = text(k[1], k[2]), k[2] % 2 == 0
    if v.n ~= (even and 2 or 1) or v.s ~= whole:sub(1, even and 699 or 499) .. "…" or
       v.name ~= whole:sub(1, k[2] % 4 == 0 and 499 or 599) .. "…" then wrong = wrong + 1 end
  end
  print(m:size(), wrong)
end)
]], "4036\t0\n", "records and strings by different ways")

-- "T:I:" is four bytes for I < 10: only letters follow, so that the text from the fifth and from the sixth byte on is
-- the same.
prints([[
local n, m = up.count(), up.hash()
up.uprobe(MANY, function(e)
  local last, r = "none", { s = up.str(e.arg0, 800), n = 0 }
  for i = 1, 5 do
    local s = up.str(e.arg0 + i, 700)
    if s == last then n.same:inc() end
    if i == 4 then last = s end
    r.n = r.n + #s
  end
  if #last == 699 and r.s:starts(e.comm) == false and r.n == 5 * 699 then n.right:inc() end
  m[{ e.arg1, e.arg2 }] = last
end)
up.at_exit(function()
  local wrong = 0
  for k, s in m:pairs() do if s ~= text(k[1], k[2]):sub(5, 703) .. "…" then wrong = wrong + 1 end end
  print(n.right, n.same, m:size(), wrong)
end)
]], "4036\t40\t4036\t0\n", "in loops")

-- Eight handlers of one CPU have memory at a time; 23 of them sleep until the page that they read is there, or are
-- counted.
local blocked = run([[
local r, seen, wrong = up.ring(), 0, 0
up.uprobe("./build/targets/strings:blocked", function(e) r:emit { i = e.arg1, s = up.str(e.arg0, 1000) } end)
r:each(function(ev)
  seen = seen + 1
  if ev.s ~= "thread " .. ev.i then wrong = wrong + 1 end
end)
up.at_exit(function() up.printf("seen: %d, wrong: %d\n", seen, wrong) end)
]], "blocked")
if blocked.out:find "waited 1\n" then -- the kernel lets one handler sleep at a time
  tap.is(blocked.out, "waited 1\nseen: 23, wrong: 0\n", "handlers that sleep keep their memory")
  tap.is(blocked.err, "", "those that come later find it free")
else
  tap.is(blocked.out, "waited 8\nseen: 8, wrong: 0\n", "handlers that sleep keep their memory")
  tap.is(blocked.err, "uplua: not everything was seen:\n" ..
         "  15 × handler not run: others on its CPU were using the memory for large records and strings\n",
           "those that find none are counted")
end

local refused = run([[
up.uprobe(MANY, function(e)
  local a, b, c = up.str(e.arg0, 4096), up.str(e.arg0, 4096), up.str(e.arg0, 4000)
  local d, f = up.str(e.arg0, 4096), up.str(e.arg0, 4096)
  if a == b and c == d and d == f and a == c then up.printf("equal\n") end
end)
]], "4")
tap.like(refused.err, "scratch.lua:9: the handler needs 2%d%d%d%d bytes at one time for its records, " ..
                      "strings and keys, of 16384 that " ..
         "there are: use fewer or shorter ones; the largest, of 4096 bytes, is made here",
           "what is too much is refused, with its line")
tap.is(refused.status, 1, "… and the target never ran")
target.done()
tap.done_testing()
