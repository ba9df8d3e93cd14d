-- Counts of malloc and free, each for itself:
--   uplua counts.lua LIBRARY -- PID
local up = require "uplua"

local allocations, frees = up.count(), up.count()
up.uprobe(arg[1] .. ":malloc", function() allocations:inc() end)
up.uprobe(arg[1] .. ":free", function() frees:inc() end)
