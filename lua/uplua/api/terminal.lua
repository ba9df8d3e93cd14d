-- The chapter "Tables and pictures on the terminal" of the API.
return {
  title = "Tables and pictures on the terminal",
  modules = { view = "uplua.view", plot = "uplua.plot", heat = "uplua.heat", slices = "uplua.slices" },
  types = {
    { "View", nil, "a table for people" }, { "Stream", nil, "lines of what happens" },
    { "Slices", nil, "counts by slice of time" },
    { "Heat", nil, "a distribution while time goes by" },
    { "HeatOptions", "{ unit?: string, title?: string, scale?: \"log\"|\"linear\", low?: number, high?: number, "
      .. "rows?: integer, every?: duration }", "of heat.new" },
  },

  [==[
```lua
local view = require "uplua.view"
local calls = view.new {
  { "name", "System call" }, { "count", "Calls", "count" }, { "p99", "p99", "ns" }, by = "count", top = 20,
}
up.every("1s", function() calls:refresh(rows(), "the last second") end)
```

A column is a field of the rows, a title and a unit: `text` (to the left), `number`, `count` (1,234,567), `bytes` (1.2
MB), `ns` (1.2 ms), `percent`, `ratio` (0.12), `bar` (of 0 to 1), `spark` (`▁▂█` of a list of numbers), and `histogram`,
which is in data only. false stands for no column, so that an option can decide, and a list of columns for each of them.
No two have one field or one title. `top` is the number of rows that are shown (0: all). A stream prints a line for each
thing that happens; its columns may have a width, which stands behind the unit, and a row's field `stack` is printed
below it. `clock` is the unit of an event's time. Where the report is data ([formats.md](formats.md)), tables and
streams are written as such. On a narrow terminal texts are cut, then lines. In a file or a pipe nothing is cut, and
there are no escapes of the terminal's.

A table that is refreshed lives where the terminal is uplua's alone: there is no prompt, and the target is no command
that reads or writes there (one that is redirected does not: `-- sh -c 'exec make >log 2>&1 </dev/null'`). Another size
of the terminal is drawn at once. `←` and `→` choose the column by which it is sorted, `r` turns the order round, `/`
shows only rows that contain a text, `p` holds the table, `q` ends the run with its report. `↑` and `↓` choose a row,
and Enter shows all of it, with its fields `behind` and `stack`: values, or functions of the row that give one. What is
printed meanwhile is above the last table when the run has ended.
]==],

  {
    head = { "", "" }, class = "View",
    { [[`v:print(rows: table[]): table[]`]],
      [[prints; returns the rows that it has printed: none where they live (`up.report`)]] },
    { [[`v:text(rows: table[], width?: integer): string`]], [[the text, fitted to so many columns]] },
    { [[`v:data(rows: table[], heading?: string): boolean`]],
      [[where the report is data, writes the rows as a table and returns true; else false: the script prints text]] },
    { [[`v:refresh(rows: table[], heading: string, from?: ns, to?: ns)`]],
      [[prints in place of what it has printed before; on a terminal of its own the table lives]] },
  },

  {
    head = { "", "" }, class = "Stream",
    { [[`st:titles()`]], [[prints the columns' titles]] },
    { [[`st:print(row: table, below?: string[])`]],
      [[prints a line, and those of `below`; as data all the row's fields]] },
    { [[`st:room(): integer, integer`]],
      [[the columns that are left for the last column, and those of a line: the terminal's, or 120]] },
  },

  [==[
`uplua.plot` makes texts of numbers, on a terminal with its characters and colours (`NO_COLOR` is obeyed), else in
ASCII:
]==],

  {
    head = { "", "" },
    { [[`view.new(declaration: table): View`]], [[declares the columns, the order and the number of rows]],
      raises = "a column that is none, a unit that there is not" },
    { [[`view.stream(declaration: table): Stream`]], [[declares the columns of lines]],
      raises = "a column that is none, a unit that there is not" },
    { [[`view.is_data(): boolean`]], [[whether the report is data, and not text]] },
    { [[`plot.histogram(h: Histogram): string`]], [[what `print(h)` shows]] },
    { [[`plot.bars(entries: table[]): string`]], [[a bar for each `{ "read", 101 }`]] },
    { [[`plot.bar(fraction: number, columns: integer): string`]], [[one bar, filled to a fraction from 0 to 1]] },
    { [[`plot.sparkline(values: number[]): string`]], [[`▁▂█` of `{ 1, 5, 22 }`]] },
    { [[`plot.heat(columns: table[], labels: string[], times?: string[]): string`]],
      [[a column for each list of numbers, in shades, above its time]] },
  },

  [==[
`uplua.heat` draws how a distribution changes while time goes by:

```lua
local heat = require "uplua.heat"
local h = heat.new { unit = "ns", title = "read" }
up.sysreturn("read", function(e) h:add(e.elapsed) end)
up.at_exit(function() h:print() h:write "read.svg" end)
```

Options: `unit` of the values, `title`, `scale`, `"log"` of powers of two or `"linear"` from `low` to `high`, `rows`, so
many at most (24), and `every`, how long a column is ("1s"). There are 512 columns at most: then neighbours are added
up, and a column is twice as long. In the SVG file a cell's numbers are under the pointer.
]==],

  {
    head = { "", "" },
    { [[`heat.new(options?: HeatOptions): Heat`]], [[declares what handlers add to]],
      raises = "a linear scale without low or high" },
  },

  {
    head = { "", "" }, class = "Heat",
    { [[`h:add(value: integer)`]], [[in handlers: counts a value, in the column of now]] },
    { [[`h:take()`]], [[moves what handlers have added into its column; that runs each `every`, and at the end]] },
    { [[`h:text(width?: integer): string`]], [[the picture for a terminal, in so many columns]] },
    { [[`h:print()`]], [[prints it; as data, a row for each cell that has values]] },
    { [[`h:svg(): string`, `h:write(path: string)`]], [[the picture as SVG: a text, or a file]],
      raises = "a file that cannot be written" },
  },

  [==[
`uplua.slices` draws when within a second events come, and where: a row for each CPU, or another number, a column for
each slice of time, the darker, the more.

```lua
local slices = require "uplua.slices"
local hits = slices.new { slice = "1ms" }
up.tracepoint("sched:sched_wakeup", function(e) hits:add(e.cpu) end)
up.every("1s", function() hits:print() end)
```
]==],

  {
    head = { "", "" },
    { [[`slices.new(options: { slice: duration, title?: string }): Slices`]],
      [[declares what handlers add to; `title` is what a row is called ("CPU")]], raises = "no slice" },
  },

  {
    head = { "", "" }, class = "Slices",
    { [[`s:add(row: integer)`]], [[in handlers: counts one in the slice of `e.time`]] },
    { [[`s:take(all?: boolean): table[], integer, integer`]],
      [[what has been counted since the last time in slices that are over, or in all: `{ at, slice, row, n }`, in order
        of time; the numbers of the first and the last slice that it is about]] },
    { [[`s:print(all?: boolean)`]],
      [[draws that, below how many hits there were and the slice that had most; as data, a row for each slice with
        hits]] },
  },
}
