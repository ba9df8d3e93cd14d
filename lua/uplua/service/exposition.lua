-- Metrics as text: Prometheus's format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/) and
-- OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md).
local data   = require "uplua.objects.data"
local metric = require "uplua.service.metric"
local text   = require "uplua.base.text"

local exposition = {}

exposition.TEXT = "text/plain; version=0.0.4; charset=utf-8"
exposition.OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

local LONGEST = 200 -- bytes of a label's text, of which what is longer has its end cut off
local CUT = "…"
local EXACT = 2 ^ 53

-- TEXT of at most LONGEST bytes, cut between two characters.
local function shortened(label)
  if #label <= LONGEST then return label end
  local last = LONGEST - #CUT
  while last > 0 and label:byte(last + 1) >= 0x80 and label:byte(last + 1) < 0xc0 do last = last - 1 end
  return label:sub(1, last) .. CUT
end

local ESCAPED = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

-- label(value) → VALUE, a part of a key, as a label's text: of a stack its functions. Then whether nothing of it is to
-- be escaped.
function exposition.label(value)
  if type(value) == "number" and value % 1 == 0 and value > -EXACT and value < EXACT then
    return ("%.0f"):format(value), true
  end
  if type(value) ~= "string" then
    local is_stack = type(value) == "table" and getmetatable(value) and value.folded
    value = is_stack and value:folded() or data.plain(value)
  end
  if #value <= LONGEST and not value:find '[%c"\\\127-\255]' then return value, true end
  return shortened(text.escape(value)), false
end

local function label_text(value)
  local label, is_plain = exposition.label(value)
  return is_plain and label or (label:gsub('[\\"\n]', ESCAPED))
end

-- The labels of KEY as they stand behind a name, without their braces.
local function label_list(family, key)
  local list
  metric.labels(family, key, function(name, value)
    local one = name .. '="' .. label_text(value) .. '"'
    list = list and list .. "," .. one or one
  end)
  return list or ""
end

local function number(value, divisor)
  if type(value) == "number" and divisor == 1 and value % 1 == 0 and value > -EXACT and value < EXACT then
    return ("%.0f"):format(value)
  end
  if value == nil then return nil end
  if type(value) == "boolean" then return value and "1" or "0" end
  if divisor == 1 and type(value) == "cdata" then return (tostring(value):gsub("U?LL$", "")) end
  value = tonumber(value) or error("its values are no numbers", 0)
  value = value / divisor
  if value ~= value then return "NaN" end
  if value == math.huge or value == -math.huge then return value > 0 and "+Inf" or "-Inf" end
  return data.plain(value)
end

local function line(name, labels, value)
  return labels == "" and name .. " " .. value .. "\n" or name .. "{" .. labels .. "} " .. value .. "\n"
end

-- below(family, value) → how many values of VALUE, one of a histogram FAMILY, are below each of its ends.
function exposition.below(family, value)
  local counts, buckets, at, below = {}, value:buckets(), 1, 0
  for i, first in ipairs(family.ends) do
    while buckets[at] and buckets[at].high < first do
      below, at = below + buckets[at].count, at + 1
    end
    counts[i] = below
  end
  return counts
end

-- The lines of a histogram of FAMILY, VALUE: the values below each end, of all, and their sum.
local function histogram(family, labels, value)
  local lines, counts = {}, exposition.below(family, value)
  local before = labels ~= "" and labels .. "," or ""
  local name = family.name .. "_bucket"
  for i, first in ipairs(family.ends) do
    -- The values are integers: the greatest below the end is what `le` includes.
    lines[i] = line(name, ('%sle="%s"'):format(before, number(first - 1, family.divisor)), number(counts[i], 1))
  end
  lines[#lines + 1] = line(name, before .. 'le="+Inf"', number(value.count, 1))
  lines[#lines + 1] = line(family.name .. "_sum", labels, number(value.sum, family.divisor))
  lines[#lines + 1] = line(family.name .. "_count", labels, number(value.count, 1))
  return table.concat(lines)
end

-- Families of several gauges, of stats, are a family each.
local function head(name, family, is_openmetrics)
  local typed = family.type == "counter" and not is_openmetrics and name .. "_total" or name
  local lines = {}
  if family.help then
    local escaped = family.help:gsub(is_openmetrics and '[\\"\n]' or "[\\\n]", ESCAPED)
    lines[#lines + 1] = ("# HELP %s %s\n"):format(typed, escaped)
  end
  lines[#lines + 1] = ("# TYPE %s %s\n"):format(typed, family.type)
  if is_openmetrics and family.unit and name:find("_" .. family.unit .. "$") then
    lines[#lines + 1] = ("# UNIT %s %s\n"):format(typed, family.unit)
  end
  return table.concat(lines)
end

-- The entries of FAMILY: lists of their labels as text, and of their values. SEE pauses now and then. What reads alike
-- once it is cut is one entry, with a list of values in MORE.
local function by_labels(family, read, see)
  local labels, values, place, more = {}, {}, {}, {}
  local n = 0
  read(function(key, value)
    local list = key == nil and "" or label_list(family, key)
    local at = place[list]
    if at then
      more[at] = more[at] or { values[at] }
      table.insert(more[at], value)
    else
      n = n + 1
      place[list], labels[n], values[n] = n, list, value
    end
    see()
  end)
  return labels, values, more
end

local Sums = {}
Sums.__index = Sums
function Sums:buckets() return self.list end

-- The buckets of several histograms, as one's.
local function all_buckets(values)
  local all = { count = 0, sum = 0, list = {} }
  for _, value in ipairs(values) do
    all.count, all.sum = all.count + value.count, tonumber(all.sum) + tonumber(value.sum)
    for _, bucket in ipairs(value:buckets()) do all.list[#all.list + 1] = bucket end
  end
  table.sort(all.list, function(a, b) return a.high < b.high end)
  return setmetatable(all, Sums)
end

-- together(family, values) → the one value that stands for VALUES of FAMILY, whose keys read alike: the sum of a
-- counter, the buckets of all histograms, else the first.
function exposition.together(family, values)
  if #values == 1 or family.type == "gauge" then return values[1] end
  if family.type == "histogram" then return all_buckets(values) end
  local total = values[1]
  for i = 2, #values do total = tonumber(total) + tonumber(values[i]) end
  return total
end

-- What each of the gauges of stats is, by the end of its name.
exposition.FIELDS = { _min = "min", _avg = "avg", _max = "max" }

-- write(family, read, is_openmetrics, put): put(text) is called with the lines of FAMILY, an entry's at a time, and
-- without a text in between, so that the caller can pause. READ(see) calls see(key, value) for each entry. Raises what
-- READ raises, and what is wrong with the labels.
function exposition.write(family, read, is_openmetrics, put)
  local labels, values, more = by_labels(family, read, put)
  for _, suffix in ipairs(family.type == "gauge" and family.suffixes or { "" }) do
    local name, field = family.name .. suffix, exposition.FIELDS[suffix]
    put(head(name, family, is_openmetrics))
    if family.type == "counter" then name = name .. "_total" end
    for i = 1, #labels do
      local value = more[i] and exposition.together(family, more[i]) or values[i]
      if family.type == "histogram" then
        put(histogram(family, labels[i], value))
      else
        if field then value = value[field] end
        value = number(value, family.divisor)
        if value then put(line(name, labels[i], value)) end
      end
    end
  end
end

return exposition
