-- --watch: a script whose file is saved takes the place of what it was, while the target goes on. Its main chunk runs
-- anew in an environment of its own; maps keep what they hold, by their names: those of their option `name`, else of
-- their variables.
local bytecode = require "jit.util"
local core     = require "uplua.core"
local equal    = require "uplua.base.equal"
local failure  = require "uplua.base.failure"
local files    = require "uplua.prompt.files"
local loop     = require "uplua.base.loop"
local object   = require "uplua.objects.object"
local run      = require "uplua.base.run"
local script   = require "uplua.run.script"
local shipped  = require "uplua.base.shipped"
local text     = require "uplua.base.text"

local watch = {}

local own = run.part(function()
  return {
    path = nil,     -- of the script, as it is named
    where = nil,    -- … from the root folder on, with its links
    watches = {},   -- by folder: { fd, names = set of what decides there which file that is }
    arguments = nil, -- the script's, once it is attached
    maps = {}, environment = nil, missing = false, settling = false, searching = false,
  }
end)

local AGAIN = "200ms" -- after which what is gone is looked for again: editors write anew what they have removed
-- Editors and shells empty a file before they write it, in pieces: it is a version once it has stood still for STILL.
-- One that is empty, or does not stand still, for PATIENCE seconds is taken as it is.
local STILL, PATIENCE = "20ms", 1
local MOST_LINKS = 40 -- that the kernel follows in a path

-- Maps that keep what they hold. A ring's records and what is printed belong to the callbacks of one version of the
-- script, and a var is set by its main chunk.
local KEPT = {
  count = true, sum = true, min = true, max = true, avg = true, stats = true, hist = true, lhist = true,
  hdr = true, hash = true, lru_hash = true, array = true, percpu_hash = true,
}

-- An environment of its own for CHUNK.
local function fresh_environment(chunk)
  local environment = setmetatable({}, { __index = _G })
  setfenv(chunk, environment)
  return environment
end

local function is_kept(value)
  return object.is(value) and not rawget(value, "guest") and KEPT[rawget(value, "kind")]
end

-- Adds VALUE to MAPS, name → object, if it is a map. Raises that two have one name.
local function add(maps, name, value)
  if not is_kept(value) then return end
  if maps[name] and maps[name] ~= value then
    failure.mistake(("--watch: two maps are called '%s': by its name a map keeps what it holds; rename one")
      :format(name))
  end
  maps[name] = value
end

-- The same of the VALUE of a variable, unless its option says how it is called.
local function add_variable(maps, name, value)
  if is_kept(value) and not rawget(value, "options").name then add(maps, name, value) end
end

-- The last operation of SOURCE's bytecode.
local function last_operation(source)
  local fn, pc, operation = loadstring(source), 1, nil
  while bytecode.funcbc(fn, pc) do
    operation, pc = bit.band(bytecode.funcbc(fn, pc), 0xff), pc + 1
  end
  return operation
end

-- Whether CHUNK may end in `return f()`: that leaves nothing of it, and no return to be seen.
local function ends_in_call(chunk)
  local one, several, pc = last_operation "return f()", last_operation "return f(g())", 1
  while bytecode.funcbc(chunk, pc) do
    local operation = bit.band(bytecode.funcbc(chunk, pc), 0xff)
    if operation == one or operation == several then return true end
    pc = pc + 1
  end
  return false
end

-- Whether FN is being called, by who calls this.
local function is_running(fn)
  local level = 2
  repeat
    local info = debug.getinfo(level, "f")
    if info and info.func == fn then return true end
    level = level + 1
  until not info
  return false
end

-- Calls fn(...), and see(name, value) for each local of CHUNK, which it runs: as CHUNK returns; where that may end in a
-- call, at each of its instructions, until it is there no more.
local function seeing_locals(chunk, see, fn, ...)
  jit.off(chunk) -- a return in a trace is seen by no hook
  local stepped, begun = ends_in_call(chunk), false
  debug.sethook(function(event)
    if debug.getinfo(2, "f").func ~= chunk then
      if event == "call" and begun and not is_running(chunk) then debug.sethook() end
      return
    end
    begun = true
    local i = 1
    repeat
      local name, value = debug.getlocal(2, i)
      if name and not name:find "^%(" then see(name, value) end -- "(*temporary)" is LuaJIT's own
      i = i + 1
    until not name
  end, stepped and "cr" or "r", stepped and 1 or 0)
  local ok, message = pcall(fn, ...)
  debug.sethook()
  if not ok then error(message, 0) end
end

-- Runs CHUNK with arguments in ENVIRONMENT. Returns its maps by their names: what their option says, else locals of the
-- main chunk and globals.
local function maps_of(chunk, environment, ...)
  local maps, mistake, before = {}, nil, #object.all()
  seeing_locals(chunk, function(name, value)
    local ok, message = pcall(add_variable, maps, name, value)
    mistake = mistake or not ok and message
  end, files.run_as, own().where, chunk, ...)
  if mistake then error(mistake, 0) end
  for name, value in next, environment do add_variable(maps, tostring(name), value) end
  for id = before + 1, #object.all() do
    local made = object.all()[id]
    if rawget(made, "options").name then add(maps, rawget(made, "options").name, made) end
  end
  return maps
