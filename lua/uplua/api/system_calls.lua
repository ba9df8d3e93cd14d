-- The chapter "System calls as lines" of the API.
return {
  title = "System calls as lines",
  modules = { syscalls = "uplua.syscalls", descriptors = "uplua.descriptors" },
  types = {
    { "Descriptors", nil, "which file, pipe or socket descriptors are" },
    { "CallOptions", "{ failed?: boolean, strings?: integer, stack?: boolean, descriptors?: boolean, "
      .. "path?: string, signals?: boolean, unfinished?: boolean, size?: size, option?: string }",
      "of syscalls.trace" },
    { "CallReport", "{ by?: string, keys?: string[], sums?: string[], where?: string, failed?: boolean, "
      .. "errors?: boolean, interval?: duration, top?: integer }", "of syscalls.report" },
    { "Call", "{ time: ns, pid: integer, tid: integer, comm: string, name: string, arguments: table[], ret?: integer, "
      .. "elapsed?: ns, result: string, stack?: Stack, line: string, "
      .. "strace: string, unfinished?: true }", "what syscalls.trace calls its function with" },
  },

  [==[
```lua
local syscalls = require "uplua.syscalls"
syscalls.trace("read,%file", { failed = true }, function(call) print(call.tid, call.strace) end)
```

prints strace's lines: `openat(AT_FDCWD, "/nope", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)`. A call
has `time`, `pid`, `tid`, `comm`, `name`, `arguments` (a list of `{ name, value, text }`), `ret`, `elapsed`, `result`
(`"-1 ENOENT"`), `stack` with `stack = true`, `strace`, and `line`, which has the names:
`openat(dfd=AT_FDCWD, filename="/nope", flags=O_RDONLY|O_CLOEXEC, mode=0) = -1 ENOENT`. Calls that do not return,
`exit_group`, have no `ret` and no `elapsed`. With `signals = true` signals that are delivered and ends of threads come
between the calls: their `name` is `signal` or `exit`, their `strace` `--- SIGTERM {…} ---` or `+++ exited with 0 +++`.
With `unfinished = true` the calls come last that threads wait in when tracing ends, of the target's threads and of
those that have made calls: `read(0,  <unfinished ...>`. They have `unfinished`, and no arguments, result or time.
A call is valid until the function returns: the next is the same table.

Groups of calls are `%file`, `%desc`, `%memory`, `%network`, `%process`, `%signal`, `%creds`, `%clock`, `%stat` and
`%ipc`; a `!` before all means all others: `"!%memory"`.
]==],

  {
    head = { "", "" },
    { [[`syscalls.trace(patterns?: string, options?: CallOptions, fn: fun(call: Call))`]],
      [[calls `fn` with each call when it returns; nil means all. `failed`, `path`: only those; `strings`: bytes of a
        buffer; `stack`, `descriptors`: with these; `size`, `option`: of its ring]],
      raises = "a name that is none" },
    { [[`syscalls.report(patterns?: string, options?: CallReport)`]],
      [[counts these calls, and prints the table of `syscalls.lua` (`up.report`): how many, how many failed, the
        percentiles of their times, the time in all]],
      raises = "a name that is none" },
    { [[`syscalls.text(name: string, argument: string|integer, value: integer): string`]],
      [[how strace shows `value` as an argument, by its name or place, of the call: `O_RDONLY|O_CLOEXEC` of
        `("openat", "flags", 0x80000)`; what it points to is not read]],
      raises = "a name that is none" },
    { [[`syscalls.failed(ret: integer): boolean`]], [[true for what a call returns as an error, in handlers too]] },
  },

  [==[
Of `syscalls.report`, `by`, `keys` and `sums` are as users give them (`uplua.by`); `where` is a condition of the event;
`failed`: only those that fail; `errors`: these by name, too; `interval` and `top` are those of the report.

A descriptor is a number that means another file in each process and at each moment. `uplua.descriptors` asks the kernel
for it when the handler runs, so that nothing depends on when it was opened, or whether it is still open later.

```lua
local descriptors = require "uplua.descriptors"
local files, bytes = descriptors.new(), up.sum()
up.sysreturn("read", function(e) if e.ret > 0 then bytes[files:file(e.arg0)]:add(e.ret) end end)
up.at_exit(function() for file, n in bytes:pairs() do print(files:name(file), n) end end)
```

A name is `/etc/passwd`, `/tmp/x (deleted)`, `/dev/null<char 1:3>`, `TCP:[127.0.0.1:22->127.0.0.1:5022]`,
`UNIX-STREAM:[1234->1235,"/run/x"]`, `NETLINK:[ROUTE:4711]`, `pipe:[123]` or `anon_inode:[eventpoll]`, as strace has
them. A file that is renamed or deleted and a socket that is bound or connected become another one, with another number.
If a directory above a file is renamed, the file keeps the name that it had when it was first met. It needs the kernel's
BTF.
]==],

  {
    head = { "", "" },
    { [[`descriptors.new(options?: { max?: integer, size?: size }): Descriptors`]],
      [[`max` (65536) files are remembered, others described again; `size`, of the ring for descriptions (`"1M"`)]] },
  },

  {
    head = { "in handlers", "" }, class = "Descriptors",
    { [[`f:file(fd: integer): integer`]],
      [[the number of the file behind a descriptor of the thread that runs; 0 if it is not open. -100, AT_FDCWD, is its
        working directory]] },
  },

  {
    head = { "in the script", "" }, class = "Descriptors",
    { [[`f:name(file: integer): string?`]],
      [[the file of that number; nil of 0, and where its description found no room in the ring: the ledger says so]] },
    { [[`f:path(file: integer): string?`]], [[its path; nil of what has none]] },
    { [[`f:shown(file: integer): string?`]],
      [[as strace writes it behind a descriptor: `</tmp/x>(deleted)`]] },
  },
}
