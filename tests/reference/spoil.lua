-- Random handlers that are no good: those of generate.lua with something in the wrong place. They are Lua, and most
-- mean nothing.
--
--   spoil(program)   changes program.tree and program.source, by the random numbers where generate.program has left
--                    them
local generate = require "generate"

local random = math.random
local function pick(list) return list[random(#list)] end

-- What may stand where an expression is wanted.
local OTHERS = { "nil", "true", "0.5", "1e300", "-0", "'text'", "{}", "{ 1, { 2 } }", "{ a = 1 }", "e", "e.comm",
  "e.arg3", "e.nothing", "e:ustack()", "up", "bit", "mi", "mr", "c", "r", "v", "h", "ci[1]", "mr[1]", "mi[2]",
  "mr[1].sub", "mstr[1]", "#mi", "#e.arg1", "function() end", "(nothing)", "nothing.x", "x1", "x2", "t3",
  "r4", "f1", "f2(1LL)", "f3()", "string.rep('x', 3)", "2 ^ e.arg0", "e.comm .. 'x'", "up.cast('int *', e.arg0)",
  "up.cast('int *', e.arg0)[1]",
  "up.str(e.arg1)", "up.copy(mr[2])", "up.read_u8(e.comm)", "setmetatable({}, {})", "mi[nil]", "({ 1 })[e.arg0]",
    "2LL / 0", "1 / 0", "up.u64(-1)" }
local OPERATORS = { "+", "-", "*", "/", "%", "^", "..", "<", "<=", "==", "~=", "and", "or" }
local NAMES = { "inc", "add", "get", "set", "emit", "starts", "find", "a", "b", "o", "s", "sub", "x", "y", "nothing",
  "comm", "arg7", "i32", "copy" }
local STATEMENTS = { "return", "mr[1] = nil", "mr[1] = { a = 1LL }", "mr[2] = mr[1]", "e.arg0 = 1", "c = 5",
  "c:inc(1, 2)", "r:emit(1)", "r:emit()", "mi:clear()", "while true do end", "for k, w in pairs(mi) do end",
  "goto nowhere", "print(1)", "up.exit(1)", "up.printf('%d %s', 1, 's')", "up.printf('%d', 's')", "mi.x.y = 1",
  "local x1 <const> = 1", "t1 = { a = 'text' }", "x1 = e.comm x1 = 1", "mi[e.comm] = 1", "ms[1] = 1", "mt[{ 1 }] = 1",
  "f1 = 1", "local mi = 1", "up.copy(1)",
  "v:add('x')", "for i = 'a', 2 do end", "for i = 1, 2, e.arg0 do end", "do local e = mi e[1] = 2 end" }

-- All { list, at } of TREE's statements that handlers run: not those of the chunk.
local function nodes_of(tree)
  local nodes = {}
  local function visit(list)
    for at, node in ipairs(list) do
      if not node.is_function then nodes[#nodes + 1] = { list, at } end
      for _, inner in ipairs(node.blocks or {}) do visit(inner) end
    end
  end
  for _, list in ipairs(tree) do visit(list) end
  return nodes
end

-- TEXT with one of what PATTERN finds in it replaced by one of WITH.
local function replace_one(text, pattern, with)
  local found = select(2, text:gsub(pattern, ""))
  if found == 0 then return text end
  local wanted, n = random(found), 0
  return (text:gsub(pattern, function()
    n = n + 1
    if n == wanted then return pick(with) end
  end))
end

local function spoil_text(text)
  local how = random(6)
  if how <= 2 then return replace_one(text, "%b()", OTHERS) end
  if how == 3 then return replace_one(text, "%f[%w_][%a_][%w_]*%f[^%w_]", OTHERS) end
  if how == 4 then return replace_one(text, "%f[%w_]%-?%d+U?LL%f[^%w_]", OTHERS) end
  if how == 5 then return replace_one(text, " [%+%-%*/%%<>~=]=? ", OPERATORS) end
  return (replace_one(text, "[%.:]%a[%w_]*", NAMES):gsub("%f[%w]([%a_][%w_]*)%f[%W](%a)", "%1.%2", 0))
end

local CHANGES = {
  function(list, at) -- a part of the text
    local node = list[at]
    local field = node[1] and 1 or pick { "head", "tail" }
    node[field] = spoil_text(node[field])
  end,
  function(list, at) table.insert(list, at, { pick(STATEMENTS) }) end,
  function(list, at) table.remove(list, at) end,
  function(list, at, other) table.insert(list, at, other[1][other[2]]) end, -- used where it is not known, and twice
  function(list, at, other) list[at], other[1][other[2]] = other[1][other[2]], list[at] end,
}

local function copy(value)
  if type(value) ~= "table" then return value end
  local new = {}
  for k, v in pairs(value) do new[k] = copy(v) end
  return new
end

return function(program)
  for _ = 1, random(3) do
    local before = copy(program.tree)
    local nodes = nodes_of(program.tree)
    local node, other = pick(nodes), pick(nodes)
    -- A statement in itself would have no end.
    local change = node[1] == other[1] and pick { CHANGES[1], CHANGES[2], CHANGES[3] } or random() < 0.6 and CHANGES[1]
      or pick(CHANGES)
    if change == CHANGES[4] or change == CHANGES[5] then other = { { copy(other[1][other[2]]) }, 1 } end
    change(node[1], node[2], other)
    if not load(generate.source(program)) then program.tree = before end
  end
  program.source = generate.source(program)
end
