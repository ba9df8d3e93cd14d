-- Random expressions for generate.lua: source text of one type each. SCOPE says what can be named there, DEPTH how deep
-- the expression may go.
local random = math.random
local function chance(p) return random() < p end
local function pick(list) return list[random(#list)] end

-- Calls one of the functions of CHOICES, { weight, function } each.
local function choose(choices, ...)
  local total = 0
  for _, choice in ipairs(choices) do total = total + choice[1] end
  local at = random() * total
  for _, choice in ipairs(choices) do
    at = at - choice[1]
    if at < 0 then return choice[2](...) end
  end
  return choices[#choices][2](...)
end

local MEMORY = 0x30000000 -- world.memory

local INTEGERS = { "0LL", "1LL", "-1LL", "2LL", "3LL", "7LL", "-13LL", "63LL", "64LL", "255LL", "65536LL",
  "2147483647LL", "-2147483648LL", "4294967296LL", "0x123456789abcdefLL", "0x4000000000000000LL",
    "-0x4000000000000001LL", "9223372036854775807LL", "(-9223372036854775807LL - 1LL)" }
local UNSIGNED = { "0ULL", "1ULL", "5ULL", "255ULL", "4294967295ULL", "0x4000000000000000ULL", "0x7fffffffffffffffULL",
  "0x8000000000000000ULL", "0xfffffffffffffff0ULL", "0xffffffffffffffffULL" }
local NUMS = { "0", "1", "2", "3", "5", "-1", "-7", "10", "64", "100", "1000", "-65536" }
local STRINGS = { '""', '"a"', '"b"', '"uplua"', '"uplu"', '"two"', '"a text of 24 characters."', '"uplua "' }
local CASTS = { "i8", "i16", "i32", "i64", "u8", "u16", "u32" }

local expr = {}

local function variable(scope, type)
  local found = {}
  for _, var in ipairs(scope.vars) do
    if var.type == type then found[#found + 1] = var.name end
  end
  if #found > 0 then return pick(found) end
end

-- A small integer: keys that meet again.
local function small(scope, depth)
  return ("bit.band(%s, %d)"):format(expr.i64(scope, depth - 1), pick { 1, 3, 7 })
end

local function key(scope, depth)
  if chance(0.3) then return pick { "1", "2", "0", "-1", "1LL" } end
  return chance(0.7) and small(scope, depth) or expr.i64(scope, depth - 1)
end

local function tuple(scope, depth)
  return ("{ %s, %s }"):format(key(scope, depth), expr.str(scope, depth - 1))
end

local function binary(type, operators)
  return function(scope, depth)
    return ("(%s %s %s)"):format(expr[type](scope, depth - 1), pick(operators), expr[type](scope, depth - 1))
  end
end

local function mixed(scope, depth)
  return expr[pick { "i64", "i64", "num" }](scope, depth)
end

-- What may be nil, where the size leads out of the memory or is negative.
local function buffer(scope, depth)
  local address = ("%d + %s"):format(MEMORY, small(scope, depth))
  local size = pick { small(scope, depth), small(scope, depth), "0", "24", "900", "vi:get()", "w:get()", "vu:get()" }
  return ("up.buf(%s, %s%s)"):format(address, size, pick { "", "", ", 8", ", 13", ", 100" })
end

-- What is looked for in strings.
local BYTES = { "'J'", "'o\\148'", "'\\1', 3", "'\\185\\222\\8', 1, true" }
local SOUGHT = { "'u'", "'plu'", "'a', 2", "'te', 3, false", "'.', 1, true", "'a text beyond'", "'uplua', nil, true",
  "'sixteen bytes'", "'x', 70", "'e'" }

function expr.num(scope, depth)
  if depth <= 0 then return variable(scope, "num") or pick(NUMS) end
  return choose({
    { 4, function() return pick(NUMS) end },
    { 4, function() return variable(scope, "num") or pick(NUMS) end },
    { 2, function() return ("(%s %s %s)"):format(expr.num(scope, 0), pick { "+", "-" }, expr.num(scope, 0)) end },
    { 1, function() return ("(%s * %s)"):format(pick(NUMS), expr.num(scope, 0)) end },
    { 1, function() return ("(- %s)"):format(variable(scope, "num") or "3") end },
    { 1, function()
      return pick { "(12 / 4)", "(-7 % 3)", "(7 % -3)", "(2 ^ 10)", "bit.band(13, 7)", "bit.lshift(3, 4)" }
    end },
    { 1, function() return "#" .. (variable(scope, "str") or pick(STRINGS)) end },
    { 1, function() return ("((%s):find(%s) or %s)"):format(expr.str(scope, 0), pick(SOUGHT), pick(NUMS)) end },
    { 1, function() return ("(%s %% %s)"):format(variable(scope, "nat") or "7", pick { "3", "2", "10", "1" }) end },
    { 0.5, function() return "#" .. buffer(scope, 0) end },
    { 0.5, function() return ("(%s:find(%s) or %s)"):format(buffer(scope, 0), pick(BYTES), pick(NUMS)) end },
    { 0.5, function()
      return ("((#%s + %s) %% 5)"):format(variable(scope, "str") or pick(STRINGS), pick { "3", "0" })
    end },
  })
end

local function leaf(scope)
  return choose {
    { 3, function() return pick(INTEGERS) end },
    { 5, function() return variable(scope, "i64") or pick(INTEGERS) end },
    { 5, function() return scope.event and ("%s.arg%d"):format(scope.event, random(0, 11)) or pick(INTEGERS) end },
    { 1, function() return pick { "v:get()", "w:get()", "vn:get()", "vi:get()" } end },
  }
end

local function field(scope, name)
  local record = variable(scope, "rec")
  return record and ("%s.%s"):format(record, name)
end

-- What may be nil, an error where it is then.
local function risky(scope, depth)
  return pick { "mi[%s]", "mi[%s]", "full[%s]", "per[%s]" }:format(key(scope, depth))
end

-- What may be nil, or an integer.
function expr.opt(scope, depth)
  return choose({
    { 4, function() return ("mi[%s]"):format(key(scope, depth)) end },
    { 1, function() return ("ms[%s]"):format(expr.str(scope, depth - 1)) end },
    { 1, function() return ("mt[%s]"):format(tuple(scope, depth)) end },
    { 1, function() return ("full[%s]"):format(key(scope, depth)) end },
    { 1, function() return ("per[%s]"):format(key(scope, depth)) end },
    { 3, function() return variable(scope, "opt") or "mi[2]" end },
    { 2, function() return field(scope, "o") or "mi[1]" end },
    { 1, function()
      return ("up.read_%s(%d + %s)"):format(pick { "i8", "u8", "i16", "u16", "i32", "u32", "i64" }, MEMORY,
        small(scope, depth))
    end },
    { 0.3, function() return ("up.read_u8(%s)"):format(expr.i64(scope, depth - 1)) end },
  })
end

function expr.i64(scope, depth)
  if depth <= 0 then return leaf(scope) end
  return choose {
    { 4, function() return leaf(scope) end },
    { 7, function() return binary("i64", { "+", "-", "*" })(scope, depth) end },
    { 2, function()
      return ("(%s %s %s)"):format(expr.i64(scope, depth - 1), pick { "+", "-", "*" }, expr.num(scope, 1))
    end },
    { 1, function()
      return ("(%s %s %s)"):format(expr.num(scope, 1), pick { "+", "-", "*" }, expr.i64(scope, depth - 1))
    end },
    { 2, function() return binary("i64", { "/", "%" })(scope, depth) end },
    { 2, function()
      return ("(%s %s %s)"):format(expr.i64(scope, depth - 1), pick { "/", "%" },
        pick { "3", "7LL", "-5", "-1LL", "1", "1024", "100LL" })
    end },
    { 1, function() return ("(- %s)"):format(expr.i64(scope, depth - 1)) end },
    { 2, function()
      return ("bit.%s(%s, %s)"):format(pick { "band", "bor", "bxor" }, expr.i64(scope, depth - 1),
        mixed(scope, depth - 1))
    end },
    { 2, function()
      return ("bit.%s(%s, %s)"):format(pick { "lshift", "rshift", "arshift", "rol", "ror" }, expr.i64(scope, depth - 1),
        mixed(scope, depth - 1))
    end },
    { 1, function() return ("bit.%s(%s)"):format(pick { "bnot", "bswap" }, expr.i64(scope, depth - 1)) end },
    { 3, function() return ("up.%s(%s)"):format(pick(CASTS), expr[pick { "i64", "u64" }](scope, depth - 1)) end },
    { 4, function() return ("(%s or %s)"):format(expr.opt(scope, depth - 1), expr.i64(scope, depth - 1)) end },
    { 0.3, function() return ("(%s + %s)"):format(risky(scope, depth - 1), expr.i64(scope, depth - 1)) end },
    { 2, function()
      return ("(%s and %s or %s)"):format(expr.bool(scope, depth - 1), expr.i64(scope, depth - 1),
        expr.i64(scope, depth - 1))
    end },
    { 3, function() return field(scope, pick { "a", "b", "sub.x" }) or leaf(scope) end },
    { 2, function()
      if #scope.functions == 0 then return leaf(scope) end
      return pick(scope.functions)(scope, depth)
    end },
  }
end

function expr.u64(scope, depth)
  if depth <= 0 then return variable(scope, "u64") or pick(UNSIGNED) end
  return choose {
    { 2, function() return pick(UNSIGNED) end },
    { 3, function() return variable(scope, "u64") or pick(UNSIGNED) end },
    { 1, function() return "vu:get()" end },
    { 3, function() return ("up.u64(%s)"):format(expr.i64(scope, depth - 1)) end },
    { 3, function() return binary("u64", { "+", "-", "*", "/", "%" })(scope, depth) end },
    { 2, function()
      return ("(%s %s %s)"):format(expr.u64(scope, depth - 1), pick { "+", "-", "*", "/", "%" },
        mixed(scope, depth - 1))
    end },
    { 2, function()
      return ("(%s %s %s)"):format(mixed(scope, depth - 1), pick { "+", "-", "*", "/", "%" },
        expr.u64(scope, depth - 1))
    end },
    { 2, function()
      return ("bit.%s(%s, %s)"):format(pick { "band", "bor", "bxor" }, expr.u64(scope, depth - 1),
        mixed(scope, depth - 1))
    end },
    { 2, function()
      return ("bit.%s(%s, %s)"):format(pick { "lshift", "rshift", "arshift" }, expr.u64(scope, depth - 1),
        expr[pick { "u64", "num" }](scope, 1))
    end },
    { 1, function() return ("(- %s)"):format(expr.u64(scope, depth - 1)) end },
    { 1, function() return ("(up.read_u64(%d + %s) or %s)"):format(MEMORY, small(scope, depth), pick(UNSIGNED)) end },
  }
end

function expr.str(scope, depth)
  if depth <= 0 then return variable(scope, "str") or pick(STRINGS) end
  return choose {
    { 4, function() return pick(STRINGS) end },
    { 2, function() return scope.event and scope.event .. ".comm" or pick(STRINGS) end },
    { 3, function() return variable(scope, "str") or pick(STRINGS) end },
    { 2, function() return ("(mstr[%s] or %s)"):format(key(scope, depth), expr.str(scope, 0)) end },
    { 1, function() return "vs:get()" end },
    { 1, function()
      return ("(%s and %s or %s)"):format(expr.bool(scope, depth - 1), expr.str(scope, 0), expr.str(scope, 0))
    end },
    { 1, function()
      local s = field(scope, "s")
      return s and ("(%s or %s)"):format(s, expr.str(scope, 0)) or pick(STRINGS)
    end },
  }
end

local COMPARISONS = { "<", "<=", ">", ">=", "==", "~=" }

function expr.bool(scope, depth)
  local function compare(x, y)
    return function()
      return ("(%s %s %s)"):format(expr[x](scope, depth - 1), pick(COMPARISONS), expr[y](scope, depth - 1))
    end
  end
  if depth <= 0 then return compare("i64", "num")() end
  return choose {
    { 6, compare("i64", "i64") }, { 2, compare("i64", "num") }, { 2, compare("num", "i64") },
    { 2, compare("u64", "u64") },
    { 1, compare("u64", "i64") }, { 1, compare("num", "u64") }, { 1, compare("num", "num") },
    { 2, function()
      return ("(%s %s %s)"):format(expr.str(scope, depth - 1), pick { "==", "~=" }, expr.str(scope, depth - 1))
    end },
    { 1, function() return ("(%s):starts(%s)"):format(expr.str(scope, 0), expr.str(scope, 0)) end },
    { 2, function() return ("(%s %s nil)"):format(expr.opt(scope, depth - 1), pick { "==", "~=" }) end },
    { 1, function()
      return ("(%s %s %s)"):format(expr.opt(scope, depth - 1), pick { "==", "~=" }, expr.i64(scope, depth - 1))
    end },
    { 1, function()
      return ("(%s %s %s)"):format(buffer(scope, 0), pick { "==", "~=" }, pick { "nil", buffer(scope, 0) })
    end },
    { 0.3, function() return ("%s:starts %s"):format(buffer(scope, 0), pick { "'\\37'", "''", "'J'" }) end },
    { 2, function() return ("(not %s)"):format(expr.bool(scope, depth - 1)) end },
    { 3, function()
      return ("(%s %s %s)"):format(expr.bool(scope, depth - 1), pick { "and", "or" }, expr.bool(scope, depth - 1))
    end },
    { 1, function() return variable(scope, "bool") or "true" end },
    { 1, function() return "vb:get()" end },
    { 1, function() return ("(mb[%s] == true)"):format(key(scope, depth)) end },
    { 0.3, function() return ("(%s < %s)"):format(risky(scope, depth - 1), expr.i64(scope, depth - 1)) end },
  }
end

return { expr = expr, variable = variable, small = small, key = key, tuple = tuple, leaf = leaf, STRINGS = STRINGS,
  chance = chance, pick = pick, choose = choose }
