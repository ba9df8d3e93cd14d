-- Random handlers three ways: ./uplua tests/reference/fuzz.lua COUNT SEED runs COUNT programs, of the seeds from SEED
-- on. What fails is made as small as it will go and printed with its seed; the status is 1 then.
package.path = "./tests/reference/?.lua;" .. package.path
local campaign = require "campaign"
local minimise = require "minimise"

local count, seed = tonumber(arg[1]), tonumber(arg[2])
local verdicts = campaign(count, seed, function(program, result)
  local small = minimise(program, result)
  print(("seed %d: %s\n%s\n%s"):format(program.seed, result[1], small[1], small[2]))
end)

local parts, status = {}, 0
for _, verdict in ipairs { "equal", "undefined", "limit", "refused", "kernel", "luajit" } do
  if verdicts[verdict] then parts[#parts + 1] = ("%d %s"):format(verdicts[verdict], verdict) end
  if verdicts[verdict] and not campaign.FINE[verdict] then status = 1 end
end
print(("%d programs from seed %d: %s"):format(count, seed, table.concat(parts, ", ")))
os.exit(status)
