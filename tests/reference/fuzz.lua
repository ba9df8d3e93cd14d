-- Random handlers three ways: ./uplua tests/reference/fuzz.lua COUNT SEED runs COUNT programs, of the seeds from SEED on. What fails is
-- made as small as it will go and printed with its seed; the status is 1 then.
package.path = "./tests/reference/?.lua;" .. package.path
local differential = require "differential"
local generate = require "generate"
local minimise = require "minimise"

local BATCH = 20 -- programs that are compiled and loaded together

local count, seed = tonumber(arg[1]), tonumber(arg[2])
local verdicts = {}

for first = seed, seed + count - 1, BATCH do
  local programs = {}
  for s = first, math.min(first + BATCH, seed + count) - 1 do programs[#programs + 1] = generate.program(s) end
  for i, result in ipairs(differential.check(programs)) do
    local verdict = differential.is_limit(result) and "limit" or result[1]
    verdicts[verdict] = (verdicts[verdict] or 0) + 1
    if verdict ~= "equal" and verdict ~= "undefined" and verdict ~= "limit" then
      local small = minimise(programs[i], result)
      print(("seed %d: %s\n%s\n%s"):format(programs[i].seed, result[1], small[1], small[2]))
    end
  end
end

local parts = {}
for _, verdict in ipairs { "equal", "undefined", "limit", "refused", "kernel", "luajit" } do
  if verdicts[verdict] then parts[#parts + 1] = ("%d %s"):format(verdicts[verdict], verdict) end
end
print(("%d programs from seed %d: %s"):format(count, seed, table.concat(parts, ", ")))
os.exit((verdicts.refused or verdicts.kernel or verdicts.luajit) and 1 or 0)
