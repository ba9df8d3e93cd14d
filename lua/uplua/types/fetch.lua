-- What a handler takes of values whose types are known, so that they can be shown as they were at the hit: lines of the
-- handler's source, fields of the record that it emits, and for each value a function that makes it of the record.
--
--   local taking = fetch.new()
--   local show = taking:pointer(type, "e.args.request", 1)   -- what it leads to, and so many pointers from there
--   local source = "return function(e)\n" .. taking:source() .. "ring:emit { " .. taking:fields() .. " } end"
--   local plain, shown = show(record)
--
-- Pointers may lie, and lead to each other in circles: what is taken is bounded, by depth, number and bytes.
local containers = require "uplua.types.containers"
local decode     = require "uplua.types.decode"
local describe   = require "uplua.types.describe"
local scalars    = require "uplua.types.scalars"
local special    = require "uplua.types.special"

local fetch = {}

local STRINGS = 128      -- bytes of a text, with its NUL
local OBJECT = 512       -- bytes of a struct or an array
local MOST_READS = 24    -- of a handler
local MOST_BYTES = 6144  -- that a record has room for besides
local DEEPEST = 4        -- structs in structs in which pointers are looked for

local methods = {}
methods.__index = methods

-- What a handler takes; KERNEL: of the kernel's memory.
function fetch.new(kernel)
  return setmetatable({ lines = {}, names = {}, count = 0, bytes = 0, kernel = kernel }, methods)
end

function methods:source() return table.concat(self.lines, "\n") end
function methods:fields() return table.concat(self.names, ", ") end

