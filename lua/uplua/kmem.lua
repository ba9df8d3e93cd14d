-- What the kernel's allocators give out and take back: kmalloc, the slabs of kmem_cache, and whole pages.
--
--   local kmem = require "uplua.kmem"
--   kmem.trace({ slabs = true, pages = true }, {
--     allocated = function(e, address, bytes, name) sizes[name]:add(bytes) end,  -- handlers' parts
--     freed     = function(e, address) … end,
--   })
--
-- or, of blocks that are held:
--
--   local blocks = kmem.follow { max = 1000000 }
--   local list, bytes, count = blocks:held("10s")   -- by stack; with "name" by slab
--   print(blocks:losses())
--
-- NAME is that of a slab, "kmalloc" or "pages". What is given out counts where the kernel works for the target; a free
-- counts whoever frees. Some frees are not seen, so that a block looks as if it were held: the kernel passes over
-- probes that are hit while another program runs on that CPU, and tells no probe of objects that are freed in bulk, as
-- packets of the network. An address that is given out again was free, seen or not: that is counted.
local aggregate    = require "uplua.objects.aggregate"
local capture      = require "uplua.compile.capture"
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"
local up           = require "uplua"

local kmem = {}

local PAGE, MOST_NAMES = 4096, 3
local MOST_BLOCKS = 1000000

local nothing = capture.inlined(function() end)

local WHAT = { slabs = option_table.boolean, pages = option_table.boolean }
local HANDLERS = {}
for _, name in ipairs { "allocated", "freed" } do
  HANDLERS[name] = option_table.check("a function", function(value)
    return type(value) == "function" and value or nil
  end)
end

local function trace_slabs(allocated, freed)
  up.raw_tracepoint("kmalloc", capture.inlined(function(e)
    local at = up.u64(e.args.ptr)
    if at ~= 0 then allocated(e, at, e.args.bytes_alloc, "kmalloc") end
  end))
  up.raw_tracepoint("kmem_cache_alloc", capture.inlined(function(e)
    local at = up.u64(e.args.ptr)
    if at ~= 0 then allocated(e, at, e.args.s.object_size, up.kstr(e.args.s.name, 32) or "?") end
  end))
  if not freed then return end
  for _, name in ipairs { "kfree", "kmem_cache_free" } do
    up.raw_tracepoint(name, { all = true }, capture.inlined(function(e) freed(e, up.u64(e.args.ptr)) end))
  end
end

local function trace_pages(allocated, freed)
  up.raw_tracepoint("mm_page_alloc", capture.inlined(function(e)
    local at = up.u64(e.args.page)
    if at ~= 0 then allocated(e, at, bit.lshift(up.i64(PAGE), e.args.order), "pages") end
  end))
  if not freed then return end
  up.raw_tracepoint("mm_page_free", { all = true }, capture.inlined(function(e) freed(e, up.u64(e.args.page)) end))
end

-- trace(what, handlers): WHAT: { slabs =, pages = }, one or both; HANDLERS: { allocated = fn(e, address, bytes, name),
-- freed = fn(e, address) }, parts of handlers; what is left out costs nothing.
function kmem.trace(what, handlers)
  what = option_table.read("kmem.trace", what, WHAT)
  handlers = option_table.read("kmem.trace: handlers", handlers, HANDLERS)
  if not (what.slabs or what.pages) then error("kmem.trace: of what? Give slabs = true, pages = true, or both", 2) end
  if not (handlers.allocated or handlers.freed) then
    error("kmem.trace: give it a function for what is allocated, freed, or both", 2)
  end
  local allocated = handlers.allocated or nothing
  if what.slabs then trace_slabs(allocated, handlers.freed) end
  if what.pages then trace_pages(allocated, handlers.freed) end
end

local Blocks = {}
Blocks.__index = Blocks

