-- A USDT hit with two arguments: uplua ready.lua usdt.lua [empty] -- PID
local up = require "uplua"

local bytes = up.sum()

up.usdt("bench:hit", arg[1] == "empty" and function(e) end or function(e)
  if e.arg1 >= 0 then bytes:add(e.arg0) end
end)
