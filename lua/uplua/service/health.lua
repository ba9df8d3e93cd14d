-- What uplua tells of itself beside a script's metrics: hits, losses, errors. None of it needs a rate to be found: what
-- is wrong is above 0.
local handle  = require "uplua.probe.handle"
local options = require "uplua.options"
local setup   = require "uplua.probe.setup"
local version = require "uplua.base.version"

local health = {}

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

-- families(errors) → those of uplua itself, with their entries. ERRORS: name of a metric → { count = … }.
function health.families(errors)
  local hits = family("hits", "counter", "hits of the script's probes", { "probe" })
  for name, n in pairs(handle.hits()) do add(hits, name, n) end
  local lost = family("lost", "counter", "what was not seen, by cause: the ledger", { "cause" })
  for _, entry in ipairs(setup.ledger()) do add(lost, entry[3] or entry[1] or entry.text, entry[2] or entry.count) end
  local failed = family("metric_errors", "counter", "how often a metric could not be read", { "metric" })
  for name, one in pairs(errors) do add(failed, name, one.count) end
  local info = family("script_info", "gauge", "the script that runs, and uplua's version",
    { "name", "version", "sha256" })
  add(info, { options.script or "-e", version.version, options.digest or "" }, 1)
  return { hits, lost, failed, info }
end

return health
