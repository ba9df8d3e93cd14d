-- The loop of a run: timers, descriptors that become readable, and the requests to stop.
local core    = require "uplua.core".loop
local failure = require "uplua.base.failure"
local run     = require "uplua.base.run"
local system  = require "uplua.core".system
local text    = require "uplua.base.text"

local loop = {}

local own = run.part(function()
  return {
    events = core.new(),  -- what the kernel tells of descriptors
    watchers = {},        -- fd → function
    timers = {},          -- { at, period (in seconds), fn, delay (in ns) }
    starts = {}, stops = {}, exits = {}, failures = {}, -- functions
    running = false,
    deadline = nil,       -- when the time is over that the run has
    status = nil,         -- exit status that up.exit() asked for, or 1 after an error
    stopping = nil,       -- why the run ends: "exit", "signal", "error", "time", or what stop() was given
    next_check = 0,
    ready = {},
    hooks = {},
    taker = nil,          -- what is told of timers and functions that are added
  }
end)

-- hook { name = fn, … }: has main, the prompt and views that live do otherwise in this run than the functions below
-- that they name; false: as usual again.
function loop.hook(hooks)
  for name, fn in pairs(hooks) do own().hooks[name] = fn end
end

-- Whether somebody has hooked NAME.
function loop.is_hooked(name) return (own().hooks[name] or false) ~= false end

-- Whether the clocks of the timers go.
function loop.is_running() return own().running end

-- The function that this run has for NAME, else USUAL.
local function hooked(name, usual)
  return function(...) return (own().hooks[name] or usual)(...) end
end

-- What happens when a callback fails. Otherwise the run ends.
loop.failed = hooked("failed", function(message)
  failure.report_error(message)
  local number = core.signal() -- "interrupted": Ctrl-C while the callback did not return
  loop.fail(number and 128 + number or 1)
  loop.stop("error")
end)

-- What happens when a signal (its number, and whether the terminal sent it) asks to stop.
loop.interrupted = hooked("interrupted", function() loop.stop("signal") end)

-- Tells the user.
loop.warn = hooked("warn", failure.report)

-- Called after each round in which a callback ran. A run whose report cannot be written any more is over: what went
-- wrong is said at its end (main.c, uplua.objects.format), and of a reader who has gone a signal tells.
loop.flush = hooked("flush", function()
  if io.stdout:flush() and not system.flush_output() or core.signal() then return end
  loop.stop("error")
end)

-- True if something else than timers and descriptors keeps the run going: probes.
loop.has_probes = hooked("has_probes", function() return false end)

-- Called in each turn, behind the callbacks.
loop.called = hooked("called", function() end)

-- Looks what may be wrong with the script by now, after a round: at most once a second.
loop.check = hooked("check", function() end)

-- The seconds until the run's time is over; nil where it ends by something else.
function loop.left() return own().deadline and own().deadline - core.now() end

-- The exit status that was asked for, or that a failure has; nil by now.
function loop.status() return own().status end

-- Makes STATUS the exit status; ask for it: unless there is one.
function loop.fail(status) own().status = status end
function loop.ask(status) own().status = own().status or status end

-- Why the run ends; nil: it does not.
function loop.stopping() return own().stopping end

-- Calls fn(...) for the loop: an error is reported. Returns true if there was none.
function loop.call(fn, ...)
  local ok, message = xpcall(fn, failure.trace, ...)
  if not ok then loop.failed(message) end
  return ok
end

local function check_function(fn, level)
  if type(fn) ~= "function" then error("a function is expected, not " .. text.shown(fn), level) end
end

local function remove(list, value)
  for i = #list, 1, -1 do
    if list[i] == value then table.remove(list, i) end
  end
end

-- Calls fn(...) and returns what it returns; for each timer that it sets, and each function that it adds for the start,
-- the stop or the report, take(undo) is called with what takes that back.
function loop.taking(take, fn, ...)
  local mine = own()
  local before = mine.taker
  mine.taker = take
  local function done(ok, ...)
    mine.taker = before
    if not ok then error((...), 0) end
    return ...
  end
  return done(pcall(fn, ...))
end

-- taken(undo): UNDO takes back what was just done, where that is noted. Returns what it is noted for, which is another
-- value for each version of a file; nil: nothing is noted.
function loop.taken(undo)
  local taker = own().taker
  if taker then taker(undo) end
  return taker
end

-- A function that adds FN to the LIST of the run, "starts" and its like. What is wrong is raised at its caller's line.
local function adder(list)
  return function(fn)
    check_function(fn, 3)
    table.insert(own()[list], fn)
    loop.taken(function() remove(own()[list], fn) end)
  end
end

local Timer = {}
Timer.__index = Timer

function Timer:cancel() self.fn = nil end

function Timer:__tostring()
  local what = (self.period and "every " or "after ") .. text.time(self.delay)
  return self.fn and what or what .. " (over)"
end

