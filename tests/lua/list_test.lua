-- --list: what can be probed, of files and of processes, with and without privilege.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local function lines(text)
  local n = 0
  for _ in text:gmatch "\n" do n = n + 1 end
  return n
end

local FILE = "./build/targets/usdt"
local run = target.uplua("--list usdt:" .. FILE)
is(run.status, 0, "a file's USDT probes")
is(lines(run.out), 10, "each once, however many places it has")
like(run.out, "^usdt:/%S+/build/targets/usdt:app:counter\nusdt:", "as a spec")
local before, in_order = "", true
for line in run.out:gmatch "[^\n]+" do
  before, in_order = line, in_order and before < line
end
ok(in_order, "by name")
like(run.out, "\nusdt:/%S+:other:counter\n$", "of all providers")

run = target.uplua("-v --list " .. FILE:gsub("^", "usdt:") .. ":app:w*")
is(lines(run.out), 2, "a pattern, verbose")
like(run.out, "\n    1 place: arg0 i8 .*, arg1 u8 .*, arg2 i16 .*, arg3 u16 .*, arg4 i32 .*, arg5 u32 .*, " ..
              "arg6 i64 .*, arg7 u64 %S+\n$", "all sizes and signs")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:places")
like(run.out, "\n    2 places: arg0 i32 .-\n    1 place: arg0 i32 .-\n    1 place: arg0 i32 [^\n]+\n$",
  "places with equal arguments are one line")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:guarded")
like(run.out, "\n    1 place, with a semaphore: arg0 i32 ", "a semaphore")
run = target.uplua("-v --list usdt:" .. FILE .. ":app:none")
like(run.out, "\n    1 place, no arguments\n$", "no arguments")
-- Variables, with their types; what only linkers put into a program is left out.
run = target.uplua "-v --list 'watch:./build/targets/watched:*'"
like(run.out, ":counter  long int, 8 bytes\n.*:odd  char %[64%], 64 bytes\n", "variables with their types")
for _, name in ipairs { "_DYNAMIC", "__FRAME_END__", "_IO_stdin_used", "completed.0", "__dso_handle" } do
  is(run.out:find(":" .. name, 1, true), nil, name .. " is no variable of the program's")
end

-- Parameters and results of the kernel's functions.
for _, kind in ipairs { "fentry", "fexit", "kprobe", "kretprobe" } do
  run = target.uplua(("-v --list %s:vfs_read"):format(kind))
  is(run.out, kind .. ":vfs_read\n    file u64  (struct file *)\n    buf u64  (char *)\n    count u64  (size_t)\n" ..
    "    pos u64  (loff_t *)\n    returns ssize_t  (e.ret)\n", kind .. " with its parameters")
end

-- Local variables at a line.
local at, number = 0, nil
for line in io.lines "tests/targets/variables.c" do
  at = at + 1
  if line:find("at: inlined", 1, true) then number = at end
end
run = target.uplua(("-v --list uprobe:./build/targets/variables-gcc-O0@variables.c:%d"):format(number))
like(run.out,
  ":scopes\n    number int  %(e.vars.number%)\n    result int  %(e.vars.result%)\n.*    sum int  %(e.vars.sum%)\n",
  "local variables at a line, those of an inlined function first")

-- Suggestions across kinds.
for what, want in pairs {
  ["./build/targets/watched"] = "did you mean 'uprobe:%./build/targets/watched:%*'%?",
  ["no_such_library:malloc"] = "there is fentry, fexit, ",
  ["kprobes:vfs_read"] = "did you mean kprobe:vfs_read%?", ["syscal:openat"] = "did you mean syscall:openat%?",
  ["sched:sched_switch"] = "did you mean tracepoint:sched:sched_switch%?",
} do
  like(target.uplua("--list '" .. what .. "'").err, "^uplua: %-%-list: no such kind of probe: [^\n]*" .. want, what)
end
for _, what in ipairs { "./build/targets/watched:coun*", "libc:mallo*", "./build/targets/lines-gcc-O2@lines.cc:14" } do
  local plain, of_kind = target.uplua("--list '" .. what .. "'"), target.uplua("--list 'uprobe:" .. what .. "'")
  is(plain.out .. plain.err, of_kind.out, what .. ": a function, without its kind as in specs")
  like(plain.out, "^uprobe:", "… with it in the list")
end
like(target.uplua("trace.lua syscal:openat -- true").err, "did you mean syscall:openat%?", "… of scripts")

run = target.uplua("-v --list usdt:" .. FILE .. ":app:fraction")
like(run.out, "arg1 %? 8f@", "a fraction has no type in handlers")
run = target.uplua("--list usdt:" .. FILE .. ":other")
is(lines(run.out), 1, "a provider")

