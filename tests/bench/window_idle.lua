-- What a script with a window pays while no span is slow: nothing. The target reads and writes as fast as it can; the
-- window keeps each of its system calls.
--   ./uplua tests/bench/window_idle.lua -- PID
local span = require "uplua.span"
local up   = require "uplua"

local SECONDS = 3

local function tid(e) return e.tid end
local calls = span.new { from = { "syscall:read", key = tid }, to = { "syscall:write", key = tid } }
calls:slow("1h", { window = { "syscall:*" } }, print)

-- The process's own CPU time, in ticks of 10 ms.
local function ticks()
  local list = {}
  local stat = io.open("/proc/self/stat"):read "*a"
  for word in stat:match("%) (.*)"):gmatch "%S+" do list[#list + 1] = tonumber(word) end
  return list[11] + list[12]
end

local before, ended
up.after("1s", function() ended, before = calls:counts().ended, ticks() end)
up.after(SECONDS + 1 .. "s", function()
  local used, spans = ticks() - before, calls:counts().ended - ended
  up.printf("CPU time while none of %d spans was slow: %d ms, goal 0\n", spans, used * 10)
  up.exit(used == 0 and spans > 1000 and 0 or 1)
end)
