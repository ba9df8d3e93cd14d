-- Structs that stand for text or for a list elsewhere in memory: libstdc++'s std::string, std::string_view and
-- std::vector, Rust's String, &str, Vec and slices, Go's strings and slices. They are known by their names and by their
-- layout, both of which have to fit.
local describe = require "uplua.types.describe"

local containers = {}

local DEEPEST = 6 -- structs around Rust's pointers

-- The first pointer in the struct TYPE, and in what stands at its begin there: what it leads to, and its offset.
local function first_pointer(type, depth)
  for _, field in ipairs(depth > 0 and type and type.fields or {}) do
    local of_field = describe.of_field(type, field)
    if of_field and of_field.kind == "pointer" then return describe.element(of_field), field.offset end
    local element, offset = first_pointer(of_field, depth - 1)
    if offset then return element, field.offset + offset end
  end
end

-- The container that has its pointer in the field POINTER and its length in LENGTH of TYPE; nil where they are not.
local function of_fields(type, pointer, length, is_text)
  local to, at = describe.field(type, pointer)
  local number, length_at = describe.field(type, length)
  if not to or not number or to.kind ~= "pointer" or number.kind ~= "integer" or number.size ~= 8 then return nil end
  return { text = is_text, pointer = at, length = length_at, element = describe.element(to) }
end

local function string_of_cxx(type)
  local hidden, at = describe.field(type, "_M_dataplus")
  local pointer, inside = describe.field(hidden, "_M_p")
  local length, length_at = describe.field(type, "_M_string_length") -- the old ABI's has none
  if not pointer or pointer.kind ~= "pointer" or not length then return nil end
  return { text = true, pointer = at + inside, length = length_at, element = describe.element(pointer) }
end

local function vector_of_cxx(type)
  local implementation, at = describe.field(type, "_M_impl")
  local first, first_at = describe.field(implementation, "_M_start")
  local last, last_at = describe.field(implementation, "_M_finish")
  if not first or not last or first.kind ~= "pointer" then return nil end -- of bool: no addresses
  return { pointer = at + first_at, last = at + last_at, element = describe.element(first) }
end

-- Rust's numbers by their names: newer versions lead from a Vec to bytes, and only its name says what is there.
local function number_of_rust(name)
  if name == "f32" or name == "f64" then
    return { kind = "float", name = name, own = name, size = tonumber(name:sub(2)) / 8 }
  end
  local sign, bits = name:match "^([iu])(%d+)$"
  bits = (name == "usize" or name == "isize") and 64 or tonumber(bits)
  if not bits then return nil end
  local signed = (sign or name:sub(1, 1)) == "i"
  return { kind = "integer", name = name, own = name, size = bits / 8, bits = signed and -bits or bits }
end

local function vector_of_rust(type, is_text)
  local buffer, at = describe.field(type, "buf")
  local length, length_at = describe.field(type, "len")
  local element, inside = first_pointer(buffer, DEEPEST)
  if not inside or not length or length.size ~= 8 then return nil end
  local of_name = type.own:match "^Vec<([^,<>]+)"
  if not element or element.own ~= of_name then element = of_name and number_of_rust(of_name) end
  return element and { text = is_text, pointer = at + inside, length = length_at, element = element }
end

local function string_of_rust(type)
  local bytes, at = describe.field(type, "vec")
  local found = bytes and bytes.own and bytes.own:find "^Vec<u8" and vector_of_rust(bytes, true)
  if not found then return nil end
  found.pointer, found.length = found.pointer + at, found.length + at
  return found
end

-- How a struct's own name begins → what it is then. Names of C's structs may be the same: the layout decides.
local KINDS = {
  { "^basic_string<char,", string_of_cxx },
  { "^basic_string_view<char,", function(type) return of_fields(type, "_M_str", "_M_len", true) end },
  { "^vector<", vector_of_cxx },
  { "^&str$", function(type) return of_fields(type, "data_ptr", "length", true) end },
  { "^&mut str$", function(type) return of_fields(type, "data_ptr", "length", true) end },
  { "^&%[", function(type) return of_fields(type, "data_ptr", "length") end },
  { "^&mut %[", function(type) return of_fields(type, "data_ptr", "length") end },
  { "^String$", string_of_rust },
  { "^Vec<", function(type) return vector_of_rust(type) end },
  { "^string$", function(type) return of_fields(type, "str", "len", true) end },
  { "^%[%]", function(type) return of_fields(type, "array", "len") end },
}

-- What the struct TYPE contains elsewhere: { text = true, pointer, length or last = offsets of its words, element = the
-- type there }; nil where it is an ordinary struct.
function containers.of(type)
  if type.container == nil then
    type.container = false
    for _, kind in ipairs(type.kind == "struct" and type.own and KINDS or {}) do
      if type.own:find(kind[1]) then type.container = kind[2](type) or false end
    end
    local found = type.container
    if found and not found.text and (not found.element or (found.element.size or 0) == 0) then
      type.container = false
    end
  end
  return type.container or nil
end

return containers
