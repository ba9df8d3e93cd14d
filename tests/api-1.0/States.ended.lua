-- s:ended in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
local n = up.count()
s:ended("selling", function(t, e) n[{ t.key, t.elapsed >= 0, e.arg0 ~= 0 }]:inc() end)
up.uprobe("./shop:sell", function(e)
  s:enter(3, "selling")
  s:enter(3, "delivering")
end)
up.at_exit(function() print(n:get { 3, true, true }) end)
--> 101
