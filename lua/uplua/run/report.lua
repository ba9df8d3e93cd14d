-- Reports: what a script says at the end of the run, and in between where somebody wants to see it grow.
local format       = require "uplua.objects.format"
local interval     = require "uplua.base.interval"
local loop         = require "uplua.base.loop"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local run          = require "uplua.base.run"
local text         = require "uplua.base.text"

local report = {}

local OPTIONS = { tables = option_table.boolean }

local LEAST = 0.1 -- of a period: a rest that is shorter is no interval of its own, but part of the last one

local own = run.part(function() return { used = false } end)

-- Raises it where --interval is given and nothing reports by it.
function report.check()
  if options.interval and not own().used then
    error("--interval: this script has no report that can be repeated (up.report)", 0)
  end
end

-- report(period, fn, [options]): calls fn for the report, as up.at_exit does; with a PERIOD ("5s", or ns; false or nil:
-- that of --interval, or none) each so often, too, and then each report stands under what it is of, from when to when
-- and how long, parted by an empty line; as data, what fn prints has that. What --duration leaves behind the last
-- period, if that is less than a tenth of one, is part of it. The option tables = true: what fn prints are tables
-- (uplua.view), and text only below rows that view:print returns; on a terminal they live.
function report.report(period, fn, given)
  if type(fn) ~= "function" then
    error("report: a function is expected behind the period, not " .. text.shown(fn), 2)
  end
  given = option_table.read("report", given, OPTIONS)
  own().used = true
  period = period or options.interval
  if not period then return loop.at_exit(fn) end
  local ns, wrong = text.wait(period)
  if not ns or ns == 0 then error(wrong or "the period must be longer than zero", 2) end
  local since, ended
  local function timed(partial)
    local now = ended or text.now()
    local from = since or now
    since = now
    partial = partial and tonumber(now - from) < ns
    local heading = not format.interval(from, now, partial) and text.interval(from, now) or nil
    interval.of(heading, given.tables or false, fn)
    format.interval(nil)
  end
  loop.at_start(function() since = text.now() end)
  loop.at_stop(function() ended = text.now() end)
  loop.at_exit(function() timed(true) end)
  return loop.every(period, function()
    local left = loop.left()
    if not left or left > LEAST * ns / 1e9 then timed() end
  end)
end

return report
