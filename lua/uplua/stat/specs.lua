-- The specs of several counts, and the ratios between them: which are one group, what each column is called.
local args    = require "uplua.args"
local counter = require "uplua.probe.counter"

local specs = {}

-- The ratios that are shown where both events are counted: numerator, denominator, title, unit.
local KNOWN = {
  { "instructions", "cycles", "IPC", "ratio" }, { "cache-misses", "cache-references", "cache misses", "percent" },
  { "branch-misses", "branches", "branch misses", "percent" },
  { "L1-dcache-load-misses", "L1-dcache-loads", "L1 misses", "percent" },
  { "LLC-load-misses", "LLC-loads", "LLC misses", "percent" },
  { "dTLB-load-misses", "dTLB-loads", "dTLB misses", "percent" },
}

local Specs = {}
Specs.__index = Specs

-- The parts of a list with commas.
local function parts(words)
  local found = {}
  for word in (words .. ","):gmatch "([^,]*)," do found[#found + 1] = word end
  return found
end

-- Adds SPEC: an event, several as a group, or a probe.
local function add(self, spec)
  local list = self.list
  local events = spec:match "^perf:(.+)$"
  local group = events and events:find(",", 1, true) and parts(events)
  if not group then
    list[#list + 1] = { spec = spec, event = counter.event(spec) }
    return
  end
  for _, event in ipairs(group) do
    if not counter.event("perf:" .. event) then args.fail("%s: '%s' is no event that is counted", spec, event) end
    list[#list + 1] = { spec = "perf:" .. event, event = event, group = group }
  end
end

-- The ratio GIVEN, "A/B" or "NAME=A/B": { above =, below = titles, title =, unit = }.
local function ratio_of(given)
  local name, above, below = given:match "^([^=]+)=([^/=]+)/([^/=]+)$"
  if not name then above, below = given:match "^([^/=]+)/([^/=]+)$" end
  if not above then args.fail("--ratio %s: write A/B or NAME=A/B, such as instructions/cycles", given) end
  return { above = above, below = below, title = name or given, unit = "ratio" }
end

-- The last PARTS parts of the spec of ONE, of C++ names with their classes.
local function last_parts(one, count)
  if one.event then return one.event end
  local plain, at = one.spec:gsub("::", "\1\1"), #one.spec + 1
  for _ = 1, count do at = plain:sub(1, at - 1):match ".*():" or 0 end
  return one.spec:sub(at + 1)
end

-- Titles as short as tells each spec from the others and from any pattern: "malloc", "libc:*".
local function set_titles(list)
  local count, again = {}, true
  while again do
    local seen = {}
    again = false
    for i, one in ipairs(list) do
      one.title = last_parts(one, count[i] or 1)
      seen[one.title] = (seen[one.title] or one.spec) == one.spec and one.spec or false
    end
    for i, one in ipairs(list) do
      local ambiguous = not one.title:find "%a" or not seen[one.title]
      if ambiguous and #one.title < #one.spec and not one.event then count[i], again = (count[i] or 1) + 1, true end
    end
  end
end

local function titled(list, title)
  for _, one in ipairs(list) do
    if one.title == title then return one end
  end
end

local function is_counted(list, event)
  for _, one in ipairs(list) do
    if one.event == event then return true end
  end
  return false
end

-- What RATIO needs and nobody has asked for is counted: the two at the same times, where both are missing.
local function add_missing(self, ratio)
  local missing = {}
  for _, name in ipairs { ratio.above, ratio.below } do
    if not titled(self.list, name) and not is_counted(self.list, name) then missing[#missing + 1] = name end
  end
  if #missing == 0 then return end
  for _, name in ipairs(missing) do
    local good, why = pcall(counter.counter, name)
    if not good then args.fail("--ratio: no column is called %s, and it cannot be counted: %s", name, why) end
    why:close()
  end
  add(self, "perf:" .. table.concat(missing, ","))
end

-- new(list, ratios): what is counted for LIST, specs, and RATIOS, as users give them with --ratio: `list` of { spec,
-- event = name of what the kernel counts, or nil, group = the list of events that it belongs to, title }, and `ratios`
-- of { above, below = titles, title, unit }. Ends the script where one is wrong.
function specs.new(list, ratios)
  local self = setmetatable({ list = {}, ratios = {} }, Specs)
  for _, spec in ipairs(list) do add(self, spec) end
  for i, given in ipairs(ratios) do self.ratios[i] = ratio_of(given) end
  set_titles(self.list)
  for _, ratio in ipairs(self.ratios) do add_missing(self, ratio) end
  set_titles(self.list)
  for _, known in ipairs(KNOWN) do
    if titled(self.list, known[1]) and titled(self.list, known[2]) then
      self.ratios[#self.ratios + 1] = { above = known[1], below = known[2], title = known[3], unit = known[4] }
    end
  end
  return self
end

-- Puts the ratios of ROW, by the titles of its columns, into it. Returns it.
function Specs:add_ratios(row)
  for _, ratio in ipairs(self.ratios) do
    local above, below = row[ratio.above], row[ratio.below]
    local value = above and below and below ~= 0 and above / below or nil
    row[ratio.title] = value and (ratio.unit == "percent" and 100 * value or value)
  end
  return row
end

-- Columns for a view: of the specs, then of the ratios.
function Specs:columns()
  local columns = {}
  for i, one in ipairs(self.list) do columns[i] = { one.title, one.title, "count" } end
  for _, ratio in ipairs(self.ratios) do columns[#columns + 1] = { ratio.title, ratio.title, ratio.unit } end
  return columns
end

return specs
