-- Which chunks of glibc's heap nothing leads to, by the heap's own headers: in a process in which nobody has counted
-- allocations. By size, since their stacks are not known.
local contract = require "uplua.contract"
local ffi      = require "ffi"

local C = contract.C
local chunks = {}

local TRIES = 5 -- of a heap that is damaged, as it is where a thread was just changing it
local KINDS = {
  used = contract.CHUNK_USED, free = contract.CHUNK_FREE, fast = contract.CHUNK_FAST, cached = contract.CHUNK_CACHED,
}

-- What went wrong, raised as { code, text }.
local function check(scan, code)
  if code < 0 then error({ code = code, text = ffi.string(C.scan_error(scan)) }, 0) end
  return code
end

local function pass(scan, ns)
  check(scan, C.scan_stop(scan, ns))
  check(scan, C.scan_begin_chunks(scan))
  if C.scan_chunks(scan).damages > 0 then return C.scan_go_on(scan) end
  while check(scan, C.scan_step(scan, 20e6)) == 0 do end
  check(scan, C.scan_finish(scan))
end

local function sum_of(sum) return { bytes = tonumber(sum.bytes), blocks = tonumber(sum.blocks) } end

local function add(to, sum) to.bytes, to.blocks = to.bytes + sum.bytes, to.blocks + sum.blocks end

local function by_loss(a, b)
  local x, y = a.direct.bytes + a.below.bytes, b.direct.bytes + b.below.bytes
  if x ~= y then return x > y end
  return a.size < b.size
end

-- Adds what is lost of the chunks that are given away, in all and by size.
local function add_lost(result, scan)
  local groups = ffi.new "const struct uplua_scan_group *[1]"
  local count = tonumber(C.scan_groups(scan, groups))
  if count < 0 then error("heap: out of memory", 0) end
  for i = 0, count - 1 do
    local group = groups[0][i]
    if group.stack % 8 == contract.CHUNK_USED and group.direct.blocks > 0 then
      local one = { size = tonumber(group.stack / 8), direct = sum_of(group.direct), below = sum_of(group.indirect) }
      result.sizes[#result.sizes + 1] = one
      add(result.direct, one.direct)
      add(result.below, one.below)
    end
  end
  table.sort(result.sizes, by_loss)
end

-- What pass() has found, or why nothing is known.
local function result_of(scan)
  local heap, totals = C.scan_chunks(scan), C.scan_totals(scan)
  local result = {
    arenas = tonumber(heap.arenas), mapped = tonumber(heap.mapped), caches = tonumber(heap.caches),
    stopped_for = tonumber(totals.stopped_for), sizes = {}, direct = { bytes = 0, blocks = 0 },
    below = { bytes = 0, blocks = 0 },
  }
  for name, kind in pairs(KINDS) do
    result[name] = { bytes = tonumber(heap.bytes[kind]), blocks = tonumber(heap.chunks[kind]) }
  end
  if heap.damages > 0 then
    result.why = ("the heap is damaged at 0x%x, and perhaps elsewhere"):format(tonumber(heap.damaged))
  elseif totals.watched > 0 or totals.unread > 0 then
    result.why = ("%d bytes of memory could not be read"):format(tonumber(totals.watched + totals.unread))
  else
    add_lost(result, scan)
  end
  return result
end

-- of(pid, ns) → { arenas, mapped, caches, used, free, fast, cached (sums of bytes and blocks), direct, below, sizes,
-- stopped_for, why } of process PID, which is stopped for at most NS at a time: DIRECT is what nothing leads to, BELOW
-- what only that leads to, SIZES a list of { size, direct, below } of chunks' sizes; WHY: nothing can be told. nil and
-- the reason where there is no heap that can be read.
function chunks.of(pid, ns)
  local scan = C.scan_new(pid, 100, 64 * 2 ^ 30)
  if scan == nil then error("heap: out of memory", 0) end
  ffi.gc(scan, C.scan_free)
  local result
  for _ = 1, TRIES do
    local fine, problem = pcall(pass, scan, ns)
    C.scan_go_on(scan)
    if not fine then
      if type(problem) ~= "table" then error(problem, 0) end
      return nil, problem.text
    end
    result = result_of(scan)
    if C.scan_chunks(scan).damages == 0 then break end
  end
  return result
end

return chunks
