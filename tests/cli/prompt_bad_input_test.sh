# The prompt where not all is as one would wish: narrow, dumb and closed terminals, long pastes, a thousand probes, a
# target that dies while a line is typed, names that need quotes elsewhere. Runs once: prompt_test.sh sets the probes that this sets.
. tests/cli/tap.sh

has_terminal || { done_testing; exit; }
export HOME="$D/home"
mkdir "$HOME"

# session NAME COMMAND...: plays the steps of standard input at COMMAND's prompt; sets $status, $out
session() {
    name=$1
    shift
    "$pty" "$@" >"$D/out"
    status=$?
    out=$(cat "$D/out")
    case $status in
    97 | 98) came=no ;; # what pty says of a text that never came, or an end
    *) came=yes ;;
    esac
    ok "$name" [ "$came" = yes ] || echo "$out" | tail -40 | sed 's/^/#   /' >&2
}

session '20 columns' sh -c "stty cols 20; exec '$uplua'" <<'END'
< >
> { alpha = "beta gamma delta", list = { 1, 22 } }
< alpha = "beta g"…,
< list = { 1, 22 },
> n = count()
< >
> p = uprobe("libc:malloc", function(e) n[e.comm]:inc() end)
< >
> probes
< 1  uprobe libc…  attached
< >
> help()
<   uprobe uretprobe
<   hash lru_hash
< >
^D
END
is "$status" 0 'are enough'
session 'a terminal that can nothing' env TERM=dumb "$uplua" <<'END'
< >
> live(5)
< live: this terminal's cursor cannot be moved (TERM)
> for i = 1, 2 do
< >>
> print(i * 21) end
< 42
< >
^P
> 
< 42
< >
^D
END
is "$status" 0 'is one all the same'

for wanted in '' 1; do
    "$pty" env TERM=xterm NO_COLOR=$wanted "$uplua" >"$D/out" <<'END'
< >
> x.y = 1
< attempt to index
> x x
< expected near
< >
^D
END
    red=$(grep -cF "$(printf '\033[31muplua:\033[0m prompt:1')" "$D/out")
    is "$red" "$([ "$wanted" ] && echo 0 || echo 2)" "errors are red${wanted:+, but not where NO_COLOR is set}"
done

{
    echo '< >'
    for i in $(seq 10000); do
        echo "> x = $i"
        [ $((i % 20)) -gt 0 ] || echo "< x = $i" # the terminal has room for so many
    done
    printf '> print("x" .. " is", x)\n< x is\t10000\n< >\n^D\n'
} >"$D/steps"
session 'ten thousand lines at once' "$uplua" <"$D/steps"
is "$status" 0 'are run, each'
ok 'of which the history keeps the last' [ "$(grep -c '^x = ' "$HOME/.local/state/uplua/history")" -gt 900 ]
is "$(stat -c %a "$HOME/.local/state/uplua/history")" 600 "and nobody else reads it"
{
    echo '< >'
    printf -- '- \033[200~y = {}\n'
    for i in $(seq 10000); do printf -- '^J\n- y[%d] = %d\n' "$i" "$i"; done
    printf -- '- \033[201~\n> \n> #y * 7\n< 70000\n< >\n^D\n'
} >"$D/steps"
session 'a paste of ten thousand lines that the terminal marks as one' env TERM=xterm "$uplua" <"$D/steps"
is "$status" 0 'is one entry'
session 'which the history has as one' "$uplua" <<'END'
< >
^P
^P
> 
< >
> #y * 7
< 70000
< >
^D
END

# Without uprobe_multi the kernel waits for each of a probe's events alone as they are closed: fewer do there.
calls=$(own_copy build/targets/calls) # the whole machine is traced
many=1000
"$uplua" --info | grep -q '^ *yes  *uprobe_multi ' || many=101
total=$((23 * many * (many + 1) / 2)) detached=$((23 * 276))
session "$many probes" "$uplua" <<END
< >
> n = sum() for i = 1, $many do uprobe("$calls:name", function(e) n:add(i) end) end
< >
> probes
< $many  uprobe $calls:name
< >
> os.execute "$calls 1 >/dev/null"
< 0
> n:get(), probes[$many].hits
< $total	23
> for i = 1, 23 do probes[i]:detach() end
< >
> os.execute "$calls 1 >/dev/null"
< 0
> n:get(), probes[1].hits, probes[$many].hits
< $((2 * total - detached))	23	46
< >
^D
END
is "$status" 0 'that are listed, hit and detached'

# An editor of the line has the target end: then the line is there, and stays as it is.
printf '#!/bin/sh\n: >"%s/go"\nexit 1\n' "$D" >"$D/editor"
chmod +x "$D/editor"
session 'a target that dies while a line is typed' env EDITOR="$D/editor" "$uplua" -- \
    sh -c "while [ ! -e $D/go ]; do sleep 0.02; done; kill -9 \$\$" <<END
< is ready
> p = uprobe("libc:malloc", function(e) return end)
< >
- 41 +
^X
^E
< the editor failed
< the target has exited
< > 41 +
>  1
< 42
> p:detach()
< detached
< >
^D
END
is "$status" 137 'has its status, and takes nothing else along'
rm -f "$D/go"

mkdir "$D/a b?c;"
cp build/targets/calls "$D/a b?c;/my prog?" # nobody else runs this one
session 'names with spaces and question marks' "$uplua" <<END
< >
> n = count()
< >
- p = uprobe("$D/a b
^I
- my p
^I
- :na
^I
> ", function(e) n[e.comm]:inc() end)
< >
> os.execute "'$D/a b?c;/my prog?' 1 >/dev/null"
< 0
> n
< my prog?  23
> ?a b?c;
< there is no 'a b?c;'
< >
^D
END
is "$status" 0 'are completed, probed and shown'

session 'a terminal that hangs up' "$uplua" <<'END'
< >
> n = count() p = uprobe("libc:malloc", function(e) n:inc() end)
< >
> os.execute "kill -HUP $PPID"
END
is "$status" 129 'ends the session'
session 'a terminal that is closed' "$uplua" -- \
    sh -c "trap 'echo >$D/told; exit' HUP; echo >$D/begun; while :; do sleep 0.05; done" <<END
< is ready
< >
> n = count() p = uprobe("libc:malloc", function(e) n:inc() end)
< >
> repeat until io.open "$D/begun" print("be" .. "gun")
< begun
@
END
is "$status" 129 'ends the session, too'
ok 'and the command is told' await '[ -e "$D/told" ]'
run "$uplua" </dev/null
is "$status" 2 'no terminal, and no script: the usage'
session 'a terminal to type on, and a pipe to print into' sh -c "'$uplua' | cat; '$uplua' 2>&1 | sed 's/^/piped /'" <<'END'
< usage:
< piped usage:
END
is "$status" 0 'the usage, too'
run sh -c "seq 10000 | sed 's/.*/x = &/; \$ s/\$/ print(x)/' | '$uplua' -"
is "$status $out" '0 10000' 'ten thousand lines through a pipe'
run sh -c "'$uplua' - </dev/null"
is "$status $out" '0 ' 'nothing on standard input'
run sh -c "head -c 100000 /dev/urandom | '$uplua' -"
is "$status" 1 'what is no Lua on standard input'
run sh -c "luajit -b -e 'print(1)' - | '$uplua' -"
is "$status" 1 '… nor bytecode'

done_testing
