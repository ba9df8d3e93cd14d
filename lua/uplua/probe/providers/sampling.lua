-- profile, perf and interval: what no function's call triggers, time and the events that the kernel's perf counts.
local contract     = require "uplua.contract"
local core         = require "uplua.core"
local declare      = require "uplua.probe.declare"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local perf_events  = require "uplua.probe.perf_events"
local run          = require "uplua.base.run"
local text         = require "uplua.base.text"

local sampling = {}

local MOST = 1000000 -- a second; the kernel's own limit is lower
local SHORTEST = 10000 -- ns that a clock can wait: perf_swevent_hrtimer()
local SOFTWARE, CPU_CLOCK, TASK_CLOCK = 1, 0, 1 -- PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK

-- Events of the kernel's own code that tell it where they are: all registers but three would be zeros, and these the
-- kernel's (perf_fetch_caller_regs).
local WITHOUT_REGISTERS = {
  [contract.PERF_COUNT_SW_CONTEXT_SWITCHES] = true, [contract.PERF_COUNT_SW_CPU_MIGRATIONS] = true,
  [contract.PERF_COUNT_SW_CGROUP_SWITCHES] = true,
}

-- what the kernel may throttle: { name, hertz or nil: as often as the CPU's counter has it, most = what the kernel
-- permitted }
local throttled = run.part(function() return {} end)

-- Keeps in mind that the kernel throttles it once it permits fewer samples, as it does where it finds that taking them
-- takes it too long (perf_sample_event_took). It throttles clocks and what the CPU's counters count, and no other event
-- of the software's.
local function remember(name, what)
  local hertz = what.hertz or what.period and 1e9 / what.period
  if what.type ~= SOFTWARE then
    hertz = what.hertz
  elseif what.config > TASK_CLOCK then
    return
  end
  local known = throttled()
  known[#known + 1] = { name = name, hertz = hertz, most = core.event.max_rate() }
end

-- For the ledger: { { text, count }, … } of what the kernel has begun to throttle since.
function sampling.lost()
  local list, most = {}, core.event.max_rate()
  for _, one in ipairs(throttled()) do
    if most < one.most and (one.hertz or math.huge) > most then
      list[#list + 1] = { ("%s: throttled: the kernel permits only %s samples a second meanwhile, to save time " ..
                           "(sysctl kernel.perf_event_max_sample_rate)"):format(one.name, text.thousands(most)), 1 }
    end
  end
  return list
end

-- TITLE: what messages call the probe; SYMBOL: e.func.
local function declare_event(provider, spec, symbol, title, what, where, mine)
  remember(("%s %s"):format(provider.name, spec), what)
  declare.probe {
    provider = provider, spec = spec, symbol = symbol, where = where, handle = mine, mapped = provider.mapped,
    no_registers = what.type == SOFTWARE and WITHOUT_REGISTERS[what.config] or nil,
    attach = function(_, program, link)
      link(declare.try(title .. ": ", 0, core.probe.attach_event, program.fd, what))
    end,
  }
  return mine
end

local function each_cpu()
  return options.cpus and "each of the CPUs " .. table.concat(options.cpus, ", ") or "each CPU"
end

local check_hertz, check_count = option_table.integer(1, MOST), option_table.integer(1, 2 ^ 53)

-- A number, or "10ms" for clocks.
local function check_period(value)
  if type(value) == "string" and text.duration(value) then return value end
  return check_count(value)
end

-- What is wrong with a spec, and what to write.
local function refuse(...) error(select("#", ...) == 1 and (...) or string.format(...), 0) end

local function hint(word) return perf_events.find(word) and ("; did you mean perf:%s?"):format(word) end

-- "99" of profile:99.
local function parse_profile(rest)
  if not rest:find "^%d+$" or not check_hertz(tonumber(rest)) then
    refuse("profile:%s: write profile:HERTZ, so many times a second on each CPU, from 1 to %d: profile:99", rest, MOST)
  end
  return tonumber(rest)
end

-- "cycles:1000000", "cycles@99", "page-faults" of perf:….
local function parse_perf(rest, given)
  local name, hertz = rest:match "^(.*)@([^@]*)$"
  local period
  if not name then
    name, period = rest:match "^(.+):([^:]*)$"
    if not name or perf_events.are_modifiers(period) then name, period = rest, nil end
  end
  local number = hertz or period
  if number and not (number:find "^%d+$" or number:find "^%d+e%d$" or period and number:find "^%d+%l+$") then
    refuse("perf:%s: '%s' is no number: write perf:%s:PERIOD, one in so many events, or perf:%s@HERTZ, so many " ..
           "times a second", rest, number, name, name)
  end
  if hertz then return name, { hertz = tonumber(hertz) } end
  if period then return name, { period = tonumber(period) or period } end
  if given.period or given.hertz then return name end
  local what, why = perf_events.find(name)
  if not what then refuse("perf %s: %s", name, why) end
  if perf_events.needs_rate(what) then
    refuse("perf:%s: how often? Write perf:%s@99, so many times a second, or perf:%s:1000000, %s", rest, name, name,
      what.clock and "each so many ns, or 10ms" or "one in so many events")
  end
  return name, { period = 1 }
end

-- How a trace shows hits: FIELDS of the event (uplua.trace).
local function hits_of(...)
  local fields = { ... }
  return function(_, _, spec) return { { probe = spec, of_event = fields } } end
end
local IP, ADDRESS = { name = "ip", type = "u64" }, { name = "addr", type = "u64" }

