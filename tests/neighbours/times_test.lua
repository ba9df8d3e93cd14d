-- Time and counters: profile.lua beside perf record, stat.lua beside perf stat, offcputime.lua and runqlat.lua beside
-- bpftrace.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"
local lines, quote = neighbour.lines, neighbour.quote

-- profile.lua and perf record look at the same process at the same time, each by a clock of its own. If a function has
-- the share p, the share that one of them finds in n samples varies by sqrt(p (1 - p) / n) at most: samples at fixed
-- distances vary less than random ones. What both find differs by more than 4.5 times what the two vary together once
-- in 150,000 functions.
local VARIATIONS = 4.5

-- What holds for a function in fewer samples than this, of both, is not normally distributed.
local FEWEST = 20

-- The name of what tools call NAME: one function has two names in glibc, and more, with versions, in the file of its
-- debug information; what has none is an address, or nothing.
local function name_of(name)
  name = name:gsub("@.*$", ""):gsub("^__GI_", ""):gsub("^cfree$", "free")
  return name:find "^[%a_][%w_.]*$" and name:gsub("^__memcpy_", "__memmove_"):gsub("^_+", "") or "unknown"
end

-- The functions of processes called COMM in TEXT, profile.lua's table as JSON.
local function by_function(text, comm)
  local counts, sum = {}, 0
  for row in text:match '"rows":(.*)':gmatch "{(.-)}" do
    local name, n = row:match '"name":"(.-)"', tonumber(row:match '"self":(%d+)' or 0)
    if n > 0 and row:match '"label":"(.-) %(pid' == comm then
      name = name_of(name)
      counts[name], sum = (counts[name] or 0) + n, sum + n
    end
  end
  return counts, sum
end

-- The same of `perf report --stdio -n -s comm,sym`: "  40.80%   204  mix   [.] sometimes".
local function by_function_of_perf(text, comm)
  local counts, sum = {}, 0
  for line in text:gmatch "[^\n]+" do
    local n, process, name = line:match "^%s*[%d.]+%%%s+(%d+)%s+(%S+)%s+%[.%]%s+(.-)%s*$"
    if process == comm then
      name = name_of(name)
      counts[name], sum = (counts[name] or 0) + tonumber(n), sum + tonumber(n)
    end
  end
  return counts, sum
end

local PERL, MAKE_PERL = neighbour.program("/usr/bin/perl", [[my %h;
  for (1 .. 600000) { $h{$_ % 1009} = sprintf("%d-%s", $_, substr("x" x 50, $_ % 50));
  @l = sort { $a <=> $b } ($_, 3, 1) } ]])
local PYTHON, MAKE_PYTHON = neighbour.program("/usr/bin/python3",
  "d = {}\nfor i in range(4000000):\n    d[i % 1009] = str(i)[1:] + 'x'\n")
local NUMBERS = [[for i in $(seq 40); do seq $((i * 7919)) 97 4000000; done >"$D/numbers"]]
local SQL = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 4000000) "
  .. "SELECT sum(x % 7), max(x || 'x') FROM c"
