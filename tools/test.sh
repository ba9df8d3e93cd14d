#!/bin/sh
# tools/test.sh [tests/c/x_test.c | tests/lua/x_test.lua | tests/cli/x_test.sh ...]   runs these, or all, under prove
#
# Tests that set probes run twice: as the kernel is, and with what older kernels lack switched off (NAME@older). As many at a time as there are
# CPUs, or $JOBS: they wait for the kernel more than they compute, and none depends on what else the machine does.
set -u
BUILD=${BUILD:-build}

if [ $# = 0 ]; then
    set -- tests/c/*_test.c tests/lua/*_test.lua tests/cli/*_test.sh
fi

list=
for test in "$@"; do
    [ -e "$test" ] || continue
    name=$test
    case $test in
    *.c) name=$BUILD/tests/$(basename "$test" .c) ;;
    esac
    list="$list $name"
    if grep -qE '(u(ret)?probe|usdt) *[({"]|probe_attach|mallocleak|compiler_compile' "$test"; then
        list="$list $name@older"
    fi
done

# shellcheck disable=SC2086
exec prove --timer -j "${JOBS:-$(nproc)}" --exec tools/test-one.sh $list
