-- make bench: how long a flame graph takes, of 1,000,000 samples in 50,000 stacks of 20 frames of the process arg[1],
-- which branch as a program's do: 140,000 nodes. Prints "WHAT VALUE" lines for tests/bench/names.
local ffi = require "ffi"
package.path = "tests/lua/?.lua;" .. package.path
local kernel = require "kernel"
local flame = require "uplua.flame"
local stack = require "uplua.stack.stack"
local up = require "uplua"

local pid = tonumber(arg[1])
local STACKS, FRAMES, SAMPLES = 50000, 20, 1000000

-- Addresses all over the code that the process has mapped.
local words = {}
for line in io.lines(("/proc/%d/maps"):format(pid)) do
  local from, to = line:match "^(%x+)%-(%x+) r%-xp .*%.so"
  if from then
    from, to = tonumber(from, 16), tonumber(to, 16)
    for i = 0, 99 do words[#words + 1] = from + math.floor((to - from) * i / 100) end
  end
end

-- At depth d there are 3^(d/2) different callers.
local HEADER = ffi.offsetof("struct uplua_stack", "frames") / 8 -- words before the frames
local fd = kernel.map("hash", 8, 8 * (HEADER + FRAMES), STACKS)
local samples = {}
stack.bind(fd)
stack.add_process(pid)
for number = 1, STACKS do
  local value = { pid + 2 ^ 32 * FRAMES, 0 } -- of no known program
  for depth = 0, FRAMES - 1 do
    local caller = math.floor((number - 1) / STACKS * 3 ^ (depth / 2))
    value[HEADER + FRAMES - depth] = words[(caller * 7919 + depth * 101) % #words + 1]
  end
  local id = ffi.cast("uint64_t", number) * 0x9e3779b97f4a7c15ULL
  kernel.update(fd, id, value)
  samples[stack.intern(id)] = SAMPLES / STACKS
end
collectgarbage()

local begin, cpu = up.now(), os.clock()
local picture = flame.svg(samples)
print("flame", (up.now() - begin) / 1e9)
print("flame_cpu", os.clock() - cpu)
print("flame_bytes", #picture)
