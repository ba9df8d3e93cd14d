-- dofile and reload at the prompt: a file that is loaded again takes the place of what it had declared before, once its
-- probes are attached: of probes, timers, and functions for the start and the end.
local capture = require "uplua.compile.capture"
local core    = require "uplua.core"
local handle  = require "uplua.probe.handle"
local loop    = require "uplua.base.loop"
local object  = require "uplua.objects.object"
local run     = require "uplua.base.run"
local text    = require "uplua.base.text"

local files = {}

local own = run.part(function()
  return {
    -- path → { path, probes, undo, first, last, typed, modules, of_modules }: what the file has declared, functions
    -- that take back the rest, and the numbers of the shared objects that it has made; typed: it was typed, and saved
    -- as this file; the names of the modules that it was the first to require, and what takes back what these did
    loaded = {},
    fresh = {}, -- the same of files that have run and whose probes are not attached yet
  }
end)

-- Calls fn(...), and returns what it returns. A module is loaded once, whatever becomes of the file that requires it:
-- meanwhile SET_APART, probes as keys, gets the probes that modules declare, and ENTRY the modules' names and what
-- takes back the rest that they do.
local function setting_modules_apart(entry, set_apart, fn, ...)
  local plain, depth = require, 0
  local function done(before, name, ok, ...)
    depth = depth - 1
    for _, probe in ipairs(handle.probes()) do
      if depth == 0 and not before[probe] then set_apart[probe] = true end
    end
    if not ok then error((...), 0) end
    entry.modules[#entry.modules + 1] = name
    return ...
  end
  rawset(_G, "require", function(name)
    if package.loaded[name] or type(name) ~= "string" or name:find "^uplua%." then return plain(name) end
    local before = {}
    for _, probe in ipairs(handle.probes()) do before[probe] = true end
    depth = depth + 1
    return done(before, name, pcall(loop.taking, function(take_back)
      entry.of_modules[#entry.of_modules + 1] = take_back
    end, plain, name))
  end)
  local function restore(ok, ...)
    rawset(_G, "require", plain)
    if not ok then error((...), 0) end
    return ...
  end
  return restore(pcall(fn, ...))
end

-- Runs CHUNK, with arguments, and notes what it declares; returns what it returns. It is a version of what has run as
-- PATH before.
function files.run_as(path, chunk, ...)
  local mine = own()
  local before, undo = {}, {}
  for _, probe in ipairs(handle.probes()) do before[probe] = true end
  local entry = { path = path, probes = {}, undo = undo, first = #object.all() + 1, modules = {}, of_modules = {} }
  local function note(...)
    for _, probe in ipairs(handle.probes()) do
      if not before[probe] then entry.probes[#entry.probes + 1] = probe end
    end
    entry.last = #object.all()
    return ...
  end
  mine.fresh[#mine.fresh + 1] = entry
  capture.forget(debug.getinfo(chunk, "S").short_src)
  if mine.loaded[path] and mine.loaded[path].typed then capture.forget "prompt" end
  return note(loop.taking(function(take_back) undo[#undo + 1] = take_back end,
    setting_modules_apart, entry, before, chunk, ...))
end

-- The same of the file PATH, whatever links lead to it.
function files.run(path, chunk, ...)
  return files.run_as(core.system.real_path(path) or path, chunk, ...)
end

-- Whether another file than ENTRY's has made the object ID: what was typed is all between.
local function is_others(entry, id)
  for _, other in pairs(entry.typed and own().loaded or {}) do
    if other ~= entry and id >= other.first and id <= other.last then return true end
  end
  return false
end

-- The report passes over the shared objects that ENTRY has made, unless a variable still holds them, or one of HELD.
local function pass_over(entry, held)
  held = held or {}
  for _, value in next, _G do held[value] = true end
  for id = entry.first, entry.last do
    local made = object.all()[id]
    if not held[made] and not is_others(entry, id) then rawset(made, "read", true) end
  end
end

-- What was typed by now is what the file PATH declares, which has it: to load that takes the place of it. UNDO:
-- functions that take back what it has done besides probes.
function files.adopt(path, undo)
  local mine, of_files = own(), {}
  local entry = { path = core.system.real_path(path) or path, probes = {}, undo = { unpack(undo) }, typed = true,
                  first = 1, last = #object.all(), modules = {}, of_modules = {} }
  for before, other in pairs(mine.loaded) do
    if other.typed then mine.loaded[before] = nil end -- saved once more
    for _, probe in ipairs(other.typed and {} or other.probes) do of_files[probe] = true end
  end
  for _, probe in ipairs(handle.probes()) do
    if not of_files[probe] then entry.probes[#entry.probes + 1] = probe end
  end
  mine.loaded[entry.path] = entry
end

local function end_all(undo)
  for _, take_back in ipairs(undo) do take_back() end
end

-- The probes whose place is taken by what has run.
function files.replaced()
  local mine, list = own(), {}
  for _, entry in ipairs(mine.fresh) do
    local old = mine.loaded[entry.path]
    for _, probe in ipairs(old and old.probes or {}) do list[#list + 1] = probe end
  end
  return list
end

-- What has run is attached: it takes the place of what its files had declared before. Returns a list of messages. HELD:
-- shared objects that the report has to show all the same, as keys.
function files.keep(held)
  local mine, told = own(), {}
  for _, entry in ipairs(mine.fresh) do
    local old = mine.loaded[entry.path]
    if old then
      for _, probe in ipairs(old.probes) do handle.remove(probe) end
      end_all(old.undo)
      pass_over(old, held)
      told[#told + 1] = ("%s: %s in the place of %d"):format(entry.path:match "[^/]+$",
                                                           text.plural(#entry.probes, "probe"), #old.probes)
    end
    mine.loaded[entry.path] = entry
  end
  mine.fresh = {}
  return told
end

-- … or it has failed: what was there before stays.
function files.discard()
  for _, entry in ipairs(own().fresh) do
    end_all(entry.undo)
    end_all(entry.of_modules) -- and what requires them next loads them again
    for _, name in ipairs(entry.modules) do package.loaded[name] = nil end
  end
  own().fresh = {}
end

-- The path that NAME means: itself, or that of the file of this name that was loaded before.
local function find(name)
  if core.system.is_file(name) then return name end
  for path in pairs(own().loaded) do
    if path:match "[^/]+$" == name and core.system.is_file(path) then return path end
  end
  return name
end

-- The global functions: dofile(path), reload(path).
function files.load(name, ...)
  if type(name) ~= "string" then error("the file's name is expected, as in reload \"x.lua\"", 2) end
  local path = find(name)
  local chunk, message = loadfile(path)
  if not chunk then error(message, 0) end
  return files.run(path, chunk, ...)
end

return files
