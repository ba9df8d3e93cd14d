-- What a call of an allocator's function means: handlers at its entry and return, of which the outermost of a thread's
-- calls tells what is allocated, freed or resized.
local capture = require "uplua.compile.capture"
local up      = require "uplua"

local pairing = {}

local nothing = capture.inlined(function() end)
local no_block = capture.inlined(function() return nil end)
local never = capture.inlined(function() return false end)
local always = capture.inlined(function() return true end)
local returned = capture.inlined(function(e) return e.ret end)

-- What stands for uplua.allocators.blocks where none is followed.
local without_blocks = {
  add = nothing, note_unknown = nothing, put_aside = nothing, aside = no_block, put_back = nothing,
  forget_aside = nothing, forget = nothing,
  releases = function(freed, own)
    return capture.inlined(function(e, address)
      if not own(e) then freed(e, address, nil) end
    end)
  end,
}

-- The handlers of the functions of an allocator. STATE of a trace: counting (var), calls (uplua.allocators.nesting),
-- requests (uplua.allocators.requests), blocks (uplua.allocators.blocks, or nil), sampled and handlers, the caller's.
-- NAME: the allocator's. OWN: tells whether the allocator itself frees a block.
local Pairing = {}
Pairing.__index = Pairing

-- What a realloc from and to blocks is of which one, both or none is in the sample: as if the others were not there.
local function sampled_moves(sampled, allocated, replaced, moved)
  return capture.inlined(function(e, old, block, address, bytes)
    if old == 0 or sampled(old) then
      if sampled(address) then moved(e, old, block, address, bytes)
      elseif old ~= 0 then replaced(e, old, block) end
    elseif sampled(address) then
      allocated(e, address, bytes)
    end
  end)
end

-- The caller's functions, with the allocator's name and what is known of blocks.
local function tellers(state, name)
  local handlers, blocks = state.handlers, state.blocks or without_blocks
  local allocated, freed = handlers.allocated or nothing, handlers.freed or nothing
  local resized, add, note_unknown, forget = handlers.resized, blocks.add, blocks.note_unknown, blocks.forget
  local function tell_allocated(e, address, bytes)
    add(e, address, bytes)
    allocated(e, address, bytes, name)
  end
  local function tell_freed(e, address, block) freed(e, address, block, name) end
  -- By a realloc, of the block that was put aside, if any.
  local function tell_replaced(e, old, block)
    if not block then note_unknown(e) end
    forget(block)
    freed(e, old, block, name)
  end
  local function tell_moved(e, old, block, address, bytes)
    if old ~= 0 then tell_replaced(e, old, block) end
    tell_allocated(e, address, bytes)
  end
  if resized then
    function tell_moved(e, old, block, address, bytes)
      if old == 0 then return tell_allocated(e, address, bytes) end
      if not block then note_unknown(e) end
      forget(block)
      add(e, address, bytes)
      resized(e, old, block, address, bytes, name)
    end
  end
  for _, tell in ipairs { tell_allocated, tell_freed, tell_replaced, tell_moved } do capture.inlined(tell) end
  if state.sampled then tell_moved = sampled_moves(state.sampled, tell_allocated, tell_replaced, tell_moved) end
  return { allocated = tell_allocated, freed = tell_freed, replaced = tell_replaced, moved = tell_moved }
end

function pairing.new(state, name, own)
  return setmetatable({ state = state, own = own, tell = tellers(state, name) }, Pairing)
end

-- BYTES gives the size that was asked for (uplua.allocators.functions), OUTERMOST is alone or leave; what is in no
-- sample is first asked of those that are ALONE.
function Pairing:allocates(bytes, outermost, alone)
  local counting, allocated, sampled = self.state.counting, self.tell.allocated, self.state.sampled
  if alone and sampled then
    return function(e)
      if sampled(e.ret) and counting:get() ~= 0 and outermost(e) and e.ret ~= 0 then allocated(e, e.ret, bytes(e)) end
    end
  end
  sampled = sampled or always
  return function(e)
    if counting:get() ~= 0 and outermost(e) and e.ret ~= 0 and sampled(e.ret) then allocated(e, e.ret, bytes(e)) end
  end
