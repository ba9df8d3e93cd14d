-- The hits of probes as events with all that is known of them, for scripts that print them one by one.
--
--   local trace = require "uplua.trace"
--   trace.each("syscall:open*", { returns = true, min = "1ms" }, function(event) print(event.call) end)
--
-- An event has
--   time, pid, tid, comm       as the handler's
--   name                       of what was hit: "openat", "malloc", "sched:sched_switch"
--   arguments                  { { name, value, text }, … }: by name where the probe has names
--   ret, elapsed               at returns, also of a spec that names one: "sysreturn:openat"
--   result, returned           at returns: what is returned, as a text and by its type; nil where that is nothing
--   stack, kernel_stack        if asked for
--   call                       "openat(dfd=AT_FDCWD, filename="/etc/passwd", flags=O_RDONLY, mode=0) = 3"
-- and is valid until the function returns.
local failure      = require "uplua.base.failure"
local hits         = require "uplua.trace.hits"
local layout       = require "uplua.types.layout"
local option_table = require "uplua.base.option_table"
local printing     = require "uplua.trace.printing"
local text         = require "uplua.base.text"

local trace = {}

local DEEPEST = 8 -- pointers one behind another

local OPTIONS = {
  returns = option_table.boolean, min = text.duration, where = option_table.text, stack = option_table.boolean,
  size = text.size, depth = option_table.integer(0, DEEPEST), kernel = option_table.boolean, print = option_table.text,
  key = option_table.check("a function of the event", function(fn) return type(fn) == "function" and fn or nil end),
}
local OF_SPEC = { where = option_table.text, print = option_table.text }

local INDENT = "    "
local SHORT = 32 -- columns of a structure that stays in its line

-- lines(event, room, [width]): the call of EVENT, as event.call has it; where that is wider than ROOM columns,
-- structures are left out of it and stand in a list of further lines, indented, of WIDTH columns (120) where they fit
-- into them, which is the second result.
function trace.lines(event, room, width)
  local of_event, further, short = hits.trees_of(event), {}, {}
  if event.values then -- printed as the user wants it
    for line in event.call:gmatch "[^\n]+" do further[#further + 1] = line end
    return table.remove(further, 1) or "", further
  end
  if not next(of_event) or text.width(event.call) <= room then return event.call, further end
  local function add(place, name)
    local tree = of_event[place]
    if not tree or text.width(layout.line(tree)) <= SHORT then return end
    short[place] = layout.short(tree)
    for _, line in ipairs(layout.lines(tree, name .. " = ", INDENT, width or 120)) do further[#further + 1] = line end
  end
  for i, argument in ipairs(event.arguments) do add(i, argument.name) end
  add("result", "result")
  return hits.line(event, short), further
end

-- The function of handlers that returns whether a hit is wanted, by EXPRESSION, a text; nil: all are.
local function condition_of(expression)
  return require "uplua".expression(expression or "true", {
    name = "--where", kind = expression and "condition", at_return = "--return",
  })
end

-- Whether one of so many expressions, texts or nil, may read e.ret.
local function reads_result(...)
  for i = 1, select("#", ...) do
    local expression = select(i, ...)
    if expression and expression:find "ret" then return true end
  end
  return false
end

-- SPECS as hits.declare takes them, each with what it has for itself: `where`, and `printed`. OPTIONS: of all, as the
-- user has given them.
local function specs_of(specs, options)
  local list, own, of_all = {}, {}, options.print and printing.parse(options.print)
  for i, one in ipairs(type(specs) == "table" and specs or { specs }) do
    local spec, given = one, {}
    if type(one) == "table" then
      spec = one[1]
      given = option_table.read("trace.each: spec " .. i, option_table.named(one), OF_SPEC)
    end
    if type(spec) == "string" then
      if own[spec] and (given.where or given.print) then
        failure.mistake(("%s: it is given twice, of which one has --where or --print"):format(spec))
      end
      own[spec] = true
    end
    list[i] = {
      spec, where = condition_of(given.where), key = options.key,
      printed = given.print and printing.parse(given.print) or of_all or nil,
      asks = reads_result(given.where, given.print, options.where, options.print) or options.key ~= nil,
    }
  end
  return list
end

-- each(spec, [options], fn): calls FN with an event for each hit of SPEC, in order of time: a spec of up.probe, or a
-- list of them, of which each may be { spec, where = …, print = … } with what counts for that alone. Options: returns,
-- the hits are returns (up.retprobe); min, only calls that took so long ("1ms", or ns); where, a Lua expression of the
-- handler's event; print, what the call is instead, '"%s of %d", e.comm, e.arg0', whose values are event.values; stack,
-- with the program's stack; kernel, with the kernel's; depth, so many pointers are followed from each argument, whose
-- value is what they lead to then; key, a function for handlers whose value is event.key (uplua.by); size, of the ring
-- ("4M"). Raises what is wrong, of SPEC without the script's line.
function trace.each(spec, options, fn)
  options, fn = option_table.split(options, fn)
  if type(fn) ~= "function" then error("trace.each: the last argument is a function; options stand before it", 2) end
  options = option_table.read("trace.each", options, OPTIONS)
  local specs = specs_of(spec, options)
  options.where = condition_of(options.where)
  local ring = require "uplua".ring { size = options.size or "4M" }
  local parts = hits.declare(ring, specs, options)
  ring:each(function(record)
    local event = hits.event(parts, record, options)
    if options.key then event.key = record.key end
    fn(event)
  end)
end

return trace
