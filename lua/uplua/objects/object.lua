-- The base of all shared objects. An object is a table whose raw fields are `kind`, `id` (its place in object.all()),
-- `options`, `name` (false until the report finds one), `queued` (writes before the map exists, { key, value } each)
-- and `read` (true once the script has looked at it); all else is kept apart, since other names may be keys: m[k] is
-- m:get(k).
local run = require "uplua.base.run"

local object = {}

-- Those of a run in the order in which they were made, and those of BPF objects that were brought along.
local own = run.part(function() return { all = {}, guests = {} } end)
function object.all() return own().all end
function object.guests() return own().guests end

local states = setmetatable({}, { __mode = "k" }) -- object → what only its module knows

-- Makes an object for the map NAME of a BPF object that was brought along: the compiler does not know it, and it has no
-- id.
function object.guest(kind, name, options, metatable, state)
  local o = { kind = kind, options = options, name = name, queued = {}, read = true, guest = true }
  states[o] = state
  table.insert(object.guests(), o)
  return setmetatable(o, metatable)
end

-- Makes an object of KIND; STATE is the module's own table for it. An option `name` is its name.
function object.new(kind, options, metatable, state)
  local all = object.all()
  local o = { kind = kind, id = #all + 1, options = options, name = options.name or false, queued = {}, read = false }
  states[o] = state
  all[o.id] = o
  return setmetatable(o, metatable)
end

-- The module's table of object O. Calling a method with a dot instead of a colon is found here.
function object.state(o)
  local state = states[o]
  if not state then
    local level = 2 -- of who is not uplua
    while debug.getinfo(level, "S").source:find "^@uplua/" do level = level + 1 end
    error("call it with a colon, as in m:get(key)", level)
  end
  return state
end

-- What to do where O, a map or ring, is full.
function object.advice(o)
  local options = rawget(o, "options") or {}
  local raised = options.option or (rawget(o, "kind") == "ring" and "size" or "max")
  return options.advice or "give it a larger " .. raised
end

-- Sets that for O, one of uplua's own, which users cannot make larger. Returns it.
function object.advise(o, advice)
  rawget(o, "options").advice = advice
  return o
end

-- Has NEW stand for OLD, an object of the same kind: it has OLD's map and all that is known of it. Returns a function
-- that takes it back.
function object.replace(old, new)
  local all, id, state, name = object.all(), rawget(new, "id"), states[new], rawget(new, "name")
  rawset(new, "id", old.id)
  rawset(new, "name", rawget(old, "name"))
  states[new], all[old.id] = states[old], new
  return function()
    rawset(new, "id", id)
    rawset(new, "name", name)
    states[new], all[old.id] = state, old
  end
end

-- True for shared objects.
function object.is(o) return type(o) == "table" and states[o] ~= nil end

return object