end

-- posix_memalign(void **block, size_t alignment, size_t bytes) returns an errno.
function Pairing:allocates_to_pointer(bytes, outermost)
  local counting, allocated, sampled = self.state.counting, self.tell.allocated, self.state.sampled
  if not sampled then
    return function(e)
      if counting:get() ~= 0 and outermost(e) and up.i32(e.ret) == 0 then
        allocated(e, up.i64(up.read_u64(e.arg0)), bytes(e))
      end
    end
  end
  return function(e)
    if counting:get() ~= 0 and outermost(e) and up.i32(e.ret) == 0 then
      local address = up.i64(up.read_u64(e.arg0))
      if sampled(address) then allocated(e, address, bytes(e)) end
    end
  end
end

-- OUTERMOST is alone or enter. When a thread ends, glibc frees once more what the thread's cache of freed blocks holds:
-- hence OWN.
function Pairing:releases(block, outermost, alone)
  local counting, blocks, sampled = self.state.counting, self.state.blocks or without_blocks, self.state.sampled
  local release = blocks.releases(self.tell.freed, self.own)
  if alone and sampled then
    return function(e)
      if sampled(block(e)) and counting:get() ~= 0 and outermost(e) and block(e) ~= 0 then release(e, block(e)) end
    end
  end
  sampled = sampled or always
  return function(e)
    if counting:get() ~= 0 and outermost(e) and block(e) ~= 0 and sampled(block(e)) then release(e, block(e)) end
  end
end

function Pairing:enters()
  local counting, enter = self.state.counting, self.state.calls.enter
  return function(e)
    if counting:get() ~= 0 then enter(e) end
  end
end

function Pairing:leaves()
  local counting, leave = self.state.counting, self.state.calls.leave
  return function(e)
    if counting:get() ~= 0 then leave(e) end
  end
end

function Pairing:reallocates_from(block)
  local counting, enter = self.state.counting, self.state.calls.enter
  local put_aside, sampled = (self.state.blocks or without_blocks).put_aside, self.state.sampled or always
  return function(e)
    if counting:get() ~= 0 and enter(e) and sampled(block(e)) then put_aside(e, block(e)) end
  end
end

-- One that fails either leaves the block as it was, or has freed it.
function Pairing:reallocates_to(row)
  local counting, leave, tell = self.state.counting, self.state.calls.leave, self.tell
  local block, bytes, to, lost = row.block, row.bytes, row.to or returned, row.lost or never
  local replaced, moved, blocks = tell.replaced, tell.moved, self.state.blocks or without_blocks
  local aside_of, put_back, forget_aside = blocks.aside, blocks.put_back, blocks.forget_aside
  local sampled = self.state.sampled or always
  return function(e)
    if counting:get() ~= 0 and leave(e) then
      local aside = aside_of(e)
      if to(e) ~= 0 then
        moved(e, block(e), aside, to(e), bytes(e))
      elseif not lost(e) then
        put_back(e, block(e), aside)
      elseif block(e) ~= 0 and sampled(block(e)) then
        replaced(e, block(e), aside)
      end
      forget_aside(e)
    end
  end
end

-- The handlers at entry and return, either may be nil, of functions of ROW. NESTED: they call others.
function Pairing:handlers(row, nested)
  local calls, listens = self.state.calls, self.state.listens_to_frees
  local begins = nested and self:enters() or nil
  local outermost = nested and calls.leave or calls.alone
  if row.does == "allocates" then
    local bytes = row.alignment and self.state.requests.bytes(row.bytes, row.alignment) or row.bytes
    return begins, self:allocates(bytes, outermost, not nested)
  end
  if row.does == "allocates to" then return begins, self:allocates_to_pointer(row.bytes, outermost) end
  if row.does == "reallocates" then return self:reallocates_from(row.block), self:reallocates_to(row) end
  if not listens then return begins, begins and self:leaves() end
  return self:releases(row.block, nested and calls.enter or calls.alone, not nested), nested and self:leaves() or nil
end

return pairing
