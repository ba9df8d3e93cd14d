-- The version of uplua, which is that of its API, for scripts and libraries that need what later ones have.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"

local version = { version = core.version }

-- The numbers of "1.2"; nil for anything else.
local function numbers_of(text)
  if type(text) ~= "string" or not text:find "^%d+%.[%d.]*%d$" then return nil end
  if text:find("..", 1, true) then return nil end
  local numbers = {}
  for number in text:gmatch "%d+" do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

-- True if the version A, a list of numbers, is that of B or a later one.
local function reaches(a, b)
  for i = 1, math.max(#a, #b) do
    local x, y = a[i] or 0, b[i] or 0
    if x ~= y then return x > y end
  end
  return true
end

-- require_version(needed): does nothing if this is uplua NEEDED, "1.2", or a later one; else ends the script, by one
-- line that names the file which needs it.
function version.require_version(needed)
  local numbers = numbers_of(needed)
  if not numbers then error('require_version: the argument is a version as text, such as "1.2"', 2) end
  if reaches(numbers_of(core.version), numbers) then return end
  local caller = debug.getinfo(2, "S")
  failure.mistake(("%s needs uplua %s or later, and this is uplua %s: install a newer one")
    :format(caller and caller.short_src or "the script", needed, core.version))
end

return version
