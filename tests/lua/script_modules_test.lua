-- What the modules that scripts share refuse, and say; what they know of windows and slices that nothing has to be
-- traced for. What they trace has the tests of the scripts.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

for code, message in pairs {
  ["require 'uplua.kmem'.trace({}, { freed = print })"] = "kmem.trace: of what%? Give slabs = true, pages = true, or",
  ["require 'uplua.kmem'.trace({ slabs = true }, {})"] = "kmem.trace: give it a function for what is allocated, freed",
  ["require 'uplua.kmem'.trace({ slab = true }, {})"] = "kmem.trace: unknown option 'slab'; did you mean 'slabs'%?",
  ["require 'uplua.kmem'.follow():held('soon')"] = "held: 'soon' is not a duration",
  ["require 'uplua.kmem'.follow():held(0, 'size')"] = 'held: blocks are put together by "stack" or "name", not .size.',
  ["require 'uplua.slices'.new {}"] = "slices.new: how long is a slice%? Give slice = \"1ms\"",
  ["require 'uplua.block'.requests 'x'"] = "block.requests: a function is expected, not 'x'",
  ["require 'uplua.marks'.draw 'x'"] = "marks.draw: a timeline is expected, as timeline.new makes it",
  ["require 'uplua.mappings'.at(1)"] = "mappings.at: a process and an address are expected, both numbers",
  ["require 'uplua.sched'.turns(1)"] = "sched.turns: a function is expected",
} do
  local run = target.uplua("-e " .. target.quote(code))
  like(run.err, message, code .. ": refused")
  ok(run.status ~= 0, "… with a status")
end

-- --- who ran meanwhile ---

local sched = require "uplua.sched"
local function told(span)
  local ran, unknown = sched.meanwhile(span)
  local list = {}
  for i, one in ipairs(ran) do list[i] = ("%s %d"):format(one.comm, one.took) end
  return ("%s; %d"):format(table.concat(list, ", "), unknown)
end
local function switch(time, comm, tid, cpu) return { time = time, comm = comm, tid = tid, cpu = cpu or 1 } end
local function wait(events, missing)
  return { key = 7, from = { time = 1000 }, to = { time = 2000, cpu = 1, tid = 3, comm = "c" }, events = events,
           missing = missing or {} }
end
is(told(wait {}), "c 1000; 0", "one that ran all the time")
is(told(wait { switch(1200, "a", 1), switch(1500, "b", 2) }), "c 500, b 300, a 200; 0", "the latest first")
is(told(wait { switch(1200, "a", 1), switch(1500, "x", 9, 0) }), "c 800, a 200; 0", "on that CPU alone")
is(told(wait { switch(1001, "waits", 7), switch(1500, "b", 2) }), "c 500, b 499; 0", "not the thread itself")
is(told(wait { switch(1500, "b", 2), switch(2000, "c", 3) }), "c 500, b 500; 0", "the switch to it is there, too")
is(told(wait { switch(1500, "b", 2), switch(2100, "late", 5) }), "c 500, b 500; 0", "nothing behind it")
is(told(wait({ switch(1700, "b", 2) }, { { cpu = 1, from = 900, to = 1400 } })), "c 300, b 300; 400",
  "what is not known, since it was overwritten")
is(told(wait({ switch(1700, "b", 2) }, { { cpu = 0, from = 900, to = 1400 } })), "c 300, b 700; 0", "on another CPU")

-- --- lines of a span ---

local lines = require "uplua.span.lines"
local side = { time = 5e9, tid = 23, comm = "app" }
local row, below = lines.of { key = 4, elapsed = 1e6, from = side, to = { time = 5001e6, tid = 24, comm = "a\nb" },
  legs = { { from = "x", to = "y", elapsed = 4e5 }, { from = "y", to = "z", elapsed = 6e5 } },
  missing = { { cpu = 1, from = 5e9, to = 5e9 + 3e5 } },
  events = { { since = 5e5, comm = "app", tid = 23, call = "read(3)" } } }
is(row.key .. " " .. row.elapsed .. " " .. row.from, "4 1000000 app (thread 23)", "a row of a slow span")
is(table.concat(below, "\n"), [[
     400.0 us  from x to y
     600.0 us  from y to z
          0 s  from here something may be missing, for 300.0 us, on CPU 1
     500.0 us  app                  23  read(3)]], "and what is below it")
_, below = lines.of { key = 4, elapsed = 1, from = side, to = side, legs = { {} } }
is(#below, 0, "nothing below one without parts")

target.done()
tap.done_testing()
