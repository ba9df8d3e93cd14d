-- The frames of a stack below what it holds or has lost, with file and line where there is debug information: few
-- stacks are shown, so that looking for them costs little.
local options = require "uplua.options"

local frames = {}

local INDENT = (" "):rep(9)

-- add(lines, row): appends a line for each frame of ROW.stack, and for each function that is inlined there; of a row
-- that has none, for each of ROW.name.
function frames.add(lines, row)
  local style = { lines = true, returned = true, modules = options.modules or false,
                  addresses = options.addresses or false }
  local shown = row.stack and row.stack:text(style) or row.name
  for line in shown:gmatch "%s*([^\n]+)" do lines[#lines + 1] = INDENT .. line end
end

return frames
