-- make bench: how fast addresses get names. Prints "WHAT VALUE" lines for tests/bench/names.
local ffi = require "ffi"
package.path = "tests/lua/?.lua;" .. package.path
local kernel = require "kernel"
local core = require "uplua.core"
local stack = require "uplua.stack.stack"
local up = require "uplua"

local pid = tonumber(arg[1])
local ITERATIONS, STACKS, FRAMES = 3000000, tonumber(arg[3]), 20

-- The first name of a process: its mappings are read, its files opened, one of them parsed.
local begin = up.now()
local malloc = up.symbol(pid, tonumber(arg[2]))
local first = up.now() - begin
assert(malloc.symbol, "the address has no name")
print("first", first / 1e6)

-- Addresses all over the code that the process has mapped, of those that have names.
local words = {}
for line in io.lines(("/proc/%d/maps"):format(pid)) do
  local from, to = line:match "^(%x+)%-(%x+) r%-xp .*%.so"
  if from then
    from, to = tonumber(from, 16), tonumber(to, 16)
    for i = 0, 99 do
      local address = from + math.floor((to - from) * i / 100)
      if up.symbol(pid, address).symbol then words[#words + 1] = address end
    end
  end
end
print("places", #words)

local symbols = core.symbols.new()
for _, address in ipairs(words) do symbols:lookup(pid, address) end
local n = #words
begin = up.now()
for i = 1, ITERATIONS do symbols:lookup(pid, words[i % n + 1]) end
print("warm", ITERATIONS / ((up.now() - begin) / 1e9) / 1e6)

if STACKS == 0 then return end

-- A million different stacks, as they stand in the kernel's store, folded and counted by their text.
local HEADER = ffi.offsetof("struct uplua_stack", "frames") / 8 -- words before the frames
local VALUE = 8 * (HEADER + FRAMES)
local fd = kernel.map("hash", 8, VALUE, STACKS)
local BATCH = 10000
local keys, values = ffi.new("uint64_t[?]", BATCH), ffi.new("uint64_t[?]", BATCH * VALUE / 8)
local count = ffi.new "uint32_t[1]"
local state = 23
local function random(limit) -- a linear congruential generator: the same stacks in each run
  state = (state * 16807) % 2147483647
  return state % limit
end
for first_id = 1, STACKS, BATCH do
  for i = 0, BATCH - 1 do
    keys[i] = ffi.cast("uint64_t", first_id + i) * 0x9e3779b97f4a7c15ULL
    local base = i * VALUE / 8
    values[base] = pid + 2 ^ 32 * FRAMES
    for f = 0, FRAMES - 1 do values[base + HEADER + f] = words[random(n) + 1] end
  end
  count[0] = BATCH
  assert(kernel.bpf.bpf_map_update_batch(fd, keys, values, count, nil) == 0)
end
stack.bind(fd)
stack.add_process(pid)
collectgarbage()
begin = up.now()
local cpu = os.clock()
local total, length = 0, 0
for id = 1, STACKS do
  local text = stack.intern(ffi.cast("uint64_t", id) * 0x9e3779b97f4a7c15ULL):folded()
  total, length = total + 1, length + #text
  assert(id > 100 or not text:find("[unknown]", 1, true), text)
end
print("folded", (up.now() - begin) / 1e9)
print("folded_cpu", os.clock() - cpu)
print("stacks", total)
print("bytes", length)
