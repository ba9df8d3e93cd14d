-- trace.lua shows the arguments of functions by the names and types of debug information, on tests/targets/typed.c,
-- which calls each of its functions 23 times; of the kernel's by its own types; and as registers where neither is
-- there.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local TYPED = "./build/targets/typed"

-- The events that trace.lua prints with ARGUMENTS on TYPED, or PROGRAM: their last column, in order.
local function trace(arguments, program)
  local run = target.uplua(("scripts/trace.lua %s -- %s"):format(arguments, program or TYPED))
  is(run.err, "", "trace.lua " .. arguments)
  local events = {}
  for event in run.out:gmatch "%d%d:%d%d:%d%d%.%d+  %S+ +%d+  ([^\n]*)" do events[#events + 1] = event end
  return events
end

-- How often each function is in EVENTS.
local function counts_of(events)
  local counts, names = {}, {}
  for _, event in ipairs(events) do
    local name = event:match "^[^(]+"
    if not counts[name] then names[#names + 1] = name end
    counts[name] = (counts[name] or 0) + 1
  end
  table.sort(names)
  for i, name in ipairs(names) do names[i] = name .. " " .. counts[name] end
  return table.concat(names, ", ")
end

for _, row in ipairs {
  { "integers", "integers%(i8=%-1, u8=255, i16=%-200, u16=65535, i32=%-100000, u32=4294967294%)" },
  { "others",
    "others%(i64=%-1099511627776, u64=18446744073709551614, flag=true, color=GREEN, number=65535, letter=%-1%)" },
  { "many", "many%(a=1, b=2, c=%-3, d=4, e=5, f=6, g=%-1, h=%-34359738368, i=4294967294%)", "parameters on the stack" },
  { "mixed", "mixed%(x=%(double%), a=%-1, s={a=1, b=%-1}, y=%(float%), p=%(struct floats%), b=1, " ..
    "l=%(struct large%), t={a=7, b=1}, c=%-1%)",
    "structures, and those that handlers cannot read" },
  { "fields", 'fields%(c=0x%x+, text="text 1", list=0x%x+, nothing=NULL, unknown=NULL%)', "texts and pointers",
    "--depth 0 " },
} do
  local events = trace((row[4] or "") .. TYPED .. ":" .. row[1])
  is(#events, 23, row[1] .. ": a line for each call")
  like(events[1], "^" .. row[2] .. "$", row[3] or "each by its name, of its size and sign")
end

local events = trace("--depth 0 --return " .. TYPED .. ":fields")
is(#events, 23, "a line for each return")
like(events[23], '^fields%(c=0x%x+, text="text 23", list=0x%x+, nothing=NULL, unknown=NULL%) = %S+ %(',
  "with the arguments of the call")
events = trace(TYPED .. ":'[im]*s' " .. TYPED .. ":man*")
is(counts_of(events), "integers 23, many 23", "several functions with other arguments")
like(events[1] .. events[2], "integers%(i8=%-1, .*many%(a=1, b=2, ", "each with its own")
is(#trace("-w 'e.args.i8 == -23' " .. TYPED .. ":integers"), 1, "an expression of them")
events = trace(TYPED .. "-plain:many", TYPED .. "-plain")
is(#events, 23, "without debug information")
like(events[1], "^many%(arg0=0x1, arg1=0x2, arg2=0x%x+, arg3=0x4%)$", "as registers")
events = trace(TYPED .. ":many+4")
like(events[1], "^many%+0x4: a=1, b=2, ", "and inside of a function")
-- --- system calls ---

local named, signatures = require "uplua.trace.syscall", require "uplua.syscalls.signatures"
local wrong, texts = {}, 0
for name, signature in pairs(signatures) do
  for place = 1, 6 do
    for _, value in ipairs { 0, 1, -1, -100, 7, 0xffff, 2 ^ 31, 2 ^ 32 - 1, 2 ^ 48, -1LL, 0xffffffffffffffffULL } do
      local good, shown = pcall(named.text, name, place, value, function() return value end)
      if not good or shown ~= nil and type(shown) ~= "string" then
        wrong[#wrong + 1] = ("%s %d %s: %s (%s)"):format(name, place, tostring(value), tostring(shown), signature)
      end
      texts = texts + (shown and 1 or 0)
    end
  end
end
is(table.concat(wrong, "\n"), "", "any number of any argument has a text, or is a number")
tap.ok(texts > 1000, "most have")
events = trace("-r syscall:openat syscall:mmap syscall:access", "cat /dev/null")
local seen = table.concat(events, "\n")
like(seen, 'openat%(dfd=AT_FDCWD, filename="/etc/ld.so.cache", flags=O_RDONLY|O_CLOEXEC, mode=0%) = 3 ',
  "flags by name")
like(seen, "mmap%(addr=[^,]*, len=%d+, prot=PROT_READ|PROT_WRITE, flags=MAP_PRIVATE|MAP_[^,]*, fd=%-?%d+, off=%d+%) = ",
  "of several arguments")
like(seen, 'access%(filename="/etc/ld.so.preload", mode=R_OK%) = %-1 ENOENT ', "an error by its name")

events = trace "raw_tracepoint:sched_process_exit"
is(#events, 1, "a raw tracepoint")
like(events[1], "^sched_process_exit%(p=0x%x+[^)]*%)$", "by the kernel's names")

-- Functions of the kernel that return a pointer, and that are passed a text; by --check, which needs no kprobes.
for _, row in ipairs {
  { "kprobe:getname_kernel" }, { "-r kprobe:getname_kernel" }, { "kprobe:vfs_path_lookup" },
  { "fentry:getname_kernel" },
} do
  local checked = target.uplua("--check trace.lua " .. row[1])
  local lacks = checked.err:match "^uplua: [^\n]*this kernel[^\n]*" or checked.err:match "^uplua: [^\n]*types[^\n]*"
  if lacks then
    tap.skip(row[1] .. ": " .. lacks)
  else
    is(checked.err, "", "trace.lua " .. row[1])
    like(checked.out, "trace.lua: one handler compiles\n", "… compiles")
  end
end

-- Arrays of a tracepoint's record: addresses by their names, and numbers.
events = trace("-w 'e.args.newstate == 2' tracepoint:sock:inet_sock_set_state", "./build/targets/traced 1 23")
local addresses = {}
for i, event in ipairs(events) do
  addresses[i] = event:match " daddr=([%d.]+), " .. " " .. event:match " daddr_v6=(%S+)%)$"
end
local expected = {}
for i = 0, 22 do expected[i + 1] = ("127.0.%d.9 ::ffff:127.0.%d.9"):format(i, i) end
is(table.concat(addresses, "\n"), table.concat(expected, "\n"), "addresses of IP, of 4 bytes and of 16")
local lseek = require("uplua").syscall_number "lseek"
local WHERE = ("-w 'e.args.id == %d and up.i32(e.args.args[0]) < 0'"):format(lseek)
local calls = target.uplua("scripts/trace.lua " .. WHERE .. " tracepoint:raw_syscalls:sys_enter -- " ..
  "./build/targets/traced 1 23")
local offsets = {} -- on a line of its own, where the array is long
for offset in calls.out:gmatch "args ?= ?%[%d+, (%d+), %d+, %d+, %d+, %d+%]" do offsets[#offsets + 1] = offset end
is(#offsets, 23, "an array of six numbers of 64 bits")
is(offsets[1], "0", "… each as it is")
is(offsets[23], "18446744073709551594", "… also a large one, which is -22 with a sign")

like(target.uplua([[-e 'r = ring()
  tracepoint("sock:inet_sock_set_state", function(e) r:emit { from = e.args.saddr } end)' -- true]]).err,
  "a 'unsigned char %[4%]' of the kernel cannot be stored in a record: .* as up.kbuf%(…, 4%) reads its bytes",
  "a record takes its bytes")

-- Inside of a function the variables there are shown: at a source line, wherever it is inlined, and at an instruction.
local LINES, number = "./build/targets/lines-gcc-O0", 0
for line in io.lines "tests/targets/lines.cc" do
  number = number + 1
  if line:find("sink = i * 5;", 1, true) then break end
end
local at = "@lines.cc:" .. number
local events = trace(LINES .. at, LINES)
is(#events, 69, "a line: each time that it runs")
is(events[1], ("scaled(int) at lines.cc:%d: i=1"):format(number), "… with its variables")
events = trace("./build/targets/lines-gcc-O2" .. at, "./build/targets/lines-gcc-O2")
is(#events, 69, "… of which some are inlined")
local by_function = {}
for _, event in ipairs(events) do
  local name, value = event:match "^(%S+) at lines.cc:%d+: i=(%d+)"
  if name then by_function[name .. " " .. value] = true end
end
tap.ok(by_function["both(int) 23"] and by_function["main 23"] and by_function["scaled(int) 23"],
       "… with its variables at each place")
local typed_line = 0
for line in io.lines "tests/targets/typed.c" do
  typed_line = typed_line + 1
  if line:find("snprintf(text,", 1, true) then break end
end
events = trace(("-d 0 %s@typed.c:%d"):format(TYPED, typed_line))
like(events[1], "^run at typed%.c:%d+: c=0x%x+ {…}, list=0x%x+, text=0x%x+.-, i=1, number=NULL$",
     "structs, arrays and pointers")

-- Texts of the kernel's: of a tracepoint; and of functions, where the text may be the program's, too.
if target.uplua("--list tracepoint:maple_tree:ma_read").out ~= "" then
  like(trace("tracepoint:maple_tree:ma_read", "true")[1], '^maple_tree:ma_read%(fn="m%l+_[%w_]+", min=', "a text")
else
  tap.skip "this kernel has no tracepoint maple_tree:ma_read"
end
if target.has "kprobe" then
  like(table.concat(trace("kprobe:getname_kernel", "sh -c 'exec cat /dev/null'"), "\n"),
    'getname_kernel%(filename="/lib[^"]*/ld[^"]+"%)', "a text in the kernel's memory")
  like(table.concat(trace("kprobe:do_sys_openat2", "cat /dev/null"), "\n"),
    'do_sys_openat2%(dfd=%-100, filename="/dev/null", how=', "… and in the program's")
else
  tap.skip "this kernel has no kprobes"
end

-- Each tracepoint of this kernel, whatever its fields are called: timer_start has a `function`. Those of system calls
-- are the syscall probes'.
local TRACEPOINTS = ("'tracepoint:%s:*'"):format(tap.fewer("*", "timer"))
local listed = target.uplua("--list " .. TRACEPOINTS).out:gsub("tracepoint:syscalls:", "")
local count = select(2, listed:gsub("tracepoint:", ""))
like(target.uplua("--check trace.lua " .. TRACEPOINTS).out, ("trace.lua: %d handlers compile\n"):format(count),
     "each tracepoint of the kernel")

-- A program that executes itself: at the return the text is the new program's memory, at the same address.
local cc = os.getenv "CC" or "cc"
if require "ffi".arch == "x64" and tap.has(cc, "gcc") then
  local folder = target.folder() .. "-own"
  os.execute("mkdir -p " .. folder)
  local file = assert(io.open(folder .. "/again.c", "w"))
  file:write [[
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    static char own[256];
    int main(int count, char **words)
    {
        int left = atoi(words[1]);
        char next[16];
        snprintf(own, sizeof own, "%s", words[0]);
        snprintf(next, sizeof next, "%d", left - 1);
        if (left) execv(own, (char *[]){own, next, NULL});
    }
  ]]
  file:close()
  assert(os.execute(("%s -O1 -w -no-pie -fno-pie -o %s/again %s/again.c"):format(cc, folder, folder)) == 0)
  local out = target.uplua(("trace.lua --return syscall:execve -- %s/again 4"):format(folder)).out
  is(select(2, out:gsub("execve%(filename=%(gone with the program that called%), [^\n]*%) = 0", "")), 4,
    "the text of an execve that has succeeded is gone")
end
target.done()
tap.done_testing()
