-- What handlers and the script store into one place has to agree; if not, the message names both uses with their lines.
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

-- Compiles HANDLERS together; the error's message, or nil.
local function compile(...)
  for _, handler in ipairs { ... } do test_run.handler("agree", handler) end
  local good, why = pcall(setup.commit)
  if good then return nil end
  setup.discard()
  return why
end

local HERE = "type_conflicts_test.lua"
-- MESSAGE has TEXT, in which each line number stands as the difference to line FIRST of this file: {0}, {1} …
local function says(message, first, text, name)
  text = text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("{(%d+)}",
    function(n) return ".-" .. HERE:gsub("%.", "%%.") .. ":" .. first + n end)
  like(message, text, name)
end
local function line() return debug.getinfo(2, "l").currentline end

-- Two handlers, and one with itself.
local m, n = up.hash(), up.count()
local first = line()
says(compile(function(e) m[e.arg0] = 1 end,
             function(e) m[e.comm] = 2 end), first + 1,
     "{1}: the key of 'm' is a string here, and an integer at {0}", "keys of two handlers")
first = line()
says(compile(function(e) m[1] = e.arg0 end,
             function(e) m[1] = e.arg0 > 1 end), first + 1,
     "{1}: the value of 'm' is a boolean here, and an integer at {0}", "values")
first = line()
says(compile(function(e)
  local r = { who = e.comm, n = 1 }
  m[1] = r
end, function(e)
  local r = m[1]
  if r then r.who = e.arg0 end
end), first, "{6}: the field 'who' is an integer here, and a string at {2}", "a field that is assigned to")
first = line()
says(compile(function(e)
  m[1] = { who = e.comm, n = 1 }
end, function(e)
  m[2] = { who = e.pid }
end), first, "{4}: the field 'who' of the records of 'm' is an integer at {4}, and a string at {2}",
  "a field of two shapes")
first = line()
says(compile(function(e) m[1] = { at = { x = 1 } } end, function(e)
  m[2] = { at = 5 }
end), first, "{2}: the field 'at' of the records of 'm' is an integer at {2}, and a record { x } at {1}",
  "a record where the other has a number")
first = line()
says(compile(function(e) n[1]:inc() end, function(e)
  n[e.comm]:inc()
end), first, "{2}: the key of 'n' is a string here, and an integer at {1}", "keys of an aggregation")
first = line()
says(compile(function(e) n[{ 1, e.comm }]:inc() end, function(e)
  n[{ e.comm, 1 }]:inc()
end), first, "{2}: the field '[2]' of the records of 'n' is an integer at {2}, and a string at {1}",
  "tuples of another order")

-- The script's own writes before the handlers are compiled.
local given, rows = up.hash(), up.hash()
first = line()
given:set(1, 2)
given:set(2, 3)
given[3] = 4
says(compile(function(e) given[e.comm] = 1 end), first,
     "{4}: the key of 'given' is a string here, and an integer at {1}", "a key that the script has written")
says(compile(function(e) given[1] = e.comm end), first,
  "{6}: the value of 'given' is a string here, and an integer at {1}", "a value")
rows[7] = { who = "x", n = 1 }
says(compile(function(e) rows[1] = { who = 5, n = 1 } end), first,
     "{9}: the field 'who' of the records of 'rows' is an integer at {9}, and a string at {8}", "a field")
local mixed = up.hash()
mixed[1] = "x"
mixed[2] = 5
says(compile(function(e) mixed[e.arg0] = nil end), first, "{13}: the value is an integer here, and a string at {12}",
  "the script with itself")
mixed[2] = nil
is(compile(function(e) mixed[e.arg0] = e.comm end), nil, "which it can take back")

-- Shapes of a ring never disagree.
local ring = up.ring()
is(compile(function(e) ring:emit { a = 1 } ring:emit { a = e.comm } end, function(e) ring:emit { a = { e.pid } } end),
  nil, "shapes of a ring are variants")

-- Later setups have to fit what is loaded.
local kept, loaded, sums = up.hash(), up.hash(), up.sum()
first = line()
local add = test_run.handler("add", function(e)
  kept[e.arg0] = e.arg1
  loaded[e.arg0] = { n = e.arg1, who = e.comm }
  sums[e.comm]:add(e.arg1)
end)
setup.commit()
add { 1, 23 }
is(compile(function(e) kept[e.arg0] = 5 loaded[5] = { who = "y", n = 7 } sums.x:add(2) end), nil,
  "a later setup that fits")
says(compile(function(e) kept[e.comm] = 1 end), first,
  "{10}: the key of 'kept' is a string here, and an integer at {2} when it was loaded", "a later key")
says(compile(function(e) kept[1] = e.comm end), first,
  "{12}: the value of 'kept' is a string here, and an integer at {2} when it was loaded", "a later value")
says(compile(function(e) loaded[1] = { n = e.comm, who = "x" } end), first,
     "{14}: the field 'n' of the records of 'loaded' is a string at {14}, and an integer at {3}", "a later field")
says(compile(function(e) loaded[1] = { n = 1, who = e.comm, more = 1 } end), first,
     "{16}: the records of 'loaded' have no field 'more', which this one has", "one that was not there")
says(compile(function(e) loaded[1] = { n = 1 } end), first,
  "{18}: this record lacks the field 'who' that the records already loaded always have", "one that was")
says(compile(function(e) loaded[1] = { n = 1, who = "longer than the sixteen bytes of e.comm" } end), first,
     "{20}: the field 'who' of the records of 'loaded' is a string of up to 39 bytes at {20}, " ..
     "and a string of up to 15 bytes at {3}", "a longer string")
says(compile(function(e) sums:add(1) end), first,
  "{23}: 'sums' has no key here, and has one at {4}: give it one in both places, or use two of them",
  "without its keys")
add { 2, 101 }
is(kept[2], 101, "what is attached goes on")
is(sums.uplua, 124, "and counts")
is(loaded[1].n, 23, "and the records are what they were")
local reuse = test_run.handler("reuse",
  function(e) kept[e.arg0] = (kept[e.arg0] or 0) + 1 sums[e.comm]:add(1) loaded[e.arg0] = { n = 1, who = e.comm } end)
setup.commit()
reuse { 1 }
is(kept[1], 24, "a later setup adds to what an earlier one has stored")
is(sums.uplua, 125, "an aggregation too")
setup.close()
tap.done_testing()
