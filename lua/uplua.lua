-- The public API. `require "uplua"` returns this table; in `-e` code and at the prompt its functions are globals.
--
-- Each name belongs to a module, which is loaded when the name is first used: a script that counts calls does not pay
-- for histograms.
local home = {}
for module, names in pairs {
  -- shared objects
  ["objects.hash"] = "hash lru_hash array percpu_hash",
  ["objects.count"] = "count sum",
  ["objects.stats"] = "min max stats",
  ["objects.hist"] = "hist lhist hdr",
  ["objects.var"] = "var",
  ["objects.ring"] = "ring",
  ["objects.buffer"] = "hex",
  ["objects.record"] = "copy",
  ["objects.order"] = "sorted",

  -- probes: a row for each provider (uplua.probe.providers)
  ["probe.providers.uprobe"] = "uprobe uretprobe site defines modules_defining",
  ["probe.providers.kprobe"] = "kprobe kretprobe",
  ["probe.providers.fentry"] = "fentry fexit",
  ["probe.providers.sampling"] = "profile perf interval",
  ["probe.providers.watch"] = "watch",
  ["probe.providers.tracepoint"] = "tracepoint",
  ["probe.providers.raw_tracepoint"] = "raw_tracepoint",
  ["probe.providers.usdt"] = "usdt",
  ["probe.providers.syscall"] = "syscall sysreturn syscall_name syscall_number errno_name",
  ["probe.kernel_names"] = "flags signal_name task_state_name ip",
  ["probe.overhead"] = "probe_cost",
  ["probe.handle"] = "probes",
  ["probe.counter"] = "counter",
  ["probe.any"] = "probe retprobe expression",
  ["run.list"] = "list",
  ["run.guest"] = "bpf_object",

  -- addresses and names
  ["stack.frame"] = "symbol source address",

  -- operations of handlers
  ["compile.builtin"] = "i8 i16 i32 i64 u8 u16 u32 u64 read_i8 read_i16 read_i32 read_i64 read_u8 read_u16 read_u32 "
    .. "read_u64 str kstr buf kbuf cast kcast sym",

  -- the run
  ["base.loop"] = "every after at_start at_stop at_exit exit",
  ["run.report"] = "report",
  ["target.description"] = "target",
  ["base.version"] = "version require_version",
  ["probe.setup"] = "ledger",

  -- what others are told of the run
  ["service.metric"] = "metric",

  -- text
  ["base.text"] = "printf clock now",

  -- the script's own options
  args = "args",
} do
  for name in names:gmatch "%S+" do home[name] = module end
end

local meta = {
  names = home, -- for the prompt's completion
  missing = nil, -- the name that was asked for last and is none, for the message if it is called
}

function meta.__index(up, name)
  local module = home[name]
  if not module then
    meta.missing = name
    return nil
  end
  local value = require("uplua." .. module)[name]
  up[name] = value
  return value
end

return setmetatable({}, meta)
