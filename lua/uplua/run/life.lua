-- The life of a run: options → target → setup (the main chunk, then compile and attach) → loop → report. All of it is
-- of the current run (uplua.base.run).
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local format  = require "uplua.objects.format"
local loop    = require "uplua.base.loop"
local options = require "uplua.options"
local run     = require "uplua.base.run"

local target = core.target

local life = {}

local SIGINT, SIGKILL, SIGPIPE, SIGTERM = 2, 9, 13, 15
local LOST = 3 -- the exit status of --strict where not everything was seen
local PATIENCE = "3s" -- that a command gets to end after Ctrl-C, while it is still traced

-- A module that counts only where the script has used it: what was never loaded has nothing pending, attached or lost.
local function loaded(name) return package.loaded["uplua." .. name] end

-- The module that commits, if the script has declared anything by now.
local function used_setup() return loaded "probe.declare" and require "uplua.probe.setup" end

-- Calls fn(...); an error is reported as the script's and makes the exit status 1. Returns true if there was none.
function life.try(fn, ...)
  local ok, message = xpcall(fn, failure.trace, ...)
  if not ok then
    failure.report_error(message)
    loop.fail(1)
  end
  return ok
end

-- Attaches to the processes, or starts the command stopped.
function life.open_target(options)
  if options.command then
    target.start(options.command)
  elseif options.pids then
    target.attach(options.pids)
  elseif options.tids then
    target.attach_threads(options.tids)
  end
  if options.follow then target.follow() end
end

-- Ends the run, or tells the prompt by calling ended(), when the last process or thread of the target has exited.
function life.watch_target(ended)
  local left = 0
  for _, fd in ipairs(target.pidfds()) do
    left = left + 1
    loop.watch(fd, function()
      loop.unwatch(fd)
      left = left - 1
      if left == 0 then require "uplua.target.filter".wait(ended) end
    end)
  end
end

local own = run.part(function() return { signal = nil } end) -- the one that asked to stop

-- The terminal has shown "^C" where its cursor is: the report begins on a line of its own.
local function end_echo()
  local is_terminal = core.system.is_terminal
  local stream = is_terminal(2) and io.stderr or is_terminal(1) and io.stdout
  if not stream then return end
  stream:write "\n"
  stream:flush()
end

-- The first request to stop. A command that was started gets it too, and is traced until it has ended. Where nobody
-- reads the output any more, nobody else ends the command either.
local function on_signal(number, from_terminal)
  core.loop.take()
  local mine = own()
  if loop.stopping() or mine.signal then return end -- each round of the loop asks
  if from_terminal then end_echo() end
  mine.signal = number
  if target.command() and not target.status() then
    if number == SIGPIPE then
      target.signal(SIGTERM)
    elseif not from_terminal then
      target.signal(number)
    end
    loop.after(PATIENCE, function()
      if number == SIGPIPE then target.signal(SIGKILL) end
      loop.stop("signal")
    end)
  else
    loop.stop("signal")
  end
end

