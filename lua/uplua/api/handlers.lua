-- The chapter "Handlers" of the API.
local NOT_INTERVAL = "uprobe uretprobe kprobe kretprobe fentry fexit profile perf watch tracepoint raw_tracepoint "
  .. "syscall sysreturn usdt"

return {
  title = "Handlers",
  types = {
    { "Event", nil, "what a handler is called with" },
    { "Symbol", "{ symbol: string?, module: string?, kernel: boolean? }", "a function, as up.sym has it" },
  },

  [==[
A handler is a function of one argument, the event:
]==],

  {
    head = { "field", "" },
    { [[`e.time: ns`]],
      [[ns, CLOCK_MONOTONIC; `up.now()` is the script's]] },
    { [[`e.pid: integer`, `e.tid: integer`, `e.ppid: integer`, `e.uid: integer`, `e.gid: integer`,
        `e.comm: string`, `e.cgroup: integer`]],
      [[process, thread, the process's parent, user, group, the thread's name, the cgroup's number]],
      kinds = NOT_INTERVAL },
    { [[`e.traced: boolean`]],
      [[whether what runs is the target's, by `--tid`, `--follow`, `--cgroup` and `--comm`, too: false only where
        `all = true`]],
      kinds = NOT_INTERVAL },
    { [[`e.cpu: integer`]], [[the CPU, from 0]] },
    { [[`e.task: any`]],
      [[the kernel's `struct task_struct *` of the thread that runs, by the kernel's own types: `e.task.prio`]] },
    { [[`e.arg0: integer` … `e.arg7: integer`]],
      [[arguments as 64-bit integers, in `uretprobe` and `kretprobe` those of the entry; `up.i32(e.arg0)` for an
        int. On x86_64 up to arg5]],
      defines = [[`e.arg1: integer` `e.arg2: integer` `e.arg3: integer` `e.arg4: integer` `e.arg5: integer`
        `e.arg6: integer`]],
      kinds = "uprobe uretprobe kprobe kretprobe fentry fexit usdt raw_tracepoint syscall sysreturn" },
    { [[`e.arg0` …, `e.nargs: integer`]],
      [[`usdt`: the arguments as the program declares them, and their number]],
      kinds = "fentry fexit usdt raw_tracepoint syscall sysreturn" },
    { [[`e.elapsed: ns`]],
      [[`uretprobe`, `kretprobe`, `sysreturn`: ns since the entry; in `uretprobe` net of what probes take, the
        function's own (`up.probe_cost()`) and those of calls within (`e.taken_off`), and never below 0]],
      kinds = "uretprobe kretprobe sysreturn" },
    { [[`e.taken_off: ns`]],
      [[what probes of calls within this one took, which `e.elapsed` is net of ([handlers.md](handlers.md))]],
      kinds = "uretprobe kretprobe sysreturn" },
    { [[`e.ret: integer`]],
      [[`uretprobe`, `kretprobe`, `fexit`, `sysreturn`: return value, the whole register unless the probe has `typed
        = true`]],
      kinds = "uretprobe kretprobe fexit sysreturn" },
    { [[`e.ip: address`]],
      [[the address of the function's entry, in `kretprobe` too, of the spec's offset, or of the instruction that a
        sample has interrupted]],
      kinds = "uprobe uretprobe kprobe kretprobe fentry fexit usdt profile perf watch" },
    { [[`e.caller: address`]], [[`uprobe`, `uretprobe`: the return address]], kinds = "uprobe uretprobe" },
    { [[`e.sp: address`]],
      [[`uprobe`, `uretprobe`, `usdt`: the stack pointer. At a function's entry on x86_64 it points to the return
        address. `syscall`, `sysreturn`: that with which the thread entered the kernel]],
      kinds = "uprobe uretprobe usdt syscall sysreturn" },
    { [[`e.regs.NAME: integer`]],
      [[a register of the CPU: `e.regs.rbx`, `e.regs.flags` ([handlers.md](handlers.md))]],
      kinds = "uprobe uretprobe usdt kprobe kretprobe profile perf watch" },
    { [[`e.probe: string`]], [[the spec]] },
    { [[`e.func: string`]],
      [[the function's name, readable for C++ and Rust, and cut to 127 bytes where there are several]] },
    { [[`e.period: integer`]], [[`profile`, `perf`: what the sample stands for]], kinds = "profile perf" },
    { [[`e.addr: address`]], [[`perf`, `watch`: the address that the event is about]], kinds = "perf watch" },
    { [[`e.value: integer`]],
      [[`watch`: what is at the watched place]],
      kinds = "watch" },
    { [[`e.args.NAME: any`]],
      [[`uprobe`, `uretprobe`: the argument, by debug information; `tracepoint`: the field of its record, as the
        kernel names it; `raw_tracepoint`, `syscall`, `sysreturn`: the argument]],
      kinds = "uprobe uretprobe kprobe kretprobe fentry fexit usdt tracepoint raw_tracepoint syscall sysreturn" },
    { [[`e.vars.NAME: any`]],
      [[`uprobe`: a variable of the program where the probe stands, at any instruction or line, by debug information
        ([handlers.md](handlers.md))]], kinds = "uprobe" },
    { [[`e.nr: integer`]],
      [[`syscall`, `sysreturn`: the call's number]],
      kinds = "syscall sysreturn" },
    { [[`e:ustack(depth?: integer): Stack`]],
      [[the user's stack; in a return handler the caller's]],
      kinds = NOT_INTERVAL },
    { [[`e:kstack(depth?: integer): Stack`]],
      [[the kernel's stack; without frames where the probe stands in user space. At a tracepoint or system call it
        begins where the kernel has fired that]],
      kinds = NOT_INTERVAL },
    { [[`e:stack(): Stack`]],
      [[both as one: the kernel's frames, and below them the user's. Where the probe stands in user space it is
        `e:ustack()`]],
      kinds = NOT_INTERVAL },
  },

  [==[
`typed = true`, which `up.retprobe` sets, cuts `e.ret` to the integer type that the function returns: in programs by
debug information, of many functions each to its own; of one function of the kernel's by the kernel's types. A result
of 64 bits has no sign where none of the probe's functions returns one with a sign or of an unknown type. Of a program's
function that returns nothing, a `double` or a structure, `e.ret` is refused. Where only some of a probe's
functions do, it is nil at their returns, and a warning names them; another one names those whose type is not known, of
which it is the whole register.

If a probe has a list of specs, `e.probe` is the whole list for `up.uprobe`, and for `up.probe` the first spec that
names the place.

A handler may use locals, `if`, `and`, `or`, `not`, comparisons, 64-bit integer arithmetic, `bit.*`, records `{ bytes =
e.arg0 }` and tuples `{ e.comm, e.pid }` as keys and values, and constants and functions of the script (functions are
inlined). The compiler refuses anything else, with file, line and what to write instead. Losses in the kernel are
counted and printed at the end. [handlers.md](handlers.md) has all of it. These functions are there for handlers:
]==],

  {
    head = { "in handlers", "" },
    { [[`up.i8(value: integer): integer` … `up.u64(value: integer): integer`]],
      [[the value cut to so many bits, signed or unsigned; in the script, too]],
      defines = "`up.i16(value: integer): integer` `up.i32(value: integer): integer` `up.i64(value: integer): integer`"
        .. " `up.u8(value: integer): integer` `up.u16(value: integer): integer` `up.u32(value: integer): integer`" },
    { [[`up.read_i8(from: address): integer?` … `up.read_u64(from: address): integer?`]],
      [[an integer in the traced program's memory; nil if it cannot be read, which the ledger counts]],
      defines = "`up.read_i16(from: address): integer?` `up.read_i32(from: address): integer?`"
        .. " `up.read_i64(from: address): integer?` `up.read_u8(from: address): integer?`"
        .. " `up.read_u16(from: address): integer?` `up.read_u32(from: address): integer?`",
      raises = "the script calls it" },
    { [[`up.str(from: address, size?: bytes): string?`, `up.kstr(from: address, size?: bytes): string?`]],
      [[the text at an address, of the program or of the kernel, up to its NUL; nil if it cannot be read]],
      raises = "the script calls it" },
    { [[`up.buf(from: address, size: bytes, most?: bytes): Buffer?`,
        `up.kbuf(from: address, size: bytes, most?: bytes): Buffer?`]],
      [[bytes at an address, of the program or of the kernel, `most` of them at the most; nil if they cannot be read]],
      raises = "the script calls it" },
    { [[`up.cast(type: string, from: address): any`]],
      [[what is at an address, by a type that `ffi.cdef` was given or that the kernel has:
        `up.cast("struct request *", e.arg0).len`]],
      raises = "the script calls it" },
    { [[`up.kcast(type: string, from: address): any`]],
      [[the same of the kernel's memory, in handlers whose addresses are the program's:
        `up.kcast("struct mount *", address).mnt_parent`]],
      raises = "the script calls it" },
    { [[`up.sym(at: address): Symbol`]],
      [[the function at an address, of the process that runs or of the kernel, as key and value: counted for all of
        its addresses together ([handlers.md](handlers.md))]],
      raises = "the script calls it" },
    { [[`up.copy(record: table): table`]],
      [[a copy of a record: of one that a map holds, and in the script of one that a ring's callback is given]] },
  },
}
