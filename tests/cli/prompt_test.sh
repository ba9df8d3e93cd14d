# The prompt: statements and expressions, several lines, live callbacks, errors, history.
# Runs once: the machines of test-vm run it on an older kernel.
. tests/cli/tap.sh

has_terminal || { done_testing; exit; }
export HOME="$D/home"
mkdir "$HOME"

# session NAME ARGUMENT...: plays the steps of standard input at uplua's prompt; sets $status, $out
session() {
    name=$1
    shift
    "$pty" "$uplua" "$@" >"$D/out"
    status=$?
    out=$(cat "$D/out") session=$out
    ok "$name" [ "$status" -lt 97 ] || echo "$out" | sed 's/^/#   /' >&2 # what pty says of a text that never came, or an end
}

# The number after "sh" at the end of a line.
calls() { echo "$1" | sed -n 's/^\(n: \)\{0,1\}sh  *\([0-9][0-9]*\)$/\2/p'; }

session 'statements, expressions, several lines' <<'END'
< >
> x = 5
< >
> x + 1
< 6
> =x, nil
< 5	nil
> for i = 1, 2 do
< >>
> print("line " .. i)
< >>
> end
< line 1
< line 2
> local hidden = 1
< >
> print(hidden)
< nil
> y =
< >>
> 7
< >
> 3 *
< >>
> y
< 21
< >
> y += 1
< Lua has no +=: say n:add(x)
< >
^D
END
is "$status" 0 'Ctrl-D ends with status 0'

export LC_ALL=xx_YY.UTF-8
session 'characters beyond ASCII, where the locale is not installed' <<'END'
< >
> "é" .. "x"
< "é" .. "x"
< "éx"
< >
^D
END
unset LC_ALL

session 'values as one would write them, and kept' <<'END'
< >
> { 1, "two", { three = 3 } }
< { 1, "two", { three = 3 } }
> _.n, _[2] = 5, nil
< >
> _
< { 1, [3] = { three = 3 }, n = 5 }
> 40 + 1
< 41
> _ + 1, _1[3]
< 42	{ three = 3 }
> h = hist { unit = "ns" }
< >
> p = uprobe("libc:malloc", function(e) h:add(e.arg0) end)
< >
> { p }
< { uprobe libc:malloc: 1 site,
< attached }
> setmetatable({}, { __tostring = function() error "no text" end })
< prompt:1: no text
< >
^D
END
is "$status" 0 'and what cannot be shown is an error like others'

session 'errors leave the session as it was' <<'END'
< >
> x = 5
> x x
< prompt:1: '=' expected near 'x'
> error "wrong"
< prompt:1: wrong
> x.y = 1
< attempt to index global 'x'
> every("50ms", function() nofunc() end)
< attempt to call global 'nofunc'
> x
< 5
> exit(3)
END
is "$status" 3 'exit(3) at the prompt'

session 'globals, timers and functions for the end are as they were, too' <<'END'
< >
> x, t = 5, { 1 }
< >
> x, t, n9 = 6, nil, count() up.every("1ms", function() print("ti" .. "ck") end) at_exit(function() print("la" .. "ter") end) p9 = uprobe("libc:maloc", function(e) n9:inc() end)
< did you mean malloc
< >
> x, t, n9, p9
< 5	{ 1 }	nil	nil
> after("20ms", function() print("wai" .. "ted") end)
< waited
> x = 7 print("run" .. "ning") while true do x = x + 1 end
< running
^C
< interrupted
> x > 7
< true
< >
^D
END
ok 'nothing of it is heard of again' [ "$(grep -cE '^(tick|later|n9:)' "$D/out")" = 0 ]

nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $nobody test -x "$uplua"; then
    "$pty" $nobody env HOME=/ "$uplua" <<'END' >"$D/out"
< this process lacks CAP_BPF and CAP_PERFMON: it cannot trace; run as root or with sudo
< >
> n9 = count() uprobe("libc:malloc", function(e) n9:inc() end)
< cannot load BPF programs
> 41 + 1
< 42
< >
^D
END
    is "$?" 0 'without the rights to trace that is said at once, and the rest works'
    ok 'the report has nothing of what failed' [ "$(grep -c '^n9' "$D/out")" = 0 ]
