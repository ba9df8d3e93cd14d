-- What scripts read and print as plain data: texts, numbers, booleans, and tables of them, as JSON can hold it. A stack
-- becomes the list of its frames, a tuple a list, a record a table by names, a histogram its counts and its buckets.
local ffi       = require "ffi"
local aggregate = require "uplua.objects.aggregate"
local object    = require "uplua.objects.object"
local order     = require "uplua.objects.order"
local printer   = require "uplua.objects.printer"
local record    = require "uplua.objects.record"
local snapshot  = require "uplua.objects.snapshot"
local text      = require "uplua.base.text"

local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

local data = {}

-- A number that JSON has, or its text.
local function number(n)
  if n ~= n or n == math.huge or n == -math.huge then return tostring(n) end
  return n
end

-- The frames of the stack S.
local function frames(s)
  local list = {}
  for i, frame in ipairs(s:frames()) do
    list[i] = {
      symbol = frame.symbol, offset = frame.offset, module = frame.module, kernel = frame.kernel, file = frame.file,
      line = frame.line, inlined = frame.inlined,
    }
  end
  return list
end

-- The distribution D, of hist, lhist, hdr or stats; of a histogram with its buckets, without the ends that have none.
local function distribution(d)
  local plain = {
    count = d.count, sum = data.of(d.sum), avg = d.avg, min = data.of(d.min), max = data.of(d.max), unit = d.unit,
  }
  if not d.scheme then return plain end
  plain.buckets = {}
  for i, bucket in ipairs(d:buckets()) do
    plain.buckets[i] = {
      low = bucket.low > -math.huge and bucket.low or nil, high = bucket.high < math.huge and bucket.high or nil,
      count = bucket.count,
    }
  end
  return plain
end

local function is_stack(value)
  local stack = package.loaded["uplua.stack.stack"]
  return stack and stack.is(value)
end

-- True for integers of 64 bits.
function data.is_integer(value) return ffi.istype(int64, value) or ffi.istype(uint64, value) end

local DEEPEST = 16 -- tables in tables

-- VALUE as plain data; what is none of the above as its text.
function data.of(value, depth)
  local kind = type(value)
  depth = depth or 1
  if kind == "number" then return number(value) end
  if kind == "string" or kind == "boolean" or kind == "nil" then return value end
  if kind == "cdata" and data.is_integer(value) then return value end
  if is_stack(value) then return frames(value) end
  if record.is(value) then
    local plain = {}
    for _, name in ipairs(record.names(value)) do plain[name] = data.of(value[name], depth + 1) end
    return plain
  end
  if kind ~= "table" or depth > DEEPEST then return tostring(value) end
  local meta = getmetatable(value)
  if meta and rawget(value, "count") and rawget(value, "sum") then return distribution(value) end
  if meta and meta.__tostring then return tostring(value) end
  local plain = {}
  for key, element in pairs(value) do
    plain[type(key) == "number" and key or tostring(key)] = data.of(element, depth + 1)
  end
  return plain
end

-- VALUE as a text of one line, for a cell; a number with all its digits.
function data.plain(value)
  if type(value) == "number" then
    if value % 1 == 0 and math.abs(value) < 2 ^ 63 then return text.integer(value) end
    local short = ("%.15g"):format(value) -- 0.2, and not 0.20000000000000001
    return tonumber(short) == value and short or ("%.17g"):format(value)
  end
  if type(value) == "table" and rawget(value, "scheme") then return tostring(value.count) end
  return record.line(value)
end

-- True for what data.entries takes: shared objects that the script reads, and snapshots of them.
function data.is_object(value)
  if snapshot.is(value) then return true end
  return object.is(value) and value.kind ~= "ring" and value.kind ~= "recorder" and value.kind ~= "output"
end

-- True where the shared object O has keys, as far as that is known: what no handler uses has none.
function data.is_keyed(o)
  local state = object.state(o)
  return o.kind ~= "var" and (state.key ~= nil or not state.operations)
end

-- What O keeps under no key: { value }; nil where it has keys.
local function single(o)
  if snapshot.is(o) then return not snapshot.is_keyed(o) and { o:get() } or nil end
  local state = object.state(o)
  if o.kind == "var" or state.operations and state.map and not state.key then return { o:get() } end
end

-- The kind of the shared object or snapshot O, and the list of its entries, { key =, value = } each: those of
-- aggregations and snapshots the largest first, those of maps by their keys. What is kept under no key is an entry
-- without one; what no handler uses has none.
function data.entries(o)
  local list, of_snapshot = {}, snapshot.is(o)
  local kind, alone = of_snapshot and "snapshot" or o.kind, single(o)
  if alone then return kind, { { value = alone[1] } } end
  local operations = not of_snapshot and object.state(o).operations
  if operations and not object.state(o).map then return kind, list end
  local ordered = of_snapshot or operations
  local next_entry, state, first = o:pairs()
  if ordered then next_entry, state, first = o:top() end
  for key, value in next_entry, state, first do list[#list + 1] = { key = key, value = value } end
  local rest = operations and aggregate.rest(o)
  if rest then list[#list + 1] = { key = printer.OTHERS, value = rest } end
  if not ordered then table.sort(list, function(a, b) return order.less(a.key, b.key) end) end
  return kind, list
end

return data
