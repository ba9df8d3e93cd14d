#!/bin/sh
# tools/stages.sh NAME COMMAND [NAME COMMAND]…   runs these one after the other, whatever becomes of those before
#
# At the end it prints on what machine they ran, the time of each, and what tools/results.sh says of the tests in all. A command that fails
# without a test that failed counts as one failure. Stages may have stages of their own.
set -u
outer=${TEST_RESULTS:-}
TEST_RESULTS=$(mktemp) || exit 1
export TEST_RESULTS
trap 'rm -f "$TEST_RESULTS"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failures() { grep -c '^failed' "$TEST_RESULTS"; }

times=
while [ $# -ge 2 ]; do
    before=$(failures)
    began=$(date +%s)
    status=0
    sh -c "$2" || status=$?
    took=$(($(date +%s) - began))
    times="$times
# $1: $((took / 60)) min $((took % 60)) s"
    if [ $status != 0 ] && [ "$(failures)" = "$before" ]; then
        printf 'failed\t%s: exit status %d\n' "$1" $status >>"$TEST_RESULTS"
    fi
    shift 2
done
echo "$times"
if [ -n "$outer" ]; then
    cat "$TEST_RESULTS" >>"$outer"
elif [ -x ./uplua ]; then
    ./uplua tools/machine.lua 2>&1 || true
fi
tools/results.sh "$TEST_RESULTS"
