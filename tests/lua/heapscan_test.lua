-- scripts/heapscan.lua: the chunks of glibc's heap by its own headers, what of them is lost, and what is no such heap:
-- tests/targets/chunks and reach, which know, and go on afterwards.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- As without random addresses on an emulated machine, where the kernel joins it to .bss, or to another mapping.
if os.getenv "UPLUA_FEWER" then tap.skip_rest "a heap is no mapping of its own" end

-- heapscan.lua OPTIONS on COMMAND, which has said MADE and waits; its standard output is r.target.
local function scan(command, made, options)
  local r = target.shell(([[
    mkfifo "$D/in"
    %s <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    %s
    until_said %s
    ./uplua heapscan.lua %s -- $program >"$D/out" 2>"$D/err" 7>&-
    echo $? >"$D/status"
    printf x >&7
    wait $program
  ]]):format(command, made == "lost" and "until_said ready; printf x >&7" or "", made, options or "--stop 20s"))
  r.scan_status = tonumber(target.read(target.folder() .. "/status"))
  return r
end

do
  local r = scan("build/targets/chunks", "made", "--stop 20s --fail-on-leak")
  is(r.scan_status, 4, "chunks are lost: exit status 4")
  is(r.status, 0, "the program goes on, and has all that it uses")
  is(r.err, "", "nothing went wrong")
  like(r.out, "^heapscan: chunks %(pid %d+%), stopped for [%d.]+ %a+\n"
    .. "   2 arenas, 3 chunks that are mapped by themselves, 2 caches of threads\n", "what there is")
  like(r.out, "in fast bins: 160 bytes in 4 chunks, in caches of threads: 784 bytes in 8 chunks\n",
    "what looks given away and is not: 7 of 40 bytes and one of 504")
  like(r.out, "\n   free: [%d,]+ bytes in [12] chunks?, ", "what is free by the headers")
  like(r.out, "\n +1,656 +23 +80   none\n", "lost in the first arena")
  like(r.out, "\n +2,520 +5 +512   none\n", "… in another one")
  like(r.out, "\n +1,003,504 +1 +1,003,520   none\n", "… mapped by itself")
  like(r.out, "\n   lost: 1,007,680 bytes in 29 chunks directly, none that only these lead to\n", "and nothing else")
  like(r.out, "\n   who has allocated them is not known: ", "that there are no stacks is said")
end

do
  local r = scan("build/targets/chunks", "made", "--stop 20s --format json")
  like(r.out, '"bytes":1656,"chunks":23,"pid":%d+,"size":80}', "as data")
end

-- What hangs below, and threads that are stopped in the middle of malloc.
do
  local r = scan("build/targets/reach cache", "lost")
  like(r.out, "\n   lost: 1,656 bytes in 23 chunks directly, 3,312 bytes in 46 chunks that only these lead to\n",
    "direct and below")
  r = scan("build/targets/reach cycle 3", "lost")
  like(r.out, "\n   lost: 72 bytes in 1 chunk directly, 1,584 bytes in 22 chunks that only these lead to\n",
    "under load")
  is(r.status, 0, "under load: the program has all that it uses")
end

-- What is no heap, or a damaged one.
do
  local r = scan("build/targets/chunks damaged", "made", "--stop 20s --fail-on-leak")
  like(r.out, "\n   nothing is known of what is lost: the heap is damaged at 0x%x+, and perhaps elsewhere\n",
    "damaged: said")
  is(r.scan_status, 1, "damaged: exit status 1")
  is(r.status, 0, "damaged: the program goes on")
  r = scan("build/targets/chunks none", "made")
  like(r.err, "^heapscan: process %d+ has no heap of glibc's malloc\n$", "no heap: said")
  is(r.scan_status, 1, "no heap: exit status 1")
  r = scan("build/targets/chunks", "made", "--stop 1us")
  like(r.err, "^heapscan: process %d+ [^\n]*stop", "too short a stop: said")
  is(r.status, 0, "too short a stop: the program goes on")
end

for _, case in ipairs {
  { "heapscan.lua", 2, "whose heap%? give PIDs after %-%-" },
  { "heapscan.lua -- true", 2, "whose heap%? give PIDs after %-%-" },
  { "heapscan.lua -- 4194304", 1, "no process 4194304" },
} do
  local r = target.uplua(case[1])
  is(r.status, case[2], case[1] .. ": exit status")
  like(r.err, case[3], case[1] .. ": and why")
end

target.done()
tap.done_testing()
