-- A script that is loaded again while it runs: with --watch, when its file is saved; with --serve, when SIGHUP asks for
-- that. Its main chunk runs anew in an environment of its own; maps keep what they hold, by their names: those of their
-- option `name`, else of their variables.
local bytecode = require "jit.util"
local equal    = require "uplua.base.equal"
local failure  = require "uplua.base.failure"
local files    = require "uplua.prompt.files"
local loop     = require "uplua.base.loop"
local object   = require "uplua.objects.object"
local options  = require "uplua.options"
local run      = require "uplua.base.run"
local script   = require "uplua.run.script"
local text     = require "uplua.base.text"

local reload = {}

local own = run.part(function()
  return {
    name = nil,      -- of the script, by which its versions are known
    arguments = nil, -- the script's
    maps = {}, environment = nil,
    mistake = nil,   -- why its maps cannot keep what they hold
  }
end)

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
    failure.mistake(("%s: two maps are called '%s': by its name a map keeps what it holds; rename one")
      :format(options.watch and "--watch" or "--serve", name))
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
-- main chunk and globals; and why they cannot keep what they hold, or nil.
local function maps_of(chunk, environment, ...)
  local maps, mistake, before = {}, nil, #object.all()
  local function try(fn, ...)
    local ok, message = pcall(fn, ...)
    mistake = mistake or not ok and message or nil
  end
  seeing_locals(chunk, function(...) try(add_variable, maps, ...) end, files.run_as, own().name, chunk, ...)
  for name, value in next, environment do try(add_variable, maps, tostring(name), value) end
  for id = before + 1, #object.all() do
    local made = object.all()[id]
    if rawget(made, "options").name then try(add, maps, rawget(made, "options").name, made) end
  end
  return maps, mistake
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
  options.digest = script.digest()
  publish(environment)
  for _, value in pairs(maps) do held[value] = true end
  return files.keep(held)
end

-- Runs CHUNK, a version of the script, with its arguments, and attaches what it declares; KEEPING: with the maps of the
-- version before. Returns messages. Where anything fails, that version goes on, and the error is raised.
local function take_over(chunk, keeping, ...)
  local environment, told, undo = fresh_environment(chunk), {}, nil
  local ok, result = xpcall(function(...)
    local maps, mistake = maps_of(chunk, environment, ...)
    if mistake then error(mistake, 0) end
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

-- again(path): loads the script again, from PATH. A version whose maps hold other types than before is tried once more
-- with maps of its own.
function reload.again(path)
  local arguments = own().arguments
  local function version(keeping)
    if own().mistake then return false, own().mistake end
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

-- begin(path, strict, …): runs the first version of the script PATH, with its arguments; what it declares is attached
-- by who calls. STRICT: raises why its maps could not keep what they hold, which is otherwise told at the reload.
function reload.begin(path, strict, ...)
  local mine = own()
  mine.name, mine.arguments = path, { n = select("#", ...), ... }
  local chunk = assert(script.load(path)) -- anew: it may have been saved since it was first
  local environment = fresh_environment(chunk)
  mine.maps, mine.mistake = maps_of(chunk, environment, ...)
  if strict and mine.mistake then error(mine.mistake, 0) end
  options.digest = script.digest()
  publish(environment)
end

-- It is attached: from now on it may be loaded again.
function reload.start() files.keep() end

return reload
