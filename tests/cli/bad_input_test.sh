# What users get wrong, and what is wrong with what they trace: a message that says what, which and why, the right exit
# status, and nothing that stays attached. Runs once: what is said depends on no way to set probes.
. tests/cli/tap.sh

chmod 755 "$D"
mkdir "$D/tmp"
export TMPDIR="$D/tmp"
top=$(pwd)
targets=$top/build/targets
mallocleak=$top/scripts/mallocleak.lua
cp "$uplua" "$D/uplua" # where users without rights can execute it
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
started= # what target() has started
trap 'kill -KILL $started 2>/dev/null; rm -rf "$D"' EXIT

# target COMMAND...: starts a ticker; sets $target to its PID and $site to the address of its step()
target() {
    : >"$D/ready"
    "$@" >"$D/ready" &
    started="$started $!"
    await 'read -r _ target site <"$D/ready"' $!
}

# stop PID: ends it without a word from the shell
stop() {
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# code_at_site: the first bytes of step() in the target's memory
code_at_site() { dd if="/proc/$target/mem" bs=1 skip="$site" count=8 status=none | od -An -tx1; }

# untouched: waits until no probe is left at the site
untouched() { await '[ "$(code_at_site)" = "$original" ]'; }

# refused STATUS PATTERN NAME ARGUMENT...: uplua says PATTERN in at most three lines, the last of which is the script's
refused() {
    want=$1 pattern=$2 name=$3
    shift 3
    run timeout 120 "$uplua" "$@" </dev/null
    is "$status" "$want" "$name: status $want"
    like "$err" "$pattern" "$name: the message"
    ok "$name: in one or two lines, and that of the script" [ "$(echo "$err" | wc -l)" -le 3 ]
}

# probe SPEC: the code of a script with a probe on SPEC
probe() { printf 'n = count() uprobe("%s", function(e) n:inc() end)' "$1"; }

target "$targets/ticker"
original=$(code_at_site)
ticker=$target

# --- targets that do not exist ---

for pid in 0 4194303 4194304 99999999999999999999; do
    refused 1 "uplua: no process $pid" "PID $pid" -e '' -- $pid
done
refused 2 "*-p needs PIDs*'-5'*usage*" 'a negative PID' -p -5 -e ''
refused 1 'uplua: -5: command not found; a PID is a number of digits alone' 'an option that looks like a PID' -e '' -- -5
refused 1 'uplua: 12x: command not found; a PID is a number of digits alone' 'a command that looks like a PID' -e '' -- 12x
refused 2 'uplua: --duration stands behind the PIDs; options stand in front of --*' 'an option behind the PIDs' -e '' -- 42 --duration 1
refused 2 'uplua: 43x is no PID; behind -- stand PIDs alone, or a command*' 'a word behind the PIDs' -e '' -- 42 43x
refused 1 'uplua: no process 4194303' 'one of two PIDs' -e "$(probe "$targets/ticker:step")" -- "$ticker" 4194303
refused 1 "uplua: the command's name is empty" 'an empty command' -e '' -- ''
refused 1 'uplua: /etc: *irectory' 'a folder as command' -e '' -- /etc
refused 1 'uplua: /etc/passwd: *ermission denied' 'a file as command' -e '' -- /etc/passwd
refused 1 'uplua: *is a kernel thread*' 'a kernel thread' -e '' -- 2

# --- probes that cannot be set ---

refused 1 '*no such function in */libc.so.6; did you mean malloc*' 'a misspelt function' -e "$(probe libc:mallok)" -- "$ticker"
refused 1 "*process $ticker has no program or library 'nosuch'*" 'a program or library that is not there' \
    -e "$(probe nosuch:f)" -- "$ticker"
refused 1 '*no such file: /nosuch/lib.so*' 'a path that is not there' -e "$(probe /nosuch/lib.so:f)"
refused 1 '*/etc/passwd: it is not an ELF program*' 'a file of text' -e "$(probe /etc/passwd:f)"
refused 1 '*/etc: it is not a regular file*' 'a folder' -e "$(probe /etc:f)"
refused 1 '*/dev/zero: it is not a regular file*' 'a device' -e "$(probe /dev/zero:f)"
refused 1 "*'malloc' names no probe; write BINARY:FUNCTION*" 'no binary' -e "$(probe malloc)"
refused 1 '*no instruction starts at +0x1 of malloc*' 'the middle of an instruction' -e "$(probe libc:malloc+1)"
refused 1 '*malloc in * has only * bytes*' 'beyond the function' -e "$(probe libc:malloc+99999)"
refused 1 "*unknown option 'frob'*" 'an unknown option of a probe' -e 'uprobe("libc:malloc", { frob = 1 }, function() end)'
refused 1 '*the last argument is the handler*' 'no handler' -e 'uprobe "libc:malloc"'
refused 1 '*the handler must be written in Lua*' 'a handler in C' -e 'uprobe("libc:malloc", print)'
refused 1 "*option 'max': *is not a whole number*" 'an impossible size' -e 'hash { max = 1e12 }'
refused 2 "mallocleak.lua: option '--top': 'x' is not a whole number*" "a script's option" "$mallocleak" --top x -- "$ticker"
refused 2 "mallocleak.lua: unknown option '--tip'; did you mean '--top'?*" 'a misspelt option of a script' \
    "$mallocleak" --tip 5 -- "$ticker"
refused 2 'mallocleak.lua: no block has at least 10 and at most 5 bytes*' 'sizes that exclude each other' \
    "$mallocleak" --min-size 10 --max-size 5 -- "$ticker"
refused 2 'mallocleak.lua: whose memory?*' 'mallocleak without a target' "$mallocleak"
refused 2 'mallocleak.lua: --folded: cannot write /nosuch/x: No such file*' 'a file that cannot be written' "$mallocleak" --folded /nosuch/x -- "$ticker"

# --- scripts ---

mkdir "$D/folder.lua"
refused 1 'uplua: no such script: */folder.lua: it is a folder' 'a folder as script' "$D/folder.lua"
luajit -b -e 'print(1)' "$D/bytecode.lua"
refused 1 'uplua: */bytecode.lua: this is LuaJIT bytecode;*' 'bytecode' "$D/bytecode.lua"
echo 'print(1)' >"$D/unreadable.lua"
chmod 0 "$D/unreadable.lua"
run $nobody "$D/uplua" "$D/unreadable.lua"
is "$status $err" "1 uplua: cannot open $D/unreadable.lua: Permission denied" 'an unreadable script'
refused 1 'uplua: /dev/zero:1: *' 'an endless file' /dev/zero

good=$(probe "$targets/ticker:step")
refused 1 'uplua: -e:1: two
  -e:1: in the main chunk' 'an error after a probe' -e "$good error 'two'" -- "$ticker"
refused 1 'uplua: -e:1: a handler cannot call print: use up.printf(format, …)' 'a handler that cannot be compiled' \
    -e "$good uprobe('libc:malloc', function(e) print(e) end)" -- "$ticker"
refused 1 '*no such function*' 'a second probe that cannot be set' -e "$good $(probe libc:mallok)" -- "$ticker"
ok 'none of these has left a probe' untouched

printf 'local up = require "uplua"\n' >"$D/long.lua"
seq 20000 | sed 's/.*/local function f() return & end/; s/^/do /; s/$/ end/' >>"$D/long.lua"
echo 'error "the end"' >>"$D/long.lua"
refused 1 "uplua: $D/long.lua:20002: the end*" 'a script of 20,000 lines' "$D/long.lua"

callback() {
    run timeout 120 "$uplua" -e "r = ring() uprobe('libc:malloc', function(e) r:emit { at = e.arg0 } end)
local function deep() error 'deep' end
at_exit(function() print 'report' end)
$1" -- "$ticker"
    is "$status $out" '1 report' "an error in $2: status 1, and the report"
    like "$err" "uplua: -e:2: deep
  -e:2: in function 'deep'
  -e:4: *" "an error in $2: once, with its traceback"
    ok "an error in $2: once" [ "$(grep -c 'uplua:' "$D/err")" = 1 ]
}
callback 'every("50ms", function() deep() end)' 'a timer'
callback 'r:each(function(ev) deep() end)' "a ring's callback"
callback 'after("50ms", exit) at_exit(function() deep() end)' 'at_exit'
ok 'and no probe' untouched

# --- rights ---

run $nobody "$D/uplua" -e "$(probe libc:malloc)"
is "$status $err" '1 uplua: cannot load BPF programs: this process lacks CAP_BPF and CAP_PERFMON; run as root or with sudo' \
    'without any capability'
run $nobody "$D/uplua" -e "$(probe libc:malloc)" -- "$ticker"
is "$status $err" "1 uplua: process $ticker (ticker) belongs to another user: tracing it needs CAP_SYS_PTRACE; run uplua as root" \
    "another user's process"
with() { echo "$nobody --inh-caps=-all$1 --ambient-caps=-all$1 --bounding-set=-all$1"; }
run $(with ,+bpf) "$D/uplua" -e "$(probe libc:malloc)" -- true
is "$status $err" '1 uplua: cannot load BPF programs: this process lacks CAP_PERFMON; run as root or with sudo' 'with CAP_BPF alone'
run $(with ,+bpf,+perfmon) "$D/uplua" -e 'n = count() uprobe("libc:malloc", function(e) n:inc() end) at_exit(function() print(n:get() > 0) end)' -- ls
case $UPLUA_WITHOUT in
*uprobe_multi*) is "$status ${err##*: }" '1 this needs CAP_SYS_ADMIN; run uplua as root' 'one perf event per site needs CAP_SYS_ADMIN' ;;
*) like "$status $err$out" '0 *true' 'CAP_BPF and CAP_PERFMON suffice for a command of the same user' ;;
esac

