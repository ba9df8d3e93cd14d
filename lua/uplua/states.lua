-- What a key is in, since when, and for how long in all: threads that run, wait and sleep, connections that are idle or
-- busy, locks that are free or held. Handlers say when a key enters a state; the kernel sums up the time in each.
--
--   local states = require "uplua.states"
--   local workers = states.new { names = { "idle", "busy" }, title = "Worker" }
--   up.usdt("./app:app:begin", function(e) workers:enter(e.arg0, "busy") end)
--   up.usdt("./app:app:end",   function(e) workers:enter(e.arg0, "idle") end)
--   up.at_exit(function() workers:print { by = "busy", top = 20 } end)
--
-- In handlers:
--   workers:enter(key, name [, cause])  KEY is in the state NAME from now on; in the same as before: nothing changes.
--                                       NAME is a text that is known when the handler is compiled, or one of several.
--                                       CAUSE, a stack or another value, is told with this time.
--   workers:pause(key)                  it is in no state that is known until it enters one: a thread that is not
--                                       traced for a while. That time is in no sum; move does not change it
--   workers:leave(key)                  it is in none any more: a thread that has ended
-- In the script:
--   workers:ended(name, fn)             fn(s, e) is a handler: s.key has left NAME, after s.elapsed ns; s.since,
--                                       s.cause; E is the event that ended it
--   workers:slow(name, than, fn)        fn(s) is a callback, for times no shorter than THAN; s has, besides, pid, tid
--                                       and comm of who ended it
--   workers:rows()                      what is known of each key
--   workers:print { by =, top = }       the states, the keys, and the longest times in the state BY
--
-- The time that a key has been in its present state is part of all sums. If two CPUs tell of the same key at the same
-- moment, one of them may take the other's state for the one before; a time that would be negative is not counted, and
-- the ledger says how many there were.
local aggregate    = require "uplua.objects.aggregate"
local capture      = require "uplua.compile.capture"
local core         = require "uplua.core"
local longest      = require "uplua.states.longest"
local object       = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local proc         = require "uplua.base.proc"
local report       = require "uplua.states.report"
local text         = require "uplua.base.text"

local states = {}
local methods = {}
methods.__index = methods

local MOST_STATES = 32
local RESERVED = { key = true, state = true, age = true, total = true, comm = true, pid = true, tid = true }

-- The handlers' part. A key's entry has the number of its state, 0 while it is paused, since when it is in it and when
-- it was first seen, and for each state the time, how often it has ended, and the longest. It is made for the states
-- that there are: @ is a state's number. The ledger calls maps and rings by the names that they have here.
local CODE = [[
local capture, self = ...
local event, choose = capture.event, capture.choose
local states_now, states_found, over, backwards = self.now, self.found, self.over, self.backwards
local states_long, states_gone = self.long, self.gone
local numbers, all = self.numbers, table.concat(self.names, ", ")
@(local times@, ended@ = self.times[@], self.handlers[@] @)

-- Ends what KEY is in, as R, its entry, has it.
local function close(e, key, r)
  local state, since, cause = r.state, r.since, r.cause
  local took = e.time - since
  if took < 0 then
    backwards:inc()
  else
    @|if state == @ then
      r.total@ = r.total@ + took
      r.count@ = r.count@ + 1
      if took > r.longest@ then r.longest@ = took end
      times@:add(took)
    @|
    local least = over[state]
    if least and took >= least then
      states_long:emit { state = state, key = key, since = since, elapsed = took, cause = cause,
                  pid = e.pid, tid = e.tid, comm = e.comm STACK }
    end
    ENDED
  end
end

-- The entry of KEY; of one that was found at the start it is made when a handler first tells of it. nil of others.
local function entry_of(key)
  if not states_found then return states_now[key] end
  local r = states_now[key]
  if r then return r end
  local o = states_found[key]
  if o then
    states_now[key] = { state = o.state, since = o.since, first = o.since, @(total@ = 0, count@ = 0, longest@ = 0, @) }
    states_found[key] = nil
  end
  return states_now[key]
end

local function enter(_, key, name, cause)
  local state = choose(numbers, name, "state", all)
  local e = event()
  local r = entry_of(key)
  if not r then
    states_now[key] = { state = state, since = e.time, first = e.time, cause = cause,
                 @(total@ = 0, count@ = 0, longest@ = 0, @) }
  elseif r.state ~= state then
    if r.state ~= 0 then close(e, key, r) end
    r.state, r.since, r.cause = state, e.time, cause
  end
end

local function move(_, key, name, cause)
  local state = choose(numbers, name, "state", all)
  local e = event()
  local r = entry_of(key)
  if r and r.state ~= state and r.state ~= 0 then
    close(e, key, r)
    r.state, r.since, r.cause = state, e.time, cause
  end
end

local function pause(_, key)
  local r = entry_of(key)
  if r and r.state ~= 0 then
    close(event(), key, r)
    r.state = 0
  end
end

local function leave(_, key)
  local r = entry_of(key)
  if r then
    local e = event()
    if r.state ~= 0 then close(e, key, r) end
    states_gone:emit { key = key, first = r.first, last = e.time, pid = e.pid, tid = e.tid, comm = e.comm,
                @(total@ = r.total@, count@ = r.count@, longest@ = r.longest@, @) }
    states_now[key] = nil
  end
end
return enter, move, pause, leave
]]