-- What the script never looked at: globals that hold shared objects, and other aggregations that handlers have filled,
-- since nobody else would ever see these. Printed in the order in which they were made.
local function print_unread()
  local names, objects = {}, {}
  local all = loaded "objects.object" and loaded "objects.object".all() or {}
  for name, value in pairs(_G) do
    if type(name) == "string" and type(value) == "table" and all[rawget(value, "id") or 0] == value
      and not rawget(value, "read") and rawget(value, "kind") ~= "ring" then
      if not names[value] then objects[#objects + 1] = value end
      if not names[value] or name < names[value] then names[value] = name end
    end
  end
  local texts = loaded "objects.aggregate" and loaded "objects.aggregate".unread() or {}
  for value in pairs(texts) do
    if not names[value] then
      objects[#objects + 1], names[value] = value, rawget(value, "name") or rawget(value, "kind")
    end
  end
  table.sort(objects, function(a, b) return rawget(a, "id") < rawget(b, "id") end)
  for _, value in ipairs(objects) do
    if format.is_data() then
      format.object(value, names[value])
    else
      local shown = texts[value] or tostring(value)
      print(names[value] .. ":" .. (shown:find("\n") and "\n" or " ") .. shown)
    end
  end
  for _, named in ipairs(loaded "probe.counter" and require "uplua.probe.counter".unread(_G) or {}) do
    print(named[1] .. ":\n" .. tostring(named[2]))
  end
end

-- What was lost, by cause; silence means that the numbers are exact.
function life.print_lost(lost)
  if #lost == 0 then return end
  local lines = { "not everything was seen:" }
  for _, entry in ipairs(lost) do
    local count, what = entry[2] or entry.count, entry[1] or entry.text
    lines[#lines + 1] = ("  %s × %s"):format(require "uplua.base.text".thousands(count), what)
  end
  failure.report(table.concat(lines, "\n"))
end

-- --serve and --otlp: what is told of this run by HTTP.
local function service()
  return (options.serve or options.otlp) and not options.explain and require "uplua.service.server"
end
local function stop_serving()
  if service() then service().finish() end
end

-- The end of every run that got as far as attaching: detaches, hands out what is still in the rings, reports.
local function report()
  local setup, counter = used_setup(), loaded "probe.counter"
  life.try(stop_serving)
  if loaded "probe.budget" then life.try(require "uplua.probe.budget".finish) end
  local ring, output = loaded "objects.ring", loaded "objects.output"
  local attached = loaded "probe.attach" and loaded "probe.attach".providers() or {}
  loop.run_stops()
  if counter then life.try(counter.finish) end
  loop.check()
  if setup then life.try(setup.close) end
  if ring then life.try(ring.drain) end
  if output then life.try(output.drain) end
  loop.run_exits()
  life.try(print_unread)
  if setup and require "uplua.target.late_modules".finish() and (target.status() or 0) == 0 then loop.ask(1) end
  life.try(function()
    local lost = setup and setup.ledger() or {}
    for _, entry in ipairs(counter and counter.lost() or {}) do lost[#lost + 1] = entry end
    format.ledger(lost)
    life.print_lost(lost)
    if #lost > 0 and options.strict then loop.ask(LOST) end
  end)
  if setup then life.try(require "uplua.probe.without_hits".tell, require "uplua.probe.handle".without_hits()) end
  life.try(require "uplua.run.ended".tell, attached)
  life.try(format.finish)
  io.stdout:flush()
end

local function commit_declared()
  local setup = used_setup()
  if setup then setup.commit() end
end

-- Compiles and attaches what the chunk declared, and what at_start's functions did, hands out what it printed, for
-- whoever waits for that, then lets the command begin.
local function commit()
  require "uplua.run.report".check()
  commit_declared()
  loop.run_starts()
  commit_declared()
  loop.flush()
  local released = used_setup() or target
  released.release()
end

-- Compiles and attaches what callbacks have declared, a setup of its own. If anything fails, nothing of it stays.
local function commit_later()
  local declare = loaded "probe.declare"
  if not (declare and declare.is_pending()) or loop.stopping() then return end
  local setup = used_setup()
  local ok = loop.call(function()
    setup.commit()
    if setup.attached() then setup.release() end
  end)
  if not ok then setup.discard() end
end

-- Where a run fails before it has begun: the status of the signal that ended it there, or 1.
local function failed()
  local number = core.loop.signal()
  life.try(stop_serving)
  loop.run_failures()
  target.close()
  return number and 128 + number or 1
end

-- The exit status: what went wrong or was asked for, else the command's. Ctrl-C is the ordinary end of a run.
local function status()
  local signal = own().signal
  return loop.status() or target.status() or (signal and signal ~= SIGINT and 128 + signal) or 0
end

-- The end of a run that has begun: its report, and the exit status.
function life.finish()
  report()
  local result = status()
  target.close()
  return result
end

-- The report of --check: what was compiled, and what could not be asked without more rights.
local function print_checked()
  local text = require "uplua.base.text"
  local unchecked = loaded "probe.declare" and require "uplua.probe.declare".unchecked() or {}
  local compiled = loaded "probe.load" and require "uplua.probe.load".checked() or 0
  text.printf("%s: %s\n", arg[0], compiled == 0 and #unchecked == 0 and "no handlers" or
    compiled == 1 and "one handler compiles" or compiled .. " handlers compile")
  for _, one in ipairs(unchecked) do text.printf("not checked: %s\n", text.escape(one)) end
end

-- With --watch, --serve and --otlp a script can be loaded again. PATH: its file; nil: it has none.
local function reloads(options, path)
  local may = options.watch or options.serve or options.otlp
  return path and not options.explain and may and require "uplua.run.reload"
end

-- Runs the main chunk, of the file PATH unless that is nil, with its arguments.
local function run_chunk(options, path, chunk, ...)
  local reload = reloads(options, path)
  if options.watch then require "uplua.run.watch".begin(path) end
  if reload then reload.begin(path, options.watch, ...) else chunk(...) end
end

-- From now on the script may be loaded again: when its file is saved, and when SIGHUP asks a service for it.
local function start_reloads(options, path)
  local reload = reloads(options, path)
  if reload then reload.start() end
  if options.watch then require "uplua.run.watch".start() end
  if not service() then return end
  loop.watch(core.loop.reload_by_hangup(), function()
    core.loop.take_reload()
    if reload then return service().reload(reload.again, path) end
    failure.report "SIGHUP: there is no file of this script to be loaded again"
  end)
end

-- The begin of a run of OPTIONS: its target, what chunk(...) declares, and the command. False and the exit status where
-- there is nothing to be waited for: it has failed, or is over.
function life.begin(options, chunk, ...)
  if service() and not life.try(service().begin, options.serve, options.otlp) then return false, 1 end
  if not (life.try(format.begin) and life.try(life.open_target, options)) then return false, failed() end
  loop.hook { interrupted = on_signal, has_probes = function()
    local declare, counter = loaded "probe.declare", loaded "probe.counter"
    return declare and declare.used() or counter and counter.counts()
  end, called = commit_later }
  local path = options.script and options.script ~= "-" and arg[0] or nil
  if not life.try(run_chunk, options, path, chunk, ...) then return false, failed() end
  if options.emit or options.explain then
    local setup = used_setup()
    local ok = not setup or life.try(setup.commit)
    if ok and options.check then print_checked() end
    life.try(format.finish)
    target.close()
    return false, ok and 0 or 1
  end
  if loop.stopping() or core.loop.signal() then
    own().signal = core.loop.signal()
    loop.stop("signal")
    return true
  end
  if not (life.try(commit) and life.try(start_reloads, options, path)) then return false, failed() end
  if options.budget then life.try(require "uplua.probe.budget".start, options.budget) end
  if service() and not life.try(service().start) then return false, failed() end
  life.watch_target(function() loop.stop("target") end)
  return true
end

return life
