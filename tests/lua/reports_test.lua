-- doc/reports.md: what users of other tracers have reported in public, asked of uplua. Each check is named after its
-- report, and what is true is what the programs do (tests/targets/reports.c, reports_calls.c and reports.cc).
-- Each report of the page is checked here, and each that is checked is on the page.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM, FIXED = "./build/targets/reports", "./build/targets/reports-fixed"
local CALLS, CXX = "./build/targets/reports_calls", "./build/targets/reports_cxx"
local STRIPPED = FIXED .. "-stripped"

local reports = {} -- "bpftrace 3626" → true

-- What comes until the next call is of REPORT, such as "bpftrace 3626".
local report
local function of(name)
  report = name
  reports[name] = true
end

local function equals(got, want, what) return is(got, want, report .. ": " .. what) end
local function matches(got, pattern, what) return like(got, pattern, report .. ": " .. what) end

-- Runs ARGUMENTS of uplua, with P, F, S, A and C in braces for the programs' paths, on the CASE of {P}, or of another.
local function run(arguments, case, program)
  local paths = { P = PROGRAM, F = FIXED, S = STRIPPED, A = CALLS, C = CXX }
  return target.uplua(("%s -- %s %s"):format((arguments:gsub("{(%u)}", paths)), program or PROGRAM, case or ""))
end

-- Runs CODE on the CASE, or another program's, and checks that it prints OUT, and ERR, or nothing, on standard error.
local function says(what, code, case, out, err, program)
  local r = run("-e " .. target.quote(code), case, program)
  equals(r.out, out, what)
  equals(r.err, err or "", "… with what it says")
end

