-- The chapter "System calls as lines" of the API.
return {
  title = "System calls as lines",
  modules = { syscalls = "uplua.syscalls" },
  types = {
    { "CallOptions", "{ failed?: boolean, strings?: integer, stack?: boolean, size?: size }", "of syscalls.trace" },
    { "Call", "{ time: ns, pid: integer, tid: integer, comm: string, name: string, arguments: table[], ret?: integer, "
      .. "elapsed?: ns, result: string, stack?: Stack, line: string }", "what syscalls.trace calls its function with" },
  },

  [==[
```lua
local syscalls = require "uplua.syscalls"
syscalls.trace("read,*stat*", { failed = true }, function(call) print(call.tid, call.line) end)
```

prints lines like strace's: `openat(dfd=-100, filename="/nope", flags=0, mode=0) = -1 ENOENT`. A call has `time`, `pid`,
`tid`, `comm`, `name`, `arguments` (a list of `{ name, value, text }`), `ret`, `elapsed`, `result` (`"-1 ENOENT"`),
`stack` with `stack = true`, and `line`. Calls that do not return, `exit_group`, have no `ret` and no `elapsed`.
]==],

  {
    head = { "", "" },
    { [[`syscalls.trace(patterns?: string, options?: CallOptions, fn: fun(call: Call))`]],
      [[calls `fn` with each call when it returns; nil means all of them. Options: `failed`, only those that failed;
        `strings`, so many bytes of a text (64); `stack`; `size`, of the ring (`"16M"`)]],
      raises = "a name that is none" },
    { [[`syscalls.failed(ret: integer): boolean`]], [[true for what a call returns as an error, in handlers too]] },
  },
}
