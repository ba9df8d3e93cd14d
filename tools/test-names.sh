#!/bin/sh
# tools/test-names.sh TEST…   prints for each test what tools/test-one.sh calls it, and NAME@older for those that run a second time with what
# older kernels lack switched off: those that set probes of functions, unless they say that they run once, and why. Of tests/lua most run on
# an older kernel in the machines of `make test-vm`, or what they ask of it does; tests/vm/left_out says which do not.
# With $OLDER=only it prints the NAME@older of all that set such probes, and nothing else.
BUILD=${BUILD:-build}
left_out=$(dirname "$0")/../tests/vm/left_out
for test; do
    [ -e "$test" ] || continue
    name=$test
    case $test in
    *.c) name=$BUILD/tests/$(basename "$test" .c) ;;
    esac
    [ "${OLDER:-}" = only ] || echo "$name"
    if grep -qE '^(--|#).* Runs once: ' "$test" || ! grep -qE '(u(ret)?probe|usdt) *[({"]|probe_attach|mallocleak|allocators\.trace|compiler_compile' "$test"; then
        continue
    fi
    case $test in
    tests/lua/*)
        if [ "${OLDER:-}" = only ] || grep -q "^$(basename "$test" .lua) *@older: " "$left_out"; then echo "$name@older"; fi
        ;;
    *) echo "$name@older" ;;
    esac
done
