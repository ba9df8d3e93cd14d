-- A probe as the script holds it: what a constructor returns. It stands for all places that the constructor's spec
-- names, now and in files that the target maps later.
--
-- Its programs ask a state in the kernel whether they are awake (src/compile/context/probe_state.h), so that one store
-- puts a new handler in the place of the old one. A program whose calls are still open is left attached until they have
-- returned.
local contract = require "uplua.contract"
local core     = require "uplua.core"
local failure  = require "uplua.base.failure"
local ffi      = require "ffi"
local handler  = require "uplua.probe.handler"
local loop     = require "uplua.base.loop"
local options  = require "uplua.options"
local run      = require "uplua.base.run"
local text     = require "uplua.base.text"

local C = contract.C

local handle = {}

local own = run.part(function()
  return {
    list = {},        -- the run's, in the order of their declaration
    fresh = {},       -- those of them that are declared and not committed
    removed = {},     -- those that have lost something, and are in the list no more
    past = {},        -- kind and spec → the hits of the others that are not
    enclosing = nil,  -- the one to which what is declared now belongs
    ended = false,    -- the run is over
    without_hits = {}, -- of that, the probes that saw nothing
    inlined = {},     -- what its probes did not see of functions that are inlined: { text, count } each
    gaps = 0,         -- how often probes took the place of others with a time in between …
    gap = 0,          -- … and how long that was altogether, ns
  }
end)

-- Seconds that calls are waited for which began under a handler that is replaced or detached, and how often is asked.
local PATIENCE, STEP = 1, "10ms"

-- ns between the stores of an exchange in which a CPU could have more than one hit: these are told.
local LEAST_GAP = 1000

local VERSION_AT = ffi.offsetof("struct uplua_probe_state", "version")

local methods = {}
local Handle = {}
local NAMES = { "attach", "detach", "replace", "hits", "sites" } -- for who misspells one

local function remove(list, value)
  for i = #list, 1, -1 do
    if list[i] == value then table.remove(list, i) end
  end
end

-- What all counts of the programs ITEMS sum up to: hits, calls that are open, and runs for what is not traced, all of
-- these where there are no hits.
local function counts_of(items)
  local hits, open, others = 0, 0, 0
  for _, item in ipairs(items) do
    local counts = require "uplua.probe.load".counts(item)
    hits = hits + tonumber(counts.hits - counts.skipped)
    if item.paired then open = open + math.max(tonumber(counts.entered) - tonumber(counts.hits), 0) end
    others = others + tonumber(counts.others)
  end
  return hits, open, others
end

