-- A probe that does nothing, to measure what a hit costs:
--   uplua site.lua SPEC [first] -- PID      first: on the function's first instruction
local up = require "uplua"

up.uprobe(arg[1], { slide = arg[2] ~= "first" }, function() end)
