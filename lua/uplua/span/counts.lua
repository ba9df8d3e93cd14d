-- What became of the begins and ends of spans (uplua.span): each is counted, so that none is missing in silence.
--
--   begun        begins
--   ended        spans that have ended
--   open         begins without an end so far
--   unbegun      ends, unbegun_via passings, of what has not begun, or before tracing did
--   replaced     begins that gave way to another one of their key: the older ones, or with wins = "oldest" the newer
--   timed_out    what took longer than the timeout
--   exited       begins of threads or processes that have exited
--   full         begins for which there was no room
--   keyless      begins, ends and passings for which the key was nil
--   backwards    ends whose time is before their begin's
--   cut          begins whose key was cut: one that begins alike is taken for the same
local aggregate = require "uplua.objects.aggregate"
local loop      = require "uplua.base.loop"
local object    = require "uplua.objects.object"
local run       = require "uplua.base.run"
local text      = require "uplua.base.text"

local counts = {}

local MOST_OPEN = 65536
local NAMES = { "begun", "ended", "unbegun", "unbegun_via", "late", "exited", "keyless", "backwards" }
local WORDS = { -- of what is shown where it is not 0
  { "open", "still open" },
  { "unbegun", "ended without a begin" },
  { "unbegun_via", "passed without a begin" },
  { "replaced", "gave way to another begin of the same key" },
  { "timed_out", "took longer than the timeout" },
  { "exited", "given up at an exit" },
  { "full", "not kept, since there was no room" },
  { "keyless", "without a key" },
  { "backwards", "ended before their begin" },
  { "cut", "begun with a key that was cut: those that begin alike are one" },
}

local own = run.part(function() return { spans = {} } end)

-- What SIDES are called: their specs.
local function shown(sides)
  local list = {}
  for i, side in ipairs(sides) do list[i] = type(side[1]) == "table" and table.concat(side[1], ", ") or side[1] end
  return text.escape(table.concat(list, ", "))
end
counts.shown = shown

-- What SPEC of uplua.span is called.
function counts.name_of(spec) return ("%s → %s"):format(shown(spec.from), shown(spec.to)) end

-- The maps and counts of SPEC, by the names that its handlers use (uplua.span.handlers); `names`: what the ledger calls
-- those that can be full.
function counts.declare(spec)
  local up = require "uplua"
  local most = spec.max or MOST_OPEN
  local number = #own().spans + 1
  local function name(base) return number > 1 and ("%s_%d"):format(base, number) or base end
  local kept = {
    open = up.hash { max = most }, depths = up.hash { max = most },
    names = { open = name "open_spans", depths = name "span_depths", exits = name "span_exits" },
  }
  if spec.exit and not spec.by_number then
    kept.exits = object.advise(up.ring { size = "256K", order = false }, "trace fewer threads")
  end
  rawset(kept.open, "read", true)
  rawset(kept.depths, "read", true)
  for _, one in ipairs(NAMES) do kept[one] = aggregate.keep_quiet(up.count()) end
  return kept
end

-- How many begins found no room, and how many had a key that was cut: the ledger counts both by the maps' names.
local function count_lost(kept)
  local full, cut = 0, 0
  for _, entry in ipairs(require "uplua.probe.ledger".list()) do
    for _, name in ipairs { kept.names.open, kept.names.depths } do
      if entry[1]:find(("'%s' is full"):format(name), 1, true) then full = full + entry[2] end
    end
    if entry[1]:find(("a key of '%s' was cut"):format(kept.names.open), 1, true) then cut = cut + entry[2] end
  end
  return full, cut
end

-- The key of an entry of SELF's map of what is open, without the depth.
local function key_of(self, key)
  if self.nests then return key[1] end
  return key
end

-- An entry that was open is gone from its depth: ends look below it. What other ends do meanwhile is not disturbed, as
-- only what is at the top and empty is taken away.
local function lower_depth(self, key)
  local depths, open = self.kept.depths, self.kept.open
  local depth = depths:get(key)
  while depth and depth > 0 and not open:get { key, depth } do depth = depth - 1 end
  if depth and depth > 0 then depths:set(key, depth) elseif depth then depths:delete(key) end
end

-- Takes the entries out for which is_over(entry) is true; returns how many those were. What has begun anew meanwhile
-- stays.
local function give_up(self, is_over)
  local open, many = self.kept.open, 0
  for key, entry in open:pairs() do
    if is_over(entry) then
      local now = open:get(key)
      if now and now.from.time == entry.from.time and open:delete(key) then
        many = many + 1
        if self.nests then lower_depth(self, key_of(self, key)) end
      end
    end
  end
  return many
end

local function age_of(entry) return require "uplua".now() - entry.from.time end

