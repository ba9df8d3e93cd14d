-- The life of a script: options → target → setup (the main chunk, then compile and attach) → run → report.
local cli     = require "uplua.run.cli"
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local loop    = require "uplua.base.loop"
local script  = require "uplua.run.script"

local target = core.target

local SIGINT, SIGKILL, SIGPIPE, SIGTERM = 2, 9, 13, 15
local PATIENCE = 3 -- seconds that a command gets to end after Ctrl-C, while it is still traced

-- A module that counts only where the script has used it: what was never loaded has nothing pending, attached or lost.
local function loaded(name) return package.loaded["uplua." .. name] end

-- The module that commits, if the script has declared anything by now.
local function used_setup() return loaded "probe.declare" and require "uplua.probe.setup" end

-- Calls fn(...); an error is reported as the script's and makes the exit status 1. Returns true if there was none.
local function try(fn, ...)
  local ok, message = xpcall(fn, failure.trace, ...)
  if not ok then
    failure.report_error(message)
    loop.status = 1
  end
  return ok
end

-- The chunk to run, with the globals that it expects. nil after a report.
local function load_chunk(options)
  script.restrict_loading()
  if options.code then
    arg = options.arguments
    arg[0] = "-e"
    script.set_module_path(nil)
    script.open_api()
    local chunk, message = load(options.code, "=-e")
    if not chunk then failure.report(message) end
    return chunk
  end
  local path, message = script.find(options.script)
  if not path then return failure.report(message) end
  arg = options.arguments
  arg[0] = path
  script.set_module_path(path)
  local chunk
  chunk, message = script.load(path)
  if not chunk then failure.report(message) end
  return chunk
end

-- Attaches to the processes, or starts the command stopped.
local function open_target(options)
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
local function watch_target(ended)
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

local signal -- the one that asked to stop

-- The first request to stop. A command that was started gets it too, and is traced until it has ended. Where nobody
-- reads the output any more, nobody else ends the command either.
local function on_signal(number, from_terminal)
  core.loop.take()
  if loop.stopping or signal then return end -- each round of the loop asks
  signal = number
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
  for name, value in pairs(_G) do
    if type(name) == "string" and type(value) == "table" and rawget(value, "kind") and rawget(value, "id")
      and value ~= _G and not rawget(value, "read") and rawget(value, "kind") ~= "ring" then
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
    local shown = texts[value] or tostring(value)
    print(names[value] .. ":" .. (shown:find("\n") and "\n" or " ") .. shown)
  end
  for _, named in ipairs(loaded "counter" and require "uplua.counter".unread(_G) or {}) do
    print(named[1] .. ":\n" .. tostring(named[2]))
  end
end

-- What was lost, by cause; silence means that the numbers are exact.
local function print_lost(lost)
  if #lost == 0 then return end
  local lines = { "not everything was seen:" }
  for _, entry in ipairs(lost) do
    local count, what = entry[2] or entry.count, entry[1] or entry.text
    lines[#lines + 1] = ("  %s × %s"):format(require "uplua.text".thousands(count), what)
  end
  failure.report(table.concat(lines, "\n"))
end

-- The end of every run that got as far as attaching: detaches, hands out what is still in the rings, reports.
local function report()
  local setup, counter = used_setup(), loaded "counter"
  local ring, output = loaded "objects.ring", loaded "objects.output"
  loop.run_stops()
  if counter then try(counter.finish) end
  loop.check()
  if setup then try(setup.close) end
  if ring then try(ring.drain) end
  if output then try(output.drain) end
  loop.run_exits()
  try(print_unread)
  if setup then try(require "uplua.target.unmapped_libraries".finish) end
  if setup and require "uplua.target.late_modules".finish() and (target.status() or 0) == 0 then
    loop.status = loop.status or 1
  end
  try(function()
    local lost = setup and setup.ledger() or {}
    for _, entry in ipairs(counter and counter.lost() or {}) do lost[#lost + 1] = entry end
    print_lost(lost)
  end)
  io.stdout:flush()
end

-- Compiles and attaches what the chunk declared, hands out what it printed, for whoever waits for that, then lets the
-- command begin.
local function commit()
  local setup = used_setup()
  if setup then setup.commit() end
  loop.run_starts()
  loop.flush()
  if setup then
    setup.release()
  else
    target.release()
  end
end

-- Where a run fails before it has begun: the status of the signal that ended it there, or 1.
local function failed()
  local number = core.loop.signal()
  target.close()
  return number and 128 + number or 1
end

-- The exit status: what went wrong or was asked for, else the command's. Ctrl-C is the ordinary end of a run.
local function status()
  return loop.status or target.status() or (signal and signal ~= SIGINT and 128 + signal) or 0
end

-- The end of a run that has begun: its report, and the exit status.
local function finish()
  core.loop.take()
  report()
  local result = status()
  target.close()
  return result
end

local function run_script(options)
  local chunk = load_chunk(options)
  if not chunk then return 1 end
  if not try(open_target, options) then return 1 end

  loop.interrupted = on_signal
  function loop.has_probes()
    return loaded "probe.declare" ~= nil or (loaded "counter" and loaded "counter".counts())
  end
  if not try(chunk, unpack(arg)) then return failed() end
  local compile_only = options.emit or options.explain
  if not loop.stopping and not core.loop.signal() and not compile_only then
    if not try(commit) then return failed() end
    watch_target(function() loop.stop("target") end)
    try(loop.run, options.duration)
  elseif compile_only then
    local setup = used_setup()
    local ok = not setup or try(setup.commit)
    target.close()
    return ok and 0 or 1
  else
    signal = core.loop.signal()
  end
  return finish()
end

local function run_prompt(options)
  if not try(open_target, options) then return 1 end
  if options.command and not try(target.set_apart) then return 1 end -- Ctrl-C is for the line that is typed
  script.restrict_loading()
  script.set_module_path(nil)
  arg = options.arguments
  script.open_api()
  try(require "uplua.run.prompt".run, options.duration, watch_target)
  return finish()
end

local function list(options)
  local ok, message = pcall(function()
    open_target(options)
    require "uplua.run.list".print(options.list, options.verbose, options.json)
  end)
  target.close()
  if ok then return 0 end
  failure.report(tostring(message) .. (cli.is_usage(message) and "\n" .. cli.usage or ""))
  return cli.is_usage(message) and 2 or 1
end

-- main(argv) → exit status. ARGV[0] is the program.
return function(argv)
  local ok, options = pcall(cli.parse, argv)
  if not ok then
    failure.report(tostring(options) .. (cli.is_usage(options) and "\n" .. cli.usage or ""))
    return cli.is_usage(options) and 2 or 1
  end
  package.loaded["uplua.options"] = options -- for the modules that need to know them
  if options.help then
    io.write(cli.help)
    return 0
  end
  if options.version then
    print("uplua " .. core.version)
    return 0
  end
  if options.scripts then
    io.write(require "uplua.run.script".report())
    return 0
  end
  if options.info then return try(require "uplua.run.info".print, options.json) and 0 or 1 end
  if options.unwind_info then
    return try(require "uplua.stack.unwind_info", options.unwind_info, options.script, options.arguments[1]) and 0 or 1
  end
  if options.list then return list(options) end
  if options.symbolize then
    local done = try(require "uplua.stack.symbolize", options.symbolize, { options.script, unpack(options.arguments) })
    print_lost(require "uplua.stack.frame".unread())
    return done and 0 or 1
  end
  if options.script or options.code then return run_script(options) end
  if core.system.is_terminal(0) and core.system.is_terminal(1) then return run_prompt(options) end
  io.stderr:write(cli.usage, "\n")
  return 2
end
