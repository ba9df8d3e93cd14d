-- What scripts ask of the specs that their users give: are functions' names enough, what does the kernel count?
--
--   local specs = require "uplua.specs"
--   local options = up.args { "calls.lua [options] SPEC ...", specs.where }
--   specs.probe(options, function(e) calls[e.func]:inc() end) -- up.probe, where --where permits it
--   if specs.ambiguous(options) then specs.name_apart(rows, options) end
local capture      = require "uplua.compile.capture"
local claims       = require "uplua.probe.claims"
local failure      = require "uplua.base.failure"
local option_table = require "uplua.base.option_table"
local perf_events  = require "uplua.probe.perf_events"
local probe        = require "uplua.probe.any"
local providers    = require "uplua.probe.providers"

-- A row for up.args: behind a spec the condition is of that spec alone, before the first one of all.
local specs = {
  where = { "where,w", "EXPR", "string", false, "only hits for which EXPR is true; behind a spec, of that one alone",
            of_argument = true },
}

-- Where the functions of SPEC are: its kind, and its binary if it has one.
local function origin_of(spec)
  local provider, rest = providers.of_spec(spec)
  return provider.of_binary and ("%s:%s"):format(provider.name, rest:match "^[^:@]*") or provider.name
end

-- True if SPEC is a place inside of a function, which another spec may name, too: a line, an address, an offset.
local function is_inside(spec)
  local provider, rest = providers.of_spec(spec)
  return provider.of_binary and (rest:find "@[^:]*:%d" or rest:find ":0x%x+$" or rest:find "%+%w+$") ~= nil
end

-- ambiguous(list): true if hits of one name, e.func, may be of several places, since the specs of LIST are of several
-- kinds or binaries, or of places inside of functions: e.probe tells them apart.
function specs.ambiguous(list)
  for _, spec in ipairs(list) do
    if origin_of(spec) ~= origin_of(list[1]) or (list[2] and is_inside(spec)) then return true end
  end
  return false
end

local function of_return(provider) return provider.at_return == provider.name end

-- Which spec of LIST has declared the probe whose e.probe is TEXT, of a return if RETURNS (nil: of either): of a
-- pattern of system calls or tracepoints each by itself, "syscall:openat".
local function spec_of(text_of_probe, returns, list)
  local names = {}
  for _, spec in ipairs(list) do
    local provider, rest = providers.of_spec(spec)
    if returns == nil or of_return(provider) == (returns ~= 0) then
      if rest == text_of_probe then return spec end
      if rest:find "[*?[]" and not provider.of_binary then names[#names + 1] = provider.name end
    end
  end
  return #names == 1 and ("%s:%s"):format(names[1], text_of_probe) or text_of_probe
end

-- name_apart(rows, list): ROWS have func and probe, e.func and e.probe, and may have returns, as specs.probe tells it.
-- Where several have the same func and are of different probes, func becomes "write (syscall:write)", by LIST, the
-- specs that up.probe was given.
function specs.name_apart(rows, list)
  local probes = {} -- of each name; false: several
  local function probe_of(row) return row.probe .. (row.returns == 1 and ", returning" or "") end
  for _, row in ipairs(rows) do
    local known = probes[row.func]
    probes[row.func] = (known == nil or known == probe_of(row)) and probe_of(row)
  end
  for _, row in ipairs(rows) do
    if probes[row.func] == false then
      row.func = ("%s (%s)"):format(row.func, spec_of(row.probe, tonumber(row.returns), list))
    end
  end
end

-- The function of handlers that says whether EXPRESSION holds; nil where there is none.
local function condition(expression, at_return)
  return expression and probe.expression(expression, { name = "--where", kind = "condition", at_return = at_return })
end

-- HANDLER, where CONDITION holds (nil: always), of the probe of SPEC.
local function where(condition, handler, spec)
  local returns = of_return((providers.of_spec(spec))) and 1 or 0
  if not condition then return capture.inlined(function(e) handler(e, returns) end) end
  return capture.inlined(function(e)
    if condition(e) then handler(e, returns) end
  end)
end

local OPTIONS = { returns = option_table.boolean, at_return = option_table.text }

-- probe(options, [how], handler): up.probe of the specs in OPTIONS, what up.args returned; HANDLER runs where the
-- conditions of --where hold (specs.where): that of the spec, and that of all. It gets the event, and 1 where its spec
-- is of a return, as "uretprobe:libc:malloc" is, else 0: e.func and e.probe are the same of entry and return. HOW:
-- returns, up.retprobe; at_return, as of up.expression.
function specs.probe(options, how, handler)
  how, handler = option_table.split(how, handler)
  how = option_table.read("specs.probe", option_table.named(how or {}), OPTIONS)
  local declare, own = how.returns and probe.retprobe or probe.probe, {}
  local of_all = condition(options.where, how.at_return)
  for i, spec in ipairs(options) do
    local expression = options.of and options.of[i].where
    if own[spec] ~= nil and (expression or own[spec]) then
      failure.mistake(("%s: it is given twice, of which one has --where"):format(spec))
    end
    own[spec] = condition(expression, how.at_return) or false
  end
  claims.share(function() -- a hit that several of the specs mean is one
    for _, spec in ipairs(probe.in_order(options)) do
      local of_spec = own[spec]
      declare(spec, where(of_spec, of_all and where(of_all, handler, spec) or handler, spec))
    end
  end)
end

-- counted(spec): the event's name where SPEC is one that up.counter counts, "page-faults" of "perf:page-faults"; nil
-- where it is another probe's, or says how often it samples, "perf:page-faults:100".
function specs.counted(spec) return require "uplua.probe.counter".event(spec) end

-- of_others(spec): true where events of SPEC may tell of another thread than the one that runs, as sched_wakeup does:
-- its probes have the option `all`.
function specs.of_others(spec)
  local options = providers.of_spec(spec).options
  return options ~= nil and options.all ~= nil
end

-- sampled(spec, hertz): the spec of samples where SPEC names an event that the kernel's perf counts, with or without
-- the kind in front, "cycles:u" or "perf:cache-misses:10000"; with "@HERTZ" behind it where it has to be said how often
-- and SPEC does not. nil where SPEC is another probe's.
function specs.sampled(spec, hertz)
  local given = spec:match "^perf:(.+)$"
  local event = given or spec
  local name = event:match "^(.*)@%d+$" or event:match "^(.*):%d[%da-z]*$"
  if not given and event:find "[:@]" and not perf_events.knows(name or event) then return nil end
  local found = not name and perf_events.find(event)
  return found and perf_events.needs_rate(found) and ("perf:%s@%d"):format(event, hertz) or "perf:" .. event
end

return specs
