-- The kernel's scheduler: a thread that waits stands in functions of it, which say nothing of why.
local ffi  = require "ffi"
local core = require "uplua.core"

local scheduler = {}

local words = ffi.typeof "const uint64_t *"
local first, last -- addresses; false: the kernel does not tell them

local function address(name)
  local raw = core.kernel.address(name)
  return raw and ffi.cast(words, raw)[0]
end

-- Whether FRAME is in the section of the kernel that holds what schedules and waits, as /proc/PID/wchan has it.
function scheduler.has(frame)
  if not frame.kernel then return false end
  if first == nil then first, last = address "__sched_text_start" or false, address "__sched_text_end" or false end
  return first and last and frame.address >= first and frame.address < last or false
end

return scheduler
