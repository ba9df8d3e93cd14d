-- Tells the compiler the values that a handler's function captures (src/lua/host.c): each function here returns a kind
-- and a payload. Functions and tables go by handles, which are the same for the same function or table throughout a
-- compilation.
local ffi = require "ffi"
local bit = require "bit"
local int64_bytes = require "uplua.base.int64_bytes"
local run = require "uplua.base.run"
local shipped = require "uplua.base.shipped"

local capture = {}

local own = run.part(function()
  return {
    values = {}, handles = {}, -- handle → function or table, and back: those of this compilation
    -- What the handlers have taken: what identifies a variable → { container, key, value, read, name, place }. Those of
    -- the setup that is being compiled are fresh.
    taken = {}, fresh = {},
    last = nil,  -- what has been captured last
    late = {},   -- warnings of variables that a later handler has taken again
    sources = {} -- file → list of lines
  }
end)
local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

-- The handle of a function or table.
function capture.handle(value)
  local mine = own()
  local handle = mine.handles[value]
  if not handle then
    handle = #mine.values + 1
    mine.values[handle], mine.handles[value] = value, handle
  end
  return handle
end

-- For functions of uplua's own modules that are inlined into handlers:
--   capture.event()                           the event of the handler that it is
--   capture.choose(numbers, name, what, all)  numbers[name], where NAME is a text that is constant on each way that
--                                             leads here; else, or if it is no key, the handler is refused: WHAT
--                                             ("state") is one of ALL ("idle, busy")
--   capture.remove(map, key)                  deletes the entry; true if it was there: of several handlers that do so
--                                             at the same time one is told true
--   capture.fetch_add(map, key, n)            adds N to the entry, which begins with 0, at once; what it was before,
--                                             nil if there was no room
--   capture.stop()                            stops the process as SIGSTOP does; it is to be continued by who has it
--                                             stopped
local HANDLERS_ALONE = { "event", "choose", "remove", "fetch_add", "stop" }
for _, name in ipairs(HANDLERS_ALONE) do
  capture[name] = function() error(("capture.%s is for handlers"):format(name), 2) end
end

-- The name by which the compiler knows one of uplua's own functions or LuaJIT's bit operations, or nil.
local function builtin(value)
  for _, name in ipairs(HANDLERS_ALONE) do
    if rawequal(value, capture[name]) then return name end
  end
  for name, known in pairs(package.loaded.uplua or {}) do
    if known == value then return name end
  end
  for name, known in pairs(bit) do
    if known == value then return "bit." .. name end
  end
end

local inlined = setmetatable({}, { __mode = "k" })

-- Has handlers take FN, a function of uplua's own modules, as they take the script's; returns it. All others run in
-- user space only.
function capture.inlined(fn)
  inlined[fn] = true
  return fn
end

-- The name of a function of Lua's own libraries: "print", "string.format"; nil for others. Some are bytecode without
-- lines, and some have been replaced by uplua's (uplua.run.script).
local function library_name(value)
  if inlined[value] then return nil end
  local info = debug.getinfo(value, "S")
  if info.what ~= "C" and not info.short_src:find "^%[builtin:" and not info.source:find "^@uplua/" then return nil end
  for _, library in ipairs { "string", "table", "math", "os", "io", "ffi", "coroutine", "debug", "jit", "_G" } do
    for name, known in pairs(package.loaded[library] or {}) do
      if rawequal(known, value) then return library == "_G" and name or library .. "." .. name end
    end
  end
  return "a function that is not written in Lua"
end

local function describe(value)
  local kind = type(value)
  if kind == "nil" or kind == "boolean" or kind == "number" or kind == "string" then return kind, value end
  if kind == "function" then
    local name = builtin(value)
    if name then return "builtin", name end
    name = library_name(value)
    if name then return "other", name end
    return "function", capture.handle(value)
  end
  if kind == "table" then
    local id = rawget(value, "kind") and rawget(value, "id")
    if id and require "uplua.objects.object".all()[id] == value then return "object", id - 1 end
    if id == nil and rawget(value, "guest") then
      return "other", "a map of a BPF object, which its own programs fill,"
    end
    return "table", capture.handle(value)
  end
  if rawequal(value, ffi.C) then return "table", capture.handle(value) end
  if kind == "cdata" then
    if ffi.istype(int64, value) then return "i64", int64_bytes.of(value) end
    if ffi.istype(uint64, value) then return "u64", int64_bytes.of(value) end
    local good, text = pcall(tostring, value)
    local handle = good and text:find "^ctype<" and require "uplua.compile.ctype".parse(value)
    if handle then return "ctype", handle end
  end
  return "other", "a " .. kind
end

-- A constant of an enum; functions and variables of this process are nothing for a handler.
local function c_constant(name)
  local good, value = pcall(function() return ffi.C[name] end)
  if good and type(value) == "number" then return value end
end