-- Its callers call it in tail position: level 2 is the line of the script.
local function add_timer(duration, fn, repeats)
  local ns, message = text.wait(duration)
  if not ns then error(message, 2) end
  check_function(fn, 3)
  if repeats and ns == 0 then error("the period must be longer than zero", 2) end
  -- Timers of the main chunk count from the moment when everything is attached.
  local timer = {
    delay = ns, period = repeats and ns / 1e9, fn = fn, at = own().running and core.now() + ns / 1e9,
  }
  setmetatable(timer, Timer)
  local mine = own()
  mine.timers[#mine.timers + 1] = timer
  loop.taken(function() timer:cancel() end)
  return timer
end

-- every(duration, fn): calls fn each DURATION ("10ms", or ns), counted from the start of the run. Returns a timer with
-- a method cancel().
function loop.every(duration, fn) return add_timer(duration, fn, true) end

-- after(duration, fn): calls fn once.
function loop.after(duration, fn) return add_timer(duration, fn, false) end

-- at_start(fn): calls fn once the probes are attached, before a command begins: what they have counted until then was
-- while others were still missing.
loop.at_start = adder "starts"

-- at_stop(fn): calls fn when the run ends, while all probes are still there. They are detached in no order: a script
-- whose handlers depend on each other switches them off here, by a var that they read.
loop.at_stop = adder "stops"

-- at_exit(fn): calls fn for the report, once the probes are detached; several in the order in which they were given.
loop.at_exit = adder "exits"

-- at_failure(fn): calls fn where the run ends before it has begun, by an error of the main chunk: then nothing is
-- reported.
loop.at_failure = adder "failures"

-- exit([status]): ends the run, with its report, once the callback or main chunk that calls it returns.
function loop.exit(status)
  if status ~= nil and (type(status) ~= "number" or status % 1 ~= 0 or status < 0 or status > 255) then
    error("the exit status is an integer from 0 to 255", 2)
  end
  loop.ask(status or 0)
  loop.stop("exit")
end

-- at(when, fn): calls fn once, at this time (by now(), in seconds). Returns the timer, whose field `at` may be changed.
function loop.at(when, fn)
  local timers, timer = own().timers, { at = when, fn = fn }
  timers[#timers + 1] = timer
  return timer
end

-- The time in seconds, for at.
loop.now = core.now

-- watch(fd, fn, [edge]): calls fn(fd) while FD is readable; EDGE: at each wake-up by the kernel (sys/events.h).
function loop.watch(fd, fn, edge)
  local mine = own()
  if not mine.watchers[fd] then mine.events:add(fd, edge) end
  mine.watchers[fd] = fn
end

function loop.unwatch(fd)
  local mine = own()
  if mine.watchers[fd] then mine.events:remove(fd) end
  mine.watchers[fd] = nil
end

-- Ends the run; the first reason counts.
function loop.stop(why) own().stopping = own().stopping or why end

-- Seconds until the next timer is due; nil without timers.
local function next_due(now)
  local due, timers = nil, own().timers
  for i = 1, #timers do
    local timer = timers[i]
    if not timer.fn then return 0 end
    if not due or timer.at < due then due = timer.at end
  end
  return due and math.max(due - now, 0)
end

local function run_timers()
  local mine = own()
  local now, kept, before = core.now(), {}, mine.timers
  mine.timers = {}
  for i = 1, #before do
    local timer = before[i]
    local fn = timer.fn
    if fn and timer.at <= now then
      if timer.period then
        -- Ticks that a slow callback missed are dropped, and the rhythm is kept.
        timer.at = timer.at + timer.period * (1 + math.floor((now - timer.at) / timer.period))
      else
        timer.fn = nil
      end
      if not loop.call(fn) then timer.fn = nil end
    end
    if timer.fn then kept[#kept + 1] = timer end
  end
  for i = 1, #mine.timers do kept[#kept + 1] = mine.timers[i] end -- those that callbacks added
  mine.timers = kept
end

-- A run without probes that waits for nothing is over, as any program's would be.
local function idle()
  local mine = own()
  return #mine.timers == 0 and next(mine.watchers) == nil and not loop.has_probes()
end

-- Waits up to SECONDS (nil: as long as it takes) for descriptors, and calls who watches them.
local function watch_once(seconds)
  local mine = own()
  local count = mine.events:wait(mine.ready, seconds)
  local number, from_terminal = core.signal()
  if number then loop.interrupted(number, from_terminal) end
  for i = 1, count do
    local fd = mine.ready[i]
    local fn = mine.watchers[fd]
    -- A watcher that failed would fail again at once.
    if fn and not loop.call(fn, fd) then loop.unwatch(fd) end
  end
end

-- pause(ns): waits so long, while descriptors are watched, and timers are not: for what is not done in one go and has
-- to be finished first.
function loop.pause(ns)
  local until_then = core.now() + ns / 1e9
  repeat watch_once(math.max(until_then - core.now(), 0)) until core.now() >= until_then
end

-- One round: waits up to SECONDS (nil: as long as it takes), then runs what is due.
function loop.step(seconds)
  local mine, due = own(), next_due(core.now())
  if due and (not seconds or due < seconds) then seconds = due end
  watch_once(seconds)
  if #mine.timers > 0 then run_timers() end
  loop.called()
  local now = core.now()
  if now >= mine.next_check then
    mine.next_check = now + 1
    loop.check()
  end
  loop.flush()
end

-- Starts the clocks of the timers that were set before.
function loop.start()
  local timers, now = own().timers, core.now()
  own().running = true
  for i = 1, #timers do timers[i].at = timers[i].at or now + timers[i].delay / 1e9 end
end

-- run([ns]): until somebody calls stop or exit, the time is over, or, without one, there is nothing left to wait for.
function loop.run(duration)
  loop.start()
  local deadline = duration and core.now() + duration / 1e9
  own().deadline = deadline
  while not loop.stopping() and (deadline or not idle()) do
    loop.step(deadline and math.max(deadline - core.now(), 0))
    if deadline and core.now() >= deadline then loop.stop("time") end
  end
end

-- Calls the at_start functions, the at_stop functions, the at_failure functions.
local function run_all(list)
  for i = 1, #own()[list] do loop.call(own()[list][i]) end
  own()[list] = {}
end
function loop.run_starts() run_all "starts" end
function loop.run_stops() run_all "stops" end
function loop.run_failures() run_all "failures" end

-- Calls the at_exit functions in their order; those that they add come last.
function loop.run_exits()
  local i, exits = 1, own().exits
  while exits[i] do
    loop.call(exits[i])
    i = i + 1
  end
  own().exits = {}
end

return loop
