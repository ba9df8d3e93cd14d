-- The chapter "Probes" of the API.
return {
  title = "Probes",
  modules = { specs = "uplua.specs", by = "uplua.by" },
  types = {
    { "Handler", "fun(e: Event): any", "a Lua function, which is compiled" },
    { "Specs", "string|string[]", "one spec, or a list of specs" },
    { "Who", nil, "by whom a script counts" },
    { "Probe", nil, "what a constructor of probes returns" },
    { "Site", "{ path?: string, module?: string, [\"function\"]?: string, offset?: integer, inside?: integer, "
      .. "where?: string }", "a place in code" },
    { "UprobeOptions", "{ slide?: boolean|\"lossy\" }", "of uprobe",
      keys = {
        slide = 'false: on the first instruction, whatever that costs; "lossy": cheaper, but calls '
          .. "that jump away before are not seen",
      } },
    { "UretprobeOptions",
      "{ slide?: boolean|\"lossy\", typed?: boolean, returns?: \"instructions\", throws?: boolean }", "of uretprobe",
      keys = {
        slide = 'false: on the first instruction, whatever that costs; "lossy": cheaper, but calls '
          .. "that jump away before are not seen",
        typed = "e.ret is cut to the integer type that the function returns by debug information",
        returns = "probes stand on the return instructions, instead of a changed return address",
        throws = "false: no exception leaves the function, and uplua does not warn of that",
      } },
    { "TypedOptions", "{ typed?: boolean }", "of kretprobe and fexit",
      keys = {
        typed = "e.ret is cut to the integer type that the function returns by debug information",
      } },
    { "PerfOptions", "{ period?: integer|string, hertz?: hertz }",
      "of perf; a number is the period, of clocks in ns or \"10ms\"",
      keys = {
        period = "the handler runs at one in so many events",
        hertz = "… or so many times a second",
      } },
    { "WatchOptions", "{ access: \"w\"|\"rw\"|\"x\", size?: 1|2|4|8 }", "of watch; a text is the access",
      keys = {
        access = "when it is written, read or written, or run",
        size = "bytes that are watched",
      } },
    { "TracepointOptions", "{ strings?: bytes, all?: boolean, every_cpu?: boolean }", "of tracepoint",
      keys = {
        strings = "bytes that are taken of a text of any length",
        all = "the handler runs for whatever process the kernel works then, not for the target alone",
        every_cpu = "also on the CPUs that --cpu leaves out",
      } },
    { "RawTracepointOptions", "{ all?: boolean, every_cpu?: boolean, begun?: boolean }", "of raw_tracepoint",
      keys = {
        all = "the handler runs for whatever process the kernel works then, not for the target alone",
        every_cpu = "also on the CPUs that --cpu leaves out",
        begun = "of a command, from its first instruction on: not while uplua holds it before",
      } },
    { "ExpressionOptions", "{ name?: string, kind?: \"value\"|\"number\"|\"condition\", at_return?: string }",
      "of expression" },
  },

  {
    head = { "", "" },
    { [[`up.uprobe(spec: Specs, options?: UprobeOptions, handler: Handler): Probe`]],
      [[the handler runs when the function is entered]],
      raises = "a spec that names nothing, or what cannot be probed; a handler that cannot be compiled" },
    { [[`up.uretprobe(spec: Specs, options?: UretprobeOptions, handler: Handler): Probe`]],
      [[the handler runs when the function returns]],
      raises = "a spec that names nothing, or what cannot be probed; a handler that cannot be compiled; functions that "
        .. "would not survive it" },
    { [[`up.kprobe(spec: Specs, handler: Handler): Probe`,
        `up.kretprobe(spec: Specs, options?: TypedOptions, handler: Handler): Probe`]],
      [[the handler runs when a function of the kernel is entered, or returns: `vfs_read`, `MODULE:FUNCTION`, `tcp_*`,
        at the entry also `FUNCTION+OFFSET`]],
      raises = "a function that the kernel does not have or does not let probe; a kernel without kprobes" },
    { [[`up.fentry(spec: Specs, handler: Handler): Probe`,
        `up.fexit(spec: Specs, options?: TypedOptions, handler: Handler): Probe`]],
      [[the handler runs when a function of the kernel is entered, or returns, and is called by the function itself:
        cheaper than a kprobe, one function each]],
      raises = "a function that the kernel does not have or does not let probe; a kernel without such probes" },
    { [[`up.profile(hertz: hertz, handler: Handler): Probe`]],
      [[handler runs `hertz` times a second on each CPU that is busy: in a traced process, or in the kernel on its
        behalf]],
      raises = "a rate that the kernel does not permit" },
    { [[`up.perf(event: string, options: integer|PerfOptions, handler: Handler): Probe`]],
      [[handler runs at one in `1e6` of the events: `"page-faults"`, `"cache-misses"`, …
        ([handlers.md](handlers.md)), or `{ hertz = 99 }` times a second]],
      raises = "an event that there is not, or that this CPU does not count" },
    { [[`up.watch(where: address|string, options: string|WatchOptions, handler: Handler): Probe`]],
      [[handler runs when the target's memory is accessed: `"w"`, `"rw"` or `"x"`; `{ "w", size = 8 }` also says how
        many bytes]],
      raises = "a place that is not there, or not aligned to its size; a run without a target; a machine whose debug "
        .. "registers end programs or see nothing" },
    { [[`up.interval(period: duration, handler: Handler): Probe`]],
      [[a timer in the kernel: handler runs each `"1s"`]],
      raises = "a period of 0" },
    { [[`up.tracepoint(spec: string, options?: TracepointOptions, handler: Handler): Probe`]],
      [[the handler runs when the kernel passes the tracepoint `"sched:sched_switch"` for a traced process]],
      raises = "a tracepoint that this kernel does not have" },
    { [[`up.raw_tracepoint(name: string, options?: RawTracepointOptions, handler: Handler): Probe`]],
      [[the handler runs when the kernel passes the tracepoint, without the record that it makes: cheaper, and the
        kernel's structures by their types]],
      raises = "a tracepoint that this kernel does not have" },
    { [[`up.syscall(name: Specs, handler: Handler): Probe`, `up.sysreturn(name: Specs, handler: Handler): Probe`]],
      [[the handler runs when a thread makes the system call, or when that returns: `"openat"`, `"open*"`, a list, or
        `"*"` for all by one probe]],
      raises = "a system call that this CPU does not have" },
    { [[`up.probe(spec: Specs, options?: table, handler: Handler): Probe`]],
      [[a probe of the kind that the spec begins with, as `--list` prints it: `"syscall:open*"`,
        `"usdt:./app:shop:sold"`; without a kind a uprobe. `spec` may be a list of specs]],
      raises = "as the kind that the spec names, without the script's line" },
    { [[`up.retprobe(spec: Specs, options?: table, handler: Handler): Probe`]],
      [[the handler runs at the return of what the spec names]],
      raises = "a kind that has no return, without the script's line" },
    { [[`up.expression(source: string, options?: ExpressionOptions): Handler`]],
      [[the Lua expression `source`, such as `"e.arg0 / 4096"`, as a function of the event for use in handlers]],
      raises = "what is no expression, and names that are not there, without the script's line" },
    { [[`up.list(what: string, details?: boolean): table[]`]],
      [[what `--list` prints, as a table (lua/uplua/run/list.lua)]],
      raises = "a kind that cannot be listed" },
    { [[`up.syscall_name(nr: integer): string`, `up.syscall_number(name: string): integer?, string?`,
        `up.errno_name(number: integer): string`]],
      [[`"openat"` of 257 (`"syscall 999"` of one without a name); the other way round (nil and the reason);
        `"ENOENT"` of 2]],
      gives_nil = "there is no such system call" },
    { [[`up.flags(set: string, number: integer): string`]],
      [[`"O_RDWR|O_CREAT"` of 0x42 in the set `"open"`; `"prot"` and `"mmap"` are mmap's, `"clone"`, `"socket"` the
        type's, `"msg"` recv's and send's. What has no name is a number at the end]],
      raises = "another set" },
    { [[`up.signal_name(number: integer): string`, `up.task_state_name(number: integer): string`]],
      [[`"SIGSEGV"` of 11, `"SIGRTMIN+1"` of 35; `"sleeping"` of 1, in the words of /proc/PID/status: of
        `e.task.__state`, and of `e.args.prev.__state` at raw_tracepoint sched_switch]] },
    { [[`up.ip(value: integer|string|Buffer|integer[]): string`]],
      [[`"127.0.0.1"` of a `sin_addr`, the integer or its 4 bytes; `"::1"` of 16 bytes, which may be a string, a buffer,
        a table or what a record has of them]],
      raises = "a value of another size" },
    { [[`up.usdt(spec: Specs, handler: Handler): Probe`]],
      [[the handler runs when the program passes the USDT probe `"BINARY:PROVIDER:NAME"`, or `"PROVIDER:NAME"` in any
        module of the target's ([handlers.md](handlers.md))]],
      raises = "a probe that is in none of the target's modules" },
  },

  [==[
Options stand in one table before the handler; a number or a text in its place is the one that is mostly given: the
period of `up.perf`, the accesses of `up.watch`. Objects take their options last. What is misspelt is refused. So is any
other wrong argument, at its line; what is not there is nil and the reason, where a function asks for it.

**Times** are integers of ns: what is measured, and a number wherever a time is expected. `"10ms"` is taken there, too:
a number and `ns`, `us`, `ms`, `s`, `m`, `h` or `d`. So `e.elapsed > options.min` needs no conversion. What is to wait
(`up.every`, `up.after`, `up.report`, `up.interval`, `r:poll`) refuses the numbers below 1,000 but 0: seconds were
meant. What a person types on a command line is seconds, without a unit.

Each of these constructors returns the **probe**, whatever it finds to stand on now or later:
]==],

  {
    head = { "of a probe", "" }, class = "Probe",
    { [[`p:detach(): Probe`]],
      [[it sees no more hits and costs nothing; all others, and its maps, go on. Returns `p`, as the next two do]],
      raises = "the run is over" },
    { [[`p:attach(): Probe`]],
      [[attaches it again]],
      raises = "it cannot be attached; the run is over" },
    { [[`p:replace(handler: Handler): Probe`]],
      [[runs this handler from now on. One that does not fit is refused, and the old one stays]],
      raises = "a handler that does not fit the probe and its maps; the run is over" },
    { [[`p.hits: integer`]],
      [[how often its handler has run, also after the run]] },
    { [[`p:sites(): Site[]`]],
      [[where it stands: `{ path, module, ["function"], offset, inside }`, in the kernel without a path; else `{
        where = "…" }`]] },
    { [[`tostring(p)`, `print(p)`]],
      [[`uprobe libc:malloc: 1 site, 1,234 hits, attached`]] },
    { [[`up.probes(): Probe[]`]],
      [[the run's probes, in the order in which they were declared]] },
  },

  [==[
- A probe that a callback declares is attached when the callbacks of that moment are done; one of `up.at_start`, before
  a command begins. If it cannot be, the run goes on without it, and its exit status is 1.
- Before the run begins, `p:replace` gives the probe another handler, and `p:detach` keeps it from being attached. To
  detach a probe that is detached does nothing, nor does attaching one that is attached.
- `p:replace` attaches the new handler asleep, changes one word that both read, and detaches the old one. A hit that is
  inside of the probe at that moment may be seen by both or by none: one on each CPU at the most. The end of the run
  says how many replacements there were. The probe stays where it stands, if the new handler can read all there that it
  reads of a function's entry. Otherwise it moves to the entry. Calls that are between both places at that moment may be
  seen by both handlers or by none, too, and the end of the run counts such replacements.
- A call whose entry the old handler has kept returns under it. The old one stays attached until such calls have
  returned, or for a second; the end of the run counts what is open then. A return handler that uses nothing of the
  entry (no `e.arg0`, `e.elapsed` or the like) keeps nothing: a call that is open returns under the new one.
- A return probe that is detached does not see the calls that are open.

- `up.profile`: if taking samples takes the kernel too long, it lowers `perf_event_max_sample_rate` and leaves out the
  samples above that rate; a message at the end says so.
- `up.watch`: `where` is an address, `"BINARY:VARIABLE[+OFFSET]"` or `"BINARY:VARIABLE.FIELD[INDEX]"`.
- `up.tracepoint`: the option `strings = 64` is the number of bytes that are taken of a text of any length;
  `all = true`, of `up.raw_tracepoint` too, runs the handler for whatever process the kernel works then;
  `every_cpu = true`, also on CPUs that `--cpu` leaves out: for handlers that must miss nothing, such as those that
  remember what a thread began on another CPU. `begun = true`, of `up.raw_tracepoint`, begins with the first
  instruction of a command: that it stands still before is uplua's doing.
- `up.kretprobe`, `up.fexit`, `up.uretprobe`: the option `typed = true` ("Handlers", below).
- `up.probe` is for specs that a script's user gives: a message about a wrong spec does not name the script's line.
- `up.expression` is for expressions that a script's user gives. Options: `name = "--key"` is what messages
  call it. `kind` is `"number"` or `"condition"`; without it, or with `"value"`, any value will do.
  `at_return = "--return"` is the option of the script that messages advise if the expression uses a field that only
  returns have.

BINARY is a path (it has a slash), a command in `$PATH`, or a library's short name such as `libc`: the library that the
target has mapped or is going to map. A spec is one of
]==],

  {
    head = { "spec", "" },
    { [[`BINARY:FUNCTION`]],
      [[the function of that name, with all its versions, and with the clones that compilers have made of it]] },
    { [[`BINARY:FUNCTION@VERSION`, `BINARY:FUNCTION.constprop.0`]],
      [[that version alone, `memcpy@GLIBC_2.2.5`, or that clone]] },
    { [[`BINARY:FUNCTION+0`]],
      [[the function itself alone, in the version that programs are linked with: neither clones nor older versions]] },
    { [[`BINARY:str*`]],
      [[all functions that match, file-local ones too: by symbol, or by readable C++ and Rust name (`operator
        new*`); `*`, `?` and `[…]` as in the shell. `e.func` tells which was hit]] },
    { [[`BINARY:ns::Klass::method`, `BINARY:ns::Klass::*`]],
      [[C++ and Rust functions by their names as people read them: with all overloads, or with `method(int)` one;
        `put(char*)` and Go's `main.(*T).Get` are names, too, if a function is called so]] },
    { [[`BINARY:FUNCTION+OFFSET`, `BINARY:0xADDRESS`]],
      [[an instruction; an address is the file's, as `nm` prints it, and needs no symbol. Code that is jumped to
        (`f.cold`, the head of a PLT) gets no return probe]] },
    { [[`BINARY@FILE:LINE`, `BINARY:FILE:LINE`]],
      [[where the code of a source line begins, in each function that has some and wherever one was inlined; needs
        debug information. A path may have `@` and `:` in it: the binary is what exists]] },
    { [[`{ spec, … }`]],
      [[all of these; several names of one function are one site]] },
  },

  [==[
`up.probe` and all scripts take every kind by a spec, KIND: and what it stands at; `uplua --list 'KIND:*'` tells what
that may be. Behind the name of a constructor stands what it is given; these have a form of their own:
]==],

  {
    head = { "spec", "" },
    { [[`perf:EVENT:PERIOD`, `perf:EVENT@HERTZ`]],
      [[one in so many events, or so many times a second: `perf:cycles:1000000`, `perf:cpu-clock@99`. Without
        either, each of the kernel's own events: `perf:page-faults`]] },
    { [[`profile:HERTZ`, `interval:TIME`]], [[`profile:99`, `interval:1s`]] },
    { [[`watch:BINARY:VARIABLE`, `…:ACCESS`, `…:ACCESS:SIZE`]],
      [[writes, or as ACCESS says, `w`, `rw` or `x`; SIZE bytes: `watch:./app:counter:rw:4`,
        `watch:0x7ffe1000:w:8`]] },
  },

  [==[
In the lists that `up.probe`, `up.retprobe`, `up.syscall` and `trace.each` take, several names of one place are one
site, too, whatever the specs' kinds. Probes that a script declares by separate calls each see all hits.

Up to 100,000 functions are attached to by one link per binary and process. A pattern leaves functions out, which a
message says and `--explain` lists:

- functions that choose an implementation when they are first used (IFUNC), where the implementation is not known;
- functions on which the kernel puts no probe;
- functions that would not survive a probe. These are a return probe on `setjmp` or `_Unwind_Resume`, and vector
  instructions that the kernel takes for others: it would jump where `vmovdqu` stores. On a nop of five bytes inside a
  function Linux 6.18 puts a call. All corrupt the program. A probe on `pushf` or `syscall` ends it.

If a spec names such a function without a pattern, it is refused, and the message tells where the next instruction is.

**Exceptions and other stacks.** A C++ program that throws through a function with a return probe ends, and so does a
Rust program that panics through one, because the unwinder meets the probe's return address. One line warns of that
where return probes are set in files that have code for exceptions. A program also ends if it leaves a probed function
and goes on on another stack (`swapcontext`, Boost.Context, libco, libcoro and their kin): the kernel keeps one list of
returns for each thread, and ends the program by SIGILL. One line warns of that where the file, or a library that is
loaded with it, calls such a function.

Both survive probes on the functions' return instructions, by the option `returns = "instructions"` or, for all of a
run, `--returns instructions`. These probes are single-stepped, 10 microseconds each. A call is identified by the place
on its stack where it began, whichever thread goes on with it. If a call is left without a return instruction, its end
is not seen. It is counted when another call begins at the same place of the stack; such calls after the last one are
not. Functions that may jump to code outside of them (another function, at their end; `.cold` parts) are refused, or
left out of a pattern.

**Go.** A Go program would not survive a return probe either: `uretprobe` puts probes on the function's return
instructions instead, each stepped. A call is identified by its goroutine, whichever threads that runs in and wherever
its stack is moved. `e.arg0`, `e.arg1` … and `e.ret` are in the registers of Go 1.17 and later (`rax`, `rbx`, `rcx` …;
`r14` has the goroutine), one for each word: a string takes two. `e:ustack()` begins in the function itself. A call that
needs a larger stack first hits the entry twice; its return is seen once. Returns of calls that a panic leaves, or that
end in a jump to another function, are neither seen nor counted. Functions without any return instruction are refused.
The tests do by hand what Go does (tests/targets/goroutines.c); it was also tried with Go 1.19.

**Clones and versions.** Of a function that some callers pass a constant to, gcc makes a clone for these,
`calc.constprop.0`; so it does to leave out an argument (`.isra.0`), or where files are optimised together
(`.lto_priv.0`). A library may keep older versions of a function for programs that were linked with it then: `nm -D`
prints `foo@V1` of one, and `foo@@V2` of the default. A name without such an end means all of these, and so does a
pattern that matches it: each is called as the function. `e.func` tells them apart, `calc`, `calc.constprop.0`, `foo`,
`foo@V1`, and `uplua --list` says which belong together. Arguments by name are those of each; one that a clone does not
have, or has elsewhere, is refused, and the message says so. What a compiler has cut off a function, `calc.part.0` and
`calc.cold`, is no entry of it: it is probed by its own name alone. Of a global function's name, functions that other
files have for themselves are not meant, nor their clones, as far as the symbol table tells the files apart. The `@` of
a version stands behind the colon; the one before a source file stands before it, `BINARY@FILE:LINE`.

**Constructors and destructors.** Of one that the source has, C++ compilers make several functions: for a complete
object, for the base of another one, for `delete`. They have one name for readers, `D::~D()`. Where one does its work by
calling another, it is left out, by the name and by patterns: one destruction is one hit. Each is probed by its own
symbol's name, `_ZN1DD0Ev`, or by its address.

**Loops that begin at the entry.** Some functions jump to their own first instruction, for instance of `do … while`
loops. A probe there is hit once a round, and the CPU traps after each round of a string instruction with a `rep`
prefix. These rounds are no calls: uplua puts further probes on the jumps, which tell the handler's program that what
comes next is none; each costs a hit in each round. Where that cannot be, as of a jump by a table, a message names the
function, and each round counts as a call.

**Indirect functions** (58 of libc's: `strlen`, `memcpy`) are probed at the implementation that the target uses. For a
running process, the word that its loader has written tells which. For a command and for the whole machine it is the
implementation that uplua itself uses of that library.

**The place of an entry probe.** A hit costs about 1 microsecond where the kernel emulates the probed instruction (a
push, a jump, a call, a nop), and 10 where the CPU has to single-step it. So uplua puts the probe on the first
instruction that the kernel emulates, if the probe sees every call there, and if all that its handler reads of the entry
can still be had: in its register, in another one, or in the function's frame. The handler reads it where it is. The
instructions before that place surely end, and nothing that can be known leads between them: no jump, no address in the
file's data, no table of jumps. A function of which one jump is not understood is probed at its entry. So two handlers
of one function may stand at two places, and a handler that reads fewer arguments may be cheaper. `e.ip`, `e.sp`,
`e.regs` and stacks are those of the entry. `uplua --explain` tells the place, the reason, and what has been found
where; `uplua -v --list` the place for a handler that reads nothing.

There are three kinds of calls that end the program within these few instructions and that only `slide = false` counts.
The stack has no room for the function's frame. Or the caller has not aligned the stack pointer as the ABI demands, and
the function stores a vector there. Or the program has asked for traps on floating-point numbers (`feenableexcept`), and
the function begins with a computation on which one comes. Calls that end it in any other way are counted.

Where a probe has slid, it also counts as calls what comes to that place in a way that the file does not show: by an
address that the program computes in another way, by another function's table of distances from elsewhere than itself,
from another file, or from code that is generated. Compilers make nothing of that kind; for code that is written by
hand there is `slide = false`.

On an instruction with a lock prefix the kernel puts no probe, nor on many vector instructions, whose opcodes it takes
for others. A function that begins with one, as reference counts do, or what compilers make of a copy for AVX, is
probed behind it: a call that faults there, as its address is wrong, is not counted. If the handler reads memory or a
register that the instruction writes, if something jumps behind it, or if the rounds of a loop that begins there cannot
be told from calls, it is refused, and a pattern leaves it out.

Nor does the kernel put probes into code that is mapped writable or shared: of a file whose code is to be mapped so this
is said; of what a program's own loader has mapped so by itself nobody knows. A program that gives pages of its code
back (`madvise` with `MADV_DONTNEED`) runs without their probes from then on.
]==],

  {
    head = { "option", "" },
    { [[`slide = false`]],
      [[the probe stands on the function's first instruction, whatever that costs]] },
    { [[`throws = false`]],
      [[`uretprobe`: no exception leaves the function, nor does it go on on another stack: uplua does not warn of
        that]] },
    { [[`returns = "instructions"`]],
      [[`uretprobe`: probes stand on the function's return instructions, instead of a changed return address
        (above)]] },
    { [[`slide = "lossy"`]],
      [[the probe may stand behind conditional jumps too: cheaper, but calls that jump away before it, such as
        `free(NULL)`, are not seen]] },
  },

  {
    head = { "about specs and the target", "" },
    { [[`up.defines(spec: string): boolean?, string?`]],
      [[true if there is such a function; nil and the reason]],
      gives_nil = "there is no such function" },
    { [[`up.site(spec: string): Site?, string?`]],
      [[`{ path, offset, module, function }`: where it is; nil and the reason. Two names of one function have the
        same path and offset]],
      gives_nil = "there is no such function" },
    { [[`up.modules_defining(name: string|string[], later?: fun(path: string)): string[]`]],
      [[paths of the target's modules that define the function themselves; of a list of names, one of them]] },
  },

  [==[
`later(path)` is called for each such module that a process of the target loads afterwards. The probes that it declares
are attached, and a message says how late that was.
]==],

  {
    head = { "about what probes cost", "" },
    { [[`up.probe_cost(): string?, table[]?`]],
      [[the time that `e.elapsed` of functions is net of: a text for reports, `"net of the probe's own 0.7 us (± 0.1
        us)"`, and a list of `{ entry, exits, ns, low, high }`]],
      gives_nil = "no handler uses e.elapsed of a function" },
  },

  [==[
In that list, `entry` tells how the kernel gets past the function's first instruction: `"emulated"`, `"stepped"`, or
`"replaced"` where it may put a call in its place (Linux 6.18). `exits` is true where probes stand on return
instructions. `ns` is the median of the last measurement; uplua measures at the start and then once a second. `low` and
`high` are the smallest 10th and the largest 90th percentile. `up.probe_cost` returns nil and the reason if no handler
uses `e.elapsed` of a function.
]==],

  {
    head = { "about a user's specs: `uplua.specs`", "" },
    { [[`specs.ambiguous(list: string[]): boolean`]],
      [[true if the specs are of several kinds or binaries, so that functions of one name, `e.func`, may be several:
        `e.probe` tells them apart]] },
    { [[`specs.name_apart(rows: table[], list: string[])`]],
      [[of rows `{ func = e.func, probe = e.probe, … }` that share a `func` and are of different probes, `func` becomes
        `write (syscall:write)`; `returns`, of `specs.probe`, tells entries and returns apart]] },
    { [[`specs.where: table`]],
      [[a row for `up.args`: `--where EXPR`, a condition on the event; behind a spec it is of that spec alone, before
        the first one of all]] },
    { [[`specs.probe(options: table, how?: { returns: boolean, at_return: string }, handler: Handler)`]],
      [[`up.probe`, or with `returns` `up.retprobe`, of the specs in `options`, what `up.args` returned: the handler
        runs where `--where` permits it, with the event, and 1 of a return (`uretprobe:…`), else 0]],
      raises = "what the script's user has given wrong" },
    { [[`specs.counted(spec: string): string?`]],
      [[the event that `up.counter` counts: `page-faults` of `perf:page-faults`]],
      gives_nil = "it is another probe's spec, or says how often it samples" },
    { [[`specs.of_others(spec: string): boolean`]],
      [[true if events of `spec` may tell of another thread than the one that runs, as `sched_wakeup` does: its probes
        have the option `all`]] },
    { [[`specs.sampled(spec: string, hertz: integer): string?`]],
      [[the spec of samples of an event that the kernel's perf counts, `perf:cycles:u@99` of `cycles:u`: with `@hertz`
        where it has to be said how often and `spec` does not]],
      gives_nil = "it is another probe's spec" },
  },

  {
    head = { "by whom a user's script counts: `uplua.by`", "" },
    { [[`by.option: table`]],
      [[a row for `up.args`: `--by WHAT`, which is `process`, `thread`, `cgroup`, `container`, `cpu`, or an expression
        of the event such as `e.uid`]] },
    { [[`by.key: table`, `by.sum: table`]],
      [[rows for `up.args`: `--key [NAME=]EXPR` and `--sum [NAME=]EXPR`, each several times; `opts.key` and `opts.sum`
        are lists]] },
    { [[`by.new(what?: string, options?: { keys: string[], at_return: string }): Who?`]],
      [[by whom WHAT says, and by the values of the expressions `keys`; nil without both. Ends the script where WHAT is
        none of the words and no expression]],
      raises = "an expression that is none", gives_nil = "`what` is nil or false, and there are no keys" },
    { [[`by.sums(list?: string[], options?: { at_return: string }): Sums`]],
      [[the sums of the expressions of `list`, of which there may be none]], raises = "an expression that is none" },
    { [[`by.value(what: string, options?: { at_return: string }): table`]],
      [[the expression of an option such as `--value [NAME=]EXPR`: `of`, a function of the event for handlers, a number;
        `name`; `unit`, `"ns"`, `"bytes"`, `"count"`, `"number"`, or nil]], raises = "an expression that is none" },
    { [[`by.container(path: string): string?`]],
      [[the container that a cgroup's path names: `docker-3f4e5a6b7c8d` of
        `/system.slice/docker-3f4e5a6b7c8d….scope`]], gives_nil = "it names none" },
  },

  {
    head = { "what `by.new` returns", "" }, class = "Who",
    { [[`who.key: Handler`]], [[a function of the event for use in handlers: what hits are counted by]] },
    { [[`who.columns: table[]`, `who.title: string`]],
      [[columns for a view, which takes such a list in place of a column; the first one's title]] },
    { [[`who:fill(row: table, key: any): table`]], [[puts the fields of these columns into a row]] },
    { [[`who:text(key: any): string`]], [[one text for people: `redis-server (pid 4242)`]] },
  },

  {
    head = { "what `by.sums` returns", "" }, class = "Sums",
    { [[`sums.add(e: Event, key: any)`]],
      [[for handlers: adds each expression's value under the key; it comes before the hit is counted]] },
    { [[`sums.values(e: Event): any`, `sums.put(values: any, key: any)`]],
      [[the same in two steps, for what begins at one event and is counted at another: values to keep, and what adds
        them]] },
    { [[`sums.columns: table[]`]], [[columns for a view; none where there are no sums]] },
    { [[`sums:take(): Sums`]], [[has the sums since the last take, for `fill`; itself. It comes behind the take of the
        hits: so each sum has a row, in this report or in the next]] },
    { [[`sums:fill(row: table, key: any): table`]], [[puts the sums of the key into a row]] },
    { [[`sums:clear()`]], [[throws away what was added so far]] },
  },

  [==[
The NAME of a key or sum is its column's title, and the field of rows; it may have a unit, `bytes`, `count`, `ns` or
`number`: `size:bytes=e.arg0`. Without it the expression is both.

A process is called by its main thread's name, as the kernel has it. A container is called by its runtime and the first
digits of its id, as they stand in the path of its cgroup (docker, containerd, podman, CRI-O, kubepods, LXC,
systemd-nspawn); what has no such name is shown by its cgroup. Cgroups that end before the report keep their names.
]==],
}
