-- The examples, as they stand, do what their first lines say: on examples/shop.c, whose numbers are known, and on
-- tests/targets/usdt.c. (examples/cpu_flame.lua's picture is in flame_test.lua, examples/connects.lua in
-- typed_memory_test.lua.)
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local SHOP = "./build/examples/shop"

-- What EXAMPLE prints with ARGUMENTS on the shop, the shop's own line left out.
local function on_shop(example, arguments)
  local run = target.uplua(("examples/%s.lua %s -- %s"):format(example, arguments, SHOP))
  is(run.err, "", example .. ".lua has nothing to complain about")
  is(run.status, 0, "and ends with 0")
  return (run.out:gsub("101 orders, income 355.01, receipts %x+\n", ""))
end

local function count_of(text, pattern) return select(2, text:gsub(pattern, "")) end

local out = on_shop("args", SHOP .. ":deliver")
is(count_of(out, "\n"), 213, "args.lua: a line for each call")
is(count_of(out, "\n?%d%d:%d%d:%d%d%.%d+ +%d+ %(0x%x+, 0x3, 0x%x+, 0x%x+%) = [01]  %d+ ns\n"), 21,
  "with arguments, result and duration")

is(on_shop("helpers", ""), "shop, 1, 12  1\n",
  "helpers.lua: the shop's one allocation, of standard output's 4096 bytes")

out = on_shop("mallocleak_minimal", "")
like(out, "^4096 bytes in 1 blocks\n +_IO_file_doallocate%+0x%x+\n.*\n +main%+0x%x+\n.*\n\n?$",
  "mallocleak_minimal.lua: the same, which is held at the end")

out = on_shop("syscall_latency", "")
like(out, "\nwrite                       1 calls  p50 +%d+  p99 +%d+  max +%d+ ns\n", "syscall_latency.lua: one write")
like(out, "\nopenat                      2 calls  p50 ", "two opens")
for line in out:gmatch "[^\n]+" do
  like(line, "^[%l%d_]+ +%d+ calls  p50 +%d+  p99 +%d+  max +%d+ ns$", "a line: " .. line)
end

-- usdt_count.lua prints what it has seen each second: the second's hits are there when the last has come.
local run = target.shell([[
  set -m
  mkfifo "$D/in"
  ./build/targets/usdt 1 wait <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua examples/usdt_count.lua ./build/targets/usdt:app:counter -- $program >"$D/out" 2>"$D/err" 7>&- &
  uplua=$!
  await 'grep -q "last 0" "$D/out"' $uplua
  printf x >&7
  await 'grep -q "last 100" "$D/out"' $uplua
  exec 7>&-
  wait $uplua
]])
is(run.status, 0, "usdt_count.lua ends with the program")
local sums = {}
for value, n in run.out:gmatch "\n(%d)  +(%d+)" do sums[value] = (sums[value] or 0) + n end
for value = 0, 9 do
  is(sums[tostring(value)], value == 0 and 11 or 10, "its probe has told so many numbers that end in " .. value)
end
target.done()
tap.done_testing()
