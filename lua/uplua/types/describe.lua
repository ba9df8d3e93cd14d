-- What debug information and the kernel's BTF say of types, asked once of each.
--
-- A type is what core.types pushes (src/lua/types.c), and has besides
--   origin   "debug" or "kernel"
--   number   by which the origin knows it
-- What its element and its fields' types are is asked when they are needed: structs lead to each other in circles.
local core = require "uplua.core"

local describe = {}

local known = { debug = {}, kernel = {} } -- numbers stay the same while the process lives

-- The type NUMBER of ORIGIN; nil: there is none.
function describe.get(origin, number)
  local found = known[origin][number]
  if found == nil then
    found = core.types[origin](number) or false
    known[origin][number] = found
    if found then found.origin, found.number = origin, number end
  end
  return found or nil
end

-- What the pointer or the array TYPE leads to or consists of; nil: nobody knows.
function describe.element(type)
  return type.element and type.element > 0 and describe.get(type.origin, type.element) or nil
end

-- The type of FIELD, a field of the struct TYPE.
function describe.of_field(type, field) return describe.get(type.origin, field.type) end

-- The field NAME of the struct TYPE: its type and its offset; nil: it has none.
function describe.field(type, name)
  for _, field in ipairs(type and type.fields or {}) do
    if field.name == name then return describe.of_field(type, field), field.offset end
  end
end

-- The kernel's type that NAME, "struct task_struct", is; nil: it has none.
function describe.of_kernel(name)
  local number = core.types.kernel_named(name)
  return number and describe.get("kernel", number)
end

-- True where TYPE is C's char: of one byte, and of no other name.
function describe.is_char(type)
  return type ~= nil and type.kind == "integer" and type.size == 1 and type.own == "char"
end

-- True where TYPE is a pointer to text.
function describe.is_text(type)
  return type ~= nil and type.kind == "pointer" and describe.is_char(describe.element(type))
end

return describe
