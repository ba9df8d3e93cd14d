# Timers, the order of the report, and the two stages of Ctrl-C.
. tests/cli/tap.sh

code() { run "$uplua" -e "$@"; }

# No more ticks than there is time for, of which some come as early as they should, however busy the machine is.
code '
  local n, m, early, from, last = 0, 0, 0, now(), now()
  local fast = every("20ms", function()
    n = n + 1
    if now() - last < 40e6 then early = early + 1 end
    last = now()
  end)
  local once = after("10ms", function() m = m + 1 end)
  after("50ms", function() print(tostring(once)) end)
  after("1s", function() fast:cancel() print(n <= (now() - from) / 20e6, early > 0, m) at_most = n end)
  after("1.2s", function() print(n == at_most, tostring(fast)) exit(3) end)'
is "$status $out" '3 after 10.0 ms (over)
true	true	1
true	every 20.0 ms (over)' 'every, after, cancel, exit'
code '
  local at = {}
  every("100ms", function() at[#at + 1] = #at local t = os.clock() while os.clock() < t + 0.25 do end if #at == 3 then exit() end end)
  at_exit(function() print(#at) end)'
is "$status $out" '0 3' 'ticks that a slow callback missed do not pile up'
code 'after("20ms", function() after("20ms", function() print "inner" end) print "outer" end)'
is "$status $out" '0 outer
inner' 'a timer set by a timer; a run that waits for nothing more ends'
run "$uplua" --duration 1.05 -e 'every("100ms", function() print "tick" end)'
ok '--duration ends the run after ten ticks, or fewer where the machine stood still' [ "$(echo "$out" | wc -l)" -ge 2 ]
ok 'and not later' [ "$(echo "$out" | wc -l)" -le 10 ]

code 'at_exit(function() print(1) at_exit(function() print(4) end) end) at_exit(function() print(2) end) at_exit(function() print(3) end)'
is "$out" '1
2
3
4' 'at_exit functions run in their order'
code 'second = count() first = count() alias = first local hidden = count() print(first)'
is "$out" '0
second: 0' 'globals that nobody looked at are printed'
for wrong in 'exit(256)' 'exit(1.5)' 'every(0, print)' 'every("1s")' 'after(-1, print)' 'at_exit(5)' 'every("0.3ns", print)'; do
    code "$wrong"
    is "$status" 1 "$wrong is refused"
    like "$err" 'uplua: -e:1: *' "at the line of $wrong"
done
for call in 'every(' 'after(' 'report(' 'ring { size = 4096 }:poll(' 'interval('; do
    for number in 1 0.25 999; do
        code "$call$number, function() end)"
        like "$status $err" "1 uplua: -e:1: *$number is a number of ns, and too short a time; did you mean \"${number}s\"?*" \
            "$call$number, …) is refused: seconds were meant"
    done
done
code 'local from = now() after(20e6, function() print((now() - from) / 1e6 >= 20) end) every(1e6, print):cancel()'
is "$status $out" '0 true' 'a number is ns'
code 'report(0, print)'
like "$err" '*the period must be longer than zero*' 'a report every 0 s would never end'

echo 'print(select("#", ...), ...)' >"$D/args.lua"
run "$uplua" "$D/args.lua" a 'b c' -- true
is "$out" '2	a	b c' 'a script gets its arguments as ... too'

# --- stopping ---

start "$uplua" -e 'print "up" every("9s", print) at_exit(function() print "report" end)'
until_output up
kill -INT "$pid"
finish
is "$status $out" '0 up
report' 'SIGINT: the report, status 0'
start "$uplua" -e 'print "up" io.stdout:flush() every("9s", print) at_exit(function() print "report" end)'
until_output up
kill -TERM "$pid"
finish
is "$status $out" '143 up
report' 'SIGTERM: the report, status 143'

# interrupted: sends $pid a SIGINT, and comes back so late that another one is no part of the same request
interrupted() {
    kill -INT "$pid"
    await '! grep -qE "^(Sig|Shd)Pnd:.*[2367abef]$" /proc/$pid/status' "$pid"
    sleep 0.3
}
busy='print "up" io.stdout:flush() while true do end'
for where in "$busy" "after(0, function() $busy end)" "at_exit(function() $busy end)"; do
    start "$uplua" -e "$where"
    until_output up
    interrupted
    kill -INT "$pid"
    finish
    is "$status" 130 "a second SIGINT ends at once: $where"
done
start "$uplua" -e 'jit.off()' -e "$busy"
until_output up
kill -INT "$pid"
finish
is "$status $err" '130 uplua: interrupted
  at -e:2' 'one SIGINT ends interpreted code that does not return'
start "$uplua" -e 'jit.off()' -e 'at_exit(function() print "report" end)' -e "after(0, function() $busy end)"
until_output up
kill -INT "$pid"
finish
is "$status $out" '130 up
report' 'also in a callback, and the report follows'
start "$uplua" -e "$busy"
until_output up
kill -TERM "$pid"
finish
is "$status" 143 'one SIGTERM ends even compiled code, after a while'
run timeout -s INT 0.5 "$uplua" -e 'every("9s", print) at_exit(function() print "report" end)'
is "$out" report 'a signal that arrives twice at once (timeout) is one request'
: >"$D/out"
(trap '' HUP; exec env --default-signal=INT "$uplua" -e 'print "up" io.stdout:flush() every("9s", print)' >"$D/out" 2>"$D/err") &
pid=$!
until_output up
kill -HUP $pid
ok 'nohup: an ignored SIGHUP stays ignored' kill -INT $pid
finish
is "$status" 0 'and SIGINT ends it'

# --- the command ---

cat >"$D/server" <<'END'
trap 'sleep 0.3; echo "server ends"; exit 9' INT TERM
echo up
while :; do sleep 0.05; done
END
for signal in INT TERM; do
    start "$uplua" -e 'at_exit(function() print "report" end)' -- sh "$D/server"
    until_output up
    kill -$signal "$pid"
    finish
    is "$status $out" '9 up
server ends
report' "SIG$signal goes to the command, which is waited for"
done
cat >"$D/counter" <<'END'
n=0
trap 'n=$((n + 1))' TERM
echo up
while [ $n = 0 ]; do sleep 0.05; done
for _ in 1 2 3 4 5; do sleep 0.05; done
echo "$n signal"
END
start "$uplua" -e 'every("1ms", function() end)' -- sh "$D/counter"
until_output up
kill -TERM "$pid"
finish
is "$status $out" '0 up
1 signal' 'once, however often the loop turns until it has ended'
start "$uplua" -e 'print "up" io.stdout:flush() while true do end' -- sh -c 'echo started'
until_output up
child=$(tr -d ' ' </proc/"$pid"/task/"$pid"/children)
interrupted
kill -INT "$pid"
finish
# Gone, or a zombie where process 1 does not reap.
ok 'a command that was not released ends with uplua' await_end "$child"
ok 'there was one' [ -n "$child" ]
is "$out" up 'and never began'

# --- a reader that leaves ---

# piped CODE COMMAND...: the run's status and stderr, where its output is read by head
piped() {
    code=$1
    shift
    { timeout 60 "$uplua" -e "$code" "$@" 2>"$D/err"; echo $? >"$D/status"; } | head -n 1 >"$D/out"
    read -r status <"$D/status"
    out=$(cat "$D/out") err=$(cat "$D/err")
}
ticks='every("20ms", function() print "tick" io.stdout:flush() end) at_exit(function() print "report" io.stderr:write "report\n" end)'
cat >"$D/worker" <<'END'
echo $$ >"$1.pid"
trap 'echo "server ends" >"$1.ended"; exit 9' TERM
while :; do sleep 0.05; done
END
piped "$ticks" -- sh "$D/worker" "$D/first"
is "$status $out $err" '141 tick report' 'where the reader leaves, the run ends without a word, with its report'
is "$(cat "$D/first.ended")" 'server ends' 'and the command gets a SIGTERM'
sed -i "s/^trap .*/trap '' TERM/" "$D/worker"
piped "$ticks" -- sh "$D/worker" "$D/second"
is "$status $out $err" '141 tick report' 'a command that does not listen'
read -r child <"$D/second.pid"
ok 'is ended all the same' await_end "$child"
(trap '' PIPE; piped "$ticks"; echo "$status $out $err" >"$D/ignored")
is "$(cat "$D/ignored")" '141 tick report' 'the same where SIGPIPE is ignored'
piped 'for i = 1, 1e15 do print(i) end' -- sh "$D/worker" "$D/third"
is "$status $out $err" '141 1 ' 'a main chunk that prints for ever'
ok 'whose command never began' [ ! -e "$D/third.pid" ]
piped 'at_exit(function() for i = 1, 1e5 do print(i) end io.stderr:write "end\n" end)' -- true
is "$status $out $err" '141 1 end' 'a report is finished'

if has_terminal; then
"$pty" "$uplua" -e 'at_exit(function() print "report" end)' -- sh "$D/server" >"$D/out" <<'END'
< up
^C
END
status=$?
like "$status $(cat "$D/out")" '9 up*server ends
report' 'Ctrl-C at a terminal'
"$pty" "$uplua" -e 'after("10ms", function() print "up" end) every("1s", function() end) at_exit(function() print "report" end)' >"$D/out" <<'END'
< up
^C
END
is "$(cat "$D/out")" 'up
^C
report' 'what comes behind ^C at a terminal begins on a line of its own'
"$pty" "$uplua" -e 'print "up" while true do end' >"$D/out" <<'END'
< up
^C
< Ctrl-C again ends at once
^C
END
is $? 130 'Ctrl-C twice in a compiled endless loop'
fi

done_testing
