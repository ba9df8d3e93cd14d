-- What is attached in a run, and the probes for which a command has to have mapped its files first.
--
-- What is to be attached comes in lists of { probe, program }: what has been declared, or a table with its `attach`,
-- and what has been loaded for it, { fd, cookie, entry_fd, entry_cookie, session }; while an item is attached its
-- `links` has { link, whether it goes last, again(pid) } each; again, of a link that may be for one process alone,
-- attaches it for process PID anew.
local ffi           = require "ffi"
local changed_files = require "uplua.target.changed_files"
local contract      = require "uplua.contract"
local core          = require "uplua.core"
local filter        = require "uplua.target.filter"
local handle        = require "uplua.probe.handle"
local late_modules  = require "uplua.target.late_modules"
local load          = require "uplua.probe.load"
local run           = require "uplua.base.run"
local timing        = require "uplua.base.timing"

local attach = {}

local kept = run.part(function()
  return {
    items = {}, -- what is attached, as keys
    late = {},  -- what setups have loaded for a command that has not mapped it yet
  }
end)

-- While the entries and the returns of calls are not attached both, calls do not pair; WHETHER that counts is told to
-- the kernel (bpf/call_pairs.h).
local function settle(whether)
  for _, loaded in ipairs(load.setups()) do
    local settled = loaded:address(contract.uplua_calls_settled)
    if settled then ffi.cast("volatile uint64_t *", settled)[0] = whether and 1 or 0 end
  end
end

-- Whether one of LIST has an entry and a return that are attached one after the other.
local function has_halves(list)
  for _, item in ipairs(list) do
    if item.program.entry_fd and not item.program.session then return true end
  end
  return false
end

local function attach_one(item)
  if core.loop.signal() then error("interrupted: the probes were not attached", 0) end
  item.links = {}
  item.probe:attach(item.program, function(link, of_entry, again)
    item.links[#item.links + 1] = { link, of_entry, again }
  end)
end

-- The links of ITEMS: those that go last, entries of system calls, and the others.
local function links_of(items)
  local entries, others = {}, {}
  for _, item in ipairs(items) do
    for _, link in ipairs(item.links or {}) do table.insert(link[2] and entries or others, link[1]) end
  end
  return entries, others
end

-- Closes LISTS of links, one after the other.
local function close(...)
  for _, links in ipairs { ... } do core.probe.close(links) end
end

-- Attaches LIST, or nothing of it. A probe's attach calls link(LINK, whether it goes last: the entry half of a system
-- call's, again). ASLEEP: their probes are not woken.
local function attach_all(list, asleep)
  local mine = kept()
  settle(not has_halves(list))
  for n, item in ipairs(list) do
    if item.probe.handle and not asleep then item.probe.handle:wake() end
    local ok, message = pcall(attach_one, item)
    if not ok then
      local entries, others = links_of { unpack(list, 1, n) }
      close(others, entries)
      settle(true)
      for _, one in ipairs(list) do
        if one.probe.handle then one.probe.handle:drop(one) end
      end
      error(message, 0)
    end
  end
  local entries, others = links_of(list)
  for _, item in ipairs(list) do mine.items[item] = true end
  changed_files.watch(others)
  changed_files.watch(entries)
  settle(true)
end

-- Attaches what of LIST can be now; the rest when the command begins. Probes that still wait for their library, and
-- those that the script has detached, are left out. ASLEEP: until the probe says otherwise, no handler runs. Returns
-- what is attached.
function attach.all(list, asleep)
  timing.mark "attach"
  local ready, late = {}, kept().late
  for _, item in ipairs(list) do
    local handle = item.probe.handle
    local waits = item.probe.mapped and core.target.waits()
    local of = waits and late or ready
    if not item.probe.waits and (not handle or handle:take(item)) then of[#of + 1] = item end
  end
  attach_all(ready, asleep)
  filter.attached()
  timing.mark "attached"
  return ready
end

-- Detaches ITEMS of such lists.
function attach.detach(items)
  local entries, others = links_of(items)
  changed_files.forget(entries)
  changed_files.forget(others)
  close(others, entries)
  local mine = kept()
  for _, item in ipairs(items) do item.links, mine.items[item] = nil, nil end
end

-- Binds what is for process PID alone to the first thread that it has now (uplua.probe.leader). Returns whether there
-- was something; raises why it cannot be attached.
function attach.renew(pid)
  local renewed, gone, goes_first = {}, {}, false
  for item in pairs(kept().items) do
    for _, link in ipairs(item.links) do
      local old, first
      if link[3] then old, first = link[1]:release(pid) end
      if old then
        renewed[#renewed + 1], gone[#gone + 1], goes_first = link, old, first
      end
    end
  end
  if #renewed == 0 then return false end
  settle(false)
  if goes_first then close(gone) end
  local ok, message = pcall(function()
    for _, link in ipairs(renewed) do link[3](pid) end
  end)
  if not goes_first then close(gone) end
  settle(true)
  if not ok then error(message, 0) end
  return true
end

-- Wakes the probes that have slept until the command's first instruction.
local function wake_begun()
  for item in pairs(kept().items) do
    local handle = item.probe.handle
    if handle and handle.begun and not handle.asleep then handle:wake(true) end
  end
end

-- Lets a command begin. Probes for which it has to have mapped its program and libraries are attached at its first
-- instruction; if one of them fails, that is raised and the command does not go on. Its stacks are walked by what it
-- has mapped, too: read there, they are whole from its first call on, whoever holds its mappings meanwhile (others'
-- probes in the same library do).
function attach.release()
  late_modules.release()
  local stack = package.loaded["uplua.stack.stack"]
  if stack and core.target.waits() then stack.begin() end
  if load.walks_stacks() then stack.settle() end
  timing.mark "settled"
  local mine = kept()
  local list = {}
  for _, item in ipairs(mine.late) do -- the script may have detached some meanwhile
    if not (item.probe.handle and item.probe.handle.asleep) then list[#list + 1] = item end
  end
  mine.late = {}
  local walked = load.walks_stacks() and not filter.is_open()
  if #list > 0 or walked then
    core.target.hold(#list > 0)
    if not core.target.status() then
      attach_all(list)
      if walked then stack.update() end
    end
    wake_begun()
  else
    wake_begun()
    core.target.release()
  end
  core.target.go()
end

-- The kinds of what is attached (uplua.probe.providers), as keys; BPF objects of others have none.
function attach.providers()
  local of = {}
  for item in pairs(kept().items) do
    if item.probe.provider then of[item.probe.provider] = true end
  end
  return of
end

-- True once there are probes for what the target does.
function attach.any()
  local mine = kept()
  return next(mine.items) ~= nil or #mine.late > 0
end

-- Detaches all probes. Maps stay readable. Entries of system calls go last: the returns of calls that begin in the
-- meantime would count them as not seen.
function attach.close()
  late_modules.last()
  changed_files.close()
  timing.mark "detach"
  settle(false)
  local mine, list = kept(), {}
  for item in pairs(mine.items) do list[#list + 1] = item end
  local entries, others = links_of(list)
  local overhead = package.loaded["uplua.probe.overhead"]
  for _, link in ipairs(overhead and overhead.close() or {}) do others[#others + 1] = link end
  close(others, entries)
  local stack = package.loaded["uplua.stack.stack"]
  if stack then stack.unfollow() end
  timing.mark "detached"
  mine.items = {}
  handle.finish()
end

return attach