-- What PATTERN captures of the lines of TEXT that match it, as lines.
local function captures(text, pattern)
  local found = {}
  for line in text:gmatch "[^\n]+" do found[#found + 1] = line:match(pattern) end
  return table.concat(found, "\n")
end

-- The address of FUNCTION in {F}.
local function address(name)
  local r = target.shell(("nm %s >\"$D/out\""):format(FIXED))
  return "0x" .. assert(r.out:match("0*(%x+) [tT] " .. name .. "\n"), name)
end

-- Arguments and values.

of "bpftrace 3626"
says("memcmp's size, which comes to it by an indirect function",
  [[
n, s = count(), sum()
uprobe('libc:memcmp', function(e) if e.arg2 > 1000 then n[e.func]:inc() s:add(e.arg2) end end)]], "ifunc",
  "n: memcmp  23\ns: 23,276\n")

of "bpftrace 1343"
says("the integer behind a double by its name, and as the first of the integers",
  "n = count() uprobe('{P}:power', function(e) n[{ e.args.exponent, e.arg0 }]:inc() end)", "power", "625\nn: 4, 4  1\n")
local r = run("-e 'n = count() uprobe(\"{P}:power\", function(e) n[e.args.base]:inc() end)'", "power")
matches(r.err, "^uplua: %-e:1: the argument 'base' of %S+:power cannot be read in a handler: it is a 'double'",
  "the double is refused")

of "uftrace 329"
r = run("trace.lua -r {P}:power", "power")
matches(r.out, "\n625\n", "the program still computes with what the probed function returned")
matches(r.out, "power%(base=%(double%), exponent=4%) = %(double%) %(", "the call is shown, and that it is a double")
r = run("-e 'n = count() uretprobe(\"{P}:power\", { typed = true }, function(e) n[e.ret]:inc() end)'", "power")
matches(r.err, "e%.ret: power returns double, which is in no register that handlers see\n$", "e.ret is refused")

of "bpftrace 892"
says("the least and the greatest of negative numbers", [[
a, b = min(), max() uprobe('{P}:negative', function(e) a:add(e.args.n) b:add(e.args.n) end)]], "negatives",
  "a: -100\nb: -5\n")

of "bpftrace 346"
r = run("-e 'h = hist() uprobe(\"{P}:level\", function(e) h:add(e.args.n) end)'", "levels")
equals(captures(r.out, "^ *(%S.- +%d+)  |"), "< 0  3\n0  1\n1  0\n[2, 4)  0\n[4, 8)  0\n[8, 16)  1",
  "a histogram has negative numbers, 0 and 1 apart")

of "bpftrace 2121"
r = run("-e 'a, b = lhist(0, 100, 10), lhist(0, 100, 50) uprobe(\"{P}:counted\", function(e) a:add(e.args.i) "
  .. "b:add(e.args.i) end)'", "counted")
equals(captures(r.out:match "\nb:\n.*", "^ *(%S.- +%d+)  |"), "[0, 50)  49\n[50, 100)  50\n≥ 100   2",
  "each linear histogram has its own steps")
matches(captures(r.out:match "a:\n(.*)\nb:", "^ *(%S.- +%d+)  |"), "^%[0, 10%)   9\n", "… the other, too")

of "bpftrace 2809"
says("what a full count has lost", [[
n = count { max = 64 } uprobe('{P}:counted', function(e) n[e.args.i]:inc() end)
at_exit(function() io.write(n:size(), '\n') n:clear() end)]], "counted", "64\n",
  "uplua: not everything was seen:\n  37 × 'n' is full (max = 64): not inserted; give it a larger max, -e:1\n")

of "bpftrace 464"
says("what a full map has lost", [[
m = hash { max = 8 } uprobe('{P}:counted', function(e) m[e.args.i] = e.args.i end)
at_exit(function() io.write(m:size(), '\n') m:clear() end)]], "counted", "8\nm: (empty)\n",
  "uplua: not everything was seen:\n  93 × 'm' is full (max = 8): not inserted; give it a larger max, -e:1\n")

of "bpftrace 873"
says("numbers and texts of one format in any order", [[
uprobe('{P}:mixed', function(e)
  local a = e.args
  printf('%s,%d,%d,%d|%d,%s,%d,%d\n', str(a.name), a.number, a.big, a.small, a.small, str(a.name), a.big, a.number)
end)]], "mixed", "Weimar,-23,1099511627776,101|101,Weimar,1099511627776,-23\n")

of "bpftrace 1978"
says("a text is equal to no text that begins with it", [[
n = count() uprobe('{P}:word', function(e)
  local s = str(e.args.text)
  if s == 'hello' then n['hello']:inc() end
  if s == 'hell' then n['hell']:inc() end
  if s == '' then n['empty']:inc() end
end)]], "words", "n:\nhello  2\nempty  1\nhell   1\n")

of "bpftrace 2093"
local PATH = "/" .. ("o"):rep(200)
says("two hundred bytes of a text", "uprobe('{P}:word', function(e) printf('%s\\n', str(e.args.text, 256)) end)",
  "long_path", PATH .. "\n")
says("a text that was cut says so", "uprobe('{P}:word', function(e) printf('%s\\n', str(e.args.text)) end)",
  "long_path", PATH:sub(1, 63) .. "…\n")
says("… also as a key", "n = count() uprobe('{P}:word', function(e) n[str(e.args.text)]:inc() end)", "long_path",
  "n: " .. PATH:sub(1, 63) .. "…  1\n", "uplua: not everything was seen:\n"
  .. "  1 × a key of 'n' was cut: keys that begin with the same text are one, -e:1\n")

of "bpftrace 910"
says("division and remainder of negative numbers",
  "uprobe('{P}:level', function(e) printf('%d %d\\n', e.args.n / 3, e.args.n % 7) end)", "levels",
  "-33 -2\n-1 -5\n-16 -1\n2 1\n0 0\n")

of "bpftrace 969"
says("bit fields of one byte, of a word, and negative ones", [[
uprobe('{P}:packet', function(e)
  local p = e.args.p
  printf('%d %d %#x %d %d\n', p.version, p.length, p.offset, p.flags, p.delta)
end)]], "packet", "4 5 0x12345 6 -7\n")
r = run("trace.lua {P}:packet", "packet")
matches(r.out, "{length=5, version=4, offset=74565, flags=6, delta=%-7}", "… as trace.lua shows them")

of "bpftrace 1558"
says("a field through a pointer, at once and by a variable", [[
uprobe('{P}:pointed', function(e)
  local p = e.args.p
  local v = p.a
  printf('%d %d %s\n', p.a, v, p.b)
end)]], "pointed", "123 123 hello\n")

of "bpftrace 901"
says("fields of structures and unions without names", [[
uprobe('{P}:unnamed', function(e)
  local u = e.args.u
  printf('%d %d %d\n', u.first, u.second, u.third)
end)]], "unnamed", "7 23 101\n")

of "bpftrace 776"
says("an enumeration in a structure as a key",
  "n = count() uprobe('{P}:moody', function(e) n[e.args.m.mood]:inc() end)", "moods", "n:\n-1  1\n1   1\n2   1\n")

of "uftrace 1154"
r = run("trace.lua {P}:mood {P}:moody", "moods")
equals(captures(r.out, "  (mood%(.*)$"), "mood(m=MINUS_ONE)\nmood(m=ONE)\nmood(m=TWO)",
  "a negative enumerator's name")
equals(captures(r.out, "mood=([%u_]+)}"), "MINUS_ONE\nONE\nTWO", "… in a structure")

of "uftrace 1075"
r = run("trace.lua {P}:take_pack", "pack")
local pack = r.out:match "  take_pack%(a=32, b=48, p=(.-)%)\n"
if pack ~= "(struct pack)" then -- clang's debug information says of the first instruction that it is in no register
  equals(pack, "{fine=64, victim=80, killer=96}", "a structure that is passed by value")
end

of "bpftrace 1503"
says("a text on a page that nothing has touched yet",
  "n = count() uprobe('{A}:unseen', function(e) n[str(e.args.text)]:inc() end)", "unseen_text", "n: unseen text  23\n",
  nil, CALLS)

of "node-stap 19"
says("a pointer that leads nowhere ends its own handler only",
  "n = count() uprobe('{P}:word', function(e) n[str(e.args.text)]:inc() end)", "bad_pointers", "n: good  101\n",
  "uplua: not everything was seen:\n  23 × unreadable memory read as nil, -e:1\n"
  .. "  23 × handler ended by an error: an aggregation's key is nil, -e:1\n")

-- Functions and their returns.

of "bpftrace 2285"
says("e.func at a return", "n = count() uretprobe('{P}:path_*', function(e) n[e.func]:inc() end)", "path",
  "n:\npath_a  23\npath_b  23\npath_c  23\npath_d  23\n")

of "uftrace 1576"
says("calls that a jump leaves have no return, and others have theirs", [[
n, r = count(), count()
uprobe('{P}:leaves_*', function(e) n[e.func]:inc() end)
uretprobe('{P}:leaves_*', function(e) r[e.func]:inc() end)]], "jumps",
  "n:\nleaves_b  23\nleaves_d  23\nleaves_e  23\nr: leaves_e  23\n")

of "bcc 1420"
r = run("funcslower.lua -m 19ms {P}:nest_outer {P}:nest_inner -w 'e.func == \"nest_outer\"'", "nested")
equals(captures(r.out, " ms  (.*)$"), "nest_outer()\nnest_outer()\nnest_outer()",
  "a function has its own time where it calls another that is probed, too")

of "bcc 3354"
r = run("funclatency.lua '{P}:nest_*'", "nested")
equals(captures(r.out, "^(nest_%S+ +%d+) "), "nest_outer      3\nnest_inner      6", "each function of a pattern")

of "bcc 2548"
says("each call of a function that calls itself", [[
n = count()
uretprobe('{P}:recurs', function(e) if e.elapsed > e.args.depth * 1900000 then n[{ e.args.depth, e.ret }]:inc() end end)
]], "recursion", "n:\n1, 1  1\n2, 2  1\n3, 3  1\n4, 4  1\n5, 5  1\n")

of "bcc 2556"
says("no call takes less than it sleeps, or hundreds of years", [[
n = count()
uretprobe('{P}:threaded', function(e) n[e.elapsed > 900000 and e.elapsed < 1000000000000]:inc() end)]], "threads",
  "n: true  404\n")

of "bcc 478"
r = run("funccount.lua '{P}:*_one'", "sections")
equals(r.out, "Function      Calls\nunlikely_one    101\nhot_one          23\n",
  "functions in sections of their own")

of "cilium/ebpf 399"
says("a function of a program at fixed addresses",
  "n = count() uprobe('{F}:counted', function(e) n[e.arg0 > 100]:inc() end)", "counted",
  "n:\nfalse  100\ntrue     1\n", nil, FIXED)

of "bpftrace 5144"
says("an address in a program without symbols", ([[
n = count() uprobe('{S}:%s', function(e) n[e.arg0 > 100]:inc() end)]]):format(address "counted"), "counted",
  "n:\nfalse  100\ntrue     1\n", nil, STRIPPED)

of "bpftrace 2186"
says("main, and not what begins with it", "n = count() uprobe('{C}:main', function(e) n[e.func]:inc() end)", nil,
  "11\nn: main  1\n", nil, CXX)

of "bpftrace 1162"
says("a method by its name in C++",
  "n = count() uprobe('{C}:Gate::is_open()', function(e) n[e.func]:inc() end)", nil,
  "11\nn: Gate::is_open()  7\n", nil, CXX)
r = run("funccount.lua {C}:Gate::is_open", nil, CXX)
equals(captures(r.out, "^(Gate.*)$"), "Gate::is_open(int)    101\nGate::is_open()         7", "… all of one name")

of "uftrace 285"
local RETHROWS = [[
n, r = count(), count() uprobe('{C}:rethrows', function(e) n[e.func]:inc() end)
uretprobe('{C}:rethrows', function(e) r[e.func]:inc() end)]]
r = run("--returns instructions -e " .. target.quote(RETHROWS), nil, CXX)
equals(r.out, "11\nn: rethrows(int)  23\nr: rethrows(int)  12\n",
  "exceptions that are thrown again pass a probed return")
equals(r.err, "", "… with nothing to say")
r = run("-e " .. target.quote(RETHROWS), nil, CXX)
matches(r.err, "^uplua: reports_cxx has code for exceptions: one that passes through a function whose return "
  .. "is probed ends the program\n", "by the kernel's way of returns the program ends, which is said before")

-- Stacks and names.

local CHAIN = { "path_d", "path_c", "path_b", "path_a" }

-- The functions of the frames of the one stack in OUT, without offsets, and how often it was there.
local function frames(out, count)
  local names = {}
  for name in out:gmatch "\n +([%w_%-]+)%+0x" do names[#names + 1] = name end
  return table.concat(names, " ", 1, math.min(count, #names))
end

of "bpftrace 646"
r = run("-e 'n = count() uprobe(\"{P}:path_d\", function(e) n[e:ustack()]:inc() end)'", "path")
equals(frames(r.out, 6), table.concat(CHAIN, " ") .. " case_path main", "the caller is in the stack of an entry")
matches(r.out, "^n:\n23\n", "… with all calls, and names that are known after the program's end")
matches(r.out, "\n +path_d%+0x0\n.*_start%+0x%x+\n$", "… down to _start")

of "bpftrace 1744"
r = run("-e 'n = count() uprobe(\"{F}:path_d\", function(e) n[e:ustack()]:inc() end)'", "path", FIXED)
equals(frames(r.out, 6), table.concat(CHAIN, " ") .. " case_path main", "without frame pointers")
matches(r.out, "^n:\n23\n.*_start%+0x%x+\n$", "… down to _start, 23 times")

of "FlameGraph 92"
local base = address "path_d"
local with_names = r.out
r = run(("-e 'n = count() uprobe(\"{S}:%s\", function(e) n[e:ustack()]:inc() end)'"):format(base), "path", STRIPPED)
local want, got = {}, {}
for name, offset in with_names:gmatch "\n +(path_%l)%+(0x%x+)" do
  want[#want + 1] = ("%#x"):format(tonumber(address(name)) + tonumber(offset))
end
for offset in r.out:gmatch "\n +reports%-fixed%-stripped%+(0x%x+)" do got[#got + 1] = offset end
equals(#want, 4, "four frames of functions that are known by name")
equals(table.concat(got, " ", 1, math.min(4, #got)), table.concat(want, " "),
  "the same frames without symbols have the file and the place in it")

of "bpftrace 1031"
r = target.uplua((
  "--follow -e 'n = count() uprobe(\"%s:path_d\", function(e) n[e:ustack(5)]:inc() end)' -- sh -c '%s; %s'"
):format(PROGRAM, PROGRAM .. " path", PROGRAM .. " path"))
matches(r.out, "^n:\n46\n", "two runs of a program at different addresses have one stack")
equals(frames(r.out, 9), table.concat(CHAIN, " ") .. " case_path", "… with names")

-- Memory.

of "bcc 4970"
r = run("mallocleak.lua --combined-only --max-size 4", "small_blocks", CALLS)
equals(captures(r.out, "^ *([%d,]+ +[%d,]+) .*holds_small"), "160,000      40,000",
  "two threads that allocate at the same place at the same time")

of "bcc 3085"
r = run("mallocleak.lua", "failed_requests", CALLS)
equals(captures(r.out, "^ +(total .*)$"), "total 101 bytes in 1 block from 1 stack",
  "requests that failed hold nothing")

r = run("mallocleak.lua --by function", "kinds", CALLS)
local held = {} -- "by_valloc 3,001", the largest first
for bytes, name in r.out:gmatch "\n *([%d,]+) +1 [^\n]-(by_[%w_]+) " do held[#held + 1] = name .. " " .. bytes end
of "bcc 1214"
equals(table.concat(held, ", "), "by_valloc 3,001, by_calloc 2,323, by_aligned_alloc 2,048, "
  .. "by_posix_memalign 1,001, by_reallocarray 707, by_realloc 123", "a block of each function that allocates")
of "ProcDump 245"
equals(held[2], "by_calloc 2,323", "calloc's size is the product")
of "leaktrace 2"
equals(held[6], "by_realloc 123", "realloc of nothing allocates")

of "bcc 4820"
local line, at = 0, nil
for text in io.lines "tests/targets/reports_calls.c" do
  line = line + 1
  if text:find "kept = malloc%($" then at = line end
end
r = run("mallocleak.lua --lines", "line", CALLS)
equals(r.out:match "on_line%+0x%x+ [^\n]*/reports_calls%.c:(%d+)\n", tostring(at),
  "the line of the call, not the one behind it")

of "heaptrack 32"
r = run("mallocleak.lua --lines", "line", CALLS .. "-fixed")
equals(r.out:match "on_line%+0x%x+ [^\n]*/reports_calls%.c:(%d+)\n", tostring(at),
  "lines of debug information of DWARF 5")
equals(captures(r.out, "^ +(total .*)$"), "total 101 bytes in 1 block from 1 stack", "… and what is held")

-- USDT probes.

of "bcc 992"
says("small arguments of a USDT probe have their size and sign", [[
usdt('{P}:reports:small', function(e) printf('%d %d %d %d %d\n', e.arg0, e.arg1, e.arg2, e.arg3, e.arg4) end)]],
  "small_arguments", "-5 251 -300 -1000 4294966296\n")

of "bpftrace 1671"
says("a text of a USDT probe by its length",
  "usdt('{P}:reports:text', function(e) printf('%s|%s\\n', buf(e.arg0, e.arg1), str(e.arg0)) end)", "usdt_text",
  "hello|hello world\n")

of "bpftrace 3601"
says("all places of a USDT probe behind a semaphore",
  "n = count() usdt('{P}:reports:hit', function(e) n[e.arg0]:inc() end)", "places",
  "n:\n1  23\n2  23\n3  23\n4  23\n5  23\n6  23\n7  23\n")

-- System calls and programs.

of "bpftrace 172"
says("a sum of results that are errors",
  "s = sum() sysreturn('read', function(e) if e.ret < 0 then s:add(e.ret) end end)", "bad_reads",
  "s: -207\n", nil, CALLS)

of "bpftrace 604"
says("an argument of 32 bits", "syscall('io_setup', function(e) printf('%d\\n', e.args.nr_events) end)", "upper_half",
  "128\n", nil, CALLS)

of "bpftrace 199"
says("what is written, by its length",
  "syscall('write', function(e) printf('%s\\n', buf(e.args.buf, e.args.count)) end)", "writes", "seven77\n", nil, CALLS)
r = run("systrace.lua -e write", "writes", CALLS)
matches(r.out, '  write%(3, "seven77", 7%) += 7 <', "… by systrace.lua")

of "bcc 4292"
r = run("opensnoop.lua -f", "unseen_path", CALLS)
equals(captures(r.out, " ENOENT .*  (%S+)$"), ("/nowhere/unseen\n"):rep(23):sub(1, -2),
  "opensnoop.lua has paths on pages that nothing has touched")
r = run("-e 'n = count() syscall(\"openat\", function(e) n[str(e.args.filename)]:inc() end)'", "unseen_path", CALLS)
matches(r.err, "  23 × unreadable memory read as nil", "what a handler cannot read at the entry is counted")

of "bcc 3343"
r = run("execsnoop.lua", "executes", CALLS)
local words = {}
for i = 1, 30 do words[i] = "w" .. i end
matches(r.out, "  true " .. table.concat(words, " ", 1, 19) .. " …\n",
  "arguments of a program, and that there are more")

of "sysdig 73"
matches(r.out, "  /nowhere/nobody: ENOENT\n", "a program that is not there, by execsnoop.lua")
r = run("systrace.lua -e execve", "executes", CALLS)
matches(r.out, '  execve%("/nowhere/nobody", %["nobody"%], [^\n]* = %-1 ENOENT ', "… and by systrace.lua")
of "bcc 3343"
matches(r.out, '  execve%("/bin/true", %["true", "' .. table.concat(words, '", "') .. '"%], ',
  "all, by systrace.lua")

of "perf-tools 117"
r = run("--follow execsnoop.lua", "popen", CALLS)
matches(r.out, "  sh %-c 'exit 23 # of popen'\n", "what popen executes, with its arguments")

of "strace 176"
local folder = target.folder() .. "-each"
os.execute(("mkdir -p %s"):format(folder))
run(("--follow systrace.lua -e getpid,gettid -O %s/each"):format(folder), "asks", CALLS)
local files = io.popen(("ls %s/each.*"):format(folder))
local calls = {}
for path in files:lines() do
  local process = path:match "%.(%d+)$"
  local n, strangers, results = 0, 0, {}
  for text in io.lines(path) do
    local call, result = text:match "  (get%wid)%(%) += (%d+) <"
    n = n + 1
    results[result] = true
    if call == "getpid" and result ~= process then strangers = strangers + 1 end
  end
  local ids = 0
  for _ in pairs(results) do ids = ids + 1 end
  if not results[process] then ids = -1 end
  calls[#calls + 1] = ("%d calls, %d ids, %d strangers"):format(n, ids, strangers)
end
files:close()
os.execute(("rm -rf %s"):format(folder))
table.sort(calls)
equals(table.concat(calls, "\n"), "202 calls, 1 ids, 0 strangers\n404 calls, 3 ids, 0 strangers",
  "each process's calls in its own file, those of its threads, too")

of "strace 160"
local unreadable = target.copy(CALLS)
r = target.shell(([[chmod 111 %s; chmod a+x "$(dirname %s)"
  ./uplua --follow systrace.lua -e write -- setpriv --reuid 65534 --clear-groups %s writes \
    >"$D/out" 2>"$D/err" </dev/null]])
  :format(unreadable, unreadable, unreadable))
matches(r.out, '  write%(3, "seven77", 7%) += 7 <', "what a program writes that nobody may read")

-- The page.

report = "doc/reports.md"
local on_page, many = {}, 0
for name in target.read "doc/reports.md":gmatch "\n| ([%w/%-]+ %d+) |" do
  on_page[name] = true
  many = many + 1
  if not reports[name] then ok(false, report .. " has " .. name .. ", which nothing checks here") end
end
for name in pairs(reports) do
  if not on_page[name] then ok(false, report .. " lacks " .. name) end
end
ok(many >= 30, report .. ": thirty reports or more", many)

target.done()
tap.done_testing()
