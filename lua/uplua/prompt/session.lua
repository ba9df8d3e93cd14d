-- The prompt: lines of Lua over live probes. Each entered line is a setup of its own; callbacks run and print while the
-- user types.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local loop    = require "uplua.base.loop"
local run     = require "uplua.base.run"
local syntax  = require "uplua.base.syntax"
local text    = require "uplua.base.text"
local value   = require "uplua.prompt.value"

local readline, target = core.readline, core.target

local SIGHUP, SIGINT = 1, 2
local STDIN          = 0

local prompt = {}

local own = run.part(function()
  return {
    pending = nil, -- the lines of a statement that is not complete yet
    ended = false,
    told = {}, -- the losses of which the session has told, as keys
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

-- Tells of an error, in red where colours are wanted.
local function complain(message)
  local head = require "uplua.term.terminal".color() and "\27[31muplua:\27[0m " or "uplua: "
  io.stdout:write(head, value.harmless(message), "\n")
end

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
  return nil, syntax.explained(message, source)
end

-- V as it is shown: who types the name of a function of the manual wants to know what it does, and who types help
-- wants all of it.
local function shown_as(v)
  if type(v) == "function" then
    local help = require "uplua.prompt.help"
    if rawequal(v, rawget(_G, "help")) then return help.text() end
    if help.called(v) then return help.text(v) end
  end
  return value.show(v)
end

-- Shows the N values, and keeps them: `_` is the last one, `_1` the one before.
local function show(values, n)
  local shown, lines = {}, false
  for i = 1, n do
    shown[i] = shown_as(values[i])
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
  if setup then setup.commit(used "files" and used "files".replaced()) end
  loop.run_starts()
  if setup and setup.attached() then setup.release() end
end

local function declared() return package.loaded["uplua.probe.declare"] and require "uplua.probe.setup" end

-- Tells of what was lost by now, each cause once: who looks at a number wants to know. The end has all of it.
local function tell_losses()
  local told = own().told
  for _, lost in ipairs(declared() and declared().ledger(true) or {}) do
    if not told[lost[1]] then
      told[lost[1]] = true
      say(("not everything was seen so far: %s × %s"):format(text.thousands(lost[2]), lost[1]))
    end
  end
end

-- Tells of an error. Where it is Ctrl-C's, that has been answered.
local function failed(message)
  if core.loop.signal() == SIGINT and not own().ended then
    core.loop.forget()
    if not readline.editing() then print() end -- behind the ^C that the terminal shows
  end
  complain(message)
end

-- The globals as they are, name → value: a function that has them so again.
local function keep_globals()
  local before = {}
  for name, global in next, _G do before[name] = global end
  return function()
    for name in next, _G do
      if before[name] == nil then rawset(_G, name, nil) end
    end
    for name, global in next, before do rawset(_G, name, global) end
  end
end

-- Takes back what an entry that has failed did: UNDO, functions for its timers and the like, and its GLOBALS. Who has
-- ended it by Ctrl-C may want to know how far it came: then these stay.
local function take_back(undo, globals)
  for i = #undo, 1, -1 do undo[i]() end
  if core.loop.signal() ~= SIGINT then globals() end
end

-- Runs chunk(...), compiles and attaches what it declared, and shows its values. On an error nothing of it stays.
-- Returns whether it went well, and functions that take back what it did besides probes.
local function execute(chunk, ...)
  local undo, globals = {}, keep_globals()
  local ok, values, n = loop.taking(function(fn) undo[#undo + 1] = fn end, xpcall, function(...)
    local values, n = values_of(chunk(...))
    commit(declared())
    return values, n
  end, failure.trace, ...)
  local files = used "files"
  if ok then
    for _, told in ipairs(files and files.keep() or {}) do say(told) end
    ok, values = xpcall(show, failure.trace, values, n)
    tell_losses()
  else
    if declared() then declared().discard() end
    if files then files.discard() end
    take_back(undo, globals)
  end
  if not ok then failed(values) end
  return ok, undo
end

-- Runs LINE, with the lines before it; WHOLE: those are in it (they were edited).
local function enter(line, whole)
  local mine = own()
  local source = mine.pending and not whole and mine.pending .. "\n" .. line or line
  mine.pending = nil
  if not source:find("%S") then return end
  local advice = require "uplua.prompt.advice"
  local asked, leaves = source:match "^%s*%?%s*([^\n]-)%s*$", advice.leaves(source)
  local chunk, message
  if not (asked or leaves) then chunk, message = compile(source) end
  if not (asked or leaves or chunk or message) then
    mine.pending = source
    return
  end
  readline.remember(source)
  if asked then
    print(require "uplua.prompt.help".text(asked))
  elseif leaves then
    loop.exit()
  elseif chunk then
    local done, undo = execute(chunk)
    if not done then return end
    require "uplua.prompt.save".keep(source, undo)
    local why_gone = advice.behind(source)
    if why_gone then say(why_gone) end
  else
    complain(message)
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
    local goes_on = target.command() and not target.status() and not target.waits()
    if goes_on then say(target.command() .. " goes on; it is not traced any more") end
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
  local missing = core.system.capability_missing()
  if missing then say(("this process lacks %s: it cannot trace; run as root or with sudo"):format(missing)) end
  if chunk then
    execute(function(...) require "uplua.prompt.files".run(arg[0], chunk, ...) end, unpack(arg))
  end
  if target.command() and target.waits() then
    say(target.command() .. " is ready; it starts with the first probe")
  end
  readline.share(target.command() ~= nil and require "uplua.term.terminal".interactive())
  watch_target(function()
    readline.share(false)
    say("the target has exited")
  end)
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
