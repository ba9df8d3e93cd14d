#!/bin/bash
# tools/test-load.sh N LOAD [TEST…]   runs each test N times while LOAD programs more want the CPUs, and counts the runs that fail
#
# What a run printed is kept if it failed, and shown. Without TEST it runs those whose checks depend most on when something happens.
# The programs that make the load end with this script, and at the latest after an hour and a half for each.
set -u
[ $# -ge 2 ] || { echo "usage: tools/test-load.sh N LOAD [tests/lua/x_test.lua …]" >&2; exit 2; }
times=$1 load=$2
shift 2
[ $# -gt 0 ] || set -- tests/lua/{follow,perf,explain,guest_kinds,loops}_test.lua tests/c/library_lookup_test.c

kept=$(mktemp -d) || exit 1
spinners=()
trap 'kill "${spinners[@]}" 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for ((i = 0; i < load; i++)); do
    timeout 5400 sh -c 'while :; do :; done' &
    spinners+=($!)
done

passed=0 failed=0
for name in $(tools/test-names.sh "$@"); do
    before=$failed began=$SECONDS
    for ((i = 1; i <= times; i++)); do
        out=$kept/$(basename "$name").$i
        if prove --verbose --merge --exec tools/test-one.sh "$name" >"$out" 2>&1 </dev/null; then
            passed=$((passed + 1))
            rm "$out"
        else
            failed=$((failed + 1))
            echo "# run $i of $name failed; $out has all that it printed:"
            grep -vE '^(ok |1\.\.|\.\.\. )' "$out" | head -n 40
        fi
    done
    echo "# $name: $((failed - before)) of $times runs failed, $(((SECONDS - began) / times)) s each"
done
[ $failed != 0 ] || rm -r "$kept"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
