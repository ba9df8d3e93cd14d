-- Heaps for other tools: what is held by stack, as sources of uplua.flame, uplua.folded and uplua.pprof.
local profile = {}

local LOST = "proven lost"
local RED = "#e2574c"

profile.colors = { [LOST] = RED }

-- What is proven lost of what the stack of each name has allocated.
local function lost_of(proof)
  local by_name = {}
  for _, row in ipairs(proof and proof.stacks or {}) do
    if row.proven_own.blocks > 0 then
      by_name[row.name] = { bytes = row.proven_own.bytes, blocks = row.proven_own.blocks, stack = row.stack }
    end
  end
  return by_name
end

-- of(held, totals, proof) → what is held by stack, { inuse_space, inuse_objects, alloc_space, alloc_objects }, tables
-- of numbers with equal keys: a stack, or { "proven lost", stack } for what PROOF has proven. HELD: a list as
-- trace:held() has it; TOTALS: of trace:totals(), or nil, and PROOF may be nil.
function profile.of(held, totals, proof)
  local of = { inuse_space = {}, inuse_objects = {}, alloc_space = {}, alloc_objects = {} }
  local lost, keys = lost_of(proof), {}
  local function put(key, bytes, blocks)
    of.inuse_space[key], of.inuse_objects[key] = bytes, blocks
    of.alloc_space[key], of.alloc_objects[key] = 0, 0
  end
  for name, one in pairs(lost) do put({ LOST, one.stack }, one.bytes, one.blocks) end
  for _, h in ipairs(held) do
    local gone = lost[h.name] or { bytes = 0, blocks = 0 }
    keys[h.name] = h.stack
    put(h.stack, math.max(h.bytes - gone.bytes, 0), math.max(h.blocks - gone.blocks, 0))
  end
  for _, all in ipairs(totals or {}) do
    local key = keys[all.name] or all.stack
    if not keys[all.name] then put(key, 0, 0) end
    of.alloc_space[key], of.alloc_objects[key] = all.bytes, all.blocks
  end
  return of
end

-- pprof(of, with_totals) → the options of pprof.write for of.inuse_space.
function profile.pprof(of, with_totals)
  local more = { { type = "inuse_objects", unit = "count", numbers = of.inuse_objects } }
  if with_totals then
    more[2] = { type = "alloc_space", unit = "bytes", numbers = of.alloc_space }
    more[3] = { type = "alloc_objects", unit = "count", numbers = of.alloc_objects }
  end
  return { type = "inuse_space", unit = "bytes", more = more, period_type = "space", period_unit = "bytes", period = 1 }
end

return profile
