-- The scripts that are part of uplua's own file, where that is all that is installed (`make static`): elsewhere there
-- are none, and they are files beside it.
local shipped = {}

-- In place of a folder, in the paths of these scripts: a name that no folder has which is searched.
shipped.FOLDER = "uplua:"

local texts -- name → text

local function all()
  if not texts then
    local load = package.preload["uplua.scripts"] -- written by tools/embed.lua
    texts = load and load() or {}
  end
  return texts
end

-- Their names, sorted.
function shipped.names()
  local list = {}
  for name in pairs(all()) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- The text of the script at PATH; nil where that is none of these.
function shipped.text(path)
  local name = path:match "^uplua:/(.*)$"
  return name and all()[name]
end

return shipped
