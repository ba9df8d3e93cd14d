-- Maps as the script reads and writes them.
local ffi = require "ffi"
local tap = require "tap"
local kernel = require "kernel"
local hash = require "uplua.objects.hash"
local map = require "uplua.base.map"
local ok, is, like = tap.ok, tap.is, tap.like
local i64 = kernel.scalar "i64"

local function bound(kind, type, max, key, value, flags)
  local o = hash[kind] { max = max }
  local fd = kernel.map(type, key.size, value.size, max, flags)
  o:bind { fd = fd, type = type, max = max, key = key, value = value }
  return o, fd
end

local function fails(fn, pattern, name)
  local good, message = pcall(fn)
  ok(not good, name)
  like(message, pattern, name .. ": the message")
end

local m, fd = bound("hash", "hash", 101, i64, i64)
m:set(1, 10)
m[2LL] = 20
is(m:get(1), 10, "set and get")
is(m[2], 20, "a number and the equal cdata are the same key")
is(m:get(1ULL), 10, "unsigned too")
is(m:get(3), nil, "a key that is not there reads nil")
is(m:size(), 2, "size")
is(m:delete(1), true, "delete says that the key was there")
is(m:delete(1), false, "or that it was not")
m[2] = nil
is(m:size(), 0, "assigning nil deletes")
for i = 1, 101 do m:set(i, i * i) end
fails(function() m:set(102, 1) end, "hash_test.lua:%d+: hash: cannot set %[102%]: the map is full %(101 entries%)",
  "a full map refuses")
