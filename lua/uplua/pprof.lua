-- Counts by stack as a file of pprof's (Profile of its profile.proto, in gzip), which `go tool pprof`, speedscope and
-- others read: with mappings, build ids, lines and inlined functions.
--
--   pprof.write(path, source, [options])   writes the file
--   pprof.data(source, [options])          the same as text of bytes, not compressed
--
-- SOURCE is that of uplua.flame. A tuple's texts and numbers are a label of the sample, "by". OPTIONS: type and unit of
-- the numbers ("samples", "count"); period and period_unit, how much of PERIOD_TYPE a sample stands for; more, a
-- list of { type, unit, numbers }: tables with keys of SOURCE, whose numbers the samples have besides.
--
-- Code in files has no address of a process here: stacks are of places in files (uplua.stack). File number n is mapped
-- at n * 2^40, its beginning first, so that an address less that is the offset in the file.
local bit          = require "bit"
local core         = require "uplua.core"
local contract     = require "uplua.contract"
local ffi          = require "ffi"
local file         = require "uplua.file"
local frame        = require "uplua.stack.frame"
local option_table = require "uplua.base.option_table"
local order        = require "uplua.objects.order"
local stack        = require "uplua.stack.stack"
local text         = require "uplua.base.text"
local tree         = require "uplua.flame.tree"

local pprof = {}

local check_more = option_table.check("a list of { type, unit, numbers }", function(value)
  for _, one in ipairs(type(value) == "table" and value or { false }) do
    if type(one) ~= "table" or type(one.type) ~= "string" or type(one.unit) ~= "string"
      or type(one.numbers) ~= "table" then
      return nil
    end
  end
  return value
end)

local OPTIONS = {
  more = check_more, type = option_table.text, unit = option_table.text, period_type = option_table.text,
  period_unit = option_table.text,
  period = option_table.integer(1, 2 ^ 53),
}

-- The numbers of the fields, and of the ways in which they are written (Protocol Buffers, "Encoding").
local SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRINGS, TIME, PERIOD_TYPE, PERIOD = 1, 2, 3, 4, 5, 6, 9, 11, 12
local VARINT, BYTES = 0, 2

local u64 = ffi.typeof "uint64_t"

