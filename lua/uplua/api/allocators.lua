-- The chapter "Allocators" of the API.
return {
  title = "Allocators",
  modules = { allocators = "uplua.allocators", kmem = "uplua.kmem" },
  types = {
    { "Block", "{ bytes: bytes, at: ns, stack?: Stack }", "a block of memory, as it was allocated" },
    { "AllocatedHandler", "fun(e: Event, address: address, bytes: bytes, allocator: string)", "of what is allocated" },
    { "FreedHandler", "fun(e: Event, address: address, block?: Block, allocator: string)", "of what is freed" },
    { "ResizedHandler",
      "fun(e: Event, old: address, block?: Block, address: address, bytes: bytes, allocator: string)",
      "of a realloc that has succeeded" },
    { "AllocatorHandlers",
      "{ allocated?: AllocatedHandler, freed?: FreedHandler, resized?: ResizedHandler }", "of allocators.trace" },
    { "AllocatorOptions", "{ blocks?: integer, option?: string, stack?: boolean, sample?: integer, peak?: boolean, "
      .. "totals?: boolean, warn?: fun(text: string), "
      .. "follow?: fun(e: Event, address: address, bytes: bytes): boolean }", "of allocators.trace" },
    { "KmemHandlers", "{ allocated?: fun(e: Event, address: address, bytes: bytes, name: string), "
      .. "freed?: fun(e: Event, address: address) }", "of kmem.trace" },
    { "KmemBlocks", nil, "the kernel's blocks that are held" },
    { "AllocatorTrace", nil, "what allocators.trace follows" },
  },

  [==[
```lua
local allocators = require "uplua.allocators"
local sizes = up.hist()
allocators.trace { allocated = function(e, address, bytes) sizes:add(bytes) end }
```

calls handlers for each block that the target allocates, frees and resizes. Where an allocator's functions call each
other, only the outermost call counts. All modules that bring an allocator along are followed, later ones, too
([mallocleak.md](mallocleak.md), What is followed). In a process that runs already, calls count from the moment at which
all probes are there.
]==],

  {
    head = { "handler", "" },
    { [[`allocated(e, address, bytes, allocator)`]], shown = true,
      [[a block of so many bytes, as the program asked for them, at the return of what has allocated it]] },
    { [[`freed(e, address, block, allocator)`]], shown = true,
      [[at the entry of `free` and its kin; of a block that a realloc has freed, at its return]] },
    { [[`resized(e, old, block, address, bytes, allocator)`]], shown = true,
      [[a realloc of a block that has succeeded; without this handler it is `freed` and `allocated`]] },
  },

  [==[
`e.func` is the function, and `allocator` the file that has it, such as `"libc.so.6"`. `free(NULL)` and calls that fail
are none. Arguments that a handler does not use cost nothing; without `freed`, `resized` and `blocks`, glibc's `free` is
not probed at all.

With the option `blocks`, `block` is what is known of the block that is free now: `{ bytes, at, stack }`, or nil if its
allocation was not seen. Without the option it is nil always. A map by address of one's own is wrong where threads race:
before a realloc returns, another thread may have been given the old address. `blocks` sees to that.
]==],

  {
    head = { "", "" },
    { [[`allocators.trace(options?: AllocatorOptions, handlers: AllocatorHandlers): AllocatorTrace`]],
      [[declares the probes. Without a target the script ends with a message]],
      raises = "nothing in the target is an allocator" },
  },

  {
    head = { "option", "" },
    { [[`blocks = 1000000`]], [[follows so many blocks at one time]], shown = true },
    { [[`option = "--max"`]], shown = true,
      [[what users raise `blocks` with, for the message that there was no room]] },
    { [[`stack = true`]], [[keeps of each block the stack that has allocated it]], shown = true },
    { [[`follow = function(e, address, bytes) … end`]], shown = true,
      [[for handlers: true for a block that is to be followed; without it, all are]] },
    { [[`sample = 100`]], shown = true,
      [[knows of one block in so many only, chosen by its address, as if there were no others: what is not in the sample
        costs little more than the hit of a probe]] },
    { [[`peak = true`]], [[keeps what each stack held at the moment at which all held most]], shown = true },
    { [[`totals = true`]], [[keeps how much each stack has allocated in all]], shown = true },
    { [[`warn = function(text) … end`]], shown = true,
      [[gets what a user should know of an allocator; without it, uplua prints that]] },
  },

  {
    head = { "of the trace", "" }, class = "AllocatorTrace",
    { [[`t:each(fn: fun(block: Block, process: integer, gone: boolean))`]],
      [[calls fn for each block that is held. `process` is a number for the memory of a process; `gone`: that has
        executed another program since]],
      raises = "without the option `blocks`" },
    { [[`t:held(now: ns, older?: ns): table[], table`]],
      [[what is held at that time: a list by stack, the most bytes first, and the sum]],
      raises = "without the option `stack`" },
    { [[`t:peak(): table[], table`]],
      [[what was held when the most was: a list of `{ bytes, blocks, stack, name }`, the most bytes first, and
        `{ bytes, at }`, how much and when]],
      raises = "without the option `peak`" },
    { [[`t:totals(): table[]`]], [[all that was allocated, as such a list]], raises = "without the option `totals`" },
    { [[`t:missing(name?: string): string[]`]],
      [[lines about what the numbers lack, none where they are whole; `name`: what users call the option `blocks`]] },
    { [[`t:target(): string`]], [[`redis-server (pid 4242)`, while it is there]] },
    { [[`t:began_at(): ns`]], [[when the counting began, or the command]] },
  },

  [==[
`t:held` leaves out blocks that are younger than `older`. Its list has `{ bytes, blocks, oldest, newest, stack, name }`:
times of allocation, and `stack:key()`. Its sum has `bytes`, `blocks`, `processes` (a list of
`{ bytes, blocks, name }`), `young` (`{ bytes, blocks }`, which were left out) and `gone` (a number of blocks).
[examples/alloc_rate.lua](../examples/alloc_rate.lua) prints what is allocated each second by size class,
[scripts/mallocleak.lua](../scripts/mallocleak.lua) what is held.
]==],

  [==[
`uplua.kmem` does the same for the kernel's allocators: kmalloc, the slabs of kmem_cache, and whole pages. `name` is a
slab's, `"kmalloc"` or `"pages"`. What is given out counts where the kernel works for the target; a free counts whoever
frees.

```lua
local kmem = require "uplua.kmem"
local blocks = kmem.follow { max = 100000 }
up.at_exit(function()
  local list, bytes = blocks:held("10s", "name")
  for _, group in ipairs(list) do print(group.name, group.bytes, group.blocks) end
  io.write(blocks:losses())
end)
```

Some frees are not seen, so that a block looks as if it were held: the kernel passes over probes that are hit while
another program runs on that CPU, and it tells no probe of objects that are freed in bulk, as packets of the network.
An address that is given out again was free, seen or not; such blocks are counted.
]==],

  {
    head = { "", "" },
    { [[`kmem.trace(what: { slabs?: boolean, pages?: boolean }, handlers: KmemHandlers)`]],
      [[calls handlers for what is given out, and taken back]], raises = "neither slabs nor pages, no handler" },
    { [[`kmem.follow(options?: { pages?: boolean, max?: integer, option?: string, stacks?: boolean }): KmemBlocks`]],
      [[keeps the blocks that are held: of slabs, or `pages`; `max` at the most (1,000,000), which a script's users
        know as `option`; `stacks = false`, without the stacks that have allocated them]] },
  },

  {
    head = { "", "" }, class = "KmemBlocks",
    { [[`b:held(older: duration, by?: "stack"|"name"): table[], bytes, integer`]],
      [[what is held for so long at least, by stack or slab, in no order: `{ bytes, blocks, oldest, name, stack }`; the
        bytes of all, and their number]] },
    { [[`b:counts(): table`]],
      [[`allocated`, `freed`; `reused`, given out again without a free that was seen; `passed_over`, frees that the
        kernel has passed over, of any blocks]] },
    { [[`b:losses(): string`]], [[how many of these blocks may be freed, as lines for people, or ""]] },
  },
}
