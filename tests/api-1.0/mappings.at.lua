-- mappings.at in 1.0
local mappings = require "uplua.mappings"
local ffi = require "ffi"
local up = require "uplua"
local path = "/proc/self/maps"
local from, name
for line in io.lines(path) do
  local a, n = line:match "^(%x+)%-%x+ .-(/%S+)$"
  if a and not from then from, name = tonumber(a, 16), n end
end
local pid = tonumber(io.open "/proc/self/stat":read "*a":match "^%d+")
print(mappings.at(pid, from) == name, mappings.at(pid, 16))
--> true	nil
