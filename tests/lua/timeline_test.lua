-- uplua.timeline: its files by the rules of Chrome's format, from a program whose calls are known; spans that overlap,
-- names that are no text, files that are full, disks that are.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local path = target.folder() .. "-timeline.json"
local BEGIN = 'local up = require "uplua"\nlocal timeline = require "uplua.timeline"\n' ..
              ('local t = timeline.new(%q, MORE)\n'):format(path)

-- Runs CODE, in which t is a timeline of the options MORE. The events of the file, and the run.
local function run(code, more, arguments)
  local ran = target.script(BEGIN:gsub("MORE", more or "nil") .. code, arguments or "")
  local good, events = pcall(cjson.decode, target.read(path))
  ok(good, "the file is JSON", not good and events)
  return good and events or {}, ran
end

local PHASES = { X = true, i = true, C = true, M = true }

-- Whether EVENTS keep the format's rules: the members of each phase, and of the spans of one thread each is inside of
-- another one or apart from it. Returns what does not.
local function wrong(events)
  local lanes = {}
  for _, e in ipairs(events) do
    if not (PHASES[e.ph] and type(e.name) == "string" and type(e.pid) == "number" and type(e.tid) == "number" and
            type(e.ts) == "number" and (e.ph ~= "X" or e.dur >= 0) and (e.ph ~= "i" or e.s == "t") and
            (e.ph ~= "C" or type(e.args.value) == "number")) then
      return "an event " .. cjson.encode(e)
    end
    if e.ph == "X" then
      local lane = e.pid .. "/" .. e.tid
      lanes[lane] = lanes[lane] or {}
      table.insert(lanes[lane], { math.floor(e.ts * 1000 + 0.5), math.floor((e.ts + e.dur) * 1000 + 0.5) })
    end
  end
  for lane, spans in pairs(lanes) do
    table.sort(spans, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] > b[2] end)
    local open = {}
    for _, s in ipairs(spans) do
      while #open > 0 and open[#open] <= s[1] do open[#open] = nil end
      if #open > 0 and s[2] > open[#open] then
        return ("%s: a span until %d in one until %d"):format(lane, s[2], open[#open])
      end
      open[#open + 1] = s[2]
    end
  end
end

local function count(events, field, value)
  local n = 0
  for _, e in ipairs(events) do
    if e[field] == value then n = n + 1 end
  end
  return n
end

-- --- calls of a program ---

local LIGHTS = "./build/targets/lights"
local events, ran = run([[
local ring = up.ring()
up.uprobe("./build/targets/lights:turn", function(e)
  ring:emit { at = e.time, light = up.i32(e.arg0), colour = up.i32(e.arg1), pid = e.pid, tid = e.tid, comm = e.comm }
end)
local since = {}
ring:each(function(r)
  local light = t:track { process = "Lights", name = "light " .. r.light }
  local s = since[r.light]
  if s then t:span(light, "colour " .. s.colour, s.at, r.at, { light = r.light }) end
  since[tonumber(r.light)] = up.copy(r)
  t:instant(t:track { process = r.pid, thread = r.tid, name = r.comm }, "turn", r.at)
  t:counter(light, "turns", r.at, r.colour)
end)
]], nil, "-- " .. LIGHTS)
is(ran.status .. ran.err, "0", "lights")
is(wrong(events), nil, "the format's rules")
is(count(events, "name", "turn"), 7 * 304, "an instant for each turn")
is(count(events, "name", "turns"), 7 * 304, "a counter's value for each")
for colour = 0, 2 do is(count(events, "name", "colour " .. colour), 707, "a span for each of a colour") end
local least, most, red = 0, 0, 0 -- by the program's clock before and after each change
for low, high in ran.out:gmatch "%f[^\n%z]%d (%d+) %d+ %d+ (%d+) %d+ %d+\n" do
  least, most = least + tonumber(low), most + tonumber(high)
end
for _, e in ipairs(events) do
  if e.name == "colour 0" then red = red + e.dur * 1000 end
end
ok(least > 0 and red >= least - 707e3 and red <= most + 707e3, "red as long as by the program's own clock", -- in us
  ("%.3f ms, not %.3f to %.3f"):format(red / 1e6, least / 1e6, most / 1e6))
local names = {}
for _, e in ipairs(events) do
  if e.ph == "M" and e.name ~= "thread_sort_index" then names[#names + 1] = e.args.name end
end
table.sort(names)
is(table.concat(names, ","), "Lights,light 0,light 1,light 2,light 3,light 4,light 5,light 6,lights,lights",
  "tracks have their names")

-- --- spans that overlap ---

events = run [[
math.randomseed(23)
local tracks = { t:track { process = "a", name = "one" }, t:track { process = 42, thread = 43, name = "two" } }
for i = 1, 10007 do
  local at, length = math.random(100000), math.random(2) == 1 and math.random(20) or math.random(3000)
  t:span(tracks[i % 2 + 1], "s", at, at + length)
end
print(t)
]]
is(wrong(events), nil, "no lane has spans that overlap")
local spans = count(events, "name", "s")
ok(spans > 5000, "most spans find a lane", spans)

events, ran = run [[
local a = t:track { process = "a", name = "one" }
for i = 0, 100 do t:span(a, "s", i, 1000 + i) end
]]
is(count(events, "name", "s"), 64, "64 lanes have room for 64 spans that overlap")
like(ran.err, "37 × timeline [^\n]*: spans that overlap with those of 64 lanes: left out", "the ledger has the others")

events = run [[
local a = t:track { process = "a", name = "one" }
local from = 0
for i = 1, 5003 do t:span(a, "inner", i * 10, i * 10 + 5) end
t:span(a, "outer", 1, 60000)
t:span(a, "crosses", 50000, 70000)
]]
local tids = {}
for _, e in ipairs(events) do tids[e.name] = e.tid end
is(wrong(events), nil, "many spans in one")
is(tids.inner, tids.outer, "one around 5,003 others is in their lane")
ok(tids.crosses ~= tids.outer, "one that crosses it is not")

-- --- times, names, values ---

events, ran = run [[
local a = t:track { process = 'p"\27[2J\n', name = "tr\\ack \255" }
t:instant(a, 'name "quoted" \0\7\n</script>', 123456789012345678LL, { ["k\n\"y"] = "v\1", list = { 1, 2 } })
t:span(a, "", 1, 1)
t:instant(a, "negative", -1234567)
t:counter(a, "half", 0, 0.5)
t:instant(a, "long", 1, { text = ("x"):rep(300000) })
t:instant(a, "earliest", -0x7fffffffffffffffLL - 1)
t:span(a, "back", 10, 9)
for i = 1, 70001 do t:instant(a, "different " .. i, i) end
]]
is(wrong(events), nil, "names that are no text")
local texts = target.read(path)
ok(not texts:find "[%z\1-\9\11-\31\127-\255]", "no control character and no byte of no text is in the file")
like(texts, '"ts":123456789012345%.678,', "a time beyond a double's precision")
like(texts, '"ts":%-1234%.567', "a time before the clock began")
like(texts, '"value":0%.5', "a fraction")
like(texts, '"ts":%-9223372036854775%.808', "the earliest time that there is")
like(ran.err, "1 × timeline [^\n]*: events of more than 256 KB: not written", "an event that is too long")
is(count(events, "name", "different 70001"), 1, "names that are all different")
like(ran.err, "1 × timeline [^\n]*: spans whose end is before their begin: left out", "one that ends before it begins")

-- --- files and disks that are full ---

events, ran = run([[
local a = t:track { process = "a", name = "one" }
for i = 1, 1009 do t:instant(a, "event", i) end
]], '{ size = "16K" }')
local there = count(events, "name", "event")
ok(there > 100 and there < 1009 and #target.read(path) <= 16384, "a file is no longer than its size", there)
like(ran.err, (1009 - there) .. " × timeline [^\n]*: events beyond its size of 16.0 KB: not written",
  "and the ledger has what is missing")

local folder = target.folder() .. "-disk"
local SCRIPT = ([[
local t = require "uplua.timeline".new("%s/t.json")
local a = t:track { process = "a", name = "one" }
for i = 1, HOW_MANY do t:instant(a, "event of some length", i, { number = i }) end
print(t:close())
]]):format(folder)
for _, case in ipairs { { 100003, "while it is written" }, { 2500, "at its end" }, { 1009, "by others' files", 60 } } do
  os.execute(("mkdir -p %s && mount -t tmpfs -o size=256k none %s"):format(folder, folder))
  if case[3] then os.execute(("dd if=/dev/zero of=%s/other bs=4k count=%d 2>/dev/null"):format(folder, case[3])) end
  ran = target.script((SCRIPT:gsub("HOW_MANY", case[1])), "")
  local good, kept = pcall(cjson.decode, target.read(folder .. "/t.json"))
  os.execute(("umount %s; rmdir %s"):format(folder, folder))
  ok(good, "a disk that is full " .. case[2] .. ": the file is JSON", not good and kept)
  local n = good and count(kept, "name", "event of some length") or 0
  ok(n > 0 and n < case[1], "it has what there was room for", n)
  like(ran.err, "timeline [^\n]*: No space left on device: the file ends there, and can be read", "it is told")
  local lost = ran.err:match "([%d,]+) × timeline [^\n]*: events not written: No space left on device"
  is(lost and tonumber((lost:gsub(",", ""))), case[1] - n, "and the ledger has what is missing")
end

-- --- what cannot be ---

for _, case in ipairs {
  { 'timeline.new("/nowhere/t.json")', "cannot write /nowhere/t.json: No such file or directory" },
  { 'timeline.new(PATH, { size = 5 })', "option 'size': it is a number of bytes" },
  { 'timeline.new(PATH):track {}', "a track has a process, a name, or both" },
  { 'timeline.new(PATH):track { proces = 1 }', "unknown option 'proces'; did you mean 'process'" },
  { 'timeline.new(PATH):span("a", "b", 1, 2)', "span: the first argument is a track of this timeline" },
  { 'local t = timeline.new(PATH) t:span(t:track { name = "a" }, 1, 1, 2)', "span: the name is a text, not 1" },
  { 'local t = timeline.new(PATH) t:span(t:track { name = "a" }, "b", 1)', "span: the time is a number of ns" },
  { 'local t = timeline.new(PATH) t:counter(t:track { name = "a" }, "b", 1, 0/0)',
    "counter: the value is a number, not nan" },
  { 'local t = timeline.new(PATH) t:close() t:track { name = "a" }', "is closed" },
} do
  local code = 'local timeline = require "uplua.timeline" ' .. case[1]:gsub("PATH", ("%q"):format(path))
  local failed = target.script(code, "")
  ok(failed.status == 1 and failed.err:find(case[2], 1, true), case[2], failed.err)
end
os.remove(path)
target.done()
tap.done_testing()
