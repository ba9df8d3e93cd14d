-- Functions beside bpftrace: funccount.lua, argdist.lua and funclatency.lua.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local neighbour = require "neighbour"
local lines, quote = neighbour.lines, neighbour.quote

local CALLS = "./build/targets/calls"
local LIBC  = io.popen("ldd " .. CALLS):read "*a":match "libc%.so%.6 => (%S+)"
local PERL, MAKE_PERL = neighbour.program("/usr/bin/perl",
  [[my %h; for (1 .. 2310) { $h{$_ % 101} .= "x" x ($_ % 700) } open F, "<", "/etc/hostname"; $x = <F>; close F]])
local SLEEPS, MAKE_SLEEPS = neighbour.program("/usr/bin/perl",
  [[for (1 .. 23) { select undef, undef, undef, $_ / 1000 for 3, 6, 12 }]])

-- `bpftrace -e PROGRAM -c COMMAND`, whose probes are hit by any process: PROGRAM asks for `pid == cpid`.
local function bpftrace(program, command) return "bpftrace -e " .. quote(program) .. " -c " .. quote(command) end

-- COMM's rows of a table that begins with process and PID: what PATTERN takes of the rest, first to second.
local function rows_of(text, comm, pattern)
  local found = {}
  for _, row in ipairs(lines(text, "^" .. comm .. " +%d+  " .. pattern)) do found[row[1]] = row[2]:gsub(",", "") end
  return found
end

-- funccount.lua
for _, case in ipairs {
  { "calls", CALLS, "calls", CALLS, { "add3", "negative", "factorial_depth", "six", "slow", "name" } },
  { "perl", PERL, "perl", LIBC, { "malloc", "free", "realloc", "open64", "read", "close" }, MAKE_PERL },
} do
  local name, command, comm, binary, functions, before = unpack(case)
  local specs, probes = {}, {}
  for i, each in ipairs(functions) do
    specs[i], probes[i] = binary .. ":" .. each, ("uprobe:%s:%s"):format(binary, each)
  end
  local out = neighbour.run("funccount.lua -p " .. table.concat(specs, " "),
    bpftrace(table.concat(probes, ", ") .. (' /pid == cpid && comm == "%s"/ { @[probe] = count() }'):format(comm),
      command), before)
  local theirs = {}
  for _, row in ipairs(lines(neighbour.read "said", "^@%[uprobe:[^:]+:([%w_]+)%]: (%d+)$")) do
    theirs[row[1]] = row[2]
  end
  neighbour.same(rows_of(out, comm, "(%S+) +([%d,]+)$"), theirs, name .. ": funccount.lua counts what bpftrace counts")
end

-- The rows of a histogram of powers of two that have a count: uplua's "[4M, 8M)  3  |@@", bpftrace's "[4M, 8M)   3
-- |@@", "[0]   2 |@@".
local function buckets_of(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local from, count = line:match "^%s*%[?([%dKMG]+)[,%]]?[^|]-%s+(%d+)%s+|"
    if from and tonumber(count) > 0 then found[from] = tonumber(count) end
  end
  return found
end

-- argdist.lua
local out = neighbour.run("argdist.lua -w 'e.comm == \"calls\"' -v e.arg0 " .. CALLS .. ":negative",
  bpftrace(("uprobe:%s:negative /pid == cpid/ { @ = hist(arg0) }"):format(CALLS), CALLS))
neighbour.same(buckets_of(out), buckets_of(neighbour.read "said"), "argdist.lua --value has bpftrace's buckets")
out = neighbour.run("argdist.lua -w 'e.comm == \"perl\"' -v e.arg0 " .. LIBC .. ":malloc",
  bpftrace(("uprobe:%s:malloc /pid == cpid && comm == \"perl\"/ { @ = hist(arg0) }"):format(LIBC), PERL), MAKE_PERL)
tap.ok(neighbour.same(buckets_of(out), buckets_of(neighbour.read "said"), "perl: and of malloc's sizes") > 5,
  "which are several")
out = neighbour.run("argdist.lua -n 0 -w 'e.comm == \"calls\"' -k 'up.i32(e.arg0)' " .. CALLS .. ":negative",
  bpftrace(("uprobe:%s:negative /pid == cpid/ { @[arg0] = count() }"):format(CALLS), CALLS))
local ours, theirs = {}, {}
for _, row in ipairs(lines(out, "^(%d+) +(%d+)$")) do ours[row[1]] = row[2] end
for _, row in ipairs(lines(neighbour.read "said", "^@%[(%d+)%]: (%d+)$")) do theirs[row[1]] = row[2] end
tap.is(neighbour.same(ours, theirs, "argdist.lua --key counts each value as often"), 101, "all of them")

-- funclatency.lua: each tool's times hold what the other's probes take, some microseconds, or a thread's turn that ends
-- in one; a call whose time is so near to a power of two is in another bucket.
out = neighbour.run("funclatency.lua -H -p " .. LIBC .. ":select",
  bpftrace(("uprobe:%s:select /pid == cpid/ { @at = nsecs } " ..
            "uretprobe:%s:select /pid == cpid && @at/ { @ = hist(nsecs - @at); delete(@at) }"):format(LIBC, LIBC),
           SLEEPS), MAKE_SLEEPS)
tap.is(rows_of(out, "perl", "(%S+) +([%d,]+)").select or out:match "\nselect +perl +%d+ +(%d+)", "69",
  "funclatency.lua sees each call")
ours, theirs = {}, buckets_of(neighbour.read "said")
local NS = { us = 1e3, ms = 1e6, s = 1e9 }
for from, unit, calls in out:gmatch "\n *%[([%d.]+) (%l+), [^\n]-%) +([%d,]+)" do -- "[2.1 ms, 4.2 ms)" is bpftrace's 2M
  local bits = math.floor(math.log(from * NS[unit]) / math.log(2) + 0.5)
  ours[("%dM"):format(2 ^ (bits - 20))] = tonumber((calls:gsub(",", "")))
end
local moved, of_ours, of_theirs = 0, 0, 0
for _, unit in ipairs { "1M", "2M", "4M", "8M", "16M", "32M", "64M", "128M", "256M" } do
  of_ours, of_theirs = of_ours + (ours[unit] or 0), of_theirs + (theirs[unit] or 0)
  moved = moved + math.abs(of_ours - of_theirs)
end
tap.is(of_ours .. " " .. of_theirs, "69 69", "all are longer than a millisecond in both")
tap.is(moved <= 3 and "" or out .. neighbour.read "said", "",
  ("and of 69 calls %d are in the next bucket"):format(moved))
neighbour.done()