local function varint(value)
  local bytes = {}
  if type(value) == "number" and value >= 0 and value < 2 ^ 31 then
    while value >= 128 do
      bytes[#bytes + 1] = string.char(value % 128 + 128)
      value = math.floor(value / 128)
    end
    return table.concat(bytes) .. string.char(value)
  end
  value = type(value) == "number" and ffi.cast(u64, ffi.cast("int64_t", value)) or ffi.cast(u64, value)
  while value >= 128ULL do
    bytes[#bytes + 1] = string.char(tonumber(value % 128ULL) + 128)
    value = bit.rshift(value, 7)
  end
  return table.concat(bytes) .. string.char(tonumber(value))
end

local function number(field, value)
  if value == 0 or value == nil then return "" end -- as one that is not there
  return varint(field * 8 + VARINT) .. varint(value)
end

local function bytes(field, value) return varint(field * 8 + BYTES) .. varint(#value) .. value end

local function packed(field, list)
  local parts = {}
  for i, value in ipairs(list) do parts[i] = varint(value) end
  return bytes(field, table.concat(parts))
end

local Profile = {}
Profile.__index = Profile

local function new_profile()
  local profile = {
    parts = {}, strings = { [""] = 0 }, string_list = { "" }, functions = {}, function_count = 0, locations = {},
    location_count = 0, mappings = {}, mapping_list = {}, known = {},
  }
  return setmetatable(profile, Profile)
end

function Profile:put(part) self.parts[#self.parts + 1] = part end

function Profile:string(s)
  local index = self.strings[s]
  if not index then
    index = #self.string_list
    self.strings[s], self.string_list[index + 1] = index, s
  end
  return index
end

function Profile:value_type(field, kind, unit)
  self:put(bytes(field, number(1, self:string(kind)) .. number(2, self:string(unit))))
end

-- The id of the function NAME in the source file PATH.
function Profile:function_id(name, path)
  local key = name .. "\0" .. path
  local id = self.functions[key]
  if not id then
    id = self.function_count + 1
    self.functions[key], self.function_count = id, id
    local index = self:string(text.escape(name))
    self:put(bytes(FUNCTION, number(1, id) .. number(2, index) .. number(3, index)
      .. number(4, self:string(text.escape(path)))))
  end
  return id
end

-- The mapping at START of the file of PLACE, a list as stack.functions has it.
function Profile:mapping(start, place, module)
  local key = tostring(start)
  local mapping = self.mappings[key]
  if not mapping then
    local word = ffi.cast("const uint64_t *", place.word)[0]
    local in_file = bit.band(word, contract.STACK_IN_FILE) ~= 0 and word < 2ULL ^ 63
    mapping = { id = #self.mapping_list + 1, start = start, last = start, name = module,
                build_id = in_file and frame.symbols():build_id(place.pid, place.word) or nil }
    self.mappings[key], self.mapping_list[mapping.id] = mapping, mapping
  end
  return mapping
end

local SHIFT = 40 -- STACK_FILE_SHIFT of bpf/stack.h
local KERNEL = 2ULL ^ 63

-- The id of the location of PLACE, what is at one address: the inlined functions, then the function proper.
function Profile:location(place)
  local id = self.locations[place]
  if id then return id end
  id = self.location_count + 1
  self.locations[place], self.location_count = id, id
  local word = ffi.cast("const uint64_t *", place.word)[0]
  local address, mapping, last = word, nil, place[#place]
  if word >= KERNEL then
    mapping = self:mapping(KERNEL, place, "[kernel]")
  elseif bit.band(word, contract.STACK_IN_FILE) ~= 0 then
    address = bit.band(word, 2ULL ^ (SHIFT + 16) - 1ULL)
    mapping = self:mapping(bit.lshift(bit.rshift(address, SHIFT), SHIFT), place, last.module or "")
  end
  if place.returns then address = address - 1ULL end -- the call, not what comes behind it
  if mapping and address > mapping.last then mapping.last = address end
  local lines = {}
  for i, one in ipairs(place) do
    local name = frame.function_name(one)
    lines[i] = bytes(4, number(1, self:function_id(name, one.file or "")) .. number(2, one.line or 0))
  end
  self:put(bytes(LOCATION, number(1, id) .. number(2, mapping and mapping.id or 0) .. number(3, address)
    .. table.concat(lines)))
  return id
end

-- The id of a location that is nothing but a NAME.
function Profile:named_location(name)
  local id = self.locations[name]
  if not id then
    id = self.location_count + 1
    self.locations[name], self.location_count = id, id
    self:put(bytes(LOCATION, number(1, id) .. bytes(4, number(1, self:function_id(name, "")))))
  end
  return id
end

-- Appends the locations of the stack S to LIST, the innermost first.
function Profile:add_stack(list, s)
  local places, count, incomplete = stack.functions(s, self.known)
  for i = 1, count do list[#list + 1] = self:location(places[i]) end
  if incomplete then list[#list + 1] = self:named_location(incomplete) end
end

-- Adds a sample of KEY with the numbers VALUES.
function Profile:sample(key, values)
  local locations, labels = {}, {}
  if stack.is(key) then
    self:add_stack(locations, key)
  elseif type(key) == "string" then -- a folded stack
    for name in key:gmatch "[^;]+" do table.insert(locations, 1, self:named_location(name)) end
  else
    local words, stacks = tree.parts_of(key)
    for i = #(stacks or {}), 1, -1 do self:add_stack(locations, stacks[i]) end -- the kernel's lie above the programs'
    for i, word in ipairs(words or { key }) do labels[i] = text.plain(word) end
  end
  local label = labels[1] and bytes(3, number(1, self:string "by")
    .. number(2, self:string(text.escape(table.concat(labels, ", "))))) or ""
  self:put(bytes(SAMPLE, packed(1, locations) .. packed(2, values) .. label))
end

-- The profile of SOURCE as bytes, which pprof takes, too. Raises what is wrong with the arguments.
function pprof.data(source, options)
  order.check("pprof.data", source)
  options = option_table.read("pprof", options, OPTIONS)
  local profile = new_profile()
  profile:value_type(SAMPLE_TYPE, options.type or "samples", options.unit or "count")
  for _, one in ipairs(options.more or {}) do profile:value_type(SAMPLE_TYPE, one.type, one.unit) end
  for key, value in order.entries(source) do
    local values = { value }
    for _, one in ipairs(options.more or {}) do values[#values + 1] = one.numbers[key] or 0 end
    profile:sample(key, values)
  end
  for id, mapping in ipairs(profile.mapping_list) do
    profile:put(bytes(MAPPING, number(1, id) .. number(2, mapping.start) .. number(3, mapping.last + 1ULL)
      .. number(5, profile:string(text.escape(mapping.name))) .. number(6, profile:string(mapping.build_id or ""))
      .. number(7, 1) .. number(8, 1) .. number(9, 1) .. number(10, 1)))
  end
  profile:put(number(TIME, os.time() * 1000000000LL))
  if options.period then
    profile:value_type(PERIOD_TYPE, options.period_type or "cpu", options.period_unit or "nanoseconds")
    profile:put(number(PERIOD, options.period))
  end
  for _, s in ipairs(profile.string_list) do profile:put(bytes(STRINGS, s)) end
  return table.concat(profile.parts)
end

-- Writes the profile of SOURCE to the file PATH. Raises why it cannot.
function pprof.write(path, source, options)
  if type(path) ~= "string" then error("pprof: the first argument is the file's path, a text", 2) end
  order.check("pprof.write", source)
  local written, why = file.write(path, core.gzip.compress(pprof.data(source, options)))
  if not written then error("pprof: cannot write " .. why, 2) end
end

return pprof
