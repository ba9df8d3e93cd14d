-- who.columns and who.title in 1.0
local by   = require "uplua.by"
local view = require "uplua.view"
local who = by.new "thread"
local rows = { who:fill({ n = 23 }, { "shop", 4242, 4243 }) }
print(who.title)
view.new { who.columns, { "n", "Sales" } }:print(rows)
--> Thread
--> Thread   PID   TID  Sales
--> shop    4242  4243  23
