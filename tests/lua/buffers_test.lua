-- up.buf: bytes of a length that is known at run time: read, measured, compared, stored, emitted, cut. All cases run in
-- one setup, on build/targets/buffers: data(p, size, n) 23 times for each n (see there), with one thread.
local tap = require "tap"
local target = require "target"

-- { name, declarations and probes, expression at the end, what it prints as }
local cases = {}
local function case(name, declarations, expression, want)
  cases[#cases + 1] = { name, declarations, expression, want }
end

case("sizes, and how much is kept of them", [[local m = up.hash()
  up.uprobe(DATA, function(e) m[e.arg2] = { b = up.buf(e.arg0, e.arg1) } end)]],
  "sizes(m)", "0:0/0 1:18/18 2:64/256 3:64/1099511627776 4:nil 5:11/11 6:nil 7:nil 8:0/0 9:6/6 10:24/24 11:64/10007")
case("the most that is kept", [[local m = up.hash()
  up.uprobe(DATA, function(e) m[e.arg2] = { b = up.buf(e.arg0, e.arg1, 13) } end)]],
  "sizes(m)", "0:0/0 1:13/18 2:13/256 3:13/1099511627776 4:nil 5:11/11 6:nil 7:nil 8:0/0 9:6/6 10:13/24 11:13/10007")
case("a size that is a constant is what is kept", [[local m = up.hash()
  up.uprobe(DATA, function(e) if e.arg2 == 2 then m[0], m[1] = up.buf(e.arg0, 100), up.buf(e.arg0, 0)
    m[2], m[3] = up.buf(e.arg0, 100, 10), up.buf(e.arg0, 0xffffffffffffffffULL, 7) end end)]],
  "#m[0], m[0].size, #m[1], #m[2], m[2].size, #m[3], m[3].size", "100 100 0 10 100 7 18446744073709551615ULL")
case("a size that is unsigned is never negative", [[local m = up.hash()
  up.uprobe(DATA, function(e) if e.arg2 == 4 then m[1] = up.buf(e.arg0, up.u64(e.arg1)) end end)]],
  "#m[1], m[1].size", "64 18446744073709551615ULL")
case("the bytes", [[local m = up.hash()
  up.uprobe(DATA, function(e) m[e.arg2] = { b = up.buf(e.arg0, e.arg1, 1000) } end)]],
  [[m[1].b:bytes() == "GET / HTTP/1.1\r\n\r\n", m[2].b:bytes() == all, m[9].b:bytes() == "a\0b\0\0c", m[5].b:bytes(),
    m[10].b:bytes(), m[11].b:bytes() == numbers:sub(1, 1000), m[0].b:bytes() == "", m[0].b == m[8].b ]],
  "true true true end of page from one page to another true true true")
case("8,192 bytes in a record of a ring", [[local r, seen, n = up.ring(), {}, 0
  up.uprobe(DATA, function(e) if e.arg2 == 11 then r:emit { n = e.arg2, b = up.buf(e.arg0, e.arg1, 8192) } end end)
  r:each(function(ev) if ev.b:bytes() == numbers:sub(1, 8192) and ev.b.size == 10007 then n = n + 1 end end)]],
  "n", "23")
case("keys, which the script finds by a string or a buffer", [[local n, m = up.count(), up.hash()
  up.uprobe(DATA, function(e)
    local b = up.buf(e.arg0, e.arg1, 32)
    if b then n[b]:inc() m[{ b, e.arg2 }] = e.arg2 end
  end)]], [[n["end of page"], n:get "a\0b\0\0c", n[""], n:get(all:sub(1, 32)), m:get({ "end of page", 5 }),
    count_of(n, "a\0b\0\0c", 6), count_of(n, all:sub(1, 32), 256), n:size()]], "23 23 46 0 5 23 23 8")
case("written by the script into what is declared", [[
  local m = up.hash { key = "bytes[8]", value = { b = "bytes[12]" } }
  m:set("abc", { b = "x\0y" })
  up.uprobe(DATA, function(e)
    local k = up.buf(e.arg0, e.arg1, 100)
    if e.arg2 == 9 and k then m[k] = { b = k } end
    if e.arg2 == 1 and k then m[k] = { b = k } end
  end)]], [[m:get("abc").b:bytes() == "x\0y", m:get("a\0b\0\0c").b:bytes() == "a\0b\0\0c", m:size(), all_of(m)]],
  [[true true 3 GET / HT… GET / HTTP/1.1\x0d\x0a… a\x00b\x00\x00c a\x00b\x00\x00c abc x\x00y]])
case("equal and different", [[local n = up.count()
  up.uprobe(DATA, function(e)
    local a, b, c, d = up.buf(e.arg0, e.arg1), up.buf(e.arg0, e.arg1, 200), up.buf(e.arg0, 6, 6), up.buf(e.arg0, 6, 24)
    if a == b then n.wide:inc() end
    if a ~= b then n.cut:inc() end
    if c and c == d then n.six:inc() end
    if a and a == c then n.same:inc() end
    if a == nil then n.none:inc() end
  end)]], "n.wide, n.cut, n.six, n.same, n.none", "207 69 207 23 69")
case("begins with, and the place of a text", [[local n, m = up.count(), up.hash()
  up.uprobe(DATA, function(e)
    local b = up.buf(e.arg0, e.arg1, 100)
    if not b then return end
    if b:starts "GET " then n.got:inc() end
    if b:starts "" then n.all:inc() end
    if b:starts "GET / HTTP/1.1\r\n\r\nx" then n.never:inc() end
    local from, to = b:find("page", 1, true)
    if from then m[e.arg2] = { from, to } end
    if b:find("HTTP/1.1\r\n", 1, true) then n.http:inc() end
    if b:find("\1\2", 1, true) then n.bytes:inc() end
    if b:find("\1", 1, true) then n.one:inc() end
    if b:find "c" then n.last:inc() end
  end)]], "n.got, n.all, n.never, m[5][1], m[5][2], m[10][1], m[10][2], n.http, n.bytes, n.one, n.last",
  "23 207 0 8 11 10 13 23 69 69 92")
case("through variables, functions and loops", [[local m = up.hash()
  local function read(e, short) if short then return up.buf(e.arg0, e.arg1, 8) end return up.buf(e.arg0, e.arg1, 40) end
  up.uprobe(DATA, function(e)
    local b = read(e, e.arg2 % 2 == 1)
    local last
    for i = 1, 3 do last = b b = up.buf(e.arg0, i) or b end
    m[e.arg2] = { b = last }
    m[100 + e.arg2] = { b = read(e, e.arg2 % 2 == 1) }
  end)]], "tostring(m[1].b), tostring(m[105].b), tostring(m[110].b), #m[102].b, m[102].b.size",
  "GE end of p… from one page to another 40 256")
case("printed", [[
  up.uprobe(DATA, function(e)
    if e.arg2 == 9 or e.arg2 == 4 then up.printf("printed %s\n", up.buf(e.arg0, e.arg1, 4)) end
  end)]],
  "1", "1")
case("of the kernel", [[local m = up.hash()
  up.uprobe(DATA, function(e) if e.arg2 == 5 then m[1] = { b = up.kbuf(BANNER, e.arg1, 64) }
    m[2] = { b = up.kbuf(8, e.arg1) } end end)]], "m[1].b:bytes(), m[2].b", "Linux versi nil")
local many, sum = {}, {}
for i = 1, 6 do
  many[i] = ("local a%d = e.arg%d + %d local b%d = up.read_u8(e.arg0 + %d)"):format(i, i % 2, i, i, i % 11)
  sum[i] = ("a%d + (b%d or 0)"):format(i, i)
end
case("among many values", ([[local m = up.hash()
  up.uprobe(DATA, function(e)
    if e.arg2 ~= 5 then return end
    %s
    local b = up.buf(e.arg0, e.arg1, 1021)
    local c = up.buf(e.arg0, e.arg1 - 1, 61)
    m[1] = { b = b, c = c, n = %s }
  end)]]):format(table.concat(many, " "), table.concat(sum, " + ")), "m[1].b:bytes(), m[1].c:bytes()",
  "end of page end of pag")
case("up.hex", [[local m = up.hash()
  up.uprobe(DATA, function(e)
    if e.arg2 == 9 or e.arg2 == 2 then m[e.arg2] = { b = up.buf(e.arg0, e.arg1, 6) } end
  end)]],
  [[up.hex(m[9].b), up.hex(m[2].b, " "), up.hex "ELF", up.hex "", up.hex("\0\255\n", ":"), (pcall(up.hex, 5))]],
  "610062000063 00 01 02 03 04 05… 454c46  00:ff:0a false")

local BANNER = target.banner()
if not BANNER then print "# no string of the kernel is known" end

local script = { ([[
local up = require "uplua"
local DATA = "./build/targets/buffers:data"
local BANNER = %sULL
local all, numbers = {}, {}
for i = 0, 255 do all[i + 1] = string.char(i) end
for i = 0, 10006 do numbers[i + 1] = string.char(i %% 251) end
all, numbers = table.concat(all), table.concat(numbers)
local function sizes(m)
  local parts = {}
  for n = 0, 11 do
    local b = m:get(n).b
    parts[#parts + 1] = n .. ":" .. (b and ("%%d/%%.0f"):format(#b, b.size) or "nil")
  end
  return table.concat(parts, " ")
end
local function count_of(n, bytes, size)
  for k, count in n:pairs() do if k:bytes() == bytes and k.size == size then return count end end
end
local function all_of(m)
  local parts = {}
  for k, v in up.sorted(m) do parts[#parts + 1] = tostring(k) .. " " .. tostring(v.b) end
  return table.concat(parts, " ")
end
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]]):format(BANNER or 0) }
local function runs(c) return BANNER or not c[2]:find "BANNER" end
for number, c in ipairs(cases) do
  if runs(c) then
    script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(c[2], number, c[3])
  end
end
local path = target.folder() .. "-buffers.lua"
local file = assert(io.open(path, "w"))
file:write(table.concat(script, "\n"))
file:close()
local run, values = target.uplua(path .. " -- ./build/targets/buffers"), {}
if run.status ~= 0 then io.stderr:write(run.err, path, "\n") end
for number, value in run.out:gmatch "case (%d+): ([^\n]*)" do values[tonumber(number)] = value end
for number, c in ipairs(cases) do
  if runs(c) then tap.is(values[number], c[4], c[1]) end
end
tap.is(run.status, 0, "the run ends well")
tap.is(select(2, run.out:gsub("printed a\\x00b\\x00…\n", "")), 23, "a buffer prints escaped, and that it was cut")
tap.is(select(2, run.out:gsub("printed nil\n", "")), 23, "… or nil")
tap.like(run.out, "absent 10\n", "the pages were not there before")
local losses = run.err:gsub("\n  [%d,]+ × unreadable memory read as nil, [^\n]*:%d+", "")
losses = losses:gsub("\n  [%d,]+ × a negative size read as nil, [^\n]*:%d+", "")
losses = losses:gsub("\n  [%d,]+ × a key of '[^\n]*' was cut: [^\n]*:%d+", "")
tap.is(losses, "uplua: not everything was seen:\n",
  "what could not be read is counted, and keys that were cut, and nothing else was lost")

-- Counted exactly, alone.
local code = [[uprobe("./build/targets/buffers:data", function(e) up.buf(e.arg0, e.arg1) end)]]
run = target.uplua(("-e %s -- ./build/targets/buffers"):format(target.quote(code:gsub("up%.", ""))))
tap.is(run.err, "uplua: not everything was seen:\n  23 × a negative size read as nil, -e:1\n" ..
  "  46 × unreadable memory read as nil, -e:1\n", "a size that leads out of what is mapped, and a negative one")
if run.status == 0 then os.remove(path) end
target.done()
tap.done_testing()
