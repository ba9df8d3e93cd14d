-- Addresses to names and back, for scripts and on the command line: of processes and of the kernel.
local ffi = require "ffi"
local tap = require "tap"
local target = require "target"
local up = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

ffi.cdef "int getpid(void); void *malloc(size_t size);"
local pid = ffi.C.getpid()
local malloc = tonumber(ffi.cast("uint64_t", ffi.cast("void *", ffi.C.malloc)))

local frame = up.symbol(pid, malloc + 3)
is(tostring(frame), "malloc+0x3", "up.symbol names an address")
is(frame.symbol, "malloc", "its function")
is(frame.offset, 3, "its offset")
is(frame.address, malloc + 3, "its address")
like(frame.module, "/libc%.so%.6$", "its file")
is(frame.kernel, nil, "which is not the kernel's")
is(tostring(up.symbol(pid, ffi.cast("uint64_t", malloc))), "malloc+0x0", "a cdata is an address")
is(tostring(up.symbol(pid, 0x123)), "[unknown] 0x123", "an address that is not mapped stays one")
for bit_of = 56, 62 do -- some of which are marks in stacks
  local none = up.symbol(pid, 2ULL ^ bit_of + ffi.cast("uint64_t", malloc))
  is(none.symbol, nil, ("what has bit %d is no address"):format(bit_of))
end

for _, wrong in ipairs { { pid, "x" }, { pid, 0.5 }, { pid, -2 ^ 54 }, { pid, 2 ^ 64 }, { pid }, { "x", 1 }, { -1, 1 },
  { 1.5, 1 } } do
  local good, message = pcall(up.symbol, wrong[1], wrong[2])
  ok(not good and message:find "symbol: ",
    ("up.symbol(%s, %s) is refused"):format(tostring(wrong[1]), tostring(wrong[2])))
end

is(up.address("libc:malloc", pid), malloc, "up.address is where a function is")
is(up.address("libc:malloc+0x0", pid), malloc, "with an offset, too")
local address, reason = up.address("libc:mallocx", pid)
is(address, nil, "a function that is not there has no address")
like(reason, "no such function in .*did you mean", "and the reason is told")
like(select(2, up.address("libc:malloc", 2 ^ 22 - 1)), "no process 4194303", "neither has one of no process")
ok(not pcall(up.address, "libc:malloc"), "without a target the process must be named")

-- The kernel: every 997th function of its list, as far as it shows addresses.
local function parse(digits) return tonumber(digits:sub(1, 8), 16) * 2ULL ^ 32 + tonumber(digits:sub(9), 16) end
local shown, compared, wrong, line_number = false, 0, 0, 0
for line in io.lines "/proc/kallsyms" do
  line_number = line_number + 1
  local digits, name, module = line:match "^(%x+) [Tt] (%S+)\t?(%S*)"
  if digits and digits:find "^ffff" and line_number % 997 == 0 and not module:find "bpf" then
    shown = true
    local found = up.symbol(0, parse(digits))
    compared = compared + 1
    -- Several names may share the address: then another may have been chosen.
    local equal = found.offset == 0 and found.kernel and found.module == (module ~= "" and module or "[kernel]")
    if not equal or not found.symbol then wrong = wrong + 1 end
  end
end
ok(not shown or compared > 23, ("%d functions of the kernel were looked up"):format(compared))
is(wrong, 0, "each is found where the kernel says it is")
for line in io.lines "/proc/kallsyms" do
  local digits = line:match "^(ffff%x+) T vfs_read$"
  if digits then
    local found = up.symbol(0, parse(digits) + 5)
    is(tostring(found), "vfs_read+0x5", "up.symbol names an address inside a function")
    is(found.module, "[kernel]", "its module")
    is(tostring(up.symbol(pid, parse(digits) + 5)), "vfs_read+0x5", "the kernel is in every process")
    local signed = ffi.cast("int64_t", parse(digits) + 5)
    is(tostring(up.symbol(pid, signed)), "vfs_read+0x5", "… also for an address in a signed integer")
    is(tostring(up.symbol(pid, tonumber(signed))), "vfs_read+0x5", "… or in a negative number")
    is(up.source(pid, signed)[1].kernel, true, "up.source takes the kernel's half, too")
  end
end
is(tostring(up.symbol(0, 0xffffffffffffff00ULL)), "[unknown] 0xffffffffffffff00",
  "far from all functions nothing is named")

