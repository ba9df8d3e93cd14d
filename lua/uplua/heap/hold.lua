-- A command that is held when it ends by itself, before its memory goes: traced for that by src/sys/exit_hold.h.
local aggregate      = require "uplua.objects.aggregate"
local bit            = require "bit"
local contract       = require "uplua.contract"
local core           = require "uplua.core"
local count          = require "uplua.objects.count"
local ffi            = require "ffi"
local proc           = require "uplua.base.proc"
local raw_tracepoint = require "uplua.probe.providers.raw_tracepoint"
local text           = require "uplua.base.text"

local C = contract.C

local Hold = {}
Hold.__index = Hold

local hold = {}

local SIGNAL_GROUP_EXIT = 4 -- of include/linux/sched/signal.h

-- new() → for the command that is the target; to be called in the main chunk, and take() once the command may begin.
function hold.new()
  local pid, others = core.target.pids()[1], aggregate.keep_quiet(count.count())
  -- Threads that end with the process, which had something in their registers that nobody sees any more.
  raw_tracepoint.of_processes("sched_process_exit", function(e)
    local ends = bit.band(e.args.p.signal.flags, SIGNAL_GROUP_EXIT) ~= 0
    if ends and e.args.p.tgid ~= e.args.p.pid then others:inc() end
  end)
  return setmetatable({ pid = pid, others = others }, Hold)
end

-- Has the command held when it ends, from now on.
function Hold:take()
  if self.native then return end
  local native = C.exit_hold_new(self.pid)
  if native == nil then error("heap: out of memory", 0) end
  self.native = ffi.gc(native, C.exit_hold_free)
end

-- Lets it go on, or end.
function Hold:drop()
  if not self.native then return end
  C.exit_hold_free(ffi.gc(self.native, nil))
  self.native = nil
end

-- True while the command is held; nil and, where that is known, the reason if it will not be.
function Hold:is_held()
  if not self.native then return nil end
  local state = C.exit_hold_state(self.native)
  if state == contract.EXIT_MISSED then
    local why = ffi.string(C.exit_hold_error(self.native))
    return nil, why ~= "" and why or nil
  end
  return state == contract.EXIT_HELD
end

-- How many threads the process still has: where its first one has ended alone, the others go on.
function Hold:threads()
  return tonumber(proc.status(self.pid):match "\nThreads:%s*(%d+)" or 0)
end

-- What is not known of the process that is held, or nil.
function Hold:unseen()
  local others = tonumber(self.others:get())
  if others > 0 then
    return ("the registers that %s had at the end are not known"):format(text.plural(others, "other thread"))
  end
end

return hold
