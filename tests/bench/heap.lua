-- For tests/bench/heap: one pass over the memory of build/bench/heapful while it runs, and one while it is stopped.
-- Prints lines "NAME VALUE": seconds, milliseconds of CPU, megabytes.
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"

local trace = allocators.trace({ blocks = 1000000, stack = true }, {})

local function read(path, pattern)
  local file = io.open(path)
  local found = file and file:read("*a"):match(pattern)
  if file then file:close() end
  return tonumber(found)
end

local function cpu() return read("/proc/self/schedstat", "%d+") / 1e6 end -- ms

-- The processes of PROOF have to be known: says what of the one is measured.
local function told(proof)
  local process = proof.processes[1]
  if process.failed then error(process.why, 0) end
  return process
end

local function measure_stopped()
  local before = cpu()
  heap.prove(trace, { passes = 1, stop = "60s" }, function(proof)
    local process = told(proof)
    if not process.exact then error(process.why, 0) end
    print("stopped-cpu-ms", cpu() - before)
    print("stopped-ms", tonumber(process.scan.totals.stopped_for) / 1e6)
    print("suspects", process.suspects)
    print("peak-mb", read("/proc/self/status", "VmHWM:%s+(%d+)") / 1024)
    up.exit()
  end)
end

up.after(0, function() io.stderr:write("tracing\n") end)
up.every("100ms", function()
  local file = io.open(arg[1]) -- it is made once the program has all its memory
  if not file then return end
  file:close()
  os.remove(arg[1])
  local before = up.now()
  heap.prove(trace, { passes = 1 }, function(proof)
    told(proof)
    print("pass-s", (up.now() - before) / 1e9)
    up.after("1s", measure_stopped)
  end)
end)
