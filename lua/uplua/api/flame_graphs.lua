-- The chapter "Flame graphs" of the API.
return {
  title = "Flame graphs",
  modules = { flame = "uplua.flame", folded = "uplua.folded", stacks = "uplua.stacks", files = "uplua.stack_files" },
  types = {
    { "ByStack", "Aggregation|Map|Snapshot|table", "numbers by stack, or by a tuple that has stacks" },
    { "FlameOptions", "{ title?: string, unit?: string, before?: ByStack, absolute?: boolean }", "of flame.write" },
    { "StackRow", "{ stack: Stack, label?: string, number: integer }", "what reports have of a stack" },
  },

  [==[
```lua
local flame = require "uplua.flame"
flame.write("cpu.svg", stacks, { title = "CPU time", unit = "samples" })
```

draws the numbers of a count, a sum or a table by stack: one SVG file that needs nothing else. A key may be a stack, or
a tuple of texts, numbers and stacks, which become one column: the texts and numbers lie lowest, then stacks of
programs, then the kernel's above them, each kind in the key's order.

In a browser a click on a frame zooms to it, and a click on the lowest row zooms out. The arrow keys zoom to the widest
callee, the caller and the neighbours; Escape shows everything. `/` or Ctrl+F searches, and prints the matches' share of
all. Frames that were too narrow to be drawn appear when you zoom to them. `flame.svg(stacks, options)` returns the
text. [examples/cpu_flame.lua](../examples/cpu_flame.lua) samples the CPUs with it.

`uplua.folded` writes the same as lines `main;serve;zmalloc 4096`, which speedscope, flamegraph.pl and others read, by
`folded.write(path, stacks)` and `folded.text(stacks)`. `folded.read(path)` reads such a file as a table that `flame`
and `folded` take, whose keys are texts of whole stacks; where there is no such file, nil and the reason.

Two runs are compared by giving the first as `before`:

```lua
local flame, folded = require "uplua.flame", require "uplua.folded"
flame.write("changes.svg", stacks, { title = "CPU time", before = assert(folded.read "monday.folded") })
```

Frames are as wide as in the second run. Colours and marks tell the ratio to the first run's number: ▼▼ and dark blue at
most half, ▼ and light blue less, neither within 5 %, ▲ and light red more, ▲▲ and red at least twice as many, or new.
The text of a frame has both numbers: `parse: 23 orders, 22.77%; before 40, 50.00%: -27.23 points, × 0.46`.

Where the sums of the runs differ, the picture compares shares: it scales the first run's numbers by the sums' ratio,
which the line below the title tells. `absolute = true` compares the numbers as they are. That line also tells how much
of the first run was in frames that the second lacks. `b`, or a click on the words at the right, changes the widths to
those of the first run and shows these frames. Either source may be anything that `flame` takes. The comparison is of
folded stacks: of functions by their names, without inlined ones.
]==],

  {
    head = { "", "" },
    { [[`flame.write(path: string, stacks: ByStack, options?: FlameOptions)`,
        `flame.svg(stacks: ByStack, options?: FlameOptions): string`]],
      [[the picture as a file, or as a text]], raises = "a file that cannot be written" },
    { [[`folded.write(path: string, stacks: ByStack)`, `folded.text(stacks: ByStack): string`]],
      [[the lines as a file, or as a text]], raises = "a file that cannot be written" },
    { [[`folded.read(path: string): table?, string?`]],
      [[what such a file has: a table from lines to numbers]], gives_nil = "there is no such file",
      raises = "a file that is not of such lines" },
    { [[`folded.sums(stacks: ByStack): table`]], [[the same of stacks, without a file]] },
  },

  [==[
Reports print stacks by `uplua.stacks`. Stacks that print equally, those of several processes that run one program, are
one row there:

```lua
local stacks = require "uplua.stacks"
local rows, sum = stacks.rows(n)
local shown = stacks.print(rows, 20, function(row) return ("%d of %d"):format(row.number, sum) end)
print(stacks.told(rows, shown, "most frequent"))
```
]==],

  {
    head = { "", "" },
    { [[`stacks.rows(source: ByStack, label?: fun(key: any): string): StackRow[], integer`]],
      [[the rows, the largest first, and their sum. A row's `label` is what goes with the stack: `label(key)`, or the
        other parts of the tuple]] },
    { [[`stacks.print(rows: StackRow[], n: integer, show: fun(row: StackRow): string): integer`]],
      [[prints the `n` largest rows (0: all), the largest last, with `show(row)` below each; returns how many]] },
    { [[`stacks.told(rows: StackRow[], shown: integer, rank: string): string`]],
      [[`213 stacks, of which the 20 most frequent are above`]] },
    { [[`stacks.named(rows: StackRow[]): table`]], [[the rows as a table by stack, for flame graphs]] },
  },

  [==[
`uplua.stack_files` gives a script the options `--folded FILE`, `--flame FILE` and `--before FILE`:

```lua
local files = require "uplua.stack_files"
local options = up.args { "mine.lua [options]", files.folded, files.flame, files.before }
files.check(options)
up.at_exit(function() files.write(options, n, { title = "CPU time" }) end)
```
]==],

  {
    head = { "", "" },
    { [[`files.folded: table`, `files.flame: table`, `files.before: table`]], [[rows for `up.args`]] },
    { [[`files.check(options: table)`]],
      [[before the run: ends the script with status 2 where a file cannot be written, or read]] },
    { [[`files.write(options: table, stacks: ByStack, how: FlameOptions)`]],
      [[writes the files that the options name]], raises = "a file that cannot be written, without the script's line" },
  },
}
