-- scripts/biostages.lua, on a command that writes a known number of blocks to the disk.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local WRITES, SIZE = 101, 65536
local DATA = "build/biostages-" .. target.folder():match "%w+$"
local COMMAND = ("dd if=/dev/zero of=%s bs=64k count=101 oflag=direct conv=notrunc status=none"):format(DATA)

-- A file of a disk, written once, so that its blocks have their places.
local made = target.shell(COMMAND .. " && sync " .. DATA .. " && stat -f -c %T build >\"$D/out\"")
local run = target.uplua("--format json biostages.lua --by-process --than 0 -- " .. COMMAND)
is(run.status .. run.err, "0", "biostages.lua")
local requests, bytes, lines, in_order, blocks = 0, 0, 0, 0, 0
for line in run.out:gmatch "{[^\n]+" do
  local one = cjson.decode(line)
  if one.type == "record" and one.op == "write" then
    lines, blocks = lines + 1, blocks + (one.bytes == SIZE and 1 or 0)
    if one.waited >= 0 and one.took >= one.waited and one.comm == "dd" then in_order = in_order + 1 end
  end
  for _, row in ipairs(one.type == "table" and one.rows or {}) do
    if row.op == "write" and row.comm == "dd" then
      requests, bytes = requests + row.n, bytes + row.bytes
      ok(row.q99 >= row.q50 and row.max >= row.s50, "its times")
    end
  end
end
if made.status ~= 0 or made.out:find "tmpfs" or made.out:find "overlay" then
  tap.skip("build/ is on no disk that can be written to directly: " .. made.out)
else
  -- What is done while a thread of a supervisor is interrupted is not seen (doc/internals.md), and told.
  local unseen = tonumber(run.out:match "(%d+) requests? w%a+ not seen done" or 0)
  is(blocks + unseen, WRITES, "each block is a request")
  -- The file system may write what belongs to the file in the same thread.
  ok(requests >= blocks and requests < 2 * WRITES and bytes >= blocks * SIZE and bytes < 2 * WRITES * SIZE,
    "with few others", requests .. " " .. bytes)
  is(lines .. " " .. in_order, requests .. " " .. requests, "each has a line: it is queued before it is done")
  like(target.uplua("biostages.lua -- " .. COMMAND).out, "\n%S+ +write +%d+ +[5-7]%.%d MB +", "the report")
end
os.remove(DATA)
target.done()
tap.done_testing()
