-- --otlp: metrics that are pushed to a collector, which here is a program that checks nothing and keeps all: they are
-- what /metrics has, in the form of the published schema; and what becomes of them where it errs, is slow or is gone.
local cjson   = require "cjson"
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

if not (pcall(require("ffi").load, "libcurl.so.4") or pcall(require("ffi").load, "libcurl-gnutls.so.4")) then
  tap.skip_rest "no libcurl here"
end
if not tap.has "python3" then tap.skip_rest "the collector is written in it" end

-- Answers each request by the next line of the file "answers" in its folder, STATUS SECONDS TEXT: after so long; the
-- last one stays. Keeps the bodies as 1, 2, … and prints its port.
local COLLECTOR = [[
import http.server, os, sys, time
folder, count = sys.argv[1], 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["Content-Length"]))
        lines = open(folder + "/answers").read().splitlines()
        status, seconds, text = lines[min(count, len(lines) - 1)].split(" ", 2)
        count += 1
        with open(folder + "/.new", "wb") as file: file.write(body)
        os.rename(folder + "/.new", "%s/%d" % (folder, count))
        with open(folder + "/log", "a") as file:
            file.write("%s %s %s\n" % (self.path, self.headers["Content-Type"], status))
        time.sleep(float(seconds))
        try:
            self.send_response(int(status))
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError: pass
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
]]
local own = target.folder() .. "-own"
os.execute("mkdir -p " .. own)
local file = assert(io.open(own .. "/collector.py", "w"))
file:write(COLLECTOR)
file:close()

-- Runs uplua on CODE with OPTIONS beside a collector that answers by ANSWERS, and then STEPS, a script of bash with
-- `run`, which calls add3 23 times, and `sent N`, which waits for the collector's Nth request.
local function pushed(code, answers, steps, options)
  return target.shell(([=[
    rm -rf "$D-own/got" && mkdir "$D-own/got"
    printf '%%s\n' %s >"$D-own/got/answers"
    python3 "$D-own/collector.py" "$D-own/got" 0 >"$D/port" &
    collector=$!
    await '[ -s "$D/port" ]' $collector
    port=$(cat "$D/port")
    ./uplua --otlp http://127.0.0.1:$port --every 200ms %s -e %s >"$D/out" 2>"$D/err" &
    uplua=$!
    await 'grep -q "pushing metrics to" "$D/err"' $uplua
    run() { %s 1 >/dev/null; }
    sent() { n=$1; await '[ -e "$D-own/got/$n" ]' $uplua; }
    %s
    kill -TERM $uplua
    wait $uplua
    echo "status $?"
    kill $collector 2>/dev/null
    wait $collector 2>/dev/null
  ]=]):format(answers, options or "", target.quote((code:gsub("CALLS", service.CALLS))), service.CALLS, steps))
end

local function got(number) return target.read(("%s/got/%s"):format(own, number)) end
local function last()
  local number = 0
  while got(number + 1) ~= "" do number = number + 1 end
  return got(number), number
end

