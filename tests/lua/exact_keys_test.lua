-- Keys of several parts are one only where each part is equal: integers by all their digits, in what scripts read,
-- take, set and write (tests/targets/counted_addresses.c).
local ffi = require "ffi"
local store = require "uplua.objects.store"
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- Numbers and cdata of one value, and none of two.
local BASE = 0x7fff00000000
local values = { 0, 1, -1, 2 ^ 53, 2 ^ 53 - 1, -2 ^ 53, 2 ^ 60, -2 ^ 60, 2 ^ 63, 0.5, "1", true, BASE }
for i = 1, 40 do values[#values + 1] = BASE + 4 * i end
local seen, twice = {}, 0
for _, value in ipairs(values) do
  for _, key in ipairs { { value, 1 }, { 1, value }, { name = value } } do
    local name = store.canonical(key)
    twice = twice + (seen[name] and 1 or 0)
    seen[name] = true
  end
end
-- { 1, 1 } stands there twice.
is(twice, 1, "tuples of different parts are different keys")
for _, pair in ipairs { { 2 ^ 60, ffi.cast("int64_t", 2 ^ 60) }, { -1, 0xffffffffffffffffULL }, { -5, -5LL },
  { 2 ^ 63, 0x8000000000000000ULL }, { BASE, ffi.cast("uint64_t", BASE) } } do
  local shown = tostring(pair[2])
  is(store.canonical(pair[1]), store.canonical(pair[2]), ("%s is a key as number and as cdata"):format(shown))
  is(store.canonical { "a", pair[1] }, store.canonical { "a", pair[2] }, "… and in a tuple")
end

-- The program calls see(BASE + 4 * i, …) i + 1 times, for i from 0 to 15.
local PROGRAM = "./build/targets/counted_addresses"
local counts = {}
for i = 1, 16 do counts[i] = tostring(i) end
counts = table.concat(counts, " ")
local function run(code, options)
  return target.uplua(("%s -e %s -- %s"):format(options or "", target.quote(code), PROGRAM))
end
local LIST = [[ local function list(o) local all = {} for _, n in o:pairs() do all[#all + 1] = n end
  table.sort(all) print(table.concat(all, " ")) end ]]
local r = run(LIST .. ([[ c = count() uprobe("%s:see", function(e) c[{ sym(e.ip), e.arg0 }]:inc() end)
  at_exit(function() list(c) local t = c:take() list(t)
    local differ = 0
    for k, n in t:pairs() do if t:get(k) ~= n then differ = differ + 1 end end
    print(differ) end)]]):format(PROGRAM))
is(r.out, counts .. "\n" .. counts .. "\n0\n", "a function and an address of 15 digits, read, taken and got")
r = run(([[ allow, n = hash(), count()
  for i = 0, 15 do allow:set({ 0x7fff00000000 + i * 4, 1 }, 1) end
  uprobe("%s:see", function(e) if allow[{ e.arg0, 1 }] then n:inc() end end)
  at_exit(function() print(n:get()) allow = nil n:clear() end)]]):format(PROGRAM))
is(r.out, "136\n", "what a script has set before")
r = run(([[ c = count() uprobe("%s:see", function(e) c[{ e.arg0, e:ustack(1) }]:inc() end)
  at_exit(function() io.write(require "uplua.folded".text(c)) c:clear() end)]]):format(PROGRAM))
local _, lines = r.out:gsub("1407%d+;see %d+\n", "")
is(lines, 16, "folded stacks")

r = target.uplua(("scripts/argdist.lua %s:see --key 'address=e.arg0' --key e.uid --sum 'one=e.uid*0+1' -- %s")
  :format(PROGRAM, PROGRAM))
local rows, differ = 0, 0
for hits, one in r.out:gmatch "\n1407%d+%s+%d+%s+(%d+)%s+(%d+)" do
  rows, differ = rows + 1, differ + (hits == one and 0 or 1)
end
is(rows, 16, "argdist.lua --key --key")
is(differ, 0, "… and its sums are of the same rows")
-- Sums beyond 2^53 by stack, an odd one.
r = target.uplua(("--format csv scripts/stackcount.lua --functions --sum 'b=e.arg0*64+1' %s:see -- %s")
  :format(PROGRAM, PROGRAM))
like(r.out, ",1224941715249778824,see,", "stackcount.lua --sum")
target.done()
tap.done_testing()
