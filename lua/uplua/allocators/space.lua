-- Address spaces: whose memory a traced process works on. Processes that share it are in one, such as a child of vfork
-- until it executes a program. A forked process has its own, with copies of its parent's memory. A process that
-- executes a program gets a new one.
local ffi        = require "ffi"
local bit        = require "bit"
local capture    = require "uplua.compile.capture"
local contract   = require "uplua.contract"
local core       = require "uplua.core"
local count      = require "uplua.objects.count"
local hash       = require "uplua.objects.hash"
local object     = require "uplua.objects.object"
local options    = require "uplua.options"
local proc       = require "uplua.base.proc"
local raw_tracepoint = require "uplua.probe.providers.raw_tracepoint"
local syscall    = require "uplua.probe.providers.syscall"
local run        = require "uplua.base.run"
local var        = require "uplua.objects.var"

local space = {}

local CLONE_VM, CLONE_VFORK, CLONE_THREAD = contract.CLONE_VM, contract.CLONE_VFORK, contract.CLONE_THREAD

-- An address space is a number made of the process with which it began, whether it began as a copy, and the time of
-- that in units of 4 ms. With the time, a process id that is given away again does not make the same number. Of a
-- process that was there before it is the process alone. It is below 2^53, a Lua number.
local PIDS = 2 ^ 22 -- more than the kernel gives away (PID_MAX_LIMIT of its include/linux/threads.h)
local COPY, UNIT = PIDS, 2 * PIDS
local UNITS = 2 ^ 29 -- 26 days
local MOST = 65536   -- processes at one time, as --follow has them

local own = run.part(function()
  return {
    began = nil,   -- when the first traced process executed a program
    sharing = nil, -- processes that share a traced one's memory, and are not traced
    shared_before = 0, -- of these, those that were there before
    left = nil,    -- address space → when the last process left it by executing a program
    entered = nil, -- process → address space
    sharers = nil, -- address space → processes on it beside the first
    names = nil,   -- address space → its process's name
    settled = false,
  }
end)
-- The same for handlers, which take them as they are when they are compiled: those of the run that has called track().
local began, sharing, left, entered, sharers, names

-- True if processes of several address spaces may be traced: of one alone, all is its.
function space.several() return options.follow or #core.target.pids() > 1 end

-- The address space that process PID begins at the event E.
local begun = capture.inlined(function(e, pid, copy) return e.time / 2 ^ 22 % UNITS * UNIT + copy + pid end)

-- In handlers: the address space of the event's process.
space.of = capture.inlined(function(e) return entered[e.pid] or e.pid end)

-- In handlers: true if the address space OF began as a copy of another one.
space.is_copy = capture.inlined(function(of) return bit.band(of, COPY) ~= 0 end)

local function process_of(of) return tonumber(bit.band(of, PIDS - 1)) end
space.process_of = process_of -- the process with which the address space OF began

-- In handlers: a process leaves the address space OF. True if it was the last one.
local leave = capture.inlined(function(of)
  local others = sharers[of]
  if not others or others < 1 then return true end
  sharers[of] = sharers[of] - 1
  return false
end)

local function executes(e)
  if began:get() == 0 then began:set(e.time) end
  local of = space.of(e)
  if leave(of) then left[of] = e.time end
  local new = begun(e, e.pid, 0)
  local same = bit.band(of, PIDS - 1) == e.pid
  if same and new <= of then new = of - bit.band(of, COPY) + UNIT end -- begun in the same unit of time
  entered[e.pid] = new
  names[new] = e.comm
end

local function starts_process(e)
  if bit.band(e.args.clone_flags, CLONE_THREAD) ~= 0 then return end
  local child, of = e.args.task.pid, space.of(e)
  if bit.band(e.args.clone_flags, CLONE_VM) ~= 0 then
    entered[child] = of
    sharers[of] = (sharers[of] or 0) + 1
  else
    local new = begun(e, child, COPY)
    entered[child] = new
    names[new] = e.comm
  end
end

-- The last of the process's threads ends: the kernel has counted it down already.
local function ends(e)
  if e.args.p.signal.live.counter ~= 0 then return end
  local of = space.of(e)
  if leave(of) then names[of] = e.args.p.group_leader.comm end
  entered[e.pid] = nil
end

