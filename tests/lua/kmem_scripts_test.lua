-- scripts/kmemleak.lua and kmemprof.lua: the files that a process opens are objects of the kernel, whose number is
-- known.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local OPENS, OTHERS = 101, 25 -- of the shell itself, with its libraries
local OPEN  = 'for i in $(seq 10 110); do eval "exec $i</dev/null"; done'
local CLOSE = 'for i in $(seq 10 110); do eval "exec $i<&-"; done'

-- SCRIPT, of scripts/, with ARGUMENTS and OPTIONS before it, on a shell that runs COMMANDS once it is traced, and then
-- waits until uplua is stopped.
local function holding(script, arguments, commands, options)
  local path = target.folder() .. "-" .. script
  local file = assert(io.open(path, "w"))
  file:write(([[
    require "uplua".after(0, function() io.stderr:write "tracing\n" end)
    arg[0] = %q
    dofile "scripts/%s"
  ]]):format(script, script))
  file:close()
  local run = target.attached("bash -c " .. target.quote("echo ready; read -n 1; " .. commands .. "; echo done; read"),
    ("%s %s %s"):format(options or "", path, arguments))
  os.remove(path)
  is(run.status, 0, script .. " " .. arguments)
  return run
end

-- The rows of a RUN as data, by the slab's name.
local function rows_of(run)
  local rows = {}
  for line in run.out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    for _, row in ipairs(one.type == "table" and one.rows or {}) do
      local other = rows[row.name] -- of another process
      if row.name and (not other or row.bytes > other.bytes) then rows[row.name] = row end
    end
  end
  return rows
end

local OLDER, AGE = "--older 300ms --top 0", "; sleep 0.4"
local run = holding("kmemleak.lua", "--by-slab " .. OLDER, OPEN .. AGE, "--format json")
local rows = rows_of(run)
local files = rows.filp and rows.filp.blocks or 0
ok(files >= OPENS and files <= OPENS + OTHERS, "each open file is held", files)
ok(rows.filp and rows.filp.bytes >= OPENS * 100 and rows.filp.oldest >= 300e6, "with bytes and age")
like(run.out, "blocks? held for 300%.0 ms or more; [%d,]+ blocks allocated, of which [%d,]+ freed", "the sums")

rows = rows_of(holding("kmemleak.lua", "--by-slab " .. OLDER, OPEN .. "; " .. CLOSE .. AGE, "--format json"))
files = rows.filp and rows.filp.blocks or 0
ok(files <= OTHERS, "closed ones are not", files)

run = holding("kmemleak.lua", OLDER, OPEN .. AGE)
local most = 0
for stack, blocks in run.out:gmatch "\n( +alloc_empty_file.-)\n +[%d.]+ %a+  in ([%d,]+) blocks? of filp" do
  if stack:find "open" then most = math.max(most, tonumber((blocks:gsub(",", "")))) end
end
ok(most >= OPENS and most <= OPENS + OTHERS, "by stack", most)

run = holding("kmemleak.lua", "--max 10 --older 0", OPEN)
like(run.err, "'live' is full %(max = 10%): not inserted; give it a larger %-%-max",
  "more blocks than there is room for are in the ledger, with what makes room")
holding("kmemleak.lua", "--pages --older 0 --top 1", OPEN)

run = target.uplua("--format json kmemprof.lua --by process --top 0 -- bash -c " .. target.quote(OPEN))
is(run.status, 0, "kmemprof.lua")
rows = rows_of(run)
files = rows.filp and rows.filp.blocks or 0
ok(files >= OPENS, "what is given out is counted", files)
ok(rows.pages and rows.kmalloc and rows.pages.bytes >= 4096, "pages, too")
run = holding("kmemprof.lua", "--top 2", OPEN)
like(run.out, "^Slab +Blocks +Bytes +Bytes a second\n", "the report")
like(run.out, "\n[%d.]+ %a+ in %d+ stacks, of which the 2 largest are above\n", "by stack")
target.done()
tap.done_testing()
