--[=[
biostages: where do reads and writes of disks spend their time, in the queue or in the device?

  uplua biostages.lua [options] [-- PID ... or COMMAND]

follows each request to a disk from when it was asked for (queued) to when it was given to the device (issued) to when
that had done it, and prints at the end for each device and operation how many requests there were and how long both
took.

  -p, --by-process       for each process that asked, too
  -t, --than TIME        prints each request that took no less in all, when it is done
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N with most time (default 20; 0: all)

A request has the process that asked for it: of what was only written to memory that is a thread of the kernel. Further
requests that the kernel merges into one before it is issued are counted as merged. A device that has no queue of
requests, such as a RAM disk or an encrypted volume, has none here; what lies below it has.

  $ uplua --duration 10s biostages.lua --by-process
--]=]
local up    = require "uplua"
local block = require "uplua.block"
local view  = require "uplua.view"

local options = up.args {
  "biostages.lua [options] [-- PID ... or COMMAND]",
  { "by-process,p",                           "for each process that asked, too" },
  { "than,t",      "TIME", "duration", false, "print each request that took no less in all" },
  { "interval,i",  "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",       "N",    "integer",  20,    "the N with most time; 0: all" },
  arguments = 0,
}

local waits, serves = up.hdr(2, { unit = "ns" }), up.hdr(2, { unit = "ns" })
local bytes, slow = up.sum(), up.ring()
local by_process, least = options.by_process, options.than or 2 ^ 53
local function who(r) return { 0, "" } end
if by_process then function who(r) return { r.pid, r.comm } end end

local requests = block.requests(function(e, r)
  local k = { r.disk, r.op, who(r) }
  waits[k]:add(r.waited)
  serves[k]:add(r.served)
  bytes[k]:add(r.bytes)
  if r.took >= least then
    slow:emit { at = e.time, took = r.took, waited = r.waited, disk = r.disk, op = r.op, bytes = r.bytes,
                sector = r.sector, pid = r.pid, comm = r.comm, failed = r.failed }
  end
end)

if options.than then
  local lines = view.stream {
    { "at", "Done", "clock" }, { "took", "Took", "ns", 9 }, { "waited", "Queued", "ns", 9 },
    { "disk", "Device", "text", 8 }, { "op", "Operation", "text", 9 }, { "bytes", "Bytes", "bytes", 9 },
    { "sector", "Sector", "number", 12 }, { "pid", "PID", "number", 7 }, { "comm", "Process", "text", 15 },
    { "failed", "Failed" },
  }
  lines:titles()
  slow:each(function(r)
    lines:print { at = r.at, took = r.took, waited = r.waited, disk = r.disk, op = block.operation(r.op),
                  bytes = r.bytes, sector = r.sector, pid = r.pid, comm = r.comm,
                  failed = r.failed ~= 0 and ("with status %d"):format(r.failed) or nil }
  end)
end

local devices = view.new {
  { "disk", "Device" }, { "op", "Operation" }, by_process and { "comm", "Process" },
  by_process and { "pid", "PID", "number" }, { "n", "Requests", "count" }, { "bytes", "Bytes", "bytes" },
  { "q50", "Queued p50", "ns" }, { "q99", "Queued p99", "ns" },
  { "s50", "Device p50", "ns" }, { "s99", "Device p99", "ns" },
  { "max", "Longest", "ns" }, { "sum", "Total", "ns" }, by = "sum", top = options.top,
}

up.report(options.interval, function()
  local rows, sums, waited = {}, bytes:take(), waits:take()
  for k, h in serves:take():pairs() do
    local q = waited:get(k)
    rows[#rows + 1] = {
      disk = k[1], op = block.operation(k[2]), pid = by_process and k[3][1] or nil,
      comm = by_process and k[3][2] or nil, n = h.count, bytes = sums:get(k), q50 = q and q:percentile(50),
      q99 = q and q:percentile(99), s50 = h:percentile(50), s99 = h:percentile(99), max = h.max, sum = h.sum,
    }
  end
  devices:print(rows)
end)
up.at_exit(function() up.printf("%s", requests:losses()) end)
