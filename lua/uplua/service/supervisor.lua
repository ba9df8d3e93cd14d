-- What hears of a service who has started it: systemd, or another that speaks its protocol (sd_notify(3),
-- src/sys/notify.h). Where nobody has asked for it, nothing is sent.
local core = require "uplua.core"
local loop = require "uplua.base.loop"

local supervisor = {}

local environment = core.system.environment

-- Sends TEXT; what is wrong there is told, and ends nothing.
local function send(text)
  local ok, why = pcall(core.system.notify, text)
  if not ok then loop.warn(tostring(why)) end
  return ok
end

-- The seconds between two signs of life, half of what WatchdogSec= says; nil where none are waited for.
local function period()
  local us, pid = tonumber(environment "WATCHDOG_USEC"), tonumber(environment "WATCHDOG_PID")
  if not us or us <= 0 or pid and pid ~= core.system.pid() then return nil end
  return us / 1e6 / 2
end

local function live(seconds)
  if send "WATCHDOG=1" then loop.at(loop.now() + seconds, function() live(seconds) end) end
end

-- ready(status): all is attached; STATUS: a line for who asks how it is.
function supervisor.ready(status)
  if not environment "NOTIFY_SOCKET" then return end
  send("READY=1\nSTATUS=" .. status)
  local seconds = period()
  if seconds then live(seconds) end
end

-- reload(fn, …): calls fn(…), which loads the script again; who has asked for that waits for its end.
function supervisor.reload(fn, ...)
  send(("RELOADING=1\nMONOTONIC_USEC=%.0f"):format(loop.now() * 1e6))
  fn(...)
  send "READY=1"
end

-- stopping(): the run is about to end.
function supervisor.stopping() send "STOPPING=1" end

return supervisor
