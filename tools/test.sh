#!/bin/sh
# tools/test.sh [tests/c/x_test.c | tests/lua/x_test.lua | tests/cli/x_test.sh ...]   runs these, or all, as prove does
#
# Some tests that set probes run twice: as the kernel is, and with what older kernels lack switched off (NAME@older; tools/test-names.sh). As
# many at a time as there are CPUs, or $JOBS: they wait for the kernel more than they compute, and none depends on what else the machine
# does. The last line is "N passed, N failed, N skipped"; what failed, and what was skipped and why, stands above it.
set -u
export BUILD="${BUILD:-build}"

if [ $# = 0 ]; then
    set -- tests/c/*_test.c tests/lua/*_test.lua tests/cli/*_test.sh
fi

outermost=
if [ -z "${TEST_RESULTS:-}" ]; then
    TEST_RESULTS=$(mktemp) || exit 1
    export TEST_RESULTS
    trap 'rm -f "$TEST_RESULTS"' EXIT
    outermost=yes
fi
# shellcheck disable=SC2046
perl tools/harness.pl "${JOBS:-$(nproc)}" --exec tools/test-one.sh $(tools/test-names.sh "$@")
status=$?
[ -z "$outermost" ] || tools/results.sh "$TEST_RESULTS" || status=1
exit $status
