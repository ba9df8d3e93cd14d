-- Calls of allocator functions that call each other: which of a thread's calls is the outermost one. For handlers.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local object    = require "uplua.objects.object"
local run       = require "uplua.base.run"
local up        = require "uplua"

local nesting = {}

local own = run.part(function() return {} end) -- far: counts calls that have not been foreseen

-- track() → { enter, leave, alone }, functions of the event. Declares what keeps count of the threads' calls.
function nesting.track()
  -- Thread → depth of allocator functions that call each other; and the sum: 0 saves the others a lookup.
  local inside    = object.advise(up.hash { max = 16384 }, "trace fewer threads")
  local under_way = up.var(0)
  local calls     = {}

  -- At entry: true for the outermost of the thread's functions.
  calls.enter = capture.inlined(function(e)
    under_way:add(1)
    if inside[e.tid] then
      inside[e.tid] = inside[e.tid] + 1
      return false
    end
    inside[e.tid] = 1
    return true
  end)

  -- At return: true for the one for which enter was true. A call that began before the counting did is never it.
  calls.leave = capture.inlined(function(e)
    local depth = inside[e.tid]
    if not depth then return false end
    under_way:add(-1)
    if depth > 1 then
      inside[e.tid] = depth - 1
      return false
    end
    inside[e.tid] = nil
    return true
  end)

  -- For functions that call none of the others, as their code has it, at entry or return: true if none of the others
  -- has called them.
  calls.alone = capture.inlined(function(e) return under_way:get() == 0 or not inside[e.tid] end)

  -- A thread that is killed in an allocator function leaves its number to others, whatever it is called by then.
  up.raw_tracepoint("sched_process_exit", { all = true, every_cpu = true }, function(e)
    local depth = inside[e.tid]
    if depth then
      under_way:add(-depth)
      inside[e.tid] = nil
    end
  end)
  return calls
end

-- count_far(module, addresses): counts what functions that seem to call none of the others call all the same, by the
-- instructions of MODULE at ADDRESSES: they count like the program's.
function nesting.count_far(module, addresses)
  local specs, far = {}, own().far or aggregate.keep_quiet(up.count())
  own().far = far
  for i, address in ipairs(addresses) do specs[i] = ("%s:%#x"):format(module, address) end
  up.uprobe(specs, function() far:inc() end)
end

-- What the ledger has of it: { { text, count } }.
function nesting.lost()
  local far = own().far
  local text = "call of an allocator's function by the allocator itself, counted like the program's"
  return far and { { text, tonumber(far:get()) } } or {}
end

return nesting
