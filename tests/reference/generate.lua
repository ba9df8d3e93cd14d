-- Random handlers that the compiler has to take: well typed, of all constructs, with arguments from the edges of the
-- integers.
--
--   generate.program(seed) → program     for differential.check, with `tree`, of which generate.source makes the
--                                        source: a list of blocks, each a list of statements
-- A statement is { text } or { head, blocks = { … }, joints = { … }, tail }: head, block 1, joint 1, block 2 …, tail.
local generate = {}

local expressions = require "expressions"
local random, chance, pick, choose = math.random, expressions.chance, expressions.pick, expressions.choose
local expr, variable, small, key = expressions.expr, expressions.variable, expressions.small, expressions.key
local tuple, leaf, STRINGS = expressions.tuple, expressions.leaf, expressions.STRINGS

-- What handlers work on. Keys: i an integer, s a string, t a tuple of both, b a boolean. In what has a u behind it
-- there are only unsigned values.
generate.objects = [[
local mi, ms, mt, mb, mstr = up.hash { max = 64 }, up.hash { max = 64 }, up.hash { max = 64 },
    up.hash { max = 64 }, up.hash { max = 64 }
local mr, mq, full, per = up.hash { max = 64 }, up.hash { max = 64 }, up.hash { max = 4 }, up.percpu_hash { max = 64 }
local c, ci, ct, cb, s, si, ss = up.count(), up.count { max = 64 }, up.count { max = 64 }, up.count { max = 64 },
    up.sum(), up.sum { max = 64 }, up.sum { max = 64 }
local h, hs, l, d, st, lo, hi = up.hist(), up.hist { max = 64 }, up.lhist(-20, 100, 15),
    up.hdr(2, { max = 64 }), up.stats { max = 64 },
  up.min(), up.max { max = 64 }
local mu = up.hash { max = 64 }
local su, sku, hu, lu, du, stu, lou, hiu = up.sum(), up.sum { max = 64 }, up.hist { max = 64 },
    up.lhist(-20, 100, 15), up.hdr(2), up.stats(),
  up.min { max = 64 }, up.max()
local v, w, r = up.var(3), up.var(-9), up.ring { size = "256K" }
local vs, vb, vn, vi, vu = up.var("first"), up.var(false), up.var(7, "u32"), up.var(-1, "i16"), up.var(1ULL)
mi:set(1, 5) mi:set(-1, 9223372036854775807LL) ms:set("uplua", 7) mstr:set(2, "two")
mb:set(0, false) full:set(0, 1) per:set(1, 4)
mt:set({ 1, "a" }, 3) mr:set(2, { a = 5, b = -1, s = "of the script", o = 3, sub = { x = 9, y = true } })
]]
generate.names = { "mi", "ms", "mt", "mb", "mstr", "mr", "mq", "full", "per", "c", "ci", "ct", "cb", "s", "si", "ss",
  "h", "hs", "l", "d", "st", "lo", "hi", "mu", "su", "sku", "hu", "lu", "du", "stu", "lou", "hiu", "v", "w", "r", "vs",
    "vb", "vn", "vi", "vu" }

-- --- Statements ---

local block

-- A scope inside of SCOPE: what is declared there ends with it.
local function inside(scope, changes)
  local inner = setmetatable(changes or {}, { __index = scope })
  inner.vars = {}
  for i, var in ipairs(scope.vars) do inner.vars[i] = var end
  return inner
end

local function fresh(scope, prefix)
  scope.state.names = scope.state.names + 1
  return prefix .. scope.state.names
end

local function declare(scope, name, type, more)
  local var = more or {}
  var.name, var.type = name, type
  table.insert(scope.vars, var)
  return var
end

