-- What programs write to trace_marker, as Android's atrace does, on a timeline:
--
--   B|PID|name              a span of the thread begins, inside of those that are open …
--   E|PID                   … and ends
--   S|PID|name|cookie       a span begins that may end in another thread of the process …
--   F|PID|name|cookie       … and ends
--   C|PID|name|value        a counter
--   any other text          a moment
--
--   local marks = require "uplua.marks"
--   local written = marks.draw(t)      t: of uplua.timeline
--   up.at_exit(function()
--     local told = written:finish()    draws what is open to the end of the run; before t:close()
--     t:close()
--     io.write(told)
--   end)
--
-- The kernel's tracing need not be on: the system call is looked at, whose descriptor is a file of that name.
local capture = require "uplua.compile.capture"
local up      = require "uplua"

local marks = {}
local Marks = {}
Marks.__index = Marks

local LONGEST, MOST_OPEN = 512, 65536 -- bytes of a mark, and marks

local function thread_of(self, r) return self.timeline:track { process = r.pid, thread = r.tid, name = r.comm } end

-- Whether there is room for another open one.
local function has_room(self)
  if self.open >= MOST_OPEN then
    self.full = self.full + 1
    return false
  end
  self.open = self.open + 1
  return true
end

-- What to do for a mark, by its first letter: REST is what stands behind that. False: it is no such mark.
local KINDS = {}

function KINDS.B(self, r, rest)
  if not has_room(self) then return end
  local list = self.nested[r.tid] or {}
  list[#list + 1] = { name = rest:match "^%d*|(.*)" or "", at = r.at, track = thread_of(self, r) }
  self.nested[r.tid] = list
end

function KINDS.E(self, r)
  local list = self.nested[r.tid]
  local mark = list and table.remove(list)
  if not mark then
    self.unbegun = self.unbegun + 1
    return
  end
  self.open = self.open - 1
  if #list == 0 then self.nested[r.tid] = nil end
  self.timeline:span(mark.track, mark.name, mark.at, r.at)
end

function KINDS.S(self, r, rest)
  if self.elsewhere[rest] or has_room(self) then self.elsewhere[rest] = { at = r.at, pid = r.pid } end
end

function KINDS.F(self, r, rest)
  local mark = self.elsewhere[rest]
  if not mark then
    self.unbegun = self.unbegun + 1
    return
  end
  self.elsewhere[rest], self.open = nil, self.open - 1
  local name, cookie = rest:match "^%d*|(.*)|(.-)$"
  name = name or rest
  self.timeline:span(self.timeline:track { process = mark.pid, name = name }, name, mark.at, r.at, { cookie = cookie })
end

function KINDS.C(self, r, rest)
  local name, value = rest:match "^%d*|(.*)|(%-?[%d.]+)$"
  if not name then return false end
  self.timeline:counter(self.timeline:track { process = r.pid, name = "counters" }, name, r.at, tonumber(value))
end

-- draw(timeline): declares the probe, and draws each mark as it comes.
function marks.draw(timeline)
  if type(timeline) ~= "table" or not timeline.track then
    error("marks.draw: a timeline is expected, as timeline.new makes it", 2)
  end
  local self = setmetatable({
    timeline = timeline, nested = {}, elsewhere = {}, open = 0, unbegun = 0, full = 0,
  }, Marks)
  local written = up.ring { size = "16M" }
  up.syscall("write", capture.inlined(function(e)
    if up.kstr(e.task.files.fdt.fd[e.args.fd].f_path.dentry.d_name.name, 16) == "trace_marker" then
      written:emit { at = e.time, pid = e.pid, tid = e.tid, comm = e.comm,
                     text = up.buf(e.args.buf, e.args.count, LONGEST) }
    end
  end))
  written:each(function(view)
    local r = { at = view.at, pid = tonumber(view.pid), tid = tonumber(view.tid), comm = view.comm }
    for line in (view.text and view.text:bytes() or ""):gmatch "[^\n%z]+" do
      local kind, rest = line:match "^([BESFC])|?(.*)$"
      if not kind or line:find "^%a%a" or KINDS[kind](self, r, rest) == false then
        timeline:instant(thread_of(self, r), line, r.at)
      end
    end
  end)
  return self
end

local function told(n, what) return n > 0 and ("%d marks %s\n"):format(n, what) or "" end

-- finish(): draws what is still open to the end of the run; returns what was left out, as lines for people, "" where
-- nothing was.
function Marks:finish()
  local now, unended, t = up.now(), 0, self.timeline
  for _, list in pairs(self.nested) do
    for _, mark in ipairs(list) do
      t:span(mark.track, mark.name, mark.at, now, { unended = true })
      unended = unended + 1
    end
  end
  for rest, mark in pairs(self.elsewhere) do
    t:span(t:track { process = mark.pid, name = "not ended" }, rest, mark.at, now, { unended = true })
    unended = unended + 1
  end
  self.nested, self.elsewhere, self.open = {}, {}, 0
  return told(unended, "began and did not end: drawn to the end of the run")
    .. told(self.full, ("were not kept: %d others were open"):format(MOST_OPEN))
    .. told(self.unbegun, "ended what had not begun: left out")
end

return marks
