-- count and sum: totals over CPUs, and takes that lose nothing.
local tap = require "tap"
local kernel = require "kernel"
local count = require "uplua.objects.count"
local ok, is, like = tap.ok, tap.is, tap.like
local i64 = kernel.scalar "i64"

-- Unkeyed.
local n = count.count()
is(n:get(), 0, "an unbound count reads 0")
is(tostring(n), "0", "and prints so")
local fd = kernel.map("percpu_array", 4, 16, 1)
n:bind { fd = fd, type = "percpu_array", max = 1, value = i64 }
is(n:get(), 0, "a count starts at 0")
kernel.update(fd, 0, kernel.per_cpu({ 23, 0 }, { 101, 0 }))
local all = kernel.cpus > 1 and 124 or 23
is(n:get(), all, "the total is over all CPUs")
local taken = n:take()
is(taken:get(), all, "a take returns it")
is(tostring(taken), tostring(all), "and prints as a number")
is(n:get(), 0, "the count starts anew")
kernel.update(fd, 0, kernel.per_cpu({ 30, 0 }, { 101, 0 }))
is(n:get(), 7, "and has what was added since")
is(taken:get(), all, "which the view does not see")
n:clear()
is(n:get(), 0, "clear starts anew")
local good, message = pcall(function() n:get(5) end)
like(message, "count_test.lua:%d+: count has no keys", "a key for an unkeyed count is refused")
good, message = pcall(function() n:inc() end)
like(message, "inc%(%) is for handlers", "inc in a script says where it belongs")

-- Keyed.
local key = kernel.record { { 1, kernel.scalar("string", 16) }, { 2, i64 } }
local calls = count.count { max = 23 }
fd = kernel.map("percpu_hash", key.size, 16, 23)
calls:bind { fd = fd, type = "percpu_hash", max = 23, key = key, value = i64 }
local function comm(name)
  local ffi = require "ffi"
  local words = ffi.new "int64_t[2]"
  ffi.copy(words, name)
  return words[0], words[1]
end
local function add(name, number, value)
  local low, high = comm(name)
  kernel.update(fd, { low, high, number }, kernel.per_cpu { value, 0 })
end
add("git", 1, 5)
add("redis-server", 2, 1204551)
add("bash", 3, 5)
is(calls[{ "git", 1 }], 5, "a tuple finds its count")
is(calls[{ "git", 2 }], 0, "what was never counted is 0")
is(calls:size(), 3, "size")
is(tostring(calls), "redis-server, 2  1,204,551\nbash, 3                  5\ngit, 1                   5",
   "print: largest first, equal ones by key")
local list = {}
for k, v in calls:top(2) do list[#list + 1] = k[1] .. "=" .. v end
is(table.concat(list, " "), "redis-server=1204551 bash=5", "top")
taken = calls:take()
is(taken:size(), 3, "a view of a keyed count")
is(taken[{ "git", 1LL }], 5, "a number and the equal cdata are the same key in a view")
is(taken:get { "sh", 1 }, 0, "a key that it has not is 0")
list = {}
for k, v in taken:pairs() do list[#list + 1] = v end
is(#list, 3, "pairs of a view")
is(calls:size(), 0, "after the take there is nothing")
is(tostring(calls), "(empty)", "and nothing is printed")
add("git", 1, 6)
add("sh", 4, 1)
is(calls[{ "git", 1 }], 1, "what was added since")
is(calls:size(), 2, "only keys that were added to")
is(calls:take():size(), 2, "a second take")
for i = 1, 19 do add("fill", i, i) end
is(calls:take():size(), 19, "a map that is full is still taken")
local entries = require("uplua.base.map").open(fd):read()
is(tonumber(entries.count), 19, "idle keys make room once the map is more than half full")
add("git", 1, 2)
is(calls[{ "git", 1 }], 2, "and start from nothing when they come back")
good, message = pcall(function() return (calls:get()) end)
like(message, "is keyed", "a keyed count needs a key")
good, message = pcall(function() calls.x = 1 end)
like(message, "written by handlers only", "a script cannot assign")

-- Sums are exact up to 64 bits, and beyond rounded.
local sum = count.sum()
fd = kernel.map("percpu_array", 4, 16, 1)
sum:bind { fd = fd, type = "percpu_array", max = 1, value = i64 }
kernel.update(fd, 0, kernel.per_cpu { 9007199254740995LL, 0 })
ok(sum:get() == 9007199254740995LL, "a sum beyond 2^53 is exact")
is(tostring(sum), "9,007,199,254,740,995", "and prints so")
sum:take()
kernel.update(fd, 0, kernel.per_cpu { 9007199254740990LL, 0 })
is(sum:get(), -5, "a sum may shrink after a take")
kernel.update(fd, 0, kernel.per_cpu { -5, 0 })
sum:take()
kernel.update(fd, 0, kernel.per_cpu { 5, 1 })
is(sum:get(), 2 ^ 64 + 10, "a sum has no end at 64 bits: what is added behind a take, too")
kernel.update(fd, 0, kernel.per_cpu { -5, 0 })
is(sum:get(), 0, "and comes back")
kernel.update(fd, 0, kernel.per_cpu { -10, 1 })
ok(sum:get() == 0xfffffffffffffffbULL, "up to 2^64 it is exact")
tap.done_testing()
