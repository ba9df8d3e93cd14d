-- Calls by the 32-bit interface (32-bit programs, `int $0x80`): the kernel's tracepoints of single system calls leave
-- them out without a word. Where a probe stands at such a tracepoint, one program of uplua's own counts them in the
-- ledger: in the function that the kernel has for them alone, which costs other calls nothing; where that cannot be
-- probed, at all calls, of which each on the machine takes some 100 ns more.
local contract = require "uplua.contract"
local core     = require "uplua.core"
local run      = require "uplua.base.run"

local compat_calls = {}

-- x86_64's, of Linux 6.9 on and of older ones that took it over.
local ENTRY = "ia32_sys_call"

local PROVIDERS = { syscall = true, sysreturn = true }

local own = run.part(function() return { counted = false } end)

-- True where one of PROBES, of uplua.probe.handler, stands at the tracepoint of a single call.
local function has_named(probes)
  for _, probe in ipairs(probes) do
    if PROVIDERS[probe.provider.name] and not probe.raw then return true end
  end
  return false
end

-- The ways to count them: the fields of uplua.probe.handler in which they differ.
local function in_function()
  local functions = core.probe.resolve_kernel(ENTRY)
  core.probe.check_kernel("kprobe " .. ENTRY)
  return {
    provider = require "uplua.probe.providers.kprobe".providers.kprobe, -- here, both: they need uplua.probe.declare
    where = "the kernel's " .. ENTRY,
    attach = function(_, program, link)
      local place = program.reads_registers and "entry by event" or "entry"
      link((core.probe.attach_kernel(place, program.fd, program.cookie, functions)))
    end,
  }
end

local function at_all_calls()
  return {
    provider = require "uplua.probe.providers.syscall".providers.syscall, raw = true,
    where = "the entry of every system call",
    attach = function(_, program, link) link(core.kernel.attach_raw_tracepoint(program.fd, "sys_enter")) end,
  }
end

-- begin(probes, declare): declares, by DECLARE, a function as declare.probe, what counts such calls, once PROBES, which
-- are about to be attached, need that.
function compat_calls.begin(probes, declare)
  local mine = own()
  if mine.counted or not has_named(probes) then return end
  mine.counted = true
  local ok, way = pcall(in_function)
  way = ok and way or at_all_calls()
  way.spec, way.handler, way.arguments, way.passed_over = "system calls by name", function() end, {}, true
  way.call = contract.SYSTEM_CALL_COMPAT
  declare(way)
end

return compat_calls
