-- What a proof says of blocks, by the stacks that have allocated them: sums of several processes, stacks of equal names
-- being one.
local contract = require "uplua.contract"
local ffi      = require "ffi"
local stack    = require "uplua.stack.stack"

local C = contract.C
local rows = {}

-- Where the sums of struct scan_group go in a row: what is lost is proven, or suspected.
local function parts_of(proven)
  local lost = proven and "proven" or "suspected"
  return {
    direct = lost, indirect = lost .. "_below", lost = lost .. "_own", held = "held", young = "young",
    unknown = "unknown",
  }
end

local SUMS = {
  "proven", "proven_below", "proven_own", "suspected", "suspected_below", "suspected_own", "held", "young", "unknown",
}

local function new_row(fields)
  for _, name in ipairs(SUMS) do fields[name] = { bytes = 0, blocks = 0 } end
  return fields
end

local function add(sum, bytes, blocks) sum.bytes, sum.blocks = sum.bytes + bytes, sum.blocks + blocks end

local function add_times(row, oldest, newest)
  if not row.oldest or oldest < row.oldest then row.oldest = oldest end
  if not row.newest or newest > row.newest then row.newest = newest end
end

-- Adds the struct scan_group GROUP to ROW, by PARTS.
local function add_group(row, group, parts)
  for field, name in pairs(parts) do
    add(row[name], tonumber(group[field].bytes), tonumber(group[field].blocks))
  end
  if group.direct.blocks > 0 then add_times(row, tonumber(group.oldest), tonumber(group.newest)) end
end

local MOST_HOLDERS = 1024 -- of a stack that are looked at: those of the most bytes

-- The holders of STACK, from number FROM of LIST, which has COUNT: { { root, bytes, blocks, example }, … }, and the
-- number behind the last.
local function holders_of(list, from, count, id)
  local found = {}
  while from < count and list[from].stack < id do from = from + 1 end
  while from < count and list[from].stack == id do
    local holder = list[from]
    if #found < MOST_HOLDERS then
      found[#found + 1] = {
        root = holder.root, bytes = tonumber(holder.held.bytes), blocks = tonumber(holder.held.blocks),
        example = holder.example,
      }
    end
    from = from + 1
  end
  return found, from
end

-- add_result(by_name, result): adds what passes.run has found to the rows of BY_NAME, by stack:key().
function rows.add_result(by_name, result)
  local groups, holders = ffi.new "const struct uplua_scan_group *[1]", ffi.new "const struct uplua_scan_holder *[1]"
  local native, parts, at = result.scan.native, parts_of(result.proven), 0
  local count = tonumber(C.scan_groups(native, groups))
  if count < 0 then error("heap: out of memory", 0) end
  local holder_count = tonumber(C.scan_holders(native, holders))
  for i = 0, count - 1 do
    local group = groups[0][i]
    local one = stack.intern(group.stack)
    local name = one:key()
    local row = by_name[name] or new_row { stack = one, name = name, holders = {} }
    by_name[name] = row
    add_group(row, group, parts)
    local found
    found, at = holders_of(holders[0], at, holder_count, group.stack)
    if #found > 0 then table.insert(row.holders, { result = result, list = found }) end
  end
end

local function lost(row) return row.proven.bytes + row.proven_below.bytes + row.suspected.bytes
  + row.suspected_below.bytes end

local function by_loss(a, b)
  local x, y = lost(a), lost(b)
  if x ~= y then return x > y end
  if a.held.bytes ~= b.held.bytes then return a.held.bytes > b.held.bytes end
  return a.name < b.name
end

-- list(by_name) → the rows, the most bytes lost first, and their sum.
function rows.list(by_name)
  local list, sum = {}, new_row {}
  for _, row in pairs(by_name) do
    list[#list + 1] = row
    for _, name in ipairs(SUMS) do add(sum[name], row[name].bytes, row[name].blocks) end
  end
  table.sort(list, by_loss)
  return list, sum
end

-- flat(proof) → for tables and data, a row for each stack: bytes and blocks that are proven lost and that are
-- suspected, with what hangs below, held, young and unknown, and the stack.
function rows.flat(proof)
  local list = {}
  for i, row in ipairs(proof.stacks) do
    local flat = { stack = row.stack }
    for _, name in ipairs { "proven", "suspected", "held", "young", "unknown" } do
      local below = row[name .. "_below"] or { bytes = 0, blocks = 0 }
      flat[name], flat[name .. "_blocks"] = row[name].bytes + below.bytes, row[name].blocks + below.blocks
    end
    list[i] = flat
  end
  return list
end

return rows
