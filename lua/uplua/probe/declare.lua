-- What a script has declared and a setup (the main chunk, a line at the prompt) has not yet attached: probes with their
-- handlers, and BPF objects that are brought along.
local compat_calls = require "uplua.probe.compat_calls"
local filter       = require "uplua.target.filter"
local handle       = require "uplua.probe.handle"
local handler      = require "uplua.probe.handler"
local leader       = require "uplua.probe.leader"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local run          = require "uplua.base.run"

local declare = {}

local pending = run.part(function() return { probes = {}, guests = {}, used = false, unchecked = {} } end)

-- True if the run is one with probes: one that has declared some, whatever they stand on, or waits to do so.
function declare.used() return pending().used or handle.probes()[1] ~= nil end

-- The run waits for what it will declare probes for.
function declare.wait() pending().used = true end

-- SPEC, a text or a list of texts, as a list. Raises WHY, "uprobe: the first argument is …", if it is neither, at LEVEL
-- of the caller.
function declare.specs(spec, why, level)
  local specs = type(spec) == "table" and spec or { spec }
  for i = 1, math.max(#specs, 1) do
    if type(specs[i]) ~= "string" then error(why, level + 1) end
  end
  return specs
end

-- Raises what is wrong with FN as the handler of NAME, at LEVEL of the caller.
function declare.check_handler(name, fn, level)
  if type(fn) ~= "function" then
    error(name .. ": the last argument is the handler, a function; options stand before it", level + 1)
  end
  if debug.getinfo(fn, "S").what == "C" then
    error(name .. ": the handler must be written in Lua: a function of C has no bytecode to compile", level + 1)
  end
end

-- arguments(provider, spec, given, fn, [level]) → the options of a probe of PROVIDER's, and its handle
-- (uplua.probe.handle), from what its constructor was given behind SPEC. Raises what is wrong with them. LEVEL:
-- the user's line (2: the caller's caller).
function declare.arguments(provider, spec, given, fn, level)
  local name, at = provider.name .. " " .. spec, (level or 2) + 1
  given, fn = option_table.split(given, fn)
  declare.check_handler(name, fn, at)
  given = option_table.read(provider.name, given, provider.options, at)
  return given, handle.new(provider.name, spec, fn)
end

local function passed(begin, level, ok, ...)
  if not ok then error(begin .. ..., level) end
  return ...
end

-- What fn(...) returns. Its error is raised behind BEGIN, such as "usdt ". LEVEL: the user's line, as seen from the
-- caller; 0: none.
function declare.try(begin, level, fn, ...) return passed(begin, level > 0 and level + 1 or 0, pcall(fn, ...)) end

-- Declares a place of a probe, or several: the FIELDS of uplua.probe.handler, of which the handle's handler is one.
function declare.probe(fields)
  local all, of = pending(), fields.handle
  fields.handler = of and of.handler or fields.handler
  local record = handler.new(fields)
  all.probes[#all.probes + 1], all.used = record, true
  if of then of.records[#of.records + 1] = record end
end

-- To be called once for the BPF object GUEST, whose programs are to be attached: its load() returns a list for
-- uplua.probe.attach.
function declare.guest(guest)
  local all = pending()
  all.guests[#all.guests + 1], all.used = guest, true
end

-- Whether MESSAGE says that something may not be read by this process.
function declare.is_denied(message) return type(message) == "string" and message:find "this needs root" ~= nil end

-- fn(), which declares the handlers of the handle OF. With --check, what this process may not read of the kernel is no
-- mistake of the script's: it is noted for declare.unchecked.
function declare.readable(of, fn)
  if not options.check then return fn() end
  local ok, message = pcall(fn)
  if ok then return end
  if not declare.is_denied(message) then error(message, 0) end
  local at = debug.getinfo(of.handler, "S")
  local named = message:find(of.kind, 1, true) == 1 and "" or of.kind .. " "
  table.insert(pending().unchecked, ("%s:%d: %s%s"):format(at.short_src, at.linedefined, named, message))
end

-- What --check could not ask, a list of texts.
function declare.unchecked() return pending().unchecked end

-- Forgets what was declared.
function declare.discard()
  local all = pending()
  for _, probe in ipairs(all.probes) do
    if probe.handle then probe.handle:forget(probe) end
  end
  all.probes, all.guests = {}, {}
  handle.discard()
end

-- Whether anything was declared since.
function declare.is_pending()
  local all = pending()
  return #all.probes + #all.guests > 0
end

-- What was declared: lists of probes and of guests, which are forgotten here. What uplua itself needs for the first
-- setup comes before it. nil where nothing was.
function declare.take()
  local all = pending()
  local user, guests = all.probes, all.guests
  if #user + #guests == 0 then return nil end
  all.probes, all.guests = {}, {}
  filter.begin(options.follow and require "uplua.probe.providers.raw_tracepoint")
  if not options.explain and not options.emit then
    leader.begin(user)
    compat_calls.begin(user, declare.probe)
  end
  local probes = all.probes
  for _, probe in ipairs(user) do probes[#probes + 1] = probe end
  all.probes = {}
  return probes, guests
end

return declare
