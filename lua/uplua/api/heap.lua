-- The chapter "Lost memory" of the API.
return {
  title = "Lost memory",
  modules = { heap = "uplua.heap" },
  types = {
    { "HeapOptions", "{ passes?: integer, stop?: duration, pause?: duration, share?: integer, most?: bytes }",
      "of heap.prove" },
    { "HeapSum", "{ bytes: bytes, blocks: integer }", "of blocks" },
    { "HeapRow", "{ stack: Stack, name: string, oldest?: ns, newest?: ns, [string]: HeapSum }",
      "what a stack has allocated, in sums" },
    { "HeapHolder", "{ name: string, path: string, bytes: bytes, blocks: integer }", "who holds blocks" },
    { "HeldRow", "{ stack: Stack, name: string, bytes: bytes, blocks: integer, oldest?: ns, newest?: ns }",
      "what a stack holds, as `t:held` has it" },
    { "HeldOptions", "{ top?: integer, now?: ns, combined?: boolean, growth?: HeapGrowth, older?: ns, since?: ns, "
      .. "sum?: HeapSum }", "of heap.held" },
    { "SiteOptions", "{ top?: integer, wrappers?: string[] }", "of heap.tree and heap.sites" },
    { "PrinterOptions", "{ tree?: boolean, by?: string, top?: integer, wrappers?: string[] }", "of heap.printer" },
    { "SiteRow", "{ name: string, module?: string, at?: string, bytes: bytes, blocks: integer, stacks?: integer, "
      .. "share: number, depth?: integer, branch?: boolean }", "what an allocating function, or a caller, holds" },
    { "HeapGrowth", nil, "what stacks held in the last reports" },
    { "GrowthOf", "{ rate: number, rises: integer, falls: integer, steps: integer, values: bytes[], "
      .. "direction: integer }", "how a stack grows" },
    { "HeapChunks", "{ arenas: integer, mapped: integer, caches: integer, sizes: table[], stopped_for: ns, "
      .. "why?: string, [string]: HeapSum }", "what heap.scan has found" },
    { "HeapProof", "{ proven: boolean, exact: boolean, stacks: HeapRow[], sum: table, processes: table[], began: ns, "
      .. "ended: ns }", "what heap.prove has found" },
  },

  [==[
```lua
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000000, stack = true }, {})
up.every("10s", function()
  heap.prove(trace, {}, function(proof) up.printf("%d bytes are lost\n", proof.sum.proven.bytes) end)
end)
```

looks for pointers to the blocks that the target holds in its memory, in the registers of its threads, and in what /proc
shows of epoll and of timers. A block that none leads to, over other blocks or not, is lost. The target is read and
never written to. [mallocleak.md](mallocleak.md#which-memory-is-lost) tells what counts as a pointer, and what cannot be
seen.

While the target runs, a pass may miss a pointer that is moved just then. What is lost is found so by each pass, and
what is not drops out. How the number shrinks from pass to pass tells how many of the rest are still wrong: once that is
less than 0.01 blocks, the rest is *proven*. Passes read 64 KB at a time and for a tenth of the time. With `stop`, one
pass is made of the stopped target, which is exact.
]==],

  {
    head = { "", "" },
    { [[`heap.prove(trace: AllocatorTrace, options?: HeapOptions, done: fun(proof: HeapProof)): boolean`]],
      [[begins, and calls `done(proof)` when it is done; the script goes on meanwhile. False: the last proof is not done
        yet]],
      raises = "a trace without the options `blocks` and `stack`, or with `follow` or `sample`" },
    { [[`heap.prove_now(trace: AllocatorTrace, options?: HeapOptions): HeapProof`]],
      [[the proof, once it is done: for `up.at_stop`, while the target still lives. That function has to be given before
        `allocators.trace` is called, since blocks are followed until the trace's own]],
      raises = "as heap.prove" },
    { [[`heap.prove_end(trace: AllocatorTrace, options?: HeapOptions, done: fun(proof: HeapProof))`]],
      [[where the target is a command: holds it when it ends by itself, before its memory goes, and calls `done(proof)`
        of one exact pass. To be called in the main chunk]],
      raises = "a target that is no command" },
    { [[`heap.holders(row: HeapRow): HeapHolder[]`]],
      [[who holds the blocks of a row, the most bytes first: `name`, such as `sessions (.bss+0x40 of server)`, and
        `path`, which leads from there to one of them]] },
    { [[`heap.lines(proof: HeapProof, top?: integer): string[]`]],
      [[the proof for people: what is known, the `top` stacks (10; 0: all) that have lost most, and those that hold
        most]] },
    { [[`heap.known(proof: HeapProof): string[]`]], [[the first of these lines: what is known of each process]] },
    { [[`heap.sums(proof: HeapProof): string[]`]], [[the last of these lines: the sums of all]] },
    { [[`heap.parts(proof: HeapProof): table[]`]],
      [[what is lost, unreachable and held, for `heap.tree` and `heap.sites`: a list of `{ title, list }`]] },
  },

  {
    head = { "", "" },
    { [[`heap.scan(pid: integer, options?: { stop?: duration }): HeapChunks?, string?`]],
      [[what is lost of glibc's heap in a process that nobody has followed, by the headers of its chunks]],
      gives_nil = "it has no such heap, or cannot be stopped for as long (1s)" },
    { [[`heap.rows(proof: HeapProof): table[]`]],
      [[the rows of a view: of each stack `proven`, `suspected` (both with what hangs below), `held`, `young` and
        `unknown`, in bytes, the same with `_blocks`, and `stack`]] },
  },

  {
    head = { "", "" },
    { [[`heap.growth(most?: integer): HeapGrowth`]],
      [[remembers what was held in up to so many reports (60)]], raises = "fewer than two" },
    { [[`heap.difference(before: HeldRow[], after: HeldRow[]): HeldRow[], HeapSum`]],
      [[how much more each stack holds in the second list than in the first, negative where it is less, the largest
        change first; and the sum]] },
    { [[`heap.held(list: HeldRow[], options?: HeldOptions): string[]`]],
      [[the first `top` (10; 0: all) of a list for people: with ages where `now` is given, with what grows where
        `growth` is, a line for each where `combined` is true]] },
    { [[`heap.tree(list: HeldRow[], options?: SiteOptions): SiteRow[], table`]],
      [[the stacks merged from the functions that allocate up to the outermost one, the most bytes first; and what is
        beyond the `top` (10; 0: all) ways]] },
    { [[`heap.sites(list: HeldRow[], by: string, options?: SiteOptions): SiteRow[]`]],
      [[the list by the allocating `"function"`, `"module"` or `"line"`, the most bytes first: `name`, `module`, `at`
        (`shop.c:23`), `bytes`, `blocks`, `stacks`, `share`]], raises = "another word" },
    { [[`heap.printer(options: PrinterOptions): function`]],
      [[`print(list: HeldRow[], heading?: string, rate_of?: function)`, which prints lists as that tree, or that table,
        or writes them as data; `rate_of(bytes)` fills the table's column of bytes a second]],
      raises = "neither a tree nor a table is asked for" },
    { [[`heap.total(list: HeldRow[], sum: table, options?: HeldOptions): string[]`]],
      [[lines about all of what `t:held` has given]] },
    { [[`heap.changes(list: HeldRow[], sum: HeapSum, options?: HeldOptions): string[]`]],
      [[the same of a difference]] },
    { [[`heap.profile(list: HeldRow[], totals?: table[], proof?: HeapProof): table, table`]],
      [[what is held by stack, and how it is to be written: the arguments of `files.write`. `totals` are those of
        `t:totals`; what `proof` has proven lost is apart]] },
  },

  {
    head = { "of the growth", "" }, class = "HeapGrowth",
    { [[`g:add(list: HeldRow[], now: ns)`]], [[a report: what is held at that time]] },
    { [[`g:of(name: string): GrowthOf?`]],
      [[of the stack of that name (`stack:key()`)]],
      gives_nil = "it has held nothing" },
    { [[`g:line(name: string): string?`]], [[`grows 1.2 MB/min, 12 of 12 reports  ▁▂▄▅█`]],
      gives_nil = "it neither grows nor shrinks, as far as can be told" },
    { [[`g:growing(list: HeldRow[]): HeldRow[]`]], [[those that grow, the fastest first]] },
  },

  {
    head = { "option", "" },
    { [[`passes = 20`]], [[at most so many passes]], shown = true },
    { [[`stop = "100ms"`]], shown = true,
      [[stops the target for one exact pass, but for no longer; if that is too short, passes of the running target
        follow]] },
    { [[`pause = "100ms"`]], [[the time between passes]], shown = true },
    { [[`share = 10`]], [[the percentage of the time for which a running target's memory is read]], shown = true },
    { [[`most = 64 * 2^30`]], [[bytes that a pass reads at most; beyond that nothing is proven]], shown = true },
  },

  [==[
`heap.held` shows shares where `sum` is given, the bytes of all, and bytes a second where `since` is. `heap.tree` has of
each step `name`, `depth`, `bytes`, `blocks`, `share` in percent, and `branch`, whether it is one of several callers; of
what is left out `{ ways, bytes, blocks }`.

The allocating function is the first of a stack that is no allocator's, no standard library's and no wrapper's
([mallocleak.md](mallocleak.md#one-cause-one-line)). `wrappers` are names of more of them, or patterns.

A proof has `processes`, a list of `{ pid, proven, exact, passes, suspects, wrong, why, failed }`: `wrong` is about how
many of the suspects are wrong, nil where that cannot be said yet, and `why` the reason for which nothing is proven or
the target was not stopped. `stacks` has a row for each stack, those that have lost most first. Its sums of bytes and
blocks are `proven` (lost themselves), `proven_below` (that only these lead to, of whichever stacks), `proven_own` (all
that this stack has lost, themselves or below others), `suspected`, `suspected_below` and `suspected_own` (unreachable
in all passes, and not proven), `held`, `young` (allocated after the first pass began) and `unknown`
(unreachable in some passes only). `sum` has the same of all. While `heap.prove_end` waits, the command's first thread
is traced by ptrace, but while `heap.prove` is under way.

`heap.scan` gives the sums `used`, `free`, `fast` and `cached` of chunks that are given away, free, and in fast bins and
threads' caches; of those that are given away `direct`, to which nothing leads, and `below`, to which only these do; and
`sizes`, a list of `{ size, direct, below }`. `why` is there where nothing is known of what is lost.
[heapscan.md](scripts/heapscan.md) tells which heaps it knows.

`g:of` has `rate`, in bytes a minute, how many of the `steps` from one report to the next rose and fell (`rises`,
`falls`), `values`, what was held in each report, and `direction`: 1, it grows; -1, it shrinks; 0, neither can be told.
]==],
}
