-- The library's module: what its scripts share.
local up = require "uplua"
up.require_version "1.0"

local streets = {}

-- Counts the calls of deliver in PROGRAM by street. Returns the counts.
function streets.count(program)
  local calls = up.count()
  up.uprobe(program .. ":deliver", function(e) calls[up.str(e.arg0)]:inc() end)
  return calls
end

return streets
