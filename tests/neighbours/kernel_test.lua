-- biostages.lua, numdist.lua and pagefaults.lua beside bpftrace, each on one run of a
-- program: how often, how much.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local cjson     = require "cjson"
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"
local is, ok    = tap.is, tap.ok

local FILE = "build/neighbours.data"
local WRITES, SIZE = 101, 65536
local DD = ("/usr/bin/dd if=/dev/zero of=%s bs=64k count=%d oflag=direct conv=notrunc status=none"):format(FILE, WRITES)

-- Runs SCRIPT beside bpftrace's PROGRAM on COMMAND, whose process is called COMM: the rows of its tables, and what
-- bpftrace's maps hold, by their names.
local function beside(script, program, command)
  local out = neighbour.run(script, ("bpftrace -e %s -c %s"):format(neighbour.quote(program), neighbour.quote(command)),
    nil, true, "--format json")
  local rows, maps = {}, {}
  for line in out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    for _, row in ipairs(one.type == "table" and one.rows or {}) do rows[#rows + 1] = row end
  end
  for name, number in neighbour.read "said":gmatch "@(%l+): (%d+)" do maps[name] = tonumber(number) end
  return rows, maps, out
end

local function sum_of(rows, field, wanted)
  local sum = 0
  for _, row in ipairs(rows) do
    if wanted(row) then sum = sum + row[field] end
  end
  return sum
end

local function is_dd(row) return row.comm == "dd" or row["e.comm"] == "dd" end

os.execute(DD .. " && sync " .. FILE) -- its blocks have their places
local rows, maps = beside("numdist.lua --value size=e.args.count --key e.comm syscall:write",
  'tracepoint:syscalls:sys_enter_write /pid == cpid && comm == "dd"/ { @n = count(); @most = max(args->count); }', DD)
is(sum_of(rows, "count", is_dd), maps.n, "numdist.lua counts what bpftrace does")
is(maps.n >= WRITES and maps.most, SIZE, "which is what the program does")

-- A request is made of one piece here, unless the kernel merges several; what is done where the kernel runs no programs
-- is not seen. Both is said.
local out
rows, maps, out = beside("biostages.lua --by-process --top 0",
  'tracepoint:block:block_bio_queue /pid == cpid && comm == "dd" && args->nr_sector > 0/ { @n = count(); }', DD)
local merged = tonumber(out:match "(%d+) further requests? w%a+ merged" or 0)
local unseen = tonumber(out:match "(%d+) requests? w%a+ not seen done" or 0)
ok(maps.n and maps.n >= WRITES, "the program's requests")
is(sum_of(rows, "n", is_dd) + merged + unseen, maps.n, "biostages.lua has the requests that bpftrace has")
ok(sum_of(rows, "bytes", is_dd) >= (WRITES - unseen) * SIZE, "with their bytes")

rows, maps = beside("pagefaults.lua --top 0",
  'software:page-faults:1 /pid == cpid && comm == "dd"/ { @n = count(); }', DD)
is(sum_of(rows, "n", is_dd), maps.n, "pagefaults.lua counts what bpftrace does")

os.remove(FILE)
target.done()
tap.done_testing()
