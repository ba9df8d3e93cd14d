#!/bin/sh
# Runs one test for prove: a binary, or a Lua or shell script; NAME@older with the newer kernel features switched off.
#
# After 120 s, or what a line "Limit: N s" among the first ten of the test's file says, it is ended with all that it has started (supervise.c).
# $TEST_SECONDS overrides both; with UPLUA_LONG, which has tests do more, there is an hour.
test=${1%@older}
[ "$test" = "$1" ] || export UPLUA_WITHOUT=uprobe_multi,session,may_goto,private_stack
export UPLUA_CACHE= # no test leaves unwind tables behind, or finds those of another
file=$test
case $test in
*.lua) set -- ./uplua "$test" ;;
*.sh) set -- sh "$test" ;;
*) set -- "$test"; file=tests/c/$(basename "$test").c ;;
esac
seconds=${TEST_SECONDS:-${UPLUA_LONG:+3600}}
[ -n "$seconds" ] || seconds=$(sed -n '1,10s/.*Limit: \([0-9]*\) s\b.*/\1/p' "$file" 2>/dev/null | head -n 1)
# Tests send signals; where prove is a shell's background job, or under nohup, these are ignored.
exec build/supervise "${seconds:-120}" env --default-signal=HUP,INT,QUIT "$@"
