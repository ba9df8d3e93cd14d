-- Functions that are entered behind their first instruction by what only data knows: tables of jumps, their own and
-- others', and addresses. Probes count calls, wherever they stand.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"

local X64 = require "ffi".arch == "x64"
local TARGETS = "./build/targets/"

-- How often each of NAMES, functions of PROGRAM, is called, by probes with OPTIONS; and what PROGRAM prints.
local function count(program, names, options)
  local specs = {}
  for i, name in ipairs(names) do specs[i] = ("%q"):format(program .. ":" .. name) end
  local r = target.uplua(("-e %s -- %s"):format(target.quote(([[
n = count()
uprobe({ %s }, %s, function(e) n[e.func]:inc() end)
at_exit(function() for name, count in n:pairs() do print("counted", name, tonumber(count)) end end)]])
    :format(table.concat(specs, ", "), options)), program))
  local counts = {}
  for i, name in ipairs(names) do
    counts[i] = ("%s %s"):format(name, r.out:match("counted\t" .. name .. "\t(%d+)") or r.err)
  end
  return table.concat(counts, ", "), r.out:gsub("counted[^\n]*\n", "")
end

local function check(program, names, calls)
  local want = {}
  for i, name in ipairs(names) do want[i] = ("%s %d"):format(name, calls) end
  for _, options in ipairs { "{}", "{ slide = false }", '{ slide = "lossy" }' } do
    tap.is(count(TARGETS .. program, names, options), table.concat(want, ", "),
      ("%s, %s: calls, and none of the rounds"):format(program, options))
  end
end

-- By how many bytes the probe of the function NAME of PROGRAM slides, and why it stands there.
local function slid(program, name)
  local site = core.probe.resolve(TARGETS .. program .. ":" .. name, "exact"):list()[1]
  return site.slid, site.why
end

-- --- tables of addresses beside one of distances, in assembly ---

for _, program in ipairs { "label_tables", "label_tables-fixed" } do check(program, { "h1", "h2" }, 10) end

-- --- addresses in data, in a packed structure, in another function's table, in an instruction elsewhere ---

local ENTERED = { "in_data", "in_constant", "in_packed", "in_table", "in_code" }
for _, program in ipairs { "data_entries", "data_entries-fixed", "data_entries-static", "data_entries-packed" } do
  check(program, { "in_data", "in_constant", "in_packed", "in_table", "in_code", "none" }, 23)
  if X64 then
    for _, name in ipairs(ENTERED) do
      local distance, why = slid(program, name)
      tap.is(distance, 0, ("%s: the probe of %s stays at the entry"):format(program, name))
      tap.like(why, "other code jumps to the instruction after it", "  and why")
    end
    tap.is(slid(program, "none"), 7, program .. ": that of a function without such an entry does not")
  end
end

-- --- computed goto and switch, by two compilers ---

local slides = 0
for _, compiler in ipairs { "gcc", "clang" } do
  for _, level in ipairs { "O1", "O2" } do
    for _, kind in ipairs { "pie", "fixed", "static" } do
      local program = ("computed_goto-%s-%s-%s"):format(compiler, level, kind)
      local names = { "by_addresses", "by_distances", "by_switch", "by_both" }
      local counts, printed = count(TARGETS .. program, names, "{}")
      tap.is(counts, "by_addresses 23, by_distances 23, by_switch 23, by_both 23", program .. ": calls")
      tap.is(printed, ("6486\n"):rep(4), "  and the program computes what it does without probes")
      for _, name in ipairs(names) do slides = slides + ((slid(program, name)) > 0 and 1 or 0) end
    end
  end
end
-- by_switch, at least: its tables are understood.
if X64 then tap.ok(slides >= 12, ("%d of the 48 functions are at a cheaper place"):format(slides)) end

target.done()
tap.done_testing()