-- The metrics in BODY by name, where it has the form of the schema.
local function metrics_of(body)
  local good, decoded = pcall(cjson.decode, body)
  if not ok(good, "it is JSON") then return {} end
  local resource = decoded.resourceMetrics[1]
  is(resource.resource.attributes[1].value.stringValue, "uplua", "… of a resource")
  local scope = resource.scopeMetrics[1]
  is(scope.scope.name, "uplua", "… of a scope")
  local by_name, wrong = {}, {}
  for _, one in ipairs(scope.metrics) do
    by_name[one.name] = one
    local data = one.sum or one.gauge or one.histogram
    local temporality = not one.gauge and 2 or nil
    if not data or data.aggregationTemporality ~= temporality or (one.sum and data.isMonotonic ~= true) then
      wrong[#wrong + 1] = one.name
    end
    for _, point in ipairs(data and data.dataPoints or {}) do
      local times = point.timeUnixNano:find "^%d+$" and #point.timeUnixNano == 19 and
        (one.gauge or point.startTimeUnixNano <= point.timeUnixNano)
      local value = one.histogram and #point.bucketCounts == #point.explicitBounds + 1 or
        type(point.asInt) == "string" or type(point.asDouble) == "number" or point.asDouble == "Infinity" or
        point.asDouble == "NaN"
      if not (times and value) then wrong[#wrong + 1] = one.name .. ": " .. cjson.encode(point) end
    end
  end
  is(table.concat(wrong, "\n"), "", "… as the schema has it")
  return by_name
end

-- The point of METRIC whose attribute NAME is VALUE; without these the only one.
local function point_of(metric, name, value)
  local data = metric and (metric.sum or metric.gauge or metric.histogram) or { dataPoints = {} }
  for _, point in ipairs(data.dataPoints) do
    if not name then return point end
    for _, attribute in ipairs(point.attributes or {}) do
      if attribute.key == name and attribute.value.stringValue == value then return point end
    end
  end
  return {}
end

local COUNTS = [[
  local n, h, s = count(), hist { unit = "ns" }, stats()
  uprobe("CALLS:add3", function(e) n[{ e.comm, "a\"b\n\255" }]:inc() h:add(1024 * (1 + e.arg0)) s:add(e.arg0) end)
  up.metric("adds", n, { labels = { "thread", "odd" }, help = "calls of \"add3\"" })
  up.metric("time", h)
  up.metric("size", s)
  up.metric("big", function() return 2^60 end)
  up.metric("load", function() return { a = 0.5, b = 1 / 0, c = 0 / 0 } end)
  up.metric("broken", function() error "no luck" end)
]]
local run = pushed(COUNTS, "'200 0 {}'", "run\nsent 3")
like(run.noise, "status 143\n$", "a run that pushes")
like(run.err, "^uplua: pushing metrics to http://127.0.0.1:%d+/v1/metrics\n", "… says where to")
like(got "log", "^/v1/metrics application/json 200\n", "the path, and the type")
local body, number = last()
ok(number >= 4, "one request each time, and one at the end", number)
local found = metrics_of(body)
local comm = service.CALLS:match "[^/]+$":sub(1, 15)
local point = point_of(found.adds, "thread", comm)
is(point.asInt, "23", "a counter")
is(point.attributes and point.attributes[2].value.stringValue, 'a"b\\x0a\\xff', "… with its labels, as they are shown")
is(found.adds and found.adds.description, 'calls of "add3"', "… and its help")
point = point_of(found.time_seconds)
is(point.count, "23", "a histogram")
is(found.time_seconds and found.time_seconds.unit, "seconds", "… with its unit")
local sum, bucket = 0, nil
for i, count in ipairs(point.bucketCounts or {}) do
  sum = sum + tonumber(count)
  if point.explicitBounds[i] == 1.023e-06 then bucket = count end
end
is(sum, 23, "… whose buckets have all")
is(bucket, "0", "… each with its own alone, up to its bound")
ok(math.abs((point.sum or 0) - (23 * 1024 + 1024 * 276) * 1e-9) < 1 or point.sum, "… and their sum", point.sum)
ok(point_of(found.size_avg).asDouble or point_of(found.size_avg).asInt, "stats are gauges")
is(tonumber(point_of(found.big).asInt or point_of(found.big).asDouble), 2 ^ 60, "a large number")
is(point_of(found.load, "key", "a").asDouble, 0.5, "a function's")
is(point_of(found.load, "key", "b").asDouble, "Infinity", "… without an end")
is(point_of(found.load, "key", "c").asDouble, "NaN", "… and what is none")
is(found.broken, nil, "what fails is left out")
like(run.err, "\nuplua: metric broken is left out: %-e:%d+: no luck\n", "… which is said")
is(point_of(found.uplua_hits).asInt, "23", "uplua's own")
is(point_of(found.uplua_otlp_lost_requests, "cause", "the collector refused them").asInt, "0", "nothing is lost")

-- A collector that errs at first: the same requests come again.
local ONE = 'local n = count() uprobe("CALLS:add3", function(e) n:inc() end) up.metric("adds", n)'
run = pushed(ONE, "'503 0 busy' '429 0 slow' '200 0 {}'", "run\nsent 5")
like(run.err, "\nuplua: %-%-otlp: the collector answers with status 503\nuplua: %-%-otlp: the collector answers " ..
  "with status 429\nuplua: %-%-otlp: the collector answers again\n", "a collector that is busy is asked again")
is(got(1), got(2), "… with the same request")
is(got(2), got(3), "… until it takes it")
is(point_of(metrics_of((last())).adds).asInt, "23", "… and nothing is missing at the end")

-- One that refuses.
run = pushed(ONE, "'400 0 no' '400 0 no' '200 0 {}'", "run\nsent 5")
like(run.err, "\nuplua: %-%-otlp: the collector refuses what is sent: status 400\nuplua: %-%-otlp: the collector " ..
  "answers again\n", "one that refuses is not asked again")
ok(got(1) ~= got(2), "… with that request")
is(point_of(metrics_of((last())).uplua_otlp_lost_requests, "cause", "the collector refused them").asInt, "2",
  "… which is counted")

-- One that takes a part.
run = pushed(ONE, [['200 0 {"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}' '200 0 {}']],
  "run\nsent 3")
like(run.err, "\nuplua: %-%-otlp: the collector has rejected 3 data points: too old\n",
  "what it rejects in part is said")

-- One that is slow: the run goes on meanwhile.
run = pushed(ONE .. [[ every("50ms", function() up.printf("tick\n") end) ]], "'200 1.5 {}'", "run\nsent 2")
ok(select(2, run.out:gsub("tick\n", "")) >= 20, "a slow one keeps nothing from going on",
  select(2, run.out:gsub("tick\n", "")))

-- One that is gone, and comes back.
run = pushed(ONE, "'200 0 {}'", [=[
  sent 1
  kill $collector
  wait $collector 2>/dev/null
  await 'grep -q "no answer from the collector" "$D/err"' $uplua
  run
  python3 "$D-own/collector.py" "$D-own/got" $port >"$D/again" &
  collector=$!
  await 'grep -q "the collector answers again" "$D/err"' $uplua
]=])
like(run.err, "\nuplua: %-%-otlp: no answer from the collector: [^\n]+\nuplua: %-%-otlp: the collector answers again\n",
  "one that is gone for a while")
is(point_of(metrics_of((last())).adds).asInt, "23", "… has all in the end")

-- None at all: the run ends well, and says so.
run = target.shell(([[
  timeout 60 ./uplua --otlp http://127.0.0.1:1 --every 100ms --duration 500ms -e %s >"$D/out" 2>"$D/err"
  echo "status $?"
]]):format(target.quote((ONE:gsub("CALLS", service.CALLS)))))
like(run.noise, "status 0\n$", "no collector at all")
like(run.err, "\nuplua: %-%-otlp: the last metrics were not sent: ", "… is said")

-- What is wrong.
like(target.uplua("--otlp nowhere -e 'print(1)'").err, "^uplua: %-%-otlp: 'nowhere' is no URL of a collector, such as ",
  "no URL")
like(target.uplua("--every 1s -e 'print(1)'").err, "^uplua: %-%-every is for %-%-otlp\n", "--every without it")
like(target.uplua("--otlp http://127.0.0.1:1 --every 1ms -e 'print(1)'").err,
  "^uplua: %-%-every: 1ms is below the least, 100ms\n", "too often")
like(target.uplua("-i --otlp http://127.0.0.1:1 -e 'print(1)'").err,
  "^uplua: %-%-otlp runs a script; it does not go with %-i\n", "with a prompt")
target.done()
tap.done_testing()
