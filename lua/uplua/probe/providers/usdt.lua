-- usdt: places that a program's authors have marked, with arguments.
local argument_types = require "uplua.probe.argument_types"
local claims         = require "uplua.probe.claims"
local core           = require "uplua.core"
local declare        = require "uplua.probe.declare"
local late_modules   = require "uplua.target.late_modules"
local loop           = require "uplua.base.loop"
local setup          = require "uplua.probe.setup"

local usdt = {}

-- A guarded probe is passed only where the kernel has told the program that somebody traces.
local function check_semaphore(spec, probe)
  if not probe.semaphore then return end
  for _, pid in ipairs(core.usdt.unraised(probe.sites)) do
    loop.warn(("usdt %s: process %d has made its semaphore unwritable, so that the kernel cannot raise it: " ..
               "%s:%s is not passed there unless it is traced otherwise")
              :format(spec, pid, probe.provider, probe.name))
  end
end

local function declare_one(spec, probe, mine)
  declare.probe {
    provider = usdt.providers.usdt, spec = spec, sites = probe.sites, handle = mine,
    arguments = probe.arguments,
    attach = function(_, program, link)
      local result = declare.try("usdt ", 0, core.probe.attach, "entry", program.fd, program.cookie, probe.sites)
      link(result, false, function(pid)
        core.probe.attach_again(result, "entry", program.fd, program.cookie, probe.sites, pid)
      end)
      check_semaphore(spec, probe)
    end,
  }
end

local function declare_found(spec, found, mine, claim)
  for _, probe in ipairs(found) do
    if claim:sites(probe.sites, ("usdt %s:%s"):format(probe.provider, probe.name)) then
      declare_one(spec, probe, mine)
    end
  end
end

local function files_of(found)
  local files = {}
  for _, probe in ipairs(found) do
    for _, file in ipairs(probe.sites:files()) do files[#files + 1] = file end
  end
  return files
end

-- What a library that comes later has is declared then.
local function wait_for(spec, mine, found, absent, taken)
  local claim = claims.new(taken)
  mine.expected = true
  late_modules.add {
    kind = "usdt", spec = spec, absent = absent, files = found and files_of(found),
    find = function(text, pid)
      local now, none = core.usdt.find(text, pid)
      return now, none or files_of(now)
    end,
    attach = function(now) setup.at_once(declare_found, spec, now, mine, claim) end,
  }
end

-- The binary, or nil for the target's modules, and the patterns of provider and name that REST of "usdt:REST" names.
local function parse(rest, wrong)
  local pid, after = rest:match "^(%d+):?(.*)$"
  if pid and not rest:find "^%d+:" and after ~= "" then pid = nil end -- a file whose name begins so
  local file = not pid and io.open(rest)
  local binary = rest
  if file then
    file:close()
    after = ""
  elseif pid then
    if #core.target.pids() > 0 then wrong("more than one target; give PIDs in the list's name, by -p or after --") end
    core.target.attach { tonumber(pid) }
    binary = nil
  elseif rest == "" then
    if #core.target.pids() == 0 then
      wrong("usdt needs a PID or a file: usdt:4242, usdt:./app, usdt:libstdc++:libstdcxx:*")
    end
    binary, after = nil, ""
  else
    binary, after = rest:match "^([^:]*):?(.*)$"
  end
  local provider, name = after:match "^([^:]*):(.*)$"
  if not provider then provider, name = after, "*" end
  return binary, provider ~= "" and provider or "*", name ~= "" and name or "*"
end

-- Entries of PROBES with their places, those together that are of one name.
local function entries_of(probes)
  local entries, known = {}, {}
  for _, probe in ipairs(probes) do
    local spec = ("usdt:%s:%s:%s"):format(probe.module, probe.provider, probe.name)
    local entry = known[spec]
    if not entry then
      entry = { probe = spec, places = {} }
      known[spec], entries[#entries + 1] = entry, entry
    end
    local arguments = {}
    for i, argument in ipairs(probe.arguments) do
      arguments[i] = { name = "arg" .. i - 1, type = argument_types.of(argument), source = argument.text }
    end
    table.insert(entry.places, {
      count = probe.sites:summary().count, semaphore = probe.semaphore, arguments = arguments, problem = probe.problem,
    })
  end
  return entries
end

local function list_probes(rest, _, wrong)
  local ok, probes = pcall(function() return core.usdt.list(parse(rest, wrong)) end)
  if ok and #probes > 0 then return entries_of(probes) end
  local taken, found = pcall(core.usdt.find, rest) -- what a probe takes, BINARY:NAME and PROVIDER:NAME of the target's
  if taken and found then return entries_of(found) end
  if not ok then error(probes, 0) end
  error(("usdt%s: there are no such USDT probes"):format(rest == "" and "" or ":" .. rest), 0)
end

-- The arguments that all places of a probe have.
local function common(places)
  local fewest = places[1] and places[1].arguments or {}
  for _, place in ipairs(places) do
    if #place.arguments < #fewest then fewest = place.arguments end
  end
  return fewest
end

-- The hits of a trace: probes as up.usdt understands REST, which knows PROVIDER:NAME of the target's modules.
local function hits(rest, _, spec)
  local ok, found = pcall(core.usdt.find, rest)
  if not ok or not found then return { { probe = spec, by_number = {} } } end -- the probe tells why, or waits
  local parts = {}
  for i, entry in ipairs(entries_of(found)) do parts[i] = { probe = entry.probe, by_number = common(entry.places) } end
  return parts
end

usdt.providers = {
  usdt = {
    name = "usdt", specified = true, of_binary = true, inside = true, list = list_probes, hits = hits,
    ways = {
      { needs = { "uprobe_multi" }, "one link for all places in a file" },
      { needs = { "uprobe" }, "a perf event for each place" },
    },
  },
}

-- usdt(spec, [options], handler): HANDLER runs in the kernel whenever the program passes the probe SPEC:
-- "BINARY:PROVIDER:NAME"; or "PROVIDER:NAME", in any module of the target's, or "BINARY:NAME". PROVIDER and NAME may be
-- patterns. Raises what is wrong with SPEC.
--
-- Where the arguments are at each place, the note of that place says. Places at which that differs get programs of
-- their own, so that nothing of it is left to be decided when one is hit.
function usdt.usdt(spec, given, handler)
  if type(spec) ~= "string" then error("usdt: the first argument names the probe: \"libstdc++:libstdcxx:throw\"", 2) end
  local given, mine = declare.arguments(usdt.providers.usdt, spec, given, handler)
  -- A spec with one colon may name a provider.
  local named = spec:match "^[^:]+:[^:]+:" and late_modules.name(spec) and late_modules.can()
  if named then late_modules.begin { spec } end
  local found, absent = declare.try("usdt ", 2, core.usdt.find, spec)
  if not found and not (named and late_modules.library(spec)) then error("usdt " .. absent, 2) end
  local taken = claims.taken()
  if named then wait_for(spec, mine, found, absent, taken) end
  if found then declare_found(spec, found, mine, claims.new(taken)) end
  return mine
end

return usdt
