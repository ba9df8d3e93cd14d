-- The report of --info: what this kernel offers, found by trying, and how each kind of probe is set with that.
local core        = require "uplua.core"
local providers   = require "uplua.probe.providers"
local watch_trial = require "uplua.probe.watch_trial"

local info = {}

-- The reason why FEATURE (core.system.features) cannot be used.
local function reason(feature)
  if feature.untried then return ("%s could not be tried without %s"):format(feature.name, feature.why) end
  return ("no %s: %s"):format(feature.name, feature.why)
end

-- How probes with these WAYS (uplua.probe.providers) are set, and what keeps it from a better way; nil and the latter
-- if there is none.
function info.way(ways, features)
  local missing
  for _, way in ipairs(ways) do
    local lacks
    for _, name in ipairs(way.needs) do
      if not features[name].available then lacks = lacks or reason(features[name]) end
    end
    if not lacks then return way[1], missing end
    missing = missing or lacks
  end
  return nil, missing
end

-- What the kernel has (core.system.features), and is found to work: it has watchpoints where the CPU's do harm, too.
function info.features()
  local list = core.system.features()
  for _, feature in ipairs(list) do
    if feature.name == "watchpoint" and feature.available then
      feature.why = watch_trial.any_problem()
      feature.available = not feature.why
    end
  end
  return list
end

local function features_by_name()
  local list = info.features()
  for _, feature in ipairs(list) do list[feature.name] = feature end
  return list
end

-- The kinds of probes: { { name, way or nil, what is missing or nil }, … }.
function info.kinds()
  local features, kinds = features_by_name(), {}
  for _, provider in ipairs(providers.all()) do
    if not provider.hidden then
      local ways = provider.ways or { { needs = {}, "as its constructor says" } }
      kinds[#kinds + 1] = { name = provider.name, known = provider.ways ~= nil, info.way(ways, features) }
    end
  end
  return kinds
end

-- The report, a string.
function info.report()
  local lines = { ("uplua %s on Linux %s, %s"):format(core.version, core.system.kernel(), jit.arch) }
  local missing = core.system.capability_missing()
  lines[#lines + 1] = missing and ("this process lacks %s, without which no handler can be loaded"):format(missing)
    or "this process has the capabilities that tracing needs"
  lines[#lines + 1] = core.system.namespace_problem()
  lines[#lines + 1] = ""
  lines[#lines + 1] = "what the kernel has"
  for _, feature in ipairs(info.features()) do
    local state = feature.available and "yes" or feature.untried and "?" or "no"
    local why = feature.why and (feature.untried and ": not tried without " or ": ") .. feature.why or ""
    lines[#lines + 1] = ("  %-4s %-14s %s%s"):format(state, feature.name, feature.text, why)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "how probes are set"
  for _, kind in ipairs(info.kinds()) do
    local way, better = kind[1], kind[2]
    local text = way and (better and ("%s (%s)"):format(way, better) or way) or
                 (better:find "could not be tried" and "not known: " or "not here: ") .. better
    lines[#lines + 1] = ("  %-14s %s"):format(kind.name, text)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The same as one line of JSON: { version, kernel, architecture, capability_missing, namespace_problem,
-- features = { { name, text, available, untried, why }, … }, kinds = { { name, way, missing }, … } }.
function info.json()
  local kinds = {}
  for i, kind in ipairs(info.kinds()) do kinds[i] = { name = kind.name, way = kind[1], missing = kind[2] } end
  return require "uplua.base.json".encode {
    version = core.version, kernel = core.system.kernel(), architecture = jit.arch,
    capability_missing = core.system.capability_missing(), namespace_problem = core.system.namespace_problem(),
    features = info.features(), kinds = kinds,
  }
end

-- Prints the report, as JSON if JSON.
function info.print(json) io.write(json and info.json() .. "\n" or info.report()) end

return info
