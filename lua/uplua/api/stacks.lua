-- The chapter "Stacks" of the API.
return {
  title = "Stacks",
  modules = { mappings = "uplua.mappings" },
  types = {
    { "Stack", nil, "a stack of calls, as handlers take it" },
    { "Frame", nil, "an address with its names" },
    { "StackStyle", "{ offsets?: boolean, addresses?: boolean, modules?: boolean, lines?: boolean, "
      .. "returned?: boolean, reverse?: boolean, one_line?: boolean|string }", "how s:text prints" },
  },

  {
    head = { "", "" }, class = "Stack",
    { [[`tostring(s)`, `print(s)`]],
      [[a line for each frame, the innermost first: `     zmalloc+0x21`]] },
    { [[`#s`, `s:depth(): integer`]],
      [[the number of frames]] },
    { [[`s:frames(): Frame[]`]],
      [[the frames, the innermost first]] },
    { [[`s:folded(): string`]],
      [[`main;serve;zmalloc`, for flame graphs]] },
    { [[`s:text { … }`]],
      [[as tostring, in a style: `offsets = false`, `addresses = true`, `modules = true`, `lines = true`, `returned =
        true`, `reverse = true`, `one_line = true`]],
      defines = "`s:text(style?: StackStyle): string`" },
    { [[`s:key(): string`]],
      [[equal for stacks that print equally: to merge those of several processes]] },
    { [[`s:incomplete(): string?`]],
      [[why frames are missing, `[no unwind table: libfoo.so]`; nil for a whole stack]] },
  },

  [==[
`lines = true` prints `zmalloc+0x21 src/zmalloc.c:101`, and a line for each inlined function; the path is from the
current folder on, where it lies there. Of a stack of a `uretprobe` handler, the innermost line is that of the call
which has just returned, not what comes behind it; `returned = true` has that of any stack. `one_line = true` joins the
lines by ` < `; a text instead of true joins them by that text.

Each stack is one object: stacks can be keys of tables. A frame is a table:
]==],

  {
    head = { "field", "" }, class = "Frame",
    { [[`address`]],
      [[where the code is in the process that had the stack first, or, once that is forgotten, in the file, as `nm`
        prints it; a number, beyond 2^53 a `uint64_t`]],
      defines = "`frame.address: address`" },
    { [[`symbol`]],
      [[the function's name; nil where none is known]],
      defines = "`frame.symbol: string?`" },
    { [[`offset`]],
      [[from the function's start; without a function, in the module]],
      defines = "`frame.offset: integer`" },
    { [[`start`]],
      [[where a function without a name begins in the module, by the module's unwind tables; nil where these do not
        tell]],
      defines = "`frame.start: integer?`" },
    { [[`module`]],
      [[the file as the process sees it, `[vdso]`, `[kernel]`, a kernel's module `[ext4]`, `[bpf]`; nil where
        nothing is mapped]],
      defines = "`frame.module: string?`" },
    { [[`kernel`]],
      [[true for an address of the kernel]],
      defines = "`frame.kernel: boolean?`" },
    { [[`guessed`]],
      [[true where no unwind table led to it, but what the code of the frame before does to the stack]],
      defines = "`frame.guessed: boolean?`" },
    { [[`file`, `line`]],
      [[the source's path, as the compiler saw it, and line; nil without debug information]],
      defines = "`frame.file: string?` `frame.line: integer?`" },
    { [[`inlined`]],
      [[true for a function that was inlined into that of the next frame; `#s` does not count such frames, which
        have the next one's address and offset]],
      defines = "`frame.inlined: boolean?`" },
  },

  [==[
Names come from the file's symbol table, its separate debug file (by build id, or by debuglink with a matching checksum)
or its exported symbols with its MiniDebugInfo (`.gnu_debugdata`); C++ and Rust names are demangled. A stub through
which a file calls another one is `malloc@plt`. JIT code is named by the file that its process writes,
`/tmp/perf-PID.map` in the process's own root (`node --perf-basic-prof`, Java with perf-map-agent, `python3 -X perf`).
The file must belong to the process's user or root and be younger than the process. If several lines of it have an
address, the last counts, also for stacks that were printed before it was written: uplua looks at the file every 10 ms
while it needs names, and keeps it open for processes that remove it before they end. It also finds files that were
deleted or replaced since, and those of containers and of services with mounts of their own.

`tostring(frame)` is `malloc+0x1d`, of an inlined function `checked_sum (inlined)`. Debug information (DWARF) may be in
the file, in its separate debug file, compressed or not, and in a file that dwz made of several. uplua reads it for
`s:frames()`, for `lines = true` and for `up.source`, not for plain printing. The first address of a file takes time in
proportion to the file's debug information (80 ms for libc), another one 0.05 ms.

Addresses of other origin have names, too (in handlers `up.sym(address)` is a function as key or value,
[handlers.md](handlers.md)):
]==],

  {
    head = { "", "" },
    { [[`up.symbol(pid: integer, address: address): Frame`]],
      [[the frame of an address of process `pid`, or of the kernel: `print(up.symbol(ev.pid, ev.ip))` in a ring's
        callback]] },
    { [[`up.source(pid: integer, address: address): Frame[]`]],
      [[the frames of an address with file and line, the innermost inlined function first]] },
    { [[`up.address(spec: string, pid?: integer): address?, string?`]],
      [[the address of the function `"libc:malloc"` or the variable `"libc:stdout"`, `"./app:table+0x10"`; nil and
        the reason where there is none]],
      gives_nil = "there is no such function or variable in the process" },
  },

  [==[
- `up.symbol` knows functions and variables of the kernel and its modules, and BPF programs. Every process has the same
  addresses of the kernel.
- `up.source` leaves out debug information that is damaged or too large (a unit's line program of more than 8 MB, a
  file's sections of more than 1 GB). The ledger names the file.
- `up.address` looks in process `pid`, or in the run's target. If the program has a copy of a library's variable, it
  gives the address of the copy, which all code uses.

A stack reaches down to `_start` or the thread's first function, whether the program keeps frame pointers or not. uplua
walks it by call frame information (.eh_frame, or .debug_frame, also in a separate debug file), through libraries, also
later ones, and signal handlers. Code without such information, as musl's, is read itself: what its instructions do to
the stack tells where its caller is. Where they do not tell, and in code that a program makes, the frame pointer does;
on aarch64 the instructions before the code's return. Unless the code keeps a frame record, as the ABI describes it,
that is a guess, though nearly always right: such a caller has `(guessed)` behind its name, and the ledger counts the
stacks. A stack that ends too early says so in its last line, and the ledger counts it:
]==],

  {
    head = { "line", "why" },
    { [[`[no unwind table: libfoo.so]`]],
      [[the last frame's code has no call frame information, or its table is still being made; and its frame pointer
        (aarch64: its code) leads nowhere]] },
    { [[`[mapping not known]`]],
      [[the last frame's code was mapped a moment ago, or is no code]] },
    { [[`[stack not readable]`]],
      [[the stack's memory is not resident, or damaged]] },
    { [[`[cut]`]],
      [[there were more than 127 frames]] },
  },

  [==[
A table takes some milliseconds to make, more on a busy machine. `[mapping not known]` comes from a file that no process
had mapped before and whose table is still being made. It also comes while another thread changes the mappings, when the
kernel cannot be asked.

A stack is code, not a process: the same calls in the same files are one stack, in however many processes, wherever
these have the files in their memory, and after they have exited. Who wants stacks by process puts `e.pid` or `e.comm`
into the key. Code that no file has, of just-in-time compilers, is its process's. A file that is replaced or written to
is another file; of what was overwritten, only offsets are known. `up.symbol(pid, address)` has no stack: it names the
code that is there now.

Some tables are ready before the probes are: those of a PID or of a command, of the programs that the command's words
name (`env python3 …`, `sh -c 'make; ls'`, a script's `#!`), of their libraries, and of programs in earlier runs of the
same user, which are kept in a folder (`UPLUA_CACHE`). The first stacks of any other program are incomplete: its tables
are made when a handler first takes a stack in it.
]==],

  {
    head = { "about memory: `uplua.mappings`", "" },
    { [[`mappings.at(pid: integer, address: address): string?`]],
      [[the mapping of the process in which the address lies: a file, `[heap]`, `[stack]`, `[anonymous]`]],
      gives_nil = "it is in none, or the process had exited when it was first asked for" },
  },
}
