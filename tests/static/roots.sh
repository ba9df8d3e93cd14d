# Roots in which the file of `make static` is tried, and what is asked of it in each. Sourced by the tests of this folder, behind
# tests/cli/tap.sh, in a mount namespace of their own: what is mounted ends with the test.

STATIC=$(pwd)/build/static/uplua
R=$(mktemp -d /var/tmp/uplua-static.XXXXXX) || exit 1
# Never into what is mounted there.
trap 'umount "$R/proc" "$R/sys" 2>/dev/null; rm -rf --one-file-system "$R" "$D"' EXIT

# inside COMMAND…: runs it in the root, with little in its environment
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb chroot "$R" "$@"
}

# furnish: puts the file into the root, two programs without libraries that do known things, and a module of C
furnish() {
    mkdir -p "$R/proc" "$R/sys" "$R/tmp" "$R/usr/local/lib/lua/5.1"
    mount --bind /proc "$R/proc" && mount --bind /sys "$R/sys" || exit 1
    cp "$STATIC" "$R/uplua"
    cp build/targets/leak-static build/targets/usdt-static "$R"
    cp /usr/lib/"$(uname -m)"-linux-gnu/lua/5.1/cjson.so "$R/usr/local/lib/lua/5.1/cmodule.so"
}

# The number behind the word $1 in the output.
number() { echo "$out" | sed -nE "s/^(n: )?$1 +([0-9,]+)$/\\2/p"; }

# try_all: what is the same in all roots
try_all() {
    run inside /uplua --version
    like "$status $out$err" '0 uplua [0-9]*' 'it starts'
    run inside /uplua --scripts
    is "$(echo "$out" | sed 's/ .*//')" "$(cd scripts && ls -- *.lua)" 'it has the scripts in itself'
    run inside /uplua mallocleak.lua --help
    like "$status $out" '0 usage: uplua mallocleak.lua *which call stacks hold memory that was allocated and not freed?*' 'a script says what it is for'

    run inside /uplua -e 'n = count() for _, name in ipairs { "places", "none" } do uprobe("/usdt-static:" .. name, function(e) n[e.func]:inc() end) end' -- /usdt-static
    is "$status $(number places) $(number none) $err" '0 23 23 ' 'it counts calls, with nothing lost'
    run inside /uplua -e 'n = count() usdt("/usdt-static:app:*", function(e) n[e.func]:inc() end)' -- /usdt-static
    is "$status $(number app:counter) $(number app:none) $err" '0 101 23 ' 'and USDT probes'
    run inside /uplua -e 'n = count() uprobe("/usdt-static:none", function(e) n[e:ustack()]:inc() end)' -- /usdt-static
    like "$status $out$err" '0 *
23
 *none+0x*
 *work+0x*
 *main+0x*' 'a stack has its names'
    run inside /uplua mallocleak.lua --top 0 -- /leak-static
    like "$status $out" '0 *leaked 30 bytes 51672*23,000 bytes in 23 blocks*leak_small+0x*' 'mallocleak finds what leaks'
    like "$out" '*28,672 bytes in 7 blocks*leak_large*leak_large_level2+0x*leak_large_level1+0x*' 'all of it'
    like "$err" 'mallocleak: tracing leak-static (pid *); Ctrl-C ends' 'and loses nothing'
    run inside /uplua syscalls.lua -- /usdt-static
    like "$status $out$err" '0 *write *' 'system calls have their names'
    run inside /uplua --json --info
    like "$status $out$err" '0 {*"version":*}' '--info, as JSON'

    run inside /uplua -e 'require("ffi").load "m"'
    like "$status $err" '1 *libm.so: this uplua is one file without libraries, which loads none: ffi.load *' 'ffi.load is refused, with the reason'
    run inside /uplua -e 'require "cmodule"'
    like "$status $err" "1 *error loading module 'cmodule' from file '/usr/local/lib/lua/5.1/cmodule.so':*this uplua is one file without libraries, which loads none*" \
        'so is a module of C'
    run inside /uplua -e 'local ffi = require "ffi" ffi.cdef "int getppid(void); int strfry(char *);" print(ffi.C.getppid()) ffi.C.strfry(nil)'
    like "$status $out $err" "1 $$ uplua: *strfry: this uplua is one file without libraries, which has no such function of C in it*" \
        'the usual functions of C are there, another is refused'
    run inside /uplua -e 'uprobe("/usdt-static:nothing", function(e) end)' -- /usdt-static
    like "$status $err" '1 *nothing*' 'an error has its message'
    run inside /uplua --watch mallocleak.lua -- /leak-static
    like "$status $err" "1 *--watch: this script is in uplua's own file*" 'what nobody can save is not watched'

    if has_terminal; then
        LANG=C.UTF-8 "$pty" chroot "$R" /uplua >"$D/out" <<'END'
< >
> "é" .. "x"
< "é" .. "x"
< "éx"
< >
> 20 + 3
< 23
> n = count()
< >
> p = uprobe("/usdt-static:none", function(e) n[e.func]:inc() end)
< >
> p
< none: 1 site, 0 hits, attached
< >
> nothing.x = 1
< global 'nothing' (a nil value)
< >
^D
END
        status=$?
        ok 'the prompt' [ "$status" = 0 ] || sed 's/^/#   /' "$D/out" >&2
    fi
}
