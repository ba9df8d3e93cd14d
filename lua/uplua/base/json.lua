-- JSON by lua-cjson, which is loaded when it is first needed: uplua runs without it.
local text = require "uplua.base.text"

local json = {}

local function load()
  local ok, cjson = pcall(require, "cjson")
  if ok then return cjson end
  error("JSON needs the Lua library cjson: the package lua-cjson of Debian and Ubuntu", 0)
end

-- VALUE as JSON can hold it. In strings, bytes that are no UTF-8 and control characters become \x1b and the like, as in
-- text. 64-bit integers become numbers if these hold them exactly, otherwise their digits. Empty tables are left out,
-- since JSON cannot say whether they are lists.
local function plain(value)
  if type(value) == "string" then return text.escape(value) end
  if type(value) == "cdata" then
    local number = tonumber(value)
    return number and math.abs(number) <= 2 ^ 53 and number or (tostring(value):gsub("U?LL$", ""))
  end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, element in pairs(value) do
    if type(element) ~= "table" or next(element) ~= nil then
      copy[type(key) == "string" and text.escape(key) or key] = plain(element)
    end
  end
  return copy
end

-- VALUE, of tables, strings, numbers and booleans, as JSON in one line. Raises what is missing.
function json.encode(value) return load().encode(plain(value)) end

return json
