-- What probes take of the CPUs: the time of their programs, which the kernel counts where it is asked to, and their
-- traps, which are not in that: what these take is measured once, on functions of uplua itself
-- (src/probe/attach/trap.h).
local core = require "uplua.core"

local price = {}

-- count() → a descriptor: until core.system.close of it the kernel counts, which costs each run of a program two looks
-- at the clock; nil and the reason where it does not.
price.count = core.cost.count_runs

-- How often the kernel has counted that PROGRAM, an item's, was hit, and its ns.
local function of_program(program)
  local runs, ns = core.cost.runs(program.fd)
  local entries, entry_ns = 0, 0
  if program.entry_fd and not program.session then entries, entry_ns = core.cost.runs(program.entry_fd) end
  runs, entries = runs or 0, entries or 0
  return program.session and runs / 2 or math.max(runs, entries), (ns or 0) + (entry_ns or 0)
end

local Meter = {}
Meter.__index = Meter

-- meter() → what is taken from one look at a probe to the next, whichever programs it has: m:read(handle) → hits and ns
-- since the last read of that one.
function price.meter()
  return setmetatable({ seen = setmetatable({}, { __mode = "k" }) }, Meter) -- program → { hits, ns }
end

function Meter:read(handle)
  local hits, sum = 0, 0
  for _, item in ipairs(handle.items) do
    local hit, ns = of_program(item.program)
    local before = self.seen[item.program] or { 0, 0 }
    hits, sum = hits + hit - before[1], sum + ns - before[2]
    self.seen[item.program] = { hit, ns }
  end
  return hits, sum
end

-- trap(handle) → the ns that a hit of HANDLE takes by its traps, the most where its sites differ, and whether they do;
-- nil where it has none, or nobody knows.
function price.trap(handle)
  local most, differ
  for _, item in ipairs(handle.items) do
    local record = item.probe
    if not record.sites then return nil end
    local at_return = (record.by_instruction or record.of_go) and "exit" or "return"
    local way = record.provider.of_return and at_return or "entry"
    for kind, count in pairs(record.sites:entries()) do
      local ns = count > 0 and core.cost.trap(way, kind)
      if count > 0 and not ns then return nil end
      differ = differ or ns and most and true
      most = ns and math.max(most or 0, ns) or most
    end
  end
  return most, differ
end

return price
