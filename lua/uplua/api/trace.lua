-- The chapter "Hits as events" of the API.
return {
  title = "Hits as events",
  modules = { trace = "uplua.trace", types = "uplua.types" },
  types = {
    { "Type", nil, "a type of a program's or the kernel's" },
    { "TraceOptions", "{ returns?: boolean, min?: duration, where?: string, stack?: boolean, "
      .. "kernel?: boolean, depth?: integer, print?: string, size?: size }",
      "of trace.each" },
    { "TraceEvent", "{ time: ns, pid: integer, tid: integer, comm: string, name: string, arguments: table[], "
      .. "ret?: integer, elapsed?: ns, result?: string, returned?: any, values?: any[], stack?: Stack, call: string }",
      "what trace.each calls its function with" },
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
and `call`: the line `openat(dfd=AT_FDCWD, filename="/etc/passwd", flags=O_RDONLY, mode=0) = 3`. `stack` is the
program's with `stack = true`, the kernel's with `kernel = true`, and both with both.

With `depth`, values are of their types, as far as debug information or the kernel's BTF knows them: a structure is a
table by its fields' names, an array a list, an enum's constant its name, and the same holds for `returned`, what the
function returned. So many pointers are followed from each argument, as they were at the hit; an address that is not
followed is a number. `text` and `result` show the same for people.

A spec of a list may be a table with what counts for it alone: `{ "libc:malloc", where = "e.arg0 > 4096" }`. With
`print`, of the options or of a spec, a format in quotes and expressions of the event, `'"%s of %d", e.args.name,
e.arg0'`, the handler takes no more than these: `values`, of which `call` is the line, and `arguments` is empty. `%s` of
`e.args.NAME` is the argument as text, by its type.

`key` is a function for handlers, such as `who.key` of `uplua.by`, whose value is `event.key`.
`where = "e.arg0 > 4096"` and `min` (how long a call takes at least) leave hits out in the kernel. A spec that names
a return, `"sysreturn:openat"`, has `ret` and `elapsed` anyway. A timer belongs to no thread: `pid` and `tid` are 0.
]==],

  {
    head = { "", "" },
    { [[`trace.each(spec: string|table[]|string[], options?: TraceOptions, fn: fun(event: TraceEvent))`]],
      [[calls `fn` for each hit]], raises = "as `up.probe`, of the spec without the script's line" },
    { [[`trace.lines(event: TraceEvent, room: integer, width?: integer): string, string[]`]],
      [[`event.call`; where that is wider than `room` columns, without large structures, which are further lines then,
        indented, of `width` columns (120)]] },
  },

  [==[
A script whose own handlers take structures asks `uplua.types` what they are. Bytes are a string, or what `up.buf` has
read:

```lua
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
local size, sold = order.size, up.ring()
up.uprobe("./shop:sell", function(e) sold:emit { order = up.buf(e.args.order, size) } end)
sold:each(function(record) print(order:decode(record.order).id, order:text(record.order)) end)
```
]==],

  {
    head = { "", "" },
    { [[`types.argument(spec: string, name: string): Type`]],
      [[the type of an argument of the function that the spec names]], raises = "that it is not known" },
    { [[`types.result(spec: string): Type?`]], [[the type of what that returns; nil where it returns nothing]],
      raises = "that it is not known" },
    { [[`types.kernel(name: string): Type`]], [[the kernel's `struct task_struct`, by its BTF]],
      raises = "that there is none" },
  },

  {
    head = { "", "" }, class = "Type",
    { [[`ty:target(): Type?`]], [[what a pointer leads to, or an array consists of]] },
    { [[`ty:fields(): table[]`]], [[of a structure, `{ name, type, offset, first_bit, bits }` each]] },
    { [[`ty:decode(bytes: string|Buffer): any`]],
      [[the value: structures as tables, arrays as lists, integers, texts, an enum's constant by its name]] },
    { [[`ty:text(bytes: string|Buffer): string`]], [[the same for people, in one line]] },
    { [[`ty:lines(bytes: string|Buffer, width?: integer): string[]`]],
      [[the same, indented where a line of `width` columns (120) is not enough]] },
    { [[`name`, `kind`, `size`]],
      [[what C calls it; `struct`, `integer`, `boolean`, `float`, `pointer`, `array`, `void` or `other`; its bytes]],
      defines = "`type.name: string` `type.kind: string` `type.size: integer`" },
  },
}
