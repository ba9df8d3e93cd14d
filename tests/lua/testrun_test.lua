-- A handler that a test runs itself sees the twelve words it is given, and uses maps, rings and the ledger as every
-- other.
local ffi = require "ffi"
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

local sums, seen, read, ring = up.sum(), up.hash(), up.hash { max = 2 }, up.ring { size = "64K" }
local memory = ffi.new("int32_t[2]", -7, 9)
local pid = require "uplua.core".system.pid()

local words = test_run.handler("words", function(e)
  sums:add(e.arg0 + e.arg1 + e.arg2 + e.arg3 + e.arg4 + e.arg5 + e.arg6 + e.arg7 + e.arg8 + e.arg9 + e.arg10)
  seen[e.arg11] = { pid = e.pid, comm = e.comm, probe = e.probe, func = e.func, later = e.time > 0 }
  ring:emit { last = e.arg11 }
end)
local reads = test_run.handler("reads", function(e) read[e.arg0 / e.arg2] = up.read_i32(e.arg1) end)
setup.commit()

for i = 1, 23 do words { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -55 + i, i * -1LL } end
tap.is(sums:get(), 276, "e.arg0 to e.arg10 are the words given")
tap.is(seen:size(), 23, "… and e.arg11")
tap.ok(seen[-23].pid == pid and seen[-23].comm == "uplua" and seen[-23].later, "the process is the test's own")
tap.ok(seen[-1].probe == "words" and seen[-1].func == "words", "the probe has the name given")
local emitted = 0
ring:poll(0, function(ev) emitted = emitted + ev.last end)
tap.is(emitted, -276, "records come in the ring")

local address = ffi.cast("intptr_t", memory)
reads { 1, address, 1 }
reads { 2, address + 4, 1 }
reads { 3, address, 1 }
reads { 1, 8, 1 }
tap.ok(read[1] == nil and read[2] == 9 and read:size() == 1, "memory is the test's own; what cannot be read is nil")
reads { 7, address, 0 }
tap.is(read[0], -7, "a divisor of 0 gives 0")
local losses = {}
for _, loss in ipairs(setup.ledger()) do
  losses[#losses + 1] = loss[2] .. " × " .. loss[1]:gsub(" %(.*", ""):gsub(",.*", "")
end
table.sort(losses)
tap.is(table.concat(losses, "; "), "1 × 'read' is full; 1 × division by zero gave 0; 1 × unreadable memory read as nil",
  "the ledger counts each loss once")

local ok, message = pcall(function()
  test_run.handler("stack", function(e) sums[e:ustack()]:inc() end)
  setup.commit()
end)
tap.ok(not ok and message:find("the event of a testrun has no field 'ustack'; it has time, pid, .*arg11$"),
  "it has no stack")
setup.discard()
setup.close()
tap.done_testing()
