-- Decides which probe of a list gets a place: a place that several specs name is probed once, by the first of them.
local claims = {}

local run = require "uplua.base.run"

local own = run.part(function()
  return { shared = nil } -- what the list has by now that is being declared: text → claim
end)

-- Calls fn(): the probes that it declares are one list. Raises what fn raises.
function claims.share(fn)
  local mine = own()
  if mine.shared then return fn() end
  mine.shared = {}
  local ok, result = pcall(fn)
  mine.shared = nil
  if not ok then error(result, 0) end
  return result
end

-- The places of the list that is being declared, for claims.new; outside of one, none yet.
function claims.taken() return own().shared or {} end

local Claim = {}
Claim.__index = Claim

-- A claim to what nobody else has in TAKEN (claims.taken). A probe that has a place gets it again: a file may come a
-- second time.
function claims.new(taken) return setmetatable({ taken = taken }, Claim) end

-- Drops of SITES (core.probe.resolve, .resolve_kernel) those that another claim has; WHAT tells kinds of hits at one
-- place apart, "entry" from "return". True if any are left.
function Claim:sites(sites, what) return sites:claim(self.taken, self, what) > 0 end

-- True unless another claim has NAME, such as "tracepoint sched_switch".
function Claim:name(name)
  self.taken[name] = self.taken[name] or self
  return self.taken[name] == self
end

-- The same for the system call NAME, as the kernel calls it, at its EVENT, "enter" or "exit"; "*" is all of them, and
-- whoever has those has each.
function Claim:call(event, name)
  local all = self.taken[event .. " *"]
  return (not all or all == self) and self:name(("%s %s"):format(event, name))
end

return claims