for _, case in ipairs {
  { "mix", "./build/targets/mix 3", 4 }, { "busy", "./build/targets/busy kernel 2", 1 },
  { "perl", PERL, 4, MAKE_PERL }, { "python3", PYTHON, 1, MAKE_PYTHON },
  { "sqlite3", "sqlite3 :memory: " .. quote(SQL), 1 },
  { "sort", 'sort --parallel=1 -o /dev/null "$D/numbers"', 1, NUMBERS },
  { "xz", 'xz -T1 -9 -c "$D/numbers" -k', 1, "cat /usr/lib/*-linux-gnu/libc.so.6 >\"$D/numbers\"" },
} do
  local name, command, least, before = unpack(case)
  local out = neighbour.run("profile.lua -F 997 -n 0 --format json",
    'perf record -q -e cpu-clock -F 1009 -o "$D/perf" ' .. command, before, true)
  local ours, of_ours = by_function(out, name)
  os.execute(("D=%s; perf report -i $D/perf --stdio -n -s comm,sym >$D/report 2>/dev/null"):format(target.folder()))
  local theirs, of_theirs = by_function_of_perf(neighbour.read "report", name)
  local wrong, compared, largest = {}, 0, 0
  for each, count in pairs(ours) do
    local other = theirs[each] or 0
    local p = (count + other) / (of_ours + of_theirs)
    local off = math.abs(count / of_ours - other / of_theirs) / math.sqrt(p * (1 - p) * (1 / of_ours + 1 / of_theirs))
    if count + other >= FEWEST and p < 1 then
      compared, largest = compared + 1, math.max(largest, off)
      if off > VARIATIONS then
        wrong[#wrong + 1] = ("%s: %d of uplua's %d, %d of perf's %d samples: %.1f variations"):format(each, count,
          of_ours, other, of_theirs, off)
      end
    end
  end
  for each, count in pairs(theirs) do
    if not ours[each] and count >= FEWEST then
      wrong[#wrong + 1] = ("%s: none of uplua's, %d of perf's samples"):format(each, count)
    end
  end
  table.sort(wrong)
  tap.is(table.concat(wrong, "\n"), "",
    ("%s: profile.lua's table is perf report's: %d and %d samples, %d functions, %.1f variations at most"):format(
      name, of_ours, of_theirs, compared, largest))
  tap.ok(compared >= least and of_ours > 101 and of_theirs > 101, name .. ": enough samples")
end

-- stat.lua and perf stat on a process that waits, works and waits again: both begin and end while it waits, and count
-- exactly the same; the CPU time but for the moments in which one of the two counters was read.
local EVENTS = { "page-faults", "minor-faults", "major-faults", "context-switches", "task-clock" }
local WORK = [[$| = 1; print "ready\n"; <STDIN>; my @a = map { "x" x 5000 } 1 .. 2310;
  for (1 .. 23) { select undef, undef, undef, 0.001 } print "done\n"; <STDIN>]]
local run = target.shell(([[
  set -m
  mkfifo "$D/in" "$D/control" "$D/acknowledged"
  perl -e %s <"$D/in" >"$D/target" & program=$!
  exec 7>"$D/in"
  until grep -q ready "$D/target"; do kill -0 $program || exit 99; sleep 0.01; done
  ./uplua scripts/stat.lua -i 600 %s -- $program >"$D/out" 2>"$D/err" 7>&- & uplua=$!
  perf stat -x, -e %s -D -1 --control fifo:"$D/control","$D/acknowledged" -p $program -o "$D/perf" 7>&- & perf=$!
  exec 8>"$D/control" 9<"$D/acknowledged"
  echo enable >&8; read -r word <&9
  until grep -q Time "$D/out"; do kill -0 $uplua || exit 98; sleep 0.01; done
  echo x >&7
  until grep -q done "$D/target"; do kill -0 $program || exit 97; sleep 0.01; done
  until grep -q "^State:.S" /proc/$program/status; do sleep 0.01; done
  kill -INT $uplua
  wait $uplua
  status=$?
  echo disable >&8; read -r word <&9
  kill -INT $perf
  wait $perf
  exec 7>&-
  wait $program
  exit $status
]]):format(quote(WORK), "perf:" .. table.concat(EVENTS, " perf:"), table.concat(EVENTS, ",")))
tap.is(run.err, "", "stat.lua: uplua has lost nothing")
local header, sums, ours, theirs = run.out:match "^[^\n]+", run.out:match "\nSum +([^\n]+)", {}, {}
local titles = {}
for title in header:gmatch "%S+" do titles[#titles + 1] = title end
for value in (sums or ""):gmatch "%S+" do
  table.insert(ours, (value:gsub(",", "")))
end
local found = {}
for i, value in ipairs(ours) do found[titles[i + 1]] = tonumber(value) end
for _, row in ipairs(lines(neighbour.read "perf", "^([%d.]+),[^,]*,([%w-]+),")) do theirs[row[2]] = tonumber(row[1]) end
local our_time, their_time = found["task-clock"] or 0, theirs["task-clock"] or 0
found["task-clock"], theirs["task-clock"] = nil, nil
neighbour.same(found, theirs, "stat.lua counts what perf stat counts")
tap.ok((found["page-faults"] or 0) > 1009 and (found["context-switches"] or 0) >= 23, "faults and switches")
tap.is(("%.0f"):format(our_time / 1e6 / their_time), "1",
  ("and the CPU time: %.3f and %.3f ms"):format(our_time / 1e6, their_time))

-- Time off the CPU, and until a thread runs, of the scheduler's tracepoints.
if neighbour.tracefs() then
  local SLEEPS, MAKE_SLEEPS = neighbour.program("/usr/bin/perl",
    [[for (1 .. 101) { select undef, undef, undef, 0.002; $x += $_ for 1 .. 5000 }]])
  local out = neighbour.run("offcputime.lua --min 0 -n 0", "bpftrace -e " .. quote [[
    tracepoint:sched:sched_switch /args->prev_pid == cpid && args->prev_comm == "perl"/ { @at[args->prev_pid] = nsecs }
    tracepoint:sched:sched_switch /@at[args->next_pid]/
      { @n = count(); @ns = sum(nsecs - @at[args->next_pid]); delete(@at[args->next_pid]) }
    END { clear(@at) }]] .. " -c " .. quote(SLEEPS), MAKE_SLEEPS, true)
  local times, sum, comm = 0, 0, nil
  local UNITS = { ns = 1, us = 1e3, ms = 1e6, s = 1e9 }
  for line in out:gmatch "[^\n]+" do
    local value, unit, n = line:match "^ +([%d.]+) (%l+)  ([%d,]+) times?$"
    if value and comm == "perl" then times, sum = times + tonumber((n:gsub(",", ""))), sum + value * UNITS[unit] end
    comm = line:match "^ +(%S+)$"
  end
  local said = neighbour.read "said"
  local n, ns = tonumber(said:match "@n: (%d+)"), tonumber(said:match "@ns: (%d+)")
  tap.is(times, n, "offcputime.lua sees each time that bpftrace sees")
  -- Both run at each switch, one after the other: where uplua is the first, it takes the stack in between. On a busy
  -- machine a sleep may be over before the switch.
  tap.ok(times >= 90 and math.abs(sum - (ns or 0)) < 0.01 * sum + times * 50000,
    ("and as long: %.1f and %.1f ms"):format(sum / 1e6, (ns or 0) / 1e6))

  out = neighbour.run("runqlat.lua --by-process", "bpftrace -e " .. quote [[
    tracepoint:sched:sched_switch
      /args->prev_pid == cpid && args->prev_comm == "perl" && (args->prev_state & 0xff) == 0/
      { @at[args->prev_pid] = nsecs }
    tracepoint:sched:sched_switch
      /args->prev_pid == cpid && args->prev_comm == "perl" && (args->prev_state & 0xff) != 0/
      { @asleep[args->prev_pid] = 1 }
    tracepoint:sched:sched_wakeup /@asleep[args->pid]/ { @at[args->pid] = nsecs; delete(@asleep[args->pid]) }
    tracepoint:sched:sched_switch /@at[args->next_pid]/
      { @n = count(); @ns = sum(nsecs - @at[args->next_pid]); delete(@at[args->next_pid]) }
    END { clear(@at); clear(@asleep) }]] .. " -c " .. quote(SLEEPS), MAKE_SLEEPS)
  said = neighbour.read "said"
  n, ns = tonumber(said:match "@n: (%d+)"), tonumber(said:match "@ns: (%d+)")
  local waits, value, unit = out:match "\nperl +%d+ +([%d,]+) [^\n]- ([%d.]+) (%l+)\n"
  times, sum = tonumber(((waits or "0"):gsub(",", ""))), (tonumber(value) or 0) * (UNITS[unit] or 0)
  tap.ok(n and math.abs(times - n) <= 1 and times >= 101,
    ("runqlat.lua measures each time that bpftrace measures, but for the first: %d and %d"):format(times, n or 0))
  tap.ok(math.abs(sum - (ns or 0)) < 0.05 * sum + times * 5000,
    ("and as long: %.2f and %.2f ms"):format(sum / 1e6, (ns or 0) / 1e6))
end
neighbour.done()
