-- What a service may do. Once all is attached it gives up, for good, the rights that it needed for that and does not
-- need any more: src/sys/rights.h. doc/service.md has what each of those that it keeps is for.
local core      = require "uplua.core"
local loop      = require "uplua.base.loop"
local options   = require "uplua.options"
local privilege = require "uplua.base.privilege"

local rights = {}

local KEPT = { "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG",
               "CAP_CHECKPOINT_RESTORE" }

-- Seconds after which it is tried again, where a thread that has something to read is still there; and for how long
-- that goes on without a word.
local AGAIN, PATIENCE = 0.1, 10

-- begin(): raises what is wrong with the user that it is to become.
function rights.begin()
  if not options.as then return end
  local ok, why = pcall(core.rights.check_user, options.as)
  if not ok then error(("--as %s: %s"):format(options.as, why), 0) end
end

-- drop(): gives them up, now or as soon as that can be done, and says which are left. WAITED: for so many seconds it
-- could not be done by now.
function rights.drop(waited)
  if options.keep then return end
  local why = privilege.kept()
  if why then return loop.warn("the rights stay as they are: " .. why) end
  local kept = { CAP_KILL = core.target.command() ~= nil }
  for _, name in ipairs(KEPT) do kept[name] = true end
  local ok, left = pcall(core.rights.drop, kept, options.as)
  if not ok then error((options.as and ("--as %s: "):format(options.as) or "") .. left, 0) end
  if not left then
    waited = (waited or 0) + AGAIN
    if waited >= PATIENCE and waited < PATIENCE + AGAIN then
      loop.warn "the rights cannot be given up yet: a thread of uplua's own has something to read"
    end
    loop.at(loop.now() + AGAIN, function() rights.drop(waited) end)
    return
  end
  loop.warn(("runs on%s with %s (--keep: with all rights)"):format(options.as and " as " .. options.as or "",
    #left > 0 and table.concat(left, ", ") or "no rights of its own"))
end

return rights
