-- scripts/taskstate.lua tells the truth: the states of a thread are all its time, within 1 % of what it lived by its
-- own clock, and what it ran and waited for a CPU is what the kernel has in /proc/PID/task/TID/schedstat, within 1 % of
-- its life. On threads that compute, sleep, wait for bytes and disks, yield, exit at once and are stopped meanwhile.
--
-- The kernel looks at its clock before the probes of a switch run: a machine that shares its CPUs with others may stand
-- still in between, and a thread may have to wait for a CPU between its last look at the clock and its end. So each
-- thread has to be that near in one of some runs.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local ROUNDS, TRIES = tap.fewer(5, 2), 5
local STOPPED = 101e6
local STATES = { "running", "preempted", "queued", "sleeping", "disk sleep", "iowait", "stopped", "idle" }
local WITHIN, LEAST = 0.01, 5e6 -- of a thread's life; ns: of one that lives for less than half a second

local function rows_of(run)
  local list = {}
  for line in run.out:gmatch "{[^\n]+" do
    local record = cjson.decode(line)
    for _, row in ipairs(record.type == "table" and record.rows or {}) do
      if row.tid then list[row.tid] = row end
    end
  end
  return list
end

-- The threads of one run: { name, lived, ran, waited, row, sum } each.
local function threads_of(run)
  local rows, list = rows_of(run), {}
  for name, tid, lived, ran, waited in run.out:gmatch "(%l+) (%d+) (%d+) (%d+) (%d+)\n" do
    local row, sum = rows[tonumber(tid)] or {}, 0
    for _, state in ipairs(STATES) do sum = sum + (row[state] or 0) end
    list[#list + 1] = { name = name, lived = tonumber(lived), ran = tonumber(ran), waited = tonumber(waited),
                        row = row, sum = sum }
  end
  return list
end

-- How far SEEN is from KNOWN for THREAD, 1 of what is permitted. What the machine has stood still meanwhile, one clock
-- may have counted and the other not.
local stolen
local function apart(thread, seen, known)
  return math.abs(seen - known) / (math.max(WITHIN * thread.lived, LEAST) + stolen)
end

local best, least, names = {}, {}, {} -- by the thread's name: how far apart in its best run, and what was seen there

-- Notes how far apart THREAD is.
local function note(thread)
  local row = thread.row
  local off = apart(thread, thread.sum, thread.lived)
  if thread.ran > 0 then
    off = math.max(off, apart(thread, row.running, thread.ran),
      apart(thread, row.preempted + row.queued, thread.waited))
  end
  if not best[thread.name] then names[#names + 1] = thread.name end
  if off >= (best[thread.name] or math.huge) then return end
  best[thread.name] = off
  least[thread.name] = ("lived %.1f ms, states %+.3f ms, running %+.3f ms, waiting %+.3f ms"):format(thread.lived / 1e6,
    (thread.sum - thread.lived) / 1e6, (row.running - thread.ran) / 1e6,
    (row.preempted + row.queued - thread.waited) / 1e6)
end

local function all_near()
  for _, off in pairs(best) do if off > 1 then return false end end
  return next(best) ~= nil
end

for _ = 1, TRIES do
  stolen = target.stolen()
  local run = target.uplua("--format json taskstate.lua --top 0 -- ./build/targets/pastimes " .. ROUNDS)
  stolen = target.stolen() - stolen
  is(run.status .. run.err, "0", "a run")
  local threads = threads_of(run)
  is(#threads, 6, "six threads")
  for _, thread in ipairs(threads) do
    is(thread.row.comm, thread.name, thread.name .. " is there")
    note(thread)
    if thread.name == "sleeps" or thread.name == "waits" then
      local stopped = thread.row.stopped
      ok(stopped >= STOPPED * 0.5 and stopped <= thread.lived, thread.name .. ": it was stopped", stopped)
    end
  end
  if all_near() then break end
end
for _, name in ipairs(names) do
  print(("# %s: %s"):format(name, least[name]))
  ok(best[name] <= 1, name .. ": within 1 % of its life by its own clock, and of what the kernel counts")
end

target.done()
tap.done_testing()
