-- A setup: what the main chunk, or a line at the prompt, has declared becomes what is loaded and attached, all of it
-- together. Each of these is a module of its own: declare, load, attach, ledger.
local attach       = require "uplua.probe.attach"
local core         = require "uplua.core"
local declare      = require "uplua.probe.declare"
local handle       = require "uplua.probe.handle"
local late_modules = require "uplua.target.late_modules"
local ledger       = require "uplua.probe.ledger"
local load         = require "uplua.probe.load"
local lost_returns = require "uplua.probe.lost_returns"
local options      = require "uplua.options"

local setup = {}

local function commit(replaced)
  local probes, guests = declare.take()
  if not probes then return end
  lost_returns.tell()
  if options.emit or options.explain then
    if #probes > 0 then load.compile_only(probes) end
    return
  end
  local list = {}
  for _, group in ipairs(load.groups(probes)) do
    for _, item in ipairs(load.handlers(group)) do list[#list + 1] = item end
  end
  for _, guest in ipairs(guests) do
    for _, item in ipairs(guest:load()) do list[#list + 1] = item end
  end
  ledger.watch(list)
  local attached = attach.all(list, replaced ~= nil)
  if not replaced then return end
  local woken, seen = {}, {}
  for _, item in ipairs(attached) do
    local probe = item.probe.handle
    if probe and not seen[probe] then woken[#woken + 1], seen[probe] = probe, true end
  end
  handle.exchange(replaced, woken)
end

-- Compiles, loads and attaches what was declared. If anything fails, nothing of it stays attached and the error is
-- raised. REPLACED, if it is given: a list of probes whose place these take, all at once when all are attached.
function setup.commit(replaced)
  commit(replaced)
  handle.keep()
  late_modules.keep()
end

-- Forgets what was declared, or could not be attached.
function setup.discard()
  declare.discard()
  late_modules.discard()
end

-- Attaches what declare_all(...) declares; if anything fails, nothing of it stays and the error is raised.
function setup.at_once(declare_all, ...)
  local ok, message = pcall(function(...)
    declare_all(...)
    setup.commit()
  end, ...)
  if ok then return end
  setup.discard()
  error(message, 0)
end

setup.release  = attach.release
setup.attached = attach.any
setup.close    = attach.close
setup.ledger   = ledger.list

return setup
