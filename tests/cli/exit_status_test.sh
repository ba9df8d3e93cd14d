# Exit statuses and messages of the command line: 0, 1 for an error, 2 for wrong usage, the command's own.
. tests/cli/tap.sh

usage='usage: uplua *'

# bad STATUS MESSAGE ARGUMENT...: two lines at most, nothing on standard output
bad() {
    want=$1 message=$2
    shift 2
    run "$uplua" "$@" </dev/null
    is "$status" "$want" "status $want: uplua $*"
    like "$err" "$message" "the message of: uplua $*"
    is "$out" "" "nothing printed by: uplua $*"
    ok "at most two lines from: uplua $*" [ "$(echo "$err" | wc -l)" -le 2 ]
}

bad 2 "uplua: there is no script to run: name one, or give -e CODE; without one uplua is a prompt, which needs a \
terminal, and uplua - runs standard input
$usage"
bad 2 "uplua: there is no script to run: name one*$usage" -- true
bad 2 "*no such option: --durat; did you mean --duration?*$usage" --durat 5s -e ''
bad 2 "*no such option: -x*$usage" -x
bad 2 "*--duration is given twice: leave one out*$usage" --duration 5s --duration 1s -e ''
bad 2 "*no such option: -Vx*$usage" -Vx
bad 2 "*--execute needs a value*$usage" -e
bad 2 "*--self takes no value*$usage" --self=1 -e ''
bad 2 "*--duration: 'soon' is not a duration*$usage" --duration=soon -e ''
bad 2 "*-p needs PIDs*'redis'*$usage" -p redis -e ''
bad 2 "*nothing after --*$usage" -e '' --
bad 2 "*more than one target*$usage" -p 1 -e '' -- true
bad 2 "*more than one target*$usage" -c true -e '' -- 1
bad 2 "*quote*not closed*$usage" -c 'echo "x' -e ''
bad 1 '*no process 4194304' -p 4194304 -e ''
bad 1 '*no process 99999999999' -e '' -- 99999999999
bad 1 '*nosuch-command: command not found' -e '' -- nosuch-command
bad 1 '*no such script: nosuch.lua; looked in */scripts*and the current folder' nosuch.lua
bad 1 "*no such script: mallocleek.lua; looked in */scripts*; did you mean 'mallocleak.lua'?" mallocleek.lua
bad 1 "*no such script: mallocleek; looked in */scripts*; did you mean 'mallocleak.lua'?" mallocleek
bad 1 "*no such script: MALLOCLEAK.lua; looked in */scripts*; did you mean 'mallocleak.lua'?" MALLOCLEAK.lua
bad 1 '*no such script: nosuch; looked in */scripts*and the current folder' nosuch
bad 1 '*no such script: /nosuch.lua' /nosuch.lua
bad 1 '*no such script: /: it is a folder' /
bad 1 "uplua: -e:1: *near '<eof>'" -e 'x ='
bad 1 "uplua: -e:1: attempt to *nil*
  -e:1: in the main chunk" -e 'local x = nil + 1'
bad 1 "uplua: -e:1: *'3 foo' is not a duration*" -e 'every("3 foo", print)'

run "$uplua" --version
is "$status" 0 '--version'
like "$out" 'uplua [0-9]*.[0-9]*' 'and the version'
is "$out" "$("$uplua" -e 'print("uplua " .. version)')" 'which is that of up.version'
bad 1 'uplua: -e needs uplua 1.2 or later, and this is uplua 1.*: install a newer one' -e 'require_version "1.2"'
bad 1 'uplua: -e:1: *as text, such as "1.2"*' -e 'require_version(1.2)'
run "$uplua" -e 'require_version "1.0" require_version "0.9.10" print "goes on"'
is "$status $out" '0 goes on' 'a version that is there is no error'
run "$uplua" -h
is "$status" 0 '-h'
like "$out" "$usage*--duration*Exit status*" 'and the help'

run "$uplua" -e 'print(arg[0], #arg, arg[1], arg[2])' word --top
is "$out" '-e	2	word	--top' "from the first word on the arguments are the script's"
run "$uplua" -e 'x = 1' -e 'print(x)'
is "$out" 1 '-e twice is one chunk'
run "$uplua" -eprint\(7\)
is "$out" 7 '-eCODE'

run "$uplua" -e '' -- sh -c 'exit 23'
is "$status" 23 "the command's status"
run "$uplua" -e '' -- sh -c 'kill -KILL $$'
is "$status" 137 'a command that a signal ended'
run "$uplua" -c "sh -c 'echo \"two  words\"; exit 5'" -e ''
is "$status $out" '5 two  words' '-c splits as a shell'
run "$uplua" -e 'error "no"' -- sh -c 'echo started'
is "$status $out" '1 ' 'a command is not started by a script that fails'
run "$uplua" -e 'exit(7)' -- sh -c 'echo started'
is "$status $out" '7 ' 'nor by one that exits'
mkfifo "$D/go"
run "$uplua" -e 'after(0, function() exit(7) io.open(arg[1], "w"):close() end)' "$D/go" -- sh -c ': <"$0"; exit 3' "$D/go"
is "$status" 7 "exit(7) is said later and counts more than the command's status"
run "$uplua" -e 'uprobe("libc:write", function(e) exit(7) end)' -- sh -c 'echo started; exit 3'
is "$status $out" '7 started' "a handler's exit counts more than the command's status"
run "$uplua" -e 'uprobe("libc:write", function(e) exit() end)' -- sh -c 'echo started; exit 3'
is "$status" 0 'without a status it is 0'
run "$uplua" -e 'uprobe("libc:write", function(e) exit(7) end) at_exit(function() exit(8) end)' -- sh -c 'echo started; exit 3'
is "$status" 7 'and the first exit counts'
run "$uplua" -e 'after(0, function() error "late" end) at_exit(function() print "report" end)' -- true
is "$status $out" '1 report' 'an error in a callback: status 1, and the report'
like "$err" 'uplua: -e:1: late*in the function at line 1' 'with its traceback'

printf 'local function inner() error("deep") end\nlocal function outer()\n  inner()\nend\nouter()\n' >"$D/trace.lua"
run "$uplua" "$D/trace.lua"
is "$err" "uplua: $D/trace.lua:1: deep
  $D/trace.lua:1: in function 'inner'
  $D/trace.lua:3: in function 'outer'
  $D/trace.lua:5: in the main chunk" 'a traceback names the functions, files and lines'
run "$uplua" -e 'at_exit(function() error {} end) at_exit(function() print "second" end)'
is "$status $out" '1 second' 'an error in one at_exit does not keep the others from running'
like "$err" '*an error without a message*' 'an error that is a table'

sleep 100 &
sleeper=$!
start "$uplua" -p $sleeper -e 'every("1h", print) after(0, function() print "up" end) at_exit(function() print "report" end)'
until_output up
kill $sleeper
finish
is "$status $out" '0 up
report' 'a PID that exits ends the run'

run sh -c "$uplua -e 'print(1)' >/dev/full"
is "$status" 1 'output that cannot be written is an error'

done_testing
