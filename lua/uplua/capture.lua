-- What a handler's function captures, told to the compiler (src/lua/environment.c): each function here returns a kind and
-- a payload. Functions and tables go by handles, which stay the same for the same function or table.
local ffi = require "ffi"
local bit = require "bit"

local capture = {}

local values, handles = {}, {} -- handle → function or table, and back
local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local eight = ffi.typeof "uint64_t[1]"

-- The handle of a function or table.
function capture.handle(value)
  local handle = handles[value]
  if not handle then
    handle = #values + 1
    values[handle], handles[value] = value, handle
  end
  return handle
end

-- The name by which the compiler knows one of uplua's own functions or LuaJIT's bit operations, or nil.
local function builtin(value)
  for name, known in pairs(package.loaded.uplua or {}) do
    if known == value then return name end
  end
  for name, known in pairs(bit) do
    if known == value then return "bit." .. name end
  end
end

-- The name of a function of Lua's own libraries: "print", "string.format"; nil for others.
local function library_name(value)
  for _, library in ipairs { "_G", "string", "table", "math", "os", "io", "ffi", "coroutine", "debug" } do
    for name, known in pairs(package.loaded[library] or {}) do
      if rawequal(known, value) then return library == "_G" and name or library .. "." .. name end
    end
  end
end

local function bytes_of(value)
  return ffi.string(eight(value), 8)
end

local function describe(value)
  local kind = type(value)
  if kind == "nil" or kind == "boolean" or kind == "number" or kind == "string" then return kind, value end
  if kind == "function" then
    local name = builtin(value)
    if name then return "builtin", name end
    if debug.getinfo(value, "S").what == "C" then
      return "other", (library_name(value) or "a function") .. ", which is not written in Lua"
    end
    return "function", capture.handle(value)
  end
  if kind == "table" then
    local id = rawget(value, "kind") and rawget(value, "id")
    if id and require "uplua.object".all[id] == value then return "object", id - 1 end
    return "table", capture.handle(value)
  end
  if kind == "cdata" then
    if ffi.istype(int64, value) then return "i64", bytes_of(value) end
    if ffi.istype(uint64, value) then return "u64", bytes_of(value) end
  end
  return "other", "a " .. kind
end

-- t[key] without running code of the script: metatables are followed where their __index is a table, and in uplua's own.
local function lookup(t, key, depth)
  local value = rawget(t, key)
  if value ~= nil or key == nil then return value end
  if t == package.loaded.uplua then return t[key] end
  local meta = getmetatable(t)
  local index = type(meta) == "table" and rawget(meta, "__index")
  if type(index) == "table" and depth < 16 then return lookup(index, key, depth + 1) end
end

function capture.upvalue(handle, index)
  local _, value = debug.getupvalue(values[handle], index + 1)
  return describe(value)
end

function capture.global(handle, name)
  return describe(lookup(debug.getfenv(values[handle]), name, 0))
end

function capture.field(handle, key)
  return describe(lookup(values[handle], key, 0))
end

function capture.dump(handle)
  return string.dump(values[handle])
end

local sources = {} -- file → list of lines

local function source_of(file)
  if file == "-e" then return require "uplua.options".code end
  local f = io.open(file)
  local text = f and f:read "*a"
  if f then f:close() end
  return text
end

-- Line number LINE of FILE, for the verifier's messages and --explain; nil where the file cannot be read.
function capture.source_line(file, line)
  local lines = sources[file]
  if not lines then
    lines = {}
    for text in ((source_of(file) or "") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = text end
    sources[file] = lines
  end
  return lines[line]
end

return capture
