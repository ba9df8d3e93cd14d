--[=[
diskmetrics: how long do requests to disks take, by device and operation? As metrics.

  uplua --serve ADDRESS diskmetrics.lua [options] [-- PID ... or COMMAND]

follows each request from when it was asked for to when the device has done it. Without --serve the same is printed at
the end.

  -i, --interval TIME  prints a report each TIME, too

  disk_queue_seconds    histogram: from when a request was asked for to when the device was given it
  disk_device_seconds   histogram: from there to when the device has done it
  disk_bytes_total      what was read and written
  disk_errors_total     requests that have failed
  disk_merged_requests_total, disk_unseen_requests_total   further requests that the kernel has made a part of these;
                        those whose end was not seen

All but the last two are by device and operation. A device that has no queue of requests, such as a RAM disk or an
encrypted volume, has none here; what lies below it has.

  $ uplua --serve 9435 diskmetrics.lua
--]=]
local up    = require "uplua"
local block = require "uplua.block"
local view  = require "uplua.view"

local options = up.args {
  "diskmetrics.lua [options] [-- PID ... or COMMAND]",
  { "interval,i", "TIME", "duration", false, "print a report each TIME, too", least = "10ms" },
  arguments = 0,
}

local waits, serves = up.hist { unit = "ns" }, up.hist { unit = "ns" }
local bytes, errors = up.sum { unit = "bytes" }, up.count()

local requests = block.requests(function(_, r)
  local k = { r.disk, r.op }
  waits[k]:add(r.waited)
  serves[k]:add(r.served)
  bytes[k]:add(r.bytes)
  if r.failed ~= 0 then errors[k]:inc() end
end)

local function metric(name, object, help)
  up.metric(name, object, {
    labels = { "device", "operation" }, help = help, keys = function(k) return { k[1], block.operation(k[2]) } end,
  })
end
metric("disk_queue", waits, "from when a request was asked for to when the device was given it")
metric("disk_device", serves, "from when the device was given a request to when it has done it")
metric("disk", bytes, "what was read and written")
metric("disk_errors", errors, "requests that have failed")
for _, name in ipairs { "merged", "unseen" } do
  up.metric(("disk_%s_requests"):format(name), function() return requests:counts()[name] end, {
    type = "counter",
    help = name == "merged" and "further requests that were merged into others" or "requests not seen done",
  })
end

local devices = view.new {
  { "disk", "Device" }, { "op", "Operation" }, { "n", "Requests", "count" }, { "bytes", "Bytes", "bytes" },
  { "q50", "Queued p50", "ns" }, { "q99", "Queued p99", "ns" }, { "s50", "Device p50", "ns" },
  { "s99", "Device p99", "ns" }, { "errors", "Failed", "count" }, by = "n",
}

up.report(options.interval, function()
  local rows = {}
  for k, h in serves:pairs() do
    local q = waits:get(k)
    rows[#rows + 1] = {
      disk = k[1], op = block.operation(k[2]), n = h.count, bytes = bytes:get(k), errors = errors:get(k),
      q50 = q:percentile(50), q99 = q:percentile(99), s50 = h:percentile(50), s99 = h:percentile(99),
    }
  end
  devices:print(rows)
end)
up.at_exit(function() up.printf("%s", requests:losses()) end)
