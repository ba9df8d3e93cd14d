--[=[
sslmetrics: who makes TLS connections, how long do their handshakes take, and how much do they carry? As metrics.

  uplua --serve ADDRESS sslmetrics.lua [options] [-- PID ... or COMMAND]

follows OpenSSL's library in all programs, or in the target's. Without --serve the same is printed at the end.

  --library FILE       the library; may be repeated. Of a container's: the target is one of its processes
                       (default libssl)
  -i, --interval TIME  prints a report each TIME, too

  ssl_handshake_seconds    histogram: from the first call for a handshake to the one that completes it, by process
  ssl_unfinished_total     connections that were given up before theirs was complete
  ssl_read_bytes_total, ssl_written_bytes_total    what was carried, without TLS's own bytes

A handshake is what SSL_do_handshake, SSL_connect and SSL_accept do. What SSL_read or SSL_write does at its first call,
where a program asks for none, is not among them; nor are other libraries, and programs that carry their own.

  $ uplua --serve 9435 sslmetrics.lua
--]=]
local up   = require "uplua"
local view = require "uplua.view"

local options = up.args {
  "sslmetrics.lua [options] [-- PID ... or COMMAND]",
  { "library",    "FILE", "string",   false, "the library; may be repeated", several = true },
  { "interval,i", "TIME", "duration", false, "print a report each TIME, too", least = "10ms" },
  arguments = 0,
}
local libraries = options.library[1] and options.library or { "libssl" }

local handshakes, unfinished = up.hist { unit = "ns" }, up.count()
local read, written = up.sum { unit = "bytes" }, up.sum { unit = "bytes" }

-- Process and connection → when its handshake began; 0 once it is complete.
local began = up.lru_hash { max = 65536 }
local function process(e) return e.task.group_leader.comm end

-- The probes of the FUNCTIONS of all libraries, of which one may lack some.
local function each(kind, functions, handler)
  for _, library in ipairs(libraries) do
    for _, name in ipairs(functions) do kind(library .. ":" .. name, handler) end
  end
end

each(up.uprobe, { "SSL_do_handshake" }, function(e)
  local connection = { e.pid, e.arg0 }
  if not began[connection] then began[connection] = e.time end
end)
each(up.uretprobe, { "SSL_do_handshake" }, function(e)
  local connection = { e.pid, e.arg0 }
  local at = began[connection]
  if at and at ~= 0 and up.i32(e.ret) == 1 then
    handshakes[process(e)]:add(e.time - at)
    began[connection] = 0
  end
end)
-- A connection is cleared to be used again, but also by each handshake at its beginning.
each(up.uprobe, { "SSL_clear" }, function(e)
  local connection = { e.pid, e.arg0 }
  if began[connection] == 0 then began[connection] = nil end
end)
each(up.uprobe, { "SSL_free" }, function(e)
  local connection = { e.pid, e.arg0 }
  local at = began[connection]
  if at then
    if at ~= 0 then unfinished[process(e)]:inc() end
    began[connection] = nil
  end
end)

-- The older functions return how many bytes; the newer ones store it.
local function carried(functions, bytes)
  each(up.uretprobe, { functions }, function(e)
    local n = up.i32(e.ret)
    if n > 0 then bytes[process(e)]:add(n) end
  end)
  each(up.uretprobe, { functions .. "_ex" }, function(e)
    if up.i32(e.ret) == 1 then
      local n = up.read_u64(e.arg3)
      if n then bytes[process(e)]:add(n) end
    end
  end)
end
carried("SSL_read", read)
carried("SSL_write", written)

local labels = { "process" }
up.metric("ssl_handshake", handshakes, { labels = labels, help = "TLS handshakes, from the first call to the last" })
up.metric("ssl_unfinished", unfinished, { labels = labels, help = "TLS connections given up within their handshakes" })
up.metric("ssl_read", read, { labels = labels, help = "bytes read from TLS connections" })
up.metric("ssl_written", written, { labels = labels, help = "bytes written to TLS connections" })

local processes = view.new {
  { "process", "Process", "text", 15 }, { "n", "Handshakes", "count" }, { "p50", "p50", "ns" }, { "p99", "p99", "ns" },
  { "max", "Longest", "ns" }, { "unfinished", "Unfinished", "count" }, { "read", "Read", "bytes" },
  { "written", "Written", "bytes" }, by = "read",
}

up.report(options.interval, function()
  local rows, of = {}, {}
  local function row(process)
    if not of[process] then
      of[process] = { process = process, n = 0, unfinished = 0, read = 0, written = 0 }
      rows[#rows + 1] = of[process]
    end
    return of[process]
  end
  for process, h in handshakes:pairs() do
    local r = row(process)
    r.n, r.p50, r.p99, r.max = h.count, h:percentile(50), h:percentile(99), h.max
  end
  for process, n in unfinished:pairs() do row(process).unfinished = n end
  for process, n in read:pairs() do row(process).read = n end
  for process, n in written:pairs() do row(process).written = n end
  processes:print(rows)
end)
