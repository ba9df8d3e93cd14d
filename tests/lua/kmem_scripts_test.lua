-- scripts/kmemleak.lua and kmemprof.lua: the files that a process opens are objects of the kernel, whose number is
-- known.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local OPENS, OTHERS = 101, 25 -- of the shell itself, with its libraries
local OPEN  = 'for i in $(seq 10 110); do eval "exec $i</dev/null"; done'
local CLOSE = 'for i in $(seq 10 110); do eval "exec $i<&-"; done'

-- The rows of SCRIPT as data by the slab's name, while a shell that has run COMMANDS sleeps, or with
-- OPTIONS in place of a duration, until it ends; and the run.
local function rows_of(script, commands, options)
  local run = target.uplua(("%s --format json %s -- bash -c %s"):format(options or "--duration 2s", script,
    target.quote(commands .. (options and "" or "; sleep 100"))))
  is(run.status, 0, script)
  local rows = {}
  for line in run.out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    for _, row in ipairs(one.type == "table" and one.rows or {}) do
      local other = rows[row.name] -- of another process
      if row.name and (not other or row.bytes > other.bytes) then rows[row.name] = row end
    end
  end
  return rows, run
end

-- On a machine that is busy the shell needs longer than 2 s to open them, 300 ms before the end.
local rows, run, files
for _, options in ipairs { false, "--duration 20s" } do
  local command = OPEN .. (options and "; sleep 100" or "")
  rows, run = rows_of("kmemleak.lua --by-slab --older 300ms --top 0", command, options)
  files = rows.filp and rows.filp.blocks or 0
  if files >= OPENS then break end
end
ok(files >= OPENS and files <= OPENS + OTHERS, "each open file is held", files)
ok(rows.filp and rows.filp.bytes >= OPENS * 100 and rows.filp.oldest >= 300e6, "with bytes and age")
like(run.out, "blocks? held for 300%.0 ms or more; [%d,]+ blocks allocated, of which [%d,]+ freed", "the sums")

rows = rows_of("kmemleak.lua --by-slab --older 300ms --top 0", OPEN .. "; " .. CLOSE)
files = rows.filp and rows.filp.blocks or 0
ok(files <= OTHERS, "closed ones are not", files)

local HOLDS = " -- bash -c " .. target.quote(OPEN .. "; sleep 100")
local most = 0
for _, duration in ipairs { "2s", "20s" } do
  run = target.uplua(("--duration %s kmemleak.lua --older 300ms --top 0%s"):format(duration, HOLDS))
  for stack, blocks in run.out:gmatch "\n( +alloc_empty_file.-)\n +[%d.]+ %a+  in ([%d,]+) blocks? of filp" do
    if stack:find "open" then most = math.max(most, tonumber((blocks:gsub(",", "")))) end
  end
  if most >= OPENS then break end
end
ok(most >= OPENS and most <= OPENS + OTHERS, "by stack", most)

run = target.uplua("--duration 1s kmemleak.lua --max 10 --older 0" .. HOLDS)
like(run.err, "'live' is full %(max = 10%): not inserted; give it a larger %-%-max",
  "more blocks than there is room for are in the ledger, with what makes room")
is(target.uplua("--duration 1s kmemleak.lua --pages --older 0 --top 1 -- bash -c 'sleep 100'").status, 0, "pages")

rows, run = rows_of("kmemprof.lua --by process --top 0", OPEN, " ")
files = rows.filp and rows.filp.blocks or 0
ok(files >= OPENS, "what is given out is counted", files)
ok(rows.pages and rows.kmalloc and rows.pages.bytes >= 4096, "pages, too")
run = target.uplua("--duration 1s kmemprof.lua --top 2" .. HOLDS)
like(run.out, "^Slab +Blocks +Bytes +Bytes a second\n", "the report")
like(run.out, "\n[%d.]+ %a+ in %d+ stacks, of which the 2 largest are above\n", "by stack")
target.done()
tap.done_testing()
