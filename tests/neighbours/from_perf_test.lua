-- doc/from-perf.md: perf's lines and uplua's, run on one run of a program.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"
local pages     = require "pages"

if not tap.has("perf", "linux-perf") or not neighbour.tracefs() then neighbour.done() end

local PERL, MAKE = neighbour.program("/usr/bin/perl", [[
  for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F }
  my %h; for (1 .. 1010) { $h{$_ % 101} .= "x" x ($_ % 700) }
  for (1 .. 5) { if (!($p = fork)) { exit 3 } waitpid $p, 0 }
  for (1 .. 11) { select undef, undef, undef, 0.012 }
]])

-- Runs both lines of PAIR on COMMAND (perl), uplua on perf's run; perf.data is in the test's folder.
local function both(pair, command, comm, before)
  local theirs = pair.theirs:gsub("PROGRAM", (command or PERL))
  local ours = pages.run(pair.ours:gsub(" %-%- PROGRAM$", ""):gsub("^uplua %-%-follow", "uplua"),
    "--follow --comm " .. (comm or "perl"), "sh -c " .. neighbour.quote('cd "$D" && ' .. theirs), before or MAKE)
  return ours, neighbour.read "said", neighbour.read "complained"
end

local function number(text) return tonumber((text:gsub(",", ""))) end

local tests = {}

tests["Counts of a tracepoint"] = function(pair)
  local ours, _, theirs = both(pair)
  local count = number(theirs:match "([%d,]+) +sched:sched_process_fork" or "0")
  tap.is(count, 5, "perf counts 5 forks")
  tap.is(pages.counts(ours)[""], 5, "so does uplua")
end

tests["System calls as a table"] = function(pair)
  local ours, _, theirs = both(pair)
  local opened = number(ours:match "\nopenat +([%d,]+) " or "0")
  tap.is(opened, number(theirs:match "\n +openat +(%d+) " or "-1"), ("as many openat: %d"):format(opened))
end

tests["System calls as lines"] = function(pair)
  local ours, _, theirs = both(pair)
  local _, own = ours:gsub("  openat%(", "")
  local _, other = theirs:gsub("%f[%w]openat%(", "")
  tap.is(own, other, ("as many lines of openat: %d"):format(other))
end

tests["Some system calls, slow ones"] = function(pair)
  local ours, _, theirs = both({ theirs = pair.theirs:gsub("read,write", "pselect6"),
    ours = pair.ours:gsub("syscall:read syscall:write", "syscall:pselect6") })
  local _, own = ours:gsub("pselect6%(", "")
  local _, other = theirs:gsub("pselect6%(", "")
  tap.is(own .. " " .. other, "11 11", "11 calls of more than 10 ms")
end

tests["Calls of a function"] = function(pair)
  local ours, _, theirs = both(pair)
  local count = number(theirs:match "([%d,]+) +probe_libc:malloc" or "0")
  tap.is(number(ours:match "\nmalloc +([%d,]+)\n" or "0"), count, ("as many calls: %d"):format(count))
  tap.ok(count > 101, "which are some")
end

