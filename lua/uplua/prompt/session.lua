-- The prompt: lines of Lua over live probes. Each entered line is a setup of its own; callbacks run and print while the
-- user types.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local loop    = require "uplua.base.loop"
local run     = require "uplua.base.run"
local value   = require "uplua.prompt.value"

local readline, target = core.readline, core.target

local SIGHUP, SIGINT = 1, 2
local STDIN          = 0

local prompt = {}

local own = run.part(function()
  return {
    pending = nil, -- the lines of a statement that is not complete yet
    ended = false,
  }
end)

-- A module that is loaded with its first use, or nil.
local function used(name) return package.loaded["uplua.prompt." .. name] end

-- Whether a view is shown in the place of the prompt, until a key is pressed.
local function is_live() return used "look" and used "look".is_live() end

-- What `print` is in a session: what it is given may be the target's, and must not drive the terminal.
local function print_harmless(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = value.harmless(tostring((select(i, ...)))) end
  io.stdout:write(table.concat(parts, "\t"), "\n")
  -- What runs long is seen meanwhile; what callbacks print is the loop's to write.
  if not readline.editing() and not is_live() then io.stdout:flush() end
end

local function say(message) io.stdout:write("uplua: ", value.harmless(message), "\n") end

local function history_file()
  local home = core.system.environment "HOME"
  if not home or not home:find("^/") then return nil end
  local path = home .. "/.local/state/uplua/history"
  local ok, why = core.system.create_private(path)
  if ok then return path end
  say(("the history is not kept: %s: %s"):format(path, why))
end

-- Expressions are tried first, so that `n` and `n:top(3)` show what they give.
-- Returns the chunk, or nil and the message, or nil where more lines are needed.
local function compile(source)
  -- The nil keeps a call from being a tail call, whose errors would be placed in this file.
  local chunk, unfinished = load("return nil, " .. source:gsub("^%s*=", ""), "=prompt")
  if chunk then return chunk end
  local message
  chunk, message = load(source, "=prompt")
  if chunk then return chunk end
  if message:find("near '<eof>'$") or unfinished:find("near '<eof>'$") then return nil end
  return nil, message
end

-- Shows the N values, and keeps them: `_` is the last one, `_1` the one before.
local function show(values, n)
  local shown, lines = {}, false
  for i = 1, n do
    shown[i] = value.show(values[i])
    lines = lines or shown[i]:find "\n"
    if values[i] ~= nil then
      rawset(_G, "_1", rawget(_G, "_"))
      rawset(_G, "_", values[i])
    end
  end
  if n > 0 then io.stdout:write(table.concat(shown, lines and "\n" or "\t"), "\n") end
end

-- The values of an expression, which follow a nil, and how many they are; nothing of a statement.
local function values_of(_, ...) return { ... }, select("#", ...) end

-- Compiles and attaches what has been declared, and lets a command begin.
local function commit(setup)
  if setup then setup.commit(used "files" and used "files".silence) end
  loop.run_starts()
  if setup and setup.attached() then setup.release() end
end

local function declared() return package.loaded["uplua.probe.declare"] and require "uplua.probe.setup" end

-- Tells of an error. Where it is Ctrl-C's, that has been answered.
local function failed(message)
  if core.loop.signal() == SIGINT and not own().ended then
    core.loop.forget()
    if not readline.editing() then print() end -- behind the ^C that the terminal shows
  end
  say(message)
end

-- Runs chunk(...), compiles and attaches what it declared, and shows its values. On an error nothing of it stays.
local function execute(chunk, ...)
  local ok, values, n = xpcall(function(...)
    local values, n = values_of(chunk(...))
    commit(declared())
    return values, n
  end, failure.trace, ...)
  local files = used "files"
  if ok then
    for _, told in ipairs(files and files.keep() or {}) do say(told) end
    ok, values = xpcall(show, failure.trace, values, n)
  else
    if declared() then declared().discard() end
    if files then files.discard() end
  end
  if not ok then failed(values) end
  return ok
end

-- Runs LINE, with the lines before it; WHOLE: those are in it (they were edited).
local function enter(line, whole)
  local mine = own()
  local source = mine.pending and not whole and mine.pending .. "\n" .. line or line
  mine.pending = nil
  if not source:find("%S") then return end
  local asked = source:match "^%s*%?%s*([^\n]-)%s*$"
  local chunk, message
  if not asked then chunk, message = compile(source) end
  if not (asked or chunk or message) then
    mine.pending = source
    return
  end
  readline.remember(source)
  if asked then
    print(require "uplua.prompt.help".text(asked))
  elseif chunk then
    if execute(chunk) then require "uplua.prompt.save".keep(source) end
  else
    say(message)
  end
end

local function edit()
  if is_live() then return readline.raw(true) end
  local pending = own().pending
  readline.start(pending and ">> " or "> ", pending)
end

-- Ends what is live, if something is.
local function end_live()
  if not is_live() then return end
  used "look".stop()
  readline.raw(false)
end

local function on_input()
  if is_live() then
    readline.key()
    end_live()
    return edit()
  end
  local line, whole = readline.feed()
  if line == nil then return end
  if line then
    enter(line, whole)
  else
    print()
    own().ended = true
    loop.stop("end of input")
  end
  if not loop.stopping() then edit() end
end

-- Ctrl-C drops the line; other signals end the session. A terminal that is closed tells its foreground alone: the
-- command is told by us.
local function on_signal(number)
  if number ~= SIGINT then
    core.loop.take()
    if number == SIGHUP and target.command() and not target.status() then target.signal(SIGHUP) end
    loop.ask(128 + number)
    return loop.stop("signal")
  end
  core.loop.forget()
  end_live()
  readline.abandon()
  own().pending = nil
  if not own().ended then edit() end
end

-- What Tab offers for WORD behind BEFORE, of the line and the lines before it.
local function complete(word, before)
  local pending = own().pending
  return require "uplua.prompt.complete".for_readline(word, (pending and pending .. "\n" or "") .. before)
end

-- What the session has kept for whoever types is not to be taken for what a script holds.
local function forget()
  rawset(_G, "_", nil)
  rawset(_G, "_1", nil)
end

-- What a callback's error means: it is not called again.
local function callback_failed(message)
  failed(own().ended and message or message .. "\n  (this function is not called again)")
end

-- The globals of a session. Their modules are loaded with their first use: a prompt is ready at once.
local function open_commands()
  local function command(module, name)
    return function(...) return require("uplua.prompt." .. module)[name](...) end
  end
  print = print_harmless
  probes = require "uplua.prompt.probes".table
  help, explain, bt = command("help", "command"), command("look", "explain"), command("look", "bt")
  live, save = command("look", "live"), command("save", "command")
  dofile = command("files", "load")
  reload = dofile
end

local function flush()
  if is_live() then used "look".flush() else readline.flush() end
end

-- run(ns or nil, watch_target, [chunk]): until the end of input, exit() or the end of the time, after CHUNK, a script
-- with its arguments in `arg`. watch_target(fn) calls fn when the target has exited.
function prompt.run(duration, watch_target, chunk)
  open_commands()
  readline.open(history_file(), complete)
  core.loop.at_once(true)
  loop.hook { failed = callback_failed, warn = say, flush = flush, interrupted = on_signal }
  print(("uplua %s; help() tells what there is, Ctrl-D ends, with a report"):format(core.version))
  if chunk then
    execute(function(...) require "uplua.prompt.files".run(arg[0], chunk, ...) end, unpack(arg))
  end
  if target.command() and target.waits() then
    say(target.command() .. " is ready; it starts with the first probe")
  end
  watch_target(function() say("the target has exited") end)
  loop.watch(STDIN, on_input)
  if not loop.stopping() then edit() end
  local ok, message = xpcall(loop.run, failure.trace, duration)
  own().ended = true
  core.loop.at_once(false)
  end_live()
  readline.close()
  forget()
  if not ok then say(message) end
end

return prompt