function methods:add(format, ...) self.lines[#self.lines + 1] = format:format(...) end

-- A new name, for a local variable.
function methods:name(letter)
  self.count = self.count + 1
  return letter .. self.count
end

-- A new name for what the record has of the local variable of that name, BYTES at most; nil: there is no room.
function methods:field(letter, bytes)
  if #self.names >= MOST_READS or self.bytes + bytes > MOST_BYTES then return nil end
  self.bytes = self.bytes + bytes
  local name = self:name(letter)
  self.names[#self.names + 1] = ("%s = %s"):format(name, name)
  return name
end

-- A word of a place, AT so many bytes of it, in the local variable NAME. A place is { word = a function of an offset,
-- which returns its source, of = the local variable that has the address, or nil }.
function methods:load(name, place, at)
  if not place.of then return self:add("local %s = %s", name, place.word(at)) end
  self:add("local %s; if %s ~= nil and %s ~= 0 then %s = %s end", name, place.of, place.of, name, place.word(at))
end

-- The place BASE bytes into PLACE.
local function inner(place, base)
  return { of = place.of, word = function(at) return place.word(base + at) end }
end

-- The functions that read: of the program's memory or the kernel's.
function methods:reader(what)
  if not self.kernel then return "up." .. what end
  return what == "str" and "up.kstr" or what == "buf" and "up.kbuf"
end

-- --- what a pointer leads to ---

local function unreadable(address) return address, scalars.address(address) .. " (not readable)" end

-- FIELD of the record becomes what is shown by SHOW(bytes, record); ADDRESS(record) is where it was.
local function shower(field, address, show)
  return function(record)
    local taken, at = record[field], address(record)
    if at == 0 or at == nil then return 0, "NULL" end
    if taken == nil then return unreadable(at) end
    return show(taken, at, record)
  end
end

-- The text at the address that the local variable AT holds.
function methods:text(at, address)
  local field = self:field("m", STRINGS)
  if not field then return nil end
  self:add("local %s; if %s ~= nil and %s ~= 0 then %s = %s(%s, %d) end", field, at, at, field, self:reader "str", at,
    STRINGS)
  return shower(field, address, function(taken) return taken, decode.quoted(taken) end)
end

-- What the container CONTAINER, which is at PLACE, has elsewhere.
function methods:contained(container, place)
  local size = container.text and 1 or container.element.size
  local most = math.floor((container.text and STRINGS - 1 or OBJECT) / size)
  most = math.min(container.text and most or decode.ELEMENTS, most)
  if most < 1 then return nil end
  local field, length, first = self:field("m", most * size), self:field("n", 8), self:field("q", 8)
  if not (field and length and first) then return nil end
  self:load(first, place, container.pointer)
  self:load(length, place, container.length or container.last)
  if container.last then -- where it ends, and not how much there is
    self:add("if %s ~= nil and %s ~= nil then %s = %s - %s else %s = nil end", length, first, length, length, first,
      length)
  end
  local unit = container.last and 1 or size
  self:add("local %s", field)
  self:add("if %s ~= nil and %s ~= nil and %s ~= 0 then", first, length, length)
  self:add("  if %s > %d then %s = %s(%s, %d) else %s = %s(%s, %s * %d, %d) end", length, most * size / unit, field,
    self:reader "buf", first, most * size, field, self:reader "buf", first, length, unit, most * size)
  self:add("end")
  return function(record)
    local address, count, taken = record[first], record[length], record[field]
    if address == nil or count == nil then return nil, "(not readable)" end
    if container.last then count = math.floor(tonumber(count) / size) end
    if count == 0 then return container.text and "" or {}, container.text and '""' or "[]" end
    if taken == nil then return unreadable(address) end
    local bytes = taken:bytes()
    if container.text then return decode.counted_text(bytes, count) end
    return decode.counted_list(container.element, bytes, count)
  end
end

-- What a struct sockaddr at AT is: of the family's length, or as much as can be read.
function methods:sockaddr(type, at, address)
  local long, short, path = self:field("m", special.SOCKADDR), self:field("m", type.size), self:field("m", STRINGS)
  if not (long and short and path) then return nil end
  self:add("local %s, %s, %s", long, short, path)
  self:add("if %s ~= nil and %s ~= 0 then", at, at)
  self:add("  if up.read_u16(%s) == %d then %s = up.str(%s + 2, 108)", at, special.UNIX, path, at)
  self:add("  else %s = up.buf(%s, %d) if %s == nil then %s = up.buf(%s, %d) end end", long, at, special.SOCKADDR, long,
    short, at, type.size)
  self:add("end")
  return function(record)
    local where = address(record)
    local text_of, taken = record[path], record[long] or record[short]
    if text_of == nil and taken == nil then return unreadable(where) end
    local known = special.sockaddr(text_of and "\1\0" .. text_of or taken:bytes())
    if known then return known, known end
    return decode.value(type, taken:bytes())
  end
end

-- What the value of TYPE at the address that AT holds is, and what pointers in it lead to, DEPTH of them one behind
-- another.
function methods:object(type, at, address, depth)
  if special.is_sockaddr(type) and not self.kernel then return self:sockaddr(type, at, address) end
  local place = { of = at, word = function(offset) return ("up.read_u64(%s + %d)"):format(at, offset) end }
  local container = not self.kernel and containers.of(type)
  if container then
    local show = self:contained(container, place)
    return show and function(record)
      if (address(record) or 0) == 0 then return 0, "NULL" end
      return show(record)
    end
  end
  local size = math.min(type.size, OBJECT)
  local field = self:field("m", size)
  if not field then return nil end
  self:add("local %s; if %s ~= nil and %s ~= 0 then %s = %s(%s, %d) end", field, at, at, field, self:reader "buf", at,
    size)
  local targets = {}
  if not self.kernel then self:inside(type, place, 0, targets, depth, 1) end
  return shower(field, address, function(taken, where, record)
    local follow = {}
    for offset, show in pairs(targets) do follow[offset] = function() return show(record) end end
    local plain, shown = decode.value(type, taken:bytes(), follow)
    return plain, decode.behind(scalars.address(where) .. (type.kind == "struct" and " " or " → "), shown)
  end)
end

-- Has TARGETS show what pointers and containers in the struct TYPE, which begins BASE bytes into PLACE, lead to. Which
-- of a union's members counts nobody knows.
function methods:inside(type, place, base, targets, depth, deep)
  if type.kind ~= "struct" or type.union or deep > DEEPEST then return end
  for _, field in ipairs(type.fields or {}) do
    local of_field, offset = describe.of_field(type, field), base + field.offset
    local container = of_field and containers.of(of_field)
    if container then
      targets[offset] = self:contained(container, inner(place, offset))
    elseif of_field and of_field.kind == "struct" then
      self:inside(of_field, place, offset, targets, depth, deep + 1)
    elseif of_field and of_field.kind == "pointer" and offset + 8 <= OBJECT then
      targets[offset] = self:word(of_field, inner(place, offset), depth)
    end
  end
end

-- What a pointer of TYPE, which is at PLACE, leads to, as it is shown in a struct; nil: no more than its address.
function methods:word(type, place, depth)
  local element = describe.element(type)
  local is_text = describe.is_char(element)
  if not element or not (is_text or depth > 0 and self:has_value(element)) then return nil end
  if not is_text and self.most == depth and depth < 2 and element.size > OBJECT then return nil end -- too much to read
  local at = self:field("q", 8)
  if not at then return nil end
  self:load(at, place, 0)
  local function address(record) return record[at] end
  if describe.is_char(element) then return self:text(at, address) end
  return self:object(element, at, address, depth - 1)
end

-- Whether what lies at a pointer's end is worth looking at: bytes alone, such as a buffer's, are not.
function methods:has_value(type)
  return (type.size or 0) > 1 and type.kind ~= "void" and type.kind ~= "other" or type.kind == "boolean"
end

-- pointer(type, source, depth): how what SOURCE, an expression of the handler's, leads to is shown, a function of the
-- record; TYPE is the pointer's. DEPTH: so many pointers from there; 0: text alone. nil: there is no more to show than
-- the address.
function methods:pointer(type, source, depth)
  self.most = depth
  if self.kernel and depth > 0 then depth = 1 end
  return self:word(type, { word = function() return ("up.u64(%s)"):format(source) end }, depth)
end

-- at(type, source, depth): the same of the value of TYPE that lies at the address that SOURCE is.
function methods:at(type, source, depth)
  local at = self:field("q", 8)
  if not at then return nil end
  self:add("local %s = %s", at, source)
  return self:object(type, at, function(record) return record[at] end, depth)
end

-- referred(type, source, length, depth): the same of what Fortran passes by reference, shown without its address.
-- LENGTH: of a text whose type has no length, the source of that. nil: nobody knows how much there is.
function methods:referred(type, source, length, depth)
  if type.kind == "text" and length then return self:counted_text(source, length) end
  if type.kind == "text" and type.size > OBJECT or (type.size or 0) == 0 then return nil end
  local at, field = self:field("q", 8), self:field("m", math.min(type.size, OBJECT))
  if not at or not field then return nil end
  local size, targets = math.min(type.size, OBJECT), {}
  self:add("local %s = %s", at, source)
  self:add("local %s; if %s ~= 0 then %s = %s(%s, %d) end", field, at, field, self:reader "buf", at, size)
  local place = { of = at, word = function(offset) return ("up.read_u64(%s + %d)"):format(at, offset) end }
  self:inside(type, place, 0, targets, depth, 1)
  return shower(field, function(record) return record[at] end, function(taken, _, record)
    local follow = {}
    for offset, show in pairs(targets) do follow[offset] = function() return show(record) end end
    return decode.value(type, taken:bytes(), follow)
  end)
end

-- The text at the address that SOURCE is, of LENGTH bytes, the source of a number.
function methods:counted_text(source, length)
  local at, count, field = self:field("q", 8), self:field("n", 8), self:field("m", STRINGS - 1)
  if not (at and count and field) then return nil end
  self:add("local %s, %s = %s, %s", at, count, source, length)
  self:add("local %s", field)
  self:add("if %s ~= nil and %s ~= 0 and %s > 0 then", count, at, count)
  self:add("  if %s > %d then %s = up.buf(%s, %d) else %s = up.buf(%s, %s, %d) end", count, STRINGS - 1, field, at,
    STRINGS - 1, field, at, count, STRINGS - 1)
  self:add("end")
  return function(record)
    local address, bytes, taken = record[at], record[count], record[field]
    if address == 0 then return 0, "NULL" end
    if bytes == nil then return nil, "?" end
    if bytes <= 0 then return "", '""' end
    if taken == nil then return unreadable(address) end
    return decode.counted_text(taken:bytes(), bytes)
  end
end

-- words(type, first, depth): the same of a struct of TYPE that is passed in the arguments from e.arg FIRST on.
function methods:words(type, first, depth)
  local names = {}
  for i = 0, math.ceil(type.size / 8) - 1 do
    local name = self:field("w", 8)
    if not name then return nil end
    self:add("local %s = e.arg%d", name, first + i)
    names[i] = name
  end
  local place = { word = function(offset) return names[offset / 8] or "nil" end }
  local targets, container = {}, containers.of(type)
  local whole = container and self:contained(container, place)
  if whole then return whole end
  self:inside(type, place, 0, targets, depth, 1)
  return function(record)
    local follow = {}
    for offset, show in pairs(targets) do follow[offset] = function() return show(record) end end
    return decode.value(type, scalars.bytes(record, names, type.size), follow)
  end
end

return fetch
