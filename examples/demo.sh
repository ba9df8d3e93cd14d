#!/bin/sh
# What `make demo` runs: a small server with a leak, and uplua attached to it while it works.
set -u
cd "$(dirname "$0")/.." || exit 1

root=
if [ "$(id -u)" != 0 ]; then
    root=sudo
    echo '$ sudo -v   # tracing needs root'
    sudo -v || exit 1
fi

echo '$ build/examples/leaky 8 &'
build/examples/leaky 8 &
server=$!
sleep 0.2
echo "\$ ./uplua --duration 5s mallocleak.lua --top 5 --older 1s -- $server"
$root ./uplua --duration 5s mallocleak.lua --top 5 --older 1s -- $server
status=$?
kill $server 2>/dev/null
wait $server 2>/dev/null
exit $status
