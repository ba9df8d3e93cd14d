-- report.ongoing in 1.0, on the shop
local up = require "uplua"
local report = require "uplua.stack_report"
local away = up.hash()
local ongoing = report.ongoing(away)
up.uprobe("./shop:checksum", function(e) away[e.tid] = { since = e.time, stack = e:ustack() } end)
up.at_exit(function()
  for _, line in ipairs(ongoing()) do print((line:gsub("[%d.]+ %a+ so far", "… so far"):gsub(" < __libc.*", ""))) end
end)
--> Not counted: a wait that has not ended, … so far: checksum < main
