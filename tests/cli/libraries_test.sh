# Libraries of scripts: rocks that LuaRocks has installed, where their scripts come from, and what root does not run.
. tests/cli/tap.sh

chmod 755 "$D"
export HOME="$D/home"
rocks=$HOME/.luarocks/lib/luarocks/rocks-5.1 modules=$HOME/.luarocks/share/lua/5.1
mkdir -p "$rocks" "$modules"

# --- a rock that LuaRocks installs ---

if command -v luarocks >/dev/null; then
    cp -r examples/library "$D/library"
    run sh -c "cd '$D/library' && luarocks --lua-version 5.1 make --tree '$HOME/.luarocks'"
    is "$status" 0 'examples/library is installed by LuaRocks'
    run "$uplua" --scripts
    like "$out" '*
shop_deliveries.lua * to which streets does the shop deliver? (rock shop-tracing 1.0-1)
*' '--scripts lists its script, with its rock and version'
    run "$uplua" shop_deliveries.lua ./build/examples/shop -- sh -c 'exec ./build/examples/shop >/dev/null'
    is "$status $err" '0 ' 'it runs by its name'
    is "$(echo "$out" | awk '/ [0-9]+$/ { calls += $NF } END { print calls }')" "$("$uplua" funccount.lua ./build/examples/shop:deliver -- sh -c 'exec ./build/examples/shop >/dev/null' | sed -nE 's/^deliver +//p')" \
        'and counts each call, with its module'
else
    skip 'there is no luarocks here (package luarocks)'
fi

# --- which of several ---

# rock NAME VERSION TEXT: a rock whose script NAME.lua prints TEXT
rock() {
    mkdir -p "$rocks/$1/$2/scripts"
    echo "print '$3'" >"$rocks/$1/$2/scripts/$1.lua"
}
rock versions 1.9-1 nine
rock versions 1.10-1 ten
rock versions 1.10-0 'ten before'
run "$uplua" versions.lua
is "$out" ten 'the latest version of a rock'
rock trace 1.0-1 'not the tracer'
run "$uplua" trace.lua --help
like "$out$err" 'usage: uplua trace.lua *' "no rock stands before a script of uplua's"
mkdir -p "$HOME/.local/share/uplua/scripts"
echo 'print "my own"' >"$HOME/.local/share/uplua/scripts/trace.lua"
run "$uplua" trace.lua
is "$out" 'my own' "the user's own does"
is "$err" "uplua: trace.lua is $HOME/.local/share/uplua/scripts/trace.lua here, not uplua's own $(pwd)/scripts/trace.lua" 'which is said'
run "$uplua" --scripts
like "$out" "*
trace.lua *($HOME/.local)
*" 'and stands in --scripts'
rm "$HOME/.local/share/uplua/scripts/trace.lua"

# --- rocks that are no good ---

rock broken 1.0-1 "'"
run "$uplua" broken.lua
like "$status $err" "1 uplua: *broken.lua:1: unfinished string*" 'a syntax error in one'
mkdir -p "$rocks/newer/1.0-1/scripts"
echo 'local up = require "uplua" up.require_version "99.0" print "runs"' >"$rocks/newer/1.0-1/scripts/newer.lua"
run "$uplua" newer.lua
like "$status $out $err" '1  uplua: *99.0*' 'one that wants a newer uplua'
mkdir -p "$rocks/empty/1.0-1" "$rocks/odd name?/1;0/scripts"
: >"$rocks/file"
echo 'print "odd"' >"$rocks/odd name?/1;0/scripts/odd one?.lua"
run "$uplua" 'odd one?.lua'
is "$status $out" '0 odd' 'names with spaces and question marks'
echo 'return 23' >"$modules/mine.lua"
run "$uplua" -e 'print(require "mine")'
is "$out" 23 "a module of the user's tree"

# --- what root runs ---

if [ "$(id -u)" = 0 ]; then
    script=$D/script.lua
    echo 'print "runs"' >"$script"
    refused() { # WHY NAME
        run "$uplua" "$script"
        is "$status $out $err" "1  uplua: $script is not run as root: $1; change that, or say --trust" "$2"
        run "$uplua" --trust "$script"
        is "$status $out $err" '0 runs ' '… but with --trust'
    }
    chown 65534 "$script"
    refused "$script belongs to user 65534" "another user's script is not run by root"
    run env SUDO_UID=65534 "$uplua" "$script"
    is "$out" runs "… but where sudo was called by that user"
    chown 0 "$script"
    chmod 666 "$script"
    refused "$script can be written by everybody" 'nor one that everybody can write'
    chmod 664 "$script"
    chgrp 65534 "$script"
    refused "$script can be written by its group 65534" 'nor one that a group can write'
    chgrp 0 "$script"
    run "$uplua" "$script"
    is "$out" runs "but root's group can"
    chmod 755 "$script"
    mkdir -m 777 "$D/open"
    cp "$script" "$D/open/script.lua"
    script=$D/open/script.lua
    refused "$D/open can be written by everybody" 'nor one in a folder that everybody can write'
    chmod 1777 "$D/open"
    run "$uplua" "$script"
    is "$out" runs 'but in one like /tmp'
    chown 65534 "$modules/mine.lua"
    run "$uplua" -e 'print(pcall(require, "mine"))'
    like "$out" "false*mine.lua is not run as root: $modules/mine.lua belongs to user 65534*" 'a module neither'
    run "$uplua" --trust -e 'print(require "mine")'
    is "$out" 23 '… but with --trust'
    run "$uplua" -e 'print(pcall(dofile, arg[1]))' "$modules/mine.lua"
    like "$out" 'false*is not run as root*' 'nor by dofile'
    chown -R 65534 "$HOME/.luarocks"
    run "$uplua" versions.lua
    like "$err" '*no such script: versions.lua*' "another user's rocks are none of root's"
    run "$uplua" --trust versions.lua
    is "$out" ten '… but with --trust'
    chown -R 0 "$HOME/.luarocks"

    # Who calls sudo is user 65533 here, whose home has a rock with a module.
    caller=$D/caller
    mkdir -p "$caller/.luarocks/lib/luarocks/rocks-5.1/theirs/1.0-1/scripts" "$caller/.luarocks/share/lua/5.1"
    echo 'print(require "of_theirs")' >"$caller/.luarocks/lib/luarocks/rocks-5.1/theirs/1.0-1/scripts/theirs.lua"
    echo 'return "of the caller"' >"$caller/.luarocks/share/lua/5.1/of_theirs.lua"
    chown -R 65533 "$caller"
    { cat /etc/passwd && echo "caller:x:65533:65533::$caller:/bin/sh"; } >"$D/passwd"
    # In a chroot / is no mount whose propagation could be changed.
    apart=-m
    unshare -m true 2>/dev/null || apart='-m --propagation unchanged'
    by_sudo() { run unshare $apart sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$D/passwd" env SUDO_UID=65533 "$@"; }
    by_sudo "$uplua" theirs.lua
    is "$status $out" '1 ' "the rocks of who calls sudo are none of root's"
    like "$err" "*no such script: theirs.lua; *; --trust looks among the rocks in $caller/.luarocks, too" '… and it is said how they are'
    by_sudo "$uplua" --trust theirs.lua
    is "$status $out $err" '0 of the caller ' 'with --trust they are, and their modules'
    by_sudo "$uplua" --trust --scripts
    like "$out" '*theirs.lua *(rock theirs 1.0-1)*' '… and stand in --scripts'
    by_sudo "$uplua" versions.lua
    is "$out" ten "beside root's own"
else
    skip 'this is not root, who alone refuses scripts'
fi

done_testing
