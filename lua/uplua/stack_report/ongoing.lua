-- The waits that a report of waits does not have, since they have not ended: of those that began while the probes were
-- there a map tells; of threads that have waited since before, the kernel's counts of their switches, which stay as
-- they were.
local core = require "uplua.core"
local proc = require "uplua.base.proc"
local text = require "uplua.base.text"
local up   = require "uplua"

local ongoing = {}

local MOST = 3 -- threads that are named

-- How often thread TID of PID has left a CPU, as a text, and whether it waits now; nil: it is not there.
local function switches(pid, tid)
  local status = proc.read("%d/task/%d/status", pid, tid)
  if not status then return nil end
  return status:match "\nvoluntary_ctxt_switches:.*", status:match "\nState:%s*(%a)" ~= "R"
end

local function each_thread(visit)
  for _, pid in ipairs(up.target().pids) do
    for _, name in ipairs(core.system.names(("/proc/%d/task"):format(pid)) or {}) do
      local tid = tonumber(name) -- "." and ".." are none
      if tid then visit(pid, tid) end
    end
  end
end

local function name_of(tid)
  local where = proc.read("%d/wchan", tid) or "0"
  where = where ~= "0" and where ~= "" and " in " .. where or ""
  return ("%s (tid %d)%s"):format(text.escape(proc.comm(tid) or "?"), tid, where)
end

-- The line about what MAP, { since, stack } by thread, still has; nil where it has nothing.
local function begun(map)
  local count, longest, stack, now = 0, 0, nil, up.now()
  for _, one in map:pairs() do
    local age = tonumber(now - one.since)
    count = count + 1
    if age >= longest then longest, stack = age, one.stack end
  end
  if count == 0 then return nil end
  local where = stack:text({ one_line = true, offsets = false }):gsub("^%s+", "")
  return ("Not counted: %s not ended, %s%s so far: %s"):format(count == 1 and "a wait that has" or
    text.thousands(count) .. " waits that have", count == 1 and "" or "the longest for ", text.time(longest), where)
end

-- Adds to LINES what is to be said of threads that waited when tracing began. WAITED: the switches of these by then.
local function add_found(lines, waited)
  local names, all, ended = {}, 0, 0
  for _ in pairs(waited) do ended = ended + 1 end
  each_thread(function(pid, tid)
    if waited[tid] and waited[tid] == switches(pid, tid) then
      all, ended = all + 1, ended - 1
      if all <= MOST then names[all] = name_of(tid) end
    end
  end)
  if ended > 0 then
    lines[#lines + 1] = ("Not counted: %s begun before tracing did"):format(
      ended == 1 and "a wait that had" or text.thousands(ended) .. " waits that had")
  end
  if all > 0 then
    lines[#lines + 1] = ("Not counted: %s waited since before tracing began: %s%s"):format(
      all == 1 and "a thread that has" or text.thousands(all) .. " threads that have", table.concat(names, ", "),
      all > MOST and ", …" or "")
  end
end

-- new(map): to be called before the probes are there. MAP: { since, stack } by thread, of what has begun and not ended.
-- Returns a function that returns what to say at the end: a list of lines, empty where all has ended.
function ongoing.new(map)
  local waited = {}
  up.at_start(function()
    if up.target().command then return end -- which has not begun
    each_thread(function(pid, tid)
      local count, waits = switches(pid, tid)
      if waits then waited[tid] = count end
    end)
  end)
  return function()
    local lines = { begun(map) }
    add_found(lines, waited)
    return lines
  end
end

return ongoing
