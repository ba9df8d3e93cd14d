-- All functions of the C library are probed in a redis-server that works, and let go again: it serves each request
-- before, meanwhile and afterwards, and makes no error. (`make bench` says what is left of its speed.)
local tap = require "tap"
local target = require "target"

if not os.getenv "UPLUA_LONG" then
  print "1..0 # SKIP it takes longer than others: make test-long"
  os.exit(0)
end
assert(os.execute "command -v redis-server redis-benchmark redis-cli >/dev/null" == 0,
  "this needs Debian's packages redis-server and redis-tools")
if os.getenv "UPLUA_WITHOUT" then
  print "1..0 # SKIP each function is a perf event here, and takes the kernel 20 ms"
  os.exit(0)
end

local r = target.shell [[
  set -m
  redis-server --port 0 --unixsocket "$D/socket" --save '' --daemonize no >"$D/log" 2>&1 &
  server=$!
  await 'redis-cli -s "$D/socket" ping 2>/dev/null | grep -q PONG' $server
  load() {
    redis-benchmark -s "$D/socket" -q -n "$1" -c 23 -t set,get,lpush,lpop >>"$D/bench" 2>&1 &&
      echo served || echo failed
  } >>"$D/target"
  load 2003
  ./uplua -e 'n = count() after(0, function() io.stderr:write "tracing\n" end)
  uprobe("libc:*", function(e) n[e.func]:inc() end)
    at_exit(function() print(n:size() > 23) end)' -- $server >"$D/out" 2>"$D/err" &
  uplua=$!
  until_traces_or_ends
  load 211
  kill -INT $uplua
  wait $uplua
  echo "status $?" >>"$D/out"
  load 20011
  redis-cli -s "$D/socket" ping >>"$D/out"
  redis-cli -s "$D/socket" info stats | grep total_error_replies >>"$D/out"
  grep -ci 'error' "$D/bench" >>"$D/out"
  redis-cli -s "$D/socket" shutdown nosave
  wait $server
  echo "server $?" >>"$D/out"
]]
tap.is((r.out:gsub("\r", "")), "true\nstatus 0\nPONG\ntotal_error_replies:0\n0\nserver 0\n",
  "it answers, without errors")
tap.is(r.target, "served\nserved\nserved\n", "each load was served")
target.done()
tap.done_testing()
