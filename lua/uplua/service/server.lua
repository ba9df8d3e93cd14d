-- uplua --serve ADDRESS: the script's metrics, and uplua's own, by HTTP. A scrape reads maps and clears none; what is
-- long is written in pieces, between which the run goes on.
local core       = require "uplua.core"
local exposition = require "uplua.service.exposition"
local health     = require "uplua.service.health"
local http       = require "uplua.service.http"
local loop       = require "uplua.base.loop"
local metric     = require "uplua.service.metric"
local options    = require "uplua.options"
local otlp       = require "uplua.service.otlp"
local profiles   = require "uplua.service.profiles"
local rights     = require "uplua.service.rights"
local run        = require "uplua.base.run"
local supervisor = require "uplua.service.supervisor"

local server = {}

local TURN = 0.005 -- seconds that a piece of an answer may take
local PATHS = "/metrics\tof this script, for Prometheus\n/healthz\twhether it runs\n" ..
              "/profile?seconds=10\twhat it samples, for pprof\n"

local own = run.part(function()
  return { socket = nil, server = nil, started = false, errors = {} } -- name of a metric → how many, and what was told
end)

-- begin(address, url): listens at ADDRESS (nil: nowhere); what connects waits until start. Raises why that cannot be,
-- or that nothing can be pushed to URL (nil: nothing is), before anything is attached.
function server.begin(address, url)
  if url then otlp.begin(url) end
  if address then
    http.load_library()
    local ok, socket = pcall(core.listener.open, address)
    if not ok then error("--serve: " .. tostring(socket), 0) end
    own().socket = socket
  end
  rights.begin()
end

-- Notes that the metric of FAMILY cannot be read, for the reason WHY, which is told when it is new.
local function failed(family, why)
  local errors = own().errors
  local one = errors[family.name] or { count = 0 }
  errors[family.name] = one
  one.count = one.count + 1
  if one.why == why then return end
  one.why = why
  loop.warn(("metric %s is left out: %s"):format(family.name, why))
end

-- Writes the families; pause() is called now and then.
local function write_all(is_openmetrics, pause)
  local pieces, calls, due = {}, 0, loop.now() + TURN
  local function put(piece)
    pieces[#pieces + 1] = piece
    calls = calls + 1
    if calls % 64 == 0 and loop.now() >= due then
      pause()
      due = loop.now() + TURN
    end
  end
  for _, family in ipairs(metric.families()) do
    local before = #pieces
    local ok, why = pcall(function()
      exposition.write(family, function(see) metric.read(family, see) end, is_openmetrics, put)
    end)
    if not ok then
      for i = #pieces, before + 1, -1 do pieces[i] = nil end -- a family is whole, or is not there
      failed(family, tostring(why))
    end
  end
  for _, family in ipairs(health.families(own().errors)) do
    exposition.write(family, family.read, is_openmetrics, put)
  end
  if is_openmetrics then pieces[#pieces + 1] = "# EOF\n" end
  return table.concat(pieces)
end

-- The weight that the request's Accept header gives the media type NAME (RFC 9110, 12.5.1); 0: none.
local function weight(accept, name)
  for part in (accept or ""):gmatch "[^,]+" do
    if part:match "^%s*([^;%s]*)" == name then return tonumber(part:match ";%s*q=([%d.]+)") or 1 end
  end
  return 0
end

local function scrape(request, answer)
  local accept = request.header "Accept"
  local openmetrics = weight(accept, "application/openmetrics-text")
  local is_openmetrics = openmetrics > 0 and openmetrics >= weight(accept, "text/plain")
  local kind = is_openmetrics and exposition.OPENMETRICS or exposition.TEXT
  local work = coroutine.create(function()
    answer(200, write_all(is_openmetrics, coroutine.yield), { ["Content-Type"] = kind })
  end)
  local function go_on()
    local ok, why = coroutine.resume(work)
    if not ok then
      loop.warn("a scrape has failed: " .. tostring(why))
      return answer(500, "the metrics cannot be written\n")
    end
    if coroutine.status(work) ~= "dead" then loop.at(loop.now(), go_on) end
  end
  go_on()
end

local pages = {
  ["/metrics"] = scrape,
  ["/profile"] = profiles.page,
  ["/healthz"] = function(_, answer) answer(200, "ok\n") end,
}

-- The script's metrics that can be told of now, and uplua's own.
local function families()
  local list = metric.families()
  for _, family in ipairs(health.families(own().errors)) do list[#list + 1] = family end
  return list
end

-- Answers, and pushes, from now on: everything is attached.
function server.start()
  local mine, status = own(), nil
  health.begin()
  if mine.socket then
    mine.server = http.serve(mine.socket, function(request, answer)
      local page = pages[request.path]
      if page then return page(request, answer) end
      answer(request.path == "/" and 200 or 404, PATHS, { ["Content-Type"] = "text/plain; charset=utf-8" })
    end)
    status = "serving metrics at " .. mine.socket:shown()
    loop.warn(status)
  end
  if options.otlp then
    status = otlp.start(options.otlp, options.every and options.every / 1e9, families, metric, failed)
    loop.warn(status)
  end
  rights.drop()
  mine.started = true
  supervisor.ready(status)
end

-- reload(fn, …): calls fn(…), which loads the script again.
server.reload = supervisor.reload

-- Ends it.
function server.finish()
  local mine = own()
  if mine.started then supervisor.stopping() end
  otlp.finish()
  if mine.server then mine.server:close() end
  health.finish()
  if mine.socket then mine.socket:close() end
  mine.server, mine.socket, mine.started = nil, nil, false
end

return server
