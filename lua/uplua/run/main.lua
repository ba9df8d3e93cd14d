-- uplua's command line becomes a run, or a report of what there is.
local cli     = require "uplua.run.cli"
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local life    = require "uplua.run.life"
local loop    = require "uplua.base.loop"
local run     = require "uplua.base.run"
local script  = require "uplua.run.script"
local syntax  = require "uplua.base.syntax"

local target, try = core.target, life.try

-- The script of OPTIONS, with its arguments in `arg`; nil after a report.
local function load_script(options)
  local path, message = options.script, nil
  if path ~= "-" then path, message = script.find(path) end
  if not path then return failure.report(message) end
  arg = options.arguments
  arg[0] = path
  script.set_module_path(path ~= "-" and path or nil)
  if path == "-" then script.open_api() end
  local chunk
  chunk, message = script.load(path)
  if not chunk then failure.report(message) end
  return chunk
end

-- Of a script that never looks at its arguments: what there is to say where it was asked for --help. Raises that it was
-- given others.
local function check_arguments(options)
  local word = options.arguments[1]
  local path = word and options.script and (options.script == "-" and "-" or script.find(options.script))
  if not path or script.takes_arguments(path) then return nil end
  for _, given in ipairs(options.arguments) do
    if given == "--help" or given == "-h" then return script.help(options.script, path) end
  end
  cli.wrong("%s takes no options or arguments, but '%s' was given; uplua's options stand before its name, the target "
    .. "after --", options.script, word)
end

-- The chunk to run, with the globals that it expects. nil after a report.
local function load_chunk(options)
  script.restrict_loading()
  if not options.code then return load_script(options) end
  arg = options.arguments
  arg[0] = "-e"
  script.set_module_path(nil)
  script.open_api()
  local chunk, message = load(options.code, "=-e")
  if not chunk then failure.report(syntax.explained(message, options.code)) end
  return chunk
end

-- The end of a run that has begun: from now on a signal ends the process.
local function finish()
  core.loop.take()
  return life.finish()
end

local function run_script(options)
  local chunk = load_chunk(options)
  if not chunk then return 1 end
  local begun, status = life.begin(options, chunk, unpack(arg))
  if not begun then return status end
  if not loop.stopping() then try(loop.run, options.duration) end
  return finish()
end

-- The prompt; with a script, which runs first, or with code.
local function run_prompt(options)
  script.restrict_loading(true)
  local chunk
  if options.script or options.code then
    local message
    script.open_api()
    if options.script then
      chunk = load_script(options)
    else
      chunk, message = load(options.code, "=-e")
      if not chunk then failure.report(syntax.explained(message, options.code)) end
    end
    if not chunk then return 1 end
  else
    script.set_module_path(nil)
    script.open_api()
  end
  arg = options.arguments
  if not try(life.open_target, options) then return 1 end
  if options.command and not try(target.set_apart) then return 1 end -- Ctrl-C is for the line that is typed
  try(require "uplua.prompt.session".run, options.duration, life.watch_target, chunk)
  return finish()
end

-- Reports MESSAGE, which may be about the command line. Returns the exit status.
local function refuse(message)
  failure.report(tostring(message) .. (cli.is_usage(message) and "\n" .. cli.usage or ""))
  return cli.is_usage(message) and 2 or 1
end

-- Calls fn(), a report of what there is, or refuses what it raises. Returns the exit status: fn's, or 0.
local function report(fn)
  local ok, result = pcall(fn)
  target.close()
  return ok and (result or 0) or not ok and refuse(result)
end

local function list(options)
  return report(function()
    life.open_target(options)
    require "uplua.run.list".print(options.list, options.verbose, options.json)
  end)
end

local function write_skeleton(options)
  return report(function()
    require "uplua.run.skeleton".write(options.new, { options.script, unpack(options.arguments) })
  end)
end

-- main(argv) → exit status. ARGV[0] is the program.
return function(argv)
  local ok, options = pcall(cli.parse, argv)
  if not ok then return refuse(options) end
  run.new(options):use()
  local told = options.help and cli.help or options.version and "uplua " .. core.version .. "\n"
    or options.scripts and script.report()
  if told then
    io.write(told)
    return 0
  end
  if options.info then return try(require "uplua.run.info".print, options.json) and 0 or 1 end
  if options.unwind_info then
    return try(require "uplua.stack.unwind_info", options.unwind_info, options.script, options.arguments[1]) and 0 or 1
  end
  if options.list then return list(options) end
  if options.new then return write_skeleton(options) end
  if options.test then return report(function() return require "uplua.run.tests".run(options.test) end) end
  if options.symbolize then
    local done = try(require "uplua.stack.symbolize", options.symbolize, { options.script, unpack(options.arguments) })
    life.print_lost(require "uplua.stack.frame".unread())
    return done and 0 or 1
  end
  local taken, answer = pcall(check_arguments, options)
  if not taken then return refuse(answer) end
  if answer then
    io.write(answer)
    return 0
  end
  local on_terminal = core.system.is_terminal(0) and core.system.is_terminal(1)
  if options.interactive and not on_terminal then
    return refuse "-i needs a terminal; without one, uplua - runs standard input"
  end
  if not options.interactive and (options.script or options.code) then return run_script(options) end
  if on_terminal then return run_prompt(options) end
  return refuse(select(2, pcall(cli.wrong, "there is no script to run: name one, or give -e CODE; without one uplua " ..
    "is a prompt, which needs a terminal, and uplua - runs standard input")))
end
