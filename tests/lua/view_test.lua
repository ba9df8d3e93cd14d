-- Tables and pictures on the terminal: exact texts, plain where there is no terminal, cut where it is narrow.
local tap    = require "tap"
local target = require "target"
local view   = require "uplua.view"
local plot   = require "uplua.plot"
local text   = require "uplua.base.text"
local is, like, ok = tap.is, tap.like, tap.ok

local rows = {
  { name = "read", count = 1234567, p99 = 1234, size = 3e6, share = 12.34, id = 7 },
  { name = "w\27[1m\255", count = 12, p99 = 23000000LL, size = 101, share = 0, id = 0x7fffffffffffffffLL },
  { name = "a_name_of_many_characters", count = 23ULL },
}
local v = view.new {
  { "name", "Name" }, { "count", "Calls", "count" }, { "p99", "p99", "ns" }, { "size", "Size", "bytes" },
  { "share", "Share", "percent" },
  { "id", "Id", "number" }, by = "count",
}
is(v:text(rows), [=[
Name                           Calls      p99    Size   Share                   Id
read                       1,234,567   1.2 us  2.9 MB  12.3 %                    7
a_name_of_many_characters         23
w\x1b[1m\xff                      12  23.0 ms   101 B   0.0 %  9223372036854775807]=],
"units, nil, escapes, the largest first")
is(v:text(rows, 70), [=[
Name               Calls      p99    Size   Share                   Id
read           1,234,567   1.2 us  2.9 MB  12.3 %                    7
a_name_of_ma…         23
w\x1b[1m\xff          12  23.0 ms   101 B   0.0 %  9223372036854775807]=], "texts are cut first")
is(v:text(rows, 20), "Name          Calls…\nread      1,234,567…\na_name_…         23\nw\\x1b[1…         12…",
  "then the lines")
for _, width in ipairs { 1, 2, 5, 20, 33, 60, 79 } do
  for line in v:text(rows, width):gmatch "[^\n]+" do
    if text.width(line) > width then ok(false, ("%d columns: '%s'"):format(width, line)) end
  end
end
is(v:text({}), "Name  Calls  p99  Size  Share  Id", "no rows")
is(view.new({ { "name", "Name" }, by = "name", top = 1 }):text(rows), "Name\na_name_of_many_characters",
  "texts in their order, and no more than asked for")
is(view.new({ { "n", "N", "number" }, { "name", "Name" }, by = "n" }):text { { n = 1, name = "b" }, { name = "c" },
  { n = 1, name = "a" }, { n = 2, name = "z" } }, "N  Name\n2  z\n1  a\n1  b\n   c",
    "equal numbers by the next column, what has none last")
is(view.new({ false, { "n", "N", "number" }, nil, { "name", "Name" }, by = "n", top = 0 }):text { { n = 1, name = "b" },
  { n = 2LL, name = 3 } }, "N  Name\n2  3\n1  b",
    "a column that is false is none; 0 rows are all; numbers of any kind have one order")
is(view.new({ { "key", "Caller" } }):text { { key = 139675753262480 }, { key = 2 ^ 53 }, { key = 0.5 },
  { key = -9223372036854775807LL } }, "Caller\n139675753262480\n9007199254740992\n0.5\n-9223372036854775807",
    "numbers among the texts are whole")
is(text.cut("größer", 4), "grö…", "characters, not bytes, are cut")
is(text.cut("größer", 6), "größer", "what fits stays")

local function refused(pattern, ...)
  local good, message = pcall(...)
  ok(not good, "refused")
  like(message, pattern, pattern)
end
refused("view_test.lua:%d+: view: there are no columns", function() return (view.new {}) end)
refused("view_test.lua:%d+: view: column 1: there is no unit 'byte'; did you mean 'bytes'%?",
  function() return (view.new { { "a", "A", "byte" } }) end)
refused("view_test.lua:%d+: view: column 2 is { field, title, unit }",
  function() return (view.new { { "a", "A" }, { "b" } }) end)

is(plot.bars { { "read", 101 }, { "write", 23 }, { "close", 0 }, { "\27", 1 } }, [=[
   read  101  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  write   23  |@@@@@@@@@@@                                     |
  close    0  |                                                |
   \x1b    1  |@                                               |]=], "bars")
is(plot.bars {}, "(empty)", "no bars")
is(plot.sparkline { 1, 5, 22, 13, 0, 22ULL }, ".:@+ @", "a sparkline")
is(plot.sparkline {}, "", "of nothing")
is(plot.heat({ { 1, 2, 3 }, { 4, 5, 6 }, { 8, 0, 1 }, { 16, 1 } }, { "1 us", "10 us", "1 ms" }),
  " 1 ms |:-.\n10 us |.- .\n 1 us |.:=@", "a heat map")

-- On terminals. What is drawn there is as wide as they are, in their characters; $NO_COLOR and TERM=dumb are obeyed.
local SCRIPT = [[
  local view, plot = require "uplua.view", require "uplua.plot"
  local v = view.new { { "k", "Key" }, { "n", "N", "count" }, by = "n" }
  v:refresh({ { k = "a_long_key_to_be_cut", n = 1 }, { k = "b", n = 2 },
      { k = "c", n = 3 }, { k = "d", n = 4 } }, "first")
  v:refresh({ { k = "a", n = 101 } }, "second")
  print(plot.bars { { "x", 16 }, { "y", 1 } })
  print(plot.heat({ { 1 } }, { "low" }))
]]
local function on_terminal(environment, columns)
  local run = target.shell(([[
    cat >"$D/s.lua" <<'END'
%s
END
    %s script -qec "stty rows 5 cols %d; ./uplua $D/s.lua" /dev/null >"$D/out" 2>"$D/err" </dev/null
  ]]):format(SCRIPT, environment, columns))
  return (run.out:gsub("\r", ""))
end
if target.has_terminal() then
  local out = on_terminal("TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=", 20)
  like(out, "^first\nKey  N\nd    4\nc    3\n\27%[4A\27%[Jsecond\nKey    N\na    101\n",
    "in place, no more than the screen has rows")
  like(out, "\n  x  16  |█████████|\n  y   1  |▋        |\n", "bars as wide as the terminal")
  like(out, "\nlow |\27%[48;5;226m \27%[0m\n", "a heat map in colours")
  out = on_terminal("TERM=xterm LC_ALL=C NO_COLOR=1", 20)
  like(out, "\n  x  16  |@@@@@@@@@|\n  y   1  |@        |\nlow |@\n", "without UTF-8 and colours")
  out = on_terminal("TERM=dumb LC_ALL=C", 100)
  like(out, "^first\nKey                   N\nd                     4\nc                     " ..
            "3\nb                     2\na_long_key_to_be_cut  1\n\nsecond\n",
    "a terminal that cannot move its cursor")
  ok(not out:find "\27", "gets no escapes")
end
target.done()

tap.done_testing()
