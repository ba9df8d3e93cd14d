-- mallocleak.lua --tree and --by: one cause is one line, whichever stacks it has; with the numbers that
-- tests/targets/pairs and cxx_pairs know of themselves. And the shares and rates of the default report.
local heap   = require "uplua.heap"
local reach  = require "reach"
local tap    = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local function attached(program, options)
  return target.attached("build/targets/" .. program, "mallocleak.lua " .. options)
end

-- The rows of the table in TEXT: those of numbers and a name, without what stands above the program's main. One text.
local function rows_of(text)
  local rows = {}
  for line in text:gmatch "[^\n]+" do
    local numbers, name = line:match "^ *([%d,]+ +[%d,]+ +[%d.]+ %%)  (.*)$"
    if numbers and not name:find "_start" and not name:find "__libc_start" then
      rows[#rows + 1] = numbers:gsub(" +", " "):gsub(" %%", "%%") .. " " .. name
    end
  end
  return table.concat(rows, "\n")
end

-- --- the tree ---

local run = attached("pairs", "--tree")
is(run.status .. run.err:gsub("mallocleak: tracing[^\n]*\n", ""), "0", "--tree: nothing was lost")
is(rows_of(run.out), [[
34,224 184 65.1% make
34,224 184 65.1% pair_up
34,224 184 65.1% main
10,090 10 19.2% lone
7,063 7 13.4% - left
7,063 7 13.4%   main
3,027 3 5.8% - right
3,027 3 5.8%   main
5,533 11 10.5% wrapped
5,533 11 10.5% main
2,743 13 5.2% pool_alloc
2,743 13 5.2% stored
2,743 13 5.2% main]], "eight stacks of one cause are one way, the heaviest first")
like(run.out, "\n +Bytes  Blocks +Share  Allocating function, and who calls it\n", "the titles")
like(run.out, "\n   total 52,590 bytes in 218 blocks from 12 stacks\n" ..
  "   which is [%d.]+ %% of the [%d.]+ KB that the process has to itself\n",
  "the total is of all, and a share of the process's memory")

run = attached("pairs", "--tree --top 2 --wrapper 'pool_*'")
is(rows_of(run.out), [[
34,224 184 65.1% make
34,224 184 65.1% pair_up
34,224 184 65.1% main
10,090 10 19.2% lone
7,063 7 13.4% - left
7,063 7 13.4%   main]], "--top 2: the two heaviest ways")
like(run.out, "\n   and 3 more ways to allocations with 11,303 bytes in 27 blocks\n", "… and what the others hold")

run = attached("pairs", "--tree --older 1h")
is(rows_of(run.out), "", "--older: nothing is as old")
like(run.out, "\n   left out: 52,590 bytes in 218 blocks that are younger than 60 min 0 s\n", "… which is told")

run = attached("pairs", "--tree --top 1 --peak")
like(run.out, "\n   peak: 53,690 bytes, after .*\n34,224 +184 +63%.7 %%  make\n", "--peak: a tree of that moment, too")

-- What is lost has a tree, and what is held.
run = reach.run("cache", 0, "--stop=10s --tree")
local lost, held = run.out:match "\n   lost:\n(.-)\n   held:\n(.*)$"
is(lost and rows_of(lost) or run.out .. run.err, [[
4,968 69 100.0% lose
4,968 69 100.0% make_cache
4,968 69 100.0% main]], "--prove --tree: what is lost has one")
is(held and rows_of(held) or "", [[
14,544 202 99.8% keep
14,544 202 99.8% make_cache
14,544 202 99.8% main
24 1 0.2% main]], "… and what is held")
like(run.out, "\n   proven lost: 4,968 bytes in 69 blocks\n   held: 14,568 bytes in 203 blocks\n",
  "… and the sums stand below")

-- --- a line for each stack ---

-- Stacks of the same functions differ by an offset.
local lines = {}
for line in attached("pairs", "--combined-only --top 0").out:gmatch "[^\n]+" do
  local numbers, stack = line:match "^ *([%d,]+ +[%d,]+) +[%d.]+ %%  (.*)$"
  if numbers then lines[#lines + 1] = numbers:gsub(" +", " ") .. " " .. stack:gsub("%+0x%x+", "+X") end
end
is(table.concat(lines, "\n"), [[
9,223 23 make+X < pair_up+X < ...
9,223 23 make+X < pair_up+X < ...
7,063 7 lone < left < main < ...
5,533 11 xmalloc < wrapped < main < ...
4,853 23 make+X < pair_up+X < ...
4,853 23 make+X < pair_up+X < ...
3,027 3 lone < right < main < ...
2,743 13 pool_alloc < stored < main < ...
2,323 23 make+X < pair_up+X < ...
2,323 23 make+X < pair_up+X < ...
713 23 strdup+X < ... < pair_up+X < ...
713 23 strdup+X < ... < pair_up+X < ...]], "--combined-only: stacks that look alike have offsets")

-- --- the tables ---

-- The rows of a table by function, module or line: bytes, blocks, share, then stacks, name and the rest, whose rate
-- depends on the time.
local function table_of(text)
  local rows = {}
  for line in text:gmatch "[^\n]+" do
    local numbers, rest = line:match "^ *([%d,]+ +[%d,]+ +[%d.]+ %%) +[%d.]+ [KMG]?B +(.*)$"
    if numbers then rows[#rows + 1] = (numbers .. " " .. rest):gsub(" +", " "):gsub(" %%", "%%") end
  end
  return table.concat(rows, "\n")
end

run = attached("pairs", "--by function --wrapper pool_alloc --top 3")
like(run.out, "\n   and 1 more row with 2,743 bytes in 13 blocks\n", "--by function: what --top leaves out")
is(table_of(run.out), [[
34,224 184 65.1% 8 make pairs
10,090 10 19.2% 2 lone pairs
5,533 11 10.5% 1 wrapped pairs]], "--by function")
is(table_of(attached("pairs", "--by module").out), "52,590 218 100.0% 12 pairs", "--by module")

-- The lines of tests/targets/pairs.c that have one of TEXTS, by it.
local function lines_with(texts)
  local found, number = {}, 0
  for line in io.lines "tests/targets/pairs.c" do
    number = number + 1
    for _, text in ipairs(texts) do
      if line:find(text, 1, true) then found[text] = found[text] or ("pairs.c:%d"):format(number) end
    end
  end
  return found
end

local at = lines_with { "realloc(NULL, 401)", "calloc(1, 211)", "malloc(101)", "strdup(text)" }
run = attached("pairs", "--by line --top 0")
for text, wanted in pairs {
  ["realloc(NULL, 401)"] = "18,446 46 35.1% 2 make ", ["calloc(1, 211)"] = "9,706 46 18.5% 2 make ",
  ["malloc(101)"] = "4,646 46 8.8% 2 make ", ["strdup(text)"] = "1,426 46 2.7% 2 make ",
} do
  ok(("\n" .. table_of(run.out) .. "\n"):find("\n" .. wanted .. at[text] .. " pairs\n", 1, true),
    "--by line: " .. text, run.out)
end

-- --- what the standard library has put into a program ---

run = attached("cxx_pairs", "--by function")
is(table_of(run.out), [[
43,976 138 99.8% 6 void store::fill<int>(store::shelf&, int) cxx_pairs
72 3 0.2% 1 store::collect(long) cxx_pairs]], "of C++: who wants the vector, the text, the node")
run = attached("cxx_pairs", "--tree --top 3")
is(rows_of(run.out):gsub("\n[^\n]*main[^\n]*", ""), [[
43,976 138 99.8% void store::fill<int>(store::shelf&, int)
21,988 69 49.9% - back(unsigned int)
21,988 69 49.9% - front(unsigned int)
72 3 0.2% store::collect(long)]], "… and who calls them")

-- Without names of functions each place stands for itself.
run = target.uplua "mallocleak.lua --tree -- build/targets/leak-stripped"
like(rows_of(run.out), "^28,672 7 5[%d.]+%% leak%-stripped%+0x%x+\n28,672 7 5[%d.]+%% leak%-stripped%+0x%x+\n",
  "a stripped program")

-- --- the default report ---

run = attached("pairs", "--top 0")
like(run.out, "\n   9,223 bytes in 23 blocks, 17%.5 %%, [%d.]+ [KMG]?B/s, oldest [^\n]*\n         make%+",
  "a stack's share")

do
  local list = { { name = "f\ng", bytes = 7168, blocks = 7, oldest = 1e9, newest = 2e9 },
                 { name = "h", bytes = 3072, blocks = 1, oldest = 1e9, newest = 1e9 } }
  local lines = heap.held(list, { now = 3e9, since = 1e9, sum = { bytes = 10240 } })
  is(lines[1], "   7,168 bytes in 7 blocks, 70.0 %, 3.5 KB/s, oldest 2.0 s, newest 1.0 s", "the share, and the rate")
  is(heap.held({ list[2] }, { now = 1e9, since = 1e9, sum = { bytes = 0 } })[1],
    "   3,072 bytes in 1 block, oldest 0 s", "none of nothing")
end

for _, case in ipairs {
  { "--by size", "%-%-by: 'size' is none of function, module, line" },
  { "--tree --by line", "%-%-tree and %-%-by: choose one" },
  { "--tree --difference", "%-%-tree and %-%-difference: choose one" },
  { "--by line --combined-only", "%-%-by and %-%-combined%-only: choose one" },
  { "--wrapper my_alloc", "%-%-wrapper is for %-%-tree and %-%-by" },
} do
  run = target.uplua(("mallocleak.lua %s -- build/targets/leak"):format(case[1]))
  is(run.status, 2, case[1])
  like(run.err, case[2], case[1] .. ": why")
end

ok(not pcall(heap.sites, {}, "size"), "heap.sites: another word")
target.done()
tap.done_testing()