run = target.shell([[
  mkfifo "$D/in"
  build/targets/usdt 1 wait <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua --list usdt:$program >"$D/out" 2>"$D/err"
  ./uplua --list "usdt:$program:oth*:*" >>"$D/out" 2>>"$D/err"
  ./uplua -p $program --list "usdt" >>"$D/out" 2>>"$D/err"
  exec 7>&-
  wait
]])
is(run.err, "", "a process's")
local _, counters = run.out:gsub(":other:counter\n", "")
is(counters, 3, "named, by a pattern, and as the target")
run = target.uplua("--list usdt -- " .. FILE)
is(run.status == 0 and lines(run.out), 10, "a command's")

if os.execute "command -v setpriv >/dev/null" == 0 then
  run = target.shell [[
    cp uplua build/targets/usdt "$D/" && chmod 755 "$D" && cd "$D" || exit 1
    setpriv --reuid 65534 --regid 65534 --clear-groups ./uplua --list usdt:./usdt:app:text >out 2>err
  ]]
  is(run.err, "", "without privilege")
  like(run.out, "^usdt:/%S+/usdt:app:text\n$", "the same")
end

-- Functions: a pattern, each place once, and with -v what --explain tells.
run = target.uplua "--list 'uprobe:./build/targets/calls:mai*'"
local again = target.uplua "--list 'uprobe:./build/targets/calls:main'"
like(again.out, "^uprobe:/%S+/build/targets/calls:main\n$", "a function")
like(run.out, (again.out:gsub("%p", "%%%0")), "is among those of a pattern")
run = target.uplua "-v --list 'uprobe:libc:mem*'"
like(run.out, "\nuprobe:/%S+/libc%.so%.6:memfrob\n.-    file offset 0x%x+", "with the place of its probe")
run = target.uplua "-v --list 'uprobe:./build/examples/shop:[ds]e*'"
like(run.out, "^uprobe:/%S+/shop:deliver\n    street char %*  %(e%.args%.street%)\n    stops int [^\n]*\n" ..
  "    file offset [^\n]*\nuprobe:/%S+/shop:deregister_tm_clones\n    file offset [^\n]*\n" ..
  "uprobe:/%S+/shop:sell\n    order struct order %*  %(e%.args%.order%)\n    customer int  %(e%.args%.customer%)\n" ..
  "    pieces long int  %(e%.args%.pieces%)\n", "… and its arguments by name")
run = target.uplua "-v --list uretprobe:./build/targets/calls:negative"
like(run.out, "\n    n int  %(e%.args%.n%)\n    returns int  %(e%.ret%)\n    file offset ", "what a function returns")
run = target.uplua "-v --list 'uprobe:./build/targets/locked_begins:s*'"
like(run.out, "\nleft out: shared: the kernel puts no probe on its first instruction\n",
  "and what is left out")

-- The kernel's: a tracepoint whose fields the manual of the kernel fixes, and a system call's arguments.
run = target.uplua "--list 'tracepoint:sched:sched_switc*'"
is(run.out, "tracepoint:sched:sched_switch\n", "a tracepoint")
run = target.uplua "-v --list tracepoint:sched:sched_switch"
like(run.out, "^tracepoint:sched:sched_switch\n    prev_comm string  %(char%[16%]%)\n    prev_pid i32  %(pid_t%)\n",
  "and its fields")
ok(not run.out:find "common_", "but none that handlers cannot read")
run = target.uplua "--list tracepoint"
ok(lines(run.out) > 101 and run.out:find "\ntracepoint:raw_syscalls:sys_enter\n", "all tracepoints")
run = target.uplua "--list 'syscall:opena*'"
is(run.out, "syscall:openat\nsyscall:openat2\n", "system calls")
run = target.uplua "-v --list syscall:read"
is(run.out, "syscall:read\n    fd u32  (unsigned int)\n    buf u64  (char *)\n    count u64  (size_t)\n",
  "and their arguments")
run = target.uplua "--list 'kprobe:vfs_rea*'"
like(run.out, "kprobe:vfs_read\n", "functions of the kernel")

-- The same as JSON, and strings of the target's that are no text.
local cjson = require "cjson"
run = target.uplua("--json -v --list usdt:" .. FILE .. ":app:p*")
local found = cjson.decode(run.out)
like(found[1].probe, "^usdt:/%S+/build/targets/usdt:app:p", "--json: a spec")
local places = 0
for _, entry in ipairs(found) do
  for _, place in ipairs(entry.probe:find ":places$" and entry.places or {}) do
    places = places + place.count
    is(place.arguments[1].name .. " " .. place.arguments[1].type, "arg0 i32", "an argument")
  end
