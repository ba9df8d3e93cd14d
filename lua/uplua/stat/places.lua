-- Where the kernel counts, a CPU or a thread, as the keys of --by (uplua.by).
local proc = require "uplua.base.proc"

local places = {}

local Places = {}
Places.__index = Places

-- new(by, who, target): of the word BY, "cpu", "process" or "thread", and who = by.new(BY).
function places.new(by, who, target)
  return setmetatable({ by = by, who = who, target = target, names = {} }, Places)
end

-- The thread TID as { comm, process, thread }, from /proc.
local function name_of(self, tid)
  if self.names[tid] then return self.names[tid] end
  local status = proc.status(tid)
  local pid, target = tonumber(status:match "\nTgid:%s*(%d+)") or tid, self.target
  local is_command = target.command and tid == target.pids[1] -- whose first instruction is not there yet
  local key = { is_command and target.name:sub(1, 15) or status:match "^Name:%s*([^\n]*)" or "?", pid, tid }
  if self.by == "process" and pid ~= tid then key[1] = name_of(self, pid)[1] end
  self.names[tid] = key
  return key
end

-- The key of PLACE, a CPU or a thread, as who.key has it.
function Places:key(place)
  if self.by == "cpu" then return tonumber(place) end
  local key = name_of(self, tonumber(place))
  return self.by == "process" and { key[1], key[2] } or key
end

-- What tells KEY from others.
function Places:id(key)
  if self.by == "cpu" then return tonumber(key) end
  if self.by == "process" then return tonumber(key[2]) end
  if self.by == "thread" then return tonumber(key[3]) end
  return self.who:text(key)
end

return places
