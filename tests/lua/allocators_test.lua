-- uplua.allocators tells each call of an allocator once, whichever of its functions calls another one: on
-- tests/targets/nested.c, reallocs.c and allocs.c, whose numbers are known.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local NESTED = "./build/targets/nested"
-- 12 blocks of 10 bytes become 1,000, 11 are 1,000; of 101 others, odd ones have 1, 3 … 99 bytes, the rest 8, 24 … 808.
local ALLOCATED = 12 * 10 + 12 * 1000 + 11 * 1000 + 50 * 50 + 51 * 408
local HELD = 23 * 1000

-- The handlers of a script, which counts calls by FIELDS, and bytes.
local COUNTS = [[
local up = require "uplua"
local allocators = require "uplua.allocators"
local calls, bytes = up.count(), up.sum()
local function add(e, what, allocator, n)
  calls[{ what, allocator, e.func }]:inc()
  bytes[what]:add(n)
end
local handlers = {
  allocated = function(e, address, bytes, allocator) add(e, "allocated", allocator, bytes) end,
  freed = function(e, address, block, allocator)
    if block then add(e, "freed", allocator, block.bytes) else add(e, "unknown", allocator, 0) end
  end,
}
local function resized(e, old, block, address, bytes, allocator)
  add(e, "resized to", allocator, bytes)
  if block then add(e, "resized from", allocator, block.bytes) end
end
up.at_exit(function()
  local lines = {}
  for key, n in calls:pairs() do lines[#lines + 1] = ("%s %s %s %d"):format(key[1], key[2], key[3], n) end
  table.sort(lines)
  for _, line in ipairs(lines) do print(line) end
  for _, what in ipairs { "allocated", "freed", "resized from", "resized to" } do print("bytes", what, bytes[what]) end
end)
]]

-- What the script TEXT behind COUNTS prints: its lines of calls, and what it says of bytes by name.
local function counted(run, what)
  is(run.status, 0, what .. ": ends with 0")
  is(run.err, run.target ~= "" and "tracing\n" or "", what .. ": has lost nothing")
  local lines, bytes = {}, {}
  for line in run.out:gmatch "[^\n]+" do
    local name, n = line:match "^bytes\t(.-)\t(%d+)"
    if name then bytes[name] = tonumber(n) else lines[#lines + 1] = line end
  end
  return lines, bytes
end

-- The LINES that tell of what was called, without what the program has printed, as one text.
local function of_calls(lines)
  local found = {}
  for _, line in ipairs(lines) do
    if not line:find "^allocations %d" then found[#found + 1] = line end
  end
  return table.concat(found, "\n")
end

do
  local what = "a realloc that is resized"
  local lines, bytes = counted(target.script(COUNTS .. [[
    handlers.resized = resized
    allocators.trace({ blocks = 1000 }, handlers)
  ]], "-- " .. NESTED), what)
  is(of_calls(lines), [[
allocated libc.so.6 calloc 62
allocated libc.so.6 malloc 62
freed libc.so.6 free 101
resized from libc.so.6 realloc 12
resized to libc.so.6 realloc 12]], what .. ": each call once")
  is(bytes.allocated + bytes["resized to"], ALLOCATED, what .. ": all bytes")
  is(bytes["resized from"], 120, what .. ": those of the blocks that were resized")
  is(bytes.allocated + bytes["resized to"] - bytes["resized from"] - bytes.freed, HELD, what .. ": and of what is held")
end

do
  local what = "a realloc that frees and allocates"
  local lines, bytes = counted(target.script(COUNTS .. "allocators.trace({ blocks = 1000 }, handlers)",
    "-- " .. NESTED), what)
  is(of_calls(lines), [[
allocated libc.so.6 calloc 62
allocated libc.so.6 malloc 62
allocated libc.so.6 realloc 12
freed libc.so.6 free 101
freed libc.so.6 realloc 12]], what .. ": each call once")
  is(bytes.allocated .. " " .. bytes.freed, ALLOCATED .. " " .. ALLOCATED - HELD, what .. ": with their sizes")
end

do
  local what = "no blocks are followed"
  local lines, bytes = counted(target.script(COUNTS .. [[
    handlers.freed = function(e, address, block, allocator) add(e, "freed", allocator, address ~= 0 and 1 or 1000) end
    allocators.trace(handlers)
  ]], "-- " .. NESTED), what)
  is(of_calls(lines), [[
allocated libc.so.6 calloc 62
allocated libc.so.6 malloc 62
allocated libc.so.6 realloc 12
freed libc.so.6 free 101
freed libc.so.6 realloc 12]], what .. ": the same calls")
  is(bytes.allocated .. " " .. bytes.freed, ALLOCATED .. " 113", what .. ": frees have addresses")
end

do
  local what = "a sample"
  local run = target.script([[
    local bit, up, allocators = require "bit", require "uplua", require "uplua.allocators"
    local blocks, n = up.hash { max = 1000 }, up.count()
    local function add(e, what, address)
      n[what]:inc()
      blocks[address] = true
    end
    local t = allocators.trace({ blocks = 1000, sample = 3 }, {
      allocated = function(e, address) add(e, "allocated", address) end,
      freed = function(e, address, block) add(e, block and "freed" or "unknown", address) end,
    })
    up.at_exit(function()
      local others, held = 0, 0
      for address in blocks:pairs() do
        if bit.rshift(up.u64(address) * 0x9e3779b97f4a7c15ULL, 32) % 3 ~= 0 then others = others + 1 end
      end
      t:each(function() held = held + 1 end)
      local allocated, freed = tonumber(n.allocated or 0), tonumber(n.freed or 0)
      print("others", others, n.unknown, held == allocated - freed, allocated < 148)
    end)]], "-- " .. NESTED)
  like(run.out, "\nothers\t0\t0\ttrue\ttrue\n", what .. " has no other blocks, and each of them to its free")
end

-- What follows asks nothing else of the kernel.
if not tap.fewer(true, false) then
  target.done()
  tap.done_testing()
end

-- TEXT behind COUNTS, attached to COMMAND, which waits.
local function attached(command, text)
  local path = target.folder() .. "-attached.lua"
  local file = assert(io.open(path, "w"))
  file:write(COUNTS, text, '\nup.after(0, function() io.stderr:write "tracing\\n" end)\n')
  file:close()
  local run = target.attached(command, path)
  os.remove(path)
  return run
end

do
  local what = "one allocator on top of another"
  local lines, bytes = counted(attached("env LD_PRELOAD=build/targets/libshim.so " .. NESTED .. " wait",
    "allocators.trace({ blocks = 1000 }, handlers)"), what)
  is(of_calls(lines), [[
allocated libshim.so calloc 62
allocated libshim.so malloc 62
allocated libshim.so realloc 12
freed libshim.so free 101
freed libshim.so realloc 12]], what .. ": only the outermost counts")
  is(bytes.allocated .. " " .. bytes.freed, ALLOCATED .. " " .. ALLOCATED - HELD, what .. ": with their sizes")
end

do
  local what = "racing reallocs"
  local run = target.script(COUNTS .. [[
    local t = allocators.trace({ blocks = 10000, follow = function(e, address, bytes) return bytes == 777 end }, {})
    up.at_exit(function()
      local blocks, processes = 0, {}
      t:each(function(block, process, gone)
        assert(block.bytes == 777 and not gone)
        blocks, processes[process] = blocks + 1, true
      end)
      print("held", blocks, next(processes) ~= nil and next(processes, next(processes)) == nil)
    end)]], "-- build/targets/reallocs 4 3001")
  like(run.out, "\nheld\t12\ttrue\n", what .. ": the blocks that are held, of one process")
  is(run.err, "", what .. ": has lost nothing")
end

do
  local what = "what is held"
  local run = target.script(COUNTS .. [[
    local t = allocators.trace({ blocks = 1000, stack = true }, {})
    up.at_exit(function()
      local list, sum = t:held(up.now())
      print("held", sum.bytes, sum.blocks, list[1].blocks + list[2].blocks, #sum.processes, sum.gone, t:target())
      local none, all = t:held(up.now(), 3600e9)
      print("young", #none, all.young.blocks, all.young.bytes, #t:missing())
    end)]], "-- " .. NESTED)
  like(run.out, "\nheld\t23000\t23\t23\t1\t0\tnested %(pid %d+%)\nyoung\t0\t23\t23000\t0\n", what .. ", by stack")
end

-- How many blocks alloc_rate.lua prints of PROGRAM by size class, in all its reports.
local function rates(program)
  local run, blocks = target.uplua("examples/alloc_rate.lua -- " .. program), {}
  is(run.err, "", "alloc_rate.lua has lost nothing")
  for class, n in run.out:gmatch "\n *([%d.]+ K?B) +(%d+) +[%d.]+ K?B" do blocks[class] = (blocks[class] or 0) + n end
  return blocks
end

do
  local blocks = rates(NESTED)
  is(blocks["4.0 KB"], 23 + 19, "alloc_rate.lua: 23 blocks of 1,000 bytes, and those of 520, 536 … 808")
  is(blocks["64 B"], 12 + 32 + 4, "12 of 10, and those of 1, 3 … 63, and of 8, 24, 40, 56")
  local sum = 0
  for _, n in pairs(blocks) do sum = sum + n end
  is(sum, 136, "and no others but the rest")
  blocks = rates "build/targets/allocs 101 2 23"
  is(blocks["64 B"], 101 + 23, "blocks that are freed at once, and those that stay")
end

for _, case in ipairs {
  { "allocators.trace { frees = resized }", "handlers: unknown option 'frees'; did you mean 'freed'%?" },
  { "allocators.trace({ block = 23 }, handlers)", "unknown option 'block'; did you mean 'blocks'%?" },
  { "allocators.trace { freed = 23 }", "option 'freed': it is a function, not 23" },
  { "allocators.trace {}", "give it a function for what is allocated, freed or resized" },
  { "allocators.trace({ stack = true }, handlers)", "without blocks none is followed" },
  { "allocators.trace(handlers):each(print)", "nothing is followed without the option blocks" },
  { "allocators.trace({ blocks = 23 }, handlers):held(0)", "blocks have no stacks without the option stack" },
} do
  local run = target.script(COUNTS .. case[1], "-- " .. NESTED)
  is(run.status, 1, case[1] .. ": is refused")
  like(run.err, "^uplua: %S+%-script%.lua:%d+: [^\n]*" .. case[2], "at its line")
end

local run = target.script(COUNTS .. "allocators.trace(handlers)", "")
is(run.status, 2, "no target: ends with 2")
like(run.err, "whose memory%? give PIDs or a command after %-%-", "and says what is missing")

target.done()
tap.done_testing()
