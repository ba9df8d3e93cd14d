--[=[
heapmetrics: which call stacks hold memory that was allocated and not freed? As metrics.

  uplua --serve ADDRESS heapmetrics.lua [options] -- PID ... or COMMAND

follows what the target allocates and frees, as mallocleak.lua does. Without --serve the same is printed at the end.

  -n, --top N     the N stacks that hold most are series; the others are one, "(others)" (default 20)
  --older AGE     only blocks that are at least this old, such as 5s
  --sample N      follows one block in N, chosen by address, and scales what they hold: estimates, at less cost
  --max N         room for N blocks at a time (default 1000000)

  heap_live_bytes, heap_live_blocks    what is held, by stack: the functions from the one that allocates up
  heap_allocations_total, heap_frees_total    calls

What was allocated before uplua was there is not counted. A scrape reads all blocks: some 3 us for each.

  $ uplua --serve 9435 heapmetrics.lua --older 1m -- 4242
--]=]
local up         = require "uplua"
local allocators = require "uplua.allocators"
local text       = require "uplua.text"
local view       = require "uplua.view"

local options = up.args {
  "heapmetrics.lua [options] -- PID... or COMMAND",
  { "top,n",  "N",   "integer",  20,      "the N stacks that hold most are series" },
  { "older",  "AGE", "duration", 0,       "only blocks at least this old, such as 5s" },
  { "sample", "N",   "integer",  1,       "follow one block in N, and scale what is held" },
  { "max",    "N",   "integer",  1000000, "room for N blocks at a time" },
  arguments = 0,
}
if options.sample < 1 then up.args.fail("--sample: one block in %d cannot be followed", options.sample) end
if options.max < 1 then up.args.fail("--max: there must be room for a block") end

local OTHERS, LONGEST = "(others)", 190 -- bytes of a stack's text

local allocations, frees = up.count(), up.count()
local trace = allocators.trace({
  blocks = options.max, option = "--max", stack = true, sample = options.sample,
  warn = function(message) io.stderr:write("heapmetrics: ", message, "\n") end,
}, {
  allocated = function() allocations:inc() end,
  freed = function() frees:inc() end,
})

-- The functions of STACK, the one that allocates first, as many as there is room for.
local function functions_of(stack)
  local names = stack and stack:folded() or ""
  local list, length = {}, 0
  for name in ((names:match "^.*$"):gmatch "[^;]+") do table.insert(list, 1, name) end
  for i, name in ipairs(list) do
    length = length + #name + 3
    if length > LONGEST then
      list[i] = "…"
      for k = #list, i + 1, -1 do list[k] = nil end
      break
    end
  end
  return #list > 0 and table.concat(list, " < ") or "(no stack)"
end

-- What is held now: a list of { stack, bytes, blocks }, the most bytes first, the last of it what the others hold.
local function held()
  local rows, place = {}, {}
  for i, h in ipairs((trace:held(up.now(), options.older))) do
    local name = i <= options.top and functions_of(h.stack) or OTHERS
    local row = place[name]
    if not row then
      row = { stack = name, bytes = 0, blocks = 0 }
      place[name], rows[#rows + 1] = row, row
    end
    row.bytes, row.blocks = row.bytes + h.bytes * options.sample, row.blocks + h.blocks * options.sample
  end
  return rows
end

-- A scrape asks for two metrics of one moment.
local latest, at = nil, 0
local function now(field)
  return function()
    if not latest or up.now() - at > 1e8 then latest, at = held(), up.now() end
    local values = {}
    for _, row in ipairs(latest) do values[row.stack] = row[field] end
    return values
  end
end
up.metric("heap_live", now "bytes", { labels = { "stack" }, unit = "bytes", help = "bytes that are held, by stack" })
up.metric("heap_live_blocks", now "blocks", { labels = { "stack" }, help = "blocks that are held, by stack" })
up.metric("heap_allocations", allocations, { help = "blocks that were allocated" })
up.metric("heap_frees", frees, { help = "blocks that were freed" })

local stacks = view.new {
  { "bytes", "Bytes", "bytes" }, { "blocks", "Blocks", "count" }, { "stack", "Functions" }, by = "bytes",
}
local target = trace:target()
up.at_exit(function()
  up.printf("%s, %s, %s\n", target, text.plural(allocations:get(), "allocation"), text.plural(frees:get(), "free"))
  stacks:print(held())
end)
