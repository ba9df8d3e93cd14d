-- What stacks hold and have allocated, block by block: what handlers keep of it. So the most that was ever held is
-- known with the stacks that held it, although nobody looked at that moment.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local object    = require "uplua.objects.object"
local up        = require "uplua"

local sums = {}

local MOST_STACKS = 65536

local quiet = aggregate.keep_quiet
local nothing = capture.inlined(function() end)

-- Handlers' functions that keep what was held at the peak. Each stack has what it holds now, and what it held at the
-- last peak after which it has changed: MARK tells which, by the height that the peak had. A stack that has not changed
-- since the last peak holds now what it held then. Threads that come at the same moment may put a block on the wrong
-- side of a peak.
local function peaks(kept)
  local held, most, at = quiet(up.var(0)), quiet(up.var(0)), quiet(up.var(0))
  local stacks = object.advise(up.hash { max = MOST_STACKS }, "trace without --peak, or fewer processes")
  kept.held, kept.most, kept.most_at, kept.stacks = held, most, at, stacks
  -- Before ONE changes: what it holds is what it held at the peak, if it has not changed since.
  local keep = capture.inlined(function(one)
    if one.mark ~= most:get() then
      one.most_bytes = one.bytes
      one.most_blocks = one.blocks
      one.mark = most:get()
    end
  end)
  kept.add_peak = capture.inlined(function(e, stack, bytes)
    if not stacks[stack] then stacks[stack] = { bytes = 0, blocks = 0, most_bytes = 0, most_blocks = 0, mark = 0 } end
    local one = stacks[stack]
    if one then
      keep(one)
      one.bytes = one.bytes + bytes
      one.blocks = one.blocks + 1
      held:add(bytes)
      if held:get() > most:get() then
        most:set(held:get())
        at:set(e.time)
      end
    end
  end)
  kept.drop_peak = capture.inlined(function(stack, bytes)
    local one = stacks[stack]
    if one then
      keep(one)
      one.bytes = one.bytes - bytes
      one.blocks = one.blocks - 1
      held:add(-bytes)
    end
  end)
end

-- track(options) → what handlers call: add(e, stack, bytes) and drop(stack, bytes). OPTIONS: peak and totals of
-- allocators.trace.
function sums.track(options)
  local kept = { add_peak = nothing, drop_peak = nothing }
  if options.peak then peaks(kept) end
  local add_peak, drop_peak = kept.add_peak, kept.drop_peak
  kept.add, kept.drop = add_peak, drop_peak
  if options.totals then
    local blocks, bytes = quiet(up.count()), quiet(up.sum())
    kept.all_blocks, kept.all_bytes = blocks, bytes
    kept.add = capture.inlined(function(e, stack, size)
      blocks[stack]:inc()
      bytes[stack]:add(size)
      add_peak(e, stack, size)
    end)
  end
  return kept
end

-- peak(kept) → a list of { stack, bytes, blocks } that were held at the peak, and { bytes, at }: the height, and when.
function sums.peak(kept)
  local list, most = {}, kept.most:get()
  for stack, one in kept.stacks:pairs() do
    local since = one.mark ~= most
    local bytes, blocks = since and one.bytes or one.most_bytes, since and one.blocks or one.most_blocks
    if blocks > 0 then list[#list + 1] = { stack = stack, bytes = bytes, blocks = blocks } end
  end
  return list, { bytes = most, at = kept.most_at:get() }
end

-- totals(kept) → a list of { stack, bytes, blocks } of all that was allocated.
function sums.totals(kept)
  local list = {}
  for stack, bytes in kept.all_bytes:pairs() do
    list[#list + 1] = { stack = stack, bytes = bytes, blocks = kept.all_blocks[stack] or 0 }
  end
  return list
end

return sums