end
is(places, 4, "all places")
found = cjson.decode(target.uplua("--json --list 'uprobe:./build/targets/locked_begins:s*'").out)
local left_out = {}
for _, entry in ipairs(found) do left_out[#left_out + 1] = entry.left_out end
is(table.concat(left_out, " "), "shared", "--json: what is left out, with all that is known")
found = cjson.decode(target.uplua("--json -v --list tracepoint:sched:sched_switch").out)
is(found[1].arguments[2].name .. found[1].arguments[2].type .. found[1].arguments[2].source, "prev_pidi32pid_t",
  "--json: fields")
run = target.shell [[
  cp build/targets/usdt "$D/$(printf 'a\033[1m\377"b')" && ./uplua --json --list "usdt:$D/$(printf \
    'a\033[1m\377"b'):app:counter" >"$D/out" 2>"$D/err"
]]
is(run.err, "", "a file's name that is no text")
like(cjson.decode(run.out)[1].probe, '/a\\x1b%[1m\\xff"b:app:counter$', "is escaped")
local facts = cjson.decode(target.uplua("--json --info").out)
is(#facts.kinds > 10 and facts.features[1].name, "uprobe_multi", "--info")
is(target.uplua([[-e 'package.cpath = "" print(require "uplua.base.json".encode { 7 })']]).out, "[7]\n",
  "which takes no library")

-- What a probe takes is listed: BINARY:NAME, BINARY::NAME, and PROVIDER:NAME of the target's.
local SOLD = "^usdt:/%S+/build/examples/shop:shop:sold\n$"
for _, spec in ipairs { ":sold", "::sold", ":so*", ":shop", ":shop:sold", ":shop:s*", "" } do
  like(target.uplua(("--list 'usdt:./build/examples/shop%s'"):format(spec)).out, SOLD, "usdt:FILE" .. spec)
end
like(target.uplua("--list usdt:shop:sold -- ./build/examples/shop").out, SOLD, "usdt:PROVIDER:NAME -- COMMAND")
like(target.uplua("scripts/usdt.lua list ./build/examples/shop:sold").out,
  "^usdt:/%S+/build/examples/shop:shop:sold\n    1 × arg0", "the same by usdt.lua")

-- Records of the kernel's tracers are no tracepoints.
ok(not target.uplua("--list 'tracepoint:*'").out:find "tracepoint:ftrace:",
  "tracepoints that cannot be attached are not listed")
like(target.uplua [[-e 'tracepoint("ftrace:print", function(e) printf("%s", e.args.buf) end)']].err,
     "tracepoint ftrace:print: it is a record that the kernel's own tracers write: no BPF program can run there",
     "… and refused")
local arguments = require "uplua.probe.providers.tracepoint".arguments {
  { name = "buf", type = "char[]", offset = 16, size = 0, element = 1, count = 0, where = "here" },
  { name = "args", type = "unsigned long[]", offset = 16, size = 0, element = 8, count = 0, where = "here" },
}
is(arguments[1].place .. " " .. arguments[2].place, "nowhere nowhere", "arrays whose length nobody tells are not read")
is(target.uplua [[-e 'tracepoint("sched:sched_process_exit", function(e)
  printf("%d", e.args.nope) end)']].err:find "common_", nil,
   "what is refused is not what a tracepoint has")

for _, case in ipairs {
  { "uprobe", 2, "^uplua: %-%-list: uprobe needs functions, as in 'uprobe:libc:mal%*'" },
  { "uprobe:libc:maloc", 1, "libc:maloc: no such function in %S+; did you mean malloc%?" },
  { "tracepoint:sched:sched_swich", 1, "sched:sched_swich: the kernel has no" },
  { "syscall:opnat", 1, "the kernel has no such system call; did you mean openat" },
  { "kprobe:no_such_function", 1, "no_such_function: no such function in the kernel" },
  { "usd:./uplua", 2, "no such kind of probe: usd; did you mean usdt:%./uplua%?" },
  { "malloc*", 2, "no such kind of probe: malloc%*; for functions of this name write the file, too, as in "
    .. "'uprobe:libc:malloc%*'; there is " },
  { "usdt", 2, "needs a PID or a file" },
  { "usdt:/nope", 1, "no such file: /nope" },
  { "usdt:4194304", 1, "no process 4194304" },
  { "usdt:" .. FILE .. ":nope", 1, "usdt:./build/targets/usdt:nope: there are no such USDT probes" },
  { "usdt:/bin/sh", 1, "there are no such USDT probes" },
  { "usdt:/etc/passwd", 1, "it is not an ELF program or library" },
} do
  run = target.uplua("--list '" .. case[1] .. "'")
  is(run.status, case[2], case[1] .. ": status")
  like(run.err, case[3], case[1] .. ": " .. case[3])
end
target.done()

tap.done_testing()
