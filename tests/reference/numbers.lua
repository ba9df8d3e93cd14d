-- The rules of numbers in handlers, as doc/handlers.md has them. A value is tagged by what it is in LuaJIT: a Lua
-- number is a num, int64_t is an i64, uint64_t a u64; LuaJIT's own operators on these are the rule wherever this file
-- says nothing else.
local ffi = require "ffi"

local numbers = {}

local int64, uint64, istype = ffi.typeof "int64_t", ffi.typeof "uint64_t", ffi.istype
local cast = ffi.cast

function numbers.is_u64(v) return istype(uint64, v) end
function numbers.is_number(v) return type(v) == "number" or istype(int64, v) or istype(uint64, v) end

-- V as 64 bits.
function numbers.i64(v) return cast(int64, v) end
local function u64(v) return cast(uint64, istype(uint64, v) and v or cast(int64, v)) end

-- The 64-bit type of an operation on A and B: unsigned where one operand is. What a negative num is then, C leaves open
-- to LuaJIT; here it is the same 64 bits.
function numbers.common(a, b, rules)
  if not istype(uint64, a) and not istype(uint64, b) then return numbers.i64 end
  if (type(a) == "number" and a < 0) or (type(b) == "number" and b < 0) then
    rules.differs "a negative num with a u64"
  end
  return u64
end

local common = numbers.common

-- A num stays an exact integer: beyond 2^53, and where two nums are divided, the rules say nothing (the compiler
-- refuses what it sees of it), so that such a run proves nothing. UNDEFINED is called then, and does not return.
local function exact(result, undefined)
  if result ~= math.floor(result) or math.abs(result) > 2 ^ 53 then undefined "a num that is no exact integer" end
  return result
end

local function arithmetic(operator)
  return function(a, b, rules)
    if type(a) == "number" and type(b) == "number" then return exact(operator(a, b), rules.undefined) end
    local integer = common(a, b, rules)
    return operator(integer(a), integer(b))
  end
end

numbers.add = arithmetic(function(a, b) return a + b end)
numbers.sub = arithmetic(function(a, b) return a - b end)
numbers.mul = arithmetic(function(a, b) return a * b end)
function numbers.neg(a) return -a end

-- Division truncates towards zero; by zero it gives 0, which is counted.
local function division(operator)
  return function(a, b, rules)
    if type(a) == "number" and type(b) == "number" then
      -- Constants fold as Lua folds them. A variable that is an i64 on another way is one here too: the two must agree.
      local as_number, as_integer = exact(operator(a, b), rules.undefined), b ~= 0 and operator(int64(a), int64(b))
      if as_number ~= as_integer then rules.undefined "a division of nums that integers do otherwise" end
      return as_number
    end
    local integer = common(a, b, rules)
    if integer(b) == integer(0) then
      rules.differs "division by zero"
      rules.count "zero"
      return integer(0)
    end
    return operator(integer(a), integer(b))
  end
end

numbers.div = division(function(a, b) return a / b end)
numbers.mod = division(function(a, b) return a % b end)

-- a == b, a < b and a <= b for numbers.
local function comparison(operator)
  return function(a, b, rules)
    if type(a) == "number" and type(b) == "number" then return operator(a, b) end
    local integer = common(a, b, rules)
    return operator(integer(a), integer(b))
  end
end

numbers.equal = comparison(function(a, b) return a == b end)
numbers.less = comparison(function(a, b) return a < b end)
numbers.less_or_equal = comparison(function(a, b) return a <= b end)

-- bit.* works on 64 bits. On nums alone it is LuaJIT's operation on 32, and undefined where 64 bits would give
-- something else. A shift takes the type of what it shifts and 6 bits of the count; a num that is shifted by an integer
-- has 64 bits, in LuaJIT 32.
local function bitwise(name, is_shift)
  local operation = bit[name]
  return function(rules, ...)
    local values, count, nums = {}, select("#", ...), 0
    for i = 1, count do
      local v = select(i, ...)
      if not is_shift then common((...), v, rules) end
      if type(v) == "number" then nums, v = nums + 1, int64(v) end
      values[i] = v
    end
    if is_shift and nums < count and type((...)) == "number" then rules.differs "a num shifted by an integer" end
    if is_shift then values[2] = bit.band(values[2], 63) end
    local result = operation(unpack(values, 1, count))
    if nums < count then return result end
    if operation(...) ~= result then rules.undefined "a bit operation on nums that has more than 32 bits" end
    return operation(...)
  end
end

numbers.bit = {
  band = bitwise "band", bor = bitwise "bor", bxor = bitwise "bxor", bnot = bitwise "bnot",
  lshift = bitwise("lshift", true), rshift = bitwise("rshift", true), arshift = bitwise("arshift", true),
  rol = bitwise("rol", true), ror = bitwise("ror", true), bswap = bitwise "bswap", tobit = bitwise "tobit",
}

-- up.i8 … up.u64: the low bits, with their sign; an i64, but of u64 a u64.
numbers.cast = {}
for bits = 3, 6 do
  for prefix, name in pairs { i = "int", u = "uint" } do
    local box = ffi.typeof(("%s%d_t[1]"):format(name, 2 ^ bits))
    local result = prefix == "u" and bits == 6 and uint64 or int64
    numbers.cast[prefix .. 2 ^ bits] = function(v)
      local kept = box()
      kept[0] = u64(v)
      return cast(result, kept[0])
    end
  end
end

return numbers
