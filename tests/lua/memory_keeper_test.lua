-- mallocleak.lua --prove calls nothing lost that a pointer leads to, whatever memory the pointer is in
-- (tests/targets/memory_keeper.c); and memory that must not be touched is not.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- Huge pages are set aside for the time of the test.
local RESERVED = "/proc/sys/vm/nr_hugepages"
local function reserved() return tonumber((target.read(RESERVED))) end
local function reserve(pages)
  local file = io.open(RESERVED, "w")
  if file then
    file:write(pages, "\n")
    file:close()
  end
end

local function run(kind)
  return target.shell(([[
    mkfifo "$D/in"
    ./build/targets/memory_keeper %s <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    await 'grep -q -e ready -e "^no" "$D/target"' $program
    ! grep -q "^no" "$D/target" || exit 0
    timeout 60 ./uplua scripts/mallocleak.lua --prove --top 0 -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    await 'grep -q tracing "$D/err"' $uplua
    printf x >&7
    await 'grep -q made "$D/target" && grep -q "^[0-9]* (memory_keeper) S" /proc/$program/stat' $program
    kill -TERM $uplua
    wait $uplua
    status=$?
    printf x >&7
    wait $program
    exit $status]]):format(kind))
end

-- What uplua says of the program of this KIND; LOOKS(run) checks it. USED: what the program says at its end.
local function with(kind, used, looks)
  local r = run(kind)
  local lacks = r.target:match "^no [^\n]*"
  if lacks then return tap.skip(lacks) end
  is(r.target, "ready\nmade\nused " .. used .. "\n", kind .. ": the block is used afterwards")
  looks(r)
end

local before = reserved()
if before then reserve(before + 2) end
for _, kind in ipairs { "huge", "shared", "aside", "strict" } do
  with(kind, "KEPT", function(r)
    ok(not r.out:find "proven lost", kind .. ": it was not called lost")
    like(r.out, "10 allocations.*kept by [^\n]*: 72 bytes in 1 block\n", kind .. ": but held")
  end)
end
if before then reserve(before) end
with("watched", "KEPT, untouched", function(r)
  ok(not r.out:find "proven lost", "watched: it was not called lost")
  like(r.out, "a userfaultfd watches are not read", "watched: it is said that nothing can be proven, and why")
end)
with("device", "KEPT", function(r)
  ok(r.out:find "kept by [^\n]*: 72 bytes in 1 block\n" or r.out:find " of devices' memory were not looked at\n",
    "device: it is held, or its memory was not looked at, and that is said")
end)

target.done()
tap.done_testing()
