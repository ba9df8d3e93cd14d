-- The public API. `require "uplua"` returns this table; in `-e` code and at the prompt its functions are globals.
--
-- Each name belongs to a module, which is loaded when the name is first used: a script that counts calls does not pay
-- for histograms.
local home = {
  -- shared objects
  hash = "objects.hash", lru = "objects.hash", array = "objects.hash", percpu_hash = "objects.hash",
  count = "objects.count", sum = "objects.count", min = "objects.stats", max = "objects.stats", stats = "objects.stats",
  hist = "objects.hist", lhist = "objects.hist", hdr = "objects.hist",
  var = "objects.var", ring = "objects.ring", copy = "objects.record",

  -- probes
  uprobe = "probe.setup", uretprobe = "probe.setup", kprobe = "probe.kernel", kretprobe = "probe.kernel", fentry = "probe.kernel", fexit = "probe.kernel",
  profile = "probe.sampling", perf = "probe.sampling", interval = "probe.sampling", watch = "probe.watchpoint", counter = "counter",
  tracepoint = "probe.tracepoint", rawtracepoint = "probe.tracepoint",
  usdt = "probe.usdt",
  probe = "probe", retprobe = "probe", expression = "probe", list = "run.list",
  syscall = "probe.syscall", sysreturn = "probe.syscall",
  syscall_name = "probe.syscall", syscall_number = "probe.syscall", error_name = "probe.syscall",
  object = "run.guest",
  probe_cost = "probe.overhead",
  site = "probe.setup", defines = "probe.setup", modules_defining = "probe.setup",

  -- addresses and names
  symbol = "stack.frame", source = "stack.frame", address = "stack.frame",

  -- operations of handlers
  i8 = "compile.builtin", i16 = "compile.builtin", i32 = "compile.builtin", i64 = "compile.builtin",
  u8 = "compile.builtin", u16 = "compile.builtin", u32 = "compile.builtin", u64 = "compile.builtin",
  read_i8 = "compile.builtin", read_i16 = "compile.builtin", read_i32 = "compile.builtin", read_i64 = "compile.builtin",
  read_u8 = "compile.builtin", read_u16 = "compile.builtin", read_u32 = "compile.builtin", read_u64 = "compile.builtin",
  str = "compile.builtin", kstr = "compile.builtin", cast = "compile.builtin",

  -- the run
  every = "base.loop", after = "base.loop", exit = "base.loop",
  at_start = "base.loop", at_stop = "base.loop", at_exit = "base.loop", report = "run.report",

  -- text
  printf = "text", clock = "text", now = "text", duration = "text", seconds = "text",
  thousands = "text", plural = "text", bar = "text", escape = "text", quote = "text", sorted = "objects.order",

  -- the script's own options
  args = "args", wrong = "args",
}

local up = {}

-- s:starts(prefix) for strings means in user space what it means in a handler.
function up.starts(s, prefix)
  if type(s) ~= "string" or type(prefix) ~= "string" then
    error(("starts: two strings are expected, not a %s and a %s"):format(type(s), type(prefix)), 2)
  end
  return s:sub(1, #prefix) == prefix
end
string.starts = up.starts

return setmetatable(up, {
  names = home, -- for the prompt's completion
  __index = function(_, name)
    local module = home[name]
    local value
    if module then
      value = require("uplua." .. module)[name]
    end
    up[name] = value
    return value
  end,
})
