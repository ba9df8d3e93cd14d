-- var: one value that handlers and the script read, set and add to, atomically.
--   local threshold = up.var(100)
--   threshold:get()  threshold:set(200)  threshold:add(-1)
local ffi = require "ffi"
local layout = require "uplua.layout"
local map = require "uplua.map"
local object = require "uplua.object"
local show = require "uplua.show"

ffi.cdef [[
int64_t *map_var_open(const struct map *map);
int64_t map_var_get(const int64_t *word);
void map_var_set(int64_t *word, int64_t value);
int64_t map_var_add(int64_t *word, int64_t value);
]]

local C = ffi.C
local state_of = object.state
local methods = {}
local word = ffi.new("int64_t[1]")
local bytes = ffi.cast("uint8_t *", word)

local function check(value, level)
  local kind = type(value)
  if kind == "boolean" or (kind == "number" and value == math.floor(value) and math.abs(value) < 2 ^ 63) or
     ffi.istype("int64_t", value) or ffi.istype("uint64_t", value) then
    return value
  end
  error(("var: it holds an integer or a boolean, not %s"):format(kind == "number" and tostring(value) or "a " .. kind), level + 1)
end

local function set(o, s, value, level)
  check(value, level + 1)
  if not s.word then
    s.value = value -- bind writes it
    return
  end
  local why = s.codec.encode(bytes, value)
  if why then error(("%s: %s"):format(o.name or "var", why), level + 1) end
  C.map_var_set(s.word, word[0])
end

function methods:get()
  local s = state_of(self)
  rawset(self, "read", true)
  if not s.word then return s.value end
  word[0] = C.map_var_get(s.word)
  return s.codec.decode(bytes)
end

-- A var that the script sets is its own switch, and no result that the end of the run has to print.
function methods:set(value)
  local s = state_of(self)
  rawset(self, "read", true)
  set(self, s, value, 2)
end

function methods:add(n)
  local s = state_of(self)
  check(n, 2)
  if type(n) == "boolean" then error("var: a boolean cannot be added", 2) end
  if s.word then
    C.map_var_add(s.word, type(n) == "number" and ffi.cast("int64_t", n) or n)
  else
    set(self, s, s.value + n, 2)
  end
end

function methods:bind(description)
  local s = state_of(self)
  if s.word and s.fd == description.fd then return end
  local m = map.open(description.fd)
  local first = C.map_var_open(m)
  if first == nil then
    error(("%s: cannot map its value: %s"):format(self.name or "var", map.reason(-ffi.errno())), 0)
  end
  s.map, s.fd, s.word, s.codec = m, description.fd, first, layout.compile(description.value or { kind = "i64", size = 8 })
  set(self, s, s.value, 2)
end

local metatable = {
  __index = methods,
  __newindex = function() error("a var has no fields: use v:set(x)", 2) end,
  __tostring = function(o) return show.value(o:get()) end,
}

return {
  var = function(initial)
    if initial == nil then initial = 0 end
    check(initial, 2)
    return object.new("var", { initial = initial }, metatable, { value = initial })
  end,
}
