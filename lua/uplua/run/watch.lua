-- --watch: a script whose file is saved takes the place of what it was, while the target goes on. Its main chunk runs
-- anew in an environment of its own; maps keep what they hold, by the names of their variables.
local core     = require "uplua.core"
local failure  = require "uplua.base.failure"
local files    = require "uplua.prompt.files"
local loop     = require "uplua.base.loop"
local object   = require "uplua.objects.object"
local run      = require "uplua.base.run"
local script   = require "uplua.run.script"
local text     = require "uplua.base.text"

local watch = {}

local own = run.part(function() return { path = nil, maps = {}, environment = nil } end)

-- Maps that keep what they hold. A ring's records and what is printed belong to the callbacks of one version of the
-- script, and a var is set by its main chunk.
local KEPT = {
  count = true, sum = true, min = true, max = true, avg = true, stats = true, hist = true, hdr = true,
  hash = true, lru_hash = true, array = true, percpu_hash = true,
}

-- An environment of its own for CHUNK.
local function fresh_environment(chunk)
  local environment = setmetatable({}, { __index = _G })
  setfenv(chunk, environment)
  return environment
end

-- Adds to MAPS, name → object, VALUE of the variable NAME. Raises that two have one name.
local function add(maps, name, value)
  if not object.is(value) or rawget(value, "guest") or not KEPT[rawget(value, "kind")] then return end
  if maps[name] and maps[name] ~= value then
    failure.mistake(("--watch: two maps are called '%s': by its name a map keeps what it holds; rename one")
      :format(name))
  end
  maps[name] = value
end

-- Runs CHUNK with arguments in ENVIRONMENT. Returns its maps by the names of their variables: locals of the main chunk
-- and globals.
local function maps_of(chunk, environment, ...)
  local maps, mistake = {}, nil
  jit.off(chunk) -- a return in a trace is seen by no hook
  debug.sethook(function()
    if debug.getinfo(2, "f").func ~= chunk then return end
    local i = 1
    repeat
      local name, value = debug.getlocal(2, i)
      local ok, message = pcall(add, maps, name, value)
      mistake, i = mistake or not ok and message, i + 1
    until not name
  end, "r")
  local ok, message = pcall(files.run, own().path, chunk, ...)
  debug.sethook()
  if not ok then error(message, 0) end
  if mistake then error(mistake, 0) end
  for name, value in next, environment do add(maps, tostring(name), value) end
  return maps
end

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not is_same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- Has the MAPS of the new version stand for those of the old one that are called and declared alike; adds to TOLD the
-- others of the old one. Returns a function that takes it back.
local function adopt(maps, told)
  local undo = {}
  for name, old in pairs(own().maps) do
    local new = maps[name]
    if new and new ~= old and rawget(new, "kind") == rawget(old, "kind") and
       is_same(rawget(new, "options"), rawget(old, "options")) then
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
    if used_setup() then used_setup().commit(files.silence) end
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
local function reload(arguments)
  local path = own().path
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

-- The first version, CHUNK of the file PATH, with its arguments; what it declares is attached by who calls.
function watch.begin(path, chunk, ...)
  local environment = fresh_environment(chunk)
  own().path = path
  own().maps = maps_of(chunk, environment, ...)
  publish(environment)
end

-- It is attached: from now on, what is saved takes its place. The script's folder is watched, since editors save by
-- renaming. The arguments are the script's.
function watch.start(...)
  files.keep()
  local folder, name = assert(core.system.real_path(own().path)):match "^(.*)/([^/]*)$"
  local arguments = { n = select("#", ...), ... }
  local fd = core.file_watch.open(folder ~= "" and folder or "/")
  loop.watch(fd, function()
    local names = core.file_watch.names(fd)
    if not names or names[name] then reload(arguments) end
  end)
end

return watch
