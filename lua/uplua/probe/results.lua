-- What the functions of one return probe return, where debug information tells: e.ret of each is cut to its own type.
--
-- A probe over functions of several types is several records of uplua.probe.handler under one handle, one for each
-- width and sign, so that a hit pays nothing for it: which function returns what is known when the probe is declared,
-- and each group's program has its cut as two instructions. (A table by the site's number, which one program would
-- ask, costs two calls of the kernel for each hit.) Functions that return no integer are a group, too: their e.ret is
-- nil.
local loop = require "uplua.base.loop"
local run  = require "uplua.base.run"
local text = require "uplua.base.text"

local results = {}

local MOST_NAMES = 3 -- of functions that a warning lists

local own = run.part(function() return { shown = false } end)

-- Calls fn(): the probes that it declares are of somebody who shows himself where a result's type is not known.
function results.show(fn)
  local mine = own()
  local before = mine.shown
  mine.shown = true
  local ok, message = pcall(fn)
  mine.shown = before
  if not ok then error(message, 0) end
end

-- True within such a call.
function results.are_shown() return own().shown end

-- divide(sites, whole, shown) → SITES in groups, { { sites, summary, result_bits, no_result, maybe_no_result, results
-- }, … }, of which each is a part of a record of uplua.probe.handler. WHOLE: sites:summary() of all. SHOWN:
-- are_shown() when the probe was declared. Where there are several groups, they have the sites, and SITES has none.
function results.divide(sites, whole, shown)
  local groups, nothing, unknown = sites:by_result()
  local noted = { nothing = nothing, unknown = unknown, shown = shown, of_all = #groups == 1 }
  for i, group in ipairs(groups) do
    groups[i] = {
      sites = group.sites, result_bits = group.bits, no_result = group.none,
      maybe_no_result = #groups > 1 and #nothing > 0, results = noted,
      -- e.func is as long in each group, and no name of another one is cut elsewhere
      summary = #groups == 1 and whole or group.sites:summary(whole.names ~= nil),
    }
  end
  return groups
end

-- The names of LIST in their order, each with what NOTE(one) says of it: "a (double), b (double) and 2 more".
local function names_of(list, note)
  local names = {}
  table.sort(list, function(a, b) return a["function"] < b["function"] end)
  for i, one in ipairs(list) do
    if i > MOST_NAMES then break end
    names[i] = text.escape(one["function"]) .. note(one)
  end
  local more = #list - #names
  return table.concat(names, ", ") .. (more > 0 and (" and %s more"):format(text.thousands(more)) or "")
end

-- LIST by its reasons: { { why, of = { … } }, … }.
local function by_reason(list)
  local reasons, of = {}, {}
  for _, one in ipairs(list) do
    if not of[one.why] then
      of[one.why] = { why = one.why, of = {} }
      reasons[#reasons + 1] = of[one.why]
    end
    table.insert(of[one.why].of, one)
  end
  return reasons
end

-- What is to be known of e.ret at the functions that NOTED has: two lists of texts, of those that return no integer,
-- and of those whose type is not known.
local function remarks(noted)
  local nothing, unknown = {}, {}
  if #noted.nothing > 0 then
    nothing[1] = ("e.ret is nil of what returns no integer: %s")
      :format(names_of(noted.nothing, function(one) return (" (%s)"):format(one.type) end))
  end
  for i, reason in ipairs(by_reason(noted.unknown)) do
    unknown[i] = ("e.ret is the whole register, whose upper half may be anything, of %s: %s")
      :format(names_of(reason.of, function() return "" end), reason.why)
  end
  return nothing, unknown
end

-- Warns of what e.ret is in a handler of PROBE (uplua.probe.handler), which reads it, at functions where that is not
-- the integer that they return; once for all of its records.
function results.warn(probe)
  local noted = probe.results
  if not noted or noted.told then return end
  noted.told = true
  local nothing, unknown = remarks(noted)
  for _, remark in ipairs(noted.of_all and {} or nothing) do unknown[#unknown + 1] = remark end
  for _, remark in ipairs(noted.shown and {} or unknown) do
    loop.warn(("%s %s: %s"):format(probe.provider.name, text.escape(probe.spec), remark))
  end
end

-- What --explain says of e.ret in the handlers of PROBE: a list of texts.
function results.explain(probe)
  if not probe.results then return {} end
  local nothing, unknown = remarks(probe.results)
  if probe.no_result then return nothing end
  if probe.result_bits == 0 then return unknown end
  return { ("e.ret has %d bits, %s")
    :format(math.abs(probe.result_bits), probe.result_bits < 0 and "signed" or "unsigned") }
end

return results
