-- Who holds blocks: roots by name, and what leads from them to a block.
local bit      = require "bit"
local contract = require "uplua.contract"
local core     = require "uplua.core"
local describe = require "uplua.types.describe"
local frame    = require "uplua.stack.frame"
local proc     = require "uplua.base.proc"
local stack    = require "uplua.stack.stack"
local text     = require "uplua.base.text"

local C = contract.C
local holders = {}

local NO_BLOCK = 2 ^ 32 - 1

-- --- mappings ---

-- The mappings of process PID: { { from, to, path, offset }, … }, by address.
local function mappings(pid)
  local list = {}
  for line in (proc.read("%d/maps", pid) or ""):gmatch "[^\n]+" do
    local from, to, offset, path = line:match "^(%x+)%-(%x+) %S+ (%x+) %S+ %d+ *(.-)$"
    if from then
      list[#list + 1] = { from = tonumber(from, 16), to = tonumber(to, 16), offset = tonumber(offset, 16), path = path }
    end
  end
  return list
end

-- The number of the mapping of LIST that has ADDRESS, or nil.
local function mapping_of(list, address)
  local low, high = 1, #list
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if list[middle].to <= address then
      low = middle + 1
    elseif list[middle].from > address then
      high = middle - 1
    else
      return middle
    end
  end
end

-- The mapping of a file that number I of LIST is of: itself, or where it is a program's zeroed variables, those before.
local function file_of(list, i)
  local one, before = list[i], list[i - 1]
  if one.path:find "^/" then return one end
  if one.path == "" and before and before.to == one.from and before.path:find "^/" then return before end
end

-- --- roots that are addresses ---

-- What is at ADDRESS in the file of the MAPPING of process PID: { name = "sessions (.bss+0x40 of server)", from and to,
-- the variable's range, type, or nil }.
local function variable(pid, mapping, address)
  local path = ("/proc/%d/root%s"):format(pid, mapping.path)
  local found = core.symbols.variable_at(path, mapping.offset, address - mapping.from)
  local module = frame.basename(mapping.path)
  local one = { name = "memory of " .. module, from = address, to = address + 1 }
  if found and not found.name then one.name = ("%s+%#x of %s"):format(found.section, found.place, module) end
  if not (found and found.name) then return one end
  one.from = address - found.offset
  one.to = one.from + found.size
  one.name = ("%s (%s+%#x of %s)"):format(found.name, found.section or "?", found.place - found.offset, module)
  local number = core.types.variable(path, found.symbol, found.address)
  one.type = number and describe.get("debug", number)
  return one
end

-- The same of RESULT's process, each variable being looked for once.
local function known_variable(result, mapping, address)
  result.variables = result.variables or {}
  for _, one in ipairs(result.variables) do
    if address >= one.from and address < one.to then return one end
  end
  local one = variable(result.source.pid, mapping, address)
  table.insert(result.variables, one)
  return one
end

-- The variable that the root at ADDRESS is in, or nil.
local function variable_of(result, address)
  result.mappings = result.mappings or mappings(result.source.pid)
  local number = mapping_of(result.mappings, tonumber(address))
  local file = number and file_of(result.mappings, number)
  return file and known_variable(result, file, tonumber(address))
end

local HEAP_MAX = 2 ^ 26 -- what glibc's heaps of other threads than the first are aligned to

-- What is in a heap and in no block that is followed.
local function heap_name(result)
  if result.scan.totals.free_known then return "other memory of the heap" end
  return "other memory of the heap, which may be free" .. (result.exact and "" or " (--stop tells)")
end

local function address_name(result, address)
  result.mappings = result.mappings or mappings(result.source.pid)
  local list = result.mappings
  local thread = C.scan_thread_at(result.scan.native, address)
  local number = mapping_of(list, tonumber(address))
  local one = number and list[number]
  if one and one.path == "[stack]" then return "the stack of the first thread" end
  if thread ~= 0 then return ("the stack or the variables of thread %d"):format(thread) end
  local known = variable_of(result, address)
  if known then return known.name end
  if one and (one.path == "[heap]" or one.path == "" and one.from % HEAP_MAX == 0) then return heap_name(result) end
  return one and one.path ~= "" and "memory " .. one.path or "other memory"
end

-- --- all roots ---

local NAMES = {
  [contract.ROOT_REGISTER] = "the registers of thread %d",
  [contract.ROOT_EPOLL] = "the kernel, for epoll descriptor %d",
  [contract.ROOT_TIMER] = "the kernel, for timer %d",
}

local function root_name(result, root)
  local kind = tonumber(bit.rshift(root, 60))
  if kind == contract.ROOT_ADDRESS then return address_name(result, root) end
  return NAMES[kind]:format(tonumber(bit.band(root, 2ULL ^ 60 - 1ULL)))
end

-- --- what lies between ---

-- The innermost function of the stack that has allocated block I of the scan NATIVE.
local function maker(native, i)
  local names = stack.intern(C.scan_block_at(native, i).stack):folded()
  return names:match "[^;]+$" or "[unknown]"
end

-- What the pointer leads to that TYPE has OFFSET bytes behind its begin, and how that place is called in it: ".next",
-- "[3].first"; nil where that is not known.
local function pointed_to(type, offset)
  local name = ""
  for _ = 1, 32 do -- as deep as types may be in each other
    if not type then return nil, name end
    if type.kind == "pointer" then return describe.element(type), name end
    local inner
    if type.kind == "array" then
      inner = describe.element(type)
      if not (inner and inner.size > 0) then return nil, name end
      name, offset = ("%s[%d]"):format(name, math.floor(offset / inner.size)), offset % inner.size
    else
      for _, field in ipairs(type.fields or {}) do
        local of = describe.of_field(type, field)
        if of and offset >= field.offset and offset < field.offset + math.max(of.size, 1) then
          inner, name, offset = of, name .. "." .. field.name, offset - field.offset
          break
        end
      end
    end
    type = inner
  end
end

local MOST_STEPS = 3

-- The blocks from the root of the scan NATIVE to block I, the one next to the root first, without that.
local function between(native, i)
  local list, from = {}, C.scan_from(native, i)
  while from ~= NO_BLOCK and #list < 1000 do
    table.insert(list, 1, from)
    from = C.scan_from(native, from)
  end
  return list
end

-- "→ struct cache.entries" for each block between ROOT and block I: by type and field where these are known from the
-- type of the variable that the root is in, or "→ cache_new (64 bytes)", by who has allocated it.
local function steps(result, root, i)
  local native, words = result.scan.native, {}
  local list = between(native, i)
  local known = tonumber(bit.rshift(root, 60)) == contract.ROOT_ADDRESS and variable_of(result, root)
  local type = known and known.type and pointed_to(known.type, tonumber(root) - known.from)
  for n = 1, math.min(#list, MOST_STEPS) do
    local place
    if type and type.kind == "struct" and type.size > 0 then
      local link = tonumber(C.scan_link(native, list[n], list[n + 1] or i))
      local next_type, name
      if link >= 0 then next_type, name = pointed_to(type, link % type.size) end
      place, type = type.name .. (name or ""), next_type
    else
      type = nil
    end
    local bytes = tonumber(C.scan_block_at(native, list[n]).bytes)
    words[n] = " → " .. (place or ("%s (%s)"):format(maker(native, list[n]), text.plural(bytes, "byte")))
  end
  if #list > MOST_STEPS then words[#words + 1] = (" → %s"):format(text.plural(#list - MOST_STEPS, "more block")) end
  return table.concat(words)
end

local function by_size(a, b)
  if a.bytes ~= b.bytes then return a.bytes > b.bytes end
  return a.name < b.name
end

-- of(row) → { { name, path, bytes, blocks }, … }: who holds the blocks of a row of uplua.heap.rows, the most bytes
-- first. PATH leads to one of the blocks. The names are those of the first call: a process that has ended has none.
function holders.of(row)
  if row.kept_by then return row.kept_by end
  local list, by_name = {}, {}
  for _, found in ipairs(row.holders) do
    for _, one in ipairs(found.list) do
      local name = root_name(found.result, one.root)
      local holder = by_name[name]
      if not holder then
        holder = { name = name, path = steps(found.result, one.root, one.example), bytes = 0, blocks = 0 }
        by_name[name], list[#list + 1] = holder, holder
      end
      holder.bytes, holder.blocks = holder.bytes + one.bytes, holder.blocks + one.blocks
    end
  end
  table.sort(list, by_size)
  row.kept_by = list
  return list
end

return holders
