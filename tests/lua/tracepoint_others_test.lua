-- Whoever else counts a tracepoint, such as perf, counts what it counts without uplua's handlers there.
local tap    = require "tap"
local target = require "target"

local run = target.script([[
local up   = require "uplua"
local core = require "uplua.core"
local ffi  = require "ffi"
ffi.cdef "long syscall(long number, ...); long read(int fd, void *buffer, unsigned long size);"
local PERF_TYPE_TRACEPOINT, INHERIT, ATTR_SIZE = 2, 2, 64

-- Counts a tracepoint in the target, as perf stat does: a function that returns the count.
local function counter(name)
  local words = ffi.new("uint64_t[8]", PERF_TYPE_TRACEPOINT + ATTR_SIZE * 2 ^ 32, core.tracepoint.find(name):id())
  words[5] = INHERIT
  local fd = ffi.C.syscall(up.syscall_number "perf_event_open", words, ffi.cast("int", up.target().pids[1]),
    ffi.cast("int", -1), ffi.cast("int", -1), ffi.cast("long", 0))
  assert(fd >= 0, "perf_event_open fails")
  return function()
    local count = ffi.new "uint64_t[1]"
    assert(ffi.C.read(tonumber(fd), count, 8) == 8)
    return tonumber(count[0])
  end
end

local WITH_HANDLERS = { "signal:signal_generate", "syscalls:sys_enter_lseek", "syscalls:sys_exit_lseek" }
local n = up.count()
local function count(e) n[e.probe]:inc() end
up.tracepoint("signal:signal_generate", function(e) if e.args.sig == 23 then n[e.probe]:inc() end end)
up.syscall("lseek", count)
up.sysreturn("lseek", function(e)
  for i = 1, e.args.whence do n["rounds"]:inc() end
  if e.elapsed < 0 then return end
  n["returns"]:inc()
end)

local counters = {}
up.at_start(function()
  for i, name in ipairs(WITH_HANDLERS) do counters[i] = counter(name) end
end)
up.at_exit(function()
  print(n["signal:signal_generate"], n["lseek"], n["returns"], n["rounds"])
  for i, name in ipairs(WITH_HANDLERS) do print(name, counters[i]()) end
end)
]], "-- ./build/targets/probe_kinds others")
tap.is(run.err, "", "nothing is lost")
tap.like(run.out, "404\t404\t404\t2828\n", "the handlers see what the process does, and not what its child does")
tap.is(tonumber(run.out:match "sys_enter_lseek\t(%d+)"), 808, "another counter of entries sees both")
tap.is(tonumber(run.out:match "sys_exit_lseek\t(%d+)"), 808, "so does one of returns")
tap.ok(tonumber(run.out:match "signal_generate\t(%d+)") >= 808, "and of any tracepoint")
target.done()
tap.done_testing()
