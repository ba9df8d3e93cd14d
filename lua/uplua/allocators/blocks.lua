-- The blocks that the target holds, from their allocation to their free: what handlers keep of them. The script reads
-- them by uplua.allocators.report.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local space     = require "uplua.allocators.space"
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

-- track(options) → { live, moving (maps), unknown, copied (counts) } and functions for handlers. OPTIONS: blocks, stack
-- and follow of allocators.trace.
function blocks.track(options)
  local live    = up.hash { max = options.blocks } -- key of an address → block
  local moving  = up.hash { max = MOST_MOVING }    -- key of a thread → block that a realloc under way may free
  local unknown = aggregate.keep_quiet(up.count()) -- frees of blocks that are not in live
  local copied  = aggregate.keep_quiet(up.count()) -- … that a process has from the one that it forked away from
  local key, new, follows = key_of(), record_of(options.stack), options.follow or always
  local kept = { live = live, moving = moving, unknown = unknown, copied = copied }

  kept.add = capture.inlined(function(e, address, bytes)
    if follows(e, address, bytes) then live[key(e, address)] = new(e, bytes) end
  end)

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
    return capture.inlined(function(e, address)
      local block = live[key(e, address)]
      if block then
        local last = up.copy(block)
        live[key(e, address)] = nil
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

return blocks
