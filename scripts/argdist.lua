--[=[
argdist: which values does an expression take at a probe?

  uplua argdist.lua [options] SPEC [-- PID ... or COMMAND]

  -k, --key EXPR         counts the hits by the value of EXPR, a Lua expression of the event e, such as 'e.arg0 / 4096',
                         'e.comm', 'up.str(e.arg1)' (default: e.func)
  -v, --value EXPR       a histogram of EXPR's values, with --key one for each key
  -w, --where EXPR       only hits for which EXPR is true, such as 'e.arg0 > 4096'
  -r, --return           at the return of the function: e.ret and e.elapsed, and the arguments of the call
  -n, --top N            the N most frequent keys (default 20; 0: all)
  -i, --interval TIME    prints the counts each TIME, too

  $ uplua argdist.lua libc:malloc --key e.arg0 -- redis-server
  $ uplua argdist.lua syscall:read --return --value e.ret --key e.comm
--]=]
local up   = require "uplua"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "argdist.lua [options] SPEC [-- PID ... or COMMAND]",
  { "key,k",      "EXPR", "string",   false, "count by the value of EXPR (default e.func)" },
  { "value,v",    "EXPR", "string",   false, "a histogram of EXPR's values" },
  { "where,w",    "EXPR", "string",   false, "only hits for which EXPR is true" },
  { "return,r",                              "at the return: e.ret, e.elapsed" },
  { "top,n",      "N",    "integer",  20,    "the N most frequent keys; 0: all" },
  { "interval,i", "TIME", "duration", false, "print the counts each TIME, too", least = "10ms" },
}
if #options ~= 1 then up.args.fail("one spec is expected, such as libc:malloc, not %d", #options) end

local function expression(source, name, kind)
  return up.expression(source, { name = name, kind = kind, at_return = "--return" })
end
local key   = expression(options.key or "e.func", "--key", "value")
local where = expression(options.where or "true", "--where", "condition")
local value = options.value and expression(options.value, "--value", "number")
local distribution = value and up.hist() or up.count()

local function add(e) distribution[key(e)]:inc() end
if value and options.key then
  function add(e) distribution[key(e)]:add(value(e)) end
elseif value then
  function add(e) distribution:add(value(e)) end
end

local probe = options["return"] and up.retprobe or up.probe
probe(options[1], function(e)
  if where(e) then add(e) end
end)

local values = view.new { { "key", options.key or "Function" }, { "n", "Hits", "count" }, by = "n", top = options.top }

local function print_counts(counted)
  local rows = {}
  for key, n in counted:pairs() do rows[#rows + 1] = { key = key, n = n } end
  values:print(rows)
end

local function print_histograms(histograms)
  for key, h in histograms:top(options.top > 0 and options.top or nil, "count") do
    up.printf("%s\n%s\n\n", type(key) == "string" and text.escape(key) or key, h)
  end
end

up.report(options.interval, function()
  local taken = distribution:take()
  if not value then
    print_counts(taken)
  elseif options.key then
    print_histograms(taken)
  else
    up.printf("%s\n", taken)
  end
end)

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
