-- scripts/mallocleak.lua: its numbers are the program's own, whenever it attaches.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local RUNS = tap.fewer(3, 1)

local function number(digits) return tonumber((digits:gsub(",", ""))) end

-- The reports in TEXT: { { allocations, frees, stacks = { { bytes, blocks, frames } … }, bytes, blocks, count }, … }.
local function parse(text)
  local reports, report, stack = {}, nil, nil
  for line in text:gmatch "[^\n]+" do
    if line:find "^mallocleak: " then
      local allocations, frees = line:match "([%d,]+) allocations?, ([%d,]+) frees?"
      report = { allocations = number(allocations), frees = number(frees), stacks = {}, processes = {} }
      reports[#reports + 1] = report
    elseif line:find "^   total " then
      local bytes, blocks, count = line:match "^   total ([%d,]+) bytes? in ([%d,]+) blocks? from ([%d,]+) stacks?$"
      report.bytes, report.blocks, report.count = number(bytes), number(blocks), number(count)
    elseif line:find "^   [%d,]+ bytes? in" then
      local bytes, blocks = line:match "^   ([%d,]+) bytes? in ([%d,]+) blocks?, .*oldest "
      stack = { bytes = number(bytes), blocks = number(blocks), frames = {} }
      table.insert(report.stacks, stack)
    elseif line:find "^         %S" then
      table.insert(stack.frames, (line:match "^%s+(.-)%+0x%x+%f[ %z]"))
    elseif line:find "^   and %S+ more stack" then
      report.more = line
    elseif line:find "there before" then
      report.before = number(line:match "[%d,]+")
    elseif line:find "^   [%d,]+ frees? of copies" then
      report.copies = number(line:match "[%d,]+")
    elseif line:find " gone with the program " then
      report.gone = number(line:match "[%d,]+")
    elseif line:find "^      [%d,]+ bytes? in [%d,]+ blocks?: " then
      table.insert(report.processes, line:match "^      (.*) %(pid %d+%)%f[,%z]")
    end
  end
  return reports
end

-- Bytes and blocks of the stacks that have the function NAME in them.
local function held(report, name)
  local bytes, blocks = 0, 0
  for _, stack in ipairs(report.stacks) do
    for _, frame in ipairs(stack.frames) do
      if frame == name then
        bytes, blocks = bytes + stack.bytes, blocks + stack.blocks
        break
      end
    end
  end
  return bytes, blocks
end

local function is_held(report, name, bytes, blocks, what)
  local b, n = held(report, name)
  is(b, bytes, what .. ": bytes in " .. name)
  is(n, blocks, what .. ": blocks in " .. name)
end

local function truth(text)
  local allocations, frees, blocks, bytes, old =
    text:match "allocations (%d+) frees (%d+) leaked (%d+) bytes (%d+) ?o?l?d? ?(%d*)"
  return { allocations = number(allocations), frees = number(frees), blocks = number(blocks), bytes = number(bytes),
    old = tonumber(old) }
end

-- One report, a clean ledger, exit status 0. Returns the report.
local function single(run, what)
  local reports = parse(run.out)
  is(run.status, 0, what .. ": exit status")
  is(#reports, 1, what .. ": one report")
  local lost = run.err:gsub("mallocleak: tracing[^\n]*\n", ""):gsub("uplua: the folded stacks are in [^\n]*\n", "")
  is(lost, "", what .. ": nothing was lost")
  return reports[1] or { stacks = {} }
end

local function is_leak_truth(report, what)
  is_held(report, "leak_small", 23000, 23, what)
  is_held(report, "leak_large_level1", 28672, 7, what)
  is_held(report, "leak_large_level2", 28672, 7, what)
  is_held(report, "no_leak", 0, 0, what)
end

-- The report has the numbers that the program printed itself, and nothing else.
local function is_exact(report, want, what)
  is(report.allocations, want.allocations, what .. ": allocations")
  is(report.frees, want.frees + (want.old or 0), what .. ": frees")
  is(report.blocks, want.blocks, what .. ": blocks held")
  is(report.bytes, want.bytes, what .. ": bytes held")
end

-- The seconds of "1.3 ms".
local UNITS = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1 }
local function seconds(text)
  local n, unit = text:match "^([%d.]+) (%a+)$"
  return n * UNITS[unit]
end

for i = 1, RUNS do
  local what = "a command, run " .. i
  local run = target.uplua "mallocleak.lua --top 0 -- build/targets/leak"
  local report = single(run, what)
  is_leak_truth(report, what)
  is(report.allocations and report.allocations - report.frees, report.blocks, what .. ": the sums agree")
  is(report.before, nil, what .. ": nothing is from before")
  local whole, oldest = run.out:match "mallocleak: [^,]+, ([^,]+),", 0
  for age in run.out:gmatch "oldest ([%d.]+ %a+)" do oldest = math.max(oldest, seconds(age)) end
  ok(oldest > 0 and oldest <= seconds(whole) * 1.01, what .. ": no block is older than the run")
end

for i = 1, tap.fewer(3, 0) do
  local what = "attached before the work, run " .. i
  local run = target.attached("build/targets/leak wait", "mallocleak.lua --top 0")
  local report = single(run, what)
  is_leak_truth(report, what)
  is_exact(report, truth(run.target), what)
end

for i = 1, RUNS do
  local what = "attached in the middle, run " .. i
  local run = target.attached("build/targets/leak middle", "mallocleak.lua --top 0")
  local report = single(run, what)
  is_leak_truth(report, what)
  is_exact(report, truth(run.target), what)
  is(report.before, 11, what .. ": frees of blocks from before")
end

for i = 1, RUNS do
  local what = "racing reallocs, run " .. i
  local run = target.uplua "mallocleak.lua --top 0 -- build/targets/reallocs 4 3001"
  local report = single(run, what)
  local want = truth(run.out)
  local threads = report.blocks and report.blocks - want.blocks -- the C library's own of each thread
  is_held(report, "keep_block", want.bytes, want.blocks, what)
  is(report.allocations, want.allocations + threads, what .. ": allocations")
  is(report.frees, want.frees, what .. ": frees")
end

-- Probes come and go one after the other: what happens in between must not look like a leak.
for i = 1, RUNS do
  local what = "a program at work, run " .. i
  local run = target.at_work("build/targets/allocs 300000000", "mallocleak.lua", 0.2)
  local reports = parse(run.out)
  local report = reports[#reports] or {} -- those before, if the run lasted so long, are of a map that changes
  ok((report.allocations or 0) > 101, what .. ": allocations are seen")
  is((report.blocks or 99) <= 1 or run.out .. run.err, true, what .. ": at most the block of the moment is held")
end

-- What follows asks nothing else of the kernel.
if not tap.fewer(true, false) then
  target.done()
  tap.done_testing()
end

do
  local what = "racing reallocs at work"
  local report = parse(target.at_work("build/targets/reallocs 4 300000000", "mallocleak.lua", 0.2).out)[1] or {}
  ok((report.allocations or 0) > 101, what .. ": allocations are seen")
  ok((report.blocks or 99) <= 4 * 17, what .. ": the threads' blocks are held")
  is(report.blocks and report.allocations - report.frees + (report.before or 0), report.blocks,
    what .. ": the sums agree")
end

do
  local what = "one allocator on top of another"
  local run = target.attached("env LD_PRELOAD=build/targets/libshim.so build/targets/nested wait",
    "mallocleak.lua --top 0")
  local report = single(run, what)
  is_held(report, "leak_nested", 23000, 23, what)
  is_exact(report, truth(run.target), what)
end

do
  local what = "a target that exits"
  local run = target.attached("build/targets/leak wait", "mallocleak.lua --top 0", true)
  local report = single(run, what)
  is_leak_truth(report, what)
  is_exact(report, truth(run.target), what)
end

-- The rest depends on no feature of the kernel either; where each function is attached to by itself, a run takes
-- seconds.
if not target.has "uprobe_multi" then
  target.done()
  tap.done_testing()
end

do
  local what = "a stripped program"
  local run = target.uplua "mallocleak.lua --top 2 -- build/targets/leak-stripped"
  local report = single(run, what)
  is(report.stacks[1] and report.stacks[1].blocks, 7, what .. ": blocks of the first stack")
  is(report.stacks[2] and report.stacks[2].bytes, 23000, what .. ": bytes of the second")
  like(run.out, "\n         leak%-stripped%+0x%x+\n", what .. ": places as module and offset")
end

do
  local what = "--min-size"
  local report = single(target.attached("build/targets/leak wait", "mallocleak.lua --min-size 1001"), what)
  is(report.blocks, 7, what)
  what = "--max-size"
  report = single(target.attached("build/targets/leak wait", "mallocleak.lua --max-size 1000"), what)
  is(report.blocks, 23, what)
  what = "--older"
  local run = target.attached("build/targets/leak wait", "mallocleak.lua --older 1h")
  report = single(run, what)
  is(report.blocks, 0, what .. ": younger blocks are not shown")
  like(run.out, "\n   left out: 51,672 bytes in 30 blocks that are younger than 60 min 0 s\n", what .. ": but named")
  is(report.allocations, truth(run.target).allocations, what .. ": but counted")
  what = "--comm"
  run = target.attached("build/targets/leak middle", "--comm nobody mallocleak.lua")
  like(run.out,
    "\n   allocations and frees of threads that %-%-tid, %-%-comm or %-%-cgroup leaves out are missing\n$",
    what .. ": what is missing is told")
  what = "--top 1"
  report = single(target.attached("build/targets/leak wait", "mallocleak.lua --top 1"), what)
  is(#report.stacks, 1, what .. ": one stack")
  is(report.blocks, 30, what .. ": the total is of all")
  like(report.more, "^   and %d+ more stacks? with [%d,]+ bytes in %d+ blocks$", what .. ": what was cut")
end

do
  local what = "--sample 4"
  local run = target.attached("env ALLOCS_WAIT=1 build/targets/allocs 101 2 20011", "mallocleak.lua --sample 4")
  local report = single(run, what)
  ok(math.abs(report.allocations - 20112 / 4) < 2011 / 4, what .. ": a quarter of the addresses, within a tenth")
  like(run.out, "[%d,]+ allocations, [%d,]+ frees? at one address in 4\n", what .. ": which is said of calls")
  ok(report.blocks and math.abs(report.blocks - 20011) < 2001, what .. ": blocks are estimated within a tenth")
  is(report.bytes, report.blocks and report.blocks * 32, what .. ": bytes too")
  like(run.out, "one block in 4 was followed: bytes and blocks are estimates", what .. ": and said to be estimates")
end

do
  local what = "interval and count"
  local run = target.uplua "mallocleak.lua --top 0 0.3 2 -- build/examples/leaky 5"
  local reports = parse(run.out)
  is(#reports, 2, what .. ": so many reports")
  ok(reports[2] and reports[2].allocations > reports[1].allocations, what .. ": the second has more")
end

do
  local what = "--folded"
  local file = target.folder() .. "/folded"
  single(target.attached("build/targets/leak wait", "mallocleak.lua --folded " .. target.quote(file)), what)
  local bytes, small = 0, 0
  for line in io.lines(file) do
    local stack, n = line:match "^(.+) (%d+)$"
    bytes = bytes + tonumber(n)
    if stack:find("work;leak_small", 1, true) then small = small + tonumber(n) end
  end
  is(bytes, 51672, what .. ": all bytes")
  is(small, 23000, what .. ": the outermost function comes first")
end

do
  local what = "--combined-only"
  local run = target.attached("build/targets/leak wait", "mallocleak.lua --combined-only")
  like(run.out, "\n +bytes +blocks +share  stack\n", what .. ": a table")
  like(run.out, "\n +28,672 +7 +55%.5 %%  leak_large < leak_large_level2 < %.%.%.\n", what .. ": the innermost first")
  ok(not run.out:find "oldest", what .. ": no ages")
  for line in run.out:gmatch "[^\n]+" do
    if #line > 80 and not line:find "^mallocleak" then ok(false, what .. ": 80 columns: " .. line) end
  end
end

-- TEXT without what differs between machines and runs: times, addresses, and what the C library's own frames are
-- called.
local function mask(text)
  text = text:gsub("%(pid %d+%)", "(pid N)"):gsub("[%d.]+ [mun]?s([,\n])", "T%1"):gsub("[%d.]+ [KMG]?B/s", "R")
    :gsub("%+0x%x+", "+X"):gsub("which is [%d.]+ %% of the [%d.]+ KB", "which is N %% of the M")
    :gsub(" /%S*/tests/targets/", " tests/targets/") -- where it is tested in another folder than it was built in
  return (text:gsub("(\n +worker%+X[^\n]*).-(\n\n)", "%1%2"))
end

do
  local run = target.attached("build/targets/leak wait", "mallocleak.lua")
  is(mask(run.out), [[
mallocleak: leak (pid N), T, 171 allocations, 141 frees

   28,672 bytes in 7 blocks, 55.5 %, R, oldest T, newest T
         leak_large+X tests/targets/leak.c:53
         leak_large_level2+X tests/targets/leak.c:60
         leak_large_level1+X tests/targets/leak.c:66
         share (inlined) tests/targets/leak.c:104
         work+X tests/targets/leak.c:112
         worker+X tests/targets/leak.c:122

   23,000 bytes in 23 blocks, 44.5 %, R, oldest T, newest T
         leak_small+X tests/targets/leak.c:45
         share (inlined) tests/targets/leak.c:104
         work+X tests/targets/leak.c:111
         worker+X tests/targets/leak.c:122

   total 51,672 bytes in 30 blocks from 2 stacks
   which is N % of the M that the process has to itself
]], "the report")
end

-- What a process held is gone when it executes another program: the rest is as if that had been the command. Not so the
-- number of stacks: the first ones end in the program, for as long as nobody has read its file.
do
  local alone = target.uplua "mallocleak.lua --top 0 -- ./build/targets/leak"
  local after = target.uplua "mallocleak.lua --top 0 -- bash -c 'exec ./build/targets/leak'"
  local TOTAL = "\n   total ([%d,]+ bytes in %d+ blocks) from "
  ok(alone.out:match(TOTAL), "what a command holds at its end")
  is(after.out:match(TOTAL), alone.out:match(TOTAL), "is what it holds where another program has executed it")
  like(after.out, "\n   [%d,]+ blocks gone with the program that executed this one\n$", "the other's blocks are gone")
  is(alone.out:find "gone with", nil, "if there was another one")
end

for _, case in ipairs {
  { "mallocleak.lua --top", 2, "needs a value" },
  { "mallocleak.lua --tip 3 -- build/targets/leak", 2, "unknown option '%-%-tip'; did you mean '%-%-top'" },
  { "mallocleak.lua soon -- build/targets/leak", 2, "interval: 'soon' is not a duration" },
  { "mallocleak.lua 1 none -- build/targets/leak", 2, "count: 'none' is not a number" },
  { "mallocleak.lua", 2, "give PIDs or a command" },
  { "mallocleak.lua --sample 0 -- build/targets/leak", 2, "%-%-sample" },
  { "mallocleak.lua --folded /nosuch/file -- build/targets/leak", 2, "/nosuch/file: No such file" },
  { "mallocleak.lua -- 4194304", 1, "no process 4194304" },
} do
  local run = target.uplua(case[1])
  is(run.status, case[2], case[1] .. ": exit status")
  like(run.err, case[3], case[1] .. ": message")
end

-- The path of the shared library NAME; nil where it is not installed.
local function library(name)
  return target.shell(
    ("/sbin/ldconfig -p | awk '$1 == \"%s\" { print $NF; exit }' >\"$D/out\""):format(name)).out:match "%S+"
end

-- Operators new and delete, and the allocators' own functions: what each does besides is no other call, and what is not
-- followed is told.
for _, case in ipairs {
  { "jemalloc", "libjemalloc.so.2", "if libjemalloc.so.2's operator new runs out of memory while it is traced, " ..
      "the program ends, even one that catches the std::bad_alloc of it: no option avoids that; ",
    package = "libjemalloc2" },
  { "tcmalloc", "libtcmalloc_minimal.so.4", "std::bad_alloc", package = "libtcmalloc-minimal4" },
  { "mimalloc", "libmimalloc.so.2",
    "libmimalloc.so.2.[%d.]+ also has [^\n]*mi_heap_destroy: their own allocations and frees are not followed",
    package = "libmimalloc2.0" },
} do
  local what, path = case[1], library(case[2])
  if not path then
    tap.skip(("%s: there is no %s here (package %s)"):format(what, case[2], case.package))
  else
    local run = target.attached("env LD_PRELOAD=" .. path .. " build/targets/allocators wait", "mallocleak.lua --top 0")
    local report, want = parse(run.out)[1] or { stacks = {} }, truth(run.target)
    is_held(report, "keep_new()", 101000, 101, what)
    is_held(report, "keep_" .. what .. "()", want.bytes - 101000, want.blocks - 101, what)
    is_exact(report, want, what)
    is(report.before, nil, what .. ": nothing is from before")
    like(run.err, "^mallocleak: [^\n]*" .. case[3] .. "[^\n]*\nmallocleak: tracing [^\n]*\n$",
      what .. ": and one line of what to know")
    run = target.uplua("mallocleak.lua --top 0 -- build/targets/allocators-" .. what)
    report = parse(run.out)[1] or { stacks = {} }
    is_held(report, "work()", want.bytes, want.blocks, what .. ", linked")
    is(report.allocations and report.allocations - report.frees, report.blocks, what .. ", linked: the sums agree")
  end
end

for _, program in ipairs { "allocators", "allocators-static" } do
  local what = "operators of libstdc++ in " .. program
  local run = target.attached(("build/targets/%s wait"):format(program), "mallocleak.lua --top 0")
  local report = single(run, what)
  is_held(report, "keep_new()", 101000, 101, what)
  is_exact(report, truth(run.target), what)
end

do
  local what = "an allocator of a prefix"
  local report = single(target.uplua "mallocleak.lua --top 0 -- build/targets/prefixed", what)
  is_held(report, "keep_prefixed", 23000, 23, what)
  is(report.blocks .. " " .. report.allocations .. " " .. report.frees, "23 147 124",
    what .. ": a call that allocates through malloc is one")
end

for _, mode in ipairs { "clone", "vfork" } do
  local what = mode .. ", followed"
  local report = single(target.uplua("--follow mallocleak.lua -- build/targets/spaces " .. mode), what)
  is(report.bytes .. " " .. report.allocations .. " " .. report.frees, "0 202 202", what .. ": one memory")
  is(report.before, nil, what .. ": nothing is from before")
end

do
  local what = "vfork, not followed"
  local run = target.uplua "mallocleak.lua -- build/targets/spaces vfork"
  like(run.out, "\n   101 frees of blocks that are of a process that was not followed\n   1 process that shares " ..
                "this memory was not followed: [^\n]* is missing",
    what .. ": is told")
end

do
  local what = "memory that is shared already"
  local report = parse(target.attached("build/targets/spaces before", "--follow mallocleak.lua").out)[1] or {}
  is(report.bytes, 0, what .. ", followed: is one")
  is(report.allocations and report.allocations .. " " .. report.frees, "202 202", what .. ", followed: calls of both")
  like(target.attached("build/targets/spaces before", "mallocleak.lua").out,
    "\n   1 process that shares this memory was not followed: ", what .. ", not followed: is told")
end

for _, option in ipairs { "", "--follow" } do
  local what = "posix_spawn " .. option
  local run = target.uplua(option .. " mallocleak.lua -- build/targets/spaces spawn")
  is(single(run, what).bytes, 11000, what .. ": the parent's blocks stay")
  ok(not run.out:find "shares" and not run.out:find "gone", what .. ": the child has not touched them")
end

do
  local what = "processes, --top 1"
  like(target.uplua("--follow mallocleak.lua --top 1 -- build/targets/spaces fork").out,
    ": spaces %(pid %d+%)\n      and 1 more process with 307,000 bytes in 307 blocks\n", what .. ": the rest is told")
end

do
  local what = "processes that fork"
  local report = single(target.uplua "--follow mallocleak.lua --top 0 -- build/targets/spaces fork", what)
  is(report.bytes .. " " .. report.blocks, "2290499 1117", what .. ": what both hold")
  is(table.concat(report.processes, "; "), "1,983,499 bytes in 810 blocks: spaces; 307,000 bytes in 307 blocks: spaces",
    what .. ": each by itself")
  is(report.copies .. " " .. report.gone, "503 11",
    what .. ": frees of copies, and blocks of who executes another program")
  is(report.allocations - report.frees + report.copies - report.gone, report.blocks, what .. ": the sums agree")
end

do
  local what = "--max"
  local run = target.uplua "mallocleak.lua --max 20 -- build/targets/leak"
  like(run.out, "\n   %d+ frees of blocks that found no room %(%-%-max%)\n",
    what .. ": frees of blocks that were not kept")
  like(run.err, "× 'live' is full %(max = 20%): not inserted; give it a larger %-%-max\n",
    what .. ": which are counted")
  run = target.attached("build/targets/leak middle", "mallocleak.lua --max 20")
  like(run.out, "\n   %d+ frees of blocks that were there before, or found no room %(%-%-max%)\n",
    what .. ": or of others")
end

target.done()
tap.done_testing()
