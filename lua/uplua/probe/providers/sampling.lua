-- profile, perf and interval: what no function's call triggers, time and the events that the kernel's perf counts.
local contract     = require "uplua.contract"
local core         = require "uplua.core"
local declare      = require "uplua.probe.declare"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local perf_events  = require "uplua.probe.perf_events"
local run          = require "uplua.base.run"
local text         = require "uplua.text"

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

-- TITLE: what messages call the probe.
local function declare_event(provider, spec, title, what, where, mine)
  remember(("%s %s"):format(provider.name, spec), what)
  declare.probe {
    provider = provider, spec = spec, where = where, handle = mine, mapped = provider.mapped,
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

local function hint(word)
  return perf_events.find(word) and ("; an event to count is perf:%s, for stat.lua"):format(word)
end

sampling.providers = {
  profile = {
    name = "profile", by_cpu = true, ways = { { needs = { "cpu_clock" }, "a perf event for each CPU" } },
    mapped = true, -- before its first instruction a command is still uplua: nothing to be sampled
  },
  perf = {
    name = "perf", options = { "period", period = check_period, hertz = check_hertz },
    by_cpu = true, hint = hint,
    ways = {
      { needs = { "pmu" }, "a perf event for each CPU, of the CPU's counters or the kernel's" },
      { needs = { "cpu_clock" }, "a perf event for each CPU, of the kernel's counters" },
    },
  },
  interval = { name = "interval", by_cpu = true, ways = { { needs = { "cpu_clock" }, "a perf event of one CPU" } } },
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
  return declare_event(provider, name, provider.name, what, where, mine)
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
  return declare_event(provider, name, "perf " .. name, what, place(name, what), mine)
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
  return declare_event(provider, spec, "interval " .. spec, what, where, mine)
end

return sampling
