-- Metrics: what a script names for those who watch many machines (uplua --serve), by the rules of Prometheus
-- (https://prometheus.io/docs/practices/naming/). Each is a family: samples of one name, by labels.
--   up.metric("requests", n, { labels = { "path" }, help = "requests answered" })   of n = up.count(): requests_total
--   up.metric("request", h)                         of h = up.hist { unit = "ns" }: request_seconds, a histogram
--   up.metric("load", function() return read_load() end)                            a gauge
local aggregate    = require "uplua.objects.aggregate"
local data         = require "uplua.objects.data"
local loop         = require "uplua.base.loop"
local object       = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local record       = require "uplua.objects.record"
local run          = require "uplua.base.run"
local text         = require "uplua.base.text"

local metric = {}

local own = run.part(function()
  return {
    families = {}, -- in the order of their declarations
    names = {},    -- name of a series → the metric whose it is; of two versions of a script the newer one's
  }
end)

-- What an object of each kind becomes: a family's type, and the names behind its own that its samples have.
local COUNTER = { type = "counter", suffixes = { "_total" } }
local GAUGE = { type = "gauge", suffixes = { "" } }
local EXTREMES = { type = "gauge", suffixes = { "_min", "_avg", "_max" } }
local HISTOGRAM = { type = "histogram", suffixes = { "_bucket", "_count", "_sum" } }
local KINDS = {
  count = COUNTER, sum = COUNTER, var = GAUGE, min = GAUGE, max = GAUGE, stats = EXTREMES, hist = HISTOGRAM,
  lhist = HISTOGRAM, hdr = HISTOGRAM, hash = GAUGE, lru_hash = GAUGE, array = GAUGE, percpu_hash = GAUGE,
}
local BY_TYPE = { counter = COUNTER, gauge = GAUGE }

-- What uplua counts in → what Prometheus wants, and how many of the first are one.
local UNITS = { ns = { "seconds", 1e9 }, bytes = { "bytes", 1 }, count = { nil, 1 } }

-- Where the buckets of a histogram end, as exponents of 2: by its unit.
local EXPONENTS = { ns = { 10, 34 }, bytes = { 4, 34 } } -- 1 us to 17 s; 16 B to 16 GB
local MOST_EXPONENT, MOST_BUCKETS = 63, 200

-- The key of what an aggregation has no room for.
local OVERFLOW = setmetatable({}, {})

local RESERVED = { le = true, quantile = true, overflow = true }

local function check_name(name)
  if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
    return nil, ("%s is no name of a metric: letters, digits and _, no digit first"):format(text.shown(name))
  end
  if name:find "^uplua_" then return nil, ("'%s': names that begin with uplua_ are uplua's own"):format(name) end
  if name:find "_bucket$" or name:find "_count$" or name:find "_sum$" then
    return nil, ("'%s': what ends in _bucket, _count or _sum is of a histogram"):format(name)
  end
  return name
end

local function check_labels(list)
  if type(list) ~= "table" or #list == 0 then return nil, "a list of names, { \"path\" }, is expected" end
  local seen = {}
  for _, label in ipairs(list) do
    if type(label) ~= "string" or not label:find "^[%a_][%w_]*$" or label:find "^__" then
      return nil, ("%s is no name of a label: letters, digits and _, no digit and no __ first"):
        format(text.shown(label))
    end
    if RESERVED[label] then return nil, ("the label '%s' has a meaning of its own: name it otherwise"):format(label) end
    if seen[label] then return nil, ("the label '%s' stands there twice"):format(label) end
    seen[label] = true
  end
  return list
end

local function check_unit(unit)
  if type(unit) == "string" and (UNITS[unit] or unit:find "^%l[%l_]*$") then return unit end
  return nil, ("%s is no unit: ns, bytes, count, or a word that the name ends in, as in \"requests\""):
    format(text.shown(unit))
end

local function check_type(kind)
  if BY_TYPE[kind] then return kind end
  return nil, ("%s is neither \"counter\" nor \"gauge\""):format(text.shown(kind))
end

local function check_buckets(range)
  local low, high, more = unpack(type(range) == "table" and range or {})
  local are_numbers = type(low) == "number" and type(high) == "number" and more == nil
  if are_numbers and low >= 1 and high > low and high <= 2 ^ MOST_EXPONENT then return range end
  return nil, "{ LOWEST, HIGHEST } is expected, values from 1 up, in the histogram's unit"
end

local function check_ttl(duration)
  local ns, why = text.wait(duration)
  if ns then return ns / 1e9 end
  return nil, why
end

local function check_keys(fn)
  if type(fn) == "function" then return fn end
  return nil, "a function is expected, which returns what the labels say of a key"
end

local function check_profile(given)
  if given == true or type(given) == "table" and not getmetatable(given) then return given end
  return nil, "true is expected, or a table with the options of pprof.write"
end

local ALLOWED = {
  labels = check_labels, unit = check_unit, help = option_table.text, type = check_type, buckets = check_buckets,
  ttl = check_ttl, keys = check_keys, profile = check_profile,
}

-- Where the buckets of the histogram S end: integers that are the first beyond each.
local function ends_of(s, unit, range)
  local ends, scheme = {}, s.buckets
  if scheme and scheme.step then
    for k = 0, scheme.count do ends[#ends + 1] = scheme.low + k * scheme.step end
    return ends
  end
  local least, most = unpack(EXPONENTS[unit] or { 0, 32 })
  if range then
    least = math.floor(math.log(range[1]) / math.log(2) + 1e-9)
    most = math.ceil(math.log(range[2]) / math.log(2) - 1e-9)
  end
  for k = least, most do ends[#ends + 1] = 2 ^ k end
  return ends
end

-- What is exported of the unit GIVEN (nil: nothing is said of it): its name, and how many of GIVEN are one.
local function exported(given)
  local known = UNITS[given]
  if known then return known[1], known[2] end
  return given, 1
end

-- The family of SOURCE, an object or a function, called NAME.
local function new_family(name, source, options)
  local is_function = type(source) == "function"
  local kind = is_function and BY_TYPE[options.type or "gauge"] or KINDS[source.kind]
  local s = not is_function and object.state(source) or {}
  local unit, divisor = exported(s.unit)
  if options.unit then
    local wanted, of_wanted = exported(options.unit)
    if unit and unit ~= wanted then
      error(("metric %s: option 'unit': it counts %s, which are exported as %s"):format(name, s.unit, unit), 3)
    end
    unit, divisor = wanted, unit and divisor or of_wanted
  end
  local base = kind == COUNTER and name:gsub("_total$", "") or name
  if unit and not base:find("_" .. unit .. "$") then base = base .. "_" .. unit end
  return {
    name = base, called = name, type = kind.type, suffixes = kind.suffixes, unit = unit, divisor = divisor,
    labels = options.labels, help = options.help, source = source, ttl = options.ttl,
    keys = options.keys, profile = options.profile == true and {} or options.profile,
    ends = kind == HISTOGRAM and ends_of(s, s.unit, options.buckets) or nil,
  }
end

-- FAMILY is one of the run's, in the place of those of its script's version before. Raises that a series of its is
-- there.
local function declare(family)
  local mine = own()
  local function take_back()
    family.ended = true
    for i = #mine.families, 1, -1 do
      if mine.families[i] == family then table.remove(mine.families, i) end
    end
    for _, suffix in ipairs(family.suffixes) do
      local series = family.name .. suffix
      if mine.names[series] == family then mine.names[series] = family.before[series] end
    end
    family.before = {}
  end
  family.before, family.ended, family.version = {}, false, loop.taken(take_back)
  for _, suffix in ipairs(family.suffixes) do
    local series = family.name .. suffix
    local there = mine.names[series]
    if there and there.version == family.version then
      error(("metric %s: %s is there already"):format(family.called, series), 3)
    end
    family.before[series] = there
  end
  for _, suffix in ipairs(family.suffixes) do mine.names[family.name .. suffix] = family end
  mine.families[#mine.families + 1] = family
end

-- metric(name, source, [options]): those who watch this run see SOURCE as NAME: a shared object, or a function, which
-- is called when they ask, and returns a number or a table of them by key. Raises what is wrong.
function metric.metric(name, source, options)
  local ok, why = check_name(name)
  if not ok then error("metric: " .. why, 2) end
  local given = option_table.read(("metric %s"):format(name), options, ALLOWED)
  local is_object = object.is(source) and KINDS[source.kind] ~= nil
  if type(source) ~= "function" and not is_object then
    error(("metric %s: count, sum, var, min, max, stats, hist, lhist, hdr, a map or a function is expected, not %s"):
      format(name, object.is(source) and "a " .. source.kind or text.shown(source)), 2)
  end
  if given.type and is_object then error(("metric %s: option 'type' is for functions"):format(name), 2) end
  if given.ttl and not (is_object and object.state(source).operations) then
    error(("metric %s: option 'ttl' is for aggregations: of what a script keeps itself, it removes keys itself"):
      format(name), 2)
  end
  if given.profile and not (is_object and KINDS[source.kind] == COUNTER) then
    error(("metric %s: option 'profile' is for a count or sum by stack"):format(name), 2)
  end
  local family = new_family(name, source, given)
  if given.buckets and (not family.ends or object.state(source).buckets and object.state(source).buckets.step) then
    error(("metric %s: option 'buckets' is for hist and hdr"):format(name), 2)
  end
  if family.ends and #family.ends > MOST_BUCKETS then
    error(("metric %s: %d buckets are too many, since each is a series of its own: at most %d; use hist, or larger " ..
           "steps"):format(name, #family.ends, MOST_BUCKETS), 2)
  end
  declare(family)
  if is_object and not given.profile then object.state(source).exported = true end
end

-- Those for which WANTED(family), in their order. While the new version of a script is being attached, these are still
-- the old one's.
local function choose(wanted)
  local list = {}
  for _, family in ipairs(own().families) do
    local waits = false
    for _, before in pairs(family.before) do waits = waits or not before.ended end
    if not waits and wanted(family) then list[#list + 1] = family end
  end
  return list
end

-- The families that are to be told of, and those that are profiles.
function metric.families() return choose(function(family) return not family.profile end) end
function metric.profiles() return choose(function(family) return family.profile ~= nil end) end

-- is_overflow(key): whether what metric.read gives under KEY is of all keys that there was no room for.
function metric.is_overflow(key) return key == OVERFLOW end

-- Parts and their names where a key has several: a tuple's or a record's; nil where it is one.
local function parts_of(key)
  local kind = type(key)
  if kind == "cdata" and record.is(key) then
    local parts, names = {}, record.names(key)
    for i, name in ipairs(names) do parts[i] = key[name] end
    return parts, type(names[1]) == "string" and names or nil
  end
  if kind == "table" and not getmetatable(key) then return key end
end

-- The names of the labels of FAMILY, whose keys have COUNT parts, called NAMES (nil: nothing). Raises that they are not
-- as many as were declared.
local function names_of(family, count, names)
  names = family.labels or names
  if names and #names ~= count then
    error(("its keys have %d parts, and there are %d labels: %s"):format(count, #names, table.concat(names, ", ")), 0)
  end
  if names then return names end
  if count == 1 then return { "key" } end
  names = {}
  for i = 1, count do names[i] = "key" .. i end
  return names
end

-- labels(family, key, put): put(name, value) for each label of KEY, one of those of FAMILY.
function metric.labels(family, key, put)
  if key == OVERFLOW then return put("overflow", "true") end
  if family.keys then key = family.keys(key) end
  local parts, names = parts_of(key)
  if not parts then return put(names_of(family, 1)[1], key) end
  names = names_of(family, #parts, names)
  for i, part in ipairs(parts) do put(names[i], part) end
end

-- What METHOD of the object SOURCE returns. The script has not looked at it by that: its report is still to come.
local function unnoticed(source, method)
  local is_read = rawget(source, "read")
  local first, second, third = source[method](source)
  rawset(source, "read", is_read)
  return first, second, third
end

-- Calls SEE(key, value) for what there is now of FAMILY; what is kept under no key has the key nil. Raises what its
-- function raises.
function metric.read(family, see)
  local source = family.source
  if type(source) == "function" then
    local result = source()
    if type(result) ~= "table" or getmetatable(result) then return see(nil, result) end
    for key, value in pairs(result) do see(key, value) end
    return
  end
  if data.is_keyed(source) then
    local is_aggregate = object.state(source).operations ~= nil
    if family.ttl then aggregate.expire(source, family.ttl, loop.now(), family.type ~= "gauge") end
    for key, value in unnoticed(source, "pairs") do see(key, value) end
    local rest = is_aggregate and aggregate.rest(source)
    if rest then see(OVERFLOW, rest) end
  else
    see(nil, (unnoticed(source, "get")))
  end
end

return metric