-- A child of posix_spawn, system or popen executes a program and touches no memory before that. It is recognised by its
-- signals: all that can be blocked are blocked meanwhile.
local ALL_BLOCKED = 0xfffffffffffbfeffULL

local function starts_untraced(e)
  local flags = e.args.clone_flags
  if bit.band(flags, CLONE_VM) == 0 or bit.band(flags, CLONE_THREAD) ~= 0 then return end
  if bit.band(flags, CLONE_VFORK) ~= 0 and e.args.task.blocked.sig[0] == ALL_BLOCKED then return end
  sharing:inc()
end

local KCMP_VM = contract.KCMP_VM

local function share(a, b)
  local number, word = syscall.syscall_number("kcmp"), ffi.typeof("long")
  return contract.C.syscall(number, word(a), word(b), word(KCMP_VM), word(0), word(0)) == 0
end

-- Has the processes PIDS that share their memory be in one address space.
local function unite(pids)
  local firsts = {}
  for _, pid in ipairs(pids) do
    local first
    for _, other in ipairs(firsts) do
      if not first and share(pid, other) then first = other end
    end
    if first then
      local mine = own()
      mine.entered:set(pid, first)
      mine.sharers:set(first, (mine.sharers:get(first) or 0) + 1)
    else
      firsts[#firsts + 1] = pid
    end
  end
end

-- How many children of the processes PIDS share their memory, and are none of them.
local function count_untraced(pids)
  local traced, found = {}, 0
  for _, pid in ipairs(pids) do traced[pid] = true end
  for pid, parent in pairs(core.target.parents()) do
    if traced[parent] and not traced[pid] and share(pid, parent) then found = found + 1 end
  end
  return found
end

-- To be called once the probes are attached: finds out which of the processes that were there before share their
-- memory.
function space.settle()
  if core.target.command() or own().settled then return end
  own().settled = true
  if space.several() then unite(options.follow and require "uplua.target.follow".pids() or core.target.pids()) end
  if not options.follow then own().shared_before = count_untraced(core.target.pids()) end
end

-- A map by process, or by its address space.
local function new_map(types)
  types = types or {}
  return object.advise(hash.hash { max = MOST, key = types.key, value = types.value }, "trace fewer processes")
end

-- Declares what keeps track of the traced processes' address spaces. To be called before the handlers are declared that
-- ask for them; once is enough.
function space.track()
  local mine = own()
  if mine.began then return end
  began, sharing, left = var.var(0), count.count(), new_map()
  mine.began, mine.sharing, mine.left = began, sharing, left
  if not space.several() then
    raw_tracepoint.of_processes("sched_process_exec", function(e)
      if began:get() == 0 then began:set(e.time) end
      left[e.pid] = e.time
    end)
    raw_tracepoint.of_processes("task_newtask", starts_untraced)
    return
  end
  entered = new_map { key = "i64", value = "i64" }
  sharers = new_map { key = "i64", value = "i64" }
  names = new_map()
  mine.entered, mine.sharers, mine.names = entered, sharers, names
  raw_tracepoint.of_processes("sched_process_exec", executes)
  raw_tracepoint.of_processes("sched_process_exit", ends)
  raw_tracepoint.of_processes("task_newtask", options.follow and starts_process or starts_untraced)
end

-- When the command that is the target began, in ns; nil where that is not known.
function space.began()
  local at = own().began:get()
  return at ~= 0 and at or nil
end

-- { address space = when the last process left it, with all that it held, by executing a program, … }
function space.left()
  local times = {}
  for of, at in own().left:pairs() do times[tonumber(of)] = at end
  return times
end

-- How many processes have shared the memory of a traced one and are not traced.
function space.sharing() return own().sharing:get() + own().shared_before end

-- "make (pid 4242)", of the process with which the address space OF began.
function space.name(of)
  local pid, names = process_of(of), own().names
  local name = names and names:get(of)
  return ("%s (pid %d)"):format(name or proc.comm(pid) or "?", pid)
end

-- memory(of) → the bytes of memory that this process has to itself, in RAM or swapped out; nil where it has ended.
function space.memory(of)
  local status = proc.status(process_of(of))
  local resident, swapped = status:match "RssAnon:%s*(%d+)", status:match "VmSwap:%s*(%d+)"
  return resident and (tonumber(resident) + tonumber(swapped or 0)) * 1024
end

return space
