-- Probes of any kind by one spec, and handlers' parts given as text: what scripts take from their users.
local claims       = require "uplua.probe.claims"
local core         = require "uplua.core"
local failure      = require "uplua.base.failure"
local handle       = require "uplua.probe.handle"
local option_table = require "uplua.base.option_table"
local providers    = require "uplua.probe.providers"
local text         = require "uplua.base.text"

local probe = {}

-- What providers say of SPEC, a word that names no kind of probe and no binary: first those that specs begin with.
local function hint_of(word)
  local later
  for _, provider in ipairs(providers.all()) do
    local hint = provider.hint and provider.hint(word)
    if hint and provider.specified then return hint end
    later = later or hint
  end
  return later
end

-- The spec that SPEC is where its first word is a slip for a kind of probe, "syscal:openat".
local function kind_near(spec)
  local word, rest = spec:match "^([%a_]+):(.+)$"
  local names = {}
  for _, provider in ipairs(providers.all()) do
    if provider.specified then names[#names + 1] = provider.name end
  end
  local near = word and text.nearest(word, names)
  return near and ("; did you mean %s:%s?"):format(near, rest)
end

-- What to say of SPEC, such a word; OTHERWISE: what to do where nothing else is known ("; …").
function probe.no_probe(spec, otherwise)
  local given, hint = require "uplua.options", hint_of(spec)
  if providers.find(spec) then hint = ("; what %s probes stand at, uplua --list '%s:*' tells"):format(spec, spec) end
  if not hint and spec:find "/" and core.system.is_file(spec) then hint = ("; did you mean '%s:*'?"):format(spec) end
  if not hint and not (given.command or given.pids or given.tids) then
    hint = otherwise or "; the command or PID to trace comes after --"
  end
  return ("'%s' names no probe: write KIND:NAME or BINARY:FUNCTION, such as syscall:openat or libc:malloc%s")
    :format(spec, hint or "")
end

-- The provider of the probe of SPEC, or with RETURNS of its return, and the rest of SPEC.
local function provider_of(spec, returns)
  local provider, rest, named = providers.of_spec(spec)
  if not named and not spec:find "[:@]" then failure.mistake(probe.no_probe(spec)) end
  if not returns then return provider, rest end
  if not provider.at_return then
    failure.mistake(("%s: probes of the kind %s have no return"):format(spec, provider.name))
  end
  return providers.find(provider.at_return), rest
end

-- What the constructor of PROVIDER is given for REST of a spec: its first argument, and the options GIVEN with those of
-- the spec.
local function parsed(provider, rest, given)
  if not provider.parse then return rest, given end
  given = option_table.read(provider.name, given, provider.options, 0)
  local what, of_spec = provider.parse(rest, given)
  for option, value in pairs(of_spec or {}) do
    if given[option] ~= nil then
      error(("%s:%s: the option '%s' is given there, too: leave one out"):format(provider.name, rest, option), 0)
    end
    given[option] = value
  end
  return what, given
end

local function declare_one(spec, returns, given, handler)
  local provider, rest = provider_of(spec, returns)
  if provider.typed and given.typed == nil then
    local typed = { typed = true }
    for option, value in pairs(given) do typed[option] = value end
    given = typed
  end
  -- Called by pcall, a constructor leaves its caller's line out of the message: the spec is not written there.
  local ok, message, options = pcall(parsed, provider, rest, given)
  if ok then ok, message = pcall(require "uplua"[provider.name], message, options, handler) end
  if ok then return end
  local _, _, named = providers.of_spec(spec)
  local hint = not named and (hint_of(spec) or kind_near(spec))
  message = tostring(message)
  failure.mistake(hint and message:match "^[^\n]*" .. hint or message)
end

-- SPECS as lists are declared: what has all of a kind first, "syscall:*", which leaves nothing to other system calls.
function probe.in_order(specs)
  local first, later = {}, {}
  for _, spec in ipairs(specs) do
    local provider, rest = providers.of_spec(spec)
    table.insert(provider.all and provider.all(rest) and first or later, spec)
  end
  for _, spec in ipairs(later) do first[#first + 1] = spec end
  return first
end

local function declare_all(what, spec, returns, given, handler)
  local declare = require "uplua.probe.declare"
  local specs = declare.specs(spec, what .. ": the first argument is a kind of probe and its place: " ..
                              "\"uprobe:libc:malloc\", \"syscall:open*\"; or a list of such", 3)
  given, handler = option_table.split(given, handler)
  declare.check_handler(what, handler, 3)
  for _, one in ipairs(specs) do
    local provider = provider_of(one, returns)
    option_table.read(provider.name, given, provider.options, 3)
  end
  return handle.enclose(what, table.concat(specs, ", "), claims.share, function()
    for _, one in ipairs(probe.in_order(specs)) do declare_one(one, returns, given or {}, handler) end
  end)
end

-- probe(spec, [options], handler): a probe of the kind that SPEC begins with, "uprobe:libc:malloc", "kprobe:vfs_read",
-- "syscall:open*", "tracepoint:sched:sched_switch", "usdt:./app:shop:sold" …, as --list prints them; without a kind a
-- uprobe. SPEC may be a list of such: a place that several of them name is probed once, and e.probe is the first of
-- these. SPEC is meant to come from the script's user: what is wrong with it is raised without the script's line.
function probe.probe(spec, given, handler) return (declare_all("probe", spec, false, given, handler)) end

-- retprobe(spec, [options], handler): the same for the return of what SPEC names: e.ret, cut to the integer that the
-- function returns where that is known, e.elapsed and the entry's arguments. Tracepoints and USDT probes have none,
-- which is raised.
function probe.retprobe(spec, given, handler) return (declare_all("retprobe", spec, true, given, handler)) end

-- The code around an expression. It puts a wrong value's error into the expression, and not into the script that uses
-- it. A line of its own: what closes the expression here cannot be closed by it.
local KINDS = {
  value = "return function(e) return %s\nend",
  number = "return function(e) return (%s\n) + 0 end",
  condition = "return function(e) if %s\nthen return true end return false end",
}

local KEYWORDS = { ["and"] = true, ["or"] = true, ["not"] = true, ["true"] = true, ["false"] = true, ["nil"] = true }

-- The first name in SOURCE, an expression, that is neither in GLOBALS nor that of a field; nil where there is none.
local function unknown_name(source, globals)
  local bare = source:gsub("\\.", ""):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
    :gsub("%[%[.-%]%]", "''"):gsub("%-%-[^\n]*", "")
  if bare:find "%f[%w_]function%f[^%w_]" then return nil end -- it has names of its own
  for before, name, after in (" " .. bare .. " "):gmatch "([^%w_]*)%f[%a_]([%a_][%w_]*)()" do
    local is_field = before:find "[.:]%s*$" and not before:find "%.%.%s*$" or bare:find("^%s*=[^=]", after - 1)
    if not is_field and name ~= "e" and not KEYWORDS[name] and globals[name] == nil then return name end
  end
end

local OPTIONS = {
  name = option_table.text, at_return = option_table.text,
  kind = option_table.check("number, condition or value", function(value) return KINDS[value] end),
}

-- expression(source, [options]): the function of one argument, `e`, that returns the value of SOURCE, a Lua expression
-- such as "e.arg0 / 4096", for use in handlers. uplua's functions are globals in it. Options: name, "--key", is what
-- messages call it; kind is "condition", of which true or false is returned, "number", or "value", anything, as without
-- it; at_return, "--return", is the option by which the script's user gets the returns of calls, which messages advise.
-- Raises what is wrong.
function probe.expression(source, given)
  if type(source) ~= "string" then error("expression: the first argument is a Lua expression as text", 2) end
  given = option_table.read("expression", given, OPTIONS)
  local shown = text.cut(text.escape(source), 40) -- short enough for Lua to show it whole
  local name = ("=%s '%s'"):format(given.name or "expression", shown)
  if not loadstring("return " .. source) then
    local _, message = loadstring("return " .. source, name)
    failure.mistake((message:gsub(":%d+: ", ": ", 1)))
  end
  if not loadstring(("return (%s\n)"):format(source)) then -- nothing at all, or a list
    failure.mistake(("%s: one expression is expected, such as e.arg0, or { e.comm, e.arg0 } for several values")
      :format(name:sub(2)))
  end
  failure.expression(name:sub(2), given.at_return)
  local chunk = assert(loadstring((given.kind or KINDS.value):format(source), name))
  local up = require "uplua"
  local globals = setmetatable({ up = up }, { __index = up })
  for key, value in pairs(_G) do globals[key] = value end
  local unknown = unknown_name(source, globals)
  if unknown then
    failure.mistake(("%s: there is no '%s' here; fields of the event begin with e: e.arg0, e.comm")
      :format(name:sub(2), text.escape(unknown)))
  end
  return setfenv(chunk, globals)()
end

return probe
