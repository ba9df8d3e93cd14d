-- What handlers keep of addresses and other unsigned 64-bit integers is unsigned where the script reads it, and what
-- may be negative is signed.
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local is, ok = tap.is, tap.ok

local HIGH = 0xffffffff81000001ULL -- an address in the kernel
local NEGATIVE = -2130706431       -- the same bits, signed

local values, signed, mixed, literal, given = up.hash(), up.hash(), up.hash(), up.hash(), up.hash()
local records, array, keys, tuples = up.hash(), up.array { max = 2 }, up.count(), up.count()
local var, plain, ring, cells = up.var(0), up.var(0), up.ring(), up.percpu_hash()
given[0] = HIGH

local keep = test_run.handler("keep", function(e)
  local address = up.u64(e.arg0)
  values[1] = address
  values[2] = 5
  signed[1] = e.arg0
  mixed[1], mixed[2] = address, e.arg0
  literal[1] = 5
  given[1] = 7
  records[1] = { at = address, n = e.arg0, low = up.u32(e.arg0) }
  array[1] = address
  cells[1] = address
  keys[address]:inc()
  tuples[{ address, e.arg0 }]:inc()
  var:set(address)
  plain:set(e.arg0)
  ring:emit { at = address, n = e.arg0 }
end)
local compare = test_run.handler("compare", function(e)
  local at = values[1]
  if at and at < 0 then signed[2] = 1 end
  if at and at > 0xffff000000000000ULL then signed[3] = 1 end
end)
require("uplua.probe.setup").commit()
keep { HIGH }
compare {}

is(values[1], HIGH, "a value")
is(values[2], 5, "… beside a literal")
is(values[1] == HIGH and tostring(values[1]), "18446744071578845185ULL", "… as an unsigned cdata")
is(signed[1], NEGATIVE, "a value that may be negative")
is(mixed[1], NEGATIVE, "values of which one may be negative")
literal[1] = -5
is(literal[1], -5, "where handlers keep literals alone the script keeps what it likes")
is(given[0], HIGH, "what the script has written before")
is(records[1].at, HIGH, "a record's field")
is(records[1].n, NEGATIVE, "… and another one")
is(records[1].low, 0x81000001, "… of 32 bits")
is(array[1], HIGH, "an array")
local own
for _, value in pairs(cells:get(1)) do own = value ~= 0 and value or own end
is(own, HIGH, "a CPU's own value")
for key in keys:pairs() do is(key, HIGH, "a key") end
is(keys[HIGH], 1, "… by which it is found")
for key in tuples:pairs() do
  is(key[1], HIGH, "a key's part")
  is(key[2], NEGATIVE, "… and another one")
end
is(var:get(), HIGH, "a var")
var:set(-1)
is(var:get(), 2ULL ^ 64 - 1, "… which the script may set")
is(plain:get(), NEGATIVE, "a var that may be negative")
ring:poll(0, function(ev)
  is(ev.at, HIGH, "a record in a ring")
  is(ev.n, NEGATIVE, "… and what may be negative there")
end)
ok(signed[2] == 1 and signed[3] == 1, "a handler compares what it reads as signed, or as the other side is")
tap.done_testing()
