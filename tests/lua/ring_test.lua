-- Rings: records that a BPF program emits, walked in place.
local tap = require "tap"
local kernel = require "kernel"
local watched = {}
package.loaded["uplua.base.loop"] = { watch = function(fd, fn) watched[fd] = fn end } -- the test is the loop
local ring = require "uplua.objects.ring"
local copy = require("uplua.objects.record").copy
local ok, is, like = tap.ok, tap.is, tap.like
local i64 = kernel.scalar "i64"

local r = ring.ring { size = "4K", delay = 0 }
is(r.options.size, 4096, "a size may be written 4K")
is(ring.ring({ size = 5000 }).options.size, 8192, "a size is rounded up to a power of two")
is(r:poll(0, print), 0, "an unbound ring is empty")
local fd = kernel.map("ringbuf", 0, 0, 4096)
r:bind { fd = fd, type = "ringbuf", max = 4096, variants = {
  [0] = kernel.record { { "pid", i64 }, { "ns", i64 } },
  [1] = kernel.record { { "comm", kernel.scalar("string", 16) }, { "pair", kernel.record { { 1, i64 }, { 2, i64 } } } },
} }
is(watched[fd], nil, "a ring that nobody reads is not watched")

local emit, emit_other, discard = kernel.emitter(fd, 3), kernel.emitter(fd, 5), kernel.discarder(fd, 40)
local GIT = 0x746967

-- More than the ring holds, in portions, so that records wrap.
local seen, wrong, kept = 0, 0, nil
r:each(function(ev)
  seen = seen + 1
  if ev.comm then
    if ev.comm ~= "git" or ev.pair[1] ~= seen or ev.pid ~= nil then wrong = wrong + 1 end
  elseif ev.pid ~= seen or ev.ns ~= -seen then
    wrong = wrong + 1
  end
  if seen == 23 then kept = copy(ev) end
end)
ok(watched[fd], "a ring that is read is watched")
local sent = 0
for portion = 1, 101 do
  for i = 1, 41 do
    sent = sent + 1
    if i % 3 == 0 then
      if emit_other(1, GIT, 0, sent, 0) ~= 0 then ok(false, "emit " .. sent) end
    elseif emit(0, sent, -sent) ~= 0 then
      ok(false, "emit " .. sent)
    end
    if i % 7 == 0 then discard() end
  end
  while watched[fd]() do end
end
is(sent, 4141, "4,141 records were emitted")
is(seen, sent, "and all were seen, once")
is(wrong, 0, "each with its values, in order")
is(kept.pid, 23, "up.copy keeps a record")

-- A view is over when the callback returns.
local stray
emit(0, 1, 1)
r:poll(0, function(ev) stray = ev end)
local good, message = pcall(function() local x = stray.pid return x end)
like(message, "ring_test.lua:%d+: this event is over", "a view that was kept says so")
good, message = pcall(function() stray.pid = 1 end)
like(message, "read%-only", "and is never written to")

-- Errors in a callback: the record is done with, the rest is not lost.
for i = 1, 3 do emit(0, i, i) end
local calls = {}
good = pcall(r.poll, r, 0, function(ev) calls[#calls + 1] = ev.pid error("stop") end)
ok(not good, "an error leaves the poll")
is(r:poll(0, function(ev) calls[#calls + 1] = ev.pid end), 2, "the next one goes on behind it")
is(table.concat(calls, " "), "1 2 3", "each record was seen once")

-- A full ring refuses, and takes again once it is read.
local accepted = 0
while emit(0, 1, 1) == 0 do accepted = accepted + 1 end
is(accepted, 4096 / 32 - 1, "a full ring refuses") -- the kernel keeps the last 8 bytes free
is(r:poll("1ms", function() end), accepted, "what it held is read")
is(emit(0, 1, 1), 0, "then it takes more")
seen = 0
ring.drain()
is(seen, 1, "drain hands the rest to each's function")
is(r:poll("1ms", function() end), 0, "a poll of an empty ring waits, and returns 0")
good, message = pcall(function() r:emit {} end)
like(message, "is for handlers", "a script does not emit")
good, message = pcall(function() r:each(5) end)
like(message, "ring_test.lua:%d+: each: a function is expected", "each needs a function")
good, message = pcall(ring.ring, { size = "4X" })
like(message, "'4X' is not a size", "a wrong size")
tap.done_testing()
