-- The order of keys, and iteration in an order.
local ffi = require "ffi"
local record = require "uplua.objects.record"

local order = {}

local int64, uint64, istype = ffi.typeof("int64_t"), ffi.typeof("uint64_t"), ffi.istype

local RANK = { boolean = 1, number = 2, string = 3, tuple = 4 }

local function rank(v)
  local kind = type(v)
  if kind == "cdata" then
    if istype(int64, v) or istype(uint64, v) then return RANK.number end
    return RANK.tuple
  end
  return RANK[kind] or 5
end

-- True for a number that no 64-bit integer holds.
local function is_huge(x) return type(x) == "number" and math.abs(x) >= 2 ^ 63 end

local function less_number(a, b)
  if is_huge(a) or is_huge(b) then return tonumber(a) < tonumber(b) end
  local signed_a, signed_b = istype(int64, a), istype(int64, b)
  -- int64_t against uint64_t compares as unsigned, which would put -1 last.
  if type(a) == "cdata" and type(b) == "cdata" and signed_a ~= signed_b then
    if signed_a and a < 0LL then return true end
    if signed_b and b < 0LL then return false end
  elseif type(a) == "number" and istype(uint64, b) then
    if a < 0 then return true end
  elseif type(b) == "number" and istype(uint64, a) then
    if b < 0 then return false end
  end
  return a < b
end

-- true where key A stands before key B: booleans, numbers, strings, then tuples and records by their fields, then the
-- rest.
function order.less(a, b)
  local ra, rb = rank(a), rank(b)
  if ra ~= rb then return ra < rb end
  if ra == RANK.number then return less_number(a, b) end
  if ra == RANK.string then return a < b end
  if ra == RANK.boolean then return not a and b end
  if ra == RANK.tuple then
    for _, name in ipairs(record.names(a)) do
      local x, y = a[name], b[name]
      if x == nil or y == nil then
        if x ~= nil or y ~= nil then return x == nil end
      elseif order.less(x, y) then
        return true
      elseif order.less(y, x) then
        return false
      end
    end
    return false
  end
  return tostring(a) < tostring(b)
end

-- Sorts lists KEYS and VALUES together by LESS on values (equal ones by key), or by key where LESS is nil.
function order.sort(keys, values, less)
  local index = {}
  for i = 1, #keys do index[i] = i end
  local key_less = order.less
  table.sort(index, less and function(i, j)
    local a, b = values[i], values[j]
    if less(a, b) then return true end
    if less(b, a) then return false end
    return key_less(keys[i], keys[j])
  end or function(i, j) return key_less(keys[i], keys[j]) end)
  local sorted_keys, sorted_values = {}, {}
  for at, i in ipairs(index) do sorted_keys[at], sorted_values[at] = keys[i], values[i] end
  return sorted_keys, sorted_values
end

local iterators = setmetatable({}, { __mode = "k" }) -- function → what it iterates over

-- An iterator over the first N of lists KEYS and VALUES; UNIT: of these, where they are numbers.
function order.each(keys, values, n, unit)
  local i = 0
  n = math.min(n or #keys, #keys)
  local function each()
    i = i + 1
    if i <= n then return keys[i], values[i] end
  end
  iterators[each] = { keys, values, n, unit }
  return each
end

-- What FN, one of these iterators, goes over: lists of keys and values, and their unit; nil where it is none. For the
-- prompt, at which one types n:top(5).
function order.listed(fn)
  local of = iterators[fn]
  if not of then return nil end
  local keys, values = {}, {}
  for i = 1, of[3] do keys[i], values[i] = of[1][i], of[2][i] end
  return keys, values, of[4]
end

-- Raises, at the line of who called WHO, that T is neither a table nor a shared object.
function order.check(who, t)
  if type(t) ~= "table" then error(("%s: a table or a shared object is expected, not a %s"):format(who, type(t)), 3) end
end

-- Iterates over T, a table or a shared object.
function order.entries(t)
  if getmetatable(t) and t.pairs then return t:pairs() end
  return pairs(t)
end

-- for k, v in sorted(t, function(x, y) return x.bytes > y.bytes end): T's entries in the order of LESS on their values,
-- or of their keys. T is a table or a shared object.
function order.sorted(t, less)
  order.check("sorted", t)
  if less ~= nil and type(less) ~= "function" then
    error("sorted: the second argument is a function that compares two values, not a " .. type(less), 2)
  end
  local keys, values = {}, {}
  for k, v in order.entries(t) do keys[#keys + 1], values[#values + 1] = k, v end
  return order.each(order.sort(keys, values, less))
end

-- The weight of the entry KEY, VALUE by BY: nil for values that are numbers, a field's name, or a function of value and
-- key. An error is raised at the caller's caller's caller, which is who wrote `m:top(n, by)`.
local function weight_of(key, value, by)
  local weight
  if by == nil then
    weight = value
  elseif type(by) == "function" then
    weight = by(value, key)
  elseif type(value) == "table" or record.is(value) then
    weight = value[by]
  end
  if type(weight) == "number" or istype(int64, weight) or istype(uint64, weight) then return weight end
  if by == nil then error("top: say by which field, as in m:top(10, \"bytes\")", 4) end
  if type(by) == "function" then error("top: the function returned no number", 4) end
  error(("top: '%s' is not a number in every value"):format(tostring(by)), 4)
end

local SELECT = 1000 -- up to here, a place among the best is searched for each entry instead of sorting all of them

-- The N largest of the entries that an iterator gives, as lists of keys and values: all, where N is nil.
function order.top(n, by, next_entry, state, control)
  if n ~= nil and (type(n) ~= "number" or n < 0) then error("top: say how many, as in m:top(10)", 3) end
  local keys, values, weights, index = {}, {}, {}, {}
  local function before(i, j)
    local a, b = weights[i], weights[j]
    if less_number(b, a) then return true end
    if less_number(a, b) then return false end
    return order.less(keys[i], keys[j])
  end
  if n and n <= SELECT then
    local last = n + 1 -- the entry under consideration
    for key, value in next_entry, state, control do
      local weight = weight_of(key, value, by)
      if #index < n or (n > 0 and not less_number(weight, weights[index[n]])) then
        local slot = #index < n and #index + 1 or last
        keys[slot], values[slot], weights[slot] = key, value, weight
        if slot == last then
          if before(slot, index[n]) then
            slot, last = last, table.remove(index)
          else
            slot = nil
          end
        end
        if slot then
          local at = #index + 1
          while at > 1 and before(slot, index[at - 1]) do at = at - 1 end
          table.insert(index, at, slot)
        end
      end
    end
  else
    for key, value in next_entry, state, control do
      local i = #keys + 1
      keys[i], values[i], weights[i], index[i] = key, value, weight_of(key, value, by), i
    end
    table.sort(index, before)
  end
  local sorted_keys, sorted_values = {}, {}
  for at = 1, math.min(n or #index, #index) do
    sorted_keys[at], sorted_values[at] = keys[index[at]], values[index[at]]
  end
  return sorted_keys, sorted_values
end

return order
