-- Timelines: what happened when, as a file that viewers of traces draw: Perfetto's (ui.perfetto.dev), Chrome's
-- about:tracing, speedscope. Spans, instants and counters stand on tracks: of threads, or of one's own.
--
--   local timeline = require "uplua.timeline"
--   local t = timeline.new("trace.json", { size = "1G" })
--   local worker = t:track { process = e.pid, thread = e.tid, name = e.comm }
--   local cpu = t:track { process = "CPUs", name = "CPU 0" }
--   t:span(worker, "parse", from, to, { bytes = 101 })       times are those of events, in ns
--   t:instant(worker, "signal", at)
--   t:counter(cpu, "threads that wait", at, 3)
--   t:close()                                                the run's end does that, too
--
-- The file is Chrome's JSON, an array with one event a line. It is written as events come, and is readable whenever the
-- run ends: on a full disk it ends with the last whole event. Beyond `size` nothing is written. The ledger counts what
-- is missing.
local contract     = require "uplua.contract"
local failure      = require "uplua.base.failure"
local ffi          = require "ffi"
local json         = require "uplua.base.json"
local lanes        = require "uplua.timeline.lanes"
local loop         = require "uplua.base.loop"
local losses       = require "uplua.timeline.losses"
local option_table = require "uplua.base.option_table"
local proc         = require "uplua.base.proc"
local text         = require "uplua.base.text"

local C = contract.C
local timeline = {}
local Timeline, Track = {}, {}
Timeline.__index = Timeline

local SIZE        = 2 ^ 30
local FLUSH       = "1s"
local MOST_TRACKS = losses.MOST_TRACKS
local MOST_HEADS  = 65536     -- of events' heads that are kept as text
local OWN         = 4194304   -- the kernel's highest number of a process: from here on they are ours

local function mistake(level, ...) error("timeline: " .. (...):format(select(2, ...)), level + 1) end

local function reason(errno) return ffi.string(C.strerror(-errno)) end

-- Why nothing is written any more: told once, when it is noticed.
local function note_failure(self, errno)
  if self.failure then return end
  self.failure = reason(errno)
  failure.report(("timeline %s: %s: the file ends there, and can be read"):format(self.path, self.failure))
end