-- Gives up what is open for longer than the timeout, and what was begun by what has exited.
local function sweep(self)
  local timeout, gone = self.spec.timeout, self.gone
  if timeout then self.swept = self.swept + give_up(self, function(entry) return age_of(entry) > timeout end) end
  if not next(gone) then return end
  self.gone = {}
  local of_process, has_time = self.spec.exit == "process", self.spec.has_time
  self.left = self.left + give_up(self, function(entry)
    local from = entry.from
    local at = gone[tonumber(of_process and from.pid or from.tid)]
    return at and (has_time or from.time <= at)
  end)
end

-- counts of SELF, a span: a table by the names above.
function counts.read(self)
  local kept, read = self.kept, {}
  self.looked_at = true
  sweep(self)
  for _, name in ipairs(NAMES) do read[name] = tonumber(kept[name]:get()) end
  read.exited = read.exited + self.left
  read.open, read.full, read.cut = kept.open:size(), count_lost(kept)
  local taken_out = read.exited + self.swept + read.late
  if not self.spec.stays then taken_out = taken_out + read.ended + read.backwards end
  read.replaced = math.max(0, read.begun - read.full - taken_out - read.open) -- what has gone in, and is not there
  read.timed_out, read.late = read.late + self.swept, nil
  return read
end

-- Calls FN(key, entry) for what is open, and returns the N entries that began first (nil: all), as { key, entry }.
local function oldest(self, n)
  local list, most = {}, n or math.huge
  for key, entry in self.kept.open:pairs() do
    list[#list + 1] = { key, entry }
    if #list >= 2 * most + 1000 then
      table.sort(list, function(a, b) return a[2].from.time < b[2].from.time end)
      for i = #list, most + 1, -1 do list[i] = nil end
    end
  end
  table.sort(list, function(a, b) return a[2].from.time < b[2].from.time end)
  for i = #list, most + 1, -1 do list[i] = nil end
  return list
end

-- open(self, [n]): the N that are open for longest, the oldest first.
function counts.open(self, n)
  self.looked_at = true
  local list = {}
  for i, one in ipairs(oldest(self, n)) do
    local entry, via = one[2], {}
    for v = 1, #self.spec.via do via[v] = entry["v" .. v] end
    list[i] = { key = key_of(self, one[1]), age = age_of(entry), from = entry.from, via = via }
  end
  return list
end

-- The one that is open for longest, as a text.
local function oldest_of(self)
  local one = oldest(self, 1)[1]
  if not one then return "" end
  local from = one[2].from
  local key = text.escape((require "uplua.objects.record".show(key_of(self, one[1])):gsub("%s*\n%s*", " ")))
  local age = self.spec.has_time and "" or ("the oldest for %s, "):format(text.time(age_of(one[2])))
  local who = from.comm and (", %s (thread %d)"):format(text.escape(from.comm), from.tid) or ""
  return (": %skey %s%s"):format(age, key, who)
end

-- The counts of SELF as a text for people.
function counts.text(self)
  local read = counts.read(self)
  local lines = { ("%s: %s begun, %s ended"):format(self.name, text.thousands(read.begun), text.thousands(read.ended)) }
  for _, row in ipairs(WORDS) do
    local n = read[row[1]]
    if n > 0 then
      lines[#lines + 1] = ("  %s %s%s"):format(text.thousands(n), row[2], row[1] == "open" and oldest_of(self) or "")
    end
  end
  return table.concat(lines, "\n")
end

local SHORTEST = 10000000 -- ns between two looks at what is open

-- Looks after SELF while the run lasts, and prints what is not as it should be, if the script does not ask for it.
function counts.watch(self)
  self.swept, self.left, self.gone, self.looked_at = 0, 0, {}, false
  table.insert(own().spans, self)
  local timeout, exits = self.spec.timeout, self.kept.exits
  if exits then exits:each(function(e) self.gone[tonumber(e.number)] = tonumber(e.time) end) end
  if timeout or exits then
    require "uplua".every(math.max(math.floor((timeout or 4e9) / 4), SHORTEST), function() sweep(self) end)
  end
  loop.at_exit(function()
    loop.at_exit(function() -- behind the script's own
      if self.looked_at then return end
      local read = counts.read(self)
      local all_well = read.begun == read.ended and read.unbegun == 0 and read.cut == 0
      if not all_well then require "uplua".printf("%s\n", counts.text(self)) end
    end)
  end)
end

-- What the ledger has of them: { { text, count } }.
function counts.lost()
  local list = {}
  for _, self in ipairs(own().spans) do
    list[#list + 1] = { ("span %s: ends whose time is before their begin's: left out"):format(self.name),
      tonumber(self.kept.backwards:get()) }
    list[#list + 1] = { ("span %s: windows of which a part was overwritten before the span ended"):format(self.name),
      self.cut }
  end
  return list
end

return counts
