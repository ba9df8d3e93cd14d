-- mallocleak.lua --prove calls nothing lost that a sleeping thread has in a vector register
-- (tests/targets/vector_keeper.c).
local ffi    = require "ffi"
local tap    = require "tap"
local target = require "target"

if ffi.arch ~= "x64" then tap.skip_rest "the program is for x86_64" end
local run = target.shell [[
  mkfifo "$D/in"
  ./build/targets/vector_keeper <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  await 'grep -q ready "$D/target"' $program
  timeout 60 ./uplua scripts/mallocleak.lua --prove --top 0 -- $program >"$D/out" 2>"$D/err" 7>&- &
  uplua=$!
  await 'grep -q tracing "$D/err"' $uplua
  printf x >&7
  await 'grep -q made "$D/target" && grep -q "^[0-9]* (vector_keeper) S" /proc/$program/stat' $program
  kill -TERM $uplua
  wait $uplua
  printf x >&7
  wait $program
]]
tap.like(run.out, "10 allocations.*kept by the registers of thread %d+: 72 bytes in 1 block\n",
  "the block is held by its register")
tap.ok(not run.out:find "proven lost", "… and not lost")
tap.is(run.target, "ready\nmade\nused KEPT\n", "it is used afterwards")
target.done()
tap.done_testing()
