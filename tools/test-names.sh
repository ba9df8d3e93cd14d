#!/bin/sh
# tools/test-names.sh TEST…   prints for each test what tools/test-one.sh calls it, and NAME@older for those that run a second time:
# those that set probes of functions, unless they say that they run once, and why.
BUILD=${BUILD:-build}
for test; do
    [ -e "$test" ] || continue
    name=$test
    case $test in
    *.c) name=$BUILD/tests/$(basename "$test" .c) ;;
    esac
    echo "$name"
    if ! grep -q '^-- Runs once: ' "$test" && grep -qE '(u(ret)?probe|usdt) *[({"]|probe_attach|mallocleak|allocators\.trace|compiler_compile' "$test"; then
        echo "$name@older"
    fi
done
