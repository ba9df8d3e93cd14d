-- Losses, by cause: each place where something can be lost has a counter, and the report prints those that are not 0.
local contract     = require "uplua.contract"
local core         = require "uplua.core"
local handle       = require "uplua.probe.handle"
local late_modules = require "uplua.target.late_modules"
local leader       = require "uplua.probe.leader"
local load         = require "uplua.probe.load"
local object       = require "uplua.objects.object"
local run          = require "uplua.base.run"

local ledger = {}

local passed_over = run.part(function() return {} end) -- programs that the kernel may pass over: { fd, text } each

-- The kernel skips a program if another one runs on that CPU, or if it has preempted one that works on a map. The
-- ledger has to count that for LIST, which is about to be attached (uplua.probe.attach).
function ledger.watch(list)
  local programs = passed_over()
  for _, item in ipairs(list) do
    local probe, program = item.probe, item.program
    local text = probe.passed_over and
      ("%s %s: hits that the kernel passed over, of any process, since it ran another program on that CPU")
        :format(probe.provider.name, probe.spec)
    for _, fd in ipairs(text and { program.fd, program.entry_fd } or {}) do programs[#programs + 1] = { fd, text } end
  end
end

-- The library's counters of losses (bpf/stack.h, bpf/aggregate.h).
local LIBRARY = {
  [contract.uplua_stack_lost] = {
    [contract.STACK_LOST_FULL] = "the stack store is full: stack not kept; take fewer frames, e:ustack(8)",
    [contract.STACK_LOST_BUSY] = "stack not taken: other probes were using the buffers",
    [contract.STACK_LOST_DEPTH] = ("stack cut at %d frames"):format(contract.STACK_FRAMES),
    [contract.STACK_LOST_RETURN] = "stack cut at a frame whose return address a return probe hides",
    [contract.STACK_LOST_NO_TABLE] =
      "stack incomplete: a frame's code has no unwind table and no frame pointer",
    [contract.STACK_LOST_UNMAPPED] = "stack incomplete: a frame's mapping was not known",
    [contract.STACK_LOST_UNREADABLE] = "stack incomplete: its memory could not be read",
    [contract.STACK_LOST_PROGRAM] = "program that a process has executed not noted: its stacks may be walked and " ..
                                    "named by an earlier one's files; trace fewer processes",
  },
  [contract.uplua_aggregate_lost] = {
    [contract.AGGREGATE_LOST_EXTREME] = "smallest or largest value of an aggregation not updated",
  },
}

-- Modules that tell of their own losses, lost() → { { text, count }, … }, if the script has used them.
local TELLERS = {
  { "uplua.stack.stack", "lost" }, { "uplua.stack.frame", "unread" }, { "uplua.probe.providers.sampling", "lost" },
  { "uplua.allocators.nesting", "lost" }, { "uplua.span.counts", "lost" }, { "uplua.states.report", "lost" },
  { "uplua.objects.merge", "lost" },
  { "uplua.timeline.losses", "lost" }, { "uplua.probe.budget", "lost" },
}

-- Calls ADD(text, count) for what the handlers and the library of LOADED have counted.
local function add_counters(loaded, add)
  local causes, values = loaded:causes(), loaded:counters(contract.LEDGER_COUNTERS)
  for i = 0, #causes do
    if causes[i] and values then add(causes[i], values[i]) end
  end
  for name, texts in pairs(LIBRARY) do
    local lost = loaded:counters(name)
    for i, text in pairs(texts) do add(text, lost and lost[i] or 0) end
  end
end

local kept = run.part(function() return {} end) -- what setups that are gone have lost: { text, count } each

-- SETUP of uplua.probe.load is about to go: keeps what it has counted.
function ledger.keep(setup)
  local entries, programs = kept(), passed_over()
  local function add(text, count)
    if count > 0 then entries[#entries + 1] = { text, count } end
  end
  add_counters(setup.loaded, add)
  local gone = {}
  for _, item in ipairs(setup.items) do
    for _, fd in ipairs { item.program.fd, item.program.entry_fd } do gone[fd] = true end
  end
  for i = #programs, 1, -1 do
    if gone[programs[i][1]] then
      add(programs[i][2], core.probe.misses(programs[i][1]))
      table.remove(programs, i)
    end
  end
end

-- Calls ADD for what shared objects have lost.
local function add_objects(add)
  local aggregate = package.loaded["uplua.objects.aggregate"]
  for _, o in ipairs(aggregate and object.all() or {}) do
    local name = rawget(o, "name") or rawget(o, "kind")
    add(("a sum of '%s' is beyond 64 bits: rounded"):format(name), aggregate.rounded(o))
    local _, hits, since = aggregate.rest(o)
    if hits > 0 then
      local since_when = os.date("%F %T", os.time() - (core.loop.now() - since))
      local text = ("'%s' is full (max = %d) since %s: new keys are one series, 'overflow'; %s"):
        format(name, rawget(o, "options").max, since_when, object.advice(o))
      add(text, hits, (text:gsub(" since [%d :-]*:", ":", 1)))
    end
  end
  for _, o in ipairs(object.guests()) do
    add(("%s: records that are shorter than their type"):format(o.name), object.state(o).unknown or 0)
  end
end

-- What was lost so far: { { text, count, [cause] }, … }, empty if nothing was; cause: the text, where that does not
-- stay the same while the count grows. BY_ITSELF: without what p:replace and its like have missed.
function ledger.list(by_itself)
  local counts, order, causes = {}, {}, {}
  local function add(text, count, cause)
    if count == 0 then return end
    if not counts[text] then order[#order + 1] = text end
    counts[text], causes[text] = (counts[text] or 0) + count, cause
  end
  for _, loaded in ipairs(load.setups()) do add_counters(loaded, add) end
  for _, entry in ipairs(kept()) do add(entry[1], entry[2]) end
  add_objects(add)
  for _, program in ipairs(passed_over()) do add(program[2], core.probe.misses(program[1])) end
  for _, teller in ipairs(TELLERS) do
    local module = package.loaded[teller[1]]
    for _, entry in ipairs(module and module[teller[2]]() or {}) do add(unpack(entry)) end
  end
  for _, entry in ipairs(late_modules.lost()) do add(entry[1], entry[2]) end
  for _, entry in ipairs(leader.lost()) do add(unpack(entry)) end
  for _, entry in ipairs(by_itself and {} or handle.lost()) do add(unpack(entry)) end
  local list = {}
  for i, text in ipairs(order) do list[i] = { text, counts[text], causes[text] } end
  return list
end

return ledger
