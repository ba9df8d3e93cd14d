-- What the reports of all intervals add up to: every hit is in one of them, and what is summed of it, while the program
-- goes on.
local cjson = require "cjson"
local tap = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local PROGRAM = "./build/targets/hot"
local THREADS, CALLS = 4, 5025

-- The sums of FIELDS over the rows of all tables of a run of SCRIPT, and how many tables there were.
local function added(script, fields)
  local run = target.uplua(("%s --interval 10ms --format json %s -- %s %d %d"):format(
    script:match "^%S+", script:match "^%S+ (.*)$", PROGRAM, THREADS, CALLS))
  local sums, tables = {}, 0
  for line in run.out:gmatch "[^\n]+" do
    local good, read = pcall(cjson.decode, line)
    if good and type(read) == "table" and read.type == "table" then
      tables = tables + 1
      for _, row in ipairs(read.rows) do
        for i, field in ipairs(fields) do sums[i] = (sums[i] or 0) + (tonumber(row[field]) or 0) end
      end
    end
  end
  is(run.err, "", script .. ": nothing is lost")
  return sums, tables
end

for _, case in ipairs {
  { "top.lua --key e.tid --sum 1 " .. PROGRAM .. ":work", "hits", "1" },
  { "top.lua --key e.arg0%7 --sum 1 " .. PROGRAM .. ":work", "hits", "1" },
  { "funccount.lua --sum 1 " .. PROGRAM .. ":work", "calls", "1" },
  { "argdist.lua --key e.tid --sum 1 " .. PROGRAM .. ":work", "hits", "1" },
} do
  local sums, tables = added(case[1], { case[2], case[3] })
  ok(tables > 2, "  … in several reports", tables)
  is(sums[1], THREADS * CALLS, "  … all hits")
  is(sums[2], THREADS * CALLS, "  … and what each adds")
end

-- stat.lua prints a line for each interval and the sum of the lines.
for _ = 1, 3 do
  local run = target.uplua(("stat.lua --interval 10ms %s:work -- %s %d %d"):format(PROGRAM, PROGRAM, THREADS, CALLS))
  local sum = (run.out:match "\nSum +([%d,]+)\n" or ""):gsub(",", "")
  is(sum, tostring(THREADS * CALLS), "stat.lua: the sum of all lines")
end

-- The report's file is no descriptor of the command's.
local path = target.folder() .. "-report"
local run = target.shell(([[./uplua -o %s -e 'n = count() syscall("getppid", function() n:inc() end)' -- \
  ls -l /proc/self/fd >"$D/out" 2>"$D/err"]]):format(path))
is(run.out:match "[^\n]*%-report[^\n]*", nil, "a report's file is not open in the traced command")
os.remove(path)

target.done()
tap.done_testing()
