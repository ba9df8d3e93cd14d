-- A script as a service: what its metrics are for who asks by HTTP, and that nobody who asks ends it.
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local served = service.served

service.need()

-- The metrics of objects and functions, by the rules of the format.
local run = served([[
  local n, h, s, l, v = count(), hist { unit = "ns" }, stats { unit = "bytes" }, lhist(0, 30, 10), var(7)
  uprobe("CALLS:add3", function(e)
    n[{ e.arg0, "a\"b\\c\n\255" }]:inc()
    h:add(1024 * (1 + e.arg0)) s[e.arg0]:add(e.arg0) l:add(e.arg0)
  end)
  up.metric("adds", n, { labels = { "first", "odd" }, help = "calls of add3\nby \"number\"" })
  up.metric("time", h)
  up.metric("size_bytes", s)
  up.metric("steps", l)
  up.metric("level", v)
  up.metric("load", function() return { a = 0.5, b = 2^60, c = -1 } end)
  up.metric("ticks", function() return 3 end, { type = "counter", unit = "requests" })
  up.metric("broken", function() error "no luck" end)
  up.metric("texts", function() return { a = "text" } end)
  up.metric("again", h, { unit = "seconds" })
]], [[
  run
  await 'ask /metrics | grep -q "^steps_count 23$"' $uplua
  ask /metrics >"$D/metrics"
  ask /metrics 'Accept: text/plain;q=0.5, application/openmetrics-text; version=1.0.0' >"$D/openmetrics"
  ask /healthz >"$D/health"
  ask / >"$D/paths"
]])
like(run.noise, "status 143\n$", "the run ends by the signal, with its report")
local function file(name) return target.read(target.folder() .. "/" .. name) end
local text, open = file "metrics", file "openmetrics"
ok(#text > 0, "an answer")
like(text, "^HTTP/1.1 200 OK\n.*\nContent%-Type: text/plain; version=0.0.4; charset=utf%-8\n",
  "… of Prometheus's format")
like(open, "\nContent%-Type: application/openmetrics%-text; version=1.0.0; charset=utf%-8\n.*\n# EOF\n$",
  "… of OpenMetrics")
like(text, '\n# HELP adds_total calls of add3\\nby "number"\n# TYPE adds_total counter\n', "a counter's head")
like(open, '\n# HELP adds calls of add3\\nby \\"number\\"\n# TYPE adds counter\n', "… of OpenMetrics")
local count, sum = 0, 0
for first, number in text:gmatch '\nadds_total{first="(%d+)",odd="a\\"b\\\\c\\\\x0a\\\\xff"} (%d+)' do
  count, sum = count + 1, sum + number
end
ok(count > 0, "labels of a key's parts, escaped")
is(sum, 23, "… all calls")
is(select(2, open:gsub("\nadds_total{", "")), count, "… in both formats")
like(text, "\n# TYPE time_seconds histogram\n", "ns become seconds")
like(open, "\n# UNIT time_seconds seconds\n", "… and OpenMetrics has the unit")
local last, ends = 0, 0
for le, number in text:gmatch '\ntime_seconds_bucket{le="([^"]+)"} (%d+)' do
  ok(tonumber(number) >= last, "a bucket has those below: " .. le)
  last, ends = tonumber(number), ends + 1
end
is(last, 23, "… and the last one all")
is(ends, 26, "… of a constant number")
like(text, '\ntime_seconds_bucket{le="1.023e%-06"} 0\n', "le is inclusive")
like(text, '\nsteps_bucket{le="%-1"} 0\nsteps_bucket{le="9"} %d+\nsteps_bucket{le="19"} %d+\n' ..
  'steps_bucket{le="29"} 23\nsteps_bucket{le="%+Inf"} 23\n', "buckets of equal steps")
like(text, '\nagain_seconds_bucket{le="1.023e%-06"} 0\n', "a unit that is named, too, is the same")
ok(not text:find "\ntexts", "what is no number is left out")
like(text, '\nuplua_metric_errors_total{metric="texts"} [1-9]', "… and counted")
like(text, '\n# TYPE size_bytes_min gauge\nsize_bytes_min{key="%d+"} %d+\n', "stats are gauges")
like(text, "\nlevel 7\n", "a var")
like(text, '\nload{key="a"} 0.5\n', "a function's table")
like(text, '\nload{key="b"} 1152921504606846976\n', "… with all digits")
like(text, "\n# TYPE ticks_requests_total counter\nticks_requests_total 3\n", "a function that counts")
ok(not text:find "\nbroken", "one that fails is left out")
like(text, '\nuplua_metric_errors_total{metric="broken"} [1-9]', "… and counted")
is(select(2, run.err:gsub("metric broken is left out: %-e:%d+: no luck", "")), 1, "… and told once")
like(text, '\nuplua_hits_total{probe="uprobe [^"]*:add3"} 23\n', "hits of the probes")
like(text, '\nuplua_script_info{name="%-e",version="[%d.]+",sha256=""} 1\n', "which script it is")
is(select(2, text:gsub("\nuplua_lost_total{", "")), 0, "nothing is lost")
like(file "health", "^HTTP/1.1 200 OK\n.*\n\nok\n$", "/healthz")
like(file "paths", "\n/metrics\t", "/ tells what there is")

-- Who asks otherwise.
run = served([[
  local n = count() uprobe("CALLS:add3", function(e) n:inc() end) up.metric("adds", n)
]], [[
  raw 'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello' | head -1 | tr -d '\r'
  ask /nothing | head -1
  raw 'GARBAGE\r\n\r\n' >/dev/null
  printf 'GET /metrics HTTP/1.1\r\nHost: x\r\nX: ' >"$D/big"
  head -c 1000000 /dev/zero | tr '\0' a >>"$D/big"
  printf '\r\n\r\n' >>"$D/big"
  exec 8<>/dev/tcp/127.0.0.1/$port
  cat "$D/big" >&8 2>/dev/null &
  timeout 20 head -1 <&8 | tr -d '\r'
  exec 8>&-
  # More than there is room for, none of which says anything: they are let go.
  for i in $(seq 10 89); do eval "exec $i<>/dev/tcp/127.0.0.1/$port"; done
  await 'ask /healthz | grep -q "^ok$"' $uplua
  ask /healthz | tail -1
  for i in $(seq 10 89); do eval "exec $i>&-"; done
  run
  await 'ask /metrics | grep -q "^adds_total 23$"' $uplua
  ask /metrics | grep adds_total | tail -1
]])
like(run.noise, "^HTTP/1.1 405 [^\n]*\nHTTP/1.1 404 [^\n]*\nHTTP/1.1 4%d%d [^\n]*\nok\nadds_total 23\n",
  "other methods and paths, garbage, a head of a megabyte, 80 clients that are silent")

-- A socket that is a file, which ends with the run; one that was left behind is taken over, a port in use is not.
run = target.shell([[
  # Killed, a run leaves its socket behind.
  ./uplua --serve "$D/socket" -e 'every("1s", function() end)' 2>"$D/first" &
  first=$!
  await 'grep -q serving "$D/first"' $first
  kill -KILL $first
  wait $first 2>/dev/null
  timeout 30 ./uplua --duration 1s --serve "$D/socket" -e 'after("200ms", function()
    os.execute "stat -c %A '"$D"'/socket" end)' 2>"$D/err"
  ls "$D/socket" 2>&1 | grep -c 'No such'
  timeout 30 ./uplua --duration 5s --serve 127.0.0.1:0 -e 'every("1s", function() end)' 2>"$D/first" &
  first=$!
  await 'grep -q serving "$D/first"' $first
  port=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$D/first")
  ./uplua --serve $port -e 'print "never"' -- sh -c 'echo never' 2>"$D/second"
  echo $?
  kill -TERM $first
  wait $first
]])
like(run.noise, "\n?srw%-rw%-%-%-%-\n1\n1\n$", "a socket's file is for its user and group, and ends with the run")
like(file "second", "^uplua: %-%-serve: cannot listen at %d+: another program listens there: end it, or ",
  "a port that is taken")

