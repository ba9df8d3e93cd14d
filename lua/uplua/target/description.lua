-- up.target: whom a run traces, for scripts.
local core    = require "uplua.core"
local options = require "uplua.options"
local proc    = require "uplua.base.proc"

local description = {}

-- target() → { pids = { … }, tids = { … }, command = { word, … } or nil, name, follow, cpus, comms, cgroup,
-- whole_machine }: the processes that the user has named, or of the command, and the threads where only these are
-- traced; what the command or the first process is called, nil where that is gone; whether what they start is traced,
-- too; the CPUs, the threads' names and the cgroup that --cpu, --comm and --cgroup name, nil without these; whether all
-- processes are traced, since there is no target: then pids is empty and name nil. Raises nothing.
function description.target()
  local pids, command = core.target.pids(), core.target.command() and options.command
  local words = command and { unpack(command) } or nil
  return {
    pids = pids, tids = core.target.tids(), command = words,
    name = words and words[1]:match "[^/]+$" or pids[1] and proc.comm(pids[1]),
    follow = options.follow and true or false, whole_machine = #pids == 0,
    cpus = options.cpus and { unpack(options.cpus) } or nil,
    comms = options.comms and { unpack(options.comms) } or nil, cgroup = options.cgroup,
  }
end

return description