-- The entry of --list for a kind of which nothing but numbers can be given.
local function list_form(form, format, ...)
  local arguments = { ... }
  return function() return { { probe = form, what = format:format(unpack(arguments)) } } end
end

local function list_events(rest)
  local entries = {}
  for i, name in ipairs(perf_events.names(rest ~= "" and rest or "*")) do
    entries[i] = { probe = "perf:" .. name }
  end
  if #entries == 0 then
    local _, why = perf_events.find(rest)
    refuse("perf:%s: %s", rest, why or "no such event")
  end
  return entries
end

sampling.providers = {
  profile = {
    name = "profile", specified = true, by_cpu = true, parse = parse_profile, hits = hits_of(IP),
    ways = { { needs = { "cpu_clock" }, "a perf event for each CPU" } },
    list = list_form("profile:HERTZ", "so many times a second on each CPU, from 1 to %d", MOST),
    mapped = true, -- before its first instruction a command is still uplua: nothing to be sampled
  },
  perf = {
    name = "perf", options = { "period", period = check_period, hertz = check_hertz },
    specified = true, by_cpu = true, parse = parse_perf, hits = hits_of(IP, ADDRESS), list = list_events, hint = hint,
    ways = {
      { needs = { "pmu" }, "a perf event for each CPU, of the CPU's counters or the kernel's" },
      { needs = { "cpu_clock" }, "a perf event for each CPU, of the kernel's counters" },
    },
  },
  interval = {
    name = "interval", specified = true, by_cpu = true, parse = function(rest) return rest end, of_nobody = true,
    hits = hits_of(), ways = { { needs = { "cpu_clock" }, "a perf event of one CPU" } },
    list = list_form("interval:TIME", "each TIME, as 1s or 100ms, on one CPU, from 10us on"),
  },
}

-- profile(hertz, handler): HANDLER runs HERTZ times a second on each CPU, wherever that is, in a program or in the
-- kernel, unless it is idle; in a process that is not traced it does not. Raises what is wrong with the arguments, and
-- what the kernel does not permit.
function sampling.profile(hertz, given, handler)
  local often, why = check_hertz(hertz)
  if not often then error("profile: the first argument is how often a second: " .. why, 2) end
  local name = ("%d"):format(hertz)
  local provider = sampling.providers.profile
  local given, mine = declare.arguments(provider, name, given, handler)
  local what = { type = SOFTWARE, config = CPU_CLOCK, hertz = hertz, no_idle = true, cpus = options.cpus }
  local where = ("%s that is not idle, %d times a second"):format(each_cpu(), hertz)
  return declare_event(provider, name, "profile:" .. name, provider.name, what, where, mine)
end

-- What --explain says of the event NAME.
local function place(name, what)
  local often = what.hertz and ("%d times a second"):format(what.hertz)
    or what.clock and "every " .. text.time(what.period)
    or what.period == 1 and ("at each of its %s"):format(name)
    or ("at one in %s of its %s"):format(text.thousands(what.period), name)
  if core.event.in_threads(what) then return "each thread of the target, " .. often end
  return each_cpu() .. (what.no_idle and " that is not idle, " or ", ") .. often
end

-- The least period of a clock, in nanoseconds, that the kernel permits.
local function shortest_period()
  local most = core.event.max_rate()
  return math.max(SHORTEST, most > 0 and math.ceil(1e9 / most) or 0)
end

-- perf(name, options, handler): HANDLER runs at one in so many of the events NAME, the option period, a number in the
-- place of the options; or with { hertz = N } about N times a second, for which the kernel adapts the period. A clock's
-- period is in ns, or "10ms". Raises what is wrong with the arguments.
function sampling.perf(name, given, handler)
  if type(name) ~= "string" then
    error("perf: the first argument is the event's name: perf(\"page-faults\", 1, handler)", 2)
  end
  local what, message = perf_events.find(name)
  if not what then error(("perf %s: %s"):format(name, message), 2) end
  local provider = sampling.providers.perf
  local given, mine = declare.arguments(provider, name, given, handler)
  if not given.period == not given.hertz then
    error(("perf %s: how often? Options are the period, 1 for each event, or { hertz = N }"):format(name), 2)
  elseif type(given.period) == "string" and not what.clock then
    error(("perf %s: its period is a number of events, not '%s'"):format(name, given.period), 2)
  end
  given.period = given.period and text.duration(given.period)
  if given.period and what.clock and given.period < shortest_period() then
    error(("perf %s: its period is in nanoseconds, and this kernel permits none below %s")
      :format(name, text.thousands(shortest_period())), 2)
  end
  what.period, what.hertz = given.period, given.hertz
  return declare_event(provider, name, name, "perf " .. name, what, place(name, what), mine)
end

-- interval(period, handler): HANDLER runs in the kernel each PERIOD ("1s", "100ms", or ns), on an idle machine too,
-- whatever is traced.
function sampling.interval(period, given, handler)
  local ns, message = text.wait(period)
  if not ns then error("interval: " .. message, 2) end
  local spec = type(period) == "string" and period or text.time(ns)
  if ns < shortest_period() then
    error(("interval %s: that is too short; in a kernel's timer %s is the least")
      :format(spec, text.time(shortest_period())), 2)
  end
  local provider = sampling.providers.interval
  local given, mine = declare.arguments(provider, spec, given, handler)
  local what = { type = SOFTWARE, config = CPU_CLOCK, cpus = options.cpus, period = ns, once = true }
  local where = ("one CPU, every %s, idle or not"):format(text.time(ns))
  return declare_event(provider, spec, "interval:" .. spec, "interval " .. spec, what, where, mine)
end

return sampling
