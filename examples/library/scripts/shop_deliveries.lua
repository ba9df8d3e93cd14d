--[=[
shop_deliveries: to which streets does the shop deliver?

  uplua shop_deliveries.lua PROGRAM [-- PID or COMMAND]

  $ uplua shop_deliveries.lua ./shop -- ./shop
--]=]
local streets = require "shop.streets"
local up      = require "uplua"

local options = up.args { "shop_deliveries.lua PROGRAM [-- PID or COMMAND]", arguments = 1 }
local calls = streets.count(options[1] or up.args.fail "which program?")

up.at_exit(function() print(calls) end)
