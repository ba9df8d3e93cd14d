-- The same handler as LuaJIT runs it: the event's fields are int64_t, the objects those of world.lua behind metatables.
-- Where the rules of handlers are LuaJIT's (interpreter.lua says in which runs they are not), this leaves what the
-- reference leaves.

-- In handlers strings have a method that Lua's have not.
function string.starts(s, prefix) return s:sub(1, #prefix) == prefix end

local numbers = require "numbers"
local world = require "world"

local plain = {}
plain.__index = plain

local function metatable_of(w)
  local function adder(object, keyed, key)
    return {
      inc = function() w:add(object, 1, keyed, key) end,
      add = function(_, v) w:add(object, v, keyed, key) end,
    }
  end
  local var = {
    get = function(o) return o.value end,
    set = function(o, v) w:var_set(o, v) end,
    add = function(o, v) w:var_add(o, v) end,
  }
  return {
    __index = function(o, key)
      if o.kind == "var" then return var[key] end
      if o.kind == "ring" then return function(_, record) return w:emit(o, record) end end
      if rawget(o, "total") then return adder(o)[key] or adder(o, true, key) end
      return w:get(o, key)
    end,
    __newindex = function(o, key, value) w:set(o, key, value) end,
  }
end

-- The line of the chunk SOURCE that runs.
local function place_in(source)
  local level = 2
  while debug.getinfo(level, "S").source ~= source do level = level + 1 end
  return ("%s:%d"):format(source:sub(2), debug.getinfo(level, "l").currentline)
end

-- SOURCE: the name of the handler's chunk, "@name".
function plain.new(source)
  local run = setmetatable({ source = source, world = world.new(error) }, plain)
  run.world.at = function() return place_in(source) end
  run.up = run.world:constructors(metatable_of(run.world))
  for name, cast in pairs(numbers.cast) do
    run.up[name] = function(v) return cast(v == nil and run.world.fail() or v) end
    run.up["read_" .. name] = function(address) return run.world:read(name, address) end
  end
  run.up.buf = function(...) return run.world:buffer(...) end
  run.up.copy = function(record) return run.world:copy(record) end
  return run
end

-- Runs fn(fields); an error ends it and is counted.
function plain:handler(fn, fields)
  xpcall(fn, function() self.world:count "error" end, fields)
end

function plain:snapshot(objects) return self.world:snapshot(objects) end

return plain
