-- core.gzip: what is compressed is expanded to the same, by itself and by gzip; what no file of gzip is is refused.
local gzip   = require "uplua.core".gzip
local tap    = require "tap"
local target = require "target"

local bytes = {}
for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
local all = table.concat(bytes)
for name, text in pairs { nothing = "", ["a byte"] = "x", ["all bytes"] = all, ["a megabyte"] = all:rep(4096) } do
  tap.ok(gzip.expand(gzip.compress(text)) == text, name .. " comes back")
end

if tap.has "gzip" then
  local path = target.folder() .. "/text"
  local file = io.open(path, "w")
  file:write(all:rep(100))
  file:close()
  local pipe = io.popen("gzip -9n <" .. path)
  tap.ok(gzip.expand(pipe:read "*a") == all:rep(100), "what gzip has written, too")
  pipe:close()
end

local half = gzip.compress(all):sub(1, 40)
for name, damaged in pairs { ["no bytes"] = "", ["a text"] = "uplua", ["half a file"] = half } do
  tap.like(select(2, pcall(gzip.expand, damaged)), "gzip: no file of gzip's", name)
end

target.done()
tap.done_testing()