local function refused(code, want)
  local r = target.uplua(("--check -e %s"):format(target.quote("local n, h = count(), hist() " .. code)))
  is(r.err:match "^uplua: %-e:1: ([^\n]*)", want, code)
end
refused('up.metric("a-b", n)', "metric: 'a-b' is no name of a metric: letters, digits and _, no digit first")
refused('up.metric("uplua_x", n)', "metric: 'uplua_x': names that begin with uplua_ are uplua's own")
refused('up.metric("x_bucket", n)', "metric: 'x_bucket': what ends in _bucket, _count or _sum is of a histogram")
refused('up.metric("x", 5)',
  "metric x: count, sum, var, min, max, stats, hist, lhist, hdr, a map or a function is expected, not 5")
refused('up.metric("x", ring())',
  "metric x: count, sum, var, min, max, stats, hist, lhist, hdr, a map or a function is expected, not a ring")
refused('up.metric("x", n, { labels = { "le" } })',
  "metric x: option 'labels': the label 'le' has a meaning of its own: name it otherwise")
refused('up.metric("x", n, { labels = { "a", "a" } })', "metric x: option 'labels': the label 'a' stands there twice")
refused('up.metric("x", n, { label = { "a" } })', "metric x: unknown option 'label'; did you mean 'labels'?")
refused('up.metric("x", n) up.metric("x_total", n)', "metric x_total: x_total is there already")
refused('up.metric("x_count", n)', "metric: 'x_count': what ends in _bucket, _count or _sum is of a histogram")
refused('up.metric("x", hist { unit = "ns" }, { unit = "bytes" })',
  "metric x: option 'unit': it counts ns, which are exported as seconds")
refused('up.metric("x", lhist(0, 1000, 1))',
  "metric x: 1001 buckets are too many, since each is a series of its own: at most 200; use hist, or larger steps")
refused('up.metric("x", n, { type = "gauge" })', "metric x: option 'type' is for functions")
refused('up.metric("x", n, { ttl = "soon" })',
  "metric x: option 'ttl': 'soon' is not a duration; write a number of seconds, or 100ms, 5s, 2m, 1h")
refused('up.metric("x", var(1), { ttl = "1m" })',
  "metric x: option 'ttl' is for aggregations: of what a script keeps itself, it removes keys itself")
refused('up.metric("x", h, { profile = true })', "metric x: option 'profile' is for a count or sum by stack")
refused('up.metric("x", n, { profile = 5 })',
  "metric x: option 'profile': true is expected, or a table with the options of pprof.write")
refused('up.metric("x", n, { keys = 5 })', "metric x: option 'keys': a function is expected, which returns what the " ..
  "labels say of a key")
refused('up.metric("x", h, { buckets = { 1, 8, 64 } })',
  "metric x: option 'buckets': { LOWEST, HIGHEST } is expected, values from 1 up, in the histogram's unit")
refused('up.metric("x", n, { buckets = { 1, 8 } })', "metric x: option 'buckets' is for hist and hdr")
like(target.uplua("--serve nowhere -e 'print(1)'").err, "^uplua: %-%-serve: 'nowhere' is nowhere to listen at; give ",
  "an address that is none")
target.done()
tap.done_testing()
