-- Libraries that are looked for when they are first asked for: a run that does not need one neither has nor loads it.
local ffi = require "ffi"

local library = {}

-- first(names) → the first of the libraries NAMES that is there, for the FFI; nil where none is.
function library.first(names)
  for _, name in ipairs(names) do
    local ok, found = pcall(ffi.load, name)
    if ok then return found end
  end
end

return library
