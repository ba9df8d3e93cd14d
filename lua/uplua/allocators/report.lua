-- A trace of allocators, as the script sees it: what is held, by stack and by process, and what its numbers lack.
local core    = require "uplua.core"
local options = require "uplua.options"
local proc    = require "uplua.base.proc"
local space   = require "uplua.allocators.space"
local sums    = require "uplua.allocators.sums"
local text    = require "uplua.base.text"
local up      = require "uplua"

local report = {}

local Trace = {}
Trace.__index = Trace

function report.new(state)
  state.pids = core.target.pids()
  return setmetatable(state, Trace)
end

-- each(fn): calls fn(block, process, gone) for each block that is held, or is in a realloc. PROCESS: a number for the
-- memory of a process, or of several that share it. GONE: the process has executed another program since.
function Trace:each(fn)
  if not self.blocks then error("each: nothing is followed without the option blocks of allocators.trace", 2) end
  local left, several, only = space.left(), space.several(), self.pids[1]
  for _, map in ipairs { self.blocks.live, self.blocks.moving } do
    for key, block in map:pairs() do
      local process = several and tonumber(key[1]) or only
      fn(block, process, block.at < (left[process] or 0))
    end
  end
end

local function add_block(to, at, block)
  local h = to[at]
  if h then
    h.bytes, h.blocks = h.bytes + block.bytes, h.blocks + 1
    if block.at < h.oldest then h.oldest = block.at end
    if block.at > h.newest then h.newest = block.at end
  else
    to[at] = { bytes = block.bytes, blocks = 1, oldest = block.at, newest = block.at }
  end
end

local function merge(into, h)
  into.bytes, into.blocks = into.bytes + h.bytes, into.blocks + h.blocks
  if h.oldest < into.oldest then into.oldest = h.oldest end
  if h.newest > into.newest then into.newest = h.newest end
end

-- The most bytes first.
local function by_size(a, b)
  if a.bytes ~= b.bytes then return a.bytes > b.bytes end
  if a.blocks ~= b.blocks then return a.blocks > b.blocks end
  return a.name < b.name
end

