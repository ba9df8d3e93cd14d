-- up.target: whom a run traces, for scripts.
local core    = require "uplua.core"
local options = require "uplua.options"

local description = {}

-- What process PID calls itself; nil: it is gone.
local function comm_of(pid)
  local file = io.open(("/proc/%d/comm"):format(pid))
  local name = file and file:read "*l"
  if file then file:close() end
  return name
end

-- target() → { pids = { … }, tids = { … }, command = { word, … } or nil, name, follow, whole_machine }: the processes
-- that the user has named, or of the command, and the threads where only these are traced; what the command or the
-- first process is called, nil where that is gone; whether what they start is traced, too; whether all processes are,
-- since there is no target: then pids is empty and name nil. Raises nothing.
function description.target()
  local pids, command = core.target.pids(), core.target.command() and options.command
  local words = command and { unpack(command) } or nil
  return {
    pids = pids, tids = core.target.tids(), command = words,
    name = words and words[1]:match "[^/]+$" or pids[1] and comm_of(pids[1]),
    follow = options.follow and true or false, whole_machine = #pids == 0,
  }
end

return description
