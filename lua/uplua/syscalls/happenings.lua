-- What befalls a thread between its calls, as strace writes it: signals that are delivered, and its end.
local bit        = require "bit"
local capture    = require "uplua.compile.capture"
local numbers    = require "uplua.syscalls.numbers"
local structures = require "uplua.syscalls.structures"
local up         = require "uplua"

local happenings = {}

local PAGE = 4096 -- below are no addresses, but SEND_SIG_NOINFO and SEND_SIG_PRIV
local SIGINFO = 48 -- bytes of the kernel's own siginfo: the rest of what a program gets is zeros

-- Has handlers emit into RING the signals and the ends of threads.
function happenings.emit(ring)
  up.raw_tracepoint("signal_deliver", capture.inlined(function(e)
    local info = up.u64(e.args.info)
    if info < PAGE then return end -- SIGKILL, which nobody handles: the end says so
    ring:emit { time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, signal = e.args.sig,
                info = up.kbuf(info, SIGINFO) }
  end))
  up.raw_tracepoint("sched_process_exit", capture.inlined(function(e)
    ring:emit { time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, status = e.task.exit_code }
  end))
end

-- "+++ exited with 3 +++" of STATUS, as wait4 has it.
local function ended(status)
  local signal = bit.band(status, 0x7f)
  if signal == 0 then return ("+++ exited with %d +++"):format(bit.band(bit.rshift(status, 8), 0xff)) end
  return ("+++ killed by %s%s +++"):format(numbers.signal_name(signal),
    bit.band(status, 0x80) ~= 0 and " (core dumped)" or "")
end

-- What RECORD, one of these, is: { time, pid, tid, comm, name = "signal" or "exit", strace }.
function happenings.of(record)
  local text
  if record.signal then
    local bytes = record["info.bytes"]
    text = ("--- %s %s ---"):format(numbers.signal_name(tonumber(record.signal)),
      bytes and structures.siginfo.show(bytes) or "?")
  else
    text = ended(tonumber(record.status))
  end
  return { time = record.time, pid = record.pid, tid = record.tid, comm = record.comm,
           name = record.signal and "signal" or "exit", strace = text, result = "?", arguments = {}, line = text }
end

return happenings
