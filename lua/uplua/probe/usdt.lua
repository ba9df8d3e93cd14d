-- USDT probes: places that a program's authors have marked, with arguments.
local claims       = require "uplua.probe.claims"
local core         = require "uplua.core"
local loop         = require "uplua.base.loop"
local declare        = require "uplua.probe.declare"
local setup        = require "uplua.probe.setup"
local late_modules = require "uplua.target.late_modules"

local usdt = {}

-- A guarded probe is passed only where the kernel has told the program that somebody traces.
local function check_semaphore(spec, probe)
  if not probe.semaphore then return end
  for _, pid in ipairs(core.usdt.unraised(probe.sites)) do
    loop.warn(("usdt %s: process %d has made its semaphore unwritable, by which the kernel tells it that somebody " ..
               "traces: %s:%s is not passed there unless it is traced otherwise")
              :format(spec, pid, probe.provider, probe.name))
  end
end

local function declare_one(spec, probe, handler)
  declare.probe {
    kind = "usdt", spec = spec, sites = probe.sites:list(), handler = handler, arguments = probe.arguments,
    attach = function(_, program, link)
      local attached, result = pcall(core.probe.attach, "entry", program.fd, program.cookie, probe.sites)
      if not attached then error("usdt " .. result, 0) end
      link(result)
      check_semaphore(spec, probe)
    end,
  }
end

local function declare_found(spec, found, handler, claim)
  for _, probe in ipairs(found) do
    if claim:sites(probe.sites, ("usdt %s:%s"):format(probe.provider, probe.name)) then
      declare_one(spec, probe, handler)
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
local function wait_for(spec, handler, found, absent, taken)
  local claim = claims.new(taken)
  late_modules.add {
    kind = "usdt", spec = spec, absent = absent, files = found and files_of(found),
    find = function(text, pid)
      local now, none = core.usdt.find(text, pid)
      return now, none or files_of(now)
    end,
    attach = function(now) setup.at_once(declare_found, spec, now, handler, claim) end,
  }
end

-- usdt(spec, [options], handler): HANDLER runs in the kernel whenever the program passes the probe SPEC:
-- "BINARY:PROVIDER:NAME"; or "PROVIDER:NAME", in any module of the target's, or "BINARY:NAME". PROVIDER and NAME may be
-- patterns. Raises what is wrong with SPEC.
--
-- Where the arguments are at each place, the note of that place says. Places at which that differs get programs of
-- their own, so that nothing of it is left to be decided when one is hit.
function usdt.usdt(spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(spec) ~= "string" then error("usdt: the first argument names the probe: \"libstdc++:libstdcxx:throw\"", 2) end
  declare.check("usdt", spec, given, handler)
  -- A spec with one colon may name a provider.
  local named = spec:match "^[^:]+:[^:]+:" and late_modules.name(spec) and late_modules.can()
  if named then late_modules.begin { spec } end
  local ok, found, absent = pcall(core.usdt.find, spec)
  if not ok then error("usdt " .. found, 2) end
  if not found and not (named and late_modules.library(spec)) then error("usdt " .. absent, 2) end
  local taken = claims.taken()
  if named then wait_for(spec, handler, found, absent, taken) end
  if found then declare_found(spec, found, handler, claims.new(taken)) end
end

return usdt
