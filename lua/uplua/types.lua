-- Types, as debug information and the kernel's BTF describe them, and bytes as their values: for scripts whose handlers
-- take structures with up.buf.
--
--   local types = require "uplua.types"
--   local order = types.argument("./shop:sell", "order"):target()
--   local size, sold = order.size, up.ring()
--   up.uprobe("./shop:sell", function(e) sold:emit { order = up.buf(e.args.order, size) } end)
--   sold:each(function(record)
--     print(order:decode(record.order).id, order:text(record.order))
--   end)
--
-- A type has name ("struct order"), kind ("struct", "integer", "pointer", …), size in bytes, and methods:
--   target()                what a pointer leads to, or an array consists of; nil where nobody knows
--   fields()                of a structure: { { name, type, offset, first_bit, bits }, … }
--   decode(bytes)           the plain value: tables, lists, numbers, texts
--   text(bytes)             in one line
--   lines(bytes, [width])   as a list of lines, indented where one is not enough
-- BYTES are a string or what up.buf has read.
local buffer    = require "uplua.objects.buffer"
local decode    = require "uplua.types.decode"
local describe  = require "uplua.types.describe"
local failure   = require "uplua.base.failure"
local layout    = require "uplua.types.layout"
local providers = require "uplua.probe.providers"

local types = {}
local methods = {}

local objects = setmetatable({}, { __mode = "k" }) -- of a description

local function object_of(type)
  if not type then return nil end
  objects[type] = objects[type] or setmetatable({ name = type.name, kind = type.kind, size = type.size }, {
    __index = methods, __tostring = function(self) return self.name end,
  })
  objects[objects[type]] = type
  return objects[type]
end

-- The bytes of VALUE; raises at the caller of METHOD that it has none.
local function bytes_of(method, value)
  local bytes = buffer.parts(value)
  if not bytes then error(("%s: a string or a buffer is expected, not a %s"):format(method, type(value)), 3) end
  return bytes
end

function methods:target() return object_of(describe.element(objects[self])) end

function methods:fields()
  local list = {}
  for i, field in ipairs(objects[self].fields or {}) do
    list[i] = {
      name = field.name, type = object_of(describe.of_field(objects[self], field)), offset = field.offset,
      first_bit = field.first_bit, bits = field.bits,
    }
  end
  return list
end

function methods:decode(bytes) return (decode.value(objects[self], bytes_of("decode", bytes))) end

function methods:text(bytes)
  local _, shown = decode.value(objects[self], bytes_of("text", bytes))
  return layout.line(shown)
end

function methods:lines(bytes, width)
  if type(width or 0) ~= "number" then error("lines: the width is a number, not a " .. type(width), 2) end
  local _, shown = decode.value(objects[self], bytes_of("lines", bytes))
  return layout.lines(shown, "", "", width or 120)
end

-- The parts of SPEC, as a trace has them (uplua.probe.providers).
local function parts_of(what, spec, returns)
  if type(spec) ~= "string" then error(("types.%s: the first argument is a probe's spec"):format(what), 3) end
  local provider, rest = providers.of_spec(spec)
  if not provider.hits then failure.mistake(("%s: its arguments have no types"):format(spec)) end
  return provider.hits(rest, returns, spec)
end

-- The type of ONE, a parameter or a result.
local function type_of(one)
  if one.debug and one.debug > 0 then return describe.get("debug", one.debug) end
  return one.typed and describe.get("kernel", one.typed)
end

-- argument(spec, name): the type of the argument NAME of the function that SPEC, a probe's, names. Raises that there is
-- none.
function types.argument(spec, name)
  for _, part in ipairs(parts_of("argument", spec, false)) do
    for _, parameter in ipairs(part.parameters or {}) do
      local found = parameter.name == name and type_of(parameter)
      if found then return object_of(found) end
    end
  end
  failure.mistake(("types: %s has no argument '%s' whose type is known"):format(spec, tostring(name)))
end

-- result(spec): the type of what that function returns; nil where that is nothing. Raises that nobody knows it.
function types.result(spec)
  local part = parts_of("result", spec, true)[1]
  if not (part and part.result) then failure.mistake(("types: nobody knows what %s returns"):format(spec)) end
  return object_of(type_of(part.result))
end

-- kernel(name): the kernel's type "struct task_struct". Raises that it has none of that name.
function types.kernel(name)
  if type(name) ~= "string" then error("types.kernel: the first argument is a type's name", 2) end
  return object_of(describe.of_kernel(name))
    or failure.mistake(("types: the kernel has no type '%s' in its BTF"):format(name))
end

return types
