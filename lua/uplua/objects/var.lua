-- var: one value that handlers and the script read and set, and add to where it is a number.
--   local threshold = up.var(100)         an integer, a boolean or a string, as the initial value says
--   local small = up.var(0, "u32")        or as declared, { type = "u32" }: uplua.objects.declared_type
--   threshold:get()  threshold:set(200)  threshold:add(-1)
-- Numbers and booleans are read, replaced and added to at once; a string is not: who reads it meanwhile may see parts
-- of both.
local ffi = require "ffi"
local contract = require "uplua.contract"
local declared_type = require "uplua.objects.declared_type"
local layout = require "uplua.objects.layout"
local map = require "uplua.base.map"
local object = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local printer = require "uplua.objects.printer"

local C = contract.C
local state_of = object.state
local methods = {}

local MOST = contract.MAX_VARIABLE_SIZE -- bytes of a string
local TEXT = 64 -- bytes of a string that is not declared and not longer from the start

-- The layout of a var that begins with VALUE, or nil.
local function layout_of(value)
  if type(value) == "boolean" then return declared_type.layout "bool" end
  if type(value) == "string" then return { kind = "string", size = math.max(TEXT, math.ceil((#value + 1) / 8) * 8) } end
  if ffi.istype("uint64_t", value) then return declared_type.layout "u64" end
  if type(value) == "number" or ffi.istype("int64_t", value) then return declared_type.layout "i64" end
end

local function called(o) return o.name or "var" end

-- Writes VALUE into the state's buffer.
local function encode(o, s, value, level)
  local why = s.codec.encode(s.bytes, value)
  if why then error(("%s: %s"):format(called(o), why), level + 1) end
end

local function set(o, s, value, level)
  encode(o, s, value, level + 1)
  if not s.word then
    s.value = value -- bind writes it
  elseif s.is_text then
    ffi.copy(s.word, s.bytes, s.codec.size)
  else
    C.map_var_set(s.word, s.number[0], s.codec.size)
  end
end

function methods:get()
  local s = state_of(self)
  rawset(self, "read", true)
  if not s.word then return s.value end
  if s.is_text then return s.codec.decode(s.word) end
  s.number[0] = C.map_var_get(s.word, s.codec.size)
  return s.codec.decode(s.bytes)
end

-- A var that the script sets is its own switch, and no result that the end of the run has to print.
function methods:set(value)
  local s = state_of(self)
  rawset(self, "read", true)
  set(self, s, value, 2)
end

-- Wraps at the var's width.
function methods:add(n)
  local s = state_of(self)
  if s.is_text or s.codec.kind == "bool" then
    error(("%s: %s cannot be added to"):format(called(self), s.is_text and "a string" or "a boolean"), 2)
  end
  local why = layout.compile(declared_type.layout "i64").encode(s.addend_bytes, n)
  if why then error(("%s: %s"):format(called(self), why), 2) end
  if s.word then
    C.map_var_add(s.word, s.addend[0], s.codec.size)
  else
    encode(self, s, s.value, 2)
    s.number[0] = s.number[0] + s.addend[0]
    s.value = s.codec.decode(s.bytes)
  end
end

function methods:bind(description)
  local s = state_of(self)
  if s.word and s.fd == description.fd then return end
  local m = map.open(description.fd)
  local first = C.map_var_open(m)
  if first == nil then error(("%s: cannot map its value: %s"):format(called(self), map.reason(-ffi.errno())), 0) end
  local value = s.value
  if s.is_open then s.codec = layout.compile(description.value) end
  s.map, s.fd, s.word = m, description.fd, ffi.cast("uint8_t *", first)
  set(self, s, value, 2)
end

local metatable = {
  __index = methods,
  __newindex = function() error("a var has no fields: use v:set(x)", 2) end,
  __tostring = function(o) return printer.value(o:get()) end,
}

local ZERO = { string = "", bool = false }

-- The layout of the declared type VALUE, or nil and what is wrong with it.
local function check_type(value)
  local of, why = declared_type.layout(value)
  if of and (of.kind == "record" or of.kind == "stack") then return nil, "it holds a number, a boolean or a string" end
  return of, why
end

local OPTIONS = { "type", type = check_type }

return {
  -- var([initial [, type]]): 0, false or "" where there is no initial value.
  var = function(initial, given)
    local value = option_table.read("var", given, OPTIONS).type
    -- It is unsigned where handlers set it to addresses alone.
    local is_open = not value and (initial == nil or type(initial) == "number")
    if value and initial == nil then initial = ZERO[value.kind] end
    value = value or layout_of(initial == nil and 0 or initial)
    if not value then error(("var: it holds a number, a boolean or a string, not a %s"):format(type(initial)), 2) end
    if initial == nil then initial = 0 end
    local size = math.max(8, value.size)
    local s = { codec = layout.compile(value), is_text = value.kind == "string", is_open = is_open, value = initial,
                bytes = ffi.new("uint8_t[?]", size), addend = ffi.new "uint64_t[1]" }
    s.number, s.addend_bytes = ffi.cast("uint64_t *", s.bytes), ffi.cast("uint8_t *", s.addend)
    local why = size > MOST and ("a string has up to %d bytes"):format(MOST - 1) or s.codec.encode(s.bytes, initial)
    if why then error("var: " .. why, 2) end
    return object.new("var", { initial = initial, value = not is_open and value or nil }, metatable, s)
  end,
}
