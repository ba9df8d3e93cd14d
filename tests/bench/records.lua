-- make bench: how fast records become JSON: as opensnoop.lua has them, and as trace.lua, with arguments. Prints
-- "WHAT RECORDS-A-SECOND" lines on standard error.
local up   = require "uplua"
local view = require "uplua.view"

up.args { "records.lua" }
local COUNT = 300000
local stream = view.stream { { "time", "Time" }, { "comm", "Thread" }, { "func", "Function" }, { "path", "Path" } }

local function measure(what, count, record_of)
  local begin = os.clock()
  for i = 1, count do stream:print(record_of(i)) end
  io.stderr:write(("%s %.0f\n"):format(what, count / (os.clock() - begin)))
end

measure("flat", COUNT, function(i)
  return {
    time = 27421894815123 + i * 1009, comm = "redis-server", pid = 4242, tid = 4242 + i % 7, func = "openat",
    path = "/usr/lib/x86_64-linux-gnu/libc.so.6", ret = i % 23, elapsed = 1000 + i % 1009,
  }
end)
measure("nested", COUNT / 3, function(i)
  return {
    time = 27421894815123 + i * 1009, comm = "redis-server", pid = 4242, tid = 4242 + i % 7, name = "openat",
    call = 'openat(dfd=AT_FDCWD, filename="/etc/ld.so.cache", flags=O_RDONLY|O_CLOEXEC)', ret = i % 23,
    arguments = {
      { name = "dfd", text = "AT_FDCWD", value = -100 },
      { name = "filename", text = '"/etc/ld.so.cache"', value = "/etc/ld.so.cache" },
      { name = "flags", text = "O_RDONLY|O_CLOEXEC", value = 524288 },
    },
    elapsed = 1000 + i % 1009, result = "3", returned = 3,
  }
end)
