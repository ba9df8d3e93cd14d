#!/bin/sh
# Runs one test for prove: a binary, or a Lua or shell script; NAME@older with the newer kernel features switched off.
test=${1%@older}
[ "$test" = "$1" ] || export UPLUA_WITHOUT=uprobe_multi,session,may_goto,private_stack
export UPLUA_CACHE= # no test leaves unwind tables behind, or finds those of another
case $test in
*.lua) exec ./uplua "$test" ;;
*.sh) exec sh "$test" ;;
*) exec "$test" ;;
esac