local sum, count = 0, 0
for k, v in m:pairs() do sum, count = sum + v - k * k, count + 1 end
is(count, 101, "pairs sees every entry")
is(sum, 0, "with its value")
local top = {}
for k, v in m:top(3) do top[#top + 1] = k .. "=" .. v end
is(table.concat(top, " "), "101=10201 100=10000 99=9801", "top gives the largest, largest first")
top = {}
for k in m:top(2, function(v, key) return -key end) do top[#top + 1] = k end
is(table.concat(top, " "), "1 2", "top by a function of value and key")
m:clear()
is(m:size(), 0, "clear")
is(tostring(m), "(empty)", "an empty map prints so")
m:set(7, 1234567)
m:set(1000, 3)
is(tostring(m), "7     1,234,567\n1000          3", "print aligns, largest first")
fails(function() m:set("x", 1) end, "hash: as a key, an integer is expected, not a string", "a wrong key")
fails(function() m:set(1, {}) end, "hash: as a value, an integer is expected", "a wrong value")
fails(function() m:get() end, "a key cannot be nil", "no key")
fails(function() m.get(1) end, "colon", "a dot instead of a colon")
fails(function() m.size = 1 end, "'size' is a method", "a method's name as a key")
fails(function() hash.hash { maximum = 1 } end,
  "hash_test.lua:%d+: hash: unknown option 'maximum'; did you mean 'max'%?", "a slip in an option")
fails(function() hash.hash { max = 0 } end, "option 'max': 0 is not a whole number from 1 to 4294967295",
  "a wrong option")
fails(function() hash.hash { key = "u33x" } end, "'u33x' is not a type", "a wrong type")

-- Records.
local value = kernel.record { { "bytes", i64 }, { "at", i64 } }
local live = hash.hash { max = 1000 }
live[0x7f0000001000] = { bytes = 23, at = 1 }
live[0x7f0000002000] = { bytes = 101, at = 2 }
live[0x7f0000002000] = { bytes = 102, at = 3 }
is(live:size(), 2, "writes before the map exists are queued")
is(live:get(0x7f0000002000LL).bytes, 102, "and can be read")
is(#live.queued, 2, "once for each key")
live:bind { fd = kernel.map("hash", 8, 16, 1000), type = "hash", max = 1000, key = i64, value = value }
is(live:size(), 2, "bind writes them")
is(live[0x7f0000002000].at, 3, "the last of each key")
local sorted = {}
for k, v in live:top(10, "bytes") do sorted[#sorted + 1] = v.bytes end
is(table.concat(sorted, " "), "102 23", "top by a field")
fails(function() live:top(1) end, "top: say by which field", "top of records needs a field")
fails(function() live:top(1, "byte") end, "'byte' is not a number", "a field that is not there")
fails(function() live[0x7f0000002000].bytes = 0 end, "m:set", "a record is a copy")

local misfit = hash.hash()
misfit:set(1, { bytes = "x", at = 1 })
fails(function()
  misfit:bind { fd = kernel.map("hash", 8, 16, 10), type = "hash", max = 10, key = i64, value = value }
end, "^hash: as a value, field 'bytes': an integer is expected, not a string$",
  "a queued write that does not fit the handlers' types")

-- Tuples as keys.
local tuple = kernel.record { { 1, kernel.scalar("string", 16) }, { 2, i64 } }
local calls = bound("lru_hash", "lru_hash", 64, tuple, i64)
calls:set({ "git", 23 }, 5)
is(calls:get { "git", 23 }, 5, "a tuple is a key")
is(calls:get { "git", 24 }, nil, "all of it counts")
for k in calls:pairs() do
  is(k[1], "git", "its first element")
  is(k[2], 23, "its second element")
  is(calls:get(k), 5, "a key that was read finds its entry")
end
is(tostring(calls), "git, 23  5", "tuples are joined")

-- Arrays.
local slots = bound("array", "array", 23, kernel.scalar "u32", i64)
slots[22] = 4
is(slots:get(22), 4, "an array's last")
is(slots:get(0), 0, "an array is zero at first")
is(slots:get(23), nil, "beyond its end there is nothing")
fails(function() slots:set(23, 1) end, "index 23 is not in 0 … 22", "beyond its end nothing can be set")
fails(function() slots:delete(1) end, "cannot be deleted", "nor deleted")
count = 0
for _ in slots:pairs() do count = count + 1 end
is(count, 23, "pairs sees all of an array")
slots:clear()
is(slots[22], 0, "clear writes zeros")

-- Per CPU.
local each, each_fd = bound("percpu_hash", "percpu_hash", 23, i64, i64)
kernel.update(each_fd, 5, kernel.per_cpu({ 3 }, { 4 }))
is(each[5][0], 3, "a per-CPU value is a list from CPU 0")
is(each[5][1], kernel.cpus > 1 and 4 or nil, "to the last")
each:set(6, 9)
is(each[6][0], 9, "one value is CPU 0's")
each:set(6, { [0] = 1, kernel.cpus > 1 and 50 or nil })
top = {}
for k in each:top(1) do top[1] = k end
is(top[1], kernel.cpus > 1 and 6 or 5, "top orders by the sum over the CPUs")
is(each:size(), 2, "per-CPU maps are read in batches")

-- Many entries, and buckets larger than a batch can be.
local big, big_fd = bound("hash", "hash", 50021, i64, i64)
local n = 50021
local keys, values = ffi.new("int64_t[?]", n), ffi.new("int64_t[?]", n)
for i = 0, n - 1 do keys[i], values[i] = i * 48, i end
kernel.bpf.bpf_map_update_batch(big_fd, keys, values, ffi.new("uint32_t[1]", n), nil)
count, sum = 0, 0
for k, v in big:pairs() do count, sum = count + 1, sum + (k - v * 48) end
is(count, n, "50,021 entries are read, none twice")
is(sum, 0, "each with its value")
local taken = map.open(big_fd):read(true)
is(tonumber(taken.count), n, "a take returns all of them")
is(big:size(), 0, "and leaves nothing")
for i = 1, 1003 do big:set(i, i) end
local printed = tostring(big)
is(select(2, printed:gsub("\n", "")), 1000, "a large map is printed up to 1,000 entries")
ok(printed:find "^1003  1,003\n.*\n4         4\n… and 3 more$", "the largest, and it says how many more there are")
local stop = 0
for _ in m:pairs() do stop = stop + 1 break end
is(stop, 1, "a loop over pairs may be left")

-- Unbound.
local own = hash.hash()
own[{ "a", 1 }] = 1
own["size "] = 2
is(own[{ "a", 1LL }], 1, "a map that no handler uses works for the script alone")
own:delete { "a", 1 }
is(own:size(), 1, "deleting from it too")
own:clear()
is(own:size(), 0, "and clearing")
tap.done_testing()
