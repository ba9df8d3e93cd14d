-- For tests/bench/price: malloc and free with more and more of what mallocleak.lua does at them.
--   price.lua STEP -- PID     STEP: empty, map, time or stack
local up = require "uplua"

local live = up.hash { max = 1000000 }

local ALLOCATED = {
  empty = function() end,
  map = function(e) if e.ret ~= 0 then live[e.ret] = { bytes = e.arg0 } end end,
  time = function(e) if e.ret ~= 0 then live[e.ret] = { bytes = e.arg0, at = e.time } end end,
  stack = function(e) if e.ret ~= 0 then live[e.ret] = { bytes = e.arg0, at = e.time, stack = e:ustack() } end end,
}
local function freed(e) live[e.arg0] = nil end

up.uretprobe("libc:malloc", ALLOCATED[arg[1]])
up.uprobe("libc:free", arg[1] == "empty" and function() end or freed)