-- Makes enter, move, pause and leave for what is declared so far.
local function make(self)
  local function for_each(between)
    return function(part)
      local list = {}
      for i = 1, #self.names do list[i] = part:gsub("@", i) end
      return (table.concat(list, between))
    end
  end
  local ended = {}
  for i in pairs(self.handlers) do
    ended[#ended + 1] =
      (("if state == @ then ended@({ key = key, since = since, elapsed = took, cause = cause }, e) end"):gsub("@", i))
  end
  local code = CODE:gsub("@%((.-)@%)", for_each " "):gsub("@|(.-)@|", function(part)
    return for_each "else" (part) .. "end"
  end)
  code = code:gsub("ENDED", table.concat(ended, "\n")):gsub("STACK", self.stacks and ", stack = e:stack()" or "")
  self.enter, self.move, self.pause, self.leave = assert(loadstring(code, "=uplua/states"))(capture, self)
end

-- The number of the state NAME, which METHOD was given; raises that it is none.
local function number_of(self, method, name, level)
  local number = self.numbers[name]
  if number then return number end
  error(("states: %s: there is no state %s%s; there are %s"):format(method, text.shown(name),
    text.did_you_mean(tostring(name), self.names), table.concat(self.names, ", ")), (level or 2) + 1)
end

-- ended(name, fn): each time that a key has left NAME, fn(s, e) runs in the handler that told of it. To be called
-- before the probes are loaded, as they are declared before.
function methods:ended(name, fn)
  local number = number_of(self, "ended", name)
  if type(fn) ~= "function" then error("states: ended: a handler is expected, a function of s and e", 2) end
  if object.state(self.now).map then
    error("states: ended: the handlers that tell of these states are loaded already: call it before they are", 2)
  end
  local before = self.handlers[number]
  self.handlers[number] = before and capture.inlined(function(s, e)
    before(s, e)
    fn(s, e)
  end) or fn
  make(self)
end

-- slow(name, than, fn): calls fn(s) for each time in NAME that was no shorter than THAN, a duration.
function methods:slow(name, than, fn)
  local number = number_of(self, "slow", name)
  local least = type(than) == "number" and than or text.duration(than)
  if not least then error(("states: slow: %s is no duration, such as \"10ms\""):format(text.shown(than)), 2) end
  if type(fn) ~= "function" then error("states: slow: the last argument is a function", 2) end
  self.longest:tell(number, least, fn)
end

-- Puts the threads that there are into the states that their letters in /proc stand for. What has changed between the
-- look and SINCE is known to the handlers, whose entries count.
local function find_threads(self, letters)
  local up = require "uplua"
  for _, tid in ipairs(core.target.threads()) do
    local letter = (proc.read("%d/stat", tid) or ""):match "^.*%) (%a)"
    local number = self.numbers[letters[letter]]
    if number then self.found:set(tid, { state = number, since = up.now() }) end
  end
end

-- line(s): one of the longest times, or one that slow tells of, as { elapsed, state, who, at, ended }, texts for a
-- stream's columns, and the stacks below, a list of lines or nil.
function methods:line(s) return report.line(self, s) end

-- rows(): what is known of each key, a list of { key, state, age, total, [NAME], ["NAME times"], ["NAME longest"] }:
-- the state that it is in, nil if it has left or is paused, and for how long so far; the time in all states, and in
-- each by its NAME, with how often it has ended, and the longest; times in ns. Rows of threads have comm, pid and tid.
function methods:rows() return (report.rows(self)) end

-- print([options]): the states, the keys in the order of their times in the state BY (else of all their time), TOP of
-- them (20; 0: all), and the longest times in BY with who ended them. With anew = true of what has been since the last
-- such report alone.
function methods:print(given)
  local options = option_table.read("print", given, {
    by = function(value) return self.numbers[value] and value, "there is no such state" end,
    top = option_table.integer(0, 2 ^ 53), anew = option_table.boolean,
  })
  report.print(self, options)
end

local function names_of(given)
  local numbers = {}
  for i, name in ipairs(type(given) == "table" and given or {}) do
    if type(name) ~= "string" or name == "" then return nil, "a state's name is a text, not " .. text.shown(name) end
    if numbers[name] then return nil, ("there are two states '%s'"):format(name) end
    if RESERVED[name] then return nil, ("'%s' is what each row has besides its states"):format(name) end
    numbers[name] = i
  end
  if not numbers[(given or {})[1]] then return nil, "names is a list of the states' names" end
  if #given > MOST_STATES then return nil, ("there are %d states; %d are possible"):format(#given, MOST_STATES) end
  return numbers
end

local OPTIONS = {
  names = function(value) return value end, title = option_table.text, stacks = option_table.boolean,
  max = option_table.integer(1, 2 ^ 31), longest = option_table.integer(0, 10000),
  found = function(value) return type(value) == "table" and value or nil, "it is { letter = name }" end,
  keys = function(value)
    return value == "thread" and value or nil, "keys are \"thread\"; of any others, leave it out"
  end,
}

-- new(declaration): names, a list of texts; title, what a key is called ("Key"); keys = "thread" where keys are the
-- numbers of threads, which are named then; max, how many keys there can be at once (65536); longest, so many of the
-- longest times in each state are kept with who ended them (10), with the stacks at their ends if stacks is true.
function states.new(declaration)
  local up = require "uplua"
  local given = option_table.read("states.new", declaration, OPTIONS)
  local numbers, why = names_of(given.names)
  if not numbers then error("states.new: " .. why, 2) end
  local self = setmetatable({
    names = given.names, numbers = numbers, handlers = {}, stacks = given.stacks,
    title = given.title or given.keys == "thread" and "Thread" or "Key", keys = given.keys, left = {}, exited = {},
    now = up.hash { max = given.max }, times = {}, over = up.array { max = #given.names + 1 },
    long = report.ring(), gone = report.ring(), backwards = report.backwards(given.title),
  }, methods)
  for i = 1, #self.names do self.times[i] = aggregate.keep_quiet(up.hdr { unit = "ns" }) end
  if given.found then
    self.found = up.hash { max = given.max, key = "i64", value = { state = "i64", since = "i64" } }
    up.at_start(function() find_threads(self, given.found) end)
  end
  self.longest = longest.new(self, given.longest or 10)
  report.collect(self)
  make(self)
  return self
end

return states
