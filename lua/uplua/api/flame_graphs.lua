-- The chapter "Flame graphs" of the API.
return {
  title = "Flame graphs",
  modules = {
    flame = "uplua.flame", folded = "uplua.folded", pprof = "uplua.pprof", stacks = "uplua.stacks",
    files = "uplua.stack_files", report = "uplua.stack_report",
  },
  types = {
    { "ByStack", "Aggregation|Map|Snapshot|table", "numbers by stack, or by a tuple that has stacks" },
    { "FlameOptions", "{ title?: string, unit?: string, before?: ByStack, absolute?: boolean, "
      .. "colors?: table }", "of flame.write" },
    { "PprofOptions", "{ type?: string, unit?: string, period?: integer, period_type?: string, period_unit?: string, "
      .. "more?: table[] }", "of pprof.write" },
    { "FrameTest", "fun(frame: Frame): boolean", "whether a frame is one of some" },
    { "StackRow", "{ stack: Stack, label?: string, number: integer, times?: integer }",
      "what reports have of a stack" },
    { "StackReport", "{ numbers: Aggregation, who?: Who, times?: Count, sums?: Sums, others?: Count, unit?: string, "
      .. "noun?: string }",
      "what report.run is given" },
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
text. [examples/cpu_flame.lua](../examples/cpu_flame.lua) samples the CPUs with it. With `colors`, such as
`{ lost = "#e2574c" }`, all columns that begin with this text have this colour.

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
    { [[`folded.append(path: string, time: ns, stacks: ByStack)`]],
      [[adds the lines of an interval to the end of a file, each behind its time: `12:34:56.000;main;serve 12`]],
      raises = "a file that cannot be written" },
    { [[`folded.read(path: string): table?, string?`]],
      [[what such a file has: a table from lines to numbers]], gives_nil = "there is no such file",
      raises = "a file that is not of such lines" },
    { [[`folded.sums(stacks: ByStack): table`]], [[the same of stacks, without a file]] },
    { [[`pprof.write(path: string, stacks: ByStack, options?: PprofOptions)`]],
      [[writes a profile for `go tool pprof` and others, in gzip]], raises = "a file that cannot be written" },
    { [[`pprof.data(stacks: ByStack, options?: PprofOptions): string`]], [[the same as bytes, not compressed]] },
  },

  [==[
A profile of `uplua.pprof` has the functions with their lines, inlined ones, too, the files with their build ids, and
the texts and numbers of a tuple as the label `by` of its samples. `type` and `unit` say what the numbers are: `samples`
and `count`. `more`, a list of `{ type, unit, numbers }`, gives the samples further numbers: `numbers` is a table with
the same keys. Its addresses are of no process: file number n is mapped at n × 2^40, so that what is above that is the
offset in the file.
]==],

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
    { [[`stacks.rows(source: ByStack, label?: fun(key: any): string, apart?: boolean): StackRow[], integer`]],
      [[the rows, the largest first, and their sum. A row's `label` is what goes with the stack: `label(key)`, or the
        other parts of the tuple. `apart`: equal texts are not one row, which is faster]] },
    { [[`stacks.print(rows: StackRow[], n: integer, show: fun(row: StackRow): string, columns?: table[]): integer`]],
      [[prints the `n` largest rows (0: all), the largest first, with `show(row)` below each; returns how many.
        `columns`: of the data, what else rows have]] },
    { [[`stacks.behind(taken: ByStack, key: any, noun?: string): string`]],
      [[the most frequent stacks of `key` in counts by `{ key, stack }`: for a row's field `behind`, which Enter shows
        where a table lives]] },
    { [[`stacks.told(rows: StackRow[], shown: integer, rank: string): string`]],
      [[`213 stacks, of which the 20 most frequent are above`]] },
    { [[`stacks.functions(rows: StackRow[], by?: string, innermost?: FrameTest, fields?: string[]): table[]`]],
      [[the rows by function, inlined ones, too: `name`, `module`, `label`, `self` (it was the innermost), `total` (it
        was in the stack), the largest `self` first; with `"line"` by line of the source, `at`]] },
    { [[`stacks.waits(frame: Frame): boolean`]],
      [[false for a function of the kernel's scheduler: for `innermost`, of stacks of threads that wait]] },
    { [[`stacks.instructions(rows: StackRow[], fields?: string[]): table[]`]],
      [[the rows by the instruction at which they stand: `name` (`parse+0x23`), `module`, `label`, `self`, `address` in
        the file, `code` (`mov (%rdi), %rax`; on x86_64, of what is in a file), `at`]] },
    { [[`stacks.callers(rows: StackRow[], name: string): table[]`]],
      [[who calls the function: `name`, `number`, `depth` of it and of its callers, theirs below each; `branch`: one of
        several]] },
    { [[`stacks.changes(before: table, now: table): table[]`]],
      [[what differs by function between folded stacks with numbers: `name`, `before`, `now`, `change` of its own share
        in percent, and `total_before`, `total_now`, `total_change`; the largest change first]] },
    { [[`stacks.named(rows: StackRow[]): table`]], [[the rows as a table by stack, for flame graphs]] },
  },

  [==[
`uplua.stack_files` gives a script the options `--output FILE`, which writes a flame graph, folded stacks or a profile
of pprof by the file's suffix, `.svg`, `.folded` or `.pb.gz`, and else the report; and `--folded FILE`, `--flame FILE`
and `--before FILE`:

```lua
local files = require "uplua.stack_files"
local options = up.args { "mine.lua [options]", files.output, files.folded, files.flame, files.before }
files.check(options)
up.at_exit(function() files.write(options, n, { title = "CPU time" }) end)
```
]==],

  {
    head = { "", "" },
    { [[`files.output: table`, `files.folded: table`, `files.flame: table`, `files.diff: table`,
        `files.before: table`]],
      [[rows for `up.args`]] },
    { [[`files.check(options: table)`]],
      [[before the run: ends the script with status 2 where a file cannot be written, or read]] },
    { [[`files.changes(options: table, stacks: ByStack): table[]?`]],
      [[what differs from the file of `--diff FILE`, as `stacks.changes` has it]],
      gives_nil = "there is no such option" },
    { [[`files.write(options: table, stacks: ByStack, how: FlameOptions)`]],
      [[writes the files that the options name]], raises = "a file that cannot be written, without the script's line" },
    { [[`files.append(options: table, time: ns, stacks: ByStack)`]],
      [[adds to the file of `--folded` what an interval had that began at `time`, as `folded.append` does; what was in
        the file before the run goes]], raises = "as `files.write`" },
    { [[`files.tell(options: table)`]], [[says on standard error which files are written, as `files.write` does]] },
  },

  [==[
`uplua.stack_report` is all that profile.lua, stackcount.lua and offcputime.lua print, with its options `--functions` or
`--stacks`, `--lines`, `--callers`, `--interval`, `--user`, `--kernel`, `--top`, `--diff`, and the files:

```lua
local report = require "uplua.stack_report"
local options = up.args { "mine.lua [options]", report.options "functions" }
report.check(options)
local n, stack = up.count(), report.stack(options)
up.profile(99, function(e) n[stack(e)]:inc() end)
report.run(options, { numbers = n, noun = "sample" })
```
]==],

  {
    head = { "", "" },
    { [[`report.options(by: string): table`]],
      [[rows for `up.args`; `by` is what the report shows unasked: `"functions"` or `"stacks"`]],
      raises = "another word" },
    { [[`report.check(options: table)`]],
      [[before the run: ends the script with status 2 where options do not go together, or a file cannot be written or
        read]] },
    { [[`report.stack(options: table): fun(e: table): Stack`]],
      [[the stack that the options ask for, for handlers: whole, of `--user` or of `--kernel`]] },
    { [[`report.run(options: table, declared: StackReport)`]],
      [[prints it at the end, or for each interval]], raises = "what has no numbers" },
    { [[`report.ongoing(open: Map): fun(): string[]`]],
      [[for reports of waits of one's own, before the probes are there: what `report.run` says at its end of `open`
        below, as a function that returns its lines]] },
  },

  [==[
What `report.run` is given: `numbers` is a count or a sum by stack, or by `{ who, stack }` with `who` of `uplua.by` (or
`label`, a function of the key, and `label_title`). `unit` is `"count"` or `"ns"`; `noun` is what one of them is
called, `"sample"`; `times` a count and `sums` (`by.sums`) what is summed by the same keys; `others` a count of what
was left out on purpose. `hertz` is how many samples of the CPUs' time make a second; `told(sum)` is the begin of the
last line, `show(row, sum)` the line below a stack, `rank` what the first stacks are, `"most frequent"`. `title` and
`file_unit` are those of the files. `open`, of waits, is a map of `{ since, stack }` by thread, of what has begun and
not ended: the report says at its end what that is, and which threads have waited all the time.

Where `innermost`, of `stacks.functions` too, is given, `self` counts for the first function of a stack for which
`innermost(frame)` is true, and what is above that counts for nothing. If rows have `times`, functions have their sums;
so of the `fields` that `stacks.functions` and `stacks.instructions` are given.
]==],
}
