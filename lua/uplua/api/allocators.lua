-- The chapter "Allocators" of the API.
return {
  title = "Allocators",
  modules = { allocators = "uplua.allocators" },
  types = {
    { "Block", "{ bytes: bytes, at: ns, stack?: Stack }", "a block of memory, as it was allocated" },
    { "AllocatedHandler", "fun(e: Event, address: address, bytes: bytes, allocator: string)", "of what is allocated" },
    { "FreedHandler", "fun(e: Event, address: address, block?: Block, allocator: string)", "of what is freed" },
    { "ResizedHandler",
      "fun(e: Event, old: address, block?: Block, address: address, bytes: bytes, allocator: string)",
      "of a realloc that has succeeded" },
    { "AllocatorHandlers",
      "{ allocated?: AllocatedHandler, freed?: FreedHandler, resized?: ResizedHandler }", "of allocators.trace" },
    { "AllocatorOptions", "{ blocks?: integer, stack?: boolean, sample?: integer, warn?: fun(text: string), "
      .. "follow?: fun(e: Event, address: address, bytes: bytes): boolean }", "of allocators.trace" },
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
    { [[`stack = true`]], [[keeps of each block the stack that has allocated it]], shown = true },
    { [[`follow = function(e, address, bytes) … end`]], shown = true,
      [[for handlers: true for a block that is to be followed; without it, all are]] },
    { [[`sample = 100`]], shown = true,
      [[knows of one block in so many only, chosen by its address, as if there were no others: what is not in the sample
        costs little more than the hit of a probe]] },
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
}
