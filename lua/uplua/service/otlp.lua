-- --otlp URL: metrics, pushed to a collector as OTLP/JSON over HTTP, by its published schema
-- (https://opentelemetry.io/docs/specs/otlp/, opentelemetry/proto/metrics/v1/metrics.proto). What is counted is
-- cumulative: of requests that were lost the next one has all but the time between.
local exposition = require "uplua.service.exposition"
local json       = require "uplua.base.json"
local loop       = require "uplua.base.loop"
local post       = require "uplua.service.post"
local proc       = require "uplua.base.proc"
local run        = require "uplua.base.run"
local text       = require "uplua.base.text"
local version    = require "uplua.base.version"

local otlp = {}

local PERIOD = 10           -- seconds between two requests, unless --every says otherwise
local ROOM = 16             -- requests that wait for a collector that does not answer; then the oldest is given up
local FIRST, LAST = 1, 60   -- seconds after which one is tried again: at first, and at most
local LAST_CHANCE = 2       -- seconds that the last one may take when the run ends
local TURN = 0.005          -- seconds that the work on one may take at a time
local AGAIN = { [429] = true, [502] = true, [503] = true, [504] = true } -- of the specification
local CUMULATIVE = 2

local own = run.part(function()
  return {
    client = nil, collect = nil, period = PERIOD, began = nil,
    queue = {},       -- bodies that are to be sent, the oldest first
    sending = false, wait = FIRST, not_before = 0,
    given_up = 0, refused = 0,
    said = nil,       -- what was last said of the collector; nil: it answers
    timer = nil,
  }
end)

-- endpoint(url) → where metrics go: URL itself if it has a path, else its /v1/metrics. Raises that it is none.
function otlp.endpoint(url)
  local host, path = url:match "^https?://([^/?#]+)(.*)$"
  if not host then
    error(("--otlp: '%s' is no URL of a collector, such as http://127.0.0.1:4318"):format(text.escape(url)), 0)
  end
  if path == "" or path == "/" then return url:gsub("/$", "") .. "/v1/metrics" end
  return url
end

-- VALUE, of a family that counts in DIVISOR to one of its unit, as a field of a data point.
local function put_number(point, value, divisor)
  if type(value) == "boolean" then value = value and 1 or 0 end
  if divisor == 1 and type(value) == "cdata" then
    point.asInt = (tostring(value):gsub("U?LL$", ""))
  elseif divisor == 1 and type(value) == "number" and value % 1 == 0 and value >= -2 ^ 63 and value < 2 ^ 63 then
    point.asInt = ("%.0f"):format(value)
  else
    value = (tonumber(value) or error("its values are no numbers", 0)) / divisor
    local is_finite = value - value == 0
    point.asDouble = is_finite and value or value ~= value and "NaN" or value > 0 and "Infinity" or "-Infinity"
  end
end

-- A histogram's value: each bucket has the values up to its bound, above the one before.
local function put_histogram(point, family, value)
  local below, counts, bounds = exposition.below(family, value), {}, {}
  for i, first in ipairs(family.ends) do
    bounds[i] = (first - 1) / family.divisor
    counts[i] = ("%.0f"):format(tonumber(below[i]) - tonumber(below[i - 1] or 0))
  end
  counts[#counts + 1] = ("%.0f"):format(tonumber(value.count) - tonumber(below[#below] or 0))
  point.count, point.sum = ("%.0f"):format(tonumber(value.count)), tonumber(value.sum) / family.divisor
  point.bucketCounts, point.explicitBounds = counts, bounds
end

-- The entries of FAMILY: of each its attributes, and the list of values of keys that read alike. PAUSE is called for
-- each.
local function entries_of(family, metric, pause)
  local list, place = {}, {}
  local function see(key, value)
    local attributes, parts = {}, {}
    if key ~= nil then
      metric.labels(family, key, function(name, part)
        local label = exposition.label(part)
        attributes[#attributes + 1] = { key = name, value = { stringValue = label } }
        parts[#parts + 1] = name .. "\0" .. label
      end)
    end
    local id = table.concat(parts, "\0")
    local entry = place[id]
    if not entry then
      entry = { attributes = attributes, values = {} }
      place[id], list[#list + 1] = entry, entry
    end
    table.insert(entry.values, value)
    pause()
  end
  if family.read then family.read(see) else metric.read(family, see) end
  return list
end

-- FAMILY as metrics of OTLP: a list of tables for json.
local function metrics_of(family, metric, now, pause)
  local entries, list = entries_of(family, metric, pause), {}
  for _, suffix in ipairs(family.type == "gauge" and family.suffixes or { "" }) do
    local points, field = {}, exposition.FIELDS[suffix]
    for _, entry in ipairs(entries) do
      local value = exposition.together(family, entry.values)
      if field then value = value[field] end
      if value ~= nil then
        local point = { timeUnixNano = now, attributes = #entry.attributes > 0 and entry.attributes or nil }
        if family.type ~= "gauge" then point.startTimeUnixNano = own().began end
        if family.type == "histogram" then
          put_histogram(point, family, value)
        else
          put_number(point, value, family.divisor)
        end
        points[#points + 1] = point
      end
      pause()
    end
    local one = { name = family.name .. suffix, description = family.help, unit = family.unit }
    local data = { dataPoints = points }
    if family.type ~= "gauge" then data.aggregationTemporality = CUMULATIVE end
    if family.type == "counter" then
      data.isMonotonic = true
      one.sum = data
    else
      one[family.type] = data
    end
    if #points > 0 then list[#list + 1] = one end
  end
  return list
end

local function now() return text.integer(select(2, text.clocks())) end

-- The request's body: FAMILIES, some of them of METRIC, the others of uplua itself. FAILED(family, why) is called for
-- one that cannot be read. Pauses now and then.
local function body_of(families, metric, failed, pause)
  local at, parts = now(), {}
  for _, family in ipairs(families) do
    local ok, why = pcall(function()
      for _, one in ipairs(metrics_of(family, metric, at, pause)) do parts[#parts + 1] = json.encode(one) end
    end)
    if not ok then failed(family, tostring(why)) end
  end
  local resource = json.encode { attributes = {
    { key = "service.name", value = { stringValue = "uplua" } },
    { key = "host.name", value = { stringValue = (proc.read "sys/kernel/hostname" or ""):match "%S*" } },
  } }
  return ('{"resourceMetrics":[{"resource":%s,"scopeMetrics":[{"scope":%s,"metrics":[%s]}]}]}'):format(resource,
    json.encode { name = "uplua", version = version.version }, table.concat(parts, ","))
end

-- Says WHY the collector does not take what is sent, where that is new; nil: it does.
local function say(why)
  local mine = own()
  if why == mine.said then return end
  loop.warn(why and ("--otlp: %s"):format(why) or "--otlp: the collector answers again")
  mine.said = why
end

local flush

local function answered(status, answer, seconds)
  local mine = own()
  mine.sending = false
  if not mine.client then return end
  if status and status >= 200 and status < 300 then
    table.remove(mine.queue, 1)
    mine.wait, mine.not_before = FIRST, 0
    local rejected = tonumber(answer:match '"rejectedDataPoints"%s*:%s*"?(%d+)')
    if rejected and rejected > 0 then
      mine.refused = mine.refused + 1
      say(("the collector has rejected %d data points: %s"):format(rejected,
        text.escape(answer:match '"errorMessage"%s*:%s*"([^"]*)' or "it does not say why")))
    else
      say(nil)
    end
    return flush()
  end
  if status and not AGAIN[status] then
    table.remove(mine.queue, 1)
    mine.refused = mine.refused + 1
    say(("the collector refuses what is sent: status %d"):format(status))
    return flush()
  end
  say(status and ("the collector answers with status %d"):format(status) or
    ("no answer from the collector: %s"):format(answer))
  mine.not_before = loop.now() + (seconds or mine.wait)
  mine.wait = math.min(2 * mine.wait, LAST)
  loop.at(mine.not_before, flush)
end

-- Sends the oldest that waits, where none is under way.
function flush()
  local mine = own()
  if mine.sending or not mine.client or #mine.queue == 0 or loop.now() < mine.not_before then return end
  mine.sending = true
  mine.client:send(mine.queue[1], answered)
end

-- BODY is to be sent.
local function push(body)
  local mine = own()
  if #mine.queue == ROOM then
    table.remove(mine.queue, mine.sending and 2 or 1)
    mine.given_up = mine.given_up + 1
  end
  mine.queue[#mine.queue + 1] = body
  flush()
end

local function tick()
  local mine = own()
  mine.timer = loop.at(loop.now() + mine.period, tick)
  if mine.working then return end -- the last one is not even made
  mine.working = true
  local calls, due = 0, loop.now() + TURN
  local function pause()
    calls = calls + 1
    if calls % 64 == 0 and loop.now() >= due then
      coroutine.yield()
      due = loop.now() + TURN
    end
  end
  local work = coroutine.create(function() push(mine.collect(pause)) end)
  local function go_on()
    local ok, why = coroutine.resume(work)
    if ok and coroutine.status(work) ~= "dead" then return loop.at(loop.now(), go_on) end
    mine.working = false
    if not ok then loop.warn("--otlp: the metrics cannot be written: " .. tostring(why)) end
  end
  go_on()
end

-- begin(url): raises that libcurl is not there, or that URL is none.
function otlp.begin(url)
  otlp.endpoint(url)
  post.load_library()
end

-- start(url, seconds, families, metric, failed): from now on what families() returns is sent to URL, each so many
-- SECONDS (nil: 10); METRIC reads those of the script. FAILED(family, why) is called for one that cannot be read.
-- Returns what is done, for people.
function otlp.start(url, seconds, families, metric, failed)
  local mine = own()
  mine.client = post.new(otlp.endpoint(url), { "Content-Type: application/json", "Expect:" })
  mine.period, mine.began = seconds or PERIOD, now()
  mine.collect = function(pause) return body_of(families(), metric, failed, pause) end
  mine.timer = loop.at(loop.now() + mine.period, tick)
  return "pushing metrics to " .. text.escape(otlp.endpoint(url))
end

-- lost() → how many requests were given up, as the collector did not answer for long, and how many it has refused.
function otlp.lost() return own().given_up, own().refused end

-- finish(): sends what there is at the end, and ends it.
function otlp.finish()
  local mine = own()
  if not mine.client then return end
  if mine.timer then mine.timer.fn = nil end
  local ok, status, why = pcall(function()
    return mine.client:send_now(mine.collect(function() end), LAST_CHANCE)
  end)
  if not ok or not (status and status >= 200 and status < 300) then
    loop.warn(("--otlp: the last metrics were not sent: %s"):format(tostring(not ok and status or status and
      "status " .. status or why)))
  end
  mine.client:close()
  mine.client = nil
end

return otlp