tests["Values of arguments"] = function(pair)
  local ours, theirs = both(pair)
  local found = {}
  for size in theirs:gmatch "size=0x(%x+)" do
    local key = tostring(tonumber(size, 16))
    found[key] = (found[key] or 0) + 1
  end
  local own = {}
  for _, row in ipairs(neighbour.lines(ours, "^(%d+) +([%d,]+)$")) do own[row[1]] = number(row[2]) end
  local wrong = {}
  for key, count in pairs(own) do
    if found[key] ~= count then wrong[#wrong + 1] = ("%s: %d and %s"):format(key, count, found[key]) end
  end
  tap.is(table.concat(wrong, "\n"), "", "each of uplua's 20 most frequent sizes is as frequent in perf's record")
  tap.ok(next(own) ~= nil, "which are some")
end

tests["Return values"] = function(pair)
  local program = io.popen("pwd"):read "*l" .. "/build/targets/calls"
  local theirs_here = pair.theirs:gsub("%./app", program):gsub("parse", "add3"):gsub("probe_app", "probe_calls")
  local ours, theirs = both({ theirs = theirs_here,
    ours = pair.ours:gsub("%./app:parse", program .. ":add3 -n 0") }, program, "calls", "")
  local own, other = {}, {}
  for value in theirs:gmatch " arg1=0x(%x+)" do other[tonumber(value, 16)] = (other[tonumber(value, 16)] or 0) + 1 end
  for _, row in ipairs(neighbour.lines(ours, "^(%d[%d,]*) +([%d,]+)$")) do own[number(row[1])] = number(row[2]) end
  tap.ok(neighbour.same(own, other, pair.title) >= 23, "which are some")
end

tests["Each switch of the scheduler"] = function(pair)
  local ours, theirs = both(pair)
  local _, own = ours:gsub("%f[^\n%z][%d:.]+ +perl +%d+ +[^\n]*sched_switch", "")
  local _, other = theirs:gsub("\n +[%d.]+ +%[%d+%] +perl%[", "")
  tap.is(own, other, ("as many switches from perl: %d"):format(other))
  tap.ok(other >= 11, "which are some")
end

tests["Which code has page faults?"] = function(pair)
  local ours, theirs = both { theirs = pair.theirs:gsub("perf report", "perf script -F comm,ip,sym"), ours = pair.ours }
  local _, other = theirs:gsub("%f[^\n%z]perl%s", "")
  local own = number(ours:match "([%d,]+) hits in" or "0")
  tap.ok(math.abs(own - other) <= 30 and own > 101, ("about as many: uplua %d, perf %d"):format(own, other))
end

tests["A program's own probes"] = function(pair)
  if not tap.has("/usr/bin/python3.11", "python3") then return end
  local PYTHON, MAKE_PYTHON = neighbour.program("/usr/bin/python3.11", "import gc\nfor i in range(7): gc.collect()")
  local ours, _, theirs = both(pair, PYTHON, "python3.11", MAKE_PYTHON)
  os.execute "perf buildid-cache --remove /usr/bin/python3.11 2>/dev/null"
  local count = number(theirs:match "([%d,]+) +sdt_python:gc__start" or "0")
  tap.is(number(ours:match "python:gc__start +([%d,]+)\n" or "-1"), count, ("as many collections: %d"):format(count))
  tap.ok(count >= 7, "at least those that the program asks for")
end

-- Counters know no names of threads: two runs, which do the same.
tests["Counts of a command"] = function(pair)
  local run = target.shell(([[
    %s
    %s >"$D/target" 2>&1
    %s -- %s >"$D/out" 2>"$D/err"
  ]]):format(MAKE, (pair.theirs:gsub("PROGRAM", PERL)), pair.ours:gsub("^uplua", "./uplua"):gsub(" %-%- PROGRAM$", ""),
    PERL))
  local own = number(run.out:match "\nSum +([%d,]+)" or "0")
  local other = number(run.target:match "([%d,]+) +page%-faults" or "0")
  tap.ok(math.abs(own - other) <= 50 and own > 101, ("about as many page faults: uplua %d, perf %d"):format(own, other))
end

tests["What can be traced"] = function()
  local own, other = {}, {}
  local run = target.shell [[
    ./uplua --list 'tracepoint:sched:*' >"$D/out"
    perf list 'sched:*' 2>/dev/null >"$D/target"
  ]]
  for name in run.out:gmatch "tracepoint:(sched:[%w_]+)" do own[name] = 1 end
  for name in run.target:gmatch "(sched:[%w_]+)" do other[name] = 1 end
  neighbour.same(own, other, "the tracepoints of sched")
end

-- In the emulated machine.
tests["The functions of the kernel, as a tree"] = function(pair)
  local ours, theirs = both(pair)
  local count = select(2, theirs:gsub("|  vfs_read%(%) {", ""))
  tap.is(number(ours:match "([%d,]+) hits in" or "0"), count, ("as many calls: %d"):format(count))
  tap.ok(count >= 23, "which are some")
end

pages.test("doc/from-perf.md", tests)
neighbour.done()
