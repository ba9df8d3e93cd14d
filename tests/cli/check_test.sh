# --check: whether a script is right, without attaching anything and without rights. Runs once: nothing comes to the kernel.
. tests/cli/tap.sh

chmod 755 "$D"
cat >"$D/good.lua" <<'LUA'
local up = require "uplua"
local calls, sizes = up.count(), up.hist()
up.uprobe("libc:malloc", function(e) sizes:add(e.arg0) end)
up.uretprobe("libc:free", function(e) calls[e.func]:inc() end)
up.profile(99, function(e) calls[e.comm]:inc() end)
up.at_exit(function() print "at the exit" end)
up.every("1ms", function() print "a timer" end)
print "the main chunk"
LUA
run "$uplua" --check "$D/good.lua"
is "$status $out $err" "0 the main chunk
$D/good.lua: 3 handlers compile " 'a script whose handlers compile: its main chunk runs, and nothing else'
sed 's/calls\[e.func\]:inc()/calls[e.func] = {} .. 1/' "$D/good.lua" >"$D/bad.lua"
run "$uplua" --check "$D/bad.lua"
is "$status" 1 'one whose handlers do not'
like "$err" "uplua: $D/bad.lua:4: a handler cannot build strings; *" '… with the line'
echo 'local up = require "uplua" up.uprobe("libc:maloc", function(e) end)' >"$D/bad.lua"
run "$uplua" --check "$D/bad.lua"
like "$status $err" '1 uplua: *did you mean malloc*' 'one whose probe is not there'
echo 'x =' >"$D/bad.lua"
run "$uplua" --check "$D/bad.lua"
like "$status $err" "1 uplua: $D/bad.lua:2: *" 'one that is no Lua'
run "$uplua" --check -e 'print(1)'
is "$status $out" '0 1
-e: no handlers' 'one without'
run "$uplua" --check trace.lua libc:malloc
like "$status $out" '0 *trace.lua: one handler compiles' "one of uplua's"

# Those who have no rights.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$uplua" "$D/uplua"
    nobody() { run setpriv --reuid 65534 --regid 65534 --clear-groups "$D/uplua" "$@"; }
    nobody --check "$D/good.lua"
    is "$status $out $err" "0 the main chunk
$D/good.lua: 3 handlers compile " 'without rights the same'
    cat >"$D/kernel.lua" <<'LUA'
local up = require "uplua"
local n = up.count()
up.uprobe("libc:malloc", function(e) n:inc() end)
up.tracepoint("sched:sched_switch", function(e) if e.args.next_pid > 0 then n:inc() end end)
up.tracepoint("sched:sched_wakeup", function(e) n:inc() end)
up.syscall("openat", function(e) n:inc() end)
LUA
    nobody --check "$D/kernel.lua"
    is "$status $out $err" "0 $D/kernel.lua: 2 handlers compile
not checked: $D/kernel.lua:5: tracepoint sched:sched_wakeup: the kernel's description of its tracepoints (tracefs) cannot be read: this needs root, or CAP_DAC_READ_SEARCH where it is mounted
not checked: $D/kernel.lua:6: syscall openat: syscalls:sys_enter_openat: the kernel's description of its tracepoints (tracefs) cannot be read: this needs root, or CAP_DAC_READ_SEARCH where it is mounted " \
        'and what cannot be asked is listed'
    run "$uplua" --check "$D/kernel.lua"
    is "$status $out $err" "0 $D/kernel.lua: 4 handlers compile " '… which root can'
    sed 's/next_pid/next_pit/' "$D/kernel.lua" >"$D/bad.lua"
    nobody --check "$D/bad.lua"
    like "$status $err" "1 uplua: $D/bad.lua:4: tracepoint sched:sched_switch has no field 'next_pit'; did you mean next_pid?*" \
        'a field that there is not, by the types of the kernel'
else
    skip 'this is not root, who could run without rights'
fi

done_testing
