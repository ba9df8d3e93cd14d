-- How much does a program allocate, second by second? Blocks and bytes by size class, the most blocks first.
--   uplua alloc_rate.lua -- PID
local up         = require "uplua"
local allocators = require "uplua.allocators"
local view       = require "uplua.view"
local sizes = up.stats()
allocators.trace {
  allocated = function(e, address, bytes)
    local class = 2 ^ 40
    if bytes <= 64 then class = 64 elseif bytes <= 512 then class = 512 elseif bytes <= 4096 then class = 4096 end
    sizes[class]:add(bytes)
  end,
}

local rates = view.new { { "to", "Up to", "bytes" }, { "n", "Blocks", "count" }, { "sum", "Bytes", "bytes" }, by = "n" }
up.report("1s", function()
  local rows = {}
  for class, s in sizes:take():pairs() do rows[#rows + 1] = { to = class, n = s.count, sum = s.sum } end
  rates:print(rows)
end)
