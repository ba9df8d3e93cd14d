-- What scripts/mallocleak.lua does at malloc's return, for a kernel without sessions: the entry half is not measured
-- here.
local up = require "uplua"

local live        = up.hash { max = 1000000 }
local inside      = up.hash { max = 65536 }
local under_way   = up.var(0)
local counting    = up.var(1)
local allocations = up.count()

local function follow(e, address, bytes)
  live[address] = { bytes = bytes, stack = e:ustack(), at = e.time }
end

local function allocated(e, address, bytes)
  allocations:inc()
  follow(e, address, bytes)
end

local function alone(e)
  return under_way:get() == 0 or not inside[e.tid]
end

local function allocates(bytes, outermost)
  return function(e)
    if counting:get() ~= 0 and outermost(e) and e.ret ~= 0 then allocated(e, e.ret, bytes(e)) end
  end
end

up.uretprobe(arg[1] or "./build/targets/calls:add3", allocates(function(e) return e.arg0 end, alone))

-- Others, so that the maps have their types.
up.uprobe(arg[1] or "./build/targets/calls:add3", function(e)
  under_way:add(1)
  inside[e.tid] = (inside[e.tid] or 0) + 1
end)
