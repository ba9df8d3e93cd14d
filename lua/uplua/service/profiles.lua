-- /profile: what a script samples, for pprof: GET /profile?seconds=10&metric=cpu is what the metric of that name, one
-- with the option profile, counts from now on for so long. `go tool pprof http://…/profile` reads it.
local core   = require "uplua.core"
local loop   = require "uplua.base.loop"
local metric = require "uplua.service.metric"
local pprof  = require "uplua.pprof"
local store  = require "uplua.objects.store"

local profiles = {}

local SECONDS, MOST = 10, 3600

-- What FAMILY has counted by now: canonical key → { key, number }.
local function counted(family)
  local found = {}
  metric.read(family, function(key, value)
    if key ~= nil and not metric.is_overflow(key) then found[store.canonical(key)] = { key, tonumber(value) } end
  end)
  return found
end

-- What NOW has that BEFORE has not: key → number.
local function since(before, now)
  local sums = {}
  for name, entry in pairs(now) do
    local more = entry[2] - (before[name] and before[name][2] or 0)
    if more ~= 0 then sums[entry[1]] = more end
  end
  return sums
end

-- The family called NAME, or the first, of LIST.
local function find(list, name)
  for _, family in ipairs(list) do
    if not name or family.called == name then return family end
  end
end

-- page(request, answer): answers it, once that time is over.
function profiles.page(request, answer)
  local list, wanted = metric.profiles(), request.argument "metric"
  local family = find(list, wanted)
  if not family then
    local names = {}
    for i, one in ipairs(list) do names[i] = one.called end
    return answer(404, #names == 0 and "this script has no metric that is a profile\n" or
      ("there is no profile of that name: %s\n"):format(table.concat(names, ", ")))
  end
  local given = request.argument "seconds"
  local seconds = tonumber(given or SECONDS)
  if not (seconds and seconds > 0 and seconds <= MOST) then
    return answer(400, ("seconds is a number from 0 to %d\n"):format(MOST))
  end
  local before = counted(family)
  loop.at(loop.now() + seconds, function()
    local ok, result = pcall(function()
      return core.gzip.compress(pprof.data(since(before, counted(family)), family.profile))
    end)
    if not ok then return answer(500, ("the profile cannot be written: %s\n"):format(tostring(result))) end
    answer(200, result, { ["Content-Type"] = "application/octet-stream",
                          ["Content-Disposition"] = 'attachment; filename="profile.pb.gz"' })
  end)
end

return profiles
