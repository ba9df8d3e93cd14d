-- The tree of a flame graph: stacks with numbers, merged from their outermost frames up.
--
--   tree.build(source, colors)  → the root, the tree's depth; COLORS of columns by the text that they begin with
--   tree.compare(after, before) → the same of two tables of folded lines with numbers
--
-- A node: place { name, module, folded }, value (its own and that of what lies above it), start (what lies left of it
-- at its level), children (a list, sorted by name, so that equal runs make equal pictures); of a comparison also
-- before, the value there.
--
-- A million frames are of a few thousand addresses. So an address is named once, what it is called is one place, and a
-- node finds a child by the place itself: no text is looked at again.
local frame  = require "uplua.stack.frame"
local order  = require "uplua.objects.order"
local record = require "uplua.objects.record"
local stack  = require "uplua.stack.stack"
local text   = require "uplua.base.text"

local tree = {}

-- Names that are known while one tree is built: addresses with their frames, these with their places, and places by
-- text. COLOR: of all places, or nil. COLORED: names of their own of columns that begin with a text, by that.
local function new_names(color)
  return { addresses = {}, columns = {}, places = {}, folded = {}, color = color, colored = {} }
end

-- The one place called NAME in MODULE (nil: a text of the script's).
local function place_of(names, name, module)
  local key = module and name .. "\0" .. module or name
  local place = names.places[key]
  if not place then
    place = { name = name, module = module or "", color = names.color }
    names.places[key] = place
  end
  return place
end

-- Frames without a function are one for their module, or the picture would be of addresses.
local function name_of(one)
  if one.symbol then return one.symbol end
  return one.module and ("[%s]"):format(frame.basename(one.module)) or "[unknown]"
end

-- The places of the functions at one address, the outermost first.
local function column_of(names, functions)
  local column = {}
  for i = #functions, 1, -1 do
    local one = functions[i]
    column[#column + 1] = place_of(names, name_of(one), one.kernel and "[kernel]" or one.module or "")
  end
  names.columns[functions] = column
  return column
end

local function new_node(place) return { place = place, value = 0, start = 0, children = false } end

-- NODE's child at PLACE, from which VALUE more is.
local function descend(node, place, value)
  local children = node.children or {}
  node.children = children
  local child = children[place]
  if not child then
    child = new_node(place)
    children[place] = child
  end
  child.value = child.value + value
  return child
end

local function add_stack(names, node, s, value)
  local addresses, count, cut = stack.functions(s, names.addresses)
  if cut then node = descend(node, place_of(names, cut), value) end
  for i = count, 1, -1 do
    local column = names.columns[addresses[i]] or column_of(names, addresses[i])
    for k = 1, #column do node = descend(node, column[k], value) end
  end
  return node
end

-- The parts of the tuple KEY, each kind in the key's order: labels, and the stacks of programs before the kernel's; nil
-- where it is no tuple.
function tree.parts_of(key)
  local count = record.is(key) and #record.names(key) or type(key) == "table" and #key
  if not count then return nil end
  local labels, stacks, kernels = {}, {}, {}
  for i = 1, count do
    local part = key[i]
    local list = not stack.is(part) and labels or stack.is_kernel(part) and kernels or stacks
    list[#list + 1] = part
  end
  for _, part in ipairs(kernels) do stacks[#stacks + 1] = part end
  return labels, stacks
end

-- The place of a name in a folded line. A frame without a function has its address there.
local function folded_place(names, name)
  local place = names.folded[name]
  if not place then
    local module = name:match "^(.+)%+0x%x+$"
    place = place_of(names, module and ("[%s]"):format(module) or name:match "^(%[unknown%]) 0x%x+$" or name)
    place.folded, names.folded[name] = true, place
  end
  return place
end

local function add_line(names, node, line, value)
  for name in line:gmatch "[^;]+" do node = descend(node, folded_place(names, name), value) end
end

local function add(names, root, key, value)
  root.value = root.value + value
  if stack.is(key) then return add_stack(names, root, key, value) end
  if type(key) == "string" then return add_line(names, root, key, value) end
  local node, labels, stacks = root, tree.parts_of(key)
  names = labels and names.colored[labels[1]] or names
  for _, label in ipairs(labels or { key }) do node = descend(node, place_of(names, text.plain(label)), value) end
  for _, s in ipairs(stacks or {}) do node = add_stack(names, node, s, value) end
end

-- Gives each place its rank by name.
local function rank(names)
  local list = {}
  for _, place in pairs(names.places) do list[#list + 1] = place end
  for _, colored in pairs(names.colored) do
    for _, place in pairs(colored.places) do list[#list + 1] = place end
  end
  table.sort(list, function(a, b)
    if a.name ~= b.name then return a.name < b.name end
    return a.module < b.module
  end)
  for i, place in ipairs(list) do place.rank = i end
end

local function comes_before(a, b) return a.place.rank < b.place.rank end

-- Makes lists of the children of NODE and below, places all by their value, and returns the depth.
local function arrange(node, start)
  local list, depth = {}, 0
  node.start = start
  if node.children then
    for _, child in pairs(node.children) do list[#list + 1] = child end
    if list[2] then table.sort(list, comes_before) end
  end
  node.children = list
  for i = 1, #list do
    local child = list[i]
    depth = math.max(depth, arrange(child, start))
    start = start + child.value
  end
  return depth + 1
end

local function new_root() return new_node { name = "all", module = "" } end

-- The tree of SOURCE (flame.lua says what it may be), and how deep it is.
function tree.build(source, colors)
  local names, root = new_names(), new_root()
  for label, color in pairs(colors or {}) do names.colored[label] = new_names(color) end
  for key, value in order.entries(source) do add(names, root, key, value) end
  rank(names)
  return root, arrange(root, 0)
end

-- Moves the values of NODE and below to `before`.
local function set_aside(node)
  node.before, node.value = node.value, 0
  for _, child in pairs(node.children or {}) do set_aside(child) end
end

-- Gives `before` to what only the second of two trees has.
local function complete(node)
  node.before = node.before or 0
  for _, child in pairs(node.children or {}) do complete(child) end
end

-- The tree of AFTER and BEFORE, folded lines with numbers: what is in one of them only has 0 of the other.
function tree.compare(after, before)
  local names, root = new_names(), new_root()
  for line, value in pairs(before) do add(names, root, line, value) end
  set_aside(root)
  for line, value in pairs(after) do add(names, root, line, value) end
  complete(root)
  rank(names)
  return root, arrange(root, 0)
end

return tree
