-- uplua.objects.recorder: what handlers have kept last is read exactly, in order of time, also while they write; and
-- what was overwritten is not missing in silence.
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local HEAD = [[
local up       = require "uplua"
local recorder = require "uplua.objects.recorder"
]]
local function run(text, program) return target.script(HEAD .. text, "-- build/targets/" .. program) end

local REQUESTS = [[
up.usdt("app:queued", function(e) r:emit { queued = e.arg0, tid = e.tid } end)
up.usdt("app:answered", function(e) r:emit { answered = e.arg0, comm = e.comm, tid = e.tid } end)
]]

local r = run("local r = recorder.new()\n" .. REQUESTS .. [[
up.at_exit(function()
  local list, missing = r:between(0, up.now())
  print("all", #list, #missing)
  local wrong, before = 0, 0
  for _, one in ipairs(list) do
    local record = one.record
    if one.time < before or (record.queued ~= nil) == (record.answered ~= nil) or record.tid <= 0 or
      record.answered and record.comm ~= "requests" then wrong = wrong + 1 end
    before = one.time
  end
  print("wrong", wrong)
  local some, none = r:between(list[11].time, list[33].time)
  print("some", #some, #none, some[1].time == list[11].time, some[23] and some[23].time == list[33].time)
  local cpus, on = { [0] = true }, 0
  for _, one in ipairs(list) do on = on + (one.cpu == 0 and 1 or 0) end
  print("on CPU 0", on == #r:between(0, up.now(), cpus))
end)
]], "requests 101")
is(r.out:match "all\t[^\n]*", "all\t199\t0", "all that was emitted is there")
is(r.out:match "wrong\t(%d+)", "0", "in order of time, each record by its type")
is(r.out:match "some\t[^\n]*", "some\t23\t0\ttrue\ttrue", "what was between two times, both included")
is(r.out:match "on CPU 0\t(%a+)", "true", "and of one CPU")

r = run("local r = recorder.new { size = 4096 }\n" .. REQUESTS .. [[
up.at_exit(function()
  local list, missing = r:between(0, up.now())
  local right, held = #missing > 0, 0
  for _, gap in ipairs(missing) do
    for _, one in ipairs(list) do
      if one.cpu == gap.cpu then
        held = held + 1
        if gap.from ~= 0 or one.time < gap.to then right = false end
      end
    end
  end
  print("small", right, held > 0, #list < 199)
  local last = list[#list]
  print("late", #select(2, r:between(last.time, up.now())))
end)
]], "requests 101")
is(r.out:match "small\t[^\n]*", "small\ttrue\ttrue\ttrue",
  "what was overwritten is missing, up to the oldest that is left")
is(r.out:match "late\t(%d+)", "0", "and nothing is missing behind that")

r = run([[
local r = recorder.new { size = 4096 }
local wrong, seen = 0, 0
up.uprobe("./build/targets/meet:end", function(e) r:emit { a = e.arg0, b = e.arg0 + 1, c = e.arg0 + 2 } end)
up.every("1ms", function()
  for _, one in ipairs((r:between(0, up.now()))) do
    local record = one.record
    seen = seen + 1
    if record.b ~= record.a + 1 or record.c ~= record.a + 2 then wrong = wrong + 1 end
  end
end)
up.at_exit(function() print("meanwhile", wrong, seen > 0) end)
]], "meet " .. tap.fewer(40000, 2000))
is(r.out:match "meanwhile\t[^\n]*", "meanwhile\t0\ttrue",
  "what is written while it is read is not taken for another record")
ok(r.err == "", "nothing was lost")
is(run([[print(pcall(recorder.new, { bytes = 1 }))]], "requests 1").out:match "unknown option 'bytes'",
  "unknown option 'bytes'", "a wrong option is refused")

target.done()
tap.done_testing()
