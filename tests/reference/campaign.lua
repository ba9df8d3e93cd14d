-- Many random programs three ways.
--
--   campaign(count, seed, failed) → verdict → how many     of the programs of COUNT seeds from SEED on; "limit":
--                                                          refused, as it says it is
--     failed(program, result)                              is called for each that is none of campaign.FINE
local differential = require "differential"
local generate = require "generate"

local campaign = { FINE = { equal = true, undefined = true, limit = true } }

local BATCH = 20 -- programs that are compiled and loaded together

return setmetatable(campaign, {
  __call = function(_, count, seed, failed)
    local verdicts = {}
    for first = seed, seed + count - 1, BATCH do
      local programs = {}
      for s = first, math.min(first + BATCH, seed + count) - 1 do programs[#programs + 1] = generate.program(s) end
      for i, result in ipairs(differential.check(programs)) do
        local verdict = differential.is_limit(result) and "limit" or result[1]
        verdicts[verdict] = (verdicts[verdict] or 0) + 1
        if not campaign.FINE[verdict] then failed(programs[i], result) end
      end
    end
    return verdicts
  end,
})
