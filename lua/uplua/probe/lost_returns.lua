-- Ways in which a function may be left that no return probe survives: an exception that passes through it, and going
-- on on another stack. They are told beforehand, in one line each for all probes that are attached together.
local loop = require "uplua.base.loop"
local run  = require "uplua.base.run"
local text = require "uplua.base.text"

local lost_returns = {}

local MOST = 3 -- files that a line names

-- What is to be told; of which files, is each run's: { new, in order, known, as keys, by }.
local ways = {
  unwound = {
    says = "%s %s code for exceptions: one that passes through a function whose return is probed ends the program",
  },
  switches = {
    says = "if %s switches stacks (%s) within a function of %s whose return is probed, the program ends: use "
      .. '--returns instructions, or returns = "instructions" in the script',
  },
}
local own = run.part(function()
  local noted = {}
  for name in pairs(ways) do noted[name] = { new = {}, known = {} } end
  return noted
end)

-- Notes what there is to tell of the files of return probes: LEAVES, of sites:summary().
function lost_returns.note(leaves)
  for _, site in ipairs(leaves) do
    for field, way in pairs(own()) do
      if site[field] and not way.known[site.module] then
        way.known[site.module] = true
        way.new[#way.new + 1] = text.escape(site.module:match "[^/]*$")
        way.by, way.file = site[field], site.switcher
      end
    end
  end
end

local function names_of(files)
  local named = { unpack(files, 1, MOST) }
  if #files > MOST then named[#named + 1] = ("%d more"):format(#files - MOST) end
  local last = table.remove(named)
  return #named > 0 and table.concat(named, ", ") .. " and " .. last or last
end

-- Tells what was noted and has not been told.
function lost_returns.tell()
  local unwound, switches = own().unwound, own().switches
  if #unwound.new > 0 then
    loop.warn(ways.unwound.says:format(names_of(unwound.new), #unwound.new > 1 and "have" or "has"))
  end
  if #switches.new > 0 then
    local file = text.escape(switches.file:match "[^/]*$")
    loop.warn(ways.switches.says:format(file, switches.by, names_of(switches.new)))
  end
  unwound.new, switches.new = {}, {}
end

return lost_returns
