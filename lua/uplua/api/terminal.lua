-- The chapter "Tables and pictures on the terminal" of the API.
return {
  title = "Tables and pictures on the terminal",
  modules = { view = "uplua.view", plot = "uplua.plot" },
  types = { { "View", nil, "a table for people" } },

  [==[
```lua
local view = require "uplua.view"
local calls = view.new {
  { "name", "System call" }, { "count", "Calls", "count" }, { "p99", "p99", "ns" }, by = "count", top = 20,
}
up.every("1s", function() calls:refresh(rows(), "the last second") end)
```

A column is a field of the rows, a title and a unit: `text` (to the left), `number`, `count` (1,234,567), `bytes` (1.2
MB), `ns` (1.2 ms), `percent`. false stands for no column, so that an option can decide. `top` is the number of rows
that are shown (0: all). On a narrow terminal texts are cut, then lines. In a file or a pipe nothing is cut, and there
are no escapes of the terminal's.
]==],

  {
    head = { "", "" }, class = "View",
    { [[`v:print(rows: table[]): table[]`]], [[prints; returns the rows that it has printed]] },
    { [[`v:text(rows: table[], width?: integer): string`]], [[the text, fitted to so many columns]] },
    { [[`v:refresh(rows: table[], heading: string)`]], [[prints in place of what it has printed before]] },
  },

  [==[
`uplua.plot` makes texts of numbers, on a terminal with its characters and colours (`NO_COLOR` is obeyed), else in
ASCII:
]==],

  {
    head = { "", "" },
    { [[`view.new(declaration: table): View`]], [[declares the columns, the order and the number of rows]],
      raises = "a column that is none, a unit that there is not" },
    { [[`plot.histogram(h: Histogram): string`]], [[what `print(h)` shows]] },
    { [[`plot.bars(entries: table[]): string`]], [[a bar for each `{ "read", 101 }`]] },
    { [[`plot.sparkline(values: number[]): string`]], [[`▁▂█` of `{ 1, 5, 22 }`]] },
    { [[`plot.heat(columns: table[], labels: string[]): string`]], [[a column for each list of numbers, in shades]] },
  },
}
