-- The scripts that are for metrics: sslmetrics, diskmetrics, runqmetrics, heapmetrics; served, and at a terminal.
local cjson   = require "cjson"
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SERVES = pcall(require("ffi").load, "libmicrohttpd.so.12")

-- The rows of the last table in OUT, JSON Lines.
local function rows(out)
  local found = {}
  for line in out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    if one.type == "table" then found = one.rows end
  end
  return found
end

-- Serves SCRIPT with ARGUMENTS until WAIT, a condition of bash with `ask`, holds; then what it exports.
local function exported(script, arguments, wait)
  local run = target.shell(service.SHELL .. ([[
    ./uplua --serve 0 %s %s >"$D/out" 2>"$D/err" &
    uplua=$!
    serving $uplua
    await '%s' $uplua
    ask /metrics >"$D/metrics"
    kill -TERM $uplua
    wait $uplua
  ]]):format(script, arguments, wait))
  return target.read(target.folder() .. "/metrics"), run
end

-- The sum of the samples in TEXT called NAME whose labels have LABELS, a pattern.
local function total(text, name, labels)
  local sum = 0
  for found, number in ("\n" .. text):gmatch("\n" .. name .. "{([^\n]*)} (%S+)") do
    if found:find(labels) then sum = sum + tonumber(number) end
  end
  return sum
end

-- TLS: a server and a client in one process, which both shake hands, but for connections whose client does not trust
-- the server.
local TLS = [[
import socket, ssl, sys, threading, time
folder, good, bad, size = sys.argv[1], 23, 7, 101
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        connection, _ = listener.accept()
        try:
            tls = server.wrap_socket(connection, server_side=True)
            while tls.recv(65536): tls.sendall(b"y" * size)
            tls.close()
        except ssl.SSLError: pass
        connection.close()
threading.Thread(target=serve, daemon=True).start()
def connect(trusts):
    context = ssl.create_default_context()
    if trusts:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(listener.getsockname()) as raw:
        tls = context.wrap_socket(raw, server_hostname="here")
        tls.sendall(b"x" * size)
        tls.recv(65536)
        tls.close()
for i in range(good): connect(True)
for i in range(bad):
    try: connect(False)
    except ssl.SSLError: pass
time.sleep(float(sys.argv[2]))
]]
if tap.has("python3") and tap.has("openssl") then
  local folder = target.folder() .. "-own"
  os.execute(("mkdir -p %s && cd %s && openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem " ..
              "-days 30 -subj /CN=here 2>/dev/null"):format(folder, folder))
  local file = assert(io.open(folder .. "/tls.py", "w"))
  file:write(TLS)
  file:close()
  local command = ("-- python3 %s/tls.py %s"):format(folder, folder)
  local run = target.uplua("--format json sslmetrics.lua " .. command .. " 0.2")
  is(run.status .. run.err, "0", "sslmetrics.lua")
  local row = rows(run.out)[1] or {}
  is(row.n, 46, "handshakes of both sides")
  is(row.unfinished, 14, "… and those that were given up")
  is(("%s %s"):format(row.read, row.written), ("%d %d"):format(2 * 23 * 101, 2 * 23 * 101), "… what was carried")
  ok((row.p50 or 0) > 1e5 and row.max < 1e10 and row.max >= row.p50, "… and their times")
  if SERVES then
    local text = exported("scripts/sslmetrics.lua", command .. " 60",
      [[ask /metrics | grep -q "^ssl_unfinished_total{process=\"python3\"} 14$"]])
    is(total(text, "ssl_handshake_seconds_count", 'process="python3"'), 46, "as metrics")
    is(total(text, "ssl_read_bytes_total", 'process="python3"'), 4646, "… bytes")
    ok(not text:find "\nuplua_lost_total{", "… exactly")
  end
end

