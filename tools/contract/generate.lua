-- generate.lua ASSEMBLY DECLARATIONS: the module uplua.contract, from what the compiler makes of contract.c. What
-- is wanted and not there is an error.

-- Structures and functions of our headers that Lua has by FFI. A struct NAME is called struct uplua_NAME there: what a
-- script declares may be called as it likes.
local STRUCTS = { "stack", "sum", "distribution", "map", "map_entries", "probe_state", "probe_counts" }
local FUNCTIONS = {
  "map_open", "map_lookup", "map_update", "map_delete", "map_take", "map_read_all", "map_entries_free",
  "map_var_open", "map_var_get", "map_var_set", "map_var_add",
  "ring_open", "ring_batch", "ring_data", "ring_filled", "ring_release",
  "symbols_update", "symbols_renamings", "symbols_fold", "symbols_address",
}
local TYPES = {
  __u64 = "uint64_t", __s64 = "int64_t", __u32 = "uint32_t", __u16 = "uint16_t", __u8 = "uint8_t", pid_t = "int",
  _Bool = "bool",
}

local function content(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- --- declarations ---

-- The declarations in C's TEXT, one after the other, without what belongs to functions that are defined there.
local function declarations(text)
  local list, start, depth = {}, 1, 0
  text = text:gsub("\n#[^\n]*", "")
  for at, char in text:gmatch "()([{};])" do
    depth = depth + (char == "{" and 1 or char == "}" and -1 or 0)
    if char == ";" and depth == 0 then
      list[#list + 1] = text:sub(start, at):gsub("%s+", " "):gsub("^ ", "")
      start = at + 1
    elseif char == "}" and depth == 0 and not text:find("^[%s%w_,*]*;", at + 1) and
           not text:find("^%s*__attribute__", at + 1) then
      start = at + 1 -- a function's end
    end
  end
  return list
end

local function name_of(declaration)
  local struct = declaration:match "^struct ([%w_]+) {.*} ?;$"
  if struct then return "struct " .. struct end
  return not declaration:find "{" and declaration:match "([%w_]+) ?%("
end

local function as_ffi(declaration)
  return (declaration:gsub("struct ([%w_]+)", "struct uplua_%1"):gsub("[%w_]+", TYPES))
end

local function cdef(text)
  local found, lines = {}, { "struct uplua_ring;", "struct uplua_symbols;" }
  for _, declaration in ipairs(declarations(text)) do
    local name = name_of(declaration)
    if name then found[name] = declaration end
  end
  for _, struct in ipairs(STRUCTS) do
    lines[#lines + 1] = as_ffi(assert(found["struct " .. struct], "contract: there is no struct " .. struct))
  end
  for _, name in ipairs(FUNCTIONS) do
    lines[#lines + 1] = as_ffi(assert(found[name], "contract: there is no function " .. name))
  end
  return lines
end

-- --- what is measured ---

-- LINES for a structure of the system, with the FIELDS { name, type, offset, size } and SIZE bytes in all.
local function put_struct(lines, name, size, fields)
  local parts, at, gaps = {}, 0, 0
  local function fill(to)
    if to > at then
      gaps = gaps + 1
      parts[#parts + 1] = ("uint8_t gap%d[%d];"):format(gaps, to - at)
    end
  end
  for _, field in ipairs(fields) do
    fill(field.offset)
    local type = field.type == "int" and ("%s%d_t"):format(field.sign == 1 and "int" or "uint", field.size * 8)
    parts[#parts + 1] = ("%s %s;"):format(type or field.type, field.name)
    at = field.offset + field.size
  end
  fill(size)
  lines[#lines + 1] = ("struct uplua_%s { %s };"):format(name, table.concat(parts, " "))
end

-- Puts structures into LINES. Returns a list of { name, Lua's text of the value }.
local function measured(assembly, lines)
  local values, structs, struct, field = {}, {}, nil, nil
  for line in assembly:gmatch '"%-> ([^"\n]*)"' do
    local kind, name, text, number = line:match "^(%w+) ?([%w_]*) ?(%S*) [$#]?(%-?%d+)%s*$"
    if kind == "number" then
      local plain = math.abs(tonumber(number)) < 2 ^ 53
      values[#values + 1] = { name, plain and number or number .. "LL" }
    elseif kind == "text" then
      values[#values + 1] = { name, ("%q"):format(text) }
    elseif kind == "struct" then
      struct = { name = name, size = tonumber(number), fields = {} }
      structs[#structs + 1] = struct
    elseif kind == "field" then
      field = { name = name, type = text, offset = tonumber(number) }
      struct.fields[#struct.fields + 1] = field
    elseif kind == "size" or kind == "sign" then
      field[kind] = tonumber(number)
    else
      error("contract: cannot read " .. line)
    end
  end
  assert(#values > 0, "contract: the compiler's assembly has no values")
  for _, s in ipairs(structs) do put_struct(lines, s.name, s.size, s.fields) end
  return values
end

local lines = cdef(content(arg[2]))
local values = measured(content(arg[1]), lines)
local text = table.concat(lines, "\n")
require("ffi").cdef(text)
print "-- Made by tools/contract/generate.lua from the headers that tools/contract/contract.c names."
print(("require(\"ffi\").cdef [[\n%s\n]]\n"):format(text))
print "return setmetatable({"
for _, value in ipairs(values) do print(("  %s = %s,"):format(value[1], value[2])) end
print '}, { __index = function(_, name) error("no contract has " .. name, 2) end })'
