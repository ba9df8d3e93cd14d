-- The frames of many stacks, numbered: a frame that comes again has the number that it had, in a table of integers that
-- LuaJIT compiles the search of. For those who count by function over ten thousands of stacks.
--   local index = frame_index.new()
--   local numbers = index:numbers(words, count, pid, program)   valid until the next call
--   index.lists[number]   what is at the frame: the functions that were inlined there, then the function proper, with
--                         the fields pid, word (the frame, as stacks have it: 8 bytes) and returns (whether that is a
--                         return address)
local ffi      = require "ffi"
local bit      = require "bit"
local contract = require "uplua.contract"
local frame    = require "uplua.stack.frame"

local frame_index = {}

local slots_type = ffi.typeof "struct { uint64_t word; int32_t tag, number; } [?]" -- number 0: nothing
local SPREAD     = 0x9e3779b97f4a7c15ULL

local KERNEL_HALF = 2 ^ 31                                 -- the upper half of a kernel's address is so much at least
local IN_FILE     = contract.STACK_IN_FILE / 2 ^ 32        -- bits of the upper half
local INTERRUPTED = contract.STACK_INTERRUPTED / 2 ^ 32
local RETURNED    = contract.STACK_RETURNED / 2 ^ 32

local Index = {}
Index.__index = Index

function frame_index.new()
  return setmetatable({
    lists = {}, found = {}, slots = slots_type(1024), room = 1024,
    scopes = {}, scope_count = 0, -- pid → program → the number of the two; that of files is 0
  }, Index)
end

-- What tells the frames of PROGRAM, as process PID executed it, from those of others.
function Index:scope(pid, program)
  local of_pid = self.scopes[pid]
  if not of_pid then
    of_pid = {}
    self.scopes[pid] = of_pid
  end
  local scope = of_pid[program]
  if not scope then
    scope = self.scope_count + 1
    of_pid[program], self.scope_count = scope, scope
  end
  return scope
end

local function place_of(word, tag, mask)
  return tonumber(bit.band(bit.rshift((word + tag) * SPREAD, 32), mask))
end

local function find(slots, mask, word, tag)
  local at = place_of(word, tag, mask)
  while slots[at].number ~= 0 and (slots[at].word ~= word or slots[at].tag ~= tag) do at = bit.band(at + 1, mask) end
  return at
end

-- Twice as many slots.
function Index:grow()
  local old, room = self.slots, self.room
  local slots = slots_type(2 * room)
  for i = 0, room - 1 do
    if old[i].number ~= 0 then slots[find(slots, 2 * room - 1, old[i].word, old[i].tag)] = old[i] end
  end
  self.slots, self.room = slots, 2 * room
end

-- A number for frame I of WORDS, which RETURNS (its address is a return address) or stands there.
function Index:add(words, i, pid, program, returns, tag)
  local first = returns and i > 0 and i - 1 or i
  local raw = ffi.string(words + first, 8 * (i - first + 1))
  local list = frame.last_with_lines(pid, raw, program)
  list.pid, list.word, list.returns = pid, raw:sub(-8), returns
  local number = #self.lists + 1
  self.lists[number] = list
  if 2 * number > self.room then self:grow() end
  local slot = self.slots[find(self.slots, self.room - 1, words[i], tag)]
  slot.word, slot.tag, slot.number = words[i], tag, number
  return number
end

-- The numbers of the COUNT frames at WORDS, of a stack of process PID while it executed PROGRAM (8 bytes, nil: not
-- known), the innermost first.
function Index:numbers(words, count, pid, program)
  local found, slots, mask = self.found, self.slots, self.room - 1
  local scope = self:scope(pid, program or "")
  local above = 0 -- the upper half of the frame before
  for i = 0, count - 1 do
    local word = words[i]
    local high = tonumber(bit.rshift(word, 32))
    -- As src/sym/fold.c has it: the first frame stands where it is, but for one that a call has just returned to, and
    -- so do the program's below the kernel's, and one that a signal interrupted.
    local returns = i > 0 and word ~= 0 and (high >= KERNEL_HALF or above < KERNEL_HALF and high < INTERRUPTED)
      or i == 0 and high < KERNEL_HALF and bit.band(high, RETURNED) ~= 0
    local in_file = high < KERNEL_HALF and bit.band(high, IN_FILE) ~= 0
    local tag = (in_file and 0 or 2 * scope) + (returns and 1 or 0)
    local number = slots[find(slots, mask, word, tag)].number
    if number == 0 then
      number = self:add(words, i, pid, program, returns, tag)
      slots, mask = self.slots, self.room - 1
    end
    found[i + 1], above = number, high
  end
  return found
end

return frame_index
