-- scripts/pagefaults.lua and watchpoint.lua, on programs that touch and change memory a known number of times.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- --- pagefaults: 24 threads touch 101 fresh pages each ---

local FAULTS = "./build/targets/faults pages"
local report = target.folder() .. "-faults.json"
local run = target.uplua(("--format json pagefaults.lua --addresses --output %s -- %s"):format(report, FAULTS))
is(run.status, 0, "pagefaults.lua")
local addresses, rows = {}, {}
for line in target.read(report):gmatch "{[^\n]+" do
  local one = cjson.decode(line)
  if one.type == "record" then
    local page = math.floor(tonumber(one.address, 16) / 4096)
    addresses[page] = (addresses[page] or 0) + 1
  elseif one.type == "table" then
    for _, row in ipairs(one.rows) do rows[#rows + 1] = row end
  end
end
os.remove(report)
local regions, once, more = 0, 0, 0
for from, to in run.out:gmatch "region 0x(%x+) 0x(%x+)\n" do
  regions = regions + 1
  for page = tonumber(from, 16) / 4096, tonumber(to, 16) / 4096 - 1 do
    if addresses[page] == 1 then once = once + 1 elseif addresses[page] then more = more + 1 end
  end
end
is(regions, 24, "regions")
is(once .. " " .. more, 24 * 101 .. " 0", "each of their pages has one fault, by its address")
local faults, pages, libc = 0, 0, false
for _, row in ipairs(rows) do
  faults, pages, libc = faults + row.n, pages + row.pages, libc or row.name:find "libc%.so"
end
ok(faults >= 24 * 101 and pages <= faults, "by mapping", faults)
ok(libc, "which have names")
run = target.uplua("pagefaults.lua --top 3 -- " .. FAULTS)
like(run.out, "\n[%d,]+ faults in %d+ stacks, of which the 3 most frequent are above\n\nFaults +Pages +Process",
  "the report")
like(target.uplua("pagefaults.lua --major --top 1 -- true").out, "\n?%d+ faults? in ", "those of disks alone")

-- --- watchpoint ---

if target.watches "w" and target.watches "rw" then
  local WATCHED = "./build/targets/watched"
  run = target.uplua(("watchpoint.lua %s:counter -- %s"):format(WATCHED, WATCHED))
  is(run.status .. run.err, "0", "watchpoint.lua")
  local writes, wrong = 0, 0
  for old, new in run.out:gmatch "\n[%d:.]+ +%d+  watched +(%S+) +(%d+) +count" do
    writes = writes + 1
    if old ~= (writes == 1 and "?" or tostring(writes - 1)) or new ~= tostring(writes) then wrong = wrong + 1 end
  end
  is(writes .. " " .. wrong, "101 0", "each write with the value before and after")
  like(run.out, "\nAccesses  Changes  By\n +101 +101  count\n", "and who did it")
  run = target.uplua(("watchpoint.lua --quiet --kind rw %s:quiet -- %s"):format(WATCHED, WATCHED))
  like(run.out, "\nAccesses  Changes  By\n +23 +1  ",
    "reads change nothing; of the first the value before is not known")
  run = target.uplua(("watchpoint.lua --quiet --changed --kind rw %s:quiet -- %s"):format(WATCHED, WATCHED))
  like(run.out, "\nAccesses  Changes  By\n +1 +1  ", "changes alone")
  run = target.uplua(("watchpoint.lua --stack %s:counter -- %s"):format(WATCHED, WATCHED))
  like(run.out, "  count\n +count%+%S+\n +main%+", "with the stack")
end
like(target.uplua("watchpoint.lua -- true").err, "what is to be watched%?", "nothing to watch")
like(target.uplua("watchpoint.lua --kind x ./app:y -- true").err, "%-%-kind: w or rw, not 'x'", "no such kind")
target.done()
tap.done_testing()
