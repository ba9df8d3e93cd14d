-- What uplua tells of itself beside a script's metrics: hits, losses, errors, and what it takes of the machine. None of
-- it needs a rate to be found: what is wrong is above 0.
local aggregate = require "uplua.objects.aggregate"
local budget    = require "uplua.probe.budget"
local core      = require "uplua.core"
local filter    = require "uplua.target.filter"
local handle    = require "uplua.probe.handle"
local metric    = require "uplua.service.metric"
local options   = require "uplua.options"
local price     = require "uplua.probe.price"
local proc      = require "uplua.base.proc"
local run       = require "uplua.base.run"
local setup     = require "uplua.probe.setup"
local version   = require "uplua.base.version"

local health = {}

local own = run.part(function()
  return {
    counting = nil, -- a descriptor, as long as the kernel counts what programs take
    meter = nil,    -- of that
    ns = {},        -- name of a probe → of its programs, those that are gone, too
  }
end)

-- begin(): counts from now on what needs the right to be begun.
function health.begin() own().counting, own().meter = price.count(), price.meter() end

-- finish(): ends that.
function health.finish()
  local mine = own()
  if mine.counting then core.system.close(mine.counting) end
  mine.counting = nil
end

local function family(name, kind, help, labels)
  local entries = {}
  return {
    name = "uplua_" .. name, type = kind, suffixes = { kind == "counter" and "_total" or "" }, divisor = 1, help = help,
    labels = labels, entries = entries, read = function(see)
      for _, entry in ipairs(entries) do see(entry[1], entry[2]) end
    end,
  }
end

local function add(to, key, value) to.entries[#to.entries + 1] = { key, value } end

-- Adds what programs have taken to SECONDS, by probe. What a program took behind the last call of this goes with it.
local function add_seconds(seconds)
  local mine = own()
  if not mine.counting then return end
  for _, probe in ipairs(handle.probes()) do
    local name, _, ns = handle.name(probe), mine.meter:read(probe)
    mine.ns[name] = (mine.ns[name] or 0) + ns
  end
  for name, ns in pairs(mine.ns) do add(seconds, name, ns / 1e9) end
end

-- The bytes that the kernel says this process's maps take, each once.
local function map_bytes()
  local seen, sum = {}, 0
  for _, fd in ipairs(core.system.names("/proc/self/fd") or {}) do
    local info = proc.read("self/fdinfo/%s", fd) or ""
    local id, bytes = info:match "map_id:%s*(%d+)", info:match "memlock:%s*(%d+)"
    if id and bytes and not seen[id] then seen[id], sum = true, sum + tonumber(bytes) end
  end
  return sum
end

-- What --budget has done, where it is given.
local function budget_families()
  local limit, share, seconds = budget.state()
  if not limit then return end
  local off = family("probe_off_seconds", "counter", "for how long a probe was off by --budget", { "probe" })
  for name, s in pairs(seconds) do add(off, name, s) end
  local limits = family("budget_cpus", "gauge", "what the probes may take, in CPUs")
  add(limits, nil, limit)
  local cost = family("cost_cpus", "gauge", "what the probes take now, in CPUs")
  add(cost, nil, share)
  return off, limits, cost
end

-- What --otlp has not delivered, where it is given.
local function push_families()
  if not options.otlp then return end
  local given_up, refused = require "uplua.service.otlp".lost()
  local lost = family("otlp_lost_requests", "counter", "requests to the collector that were not delivered", { "cause" })
  add(lost, "the collector did not answer", given_up)
  add(lost, "the collector refused them", refused)
  return lost
end

-- families(errors) → those of uplua itself, with their entries. ERRORS: name of a metric → { count = … }.
function health.families(errors)
  local hits = family("hits", "counter", "hits of the script's probes", { "probe" })
  for name, n in pairs(handle.hits()) do add(hits, name, n) end
  local lost = family("lost", "counter", "what was not seen, by cause: the ledger", { "cause" })
  for _, entry in ipairs(setup.ledger()) do add(lost, entry[3] or entry[1] or entry.text, entry[2] or entry.count) end
  local failed = family("metric_errors", "counter", "how often a metric could not be read", { "metric" })
  for name, one in pairs(errors) do add(failed, name, one.count) end
  local expired = family("series_expired", "counter", "keys that nobody added to for the metric's ttl", { "metric" })
  for _, one in ipairs(metric.families()) do
    if one.ttl then add(expired, one.name, aggregate.expirations(one.source)) end
  end
  local seconds = family("program_seconds", "counter", "what the probes' programs have taken, without their traps",
    { "probe" })
  add_seconds(seconds)
  local bytes = family("map_bytes", "gauge", "kernel memory of all maps")
  add(bytes, nil, map_bytes())
  local up = family("target_up", "gauge", "whether the process, or a cgroup of that name, is there", { "target" })
  for _, one in ipairs(filter.targets()) do add(up, one[1], one[2]) end
  local info = family("script_info", "gauge", "the script that runs, and uplua's version",
    { "name", "version", "sha256" })
  add(info, { options.script or "-e", version.version, options.digest or "" }, 1)
  local list = { hits, seconds, lost, failed, expired, bytes, up, info, push_families() }
  for _, one in ipairs { budget_families() } do list[#list + 1] = one end
  return list
end

return health