else
    skip 'this asks for root, and setpriv'
fi

for word in exit quit 'exit()' 'quit()'; do
    session "$word leaves" <<END
< >
> at_exit(function() print "left" end)
< >
> $word
< left
END
    is "$status" 0 "$word leaves with status 0"
done

session 'who wants to keep a local is told how' <<'END'
< >
> local q, r = 5
< uplua: q, r: a local ends with the entry that it stands in; without 'local' it stays
> local function f(g, h) return 1 end
< uplua: f: a local ends with
> local used = 20 print(used + 3)
< 23
> quit = 42
< >
> quit + 1, quit
< 43	42
> quit
< 42
> exit(4)
END
is "$status" 4 'and exit() still ends it'
is "$(grep -c 'a local ends' "$D/out")" 2 'what a local was used for needs no word'

session 'Ctrl-C drops the line, also of several' <<'END'
< >
- x = (
^C
< ^C
> for i = 1, 2 do
< >>
^C
< ^C
> 41 + 1
< 42
< >
^D
END
is "$status" 0 'and the session goes on'

session 'Ctrl-C drops the line, and leaves the command alone' -- sh -c "cat; while [ ! -e $D/go ]; do sleep 0.02; done; exit 7" <<END
< is ready
< >
> n = count() uprobe("libc:free", function(e) n:inc() end)
< >
- 41 +
^C
< ^C
> repeat until n:get() > 0
< >
> file = io.open("$D/go", "w") file:close()
< the target has exited
^D
END
is "$status" 7 'which reads nothing from the terminal, and ends by itself'
rm -f "$D/go"

# Entries leave nothing behind but the values that they name.
entries=2000
[ -z "${UPLUA_LONG:-}" ] || entries=10000
{
    echo '< >'
    echo '> function kilobytes() print("takes " .. io.open "/proc/self/status":read "*a":match "VmRSS:%s*(%d+)") end'
    echo '< >'
    for i in $(seq $entries); do
        printf '> x = "%d" .. tostring({})\n< >\n' "$i"
        [ $((i % (entries / 4))) != 0 ] || printf '> collectgarbage() collectgarbage() kilobytes()\n< takes\n< >\n'
    done
    echo '^D'
} >"$D/steps"
session "$entries entries" <"$D/steps"
sizes=$(echo "$out" | sed -n 's/^takes \([0-9]*\)$/\1/p')
echo "# KB after each quarter of $entries entries: $(echo "$sizes" | tr '\n' ' ')"
is "$(echo "$sizes" | wc -l)" 4 'its memory is asked for four times'
ok 'and stays what it is after the first ones' [ "$(echo "$sizes" | tail -n 1)" -le $(($(echo "$sizes" | head -n 1) + 1024)) ]

session 'what a target chose does not drive the terminal' -- "$PWD/build/targets/hostile" <<'END'
< is ready
< >
> r, found = ring(), {}
< >
> r:each(function(ev) found[#found + 1] = ev.path end)
< >
> uprobe("./build/targets/hostile:touch", function(e) r:emit { path = str(e.arg0) } end)
< the target has exited
> found[1], "sho" .. "wn"
< shown
< >
> print(found[1], "prin" .. "ted")
< printed
< >
> error(found[1] .. "rai" .. "sed", 0)
< raised
< >
> print("\27[48;5;226m \27[0m\27[7m", "col" .. "ours")
< colours
< >
^D
END
is "$(grep -cF '/nowhere/\x1b[7m\xff<&' "$D/out")" 3 'values and errors are escaped'
ok 'nothing of it comes through' [ "$(grep -cF "$(printf '\033[7m')" "$D/out")" = 0 ]
ok 'a heat map keeps its colours' grep -qF "$(printf '\033[48;5;226m \033[0m\\x1b[7m')" "$D/out"

# One that does not return, of which it is known that it runs.
cat >"$D/endless.lua" <<'END'
print("loaded", ...)
function endless()
  io.stderr:write "running\n" -- which does not wait until a callback has returned
  local n = 0
  while true do n = n + 1 end
end
END
session 'Ctrl-C ends what does not return: a line, in a function that a file has defined' -i "$D/endless.lua" 23 <<'END'
< loaded	23
< >
> print("run" .. "ning") while true do end
< running
^C
< interrupted
> endless()
< running
^C
< interrupted
< endless.lua:
> pcall(endless) print "on" while true do pcall(endless) end
< running
^C
< interrupted
> r = 0 for k = 1, 1e9 do r = r + #tostring(k) if k == 1 then print("run" .. "ning") end end
< running
^C
< interrupted
> 41 + 1
< 42
< >
^D
END
is "$status" 0 'and the session goes on'
# What the machine takes to answer a line: each answer to Ctrl-C is measured beside it.
rounds=25
{
    echo '< >'
    for _ in $(seq $rounds); do printf '> 41 + 1\n? 42\n< >\n'; done
    echo '^D'
} >"$D/steps"
session "$rounds lines are answered" <"$D/steps" 2>"$D/answers"
plain=$(sed -n 's/^answers: [0-9]*, \([0-9]*\) ms.*/\1/p' "$D/answers")
# Each leaves a probe behind; a hundred perf events take longer to close than pty waits for an end.
[ -z "${UPLUA_LONG:-}" ] || [ "${UPLUA_WITHOUT:-}" ] || rounds=100
{
    echo '< >'
    for _ in $(seq $rounds); do
        printf '> print("run" .. "ning") while true do end\n< running\n^C\n? interrupted\n< >\n'
        printf '> endless()\n< running\n^C\n? interrupted\n< >\n'
        printf '> t = after("1ms", endless)\n< running\n^C\n? interrupted\n'
        printf '> t = every("1ms", function() print "tick" endless() end)\n< running\n^C\n? interrupted\n'
        printf '> go:set(1)\n< running\n^C\n? interrupted\n> go:set(0) new()\n< >\n'
    done
    printf '> probes\n< attached\n> n:get() > 0, go:get(), #probes()\n< true\t0\t%d\n' $((rounds + 1))
    printf '> file = io.open("%s/go", "w") file:close()\n< the target has exited\n^D\n' "$D"
} >"$D/steps"
cat >"$D/callbacks.lua" <<'END'
dofile "DIRECTORY/endless.lua"
n, go = count(), var(0)
function new()
  local r = ring()
  r:each(endless)
  uprobe("libc:write", function(e) n:inc() if go:get() == 1 then r:emit { n = 1 } end end)
end
new()
END
sed -i "s,DIRECTORY,$D," "$D/callbacks.lua"
session "$rounds times each, in callbacks, too" -i "$D/callbacks.lua" -- sh -c "while [ ! -e $D/go ]; do echo; sleep 0.05; done >/dev/null; exit 23" <"$D/steps" 2>"$D/answers"
is "$status" 23 'and the target is there as before'
answers=$(sed -n 's/^answers: //p' "$D/answers")
echo "# answers to lines: $plain ms; to Ctrl-C: ${answers#*, }" # within 100 ms on a machine that has time
like "$answers" "$((5 * rounds)), *" 'each was answered'
ok 'before a person wonders, on a machine that answers as a person expects' \
    [ "$(echo "$answers" | cut -d' ' -f2)" -lt $((500 + 20 * plain)) ]
rm -f "$D/go"

session 'what returns by itself is not ended by a Ctrl-C that drops a line' <<'END'
< >
> t = every("10ms", function() n = (n or 0) + 1 end)
< >
- x = (
^C
< >
- x = (
^C
< >
> n = 0
< >
> after("100ms", function() print(n > 0, "going " .. "on") end)
< true	going on
^D
END

cat >"$D/editor" <<'END'
#!/bin/sh
sed -i 's/41/42/' "$1"
END
chmod +x "$D/editor"
export EDITOR="$D/editor"
session 'an entry of several lines is one: in the history, and in the editor' <<'END'
< >
> for i = 1, 2 do
< >>
> print(i * 41)
< >>
- end
^X
^E
< 42
> 
< 42
< 84
< >
^P
< 42
> 
< 42
< 84
< >
^D
END
ok 'it is kept as one' grep -q '^print(i \* 42)$' "$HOME/.local/state/uplua/history"
EDITOR=false
session 'an editor that fails leaves the entry as it is' <<'END'
< >
- 41 + 1
^X
^E
< the editor failed
> 
< 42
< >
^D
END
unset EDITOR
run "$uplua" - <<'END'
n = var(0)
for i = 1, 3 do n:add(i) end print(n, up.version)
END
is "$status $out" '0 6	1.0' 'standard input as a script'
run "$uplua" - -- true <<'END'
x x
END
is "$status $err" "1 uplua: stdin:1: '=' expected near 'x'" '… with an error'
run "$uplua" -i "$D/endless.lua" </dev/null
is "$status $err" '1 uplua: -i needs a terminal; without one, uplua - runs standard input' 'but -i needs a terminal'

session 'what is lost is told at once, and once' -- sh -c "while [ ! -e $D/told ]; do echo; sleep 0.02; done >/dev/null" <<'END'
< is ready
< >
> n = count { max = 1 } uprobe("libc:write", function(e) n[e.time]:inc() end)
< >
> repeat until probes[1].hits > 100
< >
> 41
< 41
< >
> 42
< 42
< >
^D
< sh goes on; it is not traced any more
< not everything was seen:
END
touch "$D/told" # which stays there until the command has seen it
is "$(grep -c 'not everything was seen so far' "$D/out")" 1 'of each cause'
like "$out" "*not everything was seen so far: * × 'n' is full (max = *not everything was seen:*" '… which is named'

session 'callbacks run and print while a line is typed' <<'END'
< >
> every("100ms", function() print "tick" end)
< tick
- 41 +
< tick
< tick
>  1
< 42
< >
^D
END

session 'at_exit functions and unread globals are reported' <<'END'
< >
> at_exit(function() print("the " .. "end") end)
< >
> c = count()
< >
^D
< the end
< c: 0
END

session 'a target that exits is told, and the session goes on' -c 'sleep 0.1' <<'END'
< sleep is ready
> core = require "uplua.core"
> core.target.release()
< the target has exited
> 41 + 1
< 42
< >
^D
END

session 'a map that is loaded keeps the size of its strings' -- sleep 2 <<'END'
< is ready
< >
> n = count()
< >
> uprobe("libc:clock_nanosleep", function(e) n[e.comm]:inc() end)
< >
> uprobe("libc:free", function(e) n[str(e.arg0)]:inc() end)
< of up to 63 bytes here, and a string of up to 15 bytes at
< >
> uprobe("libc:exit", function(e) n[e.comm .. ""]:inc() end)
< cannot build strings
< >
> repeat local called for _ in n:pairs() do called = true end until called
< >
> n
< sleep  1
< >
^D
END

session 'the probes by their numbers, with their cost' -- \
    sh -c "while [ ! -e $D/go ]; do sleep 0.02; done; exec ./build/targets/calls 1" <<END
< is ready
< >
> probes
< no probes
> n = count() uprobe("./build/targets/calls:name", function(e) n:inc() end) uretprobe("./build/targets/calls:add3", function(e) n:inc() end)
< >
> probes[2]:detach()
< uretprobe ./build/targets/calls:add3: 1 site, 0 hits, detached
> probes[1]:replace(function(e) n:add(2) end)
< name: 1 site, 0 hits, attached
> probes
< 1  uprobe ./build/targets/calls:name
< %
< 2  uretprobe ./build/targets/calls:add3
< >
> #probes(), probes()[2] == probes[2], probes[3]
< 2	true	nil
> file = io.open("$D/go", "w") file:close()
< the target has exited
> n
< 46
> probes
< attached    23
< detached     0
< >
^D
END
is "$status" 0 'of which those that are detached see nothing'
rm -f "$D/go"

session 'help' <<'END'
< >
> help()
< Shared objects
<   hash lru_hash
< At the prompt
< >
> help
< Shared objects
< At the prompt
< >
> help(hist)
< up.hist(options?: DistributionOptions): Histogram
< h:percentile(p: number)
< >
> help "e.elapsed"
< e.elapsed: ns
< >
> ?Probe
< p:detach(): Probe
< >
> ?uprob
< did you mean 'uprobe'?
> n = count()
< >
> help(n)
< c:inc()
> ?a ? "b c"
< there is no 'a ? "b c"'
> save
< the session as a script that runs
< >
> bt
< prints the last stack of that probe
< >
> bt()
< there are no probes yet
< >
> help(print, 1), 41 + 1
< nothing of this function
< >
^D
END

session 'probes set line by line; what fails leaves nothing pending' -- env -i sh -c 'sleep 0.3; exit 7' <<'END'
< is ready
< >
> n, r = count(), ring()
< >
> uprobe("libc:mallok", function(e) n:inc() end)
< did you mean malloc
< >
> uprobe("libc:malloc", function(e) n[e.comm] = {} .. "" end)
< uplua:
< >
> r:each(function(ev) print("mallocs by " .. ev.comm) end)
< >
> uprobe("libc:malloc", function(e) n[e.comm]:inc() r:emit { comm = e.comm } end)
< mallocs by sh
< the target has exited
> n
< sh  
< >
^D
END
is "$status" 7 "the command's status"
run "$uplua" -e 'n = count() uprobe("libc:malloc", function(e) n[e.comm]:inc() end)' -- env -i sh -c 'sleep 0.3; exit 7'
is "$(calls "$session")" "$(calls "$out")" 'and all its calls were seen'

session 'handlers print above the line being typed, and end the session' -- \
    env -i sh -c "while [ ! -e $D/printed ]; do echo; sleep 0.1; done >/dev/null" <<'END'
< >
> n, go = var(0), var(0)
< >
> uprobe("libc:write", function(e) n:add(1) printf("%d by %s\n", n:get(), e.comm) printf("and ") end)
< >
> uprobe("libc:write", function(e) if go:get() == 1 then exit(23) end end)
< by sh
> uprobe("libc:write", function(e) if n:get() < 1000 then printf("[%x]", e.arg2 + 9) end end)
< [a]
- 41 +
< by sh
< > 41 +
>  1
< 42
> go:set(1)
END
touch "$D/printed"
is "$status" 23 "with the handler's status"
like "$out" "*by sh
and 
*" 'what was printed without an end of line is not overwritten'

# A file that attaches 1, 2 or 3 probes, as the variable `wanted` says.
cat >"$D/many.lua" <<'END'
n = count()
for i = 1, wanted do uprobe("libc:malloc", function(e) n[i]:inc() end) end
every("1ms", function() ticks[wanted] = (ticks[wanted] or 0) + 1 end)
at_exit(function() print("at the end: " .. wanted) end)
if wanted == 4 then uprobe("libc:mallok", function(e) end) end
return "loaded " .. wanted
END
session 'a file that is loaded again takes the place of what it had declared' <<END
< >
> wanted, ticks = 2, {}
< >
> dofile "$D/many.lua"
< "loaded 2"
> other = uprobe("libc:free", function(e) n2 = 1 end)
< cannot
> other = uprobe("libc:free", function(e) return end)
< >
> wanted = 3 reload "many.lua"
< many.lua: 3 probes in the place of 2
< >
> old = ticks[2] #probes(), other
< >
> #probes(), other
< 4	uprobe libc:free: 1 site,
< attached
> wanted = 4
< >
> reload("many.lua")
< did you mean malloc
> #probes(), probes[2].spec
< 4	"libc:malloc"
> wanted = 1
< >
> reload("many.lua")
< many.lua: 1 probe in the place of 3
< "loaded 1"
> #probes(), other
< 2	uprobe libc:free
> reload "$D/nothing.lua"
< cannot open
> after("50ms", function() before = (ticks[2] or 0) + (ticks[3] or 0) after("50ms", function() print("stopped", (ticks[2] or 0) + (ticks[3] or 0) == before, (ticks[1] or 0) > 0) end) end)
< stopped	true	true
> save "$D/saved.lua"
< entries
> save "$D/saved.lua"
< is there already
< >
^D
< at the end: 1
END
is "$(grep -c 'at the end' "$D/out")" 1 'also of what it does at the end'
run "$uplua" "$D/saved.lua" -- true
is "$status" 0 'what was saved is a script that runs'
like "$out" '*at the end: 1*' '… and does what the session did'

session 'what was saved is that file: to load it takes the place of what was typed' <<END
< >
> n = count() uprobe("libc:free", function(e) n:inc() end)
< >
> every("1s", function() end)
< every
< >
> save "$D/kept.lua"
< 2 entries
< >
> reload "$D/kept.lua"
< kept.lua: 1 probe in the place of 1
< >
> #probes(), probes[1].spec
< 1	"libc:free"
< >
> uprobe("libc:malloc", function(e) return end)
< attached
< >
> save "$D/kept_more.lua"
< 2 entries
< >
> reload "kept_more.lua"
< kept_more.lua: 2 probes in the place of 1
< >
> #probes(), probes[1].spec, probes[2].spec
< 2	"libc:free"	"libc:malloc"
< >
^D
END
is "$(grep -c . "$D/kept_more.lua"), $(grep '^dofile' "$D/kept_more.lua")" "7, dofile \"$D/kept.lua\"" 'the one is loaded by the other'

calls=$(own_copy build/targets/calls)
session 'a closer look at a probe' -- sh -c "while [ ! -e $D/go ]; do echo; sleep 0.05; done >/dev/null; exec $calls 1" <<END
< is ready
< >
> n = count() p = uprobe("libc:write", { slide = false }, function(e) n:inc() end)
< >
> explain(p)
< uprobe libc:write
< takes
< exit
< >
> bt()
< write+0x0
> bt(p, false)
< >
> bt(p)
< write+0x0
> bt(p)
< write+0x0
> #probes(), p.hits > n:get() - 2
< 1	true
> bt(7)
< there is no probe 7
> i = interval("50ms", function(e) n:inc() end)
< >
> bt(i)
< bt: interval 50ms has no stack
> never = uprobe("$calls:name", function(e) n:inc() end)
< >
> other = uprobe("$calls:six", function(e) n:inc() end)
< >
> bt(never, "200ms")
< not hit within 200.0 ms
> bt(never, "soon")
< bt: 'soon' is not a duration
> live(n)
< cannot be moved
> io.open("$D/go", "w"):close()
< the target has exited
> bt(1)
< write+0x0
> bt(never)
< name+0x
< main+0x
> bt(other)
< no stack was kept, and the target has exited
> keeps = never.handler
< >
> bt(never, false)
< >
> never.handler == keeps, type(never.handler), never.replaced
< false	"function"	1
> bt(never)
< no stack was kept, and the target has exited
> bt(never, false)
< >
> never:detach()
< detached
< >
^D
< 3 × uprobe libc:write: handler replaced
END
rm -f "$D/go"
"$pty" env TERM=xterm "$uplua" <<'END' >"$D/out"
< >
> x, shown = 0, 0
< >
> live(function() x = x + 1 shown = math.min(x, 5) return "li" .. "ne 1\nline" .. shown end, "10ms")
< line 1
< line5
- q
< > 
> every("10ms", function() print("tick") end)
< tick
> live(function() return "view" end, "10ms")
< tick
< view
< tick
^C
< > 
> live(1, "1x")
< live: '1x' is not a duration
> live(1, 5)
< too short a time
> n = count()
< >
> n:top(3)
< (empty)
> help(5)
< >
> 41 + 1
< 42
< >
^D
END
is "$?" 0 'a view that is painted anew until a key is pressed'

session 'completion' <<'END'
< >
- at_e
^I
> 
< up.at_exit(
- string.rev
^I
> ("ab")
< ba
> n = count()
< >
- p = uprobe("libc:malloc_usab
^I
- ", function(e) n[e.com
^I
- ]:in
^I
> () end)
< >
> p
< uprobe libc:malloc_usable_size: 1 site,
> for i = 1, 2 do
< >>
- m = { sysc
^I
> _name(i) } end
< >
> m
< { "
- hist { un
^I
>  = "ns" }
< (empty)
- uprobe("
^I
^C
< ^C
- ?lhi
^I
> 
< up.lhist(
- h2 = hist { unit = "by
^I
> " }
< >
> h2.options.unit
< "bytes"
> 41 + 1
< 42
< >
^D
END

history=$HOME/.local/state/uplua/history
is "$(stat -c %a "$history")" 600 'the history is private'
ok 'the history has the lines' grep -q '^for i = 1, 2 do$' "$history"
session 'the history is read again' <<'END'
< >
^P
> 
< 42
< >
^D
END
ok 'and grows' [ "$(wc -l <"$history")" -gt 20 ]

rm -r "$HOME/.local"
echo >"$HOME/.local"
session 'a history that cannot be kept is said once' <<'END'
< the history is not kept
> 41 + 1
< 42
< >
^D
END

done_testing
