-- The chapter "Hits as events" of the API.
return {
  title = "Hits as events",
  modules = { trace = "uplua.trace" },
  types = {
    { "TraceOptions", "{ returns?: boolean, min?: duration, where?: string, stack?: boolean, size?: size }",
      "of trace.each" },
    { "TraceEvent", "{ time: ns, pid: integer, tid: integer, comm: string, name: string, arguments: table[], "
      .. "ret?: integer, elapsed?: ns, stack?: Stack, call: string }", "what trace.each calls its function with" },
  },

  [==[
```lua
local trace = require "uplua.trace"
trace.each({ "syscall:open*", "libc:malloc" }, { returns = true, min = "1ms" }, function(event)
  print(event.time, event.comm, event.call)
end)
```

calls the function for each hit of the probes, in order of time. An event has `time`, `pid`, `tid`, `comm`, `name`,
`arguments` (a list of `{ name, value, text }`, by name where the probe has names), `ret` and `elapsed` with `returns`,
`stack` with `stack = true`, and `call`: the line `openat(dfd=-100, filename="/etc/passwd", flags=0, mode=0) = 3`.
`where = "e.arg0 > 4096"` and `min` (how long a call takes at least) leave hits out in the kernel. A spec that names
a return, `"sysreturn:openat"`, has `ret` and `elapsed` anyway. A timer belongs to no thread: `pid` and `tid` are 0.
]==],

  {
    head = { "", "" },
    { [[`trace.each(spec: Specs, options?: TraceOptions, fn: fun(event: TraceEvent))`]],
      [[calls `fn` for each hit]], raises = "as `up.probe`, of the spec without the script's line" },
  },
}