-- The sums of HELD, a table by stack, as a list: stacks of equal names are one. Their sum is added to SUM.
local function list_stacks(held, sum)
  local by_name, list = {}, {}
  for stack, h in pairs(held) do
    merge(sum, h)
    local name = stack:key()
    if by_name[name] then
      merge(by_name[name], h)
    else
      h.stack, h.name, by_name[name] = stack, name, h
      list[#list + 1] = h
    end
  end
  table.sort(list, by_size)
  return list
end

-- held(now, [older]) → the blocks that are held at NOW, at least OLDER ns old, by the stacks that have allocated them:
-- a list of { bytes, blocks, oldest and newest (times of allocation), stack, name = stack:key() }, the most bytes
-- first; and the sum, { bytes, blocks, processes = a list of { bytes, blocks, name, memory = bytes that the process has
-- to itself, nil where it has ended }, young = { bytes, blocks } that are younger, gone = how many are gone with the
-- program that their process has executed another one from }.
function Trace:held(now, older)
  if not self.with_stack then error("held: blocks have no stacks without the option stack of allocators.trace", 2) end
  local held, processes, latest = {}, {}, now - (older or 0)
  local sum = { bytes = 0, blocks = 0, oldest = now, newest = 0, gone = 0, processes = {} }
  local young = { bytes = 0, blocks = 0 }
  self:each(function(block, process, gone)
    if gone then
      sum.gone = sum.gone + 1
    elseif block.at <= latest then
      add_block(held, block.stack, block)
      add_block(processes, process, block)
    elseif block.at <= now then
      young.bytes, young.blocks = young.bytes + block.bytes, young.blocks + 1
    end
  end)
  for process, h in pairs(processes) do
    h.name, h.memory = space.name(process), space.memory(process)
    table.insert(sum.processes, h)
  end
  table.sort(sum.processes, by_size)
  sum.young = young
  return list_stacks(held, sum), sum
end

-- LIST, of { stack, bytes, blocks }, with stacks of equal names as one, the most bytes first, each with its name.
local function by_name(list)
  local known, merged = {}, {}
  for _, h in ipairs(list) do
    local name = h.stack:key()
    local one = known[name]
    if not one then
      one = { stack = h.stack, name = name, bytes = 0, blocks = 0 }
      known[name], merged[#merged + 1] = one, one
    end
    one.bytes, one.blocks = one.bytes + tonumber(h.bytes), one.blocks + tonumber(h.blocks)
  end
  table.sort(merged, by_size)
  return merged
end

-- peak() → the blocks that were held when the most was: a list of { stack, name, bytes, blocks }, the most bytes first,
-- and { bytes, at }, when that was, in ns.
function Trace:peak()
  if not (self.blocks and self.blocks.sums and self.blocks.sums.stacks) then
    error("peak: it is not known without the option peak of allocators.trace", 2)
  end
  local list, sum = sums.peak(self.blocks.sums)
  return by_name(list), { bytes = tonumber(sum.bytes), at = tonumber(sum.at) }
end

-- totals() → all that was allocated, as peak() has it.
function Trace:totals()
  if not (self.blocks and self.blocks.sums and self.blocks.sums.all_bytes) then
    error("totals: they are not known without the option totals of allocators.trace", 2)
  end
  return by_name(sums.totals(self.blocks.sums))
end

-- When a command began, or the counting in a process that was there before, in ns.
function Trace:began_at() return core.target.command() and space.began() or self.began end

-- The name of process PID, as ps gives it; a command that is about to start has that of its file.
local function process_name(pid)
  local command = core.target.command()
  if command then return command:match "[^/]*$" end
  return proc.comm(pid) or "?"
end

-- "redis-server (pid 4242)": the target, to be asked while there is one.
function Trace:target()
  local names = {}
  for i, pid in ipairs(self.pids) do names[i] = ("%s (pid %d)"):format(process_name(pid), pid) end
  return table.concat(names, ", ")
end

-- Threads of one memory may be traced and others not.
local function is_narrowed() return options.tids or options.comms or options.cgroup end

-- How many blocks found no room.
local function without_room()
  for _, entry in ipairs(up.ledger()) do
    if entry[1]:find "^'live' is full" then return entry[2] end
  end
  return 0
end

-- What the blocks were that were not followed and are free now: all that they may be. A command had no block before,
-- but of an allocator that came later.
local function other_frees(trace, room)
  local full, whose = without_room() > 0, {}
  if full then whose[1] = ("found no room (%s)"):format(room) end
  if space.sharing() > 0 then whose[#whose + 1] = "are of a process that was not followed" end
  if is_narrowed() then whose[#whose + 1] = "are of a thread that is not traced" end
  if #whose == 0 or trace.came_later or not core.target.command() then table.insert(whose, 1, "were there before") end
  local old, copied, lines = trace.blocks.unknown:get(), trace.blocks.copied:get(), {}
  if old > 0 then
    lines[1] = ("%s of blocks that %s"):format(text.plural(old, "free"), table.concat(whose, ", or "))
  end
  if copied > 0 then
    lines[#lines + 1] = ("%s of copies that forked processes have of blocks of their parents%s"):format(
      text.plural(copied, "free"), full and (", or of blocks that found no room (%s)"):format(room) or "")
  end
  return lines
end

-- missing([room]) → a list of lines about what the numbers lack, empty where nothing: frees of blocks that were not
-- followed, unless the option follow leaves blocks out; processes that share the memory, and threads of it, that are
-- not traced. ROOM: what the user of the script calls the option blocks.
function Trace:missing(room)
  local lines = self.blocks and not self.follow and other_frees(self, room or "blocks") or {}
  local sharing = space.sharing()
  if sharing > 0 then
    lines[#lines + 1] = ("%s not followed: what %s allocated and freed in this memory is missing (--follow has it)")
      :format(text.plural(sharing, "process that shares this memory was", "processes that share this memory were"),
        sharing == 1 and "it has" or "they have")
  end
  if is_narrowed() then
    lines[#lines + 1] = "allocations and frees of threads that --tid, --comm or --cgroup leaves out are missing"
  end
  return lines
end

return report
