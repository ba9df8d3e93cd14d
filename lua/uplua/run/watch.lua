-- --watch: a script whose file is saved takes the place of what it was, while the target goes on (uplua.run.reload).
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local loop    = require "uplua.base.loop"
local reload  = require "uplua.run.reload"
local run     = require "uplua.base.run"
local shipped = require "uplua.base.shipped"

local watch = {}

local own = run.part(function()
  return {
    path = nil,     -- of the script, as it is named
    where = nil,    -- … from the root folder on, with its links
    watches = {},   -- by folder: { fd, names = set of what decides there which file that is }
    attached = false, missing = false, settling = false, searching = false,
  }
end)

local AGAIN = "200ms" -- after which what is gone is looked for again: editors write anew what they have removed
-- Editors and shells empty a file before they write it, in pieces: it is a version once it has stood still for STILL.
-- One that is empty, or does not stand still, for PATIENCE seconds is taken as it is.
local STILL, PATIENCE = "20ms", 1
local MOST_LINKS = 40 -- that the kernel follows in a path

-- The places that decide which file PATH is, from the root folder on: links on its way, and the file itself. A list of
-- { folder, name }.
local function places_of(path)
  local places, folder, links = {}, "", 0
  repeat
    local name, rest = path:match "^/*([^/]+)(.*)$"
    local target = core.system.link_target(folder .. "/" .. name)
    if name == ".." then
      folder = folder:match "^(.*)/" or ""
    elseif name ~= "." then
      if target or not rest:find "[^/]" then places[#places + 1] = { folder ~= "" and folder or "/", name } end
      if not target then
        folder = folder .. "/" .. name
      elseif target:find "^/" then
        folder = ""
      end
    end
    if target then links, rest = links + 1, ("%s/%s"):format(target, rest) end
    path = rest
  until not path:find "[^/]" or links > MOST_LINKS
  return places
end

local on_change

-- Watches the folders that decide which file the script is, instead of those that did. Raises why one cannot be.
local function watch_folders()
  local mine = own()
  for _, watched in pairs(mine.watches) do
    if mine.attached then loop.unwatch(watched.fd) end
    core.system.close(watched.fd)
  end
  mine.watches = {}
  for _, place in ipairs(places_of(mine.where)) do
    local folder, name = place[1], place[2]
    local watched = mine.watches[folder]
    if not watched then
      watched = { fd = core.file_watch.open(folder), names = {} }
      mine.watches[folder] = watched
      if mine.attached then loop.watch(watched.fd, function() on_change(folder, watched) end) end
    end
    watched.names[name] = true
  end
end

-- Watches the file PATH, which is about to run: folders, since editors save by renaming. What is saved from now on is
-- not missed. Raises why that cannot be.
function watch.begin(path)
  if shipped.text(path) then
    error("--watch: this script is in uplua's own file, where nobody saves it; name one that is a file", 0)
  end
  local mine = own()
  mine.path, mine.where = path, path
  if not path:find "^/" then mine.where = ("%s/%s"):format(assert(core.system.real_path "."), path) end
  watch_folders()
end

-- Says, once, that the file is gone, unless it has come again.
local function tell_missing()
  local mine = own()
  if mine.missing or core.system.is_file(mine.where) then return end
  mine.missing = true
  failure.report(("%s is not there any more\n  what it was goes on; what is saved there takes its place")
    :format(mine.where))
end

-- The file's text; nil where it cannot be read.
local function content()
  local file = io.open(own().where, "rb")
  local read = file and file:read "*a"
  if file then file:close() end
  return read
end

-- Loads the file again once it has stood still.
local function reload_settled()
  local mine = own()
  if mine.settling then return end
  local before, began, timer = content(), core.loop.now(), nil
  mine.settling = true
  timer = loop.every(STILL, function()
    local now = content()
    local settled = now == before and now ~= ""
    before = now
    if not settled and core.loop.now() - began < PATIENCE then return end
    timer:cancel()
    mine.settling = false
    if now == "" then
      failure.report(("%s is empty\n  what it was goes on; what is saved there takes its place"):format(mine.path))
    elseif now then
      mine.missing = false
      reload.again(mine.path)
    else
      loop.after(AGAIN, tell_missing)
    end
  end)
end

-- A folder has been renamed or removed, or there is none where a link leads. Once the script is at its path again, that
-- is watched.
local function find_again()
  local mine, timer = own(), nil
  if mine.searching then return end
  mine.searching = true
  timer = loop.every(AGAIN, function()
    if not (core.system.is_file(mine.where) and pcall(watch_folders)) then return tell_missing() end
    timer:cancel()
    mine.searching, mine.path = false, mine.where
    reload_settled()
  end)
end

-- Whether what has CHANGED in FOLDER (core.file_watch.names) is one of NAMES. What is made is empty, and written later:
-- a link is whole at once.
local function concerns(names, changed, folder)
  if not changed then return true end
  for name in pairs(names) do
    local how = changed[name]
    if how == "written" or how == "made" and core.system.link_target(folder .. "/" .. name) then return true end
  end
  return false
end

-- Something in FOLDER, WATCHED, has changed, or is gone.
function on_change(folder, watched)
  local mine = own()
  if mine.watches[folder] ~= watched then return end -- the loop had it before it was watched no more
  local changed, gone = core.file_watch.names(watched.fd)
  if not gone and not concerns(watched.names, changed, folder) then return end
  local lost = gone or not pcall(watch_folders) -- a link may lead elsewhere now
  if lost then
    find_again()
  elseif core.system.is_file(mine.where) then
    reload_settled()
  else
    loop.after(AGAIN, tell_missing)
  end
end

-- The script is attached: from now on, what is saved takes its place, and what has been.
function watch.start()
  local mine = own()
  mine.attached = true
  for folder, watched in pairs(mine.watches) do
    loop.watch(watched.fd, function() on_change(folder, watched) end)
  end
end

return watch
