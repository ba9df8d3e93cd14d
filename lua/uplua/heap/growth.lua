-- Growth: what stacks hold from one report to the next, and whether that rises.
local plot = require "uplua.plot"
local text = require "uplua.base.text"

local Growth = {}
Growth.__index = Growth

local growth = {}

local MOST = 60     -- reports that are remembered
local CHANCE = 0.01 -- of a stack that neither grows nor shrinks, to be called one that does

-- new([most]) → remembers that many reports (60).
function growth.new(most)
  if most ~= nil and (type(most) ~= "number" or most < 2) then
    error("heap.growth: at least 2 reports are to be remembered", 2)
  end
  return setmetatable({ most = most or MOST, times = {}, stacks = {} }, Growth)
end

-- add(list, now): what is held at NOW (ns), as trace:held() has it; a stack that is not in LIST holds nothing.
function Growth:add(list, now)
  local held = {}
  for _, h in ipairs(list) do held[h.name] = h.bytes end
  for _, h in ipairs(list) do
    if not self.stacks[h.name] then
      local values = {}
      for i = 1, #self.times do values[i] = 0 end
      self.stacks[h.name] = values
    end
  end
  table.insert(self.times, now)
  for name, values in pairs(self.stacks) do
    values[#values + 1] = held[name] or 0
    if #values > self.most then table.remove(values, 1) end
    local last = true
    for i = 1, #values do last = last and values[i] == 0 end
    if last then self.stacks[name] = nil end
  end
  if #self.times > self.most then table.remove(self.times, 1) end
end

-- The slope of VALUES over TIMES, the median of the slopes of all pairs (Theil and Sen, 1968): single peaks leave it as
-- it is.
local function slope(times, values)
  local slopes = {}
  for i = 1, #values - 1 do
    for k = i + 1, #values do
      if times[k] > times[i] then slopes[#slopes + 1] = (values[k] - values[i]) / (times[k] - times[i]) end
    end
  end
  if #slopes == 0 then return 0 end
  table.sort(slopes)
  local middle = math.floor(#slopes / 2)
  return #slopes % 2 == 1 and slopes[middle + 1] or (slopes[middle] + slopes[middle + 1]) / 2
end

-- By the sign test: the chance that K of N steps or more go one way if both ways are as likely.
local function chance(k, n)
  local sum, ways = 0, 1
  for i = 0, n do
    if i >= k then sum = sum + ways end
    ways = ways * (n - i) / (i + 1)
  end
  return sum / 2 ^ n
end

-- of(name) → { rate, rises, falls, steps, values, direction } of the stack of that name (stack:key()): bytes a minute,
-- how many of the STEPS from one report to the next rose and fell, what was held in each; DIRECTION 1: it grows, -1: it
-- shrinks, 0: neither can be told. nil for a stack that has held nothing.
function Growth:of(name)
  local values = self.stacks[name]
  if not values then return nil end
  local rises, falls = 0, 0
  for i = 2, #values do
    if values[i] > values[i - 1] then rises = rises + 1 end
    if values[i] < values[i - 1] then falls = falls + 1 end
  end
  local rate, moves = slope(self.times, values) * 60e9, rises + falls
  local direction = 0
  if moves > 0 and chance(math.max(rises, falls), moves) <= CHANCE then direction = rises > falls and 1 or -1 end
  if rate * direction <= 0 then direction = 0 end -- many small steps one way, and a large one back
  return { rate = rate, rises = rises, falls = falls, steps = #values - 1, values = values, direction = direction }
end

-- line(name) → "grows 1.2 MB/min, 12 of 12 reports  ▁▂▄▅█"; nil where it cannot be told that it grows or shrinks.
function Growth:line(name)
  local of = self:of(name)
  if not of or of.direction == 0 then return nil end
  local rose = of.direction > 0
  return ("%s %s/min, %d of %d reports  %s"):format(rose and "grows" or "shrinks", text.bytes(math.abs(of.rate)),
    rose and of.rises or of.falls, of.steps, plot.sparkline(of.values))
end

-- growing(list) → those of LIST that grow, the fastest first.
function Growth:growing(list)
  local found, rates = {}, {}
  for _, h in ipairs(list) do
    local of = self:of(h.name)
    if of and of.direction > 0 then
      found[#found + 1] = h
      rates[h] = of.rate
    end
  end
  table.sort(found, function(a, b)
    if rates[a] ~= rates[b] then return rates[a] > rates[b] end
    return a.name < b.name
  end)
  return found
end

return growth
