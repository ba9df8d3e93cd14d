--[=[
spans: how long does it take from here to there, and what happened when it took long?

  uplua spans.lua --from SPEC --from-key EXPR --to SPEC --to-key EXPR [options] [-- PID ... or COMMAND]

pairs what begins at one probe with what ends at another, in whichever thread or process, by a key that both have: a
request's number, an address, a thread. Prints how long that took, and each part of the way.

      --from SPEC         where it begins; may be given several times
      --from-key EXPR     what tells which begin an end belongs to: an expression of the event e there
      --to SPEC           where it ends; may be given several times
      --to-key EXPR       the same there
      --via SPEC          what it passes on its way; may be given several times, in the order of the way
      --via-key EXPR      the same there, for each --via
  -k, --key EXPR          the key where none is given: of --from, --to and --via
  -A, --all               whoever runs at tracepoints, which may tell of another thread: e.args.pid of sched_wakeup
      --wins WHICH        which of several begins an end belongs to: newest (default), oldest, nested or all
  -t, --than TIME         a line for each that took at least TIME, when it ends
  -W, --window SPEC       … with what else happened meanwhile; may be given several times
  -b, --by WHAT           of whom that is: thread (default; those of the begin, the way and the end), process, cpu, all
      --around TIME       from so long before the begin to so long after the end (default 1ms)
      --timeout TIME      what takes longer is given up
  -i, --interval TIME     prints the times each TIME, too
  -H, --histogram         a histogram of each part, too

  $ uplua spans.lua --from usdt:app:queued --to usdt:app:answered -k e.arg0 --than 10ms -W 'syscall:*' -- ./app
--]=]
local up    = require "uplua"
local span  = require "uplua.span"
local specs = require "uplua.specs"
local view  = require "uplua.view"

local options = up.args {
  "spans.lua --from SPEC --from-key EXPR --to SPEC --to-key EXPR [options] [-- PID ... or COMMAND]",
  { "from",        "SPEC",  "string",   false, "where it begins",                       several = true },
  { "from-key",    "EXPR",  "string",   false, "what tells which begin an end is of",   several = true },
  { "to",          "SPEC",  "string",   false, "where it ends",                         several = true },
  { "to-key",      "EXPR",  "string",   false, "the same there",                        several = true },
  { "via",         "SPEC",  "string",   false, "what it passes on its way",             several = true },
  { "via-key",     "EXPR",  "string",   false, "the same there",                        several = true },
  { "key,k",       "EXPR",  "string",   false, "the key where none is given" },
  { "all,A",                                     "whoever runs at tracepoints" },
  { "wins",        "WHICH", "string",   "newest", "newest, oldest, nested or all" },
  { "than,t",      "TIME",  "duration", false, "a line for each that took so long" },
  { "window,W",    "SPEC",  "string",   false, "with what else happened meanwhile",     several = true },
  { "by,b",        "WHAT",  "string",   "thread", "of whom: thread, process, cpu, all" },
  { "around",      "TIME",  "duration", "1ms", "from so long before to so long after" },
  { "timeout",     "TIME",  "duration", false, "what takes longer is given up" },
  { "interval,i",  "TIME",  "duration", false, "print the times each TIME, too",        least = "10ms" },
  { "histogram,H",                             "a histogram of each part, too" },
  arguments = 0,
}

-- The sides that the options --NAME and --NAME-key say: a list of { spec, key = fn }.
local function sides(name)
  local list, keys = options[name], options[name .. "_key"]
  local made = {}
  for i, spec in ipairs(list) do
    local option = (keys[i] or keys[1]) and "--" .. name .. "-key" or "--key"
    local key = keys[i] or keys[1] or options.key
    if not key then
      up.args.fail(("--%s %s: what tells which begin an end belongs to? Give --%s-key EXPR, such as e.tid"):format(name,
        spec, name))
    end
    made[i] = { spec, key = up.expression(key, { name = option, kind = "value" }),
                all = options.all and specs.of_others(spec) or nil }
  end
  if #keys > #list then up.args.fail(("there are more --%s-key than --%s"):format(name, name)) end
  return made
end
if #options.from == 0 or #options.to == 0 then up.args.fail "from where to where? Give --from SPEC and --to SPEC" end
if #options.window > 0 and not options.than then
  up.args.fail "--window is of what took long: give --than, such as 10ms"
end

local spans = span.new {
  from = sides "from", to = sides "to", via = sides "via", wins = options.wins, timeout = options.timeout or nil,
}
local times = spans:times()

-- Of what took long: a line, and below it what else happened.
local slow = view.stream {
  { "time", "Time", "clock" }, { "elapsed", "Took", "ns", 9 }, { "key", "Key", "text", 16 }, { "from", "Begun by" },
  { "to", "Ended by" },
}
if options.than then
  local around = #options.window > 0 and { by = options.by, before = options.around, after = options.around }
  for i, spec in ipairs(options.window) do around[i] = spec end
  spans:slow(options.than, { window = around or nil }, function(s) slow:print(spans:line(s)) end)
  slow:titles()
end

local parts = view.new {
  { "part", "From → to" }, { "count", "Count", "count" }, { "p50", "p50", "ns" }, { "p90", "p90", "ns" },
  { "p99", "p99", "ns" }, { "max", "Longest", "ns" }, { "sum", "Total", "ns" },
}
up.report(options.interval, function()
  for _, row in ipairs(parts:print(times())) do
    if options.histogram then up.printf("\n%s\n%s\n", row.part, row.histogram) end
  end
end)
up.at_exit(function() up.printf("%s\n", tostring(spans)) end)
