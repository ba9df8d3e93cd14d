-- Counts what processes open and map, by the stacks that they do it from or, told "count", all together; says on
-- standard error how many hits there were:
--   uplua [--follow] followed.lua stacks|count -- COMMAND
local up = require "uplua"

local MOST = 200000 -- each of 1,000 processes has other addresses

local hits = up.count()
local stacks = up.count { max = MOST }
if arg[1] == "stacks" then
  up.syscall({ "openat", "mmap" }, function(e)
    hits:inc()
    stacks[e:ustack()]:inc()
  end)
else
  up.syscall({ "openat", "mmap" }, function() hits:inc() end)
end
up.at_exit(function()
  io.stderr:write(("hits %d\n"):format(hits:get()))
  hits:clear()
  stacks:clear()
end)