-- Writes an event; whether the file has it.
local function write(self, head, at, length, args)
  if not self.file then mistake(3, "%s is closed", self.path) end
  local result = C.timeline_event(self.file, head, #head, at, length, args, args and #args or 0)
  if result == 1 then
    self.events = self.events + 1
    return true
  end
  if result == contract.TIMELINE_TOO_LONG then
    self.long = self.long + 1
  elseif result == 0 then
    self.beyond = self.beyond + 1
  else
    self.after = self.after + 1
  end
  if result < 0 then note_failure(self, result) end
  return false
end

-- An event that says something about a track.
local function write_name(self, what, process, thread, value)
  write(self, ('{"ph":"M","name":"%s","pid":%d,"tid":%d,"args":%s,"ts":'):format(what, process, thread,
    json.encode(value)), 0, -1)
end

-- The beginning of each event of the kind PHASE that is called NAME on the lane or track AT: up to its time.
local function new_head(self, at, heads, phase, name)
  if self.heads >= MOST_HEADS then -- names that are all different
    for _, one in ipairs(self.lanes) do one.spans, one.instants, one.counters = {}, {}, {} end
    heads, self.heads = at[heads], 0
  else
    heads = at[heads]
  end
  local head = ('{"ph":"%s",%s"pid":%d,"tid":%d,"name":%s,"ts":'):format(phase, phase == "i" and '"s":"t",' or "",
    at.process, at.thread, json.encode(name))
  heads[name], self.heads = head, self.heads + 1
  return head
end

local function new_number(self)
  self.last_number = self.last_number + 1
  return self.last_number
end

local function new_lane(self, process, thread, name)
  local lane = lanes.new { process = process, thread = thread, spans = {}, instants = {}, counters = {} }
  table.insert(self.lanes, lane)
  if name then
    write_name(self, "thread_name", process, thread, { name = name })
    write_name(self, "thread_sort_index", process, thread, { sort_index = #self.lanes })
  end
  return lane
end

-- The number of PROCESS, a PID or a text; its name is written where it is new.
local function process_of(self, process, name)
  local number = self.processes[process]
  if number then return number end
  local is_pid = type(process) == "number"
  number = is_pid and process or new_number(self)
  self.processes[process] = number
  write_name(self, "process_name", number, number, { name = is_pid and (proc.comm(process) or name) or process })
  return number
end

local DECLARED = {
  process = option_table.check("a PID or a text", function(value)
    if type(value) == "cdata" then value = tonumber(value) end
    return (type(value) == "string" or type(value) == "number") and value or nil
  end),
  thread = option_table.check("a thread's number", function(value) return tonumber(value) end),
  name = option_table.text,
}

local function declare(self, given)
  local process = process_of(self, given.process or "uplua", given.name)
  local thread = given.thread or given.process and not given.name and process or new_number(self)
  local track = setmetatable({ name = given.name, owner = self }, Track)
  track.lanes = { new_lane(self, process, thread, given.name) }
  return track
end

-- track { process =, thread =, name = }: the track of a thread, by its number and its process's; without a thread one
-- of its own that is called NAME, in the group PROCESS, a PID or a text. The same again is the same track; a thread may
-- have another name then.
function Timeline:track(given)
  local process, thread, name = given.process, given.thread, given.name
  if type(process) == "cdata" then process = tonumber(process) end
  if type(thread) == "cdata" then thread = tonumber(thread) end
  local group = self.tracks[process or ""]
  local track = group and group[thread or name or ""]
  if not track then
    local declared = option_table.read("timeline: track", given, DECLARED)
    if not (declared.process or declared.name) then mistake(2, "a track has a process, a name, or both") end
    if self.track_count >= MOST_TRACKS then
      self.without_track = self.without_track + 1
      self.others = self.others or declare(self, { process = "others", name = "others" })
      return self.others
    end
    track = declare(self, declared)
    self.tracks[process or ""] = group or {}
    self.tracks[process or ""][thread or name or ""], self.track_count = track, self.track_count + 1
  elseif thread and name and track.name ~= name then
    track.name = name
    local lane = track.lanes[1]
    write_name(self, "thread_name", lane.process, lane.thread, { name = name })
  end
  return track
end

local function check(self, what, track, name, at)
  if getmetatable(track) ~= Track or track.owner ~= self then
    mistake(3, "%s: the first argument is a track of this timeline, t:track { … }", what)
  end
  if type(name) ~= "string" then mistake(3, "%s: the name is a text, not %s", what, text.shown(name)) end
  local kind = type(at)
  if kind ~= "number" and kind ~= "cdata" then
    mistake(3, "%s: the time is a number of ns, as e.time, not %s", what, text.shown(at))
  end
end

local function another_lane(track, number)
  local self, first = track.owner, track.lanes[1]
  return new_lane(self, first.process, new_number(self), ("%s (%d)"):format(track.name or "", number))
end

-- span(track, name, from, to, [args]): from FROM to TO, times of events. ARGS, a table, is shown with it. Whether it
-- was written.
function Timeline:span(track, name, from, to, args)
  check(self, "span", track, name, from)
  check(self, "span", track, name, to)
  local length = to - from
  if length < 0 then
    self.backwards = self.backwards + 1
    return false
  end
  local start = tonumber(from - self.origin)
  local lane = lanes.of(track, start, start + tonumber(length), another_lane)
  if not lane then
    self.crowded = self.crowded + 1
    return false
  end
  return write(self, lane.spans[name] or new_head(self, lane, "spans", "X", name), from, length,
    args and json.encode(args))
end

-- instant(track, name, at, [args]): a moment.
function Timeline:instant(track, name, at, args)
  check(self, "instant", track, name, at)
  local lane = track.lanes[1]
  return write(self, lane.instants[name] or new_head(self, lane, "instants", "i", name), at, -1,
    args and json.encode(args))
end

-- counter(track, name, at, value): what NAME, a line of its own in the track's process, is from then on.
function Timeline:counter(track, name, at, value)
  check(self, "counter", track, name, at)
  local number = tonumber(value)
  if not number or number ~= number or math.abs(number) == math.huge then
    mistake(2, "counter: the value is a number, not %s", text.shown(value))
  end
  local lane = track.lanes[1]
  return write(self, lane.counters[name] or new_head(self, lane, "counters", "C", name), at, -1,
    '{"value":' .. json.encode(number) .. "}")
end

-- close(): ends the file; the run's end does that, too. True, or nil and why it is not whole.
function Timeline:close()
  if self.file then
    local lost = ffi.new "uint64_t[1]"
    local result = C.timeline_close(self.file, lost)
    self.file, self.lost = nil, tonumber(lost[0])
    if result < 0 then note_failure(self, result) end
  end
  if self.failure then return nil, ("%s: %s"):format(self.path, self.failure) end
  return true
end

-- tostring: how much there is.
function Timeline:__tostring()
  return ("timeline %s: %s"):format(text.escape(self.path), text.plural(self.events, "event"))
end

local function look_after(self)
  losses.watch(self)
  loop.at_start(function()
    if not loop.has_probes() then return end -- the run would wait for the timer alone
    require "uplua".every(FLUSH, function()
      local result = self.file and C.timeline_flush(self.file) or 0
      if result < 0 then note_failure(self, result) end
    end)
  end)
  loop.at_exit(function()
    loop.at_exit(function() self:close() end) -- behind the script's own
  end)
end

local OPTIONS = { size = option_table.check("a number of bytes, such as \"1G\"", function(value)
  local size = text.size(value)
  return size and size >= 4096 and size or nil
end) }

-- new(path, [options]): a timeline in the file PATH, which is made anew, of `size` ("1G") at most.
function timeline.new(path, given)
  if type(path) ~= "string" then mistake(2, "the first argument is the file's path, a text") end
  local options = option_table.read("timeline.new", given, OPTIONS)
  local file = C.timeline_open(path, options.size or SIZE)
  if file == nil then mistake(2, "cannot write %s: %s", path, reason(-ffi.errno())) end
  local self = setmetatable({
    path = path, file = file, size = options.size or SIZE, origin = require "uplua".now(), tracks = {}, processes = {},
    lanes = {}, heads = 0, last_number = OWN, track_count = 0, events = 0, beyond = 0, after = 0, lost = 0, long = 0,
    backwards = 0, crowded = 0, without_track = 0,
  }, Timeline)
  look_after(self)
  return self
end

return timeline