-- t[key] without running code of the script: metatables are followed where their __index is a table, and in uplua's
-- own.
local function lookup(t, key, depth)
  if rawequal(t, ffi.C) then return c_constant(key) end
  local value = rawget(t, key)
  if value ~= nil or key == nil then return value end
  if t == package.loaded.uplua then return t[key] end
  local meta = getmetatable(t)
  local index = type(meta) == "table" and rawget(meta, "__index")
  if type(index) == "table" and depth < 16 then return lookup(index, key, depth + 1) end
end

local function note(container, key, value, read)
  own().last = { container = container, key = key, value = value, read = read }
  return describe(value)
end

local function read_upvalue(entry)
  local _, value = debug.getupvalue(entry.container, entry.key)
  return value
end

local function read_field(entry) return lookup(entry.container, entry.key, 0) end

function capture.upvalue(handle, index)
  local fn = own().values[handle]
  local _, value = debug.getupvalue(fn, index + 1)
  return note(fn, index + 1, value, read_upvalue)
end

function capture.global(handle, name)
  local globals = debug.getfenv(own().values[handle])
  return note(globals, name, lookup(globals, name, 0), read_field)
end

function capture.field(handle, key)
  local t = own().values[handle]
  local kind, payload = note(t, key, lookup(t, key, 0), read_field)
  if kind == "nil" and rawequal(t, ffi.C) then
    return "other", ("ffi.C.%s, which is no constant of C"):format(tostring(key))
  end
  return kind, payload
end

local function is_same(a, b)
  if type(a) == "cdata" and type(b) == "cdata" and describe(a) == describe(b) and describe(a) ~= "other" then
    return a == b
  end
  return rawequal(a, b) or a ~= a
end

local function shown(value)
  if type(value) == "function" or type(value) == "table" then
    return "a " .. (type(value) == "table" and rawget(value, "id") and rawget(value, "kind") or type(value))
  end
  return type(value) == "string" and ("'%s'"):format(value) or (tostring(value):gsub("U?LL$", ""))
end

local function warning(entry, value)
  local kind, before, now = type(entry.value), shown(entry.value), shown(value)
  if before == now then now = "another" end
  local is_plain = kind == "number" or kind == "boolean" or kind == "cdata"
  local hint = is_plain and ("; use up.var(%s) for a value that changes"):format(before) or ""
  return ("%s: '%s' was %s when the handler was compiled: that it is %s now does not change the handler%s"):format(
    entry.place, entry.name, before, now, hint)
end

-- The handler uses what has been captured last, at PLACE (file:line), as NAME.
function capture.used(name, place)
  local mine = own()
  local last = mine.last
  local kind = describe(last.value)
  if kind == "builtin" or kind == "other" then return end
  last.name, last.place = name, place
  mine.fresh[#mine.fresh + 1] = last
end

-- An upvalue is the same one in whichever function; a field belongs to its table.
local function slot(entry)
  local taken = own().taken
  local by_key = taken
  if entry.read == read_field then
    by_key = taken[entry.container] or {}
    taken[entry.container] = by_key
    return by_key, entry.key
  end
  return by_key, debug.upvalueid(entry.container, entry.key)
end

-- To be called when the handlers that were compiled since begin() are loaded: from now on their variables are watched.
function capture.keep()
  local mine = own()
  local late = mine.late
  for _, entry in ipairs(mine.fresh) do
    local by_key, key = slot(entry)
    local before = by_key[key]
    if before and not is_same(before.value, entry.value) then late[#late + 1] = warning(before, entry.value) end
    if not before or not is_same(before.value, entry.value) then by_key[key] = entry end
  end
  capture.begin()
end

-- A setup is about to be compiled.
function capture.begin()
  local mine = own()
  mine.fresh, mine.last = {}, nil
  mine.values, mine.handles = {}, {}
end

-- One warning for each variable that no longer is what a handler has taken it for.
function capture.changed()
  local mine = own()
  local warnings = mine.late
  mine.late = {}
  local function check(by_key)
    for key, entry in pairs(by_key) do
      if not entry.read then
        check(entry) -- the fields of a table
      elseif not is_same(entry.value, entry:read()) then
        warnings[#warnings + 1] = warning(entry, entry:read())
        by_key[key] = nil
      end
    end
  end
  check(mine.taken)
  table.sort(warnings)
  return warnings
end

-- Forgets what handlers of the chunk FILE (as places name it) have taken: they are about to be replaced.
function capture.forget(file)
  local function drop(by_key)
    for key, entry in pairs(by_key) do
      if not entry.read then
        drop(entry)
      elseif entry.place:sub(1, #file + 1) == file .. ":" then
        by_key[key] = nil
      end
    end
  end
  drop(own().taken)
end

function capture.dump(handle) return string.dump(own().values[handle]) end

local function source_of(file)
  if file == "-e" then return require "uplua.options".code end
  local text = shipped.text(file)
  if text then return text end
  local f = io.open(file)
  text = f and f:read "*a"
  if f then f:close() end
  return text
end

-- Line number LINE of FILE, for the verifier's messages and --explain; nil where the file cannot be read.
function capture.source_line(file, line)
  local sources = own().sources
  local lines = sources[file]
  if not lines then
    lines = {}
    for text in ((source_of(file) or "") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = text end
    sources[file] = lines
  end
  return lines[line]
end

return capture
