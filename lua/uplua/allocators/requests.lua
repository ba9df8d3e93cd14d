-- What C++'s operators new with an alignment are asked for. Those of libstdc++ and libc++ round the size up to a
-- multiple of the alignment before they call aligned_alloc, so that this is asked for more than the program wants.
-- They have no probe at their return, which an exception could not pass: what they are asked for is kept until
-- aligned_alloc returns to them.
local capture = require "uplua.compile.capture"
local core    = require "uplua.core"
local object  = require "uplua.objects.object"
local up      = require "uplua"

local requests = {}

-- operator new(size, alignment), and the same with nothrow; those of arrays call these.
requests.operators = { "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t" }

local MOST_THREADS = 16384 -- in an operator at one time
local FARTHEST = 4096      -- bytes of code from an operator's beginning to its call of aligned_alloc

-- track(counting) → what keeps them, for the run's variable COUNTING: probe(module), bytes(bytes, alignment).
function requests.track(counting)
  -- By threads. Nothing may ever write to it: so its types are declared.
  local asked = object.advise(up.hash { max = MOST_THREADS, key = "u32", value = { at = "i64", bytes = "i64" } },
    "trace fewer threads")
  local kept, cleans_up = {}, false

  -- Probes the operators that MODULE defines.
  function kept.probe(module)
    local specs, offsets = {}, core.module.offsets(module, requests.operators)
    for _, name in ipairs(requests.operators) do
      if offsets[name] then specs[#specs + 1] = module .. ":" .. name end
    end
    up.uprobe(specs, function(e)
      if counting:get() ~= 0 then asked[e.tid] = { at = e.ip, bytes = e.arg0 } end
    end)
    if cleans_up then return end
    cleans_up = true
    up.raw_tracepoint("sched_process_exit", { all = true, every_cpu = true }, function(e) asked[e.tid] = nil end)
  end

  -- Of a function of the C library that allocates BYTES(e) at a multiple of ALIGNMENT(e): what was asked for, which is
  -- less where one of the operators has called it.
  function kept.bytes(bytes, alignment)
    return capture.inlined(function(e)
      local size, one = bytes(e), asked[e.tid]
      if one then
        local distance, added = up.i64(e.caller) - up.i64(one.at), size - one.bytes
        if distance > 0 and distance < FARTHEST and added >= 0 and added <= alignment(e) then
          size = one.bytes
          asked[e.tid] = nil
        end
      end
      return size
    end)
  end
  return kept
end

return requests