function Handle.__index(self, name)
  if name == "hits" then return self.past + counts_of(self.items) + counts_of(self.leaving) end
  if methods[name] then return methods[name] end
  error(("a probe has no '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), NAMES)), 2)
end

-- All that a probe keeps is there from the beginning.
function Handle.__newindex(_, name)
  error(("a probe's '%s' cannot be set"):format(tostring(name)), 2)
end

local function plural(n, word) return ("%s %s"):format(text.thousands(n), n == 1 and word or word .. "s") end

function Handle:__tostring()
  local sites = #self:sites()
  local named = self.spec
  return ("%s %s: %s, %s, %s"):format(self.kind, text.escape(named), plural(sites, "site"), plural(self.hits, "hit"),
                                      self.status)
end

-- A probe of KIND at SPEC, texts, that runs FN.
local function new(kind, spec, fn)
  return setmetatable({
    kind = kind, spec = spec, handler = fn or false,
    status = "declared", -- "attached", "detached", "ended"; "waiting": nothing of it is there yet
    asleep = false,      -- the script has detached it
    begun = false,       -- of a command it is awake only from its first instruction on
    expected = false,    -- it may come to be in files that the target maps later
    records = {},        -- what was declared for it (uplua.probe.handler)
    items = {},          -- what was loaded for these: { probe, program, … } of uplua.probe.load
    leaving = {},        -- … and is to be closed as soon as its calls have returned
    past = 0,            -- hits of what was closed
    replaced = 0,        -- how often the handler was
    moved = 0,           -- … by one that reads what is only at the function's entry, while the probe stood behind that
    abandoned = 0,       -- calls that were open when their programs were closed
    version = 1,
    origin = false,      -- where the states are: { fd, count, states }
    number = false,      -- of its own
    again = false,       -- what was loaded for it before it was detached, where that cannot be attached again
    timer = false,       -- looks whether what is leaving may go
  }, Handle)
end

-- The handle of a probe that is being declared, of KIND at SPEC, which runs FN.
function handle.new(kind, spec, fn)
  local mine = own()
  if mine.enclosing then
    mine.enclosing.handler = fn
    return mine.enclosing
  end
  local self = new(kind, spec, fn)
  mine.list[#mine.list + 1], mine.fresh[#mine.fresh + 1] = self, self
  return self
end

-- Calls fn(...), whose probes are one: of KIND at SPEC. Returns that; raises what fn raises.
function handle.enclose(kind, spec, fn, ...)
  local mine = own()
  if mine.enclosing then
    fn(...)
    return mine.enclosing
  end
  local self = handle.new(kind, spec)
  mine.enclosing = self
  local ok, message = pcall(fn, ...)
  mine.enclosing = nil
  if not ok then error(message, 0) end
  return self
end

-- name(self): its kind and spec, by which people know it.
function handle.name(self) return self.kind .. " " .. self.spec end

-- probes(): the probes of the run, in the order in which they were declared.
function handle.probes() return { unpack(own().list) } end

-- What was declared is part of a setup that has succeeded …
function handle.keep()
  for _, self in ipairs(own().fresh) do
    if #self.records == 0 and not self.expected then -- its constructor has failed
      self.status = "ended"
      remove(own().list, self)
    elseif self.status == "declared" then
      self.status = self.asleep and "detached" or "waiting"
    end
  end
  own().fresh = {}
end

-- … or of one that has not: it is no probe of the run.
function handle.discard()
  local mine, dropped = own(), {}
  for _, self in ipairs(mine.fresh) do
    dropped[self], self.status = true, "ended"
  end
  local list = {}
  for _, self in ipairs(mine.list) do
    if not dropped[self] then list[#list + 1] = self end
  end
  mine.list, mine.fresh = list, {}
end

-- Whether the user has asked for the probe SELF, by a spec or in a script without options, rather than a tool or a
-- module of uplua's for its own sake.
local function is_of_user(self)
  if not self.records[1] then return false end
  if self.kind == "probe" or self.kind == "retprobe" then return true end
  return self.handler and not options.of_tool and not failure.is_own(debug.getinfo(self.handler, "S"))
end

-- Keeps for the ledger where functions that the probe SELF names are inlined into others: it saw no calls there.
local function note_inlined(self)
  local mine = own()
  for _, record in ipairs(self.records) do
    -- A source line's probe is wherever that is, and an address is a place of its own.
    local functions, places, name, line = 0, 0, "", ""
    local of_place = record.spec:find ":%d+$" or record.spec:find ":0x%x+$"
    if record.sites and not of_place then functions, places, name, line = record.sites:inlined() end
    if functions > 0 then
      local which = functions == 1 and name or ("one of %d functions, such as %s,"):format(functions, name)
      local file = line ~= "" and not record.provider.of_return and record.spec:match "^([^:]+):"
      local instead = file and ("; a probe of its source line is there, too: %s@%s"):format(file, line) or ""
      mine.inlined[#mine.inlined + 1] = { self, which, instead, places }
    end
  end
end

-- The run is over, and all probes are detached: their hits can still be read.
function handle.finish()
  local mine = own()
  mine.ended = true
  for _, self in ipairs(mine.list) do
    local hits, others = self.hits, select(3, counts_of(self.items))
    if is_of_user(self) then note_inlined(self) end
    if hits == 0 and self.status == "attached" and is_of_user(self) then
      local record = self.records[1]
      local spec = self.records[2] and self.spec or record.spec
      mine.without_hits[#mine.without_hits + 1] = { record.provider, spec, others }
    end
    self.past, self.items, self.leaving, self.status = hits, {}, {}, "ended"
  end
end

-- Of a run that is over, the probes that were attached until then and had no hit: each its
-- provider, its spec, and how many hits there were of what is not traced.
function handle.without_hits() return own().without_hits end

-- For the ledger: { { text, count, [cause] }, … }; cause: the text, where that does not stay the same.
function handle.lost()
  local mine = own()
  local list, all = {}, { unpack(mine.list) }
  list[1] = { ("a script's handlers took the place of its old ones: for %s in all, hits were seen by none of both")
    :format(text.time(mine.gap)), mine.gaps,
    "a script's handlers took the place of its old ones: hits were seen by none of both" }
  for _, entry in ipairs(mine.inlined) do
    local self, which, instead, places = unpack(entry)
    list[#list + 1] = { ("%s %s: place where %s is inlined: calls not seen%s")
      :format(self.kind, self.spec, which, instead), places }
  end
  for _, self in ipairs(mine.removed) do all[#all + 1] = self end
  for _, self in ipairs(all) do
    local name = ("%s %s: "):format(self.kind, self.spec)
    list[#list + 1] = { name .. "handler replaced: a hit on each CPU may have been seen by both handlers, or by none",
                        self.replaced }
    list[#list + 1] = { name .. "handler replaced by one that has to stand at the function's entry: calls that were " ..
                        "between there and the place before may have been seen by both handlers, or by none",
                        self.moved }
    local record = self.records[1]
    local ends = record and record.provider.of_return == "call" -- a thread's end in a system call is not seen
    local text = "%scalls that were open%s a second after their handler was replaced or detached: return not seen"
    list[#list + 1] = { text:format(name, ends and ", or that had ended with their threads," or ""), self.abandoned }
  end
  return list
end

-- --- for uplua.probe.load and .attach ---

-- The states of new probes are in ORIGIN.
function methods:bind(origin) self.origin = origin end

-- ITEM of uplua.probe.load is one of its: true if it is to be attached now.
function methods:take(item)
  self.items[#self.items + 1] = item
  if self.asleep then
    self.status = "detached"
    return false
  end
  return true
end

-- ITEM could not be attached, or RECORD, of uplua.probe.handler, was declared and will not be.
function methods:drop(item) remove(self.items, item) end
function methods:forget(record) remove(self.records, record) end

local function state_of(self) return self.origin.states + self.number end

-- All of methods:wake but the last store, after which SELF sees hits: whether that is to follow.
local function prepare(self, begins)
  if self.begun and not begins and core.target.waits() then return false end
  local state = state_of(self)
  state.before = core.target.waits() and 1 or 0
  state.returns, state.settled = 1, #self.leaving == 0 and 1 or 0
  self.status = "attached"
  return true
end

-- What it has is about to be attached, or is, and the command, if there is one, about to BEGIN, unless it has. A probe
-- that is for what the command itself does sleeps until then.
function methods:wake(begins)
  if prepare(self, begins) then state_of(self).version = self.version end
end

-- --- for scripts ---

local function check(self, what)
  if getmetatable(self) ~= Handle then
    error(("%s: this is no probe: write p:%s(), with a colon"):format(what, what), 3)
  end
  if own().ended or self.status == "ended" then
    local why = own().ended and "the run is over" or "what has declared it has been replaced"
    error(("%s: %s, and %s %s is detached; only its hits can be read"):format(what, why, self.kind, self.spec), 3)
  end
end

-- Closes ITEMS for good, and keeps what they have counted.
local function close(self, items)
  require "uplua.probe.attach".detach(items)
  local hits, open = counts_of(items)
  self.past, self.abandoned = self.past + hits, self.abandoned + open
  require "uplua.probe.load".retire(items)
end

-- Closes what leaves, if its calls have returned by now; ANYHOW: in any case.
local function let_go(self, anyhow)
  local items, _, open = self.leaving, counts_of(self.leaving)
  if #items == 0 or open > 0 and not anyhow then return end
  self.timer:cancel()
  self.leaving, self.timer = {}, false
  close(self, items)
  if self.status == "attached" then state_of(self).settled = 1 end
end

-- Waits for the calls that ITEMS have open, up to a second, and closes them. What left before goes at once.
local function leave(self, items)
  if #self.leaving > 0 then
    if self.timer then self.timer:cancel() end
    close(self, self.leaving)
  end
  self.leaving = items
  local last = core.loop.now() + PATIENCE
  self.timer = loop.every(STEP, function() let_go(self, core.loop.now() >= last) end)
  let_go(self, false)
end

local function is_paired(items)
  for _, item in ipairs(items) do
    if item.paired then return true end
  end
  return false
end

-- Records like those of ITEMS, for the handler FN.
local function records_for(self, items, fn)
  local records = {}
  for i, item in ipairs(items) do
    local fields = {}
    for name, value in pairs(item.probe) do fields[name] = value end
    fields.handler, fields.handle = fn, self
    records[i] = handler.new(fields)
  end
  return records
end

-- p:detach(): the probe sees no more hits, and costs nothing. All else goes on, and its maps stay. A call of a return
-- probe that is open is not seen. Returns the probe. Nothing happens if it is detached.
function methods:detach()
  check(self, "detach")
  if self.asleep then return self end
  self.asleep = true
  if self.status == "declared" then return self end
  self.status = "detached"
  if #self.items == 0 then return self end
  local state = state_of(self)
  state.version, state.returns, state.settled = 0, 0, 0
  if is_paired(self.items) then
    -- The calls that are open leave what their entries have kept: the next attach begins with programs of its own.
    self.again, self.items = self.items, {}
    leave(self, self.again)
  else
    require "uplua.probe.attach".detach(self.items)
  end
  return self
end

-- Loads programs for ITEMS with the handler FN, as the next version.
local function load_again(self, items, fn)
  local before = self.version
  self.version = before + 1
  local ok, list = pcall(require "uplua.probe.load".handlers, records_for(self, items, fn))
  if not ok then
    self.version = before
    error(list, 0)
  end
  return list
end

-- p:attach(): attaches a probe that was detached. Returns it; raises why it cannot be attached. Nothing happens if it
-- is attached.
function methods:attach()
  check(self, "attach")
  if not self.asleep then return self end
  if self.status == "declared" then
    self.asleep = false
    return self
  end
  local attach = require "uplua.probe.attach"
  let_go(self, false)
  if self.again then
    local list = load_again(self, self.again, self.handler)
    self.again, self.asleep = false, false
    self.items = {}
    attach.all(list)
    return self
  end
  self.asleep = false
  if #self.items == 0 then
    self.status = "waiting"
    return self
  end
  local items = self.items
  self.items = {}
  local ok, message = pcall(attach.all, items)
  if not ok then
    self.asleep, self.items = true, items
    error(message, 0)
  end
  return self
end

-- exchange(OLD, NEW): of two lists of probes, the old ones see no more hits from now on, and the new ones do. What is
-- hit between the stores for two of them is nobody's: the ledger has for how long that was, if it was long enough to be
-- told.
function handle.exchange(old, new)
  local stores, count = ffi.new("struct uplua_word_store[?]", #old + #new), 0
  local function store(self, version)
    local state = state_of(self)
    stores[count].word = ffi.cast("uint32_t *", ffi.cast("char *", state) + VERSION_AT)
    stores[count].value = version
    count = count + 1
  end
  local silent = {}
  for _, self in ipairs(old) do
    if self.status == "attached" then
      silent[#silent + 1] = self
      store(self, 0)
    end
  end
  for _, self in ipairs(new) do
    if prepare(self) then store(self, self.version) end
  end
  local ns = tonumber(C.realtime_store(stores, count))
  for _, self in ipairs(silent) do
    local state = state_of(self)
    state.returns, state.settled = 0, 0
    self.replaced = self.replaced + 1
  end
  local mine = own()
  if #silent > 0 and ns >= LEAST_GAP then mine.gap, mine.gaps = mine.gap + ns, mine.gaps + 1 end
end

-- remove(self): detaches it for good, and takes it off the run's list: what has declared it has been replaced. Its hits
-- can still be read.
function handle.remove(self)
  local mine = own()
  if self.status ~= "ended" and not mine.ended then
    self:detach()
    local items = self.items
    self.items, self.again = {}, false
    if #items > 0 then close(self, items) end
    self.status = "ended"
  end
  remove(mine.list, self)
  local has_lost = self.replaced + self.moved + self.abandoned > 0 or #self.leaving > 0
  if has_lost then
    mine.removed[#mine.removed + 1] = self
  else
    local name = handle.name(self)
    mine.past[name] = (mine.past[name] or 0) + self.hits
  end
end

-- The hits of the run's probes by their kind and spec, also of those that others have taken the place of: { text → n }.
function handle.hits()
  local mine, hits = own(), {}
  for name, n in pairs(mine.past) do hits[name] = n end
  for _, list in ipairs { mine.list, mine.removed } do
    for _, self in ipairs(list) do
      local name = handle.name(self)
      hits[name] = (hits[name] or 0) + self.hits
    end
  end
  return hits
end

-- What --explain would print of SELF, which is attached or detached; raises why it cannot.
function handle.explain(self)
  if getmetatable(self) ~= Handle then error("explain: this is no probe", 2) end
  local items = self.again or self.items
  if #items == 0 then
    error(("explain: nothing of %s %s is loaded: it is %s"):format(self.kind, self.spec, self.status), 0)
  end
  return require "uplua.probe.load".explained(records_for(self, items, self.handler))
end

-- The bytes by which the places of SELF lie behind the functions' entries, all together.
local function slid(self)
  local sum = 0
  for _, record in ipairs(self.records) do sum = sum + (record.sites and record.sites:distance() or 0) end
  return sum
end

-- p:replace(handler): HANDLER runs from now on. Only a hit that is inside of the probe at that moment may be seen by
-- both handlers or by none, one on each CPU at the most. A call whose entry the old handler has kept returns under it;
-- after a second it is no longer waited for. Returns the probe; raises what is wrong with HANDLER, and the old one
-- stays.
function methods:replace(fn)
  check(self, "replace")
  if type(fn) ~= "function" then error("replace: the argument is the handler, a function", 2) end
  if debug.getinfo(fn, "S").what == "C" then
    error("replace: the handler must be written in Lua: a function of C has no bytecode to compile", 2)
  end
  if self.status == "declared" then
    self.handler = fn
    for _, record in ipairs(self.records) do rawset(record, "handler", fn) end
    return self
  end
  local old = self.again or self.items
  if #old == 0 then
    self.handler = fn
    return self
  end
  local stood = slid(self)
  local list = load_again(self, old, fn)
  local moves = slid(self) < stood
  local items, before = {}, self.items
  self.items = items
  if self.asleep then
    for _, item in ipairs(list) do if item.probe.handle == self then items[#items + 1] = item end end
    if not self.again then close(self, before) end
    self.again, self.handler = false, fn
    return self
  end
  local ok, message = pcall(require "uplua.probe.attach".all, list, true)
  if not ok then
    self.items, self.version = before, self.version - 1
    error(message, 0)
  end
  local state = state_of(self)
  state.settled = 0
  state.version = self.version
  self.handler, self.replaced = fn, self.replaced + 1
  if moves then self.moved = self.moved + 1 end
  leave(self, before)
  return self
end

-- p:sites(): where it stands: a list of { path, module, ["function"], offset, inside } in programs and of { module,
-- ["function"], inside } in the kernel; of a probe that is no place in code { where = what it is }.
function methods:sites()
  if getmetatable(self) ~= Handle then error("sites: this is no probe: write p:sites(), with a colon", 2) end
  local list = {}
  for _, record in ipairs(self.records) do
    if record.sites then
      for _, site in ipairs((record.sites:list())) do list[#list + 1] = site end
    elseif record.places then
      for _, place in ipairs(record.places) do
        list[#list + 1] = { ["function"] = place["function"], inside = place.inside, where = place.text }
      end
    elseif not record.waits then
      list[#list + 1] = { where = record.where }
    end
  end
  return list
end

return handle
