-- The handlers of a span (uplua.span): what runs in the kernel at its begin, on its way, at its end, and where a thread
-- or process exits. They are put together as text, since what a script leaves out must cost nothing.
--
-- A begin stores { from = side } in the map `open`, under its key; what the span passes on its way is put there, too,
-- as v1, v2 …; the end takes the entry out. Where spans nest, the key is { key, depth }, and `depths` has the depth of
-- each key.
--
-- Of several handlers that take an entry out at the same time, one is told that it has: each begin ends once. What
-- happens between its copy and its removal is not seen: if another CPU ends the span and begins one of the same key
-- anew in these nanoseconds, that begin is taken for the one that was copied. Where spans nest, an end that comes
-- while another CPU is about to store the begin finds none.
local capture   = require "uplua.compile.capture"
local failure   = require "uplua.base.failure"
local providers = require "uplua.probe.providers"
local text      = require "uplua.base.text"

local handlers = {}

local NESTED = { nested = true, all = true }

-- True where more than one span of a key can be open.
function handlers.nests(wins) return NESTED[wins] or false end

-- Lines of a handler: where SIDE does not want a hit or has no key for it, the handler ends.
local function opening(side)
  local lines = {}
  if side.where then lines[1] = ("  if not %s_where(e) then return end"):format(side.name) end
  lines[#lines + 1] = ("  local k = %s_key(e)"):format(side.name)
  lines[#lines + 1] = "  if k == nil then keyless:inc() return end"
  return table.concat(lines, "\n")
end

local function specs_of(side) return type(side[1]) == "table" and side[1] or { side[1] } end

-- True if SIDE's probe is hit whoever runs, as a timer is.
local function is_of_nobody(side)
  for _, spec in ipairs(specs_of(side)) do
    if providers.of_spec(spec).of_nobody then return true end
  end
  return false
end

-- The record of SIDE, as the local variable VARIABLE. Its time is taken last: what `keep` takes is not in the span.
local function record_of(side, variable, time)
  local fields = { "cpu = e.cpu" }
  if not is_of_nobody(side) then fields = { "pid = e.pid", "tid = e.tid", "cpu = e.cpu", "comm = e.comm" } end
  table.insert(fields, 1, "time = " .. time)
  if not side.keep then return ("  local %s = { %s }"):format(variable, table.concat(fields, ", ")) end
  local lines = { ("  local %s = %s_keep(e)"):format(variable, side.name) }
  for i, field in ipairs(fields) do lines[i + 1] = ("  %s.%s"):format(variable, field) end
  return table.concat(lines, "\n")
end

local function time_of(side) return side.time and side.name .. "_time(e)" or "e.time" end

local BEGIN = {
  newest = "  open[k] = { from = from }",
  oldest = "  if not open[k] then open[k] = { from = from } end",
  nested = [[
  local depth = fetch_add(depths, k, 1)
  if depth then open[{ k, depth + 1 }] = { from = from } end]],
}
BEGIN.all = BEGIN.nested

local function begin(spec, side)
  return ("%s\n%s\n  begun:inc()\n%s"):format(opening(side), record_of(side, "from", time_of(side)), BEGIN[spec.wins])
end

-- What an end does with `span`, the entry that it has found, which ended at `now`.
local function finished(spec, side)
  local vias = {}
  for i = 1, #spec.via do vias[i] = ("span.v%d"):format(i) end
  local via = #vias > 0 and ("via = { %s }, "):format(table.concat(vias, ", ")) or ""
  local give_up = spec.stays and "if remove(open, k) then late:inc() end" or "late:inc()"
  local late = spec.timeout and ("elseif elapsed > %dLL then\n    %s\n  "):format(spec.timeout, give_up) or ""
  return ([[
  local elapsed = now - span.from.time
  if elapsed < 0 then
    backwards:inc()
  %selse
    ended:inc()
%s
    done({ key = k, elapsed = elapsed, from = span.from, %sto = to })
  end]]):format(late, record_of(side, "to", "now"), via)
end

local END = {
  -- One span of a key.
  newest = [[
  local entry = open[k]
  if not entry then unbegun:inc() return end
  local span = up.copy(entry)
  if not remove(open, k) then unbegun:inc() return end
%s]],
  stays = [[
  local entry = open[k]
  if not entry then unbegun:inc() return end
  local span = up.copy(entry)
%s]],
  nested = [[
  if (depths[k] or 0) <= 0 then unbegun:inc() return end
  local depth = fetch_add(depths, k, -1) or 0
  if depth <= 0 then
    fetch_add(depths, k, 1)
    unbegun:inc()
    return
  end
  if depth == 1 then depths[k] = nil end
  local entry = open[{ k, depth }]
  if not entry then unbegun:inc() return end
  local span = up.copy(entry)
  if not remove(open, { k, depth }) then unbegun:inc() return end
%s]],
  all = [[
  local depth = depths[k] or 0
  if depth <= 0 or not remove(depths, k) then unbegun:inc() return end
  for i = 1, depth do
  local entry = open[{ k, i }]
  if entry then
  local span = up.copy(entry)
  if remove(open, { k, i }) then
%s
  end
  end
  end]],
}
END.oldest = END.newest

local function finish(spec, side)
  local body = END[spec.stays and "stays" or spec.wins]:format(finished(spec, side))
  return ("%s\n  local now = %s\n%s"):format(opening(side), time_of(side), body)
end

local function pass(spec, side, i)
  local find = "  local entry = open[k]\n"
  if handlers.nests(spec.wins) then
    find = "  local depth = depths[k] or 0\n  if depth <= 0 then unbegun_via:inc() return end\n" ..
      "  local entry = open[{ k, depth }]\n"
  end
  return ("%s\n%s%s\n%s\n  entry.v%d = passed"):format(opening(side), find,
    "  if not entry then unbegun_via:inc() return end", record_of(side, "passed", time_of(side)), i)
end

-- Where a thread exits, or a process with its last thread: what it has begun and not ended is over. Where the key is
-- not its number, uplua.span.counts looks for that among what is open.
local function leave(spec)
  local guard = spec.exit == "process" and "  if e.task.signal.live.counter ~= 0 then return end\n" or ""
  local number = spec.exit == "process" and "pid" or "tid"
  if not spec.by_number then
    return ("%s  exits:emit { number = e.%s, time = e.time }"):format(guard, number)
  end
  local take = "  if remove(open, k) then exited:inc() end"
  if handlers.nests(spec.wins) then
    take = [[
  local depth = depths[k] or 0
  for i = 1, depth do
    if remove(open, { k, i }) then exited:inc() end
  end
  if depth > 0 then depths[k] = nil end]]
  end
  return ("%s  local k = e.%s\n%s"):format(guard, number, take)
end

-- Compiles BODY, the handler that messages call NAME, in which GLOBALS are known. The ledger calls maps by the names
-- that the handler has for them: those of several spans differ.
local function compiled(body, name, globals)
  body = body:gsub("%f[%w_]%l+%f[^%w_]", globals.names)
  local chunk = assert(loadstring("return function(e)\n" .. body .. "\nend", "=" .. text.cut(name, 50)))
  return setfenv(chunk, globals)()
end

-- What SIDE's probe is, however it is spelled.
local function probe_of(side)
  local list = {}
  for i, spec in ipairs(specs_of(side)) do
    local provider, rest = providers.of_spec(spec)
    list[i] = provider.name .. ":" .. rest
  end
  table.sort(list)
  return table.concat(list, "\n")
end

local function refuse_one_probe(spec)
  local from, to = spec.from[1], spec.to[1]
  if #spec.from > 1 or #spec.to > 1 or from.key ~= to.key or probe_of(from) ~= probe_of(to) then return end
  if handlers.nests(spec.wins) or spec.stays or spec.wins == "oldest" then
    failure.mistake(("%s: a span that begins and ends at one probe lasts from each hit to the next; wins and stays "
      .. "mean nothing there"):format(from[1]))
  end
end

local function same_options(a, b)
  for name, value in pairs(a) do
    if b[name] ~= value then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

-- make(spec, globals): the probes of SPEC, { from, via, to, wins, stays, timeout, exit } of uplua.span, where from and
-- to are lists of sides, and via is a list of such lists: { spec, options, handler, begins, ends } each, the last two
-- true where spans do that. GLOBALS is what handlers know: the maps and counts by the names above, `names` of the maps
-- in the ledger, `done`, and each side's functions, "from1_key" and so on. Where spans end and begin at one probe, a
-- hit ends first.
function handlers.make(spec, globals)
  refuse_one_probe(spec)
  globals.remove, globals.fetch_add = capture.remove, capture.fetch_add
  local made, found, joined = {}, {}, 0
  local function add(side, body, begins, ends)
    local name, which = "span " .. specs_of(side)[1], probe_of(side)
    local fn = compiled(body, name, globals)
    local at = found[which]
    if not at then
      at = { side[1], options = side.options, handler = fn, begins = begins, ends = ends }
      made[#made + 1], found[which] = at, at
      return
    end
    if not same_options(at.options, side.options) then
      failure.mistake(("span: %s: one probe has one set of options: give both sides the same")
        :format(specs_of(side)[1]))
    end
    joined = joined + 1
    local first, second = "at_first_" .. joined, "at_second_" .. joined
    globals[first], globals[second] = at.handler, fn
    at.handler = compiled(("  %s(e)\n  %s(e)"):format(first, second), name, globals)
    at.begins = at.begins or begins
  end
  for _, side in ipairs(spec.to) do add(side, finish(spec, side), false, true) end
  for _, side in ipairs(spec.from) do add(side, begin(spec, side), true, false) end
  for i, sides in ipairs(spec.via) do
    found = {} -- of its own: before or behind the begin of its probe, as it is declared
    for _, side in ipairs(sides) do add(side, pass(spec, side, i)) end
  end
  if spec.exit then
    made[#made + 1] = { "raw_tracepoint:sched_process_exit", options = { all = true, every_cpu = true },
                        handler = compiled(leave(spec), "span at exit", globals) }
  end
  return made
end

return handlers
