-- One order of time for the records of several rings of a script, and for what its handlers print (src/map/merge.h).
-- The compiler gives records their time where there is more than one such ring.
local ffi      = require "ffi"
local contract = require "uplua.contract"
local core     = require "uplua.core".loop
local loop     = require "uplua.base.loop"
local run      = require "uplua.base.run"

local C = contract.C

-- ns: from the time that a handler takes to where its record is complete. What took longer comes out of order.
local PATIENCE = 2e6

local merge = {}

local own = run.part(function()
  return {
    merge = nil,          -- of C
    rings = {},           -- the states of the rings, by their numbers there, from 0 on
    found = nil,          -- its records in order, from 0 on, …
    next = 0, count = 0,  -- … and those that are still to be read
    current = nil,        -- the ring of the one that is being read
  }
end)

-- add(s): the ring of the state S, of uplua.objects.ring, is read with the others from now on.
function merge.add(s)
  local mine = own()
  if s.number then return C.merge_resume(mine.merge, s.number) end
  mine.merge = mine.merge or C.merge_new()
  s.number = mine.merge ~= nil and C.merge_add(mine.merge, s.ring, s.size) or -1
  if s.number < 0 then error("out of memory", 0) end
  mine.rings[s.number] = s
end

local list = ffi.new "const struct uplua_merged *[1]"

-- Calls the callbacks of their rings with what was found and is still to be read.
local function walk(mine)
  while mine.next < mine.count do
    local one = mine.found[mine.next]
    local s = mine.rings[one.ring]
    mine.next, mine.current = mine.next + 1, s
    if s.watched then
      s.at = one.at
      s.walk(s.fn, s.at + 1)
      s.start = s.at
    end
  end
end

-- Reads the records up to LAST, now that it is NOW. A ring whose callback raises an error is read no more: another
-- each() may begin anew. Returns whether there was anything.
local function read(mine, last, now)
  mine.next, mine.count = 0, tonumber(C.merge_find(mine.merge, last, now, list))
  mine.found = list[0]
  while not loop.call(walk, mine) do
    mine.current.watched = false
    C.merge_stop(mine.merge, mine.current.number, mine.next)
  end
  C.merge_release(mine.merge)
  return mine.count > 0
end

-- read(): reads what is old enough for no earlier record to come; all, where a ring is about to be full.
function merge.read()
  local mine, now = own(), core.now() * 1e9
  for _, s in pairs(mine.rings) do s.last = core.now() end
  read(mine, C.merge_is_full(mine.merge) ~= 0 and now or now - PATIENCE, now)
end

-- drain(): reads all, at the end of the run.
function merge.drain()
  local mine = own()
  repeat
    local now = core.now() * 1e9
  until not read(mine, now + PATIENCE, now)
end

-- For the ledger.
function merge.lost()
  local mine = own()
  return { { "records of several rings out of order: they came later than others that are later in time",
    mine.merge and tonumber(C.merge_disorder(mine.merge)) or 0 } }
end

return merge