local function assignable(scope, type)
  local found = {}
  for _, var in ipairs(scope.vars) do
    if var.type == type and not var.constant then found[#found + 1] = var end
  end
  if #found > 0 then return pick(found) end
end

-- The text of a new record; parts are left out now and then.
local function record(scope, depth)
  local fields = { "a = " .. expr.i64(scope, depth), "b = " .. expr.i64(scope, 1) }
  if chance(0.9) then fields[#fields + 1] = "s = " .. expr.str(scope, 1) end
  if chance(0.5) then fields[#fields + 1] = "o = " .. expr[pick { "i64", "opt" }](scope, 1) end
  fields[#fields + 1] = ("sub = { x = %s, y = %s }"):format(expr.i64(scope, 1), expr.bool(scope, 1))
  return "{ " .. table.concat(fields, ", ") .. " }"
end

local LOCALS = { "i64", "i64", "i64", "u64", "num", "bool", "str", "opt", "i64" }

local statement = {}

statement["local"] = function(scope)
  local type = pick(LOCALS)
  local name = fresh(scope, "x")
  local text = ("local %s = %s"):format(name, expr[type](scope, type == "num" and 1 or 3))
  declare(scope, name, type)
  return { text }
end

function statement.record(scope)
  local name = fresh(scope, "t")
  local text = ("local %s = %s"):format(name, record(scope, 2))
  declare(scope, name, "rec", { loop = scope.loop, chunk = scope.chunk, level = scope.level })
  return { text }
end

function statement.assign(scope)
  local type = pick { "i64", "i64", "i64", "u64", "bool", "opt", "str", "num" }
  local var = assignable(scope, type)
  if not var then return statement["local"](scope) end
  if type == "num" then
    return { ("%s = %s"):format(var.name, pick { "3", var.name .. " + 1", var.name .. " - 2", "-5" }) }
  end
  -- A string that changes place with another from one round to the next is refused.
  if type == "str" and scope.loop then return { ("%s = %s"):format(var.name, pick(STRINGS)) } end
  if type == "opt" and chance(0.3) then return { var.name .. " = nil" } end
  return { ("%s = %s"):format(var.name, expr[type](scope, 3)) }
end

function statement.multiple(scope)
  local x, y = assignable(scope, "i64"), assignable(scope, "i64")
  if not x or x == y then return statement.assign(scope) end
  return { ("%s, %s = %s, %s"):format(x.name, y.name, expr.i64(scope, 2), expr.i64(scope, 2)) }
end

statement["if"] = function(scope)
  local node = { head = ("if %s then"):format(expr.bool(scope, 2)), blocks = { block(inside(scope)) }, joints = {},
    tail = "end" }
  if chance(0.3) then
    node.joints[1] = ("elseif %s then"):format(expr.bool(scope, 2))
    node.blocks[2] = block(inside(scope))
  end
  if chance(0.5) then
    node.joints[#node.joints + 1] = "else"
    node.blocks[#node.blocks + 1] = block(inside(scope))
  end
  return node
end

statement["do"] = function(scope)
  return { head = "do", blocks = { block(inside(scope)) }, joints = {}, tail = "end" }
end

-- What is behind a loop's body: a way out, in the middle a way to its end.
local function loop_body(scope, first)
  local inner = inside(scope, { loop = {} })
  first(inner)
  local body = block(inner)
  if chance(0.25) then
    table.insert(body, random(#body + 1), { ("if %s then break end"):format(expr.bool(scope, 1)) })
  end
  return body
end

statement["for"] = function(scope)
  local name = fresh(scope, "i")
  local integer, natural = chance(0.3), false
  local range
  if not integer and chance(0.3) then
    natural, range = true, chance(0.5) and ("%d, %d, %d"):format(random(0, 3), random(0, 6), pick { 1, 2, 3 }) or
      ("%d, %d, %d"):format(random(0, 6), random(0, 3), pick { -1, -2 })
  elseif integer then
    range = ("1, bit.band(%s, 7)"):format(expr.i64(scope, 1))
  else
    range = ("%d, %d, %d"):format(random(-3, 3), random(-3, 6), pick { 1, 2, 1, -1, 3 })
  end
  local body = loop_body(scope,
    function(inner) declare(inner, name, integer and "i64" or natural and "nat" or "num", { constant = true }) end)
  return { head = ("for %s = %s do"):format(name, range), blocks = { body }, joints = {}, tail = "end" }
end

-- A for whose step only the run knows; one of 0 would fill the ring.
function statement.step(scope)
  local name, rounds, integer = fresh(scope, "i"), fresh(scope, "k"), chance(0.7) or not variable(scope, "num")
  local step = pick { "bit.band(%s, 3) + 1", "-1 - bit.band(%s, 3)", "bit.band(%s, 7) - 3" }:format(expr.i64(scope, 1))
  if not integer then step = variable(scope, "num") end
  local body = loop_body(scope, function(inner)
    declare(inner, name, integer and "i64" or "num", { constant = true })
  end)
  table.insert(body, 1, { ("%s = %s + 1 if %s > 9 then break end"):format(rounds, rounds, rounds) })
  return { ("local %s = 0"):format(rounds) },
    { head = ("for %s = %d, %d, %s do"):format(name, random(-3, 3), random(-3, 6), step), blocks = { body },
      joints = {}, tail = "end" }
end

statement["while"] = function(scope)
  local name = fresh(scope, "k")
  declare(scope, name, "num", { constant = true })
  local body = loop_body(scope, function() end)
  table.insert(body, 1, { ("%s = %s - 1"):format(name, name) })
  local start = { ("local %s = %d"):format(name, random(0, 5)) }
  if chance(0.5) then
    local more = chance(0.5) and (" and %s"):format(expr.bool(scope, 1)) or ""
    return start, { head = ("while %s > 0%s do"):format(name, more), blocks = { body }, joints = {}, tail = "end" }
  end
  return start, { head = "repeat", blocks = { body }, joints = {},
    tail = ("until %s <= 0 or %s"):format(name, expr.bool(scope, 1)) }
end

-- A loop that the budget may end.
function statement.endless(scope)
  if scope.loop or scope.state.endless then return statement.assign(scope) end
  scope.state.endless = true
  local name = fresh(scope, "k")
  declare(scope, name, "num", { constant = true })
  return { ("local %s = 0"):format(name) }, {
    head = "while true do", joints = {}, tail = "end",
    blocks =
      { { { ("%s = %s + 1"):format(name, name) },
        { ("if %s > %d then break end"):format(name, pick { 30000, 65535, 65536, 70000 }) },
      { ("s:add(%s)"):format(name) } } },
  }
end

function statement.map(scope)
  local k = key(scope, 2)
  return { choose {
    { 3, function() return ("mi[%s] = %s"):format(k, expr[pick { "i64", "num", "opt", "u64" }](scope, 2)) end },
    { 1, function() return ("mi[%s] = nil"):format(k) end },
    { 2, function() return ("mi[%s] = (mi[%s] or 0) %s %s"):format(k, k, pick { "+", "-" }, expr.i64(scope, 2)) end },
    { 1, function() return ("mi[%s] = mi[%s] + %s"):format(k, k, expr.i64(scope, 1)) end },
    { 1, function() return ("ms[%s] = %s"):format(expr.str(scope, 2), expr.i64(scope, 2)) end },
    { 1, function() return ("mt[%s] = %s"):format(tuple(scope, 2), expr.i64(scope, 2)) end },
    { 1, function()
      local t = tuple(scope, 1)
      return ("mt[%s] = (mt[%s] or 0) + %s"):format(t, t, expr.i64(scope, 1))
    end },
    { 1, function() return ("mb[%s] = %s"):format(k, expr.bool(scope, 2)) end },
    { 1, function() return ("mstr[%s] = %s"):format(k, expr.str(scope, 2)) end },
    { 1, function() return ("full[%s] = %s"):format(k, expr.i64(scope, 2)) end },
    { 1, function() return ("full[%s] = (full[%s] or 0) + %s"):format(k, k, expr.i64(scope, 1)) end },
    { 1, function() return ("per[%s] = %s"):format(k, expr.i64(scope, 2)) end },
    { 1, function() return ("per[%s] = (per[%s] or 0) + 1"):format(k, k) end },
  } }
end

-- Values near the ends, whose sums pass these within a few additions.
local LARGE = { "0x7fffffffffffff00LL", "-0x7fffffffffffff00LL", "0x4000000000000000LL", "-0x4000000000000000LL" }

-- Unsigned values, and now and then small ones that are not.
local function unsigned(scope)
  return chance(0.9) and expr.u64(scope, 2) or pick { "up.u8(%s)", "up.u16(%s)", "5" }:format(expr.i64(scope, 1))
end

function statement.unsigned(scope)
  return { choose {
    { 2, function() return ("mu[%s] = %s"):format(key(scope, 2), unsigned(scope)) end },
    { 2, function() return ("su:add(%s)"):format(unsigned(scope)) end },
    { 1, function() return ("sku[%s]:add(%s)"):format(key(scope, 2), unsigned(scope)) end },
    { 1, function() return ("hu[%s]:add(%s)"):format(small(scope, 1), unsigned(scope)) end },
    { 1, function() return ("lu:add(%s)"):format(unsigned(scope)) end },
    { 1, function() return ("du:add(%s)"):format(unsigned(scope)) end },
    { 1, function() return ("stu:add(%s)"):format(unsigned(scope)) end },
    { 1, function()
      return ("lou[%s]:add(%s) hiu:add(%s)"):format(small(scope, 1), unsigned(scope), unsigned(scope))
    end },
  } }
end

function statement.aggregate(scope)
  if chance(0.25) then return statement.unsigned(scope) end
  local x = chance(0.2) and ("(%s + bit.band(%s, 511))"):format(pick(LARGE), leaf(scope))
    or expr[pick { "i64", "i64", "num" }](scope, 2)
  return { choose {
    { 2, function() return "c:inc()" end },
    { 2, function() return ("ci[%s]:inc()"):format(key(scope, 2)) end },
    { 1, function()
      return ("ct[{ %s, %s, %s }]:inc()"):format(key(scope, 1), expr.opt(scope, 1), expr.str(scope, 1))
    end },
    { 1, function() return ("cb[{ yes = %s, s = %s }]:inc()"):format(expr.bool(scope, 1), expr.str(scope, 1)) end },
    { 2, function() return ("s:add(%s)"):format(chance(0.2) and expr.u64(scope, 2) or x) end },
    { 1, function() return ("si[%s]:add(%s)"):format(key(scope, 2), x) end },
    { 1, function() return ("ss[%s]:add(%s)"):format(expr.str(scope, 2), chance(0.2) and expr.u64(scope, 2) or x) end },
    { 1, function() return ("h:add(%s)"):format(x) end },
    { 1, function() return ("hs[%s]:add(%s)"):format(expr.str(scope, 1), x) end },
    { 1, function() return ("l:add(%s)"):format(x) end },
    { 1, function() return ("d[%s]:add(%s)"):format(small(scope, 1), x) end },
    { 1, function() return ("st[%s]:add(%s)"):format(key(scope, 1), x) end },
    { 1, function() return ("lo:add(%s) hi[%s]:add(%s)"):format(x, small(scope, 1), x) end },
    { 1, function() return ("v:%s(%s)"):format(pick { "set", "add" }, x) end },
    { 1, function() return ("w:add(%s)"):format(x) end },
  } }
end

-- A var holds what it was made for; one that is narrow what was cut for it, and wraps there.
function statement.var(scope)
  return { choose {
    { 2, function() return ("vs:set(%s)"):format(expr.str(scope, 2)) end },
    { 1, function() return ("vb:set(%s)"):format(expr.bool(scope, 2)) end },
    { 1, function() return ("vn:set(up.u32(%s))"):format(expr.i64(scope, 2)) end },
    { 2, function() return ("vn:add(%s)"):format(expr[pick { "i64", "num" }](scope, 2)) end },
    { 2, function() return ("vi:set(up.i16(%s))"):format(expr.i64(scope, 2)) end },
    { 1, function() return ("vu:set(%s)"):format(expr.u64(scope, 2)) end },
    { 1, function() return ("vu:add(%s)"):format(expr.i64(scope, 2)) end },
  } }
end

function statement.emit(scope)
  local shape = choose {
    { 2, function()
      return ("{ x = %s, n = %s }"):format(expr.i64(scope, 2), expr[pick { "opt", "num" }](scope, 1))
    end },
    { 1, function()
      return ("{ who = %s, yes = %s, t = { %s, %s } }"):format(expr.str(scope, 1), expr.bool(scope, 1),
        expr.i64(scope, 1), expr.str(scope, 1))
    end },
    { 1, function() return ("{ %s, %s }"):format(expr.u64(scope, 2), expr.num(scope, 1)) end },
  }
  if chance(0.3) then return { ("if not r:emit %s then c:inc() end"):format(shape) } end
  return { ("r:emit %s"):format(shape) }
end

-- A table that is filled by a computed key, and what may be done with it.
function statement.array(scope)
  local name, counter = fresh(scope, "a"), fresh(scope, "i")
  local inner = inside(scope, { loop = {} })
  declare(inner, counter, "num", { constant = true })
  local index = pick { counter, counter, counter .. " + 1", ("bit.band(%s, 7) + 1"):format(expr.i64(inner, 1)) }
  local body = { { ("%s[%s] = %s"):format(name, index, expr[pick { "i64", "opt", "num", "u64" }](inner, 2)) } }
  if chance(0.4) then table.insert(body, 1, { ("if %s then break end"):format(expr.bool(inner, 1)) }) end
  local start = chance(0.2) and "{ 5, -7 }" or "{}"
  return { ("local %s = %s"):format(name, start) },
    { head = ("for %s = %d, %d do"):format(counter, random(3), random(9)), blocks = { body }, joints = {},
      tail = "end" },
    { choose {
      { 2, function() return ("s:add(%s[%s] or 3)"):format(name, small(scope, 1)) end },
      { 2, function() return ("for i = -1, 9 do si[i]:add(%s[i] or 1000) end"):format(name) end },
      { 2, function() return ("r:emit { list = %s, n = %s[2] }"):format(name, name) end },
      { 1, function() return ("%s[%d] = nil r:emit { last = %s }"):format(name, random(4), name) end },
    } }
end

-- A record of a map and what may be done with it; while it is in use, mr is not written.
function statement.reference(scope)
  if scope.no_mr then return statement.map(scope) end
  local name = fresh(scope, "r")
  local inner = inside(scope, { no_mr = true })
  declare(inner, name, "rec", { reference = true, loop = scope.loop })
  local blocks = { block(inner) }
  for _ = 1, random(2) do
    table.insert(blocks[1], random(#blocks[1] + 1), { choose {
      { 3, function() return ("%s.a = %s.a + %s"):format(name, name, expr.i64(scope, 1)) end },
      { 2, function() return ("%s.b = %s"):format(name, expr.i64(scope, 2)) end },
      { 2, function() return ("%s.o = %s"):format(name, pick { "nil", expr.opt(scope, 1), expr.i64(scope, 1) }) end },
      { 1, function() return ("%s.s = %s"):format(name, expr.str(scope, 1)) end },
      { 1, function() return ("%s.sub.x = %s.sub.x - %s"):format(name, name, expr.i64(scope, 1)) end },
      { 1, function() return ("mq[%s] = up.copy(%s)"):format(key(scope, 1), name) end },
      { 1, function() return ("mq[%s] = %s"):format(key(scope, 1), name) end },
      { 1, function() return ("r:emit(%s)"):format(name) end },
    } })
  end
  local joints = {}
  if chance(0.6) then
    joints[1] = "else"
    blocks[2] = block(inside(scope))
  end
  return { ("local %s = mr[%s]"):format(name, key(scope, 1)) },
    { head = ("if %s%s then"):format(name, pick { "", " ~= nil" }), blocks = blocks, joints = joints, tail = "end" }
end

-- A loop whose rounds leave a reference to the next one, and to what follows. Where each round begins by writing to the
-- map, what it was left is dead, and is used no more before it has been read anew.
function statement.carried(scope)
  if scope.no_mr then return statement.map(scope) end
  local last, now, counter = fresh(scope, "r"), fresh(scope, "r"), fresh(scope, "i")
  local function use(name)
    return { pick { "if %s then %s.a = %s.a + 1 end", "if %s then s:add(%s.b) %s.o = 3 end",
      "if %s then r:emit(%s) ci[%s.a]:inc() end" }:gsub("%%s", name) }
  end
  local inner = inside(scope, { no_mr = true, loop = {} })
  declare(inner, counter, "num", { constant = true })
  local writes, body = chance(0.5), {}
  if writes then
    body[1] = { chance(0.3) and ("mr[%s] = nil"):format(key(scope, 1))
      or ("mr[%s] = %s"):format(key(scope, 1), record(inner, 1)) }
  else
    body[1] = use(last)
  end
  body[2] = { ("local %s = mr[%s]"):format(now, key(inner, 1)) }
  if chance(0.5) then
    -- where what is there always leaves, nil is all that the next round can be left
    local known = inside(inner, { stays = true })
    declare(known, now, "rec", { reference = true, loop = inner.loop })
    body[3] = { head = ("if %s then"):format(now), blocks = { block(known) }, joints = {}, tail = "end" }
  end
  body[#body + 1] = { (writes or chance(0.5)) and ("%s = %s"):format(last, now)
    or ("if %s > %d then %s = %s end"):format(counter, random(0, 3), last, now) }
  return { "local " .. last }, { head = ("for %s = 1, %d do"):format(counter, random(4)), blocks = { body },
    joints = {}, tail = "end" }, use(last)
end

function statement.store(scope)
  if scope.no_mr then return statement.map(scope) end
  local k = key(scope, 1)
  if chance(0.2) then return { ("mr[%s] = nil"):format(k) } end
  if chance(0.2) then return { ("if mr[%s] then mr[%s].a = mr[%s].a + %s end"):format(k, k, k, leaf(scope)) } end
  local t = assignable(scope, "rec")
  if not t or t.reference or t.loop ~= scope.loop then return { ("mr[%s] = %s"):format(k, record(scope, 1)) } end
  t.stored = true -- it has been copied: it is not written to from here on
  return { ("%s[%s] = %s"):format(pick { "mr", "mq" }, k, t.name) }
end

function statement.field(scope)
  local t = assignable(scope, "rec")
  if not t or t.stored then return statement.assign(scope) end
  if t.reference == nil and t.loop ~= scope.loop then return statement.assign(scope) end
  return { choose {
    { 2, function() return ("%s.a = %s"):format(t.name, expr.i64(scope, 2)) end },
    { 1, function() return ("%s.o = %s"):format(t.name, expr.opt(scope, 1)) end },
    { 1, function() return ("%s.s = %s"):format(t.name, expr.str(scope, 1)) end },
    { 1, function() return ("%s.sub.y = %s"):format(t.name, expr.bool(scope, 1)) end },
  } }
end

function statement.leave(scope)
  if scope.stays then return statement.aggregate(scope) end
  local results = scope.results and scope.results(scope) or ""
  return { ("if %s then return %s end"):format(expr.bool(scope, 2), results) }
end

function statement.call(scope)
  if #scope.effects == 0 then return statement.aggregate(scope) end
  return pick(scope.effects)(scope)
end

local STATEMENTS = {
  { 6, statement["local"] }, { 6, statement.assign }, { 2, statement.multiple }, { 6, statement["if"] },
  { 1, statement["do"] },
  { 2, statement["for"] }, { 2, statement["while"] }, { 0.05, statement.endless }, { 5, statement.map },
  { 5, statement.aggregate },
  { 2, statement.emit }, { 3, statement.reference }, { 1, statement.carried }, { 2, statement.store },
  { 2, statement.record }, { 2, statement.field },
  { 2, statement.array }, { 1, statement.leave }, { 3, statement.call }, { 2, statement.var }, { 1, statement.step },
}
-- Where it is deep enough, or the handler large enough.
local SIMPLE = {
  { 4, statement["local"] }, { 6, statement.assign }, { 2, statement.multiple }, { 4, statement.map },
  { 5, statement.aggregate },
  { 1, statement.emit }, { 1, statement.store }, { 1, statement.field }, { 2, statement.call }, { 1, statement.var },
}

function block(scope, count)
  local list = {}
  scope.level = (scope.level or 0) + 1
  for _ = 1, count or random(1, 3) do
    local deep = scope.level > 4 or scope.state.left <= 0
    scope.state.left = scope.state.left - 1
    for _, node in ipairs { choose(deep and SIMPLE or STATEMENTS, scope) } do list[#list + 1] = node end
  end
  return list
end

-- Functions to be inlined, by what they return. Each leaves a way to call it in the scope's functions or effects.
local function helpers(state)
  local tree, functions, effects = {}, {}, {}
  local function add(name, parameters, results, call)
    local scope = { vars = {}, state = state, functions = {}, effects = {}, no_mr = true, results = results,
      chunk = name }
    for _, parameter in ipairs(parameters) do declare(scope, parameter[1], parameter[2]) end
    for i = 1, #functions do scope.functions[i] = functions[i] end
    local names = {}
    for i, parameter in ipairs(parameters) do names[i] = parameter[1] end
    local body = block(scope, random(1, 3))
    if results then body[#body + 1] = { "return " .. results(scope) } end
    tree[#tree + 1] = { head = ("local function %s(%s)"):format(name, table.concat(names, ", ")), blocks = { body },
      joints = {}, tail = "end", is_function = true }
    call()
  end
  local function one(scope) return expr.i64(scope, 2) end
  local function two(scope) return ("%s, %s"):format(expr.i64(scope, 1), expr.i64(scope, 1)) end
  if chance(0.6) then
    add("f1", { { "p", "i64" }, { "q", "i64" } }, one, function()
      table.insert(functions, function(scope, depth)
        return ("f1(%s, %s)"):format(expr.i64(scope, depth - 1), expr.i64(scope, depth - 1))
      end)
    end)
  end
  if chance(0.4) then
    add("f2", { { "p", "i64" }, { "q", "opt" } }, one, function()
      table.insert(functions, function(scope, depth)
        if chance(0.3) then return ("f2(%s)"):format(expr.i64(scope, depth - 1)) end
        return ("f2(%s, %s)"):format(expr.i64(scope, depth - 1), expr.opt(scope, depth - 1))
      end)
    end)
  end
  if chance(0.4) then
    add("f3", { { "p", "i64" }, { "u", "u64" } }, two, function()
      table.insert(effects, function(scope)
        local a, b = fresh(scope, "x"), fresh(scope, "x")
        local text = ("local %s, %s = f3(%s, %s)"):format(a, b, expr.i64(scope, 2), expr.u64(scope, 1))
        declare(scope, a, "i64")
        declare(scope, b, "i64")
        return { text }
      end)
    end)
  end
  if chance(0.4) then
    add("f4", { { "p", "i64" }, { "z", "str" } }, nil, function()
      table.insert(effects, function(scope)
        return { ("f4(%s, %s)"):format(expr.i64(scope, 2), expr.str(scope, 1)) }
      end)
    end)
  end
  return tree, functions, effects
end

-- --- Programs ---

local WORDS = { 0, 1, -1, 2, 3, 7, 63, 64, -13, 255, 256, 65535, 2147483647, -2147483648, 4294967295LL, 4294967296LL,
  0x123456789abcdefLL, 9223372036854775807LL, -9223372036854775807LL - 1 }

local function word()
  return choose {
    { 4, function() return random(0, 8) end },
    { 3, function() return pick(WORDS) end },
    { 2, function() return random(-100, 1000) end },
    { 1, function() return random(0, 2 ^ 31) * 4294967296LL + random(0, 2 ^ 31) * 2LL - random(0, 1) end },
  }
end

local function put(lines, list, indent)
  local pad = ("  "):rep(indent)
  for _, node in ipairs(list) do
    if node[1] then
      lines[#lines + 1] = pad .. node[1]
    else
      lines[#lines + 1] = pad .. node.head
      for i, inner in ipairs(node.blocks) do
        put(lines, inner, indent + 1)
        if node.joints[i] then lines[#lines + 1] = pad .. node.joints[i] end
      end
      lines[#lines + 1] = pad .. node.tail
    end
  end
end

-- The source of PROGRAM from its tree { helpers, handler, handler, … }.
function generate.source(program)
  local lines = { "local up = ...\n" .. generate.objects }
  put(lines, program.tree[1], 0)
  lines[#lines + 1] = "return {"
  for i = 2, #program.tree do
    lines[#lines + 1] = "function(e)"
    put(lines, program.tree[i], 1)
    lines[#lines + 1] = "end,"
  end
  local names = {}
  for i, name in ipairs(generate.names) do names[i] = ("%s = %s"):format(name, name) end
  lines[#lines + 1] = "}, { " .. table.concat(names, ", ") .. " }"
  return table.concat(lines, "\n")
end

function generate.program(seed)
  math.randomseed(seed)
  for _ = 1, 10 do random() end
  local state = { names = 0, left = random(5, 40) }
  local tree, functions, effects = helpers(state)
  local program = { name = ("seed%d"):format(seed), seed = seed, tree = { tree }, events = {} }
  for i = 1, chance(0.3) and 2 or 1 do
    local scope = { vars = {}, state = state, functions = functions, effects = effects, event = "e" }
    state.left = state.left + 5
    program.tree[i + 1] = block(scope, random(3, 8))
  end
  for i = 1, random(4, 8) do
    local words = {}
    for k = 1, 12 do words[k] = word() end
    program.events[i] = { random(1, #program.tree - 1), words }
  end
  program.source = generate.source(program)
  return program
end

return generate
