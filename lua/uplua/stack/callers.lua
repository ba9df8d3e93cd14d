-- A tree of callers: stacks with numbers, merged from their innermost functions up.
--
--   local tree = callers.new { "bytes", "blocks" }  -- what is summed; what has most of the first goes first
--   tree:add({ "make", "pair_up", "main" }, { bytes = 64, blocks = 1 })
--   local left_out, rest = tree:cut(10)
--   for _, one in ipairs(tree:lines()) do … end
local callers = {}

local Tree = {}
Tree.__index = Tree

local function new_node(tree, name, caller_of)
  local node = { name = name, caller_of = caller_of, below = {} }
  for _, field in ipairs(tree.fields) do node[field] = 0 end
  return node
end

-- Adds to SUMS what ROW has.
local function add_row(tree, sums, row)
  for _, field in ipairs(tree.fields) do sums[field] = sums[field] + row[field] end
end

-- new(fields) → an empty tree.
function callers.new(fields)
  local tree = setmetatable({ fields = fields }, Tree)
  tree.root = new_node(tree)
  return tree
end

-- add(names, row): adds a stack whose functions are NAMES, the innermost first, and whose numbers are in ROW.
function Tree:add(names, row)
  local node = self.root
  add_row(self, node, row)
  for i = 1, #names do
    local caller = node.below[names[i]]
    if not caller then
      caller = new_node(self, names[i], node)
      node.below[names[i]] = caller
    end
    add_row(self, caller, row)
    node = caller
  end
  node.ended = node.ended or new_node(self, nil, node) -- the sums of the stacks that end there
  add_row(self, node.ended, row)
end

-- "main\npair_up\nmake": the names on the way back from NODE.
local function path_of(node)
  local names = {}
  while node.caller_of do
    names[#names + 1], node = node.name, node.caller_of
  end
  return table.concat(names, "\n")
end

-- LIST of nodes with the largest numbers first, of equal ones by NAME(node).
local function sort(tree, list, name)
  local field = tree.fields[1]
  table.sort(list, function(a, b)
    if a[field] ~= b[field] then return a[field] > b[field] end
    return name(a) < name(b)
  end)
  return list
end

-- cut(most): of the stacks, which are merged by their functions, lines() has only the MOST with the largest numbers.
-- Returns how many others there are, and their sums.
function Tree:cut(most)
  local ways, rest = {}, new_node(self)
  local function visit(node)
    if node.ended then ways[#ways + 1] = node.ended end
    for _, caller in pairs(node.below) do visit(caller) end
  end
  visit(self.root)
  sort(self, ways, path_of)
  self.shown = {}
  for i, node in ipairs(ways) do
    if i > most then add_row(self, rest, node) end
    while i <= most and node do
      self.shown[node], node = true, node.caller_of
    end
  end
  return math.max(#ways - most, 0), rest
end

local function name_of(node) return node.name end

-- lines() → a list of { name, depth, branch, and the fields, summed over all that comes this way }: the innermost
-- functions, below each its callers and theirs, those with the largest numbers first. A caller that is the only one has
-- the depth of what it calls; one of several begins a branch.
function Tree:lines()
  local list, first = {}, self.fields[1]
  local function visit(node, depth)
    local found, innermost = {}, node == self.root
    for _, caller in pairs(node.below) do found[#found + 1] = caller end
    local alone = #found == 1 and found[1][first] == node[first]
    local at = innermost and 0 or alone and depth or depth + 1
    for _, caller in ipairs(sort(self, found, name_of)) do
      if not self.shown or self.shown[caller] then
        local line = { name = caller.name, depth = at, branch = not (alone or innermost) }
        for _, field in ipairs(self.fields) do line[field] = caller[field] end
        list[#list + 1] = line
        visit(caller, at)
      end
    end
  end
  visit(self.root)
  return list
end

return callers
