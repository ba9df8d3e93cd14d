# What is asked of the file of `make static` in a root of Debian's: sourced, behind tests/static/roots.sh.

# make_root SUITE: makes $R one, by debootstrap; where the mirror no longer has it, from Debian's archive. What it says is in $D/made.
make_root() {
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' | grep -v security | head -n 1)
    for uri in "${mirror:-http://deb.debian.org/debian}" http://archive.debian.org/debian; do
        rm -rf --one-file-system "$R" && mkdir "$R"
        debootstrap --variant=minbase "$1" "$R" "$uri" >"$D/made" 2>&1 && return
    done
    return 1
}

# Perl, which each system has, is the program with libraries.
try_debian() {
    if ! make_root "$1"; then
        skip "debootstrap makes no root of $1 here: $(tail -n 1 "$D/made")"
        return
    fi
    furnish
    try_all

    run inside /uplua -e 'n = count() for _, name in ipairs { "chdir", "rmdir" } do uprobe("libc:" .. name, function(e) n[e.func]:inc() end) end' -- \
        perl -e 'chdir "/" for 1 .. 101; rmdir "/nothing" for 1 .. 23'
    is "$status $(number chdir) $(number rmdir) $err" '0 101 23 ' 'it counts calls into a library, with nothing lost'
    run inside /uplua -e 'n = count() uprobe("libc:chdir", function(e) n[e:ustack()]:inc() end)' -- perl -e 'chdir "/" for 1 .. 101'
    like "$status $out$err" '0 *
101
 *chdir+0x*Perl_pp_chdir+0x*Perl_runops_standard+0x*perl_run+0x*' 'a stack has the names of both'
    run inside /uplua mallocleak.lua -- perl -e '$x[$_] = "x" x 1000 for 1 .. 23'
    like "$status $out$err" '0 mallocleak: perl *total * bytes in * blocks from * stacks*' 'mallocleak reports'
}
