-- How long does the report of a million live blocks take? Reads, decodes and sums per stack 1,000,000 entries of an
-- 8-byte key and a 24-byte record { bytes, stack, at }, as mallocleak.lua does. Prints seconds: the median of 5, and of
-- the read alone.
--   ./uplua tests/bench/map_read.lua [entries]
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/../lua/?.lua;" .. package.path
local ffi = require "ffi"
local kernel = require "kernel"
local up = require "uplua"

local N = tonumber(arg[1] or 1000000)
local STACKS = 101

local live = up.hash { max = N }
local fd = kernel.map("hash", 8, 24, N)
live:bind {
  fd = fd, type = "hash", max = N, key = kernel.scalar "i64",
  value = kernel.record { { "bytes", kernel.scalar "i64" }, { "stack", kernel.scalar "stack" },
    { "at", kernel.scalar "i64" } },
}

local keys, values = ffi.new("uint64_t[?]", N), ffi.new("uint64_t[?]", 3 * N)
for i = 0, N - 1 do
  keys[i] = 0x7f0000000000ULL + i * 48ULL
  values[3 * i], values[3 * i + 1], values[3 * i + 2] = i % 1000, (1 + i % STACKS) * 0x9e3779b97f4a7c15ULL, i
end
assert(kernel.bpf.bpf_map_update_batch(fd, keys, values, ffi.new("uint32_t[1]", N), nil) == 0)
keys, values = nil, nil
collectgarbage()

local now = ffi.new "struct uplua_timespec"
local function seconds()
  require "uplua.contract".C.clock_gettime(1, now)
  return tonumber(now.tv_sec) + tonumber(now.tv_nsec) / 1e9
end

local function report()
  local held = {}
  for _, a in live:pairs() do
    local h = held[a.stack] or { bytes = 0, blocks = 0 }
    h.bytes, h.blocks = h.bytes + a.bytes, h.blocks + 1
    held[a.stack] = h
  end
  local stacks, bytes, blocks = 0, 0, 0
  for _, h in pairs(held) do stacks, bytes, blocks = stacks + 1, bytes + h.bytes, blocks + h.blocks end
  return stacks, bytes, blocks
end

local function median_of(fn)
  local took = {}
  for i = 1, 5 do
    local from = seconds()
    fn()
    took[i] = seconds() - from
  end
  table.sort(took)
  return took[3]
end

local stacks, bytes, blocks = report()
local expected = 0
for i = 0, N - 1 do expected = expected + i % 1000 end
assert(stacks == math.min(STACKS, N) and bytes == expected and blocks == N, "the sums are wrong")
print(("map_read: %d entries read, decoded and summed per stack in %.3f s (read alone %.3f s)"):format(N,
  median_of(report), median_of(function() return live:size() end)))
