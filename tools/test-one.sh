#!/bin/sh
# Runs one test for prove: a binary, or a Lua or shell script; NAME@older with the newer kernel features switched off.
test=${1%@older}
[ "$test" = "$1" ] || export UPLUA_WITHOUT=uprobe_multi,session,may_goto,private_stack
export UPLUA_CACHE= # no test leaves unwind tables behind, or finds those of another
case $test in
*.lua) set -- ./uplua "$test" ;;
*.sh) set -- sh "$test" ;;
*) set -- "$test" ;;
esac
# Tests send signals; where prove is a shell's background job, or under nohup, these are ignored.
exec env --default-signal=HUP,INT,QUIT "$@"