-- follow([options]): keeps the blocks that are held. Options: pages, those in place of slabs; max, so many at most
-- (1000000); option, what a script's users call max, "--max"; stacks = false, without the stacks that have allocated
-- them.
function kmem.follow(options)
  options = option_table.read("kmem.follow", options, {
    pages = option_table.boolean, max = option_table.positive, stacks = option_table.boolean,
    option = option_table.text,
  })
  -- Address → { bytes, at, name, stack }.
  local live = up.hash { max = options.max or MOST_BLOCKS, option = options.option }
  rawset(live, "read", true)
  local allocated, freed = aggregate.keep_quiet(up.count()), aggregate.keep_quiet(up.count())
  local reused = aggregate.keep_quiet(up.count())
  local stack = capture.inlined(function(e) return e:kstack() end)
  if options.stacks == false then stack = capture.inlined(function() return 0 end) end
  kmem.trace({ slabs = not options.pages, pages = options.pages or false }, {
    allocated = capture.inlined(function(e, address, bytes, name)
      allocated:inc()
      local before = live[address]
      if before then reused[before.name]:inc() end -- its free was not seen
      live[address] = { bytes = bytes, at = e.time, name = name, stack = stack(e) }
    end),
    freed = capture.inlined(function(_, address)
      if live[address] then
        freed:inc()
        live[address] = nil
      end
    end),
  })
  return setmetatable({ live = live, allocated = allocated, freed = freed, reused = reused }, Blocks)
end

-- held(older, [by]): what is held for so long at least (a duration), by "stack" (without it) or "name": a list of
-- { bytes, blocks, oldest, name, stack }, in no order; the bytes of all, and their number.
function Blocks:held(older, by)
  local least, message = text.duration(older)
  if not least then error("held: " .. message, 2) end
  if by ~= nil and by ~= "stack" and by ~= "name" then
    error(("held: blocks are put together by \"stack\" or \"name\", not %s"):format(text.shown(by)), 2)
  end
  local groups, list, sum, count, now = {}, {}, 0, 0, up.now()
  for _, block in self.live:pairs() do
    local age = tonumber(now - block.at)
    if age >= least then
      local key = block[by or "stack"]
      local group = groups[key]
      if not group then
        group = { bytes = 0, blocks = 0, oldest = 0, name = block.name, stack = block.stack }
        groups[key], list[#list + 1] = group, group
      end
      group.bytes, group.blocks = group.bytes + block.bytes, group.blocks + 1
      group.oldest = math.max(group.oldest, age)
      sum, count = sum + block.bytes, count + 1
    end
  end
  return list, sum, count
end

-- counts(): { allocated, freed, reused, passed_over }: blocks that were given out, and that were freed of these; those
-- that were given out again without a free that was seen; and frees, of any blocks, that the kernel has passed over.
function Blocks:counts()
  local counts = { allocated = tonumber(self.allocated:get()), freed = tonumber(self.freed:get()), reused = 0,
                   passed_over = 0 }
  for _, n in self.reused:pairs() do counts.reused = counts.reused + tonumber(n) end
  for _, entry in ipairs(up.ledger()) do
    if entry[1]:find "free: hits that the kernel passed over" then
      counts.passed_over = counts.passed_over + entry[2]
    end
  end
  return counts
end

-- losses(): how many of the blocks that seem to be held may be freed, as lines for people; "" where all is known.
function Blocks:losses()
  local counts, lines, names = self:counts(), {}, {}
  if counts.passed_over > 0 then
    lines[1] = ("Up to %s of these may be freed: the kernel has passed over as many frees, of any blocks.\n"):format(
      text.thousands(counts.passed_over))
  end
  for name, n in self.reused:top(MOST_NAMES) do names[#names + 1] = ("%s of %s"):format(text.thousands(n), name) end
  if counts.reused > 0 then
    lines[#lines + 1] = ("%s given out again whose free was not seen (%s): other blocks of these may be freed, too.\n")
      :format(text.plural(counts.reused, "block was", "blocks were"), table.concat(names, ", "))
  end
  return table.concat(lines)
end

return kmem
