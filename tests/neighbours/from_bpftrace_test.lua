-- doc/from-bpftrace.md: bpftrace's lines and uplua's, run on one run of a program.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local neighbour = require "neighbour"
local target    = require "target"
local pages     = require "pages"

if not tap.has "bpftrace" or not neighbour.tracefs() then neighbour.done() end

-- perl by a name of its own: bpftrace sees all processes, and others may be called perl.
local NAME = "uplua-shop"
local PERL, MAKE = neighbour.program(target.folder() .. "/" .. NAME, [[
  for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F }
  open F, "<", "/usr/bin/perl"; for (1 .. 7) { sysread F, $x, 300 * $_ } close F;
  my %h; for (1 .. 1010) { $h{$_ % 101} .= "x" x ($_ % 700) }
  for (1 .. 5) { if (!($p = fork)) { exit 3 } waitpid $p, 0 }
  for (1 .. 11) { select undef, undef, undef, 0.001 }
]])
MAKE = ('ln -sf /usr/bin/perl "$D/%s"\n'):format(NAME) .. MAKE

-- PROGRAM with a condition on each of its probes but timers: only threads called COMM.
local function only(program, comm)
  return (program:gsub("([^{}]*)(%b{})", function(head, body)
    if head:find "^%s*interval" then return head .. body end
    local probe, filter = head:match "^(.-%s)/(.*)/%s*$"
    return ("%s/comm == \"%s\"%s/ %s"):format(probe or head, comm, filter and " && (" .. filter .. ")" or "", body)
  end))
end

-- Runs both lines of PAIR on COMMAND, whose threads are called COMM. Returns what uplua and what bpftrace printed.
local function both(pair, command, comm, before)
  local program = pair.theirs:match "^bpftrace %-e '(.*)'$"
  local ours = pages.run(pair.ours, "--follow --comm " .. (comm or NAME),
    "bpftrace -e " .. neighbour.quote(only(program, comm or NAME)) .. " -c " .. neighbour.quote(command or PERL),
    before or MAKE)
  return ours, neighbour.read "said"
end