# --- programs ---

strip -o "$D/stripped" "$targets/ticker"
refused 1 '*no such function*has no symbol table (stripped)*' 'a local function of a stripped program' \
    -e "$(probe "$D/stripped:step")" -- "$D/stripped"
ok 'which names no USDT probes where there are none' [ "${err##*debug symbols}" = "
  -e:1: in the main chunk" ]
strip -o "$D/marked" "$targets/usdt"
refused 1 "*install its debug symbols, or use its USDT probes: uplua --list 'usdt:$D/marked'*" 'one that has USDT probes' \
    -e "$(probe "$D/marked:nosuch")" -- "$D/marked"

printf '.globl _start\n.type _start,@function\n_start: mov $1,%%eax\nxor %%ebx,%%ebx\nint $0x80\n.size _start,.-_start\n' >"$D/old.s"
if [ "$(uname -m)" = x86_64 ] && as --32 -o "$D/old.o" "$D/old.s" && ld -m elf_i386 -o "$D/old" "$D/old.o"; then
    refused 1 '*: it is a 32-bit file; uplua traces 64-bit programs*' 'a 32-bit file' -e "$(probe "$D/old:_start")"
    refused 1 "uplua: the command is a 32-bit program ($D/old); uplua traces 64-bit programs" 'a 32-bit command' -e '' -- "$D/old"
fi

echo 'int main(void) { for (;;) __builtin_trap(); }' | gcc -x c -static -s -o "$D/static" - -nostartfiles -Wl,-emain
refused 1 'uplua: nothing in the target defines malloc*' 'a static program without malloc' "$mallocleak" -- "$D/static"
head -c 1000 "$targets/ticker" >"$D/cut"
refused 1 '*no such function in */cut*' 'a truncated file' -e "$(probe "$D/cut:step")"
head -c 100 "$targets/ticker" >"$D/cut"
refused 1 '*/cut: its program headers are missing or damaged*' 'a file truncated in its headers' -e "$(probe "$D/cut:step")"

# counts NAME SPEC: a probe of SPEC in $target can be set and is hit
counts() {
    run timeout 120 "$uplua" -e "$(probe "$2") every('20ms', function() if n:get() >= 5 then exit(23) end end)" -- "$target"
    is "$status $err" '23 ' "$1: counted, and no error"
}
cp "$targets/ticker" "$D/deleted"
target "$D/deleted"
rm "$D/deleted"
counts 'a deleted program' "$D/deleted:step"
counts 'by its name' deleted:step
cp "$D/stripped" "$D/deleted"
counts 'a replaced program' "$D/deleted:step"
cd "$D" && counts 'and by a relative path' ./deleted:step
cd "$top" || exit 1
run "$uplua" "$mallocleak" 0.5 1 -- "$target"
like "$out" '*step+0x*total * stack*' 'mallocleak of a replaced program'
stop "$target"

# A root and a mount namespace of its own, its C library at another path than ours.
mkdir -p "$D/root"
cat >"$D/enter.sh" <<'END'
set -e
mount --make-rprivate / 2>/dev/null || true # in a chroot / is no mount: what leaks out is unmounted below
mount -t tmpfs none "$1/root"
mkdir -p "$1/root/odd/lib" "$1/root/lib64"
loader=$(ldd "$2" | sed -n 's/^\t*\(\/[^ ]*ld-[^ ]*\).*/\1/p')
mkdir -p "$1/root$(dirname "$loader")"
cp "$(ldd "$2" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')" "$1/root/odd/lib/libc.so.6"
cp "$loader" "$1/root$loader"
cp "$2" "$1/root/ticker"
LD_LIBRARY_PATH=/odd/lib exec chroot "$1/root" /ticker
END
target unshare -m --propagation unchanged sh "$D/enter.sh" "$D" "$targets/ticker"
run "$uplua" "$mallocleak" 0.5 1 -- "$target"
like "$out" '*
         step+0x*
         main+0x*
   total * bytes in * blocks from 1 stack*' 'a process with a root and mounts of its own'
run "$uplua" -e "$(probe libc:mallok)" -- "$target"
like "$err" '*no such function in */odd/lib/libc.so.6; did you mean malloc*' 'and the library that it uses'
stop "$target"
umount -l "$D/root" 2>/dev/null

# --- processes that end ---

target "$targets/ticker" ticker 23 told
first=$target
target "$targets/ticker" ticker 101 told
run timeout 120 "$uplua" -e 'n = count() uprobe("libc:usleep", function(e) n[e.pid]:inc() end)
after(0, function() os.execute("kill -USR1 '"$first $target"'") end)
at_exit(function() local k = 0 for _ in n:pairs() do k = k + 1 end print("of", k) end)' -- "$first" "$target"
is "$status $err" '0 ' 'two processes that exit: no error'
like "$out" 'of?2*' 'and the report of both'
target "$targets/ticker" ticker 101 told
start "$uplua" "$mallocleak" -- "$target"
await 'grep -q tracing "$D/err" || ! kill -0 "$pid" 2>/dev/null'
kill -USR1 "$target"
finish
is "$status $err" "0 mallocleak: tracing ticker (pid $target); Ctrl-C ends" 'mallocleak of a process that exits'
like "$out" '*step+0x*total *' 'reports with names'

# --- ends of uplua ---

target=$ticker
site=$(sed -n "s/^ready $ticker //p" "$D/ready")
[ -n "$site" ] || { stop "$ticker"; target "$targets/ticker"; ticker=$target; original=$(code_at_site); }

attached() { await '[ "$(code_at_site)" != "$original" ]' "$pid"; }
mkdir "$D/empty"
(cd "$D/empty" && HOME="$D/empty" exec "$uplua" -e "$good" -- "$ticker") >/dev/null 2>&1 &
pid=$!
ok 'a probe changes the code' attached
stop "$pid"
ok 'after kill -9 the code is as it was' untouched
is "$(find "$D/tmp" "$D/empty" -type f)" '' 'and no file is left'
if [ -e /sys/kernel/tracing/uprobe_events ]; then
    is "$(cat /sys/kernel/tracing/uprobe_events)" '' 'and no uprobe event'
fi
"$uplua" -e 'local t = os.time() while os.time() < t + 20 do end' -- sleep 999 >/dev/null 2>&1 &
pid=$!
await 'child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null) && [ -n "$child" ]' "$pid"
stop "$pid"
ok 'kill -9 ends a command that was not released' await_end "${child% }"

for signal in TERM:143 HUP:129 INT:0; do
    start "$uplua" -e "print 'set' io.stdout:flush() $good at_exit(function() print 'report' end)" -- "$ticker"
    attached
    kill "-${signal%:*}" "$pid"
    finish
    is "$status" "${signal#*:}" "the status after SIG${signal%:*}"
    like "$out" 'set
report
n: *' "the report after SIG${signal%:*}"
done
ok 'and no probe' untouched

# A signal to itself once the handlers are compiled (a function of uplua.compile.capture is called), and once they are loaded (uplua.base.map).
signal_in() {
    echo "local ffi = require 'ffi' ffi.cdef 'int kill(int, int); int getpid(void);'
    debug.sethook(function()
      if not debug.getinfo(2, 'S').source:find('uplua/$1', 1, true) then return end
      debug.sethook()
      ffi.C.kill(ffi.C.getpid(), $2)
    end, 'c')"
}
for at in compile/capture base/map; do
    for signal in 2 15; do
        run timeout 120 env --default-signal=INT "$uplua" -e "at_exit(function() print 'report' end) $good $(signal_in $at $signal)" \
            -- sh -c 'echo started'
        is "$status $out$err" "$((128 + signal)) uplua: interrupted: the probes were not attached" "signal $signal in uplua.$at"
    done
done
ok 'nothing was attached' untouched

timeout 120 "$uplua" -e "$good every('10ms', function() print(('x'):rep(10000)) end)" -- "$ticker" | head -c 1 >/dev/null
ok 'a reader that leaves ends the run, without a probe' untouched
"$uplua" --duration 0.2 -e "$good" -- "$ticker" >&- 2>"$D/err"
is "$? $(cat "$D/err")" '1 uplua: cannot write the output: Bad file descriptor' 'a closed standard output'
timeout 60 "$uplua" --duration 1h -e "$good every('10ms', function() print('x') end)" -- "$ticker" >/dev/full 2>"$D/err"
is "$? $(cat "$D/err")" '1 uplua: cannot write the output: No space left on device' 'a full disk, and why'
timeout 60 "$uplua" --duration 1h -e "$good every('10ms', function() print(('x'):rep(100000)) end)" \
    -- "$ticker" >/dev/full 2>"$D/err"
is "$?" 1 'a full disk, and more than a buffer holds'
timeout 60 "$uplua" --duration 1h -o /dev/full -e "$good every('10ms', function() print('x') end)" -- "$ticker" 2>"$D/err"
is "$? $(cat "$D/err")" '1 uplua: --output /dev/full: No space left on device' 'a full disk by --output'
"$uplua" -e 'local f = io.open(arg[1], "w") print "to nobody" f:write "kept" f:close()' "$D/kept" <&- >&- 2>&-
is "$(cat "$D/kept")" kept "does not become the script's file"

# A target that exits between the declaration of a probe and its attach.
leaves='local ffi = require "ffi" ffi.cdef "int kill(int, int);"
local pid = tonumber(arg[1]) ffi.C.kill(pid, 9)
repeat local f = io.open("/proc/" .. pid .. "/exe") if f then f:close() end until not f'
for kind in uprobe uretprobe; do
    target "$targets/ticker"
    refused 1 "uplua: $kind cannot *$targets/ticker: the process has exited" "$kind: a target that has exited" \
        -e "n = count() $kind('ticker:step', function(e) n[e:ustack()]:inc() end) $leaves" "$target" -- "$target"
done

# --- many ---

"$uplua" --duration 1 -e "$good" -- "$ticker" >"$D/one" 2>&1 &
one=$!
run "$uplua" --duration 1 -e "$good" -- "$ticker"
wait "$one"
ok 'two at once: the first counts' [ "$(sed -n 's/^n: //p' "$D/one")" -ge 20 ]
ok 'two at once: the second counts' [ "$(echo "$out" | sed -n 's/^n: //p')" -ge 20 ]

{
    echo 'local up = require "uplua" local all = {}'
    for i in $(seq 50); do echo "local n = up.count() all[$i] = n up.uprobe(arg[1], function(e) n:inc() end)"; done
    echo 'up.at_exit(function() local least, most = 1e9, 0 for _, n in ipairs(all) do
        least, most = math.min(least, n:get()), math.max(most, n:get()) end print(#all, least >= 5, most - least <= 50) end)'
} >"$D/fifty.lua"
run "$uplua" --duration 0.5 "$D/fifty.lua" "$targets/ticker:step" -- "$ticker"
is "$status $out$err" '0 50	true	true' 'fifty handlers on one function'
many=300
[ -z "$UPLUA_WITHOUT" ] || many=20 # the kernel detaches one perf event after the other, 100 ms each
{
    echo 'local up = require "uplua" n = up.count()'
    nm -D --defined-only "$(ldd "$targets/ticker" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')" |
        awk '$2 == "T" && $3 ~ /^[a-z]/ { sub("@.*", "", $3); if (!seen[$3]++) print $3 }' | head -$many |
        sed 's/.*/up.uprobe("libc:&", function(e) n:inc() end)/'
} >"$D/many.lua"
run "$uplua" --duration 0.2 "$D/many.lua" -- "$ticker"
like "$status $out$err" '0 n: *' "$many probes in a script"

# --- names that would drive a terminal ---

escape=$(printf '\033')
bad=$(printf 'e\033]0;x\007\n\302\233y')
mkdir "$D/$bad"
# A name of the same length in its symbol table.
LC_ALL=C sed "s/step/s${escape}[p/g" "$targets/ticker" >"$D/$bad/$bad"
chmod 755 "$D/$bad/$bad"
target "$D/$bad/$bad" "$(printf '\033[31m\302\233')"
clean() { ! printf '%s' "$1" | tr -d '\n\t' | LC_ALL=C grep -q "[[:cntrl:]]"; }
run "$uplua" --duration 0.3 -e 'n = count() uprobe("libc:malloc", function(e) n[{ e.comm, e.probe, e:ustack() }]:inc() end)' -- "$target"
like "$out" '*\\x1b?31m*s\\x1b?p+0x*' 'names with control characters are shown'
ok 'and escaped' clean "$out$err"
run "$uplua" "$mallocleak" --folded "$D/folded" 0.3 1 -- "$target"
like "$out" '*s\\x1b?p+0x*' 'by mallocleak'
ok 'escaped' clean "$out$err"
ok 'in its folded stacks too' clean "$(cat "$D/folded")"
run "$uplua" -e 'uprobe(arg[1] .. ":nosuch", function(e) end)' "$D/$bad/$bad" -- "$target"
ok 'and in messages of probes' clean "$err"
run $nobody "$D/uplua" -e '' -- "$target"
like "$status $err" "1 uplua: process $target (*) belongs to another user*" 'in messages of processes'
ok 'they are escaped' clean "$err"
stop "$target"

done_testing