-- A BPF program that was loaded after the list was first read.
if shown then
  local run = target.uplua [[--duration 20 -e '
    symbol(0, 0xffffffff81000000ULL)
    n = count() uprobe("libc:malloc", function(e) n:inc() end)
    every("300ms", function()
      for line in io.lines "/proc/kallsyms" do
        local digits, name = line:match "^(ffff%x+) t (bpf_prog_%x+_uplua_handler%w*)%s+%[bpf%]$"
        if digits then
          local f = symbol(0, tonumber(digits:sub(1, 8), 16) * 2ULL ^ 32 + tonumber(digits:sub(9), 16) + 1)
          if f.symbol == name and f.module == "[bpf]" and f.offset == 1 then print "named" exit() end
        end
      end
    end)']]
  is(run.out:match "named", "named", "a BPF program that was loaded since has its name")
end

local run = target.shell(([[./uplua --symbolize $$ 0x123 18446744073709551615 >"$D/out" 2>"$D/err"]]))
is(run.out, "0x123  [unknown] 0x123\n0xffffffffffffffff  [unknown] 0xffffffffffffffff\n",
  "--symbolize prints a line for each address")
run = target.shell [[
  read -r range rest < <(grep -m 1 'r-xp.*libc\.so\.6' /proc/$$/maps)
  base=$(grep -m 1 'libc\.so\.6' /proc/$$/maps); base=0x${base%%-*}
  offset=$(nm -D $(awk '/libc\.so\.6/ { print $6; exit }' /proc/$$/maps) | sed -n 's/^\([0-9a-f]*\) T malloc@.*/0x\1/p')
  ./uplua --symbolize $$ $(printf '%#x' $((base + offset + 7))) >"$D/out" 2>"$D/err"]]
like(run.out, "^0x%x+  malloc%+0x7 %(/.*/libc%.so%.6%)", "with function and file")
is(target.uplua("--symbolize 4194303 1").err, "uplua: mappings of process 4194303: No such process\n",
  "no process, no names")
is(target.uplua("--symbolize 1x 1").status, 2, "a process is a number")
run = target.shell [[./uplua --symbolize $$ >"$D/out" 2>"$D/err"]]
is(run.status, 2, "a process without addresses")
tap.like(run.err, "^uplua: %-%-symbolize needs a PID and addresses, as in %-%-symbolize 4242 0x7f3a1c29ef04\nusage: ",
  "… asks for nothing")
run = target.shell [[./uplua --symbolize $$ main >"$D/out" 2>"$D/err"]]
is(run.err, "uplua: --symbolize: 'main' is no address\n", "a name is no address")

-- Debug information that is too large to be read: three units with a line program of 9 MB, and one with a small one.
local cc = tap.compiler()
run = target.shell([[
  cat >"$D/large.c" <<'END'
#include <stdio.h>
__attribute__((noinline)) int one(int x) { return x * 23; }
__attribute__((noinline)) int two(int x) { return x + 23; }
__attribute__((noinline)) int three(int x) { return x - 23; }
__attribute__((noinline)) int four(int x) { return x ^ 23; }
int main(void)
{
    puts("ready");
    fflush(stdout);
    return one(two(three(four(getchar()))));
}
END
  cat >"$D/large.s" <<'END'
.section .debug_abbrev,"",@progbits
.byte 1,0x11,0,0x10,0x17,0x11,1,0x12,7,0,0,0
.macro unit function, lines
.long 2f-1f
1:.short 4
.long .debug_abbrev
.byte 8,1
.long \lines
.quad \function,4
2:
.endm
.section .debug_info,"",@progbits
unit one, large
unit two, large
unit three, large
unit four, small
.macro lines function, count
.long 4f-3f
3:.short 4
.long 6f-5f
5:.byte 1,1,1,-5,14,13
.byte 0,1,1,1,1,0,0,0,1,0,0,1
.byte 0
.asciz "lines.c"
.byte 0,0,0,0
6:.byte 0,9,2
.quad \function
.byte 3
.sleb128 100
.fill \count,1,1
.byte 2,4,0,1,1
4:
.endm
.section .debug_line,"",@progbits
large: lines one, 9000000
small: lines four, 1
.section .note.GNU-stack,"",@progbits
END
  ]] .. cc .. [[ -O1 "$D/large.c" "$D/large.s" -o "$D/large"
  mkfifo "$D/in"
  "$D/large" <"$D/in" >"$D/target" &
  exec 7>"$D/in"
  program=$!
  until_said ready
  cat >"$D/ask.lua" <<'END'
    local up = require "uplua"
    local pid, run = tonumber(arg[1]), up.count()
    up.uprobe("libc:getpid", function() run:inc() end)
    for i = 3, #arg do
      local place = up.source(pid, up.address(arg[2] .. ":" .. arg[i], pid))[1]
      print(place.symbol, place.file, place.line)
    end
    up.at_exit(function() run:clear() end)
END
  for some in "four" "one" "one two three four one"; do
    ./uplua --duration 0 "$D/ask.lua" $program "$D/large" $some >>"$D/out" 2>"$D/err.part"
    sed "s:$D/::" "$D/err.part" >>"$D/out"
  done
  base=$(awk '/large$/ { split($1, a, "-"); print "0x" a[1]; exit }' /proc/$program/maps)
  offset=0x$(nm "$D/large" | awk '$3 == "two" { print $1 }')
  ./uplua --symbolize $program $(printf '%#x' $((base + offset))) >/dev/null 2>"$D/err.part"
  sed "s:$D/::" "$D/err.part" >>"$D/out"
  for line in 101 5; do
    ./uplua -e 'uprobe(arg[1], function() end)' "$D/large@lines.c:$line" -- true 2>"$D/err.part"
    sed "s:$D/::g" "$D/err.part" >>"$D/out"
  done
  kill $program
]])
local UNREAD = "uplua: not everything was seen:\n  %d × unit of debug information not read, " ..
               "damaged or too large, and its lines not shown: large\n"
is(run.out, "four\tlines.c\t101\n" ..
     "one\tnil\tnil\n" .. UNREAD:format(1) ..
     "one\tnil\tnil\ntwo\tnil\tnil\nthree\tnil\tnil\nfour\tlines.c\t101\none\tnil\tnil\n" .. UNREAD:format(3) ..
     UNREAD:format(1) ..
     "uplua: -e:1: uprobe large@lines.c:5: no code of large comes from that line, " ..
     "but 3 of its units of debug information are not " ..
     "read, damaged or too large; line 101 has some\n  -e:1: in the main chunk\n",
   "a unit whose lines are not read, as its line program is too large, is counted once, by file")
is(run.err, "", "and nothing else is said")

-- Lines and inlined functions, of a program whose text we know.
run = target.shell([[
  cat >"$D/source.c" <<'END'
#include <stdio.h>
volatile int sink;
static inline __attribute__((always_inline)) void innermost(int x)
{
    sink = x * 23;
}
static inline __attribute__((always_inline)) void middle(int x)
{
    innermost(x + 1);
}
__attribute__((noinline)) void outermost(int x)
{
    sink++;
    middle(x);
}
int main(void)
{
    outermost(101);
    puts("ready");
    fflush(stdout);
    return getchar();
}
END
  ]] .. cc .. [[ -O2 -g "$D/source.c" -o "$D/source"
  mkfifo "$D/in"
  "$D/source" <"$D/in" >"$D/target" &
  exec 7>"$D/in"
  program=$!
  until_said ready
  ./uplua -e '
    local pid, at = tonumber(arg[1]), address(arg[2] .. ":outermost", tonumber(arg[1]))
    local seen = {}
    for i = 0, 100 do
      local list = source(pid, at + i)
      if list[#list].symbol ~= "outermost" then break end
      local lines = {}
      for _, f in ipairs(list) do
        lines[#lines + 1] = ("%s %s:%s"):format(f, f.file:match "[^/]+$", f.line):gsub("%+0x%x+", "")
      end
      local line = table.concat(lines, ", ")
      if not seen[line] then print(line) seen[line] = true end
    end
    print(symbol(pid, at), symbol(pid, at).file)' $program "$D/source" >"$D/out" 2>"$D/err"
  kill $program
]])
is(run.err, "", "a program's lines are read")
like(run.out, "outermost source%.c:13\n", "up.source has a function's lines")
like(run.out, "innermost %(inlined%) source%.c:5, middle %(inlined%) source%.c:9, outermost source%.c:14\n",
  "and what was inlined into it")
like(run.out, "outermost%+0x0\tnil\n$", "which up.symbol does not ask for")

target.done()
tap.done_testing()