end

-- What the map of O is made from: its options, but for the name, which a variable may have; a histogram's buckets.
local function made_from(o)
  local buckets = object.state(o).buckets or {}
  local made = { low = buckets.low, step = buckets.step, count = buckets.count, bits = buckets.bits }
  made.options = {}
  for option, value in pairs(rawget(o, "options")) do
    made.options[option] = option ~= "name" and value or nil
  end
  return made
end

-- Has the MAPS of the new version stand for those of the old one that are called and declared alike; adds to TOLD the
-- others of the old one. Returns a function that takes it back.
local function adopt(maps, told)
  local undo = {}
  for name, old in pairs(own().maps) do
    local new = maps[name]
    if new and new ~= old and rawget(new, "kind") == rawget(old, "kind") and
       equal(made_from(new), made_from(old)) then
      undo[#undo + 1] = object.replace(old, new)
    elseif new ~= old then
      told[#told + 1] = new and ("%s is declared differently, and begins anew"):format(name) or
                        ("there is no %s any more"):format(name)
    end
  end
  table.sort(told)
  return function()
    for i = #undo, 1, -1 do undo[i]() end
  end
end

-- Has the globals of the script's new version in the place of the old one's, for the report.
local function publish(environment)
  for name in next, own().environment or {} do rawset(_G, name, nil) end
  for name, value in next, environment do rawset(_G, name, value) end
  own().environment = environment
end

local function used_setup() return package.loaded["uplua.probe.declare"] and require "uplua.probe.setup" end

-- The maps of a version are there, with the globals of its ENVIRONMENT: those of the one before are over. Returns
-- messages.
local function keep(maps, environment)
  local held = {}
  own().maps = maps
  publish(environment)
  for _, value in pairs(maps) do held[value] = true end
  return files.keep(held)
end

-- Runs CHUNK, a version of the script, with its arguments, and attaches what it declares; KEEPING: with the maps of the
-- version before. Returns messages. Where anything fails, that version goes on, and the error is raised.
local function take_over(chunk, keeping, ...)
  local environment, told, undo = fresh_environment(chunk), {}, nil
  local ok, result = xpcall(function(...)
    local maps = maps_of(chunk, environment, ...)
    undo = keeping and adopt(maps, told)
    if used_setup() then used_setup().commit(files.replaced()) end
    loop.run_starts()
    return maps
  end, failure.trace, ...)
  if ok then return keep(result, environment), told end
  if undo then undo() end
  if used_setup() then used_setup().discard() end
  files.discard()
  error(result, 0)
end

-- Loads the file again, which has been saved. A version whose maps hold other types than before is tried once more with
-- maps of its own.
local function reload()
  local path, arguments = own().path, own().arguments
  own().missing = false
  local function version(keeping)
    local chunk, message = script.load(path)
    if not chunk then return false, message end
    return pcall(take_over, chunk, keeping, unpack(arguments, 1, arguments.n))
  end
  local ok, result, told = version(true)
  local why = not ok and tostring(result)
  if why and why:find "when it was loaded" then ok, result = version(false) end
  if not ok then
    return failure.report(("%s\n  %s as it was before goes on"):format(result, path))
  end
  for _, message in ipairs(result) do
    failure.report(why and ("%s; its maps begin anew: %s"):format(message, why) or
      table.concat({ message, unpack(told) }, "; "))
  end
end

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
    if mine.arguments then loop.unwatch(watched.fd) end
    core.system.close(watched.fd)
  end
  mine.watches = {}
  for _, place in ipairs(places_of(mine.where)) do
    local folder, name = place[1], place[2]
    local watched = mine.watches[folder]
    if not watched then
      watched = { fd = core.file_watch.open(folder), names = {} }
      mine.watches[folder] = watched
      if mine.arguments then loop.watch(watched.fd, function() on_change(folder, watched) end) end
    end
    watched.names[name] = true
  end
end

-- The first version of the file PATH, with its arguments; what it declares is attached by who calls. Folders are
-- watched, since editors save by renaming, and from before the script runs: what is saved meanwhile is not missed.
function watch.begin(path, ...)
  if shipped.text(path) then
    error("--watch: this script is in uplua's own file, where nobody saves it; name one that is a file", 0)
  end
  local mine = own()
  mine.path, mine.where = path, path
  if not path:find "^/" then mine.where = ("%s/%s"):format(assert(core.system.real_path "."), path) end
  watch_folders()
  local chunk = assert(script.load(path)) -- anew: it may have been saved since it was first
  local environment = fresh_environment(chunk)
  mine.maps = maps_of(chunk, environment, ...)
  publish(environment)
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
      reload()
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

-- It is attached: from now on, what is saved takes its place, and what has been. The arguments are the script's.
function watch.start(...)
  files.keep()
  local mine = own()
  mine.arguments = { n = select("#", ...), ... }
  for folder, watched in pairs(mine.watches) do
    loop.watch(watched.fd, function() on_change(folder, watched) end)
  end
end

return watch