-- Waits for a CPU: a command that sleeps 101 times waits as often, at least.
local NAPS = "-- perl -e 'for (1..101) { select undef, undef, undef, 0.001 }'"
local run = target.uplua("--format json runqmetrics.lua --by process " .. NAPS)
is(run.status .. run.err, "0", "runqmetrics.lua")
local waits
for _, row in ipairs(rows(run.out)) do waits = row.comm == "perl" and row or waits end
ok(waits and waits.times >= 101 and waits.times < 1000, "a wait for each nap", waits and waits.times)
ok(waits and waits.p50 > 0 and waits.max >= waits.p50 and waits.sum >= waits.max, "… with times")
like(target.uplua("runqmetrics.lua " .. NAPS).out, "^Cgroup +Times +p50 +p99 +Longest +Total\n/", "by cgroup")
if SERVES then
  local text = exported("scripts/runqmetrics.lua", "--by process " .. NAPS:sub(1, -2) .. " sleep 60'",
    [[ask /metrics | grep -qE "^runq_wait_seconds_count[{].*perl.*[}] [0-9]{3}"]])
  ok(total(text, "runq_wait_seconds_count", 'comm="perl",pid="%d+"') >= 101, "as metrics, with the columns as labels")
  like(text, '\nuplua_series_expired_total{metric="runq_wait_seconds"} 0\n', "… that expire")
end

-- Disks, where there is one.
local DATA = "build/diskmetrics-" .. target.folder():match "%w+$"
local COMMAND = ("dd if=/dev/zero of=%s bs=64k count=101 oflag=direct conv=notrunc status=none"):format(DATA)
local made = target.shell(COMMAND .. " && sync " .. DATA .. " && stat -f -c %T build >\"$D/out\"")
run = target.uplua("--format json diskmetrics.lua -- " .. COMMAND)
is(run.status .. run.err, "0", "diskmetrics.lua")
if made.status ~= 0 or made.out:find "tmpfs" or made.out:find "overlay" then
  tap.skip("build/ is on no disk that can be written to directly: " .. made.out)
else
  local requests, bytes, device = 0, 0, nil
  for _, row in ipairs(rows(run.out)) do
    if row.op == "write" then
      requests, bytes, device = requests + row.n, bytes + row.bytes, row.disk
      ok(row.q99 >= row.q50 and row.s99 >= row.s50 and row.errors == 0, "its times")
    end
  end
  local unseen = tonumber(run.out:match "(%d+) requests? w%a+ not seen done" or 0)
  ok(requests + unseen >= 101 and requests < 202, "each block is a request", requests)
  ok(bytes >= (101 - unseen) * 65536 and bytes < 202 * 65536, "… of its size", bytes)
  if SERVES then
    local text = exported("--follow scripts/diskmetrics.lua", ("-- sh -c '%s; exec sleep 60'"):format(COMMAND),
      [[ask /metrics | grep -qE "^disk_device_seconds_count[{].*write.*[}] (7[89]|[89][0-9]|[0-9]{3,})$"]])
    local labels = ('device="%s",operation="write"'):format(device)
    ok(total(text, "disk_device_seconds_count", labels) >= 101 - 23, "as metrics")
    like(text, "\ndisk_unseen_requests_total %d+\n", "… with those that were not seen done")
  end
end
os.remove(DATA)

-- The heap: 23 blocks of 1,000 bytes and 7 of 4,096 are held, by two functions, and 101 were freed.
run = target.uplua("--format json heapmetrics.lua -- ./build/targets/leak")
is(run.status .. run.err, "0", "heapmetrics.lua")
local by_function = {}
for _, row in ipairs(rows(run.out)) do
  local name = row.stack:match "leak_%a+" or row.stack
  by_function[name] = ("%d %d"):format(row.bytes, row.blocks)
end
is(by_function.leak_small, "23000 23", "what one function holds")
is(by_function.leak_large, "28672 7", "… and the other")
like(target.uplua("--format json heapmetrics.lua --top 1 -- ./build/targets/leak").out,
  '"stack":"leak_large[^"]*".*"stack":"%(others%)"', "… what is not among the largest is one")
if SERVES then
  local text = exported("scripts/heapmetrics.lua", [[-- perl -e '$x = "a" x 20000000; sleep 60']],
    [[ask /metrics | grep -qE "^heap_live_bytes[{].*[}] [0-9]{8}"]])
  ok(total(text, "heap_live_bytes", "stack=") >= 2e7, "as metrics")
  ok(total(text, "heap_live_blocks", "stack=") >= 1 and text:find "\nheap_allocations_total %d+\n", "… with counts")
end
target.done()
tap.done_testing()