local function their_counts(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local key, count = line:match "^@[%w_]*%[(.*)%]: (%d+)$"
    if not key then key, count = "", line:match "^@[%w_]*: (%d+)$" end
    if count then found[key] = tonumber(count) end
  end
  return found
end

local function same_counts(pair)
  local ours, theirs = both(pair)
  neighbour.same(pages.counts(ours), their_counts(theirs), pair.title)
end

local function same_buckets(pair)
  local ours, theirs = both(pair)
  neighbour.same(pages.buckets(ours), pages.buckets(theirs), pair.title)
end

-- Keys that both have otherwise: only the sums are the same.
local function same_sum(pair)
  local ours, theirs = both(pair)
  local sum = pages.sum(their_counts(theirs))
  tap.is(pages.sum(pages.counts(ours)), sum, ("%s: %d"):format(pair.title, sum))
  tap.ok(sum > 0, "which is something")
end

local tests = {
  ["Count system calls by program"] = same_counts,
  ["Count system calls by number"] = same_counts,
  ["The sizes of what read returns, as a histogram"] = same_buckets,
  ["The same in steps"] = same_buckets,
  ["The bytes that each program reads"] = same_counts,
  ["Count a function's calls"] = same_counts,
  ["The sum of an argument"] = same_counts,
  ["The sizes that a function is called with"] = same_buckets,
  ["Page faults"] = same_counts,
}

tests["Print which files are opened"] = function(pair)
  local ours, theirs = both(pair)
  local named, count = pages.lines(ours, "^" .. NAME .. " (.*)$")
  local _, all = pages.lines(theirs, "^" .. NAME .. " (.*)$")
  tap.is(all, count, ("as many lines: %d"):format(count))
  local wrong = {}
  for line in theirs:gmatch(NAME .. " (%S+)\n") do
    if not ("\n" .. named .. "\n"):find("\n" .. line .. "\n", 1, true) then wrong[#wrong + 1] = line end
  end
  tap.is(table.concat(wrong, "\n"), "", "bpftrace's names, where it has them, are uplua's")
end

tests["How long calls take"] = function(pair)
  local ours, theirs = both(pair)
  local n = their_counts(theirs:match "@n[^\n]*\n")
  neighbour.same({ [NAME] = pages.counts(ours)[NAME] }, n, "as many calls")
  tap.is(tonumber(ours:match "\n +count (%d+),"), n[NAME], "each in uplua's histogram")
end

tests["What a function returns"] = function(pair)
  local ours, theirs = both(pair)
  neighbour.same({ ["0"] = pages.counts(ours)["false"] }, their_counts(theirs), "none is NULL")
end

tests["Calls by stack"] = function(pair)
  local ours, theirs = both(pair)
  local sum = 0
  for count in theirs:gmatch "%]: (%d+)" do sum = sum + count end
  local own = 0
  for count in ours:gmatch "%f[^\n]%s*([%d,]+)\n" do own = own + tonumber((count:gsub(",", ""))) end
  tap.is(own, sum, ("as many calls: %d"):format(sum))
end

tests["Many functions at a time"] = function(pair)
  local ours, theirs = both(pair)
  local found = {}
  for probe, count in pairs(their_counts(theirs)) do found[probe:match "[^:]*$"] = count end
  tap.ok(neighbour.same(pages.counts(ours), found, pair.title) > 7, "of many functions")
end

tests["A program's own probes"] = function(pair)
  local path = "/usr/bin/python3.11"
  if not tap.has(path, "python3") then return end
  local PYTHON, MAKE_PYTHON = neighbour.program(path,
    "def fib(n):\n  return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(12)")
  local ours, theirs = both(pair, PYTHON, "python3.11", MAKE_PYTHON)
  tap.is(pages.counts(ours).fib, 465, "uplua sees each call of fib(12)")
  tap.is(their_counts(theirs).fib, 465, "so does bpftrace")
end

tests["Context switches by the thread that comes"] = function(pair)
  local program = pair.theirs:match "^bpftrace %-e '(.*)'$"
  local ours = pages.run(pair.ours, "--follow", "bpftrace -e " .. neighbour.quote(program) .. " -c " ..
    neighbour.quote(PERL), MAKE)
  local count = their_counts(neighbour.read "said")[NAME]
  tap.is(pages.counts(ours)[NAME], count, ("perl comes as often: %s"):format(count))
  tap.ok((count or 0) > 11, "which it does")
end

tests["Events of a subsystem, by name"] = function(pair)
  local ours, theirs = both(pair)
  local own = {}
  for key, count in pairs(pages.counts(ours)) do own["tracepoint:" .. key] = count end
  neighbour.same(own, their_counts(theirs), pair.title)
end

tests["Each second, what has come since"] = function(pair)
  local ours, theirs = both(pair, target.folder() .. "/uplua-sleep 1.5", "uplua-sleep",
    'ln -sf /usr/bin/sleep "$D/uplua-sleep"')
  local own, other = 0, 0
  for count in ours:gmatch "uplua%-sleep +(%d+)" do own = own + count end
  for count in theirs:gmatch "@%[uplua%-sleep%]: (%d+)" do other = other + count end
  tap.is(own, other, ("all seconds together: %d"):format(other))
  tap.ok(other > 20, "which is something")
end

tests["Commands that are executed"] = function(pair)
  local ours = pages.run(pair.ours, "--follow", "bpftrace -e " ..
    neighbour.quote((pair.theirs:match "^bpftrace %-e '(.*)'$"):gsub("{", "/pid == cpid || comm == \"env\"/ {", 1)) ..
    " -c " .. neighbour.quote "/usr/bin/env /usr/bin/expr 2 + 3")
  local theirs = neighbour.read "said"
  tap.like(ours, "  /usr/bin/expr 2 %+ 3\n", "execsnoop.lua has the command")
  tap.like(theirs, "\n/usr/bin/expr 2 %+ 3\n", "so has bpftrace")
end

tests["Lines that are typed into bash"] = function(pair)
  local BASH, MAKE_BASH = neighbour.program("/bin/bash", "true one\nexit\n")
  local ours = pages.run(pair.ours, "--follow", "bpftrace -e " ..
    neighbour.quote(pair.theirs:match "^bpftrace %-e '(.*)'$") .. " -c " ..
    neighbour.quote(BASH:gsub("^(%S+) (.*)$", "/bin/bash --norc -i")) .. " <$D/program", MAKE_BASH)
  tap.like(ours, "true one\n", "uplua has the line")
  tap.like(neighbour.read "said", "true one\n", "so has bpftrace")
end

tests["Block I/O by size"] = function(pair)
  local ours, theirs = both(pair, "/usr/bin/dd if=/usr/bin/perl of=/dev/null bs=4096 count=7 iflag=direct", "dd")
  if pages.sum(pages.buckets(theirs)) == 0 then return tap.skip "this machine's files are on no disk" end
  neighbour.same(pages.buckets(ours), pages.buckets(theirs), pair.title)
end

-- In the emulated machine: what each of the lines counts.
tests["Functions of the kernel"] = function(pair)
  local program = pair.theirs:match "{ (%w*)"
  if pair.theirs:find "lhist" then
    same_buckets(pair)
  elseif program ~= "printf" then
    same_counts(pair)
  else
    local ours, theirs = both(pair, "/usr/bin/dd if=/usr/bin/perl of=/tmp/copy bs=4096 count=7 conv=fsync", "dd")
    local own, count = pages.lines(ours, "^(.+)$")
    tap.is(own, (pages.lines(theirs:gsub("Attaching[^\n]*", ""), "^(.+)$")), pair.title .. ": the same lines")
    tap.ok(count > 0, "which are some")
  end
end

pages.test("doc/from-bpftrace.md", tests)
neighbour.done()
