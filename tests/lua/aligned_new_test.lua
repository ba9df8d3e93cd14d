-- mallocleak.lua: what C++'s operators new with an alignment were asked for counts, and not what libstdc++ makes of it
-- before it asks the C library. tests/targets/aligned_requests knows what it asked for.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

for _, program in ipairs { "aligned_requests", "aligned_requests-static" } do
  local run = target.attached("build/targets/" .. program, "mallocleak.lua --top 0")
  is(run.target:match "leaked[^\n]*", "leaked 131 bytes 14117", program .. ": what it has asked for")
  like(run.out, "\n   total 14,117 bytes in 131 blocks from %d+ stacks\n", program .. ": what is held")
  is((run.err:gsub("^mallocleak: tracing[^\n]*\n", "")), "", program .. ": nothing was lost")
  run = target.attached("build/targets/" .. program, "mallocleak.lua --top 0 --min-size 101 --max-size 101")
  like(run.out, "\n   total 2,323 bytes in 23 blocks from 1 stack\n", program .. ": sizes are those of the requests")
end

do -- libstdc++ itself may hold a block, its pool for exceptions
  local run = target.uplua "mallocleak.lua --top 0 -- build/targets/aligned_new"
  local allocations = run.out:match " ([%d,]+) allocations, 1,050 frees\n"
  tap.ok(allocations == "1,050" or allocations == "1,051", "aligned_new: allocations and frees", run.out)
  is(run.out:find "main%+", nil, "aligned_new: main holds nothing")
end

-- A program that comes later: its library does, too.
do
  local run = target.uplua "mallocleak.lua --top 0 --by function -- env X=1 build/targets/aligned_requests </dev/null"
  local bytes, blocks = run.out:match "\n   total ([%d,]+) bytes in ([%d,]+) blocks from"
  local pool = blocks == "263" and 72704 or 0 -- libstdc++'s own
  is(tonumber((bytes:gsub(",", ""))) - pool, 221934, "of a program that env executes")
end

-- An allocator with operators of its own.
local found = target.shell [[/sbin/ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }' >"$D/out"]]
local path = found.out:match "%S+"
if not path then
  tap.skip "there is no libjemalloc.so.2 here (package libjemalloc2)"
else
  local run = target.attached(("env LD_PRELOAD=%s build/targets/aligned_requests sure"):format(path),
    "mallocleak.lua --top 0")
  like(run.out, "\n   total 14,117 bytes in 131 blocks from %d+ stacks\n", "jemalloc's operators")
end
target.done()
tap.done_testing()
