-- The blocks that the target holds, from their allocation to their free: what handlers keep of them. The script reads
-- them by uplua.allocators.report.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local object    = require "uplua.objects.object"
local space     = require "uplua.allocators.space"
local sums      = require "uplua.allocators.sums"
local up        = require "uplua"

local blocks = {}

local MOST_MOVING = 16384 -- threads that are in a realloc at one time

local always = capture.inlined(function() return true end)

-- The key of an address, or of a thread. Processes have their own addresses.
local function key_of()
  if not space.several() then return capture.inlined(function(_, number) return number end) end
  return capture.inlined(function(e, number) return { space.of(e), number } end)
end

-- What is kept of a block.
local function record_of(with_stack)
  if not with_stack then return capture.inlined(function(e, bytes) return { bytes = bytes, at = e.time } end) end
  return capture.inlined(function(e, bytes) return { bytes = bytes, stack = e:ustack(), at = e.time } end)
end

-- track(options) → { live, moving (maps), unknown, copied (counts), sums (uplua.allocators.sums, or nil) } and
-- functions for handlers. OPTIONS: blocks, stack, follow, option, peak and totals of allocators.trace.
function blocks.track(options)
  -- Blocks by their addresses' keys, and those that a realloc under way may free, by their threads' keys.
  local live    = up.hash { max = options.blocks, option = options.option or "blocks" }
  local moving  = object.advise(up.hash { max = MOST_MOVING }, "trace fewer threads")
  local unknown = aggregate.keep_quiet(up.count()) -- frees of blocks that are not in live
  local copied  = aggregate.keep_quiet(up.count()) -- … that a process has from the one that it forked away from
  local key, new, follows = key_of(), record_of(options.stack), options.follow or always
  local kept = { live = live, moving = moving, unknown = unknown, copied = copied }

  kept.add = capture.inlined(function(e, address, bytes)
    if follows(e, address, bytes) then live[key(e, address)] = new(e, bytes) end
  end)
  kept.forget = capture.inlined(function() end) -- a block that a realloc has freed

  if options.peak or options.totals then
    kept.sums = sums.track(options)
    local add_sum, drop_sum = kept.sums.add, kept.sums.drop
    kept.add = capture.inlined(function(e, address, bytes)
      if follows(e, address, bytes) then
        live[key(e, address)] = new(e, bytes)
        local block = live[key(e, address)]
        if block then add_sum(e, block.stack, bytes) end
      end
    end)
    kept.forget = capture.inlined(function(block)
      if block then drop_sum(block.stack, block.bytes) end
    end)
  end

  -- A block of which nobody knows where it comes from is free.
  kept.note_unknown = capture.inlined(function() unknown:inc() end)
  if space.several() then
    kept.note_unknown = capture.inlined(function(e)
      if space.is_copy(space.of(e)) then copied:inc() else unknown:inc() end
    end)
  end
  local note_unknown = kept.note_unknown

  -- A function that takes the block at an address from those that are held, and calls freed(e, address, block). OWN
  -- tells whether the allocator itself frees a block: of those that are held only.
  function kept.releases(freed, own)
    local forget = kept.forget
    return capture.inlined(function(e, address)
      local block = live[key(e, address)]
      if block then
        local last = up.copy(block)
        live[key(e, address)] = nil
        forget(last)
        freed(e, address, last)
      elseif not own(e) then
        note_unknown(e)
        freed(e, address, nil)
      end
    end)
  end

  -- Before realloc returns, another thread may already be given the old block's address: so the old block is put aside
  -- at entry, and put back if the call failed.
  kept.put_aside = capture.inlined(function(e, address)
    local block = live[key(e, address)]
    if block then
      moving[key(e, e.tid)] = up.copy(block)
      live[key(e, address)] = nil
    end
  end)

  -- The block that was put aside, if any, until forget_aside().
  kept.aside = capture.inlined(function(e) return moving[key(e, e.tid)] end)
  kept.forget_aside = capture.inlined(function(e) moving[key(e, e.tid)] = nil end)

  kept.put_back = capture.inlined(function(e, address, block)
    if block then live[key(e, address)] = up.copy(block) end
  end)

  return kept
end

-- The offset of the field NAME in LAYOUT, -1 where it has none.
local function offset_of(layout, name)
  for _, field in ipairs(layout.fields or {}) do
    if field.name == name then return field.offset end
  end
  return -1
end

-- The kernel's map of KEPT, which blocks.track has made, and where its keys and values have what (struct scan_layout of
-- src/scan/blocks.h); nil where no handler has made it yet.
function blocks.map_of(kept)
  local state = object.state(kept.live)
  if not state.map then return nil end
  local key, value = state.description.key, state.description.value
  local several = space.several()
  return state.map, {
    address = several and offset_of(key, 2) or 0, space = several and offset_of(key, 1) or -1,
    bytes = offset_of(value, "bytes"), at = offset_of(value, "at"), stack = offset_of(value, "stack"),
  }
end

return blocks
