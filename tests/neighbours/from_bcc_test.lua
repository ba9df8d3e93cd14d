-- doc/from-bcc.md: tools of libbpf-tools, which have BCC's names and options, or of bpfcc-tools, and uplua's lines, on
-- one run of a program. Sections that speak of an emulated machine are compared there, the others here (pages.lua).
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local cjson     = require "cjson"
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"
local pages     = require "pages"

local TOOLS = "/usr/sbin/"
if not tap.has(TOOLS .. "opensnoop", "libbpf-tools") or not neighbour.tracefs() then neighbour.done() end

-- The tools see all processes: the programs have names of their own, and call what others hardly do.
local SHOP, MAKE = neighbour.program(target.folder() .. "/uplua-shop", ([[
  for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F; truncate "FOLDER/none", $_ % 5 }
  $SIG{USR1} = sub { $n++ }; kill "USR1", $$ for 1 .. 7;
  select undef, undef, undef, 0.012 for 1 .. 11;
  system "FOLDER/uplua-expr 1009 + $_ >FOLDER/sum" for 1 .. 5;
  system "FOLDER/uplua-getent ahosts localhost >FOLDER/sum" for 1 .. 3;
  system "bash -c ': </dev/tcp/127.0.0.1/9' 2>FOLDER/sum" for 1 .. 2;
]]):gsub("FOLDER", target.folder()))
MAKE = [[
  ln -s /usr/bin/perl "$D/uplua-shop"; ln -s /usr/bin/expr "$D/uplua-expr"; ln -s /usr/bin/getent "$D/uplua-getent"
]] .. MAKE

-- Shell functions for the tools, which run in the background, as $tool. Those of bpfcc-tools look for the headers of
-- the kernel that runs; what they take of them here, the registers of user code, Debian's have, too. And they give a
-- probe of perf's a reference counter that nobody has set: other probes of the same place, which have none, the kernel
-- refuses then. Without that kind of event they write into tracefs, which they look for in debugfs.
local FUNCTIONS = [[
  set -m
  trap 'kill -INT $(jobs -p) 2>/dev/null' EXIT # which BCC's tools heed: they leave no probes behind
  export PYTHONUNBUFFERED=1
  with_headers() {
    [ "$1" = perf ] && shift || without=/sys/devices/uprobe
    exec unshare --mount sh -c '
      cd /lib/modules/6.1.*-cloud-*/ && build=$(readlink -f build) source=$(readlink -f source)
      here=/lib/modules/$(uname -r)
      mount -t tmpfs none /lib/modules && mkdir "$here" &&
        ln -s "$build" "$here/build" && ln -s "$source" "$here/source" &&
        mount -t tmpfs none "$0" && cd / &&
        { [ -e /sys/kernel/debug/kprobes ] || mount -t debugfs none /sys/kernel/debug; } &&
        exec "$@"' "${without:-/mnt}" "$@"
  }
]] .. pages.until_attached

-- What runs the tool of the line THEIRS in the background, for one process (OF_ONE), or the machine.
local function start_of(theirs, of_one)
  local name, rest = theirs:match "^(%S+)(.*)$"
  for _, path in ipairs { TOOLS .. name, TOOLS .. name .. "-bpfcc" } do
    local file = io.open(path, "rb")
    if file then
      local runs_python = file:read(2) == "#!"
      file:close()
      return ('%s %s%s >"$D/said" 2>"$D/complained" </dev/null & tool=$!'):format(
        runs_python and (of_one and "with_headers perf" or "with_headers") or "stdbuf -oL", path, rest)
    end
  end
  return "exit 96"
end

local function whole(run)
  tap.is(run.status, 0, "uplua ends well")
  tap.is((run.err:gsub("[^\n]*stack incomplete[^\n]*\n", ""):gsub("^uplua: not everything was seen:\n$", "")
    :gsub("^%l+: tracing [^\n]*\n", "")), "", "uplua has lost nothing")
  local said = neighbour.read "said"
  if os.getenv "PAIR" then print(((run.out .. said):gsub("%f[^\n%z]", "# "))) end
  if run.status ~= 0 then io.stderr:write(run.noise, said, neighbour.read "complained", "\n") end
  return run.out, said
end

-- Runs PAIR's tool on the machine, and meanwhile uplua on the program. Returns what uplua and what the tool printed.
local function both(pair, command)
  return whole(target.shell(FUNCTIONS .. ([[
    export D
    %s
    %s
    until_attached $tool
    PATH=$PWD:$PATH
    %s -- %s >"$D/out" 2>"$D/err" </dev/null
    status=$?
    sleep 1
    kill -INT $tool
    wait $tool
    exit $status
  ]]):format(MAKE, start_of(pair.theirs), pair.ours:gsub("^uplua", "./uplua --follow"):gsub(" %-%- PID$", ""),
    command or SHOP)))
end

-- Runs each on a run of PROGRAM, which says "ready", waits for an empty line, and says "done"; SECONDS later the tracer
-- is ended. Not on one run: a probe of perf's for one process can be replaced by none of tracefs.
local function attached(pair, program, before, seconds)
  return whole(target.shell(FUNCTIONS .. ([[
    export D PATH=$PWD:$PATH
    %s
    mkfifo "$D/in"
    begin() {
      : >"$D/target"
      %s <"$D/in" >>"$D/target" &
      program=$!
      exec 7>"$D/in"
      until_said ready
    }
    # finish TRACER: its status
    finish() {
      echo >&7
      until [ $(wc -l <"$D/target") -gt 1 ]; do kill -0 $program || exit 95; sleep 0.1; done
      sleep %s
      kill -INT $1
      wait $1
      status=$?
      exec 7>&-
      wait $program
      return $status
    }
    begin
    %s
    until_attached $tool
    finish $tool
    begin
    %s >"$D/out" 2>"$D/err" </dev/null 7>&- & uplua=$!
    until_attached $uplua
    finish $uplua
  ]]):format(before or "", program, seconds or 1,
    (start_of((pair.theirs:gsub("PID", "$program")), true):gsub("& tool", "7>&- & tool")),
    (pair.ours:gsub("^uplua", "./uplua"):gsub("PID", "$program")))))
end

-- A check that OURS and THEIRS, patterns, have COUNT matches each in what the two print.
local function lines(ours, theirs, count, what)
  return function(pair)
    local own, other = both(pair)
    tap.is(select(2, own:gsub(ours, "")), count, ("uplua: %d %s"):format(count, what))
    tap.is(select(2, other:gsub(theirs, "")), count, "so has " .. pair.theirs:match "%S+")
  end
end

local tests = {
  ["Which programs are started?"] =
    lines("/uplua%-expr 1009 %+ %d\n", "\nuplua%-expr [^\n]* 1009 %+ %d", 5, "programs"),
  ["Which processes end, and how?"] = lines("uplua%-expr[^\n]*ended with status 0", "\nuplua%-expr [^\n]*", 5, "ends"),
  ["Which files are opened?"] = lines("uplua%-shop[^\n]*/etc/hostname", "uplua%-shop[^\n]*/etc/hostname", 23, "opens"),
  ["Which signals are sent?"] = lines("uplua%-shop: 10 to uplua%-shop", "uplua%-shop +10 +%d+", 7, "signals"),
  ["Which names are looked up, and how long does that take?"] =
    lines("localhost %d+ us", "uplua%-getent +[%d.]+ +localhost", 3, "names"),
  ["Which TCP connections change their state?"] =
    lines("oldstate=7, newstate=2[^\n]*dport=9,", " 9 +CLOSE +%-> SYN_SENT", 2, "connections that begin"),
}

-- PAIR with a function of libc that only the program here calls.
local function for_truncate(pair, name)
  local function replaced(line)
    return (line:gsub(name, function(found) return (found:gsub("[%w_*]+$", "truncate64")) end))
  end
  return { theirs = replaced(pair.theirs), ours = replaced(pair.ours) }
end

local function sum_of(text, pattern)
  local sum = 0
  for count in text:gmatch(pattern) do sum = sum + count:gsub(",", "") end
  return sum
end

tests["How long does a function take?"] = function(pair)
  local ours, theirs = both(for_truncate(pair, ":read$"))
  tap.is(tonumber(ours:match "\ntruncate64 +(%d+) "), 23, "uplua: 23 calls")
  tap.is(sum_of(theirs, "\n +%d+ %-> %d+ +: (%d+) +|"), 23, "funclatency: 23 calls")
end

tests["Which calls of a function are slow?"] = function(pair)
  local ours, theirs = both { theirs = pair.theirs:gsub("open$", "select"), ours = pair.ours:gsub("open64$", "select") }
  tap.is(select(2, ours:gsub("uplua%-shop[^\n]* [%d.]+ ms[^\n]*select", "")), 11, "uplua: 11 calls of 12 ms")
  tap.is(select(2, theirs:gsub("\nuplua%-shop +%d+ +[%d.]+ [^\n]*select", "")), 11, "funcslower: the same")
end

tests["Which stacks lead to a function?"] = function(pair)
  local ours, theirs = both(for_truncate(pair, "c:malloc$"))
  tap.is(sum_of(ours, "%f[^\n]([%d,]+) hits in"), 23, "uplua: 23 calls")
  tap.is(sum_of(theirs, "\n +(%d+)\n"), 23, "stackcount: 23 calls")
end

tests["Which values does an argument take?"] = function(pair)
  local ours, theirs = both { theirs = pair.theirs:gsub("malloc%(size_t size%)", "truncate64(char *path, size_t size)"),
    ours = pair.ours:gsub("malloc", "truncate64"):gsub("arg0", "arg1") }
  local own = pages.buckets(ours)
  local function from(low) return own[tostring(low)] or 0 end
  neighbour.same({ ["0 1"] = from(0) + from(1), ["2 3"] = from(2), ["4 7"] = from(4) },
    { ["0 1"] = sum_of(theirs, "\n +0 %-> 1 +: (%d+) "), ["2 3"] = sum_of(theirs, "\n +2 %-> 3 +: (%d+) "),
      ["4 7"] = sum_of(theirs, "\n +4 %-> 7 +: (%d+) ") }, pair.title)
  tap.is(from(4), 4, "4 is one of them, 4 times")
end

tests["… and how often each?"] = function(pair)
  local ours, theirs = both { theirs = pair.theirs:gsub("malloc%(size_t size%)", "truncate64(char *path, size_t size)"),
    ours = pair.ours:gsub("malloc", "truncate64"):gsub("arg0", "arg1") }
  local own, other = {}, {}
  for _, row in ipairs(neighbour.lines(ours, "^(%d+) +([%d,]+)$")) do own[row[1]] = tonumber(row[2]) end
  for count, key in theirs:gmatch "\n%s+(%d+)%s+size = (%d+)" do other[key] = tonumber(count) end
  tap.is(neighbour.same(own, other, pair.title), 5, "which are five values")
end

tests["How often is a function called?"] = function(pair)
  local ours, theirs = attached({ theirs = pair.theirs:gsub("mem%*", "truncate*"),
    ours = pair.ours:gsub("mem%*", "truncate*") }, [[perl -e '$| = 1; print "ready\n"; <STDIN>;
      truncate "/none/$_", 0 for 1 .. 23; print "done\n"; <STDIN>']])
  tap.is(sum_of(ours, "\ntruncate%d* +([%d,]+)"), 23, "uplua: 23 calls")
  tap.is(sum_of(theirs, "\ntruncate%d* +(%d+)"), 23, "funccount: 23 calls")
end

tests["A line for each call, with arguments"] = function(pair)
  local ours, theirs = both(for_truncate(pair, "c:open64"))
  tap.is(select(2, ours:gsub("uplua%-shop[^\n]*truncate64%([^\n]*/none", "")), 23, "uplua: 23 lines")
  tap.is(select(2, theirs:gsub("uplua%-shop +truncate64 +[^\n]*/none", "")), 23, "trace: 23 lines")
end

tests["Which memory is not freed?"] = function(pair)
  local ours, theirs = attached(pair, "build/targets/leak wait", "", 7)
  tap.like(ours, "23,000 bytes in 23 blocks", "mallocleak.lua: 23 blocks of 1,000 bytes")
  tap.like(theirs, "23000 bytes in 23 allocations from stack", "memleak: the same")
  tap.like(ours, "28,672 bytes in 7 blocks", "mallocleak.lua: 7 of 4,096 bytes")
  tap.like(theirs, "28672 bytes in 7 allocations from stack", "memleak: the same")
end

tests["Which methods does an interpreter call?"] = function(pair)
  if not tap.has "ruby" then return end
  local ours, theirs = attached(pair, "ruby --disable-gems $D/program.rb", [[cat >"$D/program.rb" <<'END'
TracePoint.new(:call) { }.enable
class Shop
  def sell = nil
end
$stdout.sync = true
puts "ready"
STDIN.gets
23.times { Shop.new.sell }
puts "done"
STDIN.gets
END]])
  tap.is(pages.counts(ours)["Shop, sell"], 23, "uplua: Shop#sell is called 23 times")
  tap.is(sum_of(theirs, "\nShop%.sell +(%d+)"), 23, "ucalls: the same")
end

tests["How long are garbage collections?"] = function(pair)
  local ours, theirs = attached(pair, "/usr/bin/python3.11 $D/program.py", [[cat >"$D/program.py" <<'END'
import gc, sys
gc.disable()
print("ready", flush=True)
sys.stdin.readline()
for i in range(23): gc.collect()
print("done", flush=True)
sys.stdin.readline()
END]])
  tap.is(tonumber(ours:match "\n +count (%d+),"), 23, "uplua: 23 collections")
  tap.is(select(2, theirs:gsub("\n[%d.]+ +[%d.]+ +None", "")), 23, "ugc: 23 lines")
end

tests["What is typed into bash?"] = function(pair)
  local ours, theirs = both(pair, [[sh -c 'printf "true shop\nexit\n" | bash --norc -i 2>"$0"/sum' "$D"]])
  tap.like(ours, " true shop\n", "uplua has the line")
  tap.like(theirs, " true shop\n", "so has bashreadline")
end

-- --- in the emulated machine ---

-- A check that both have COUNT lines with OURS and THEIRS, of COMMAND.
local function lines_of(command, ours, theirs, count, what)
  return function(pair)
    local own, other = both(pair, command)
    tap.is(select(2, own:gsub(ours, "")), count, ("uplua: %d %s"):format(count, what))
    tap.is(select(2, other:gsub(theirs, "")), count, "so has " .. pair.theirs:match "%S+")
  end
end

tests["Who connects to whom?"] = lines_of(nil, "bash[^\n]*connect%([^\n]*ECONNREFUSED",
  "bash[^\n]* 127%.0%.0%.1 +9", 2, "connections")
tests["Which processes get a new mount?"] = lines_of(
  [[sh -c 'for i in 1 2 3; do mount -t tmpfs uplua-none /mnt; busybox umount /mnt; done']],
  "mount%([^\n]*uplua%-none", "mount%([^\n]*uplua%-none", 3, "mounts")

tests["Which permissions are asked for?"] = function(pair)
  local ours, theirs = both(pair, [["$D/uplua-shop" -e 'setpriority 0, 0, -$_ for 1 .. 7']])
  tap.is(pages.counts(ours)["uplua-shop, 23"], 7, "uplua: CAP_SYS_NICE, 7 times")
  tap.is(select(2, theirs:gsub("uplua%-shop +23 +CAP_SYS_NICE", "")), 7, "so has capable")
end

tests["What do threads read and write, by file?"] = function(pair)
  local ours, theirs = both({ theirs = pair.theirs .. " -C 1", ours = pair.ours },
    "dd if=/usr/bin/perl of=/dev/null bs=4096 count=23 status=none")
  tap.is(pages.counts(ours)["dd, read, perl"], 94208, "uplua: dd reads 92 KB of perl")
  tap.is(sum_of(theirs, "\n%d+ +dd +23 +0 +(%d+) +0 +R +perl"), 92, "so says filetop")
end

tests["How long do disks take?"] = function(pair)
  local ours, theirs = both(pair, [[sh -c '
    busybox insmod /uplua/loop.ko
    dd if=/dev/zero of="$D/disk" bs=4096 count=64 status=none; busybox losetup /dev/loop0 "$D/disk"
    dd if=/dev/loop0 of=/dev/null bs=4096 count=23 iflag=direct status=none']])
  tap.is(tonumber(ours:match "\n +count (%d+),"), 23, "uplua: 23 requests")
  tap.is(sum_of(theirs, "\n +%d+ %-> %d+ +: (%d+) +|"), 23, "biolatency: 23 requests")
end

-- A thread of the program waits for bytes of its main thread. uplua's waits end at the waking, the tool's once the
-- thread is awake. The program has a name of its own, since the tool sees others of it.
tests["Who ends its waits?"] = function(pair)
  local folder = target.folder()
  local name = folder:match "[^.]+$"
  local ours, theirs = both({ theirs = pair.theirs, ours = pair.ours:gsub("uplua", "uplua --format json") },
    ("sh -c 'ln -s $PWD/build/targets/pastimes %s/%s; exec %s/%s'"):format(folder, name, folder, name))
  local sum, known = 0, 0
  for line in ours:gmatch "{[^\n]+" do
    for _, row in ipairs(cjson.decode(line).rows or {}) do
      if row.comm == "waits" and row.waker == name then sum = sum + row.ns / 1e6 end
    end
  end
  for one in (theirs .. "\n\n"):gmatch "(.-)\n\n" do
    local us = one:find "target: +waits\n" and one:match("waker: " .. name .. "\n%s+(%d+)")
    known = known + (us or 0) / 1e3
  end
  tap.ok(sum > 50, "uplua: it waits for most of the time", sum)
  tap.ok(math.abs(sum - known) <= 0.05 * known + 5, "as long as wakeuptime says",
    ("%.1f ms, %.1f ms"):format(sum, known))
end

tests["Which system calls wait for the disk?"] =
  lines_of([[sh -c 'for i in 1 2 3 4 5 6 7; do sync; done']], "sync%(%) = 0", "\n%d+%.%d+ +sync%(%)", 7, "calls")

tests["How often does the kernel call …?"] = function(pair)
  local ours, theirs = both({ theirs = pair.theirs:gsub("vfs_%*", "vfs_un*"),
    ours = pair.ours:gsub("vfs_%*", "vfs_un*") },
    [[sh -c 'for i in 1 2 3 4 5 6 7; do >"$D/$i.none"; done; exec rm "$D"/*.none']])
  tap.is(tonumber(ours:match "\nvfs_unlink +(%d+)"), 7, "uplua: 7 files are removed")
  tap.is(sum_of(theirs, "\nvfs_unlink +(%d+)"), 7, "so has funccount")
end

tests["How many new processes each second?"] = function(pair)
  local ours, theirs = both(pair, [[sh -c 'for i in 1 2 3 4 5 6 7; do (exit 3); done; exec sleep 2']])
  tap.is(sum_of(ours, "%f[^\n%z](%d+)\n"), 7, "uplua: 7 new processes")
  tap.ok(sum_of(theirs, "PIDs/sec: (%d+)") >= 7, "so has pidpersec, and those of the machine")
end

-- The tool sees the machine for longer than uplua does: it has all that uplua has, and more.
tests["How long is a thread on the CPU at a time?"] = function(pair)
  local ours, theirs = both(pair)
  local own, other = tonumber(ours:match "\n +count (%d+),"), sum_of(theirs, "\n +%d+ %-> %d+ +: (%d+) +|")
  tap.ok(own and own > 101 and own <= other, ("uplua: %s times, cpudist, for longer: %d"):format(own, other))
end

tests["Which threads waited too long for one?"] = function(pair)
  local ours, theirs = both(pair, [[sh -c '
    for i in 1 2 3 4 5 6 7; do
     perl -e "for (1 .. 23) { select undef, undef, undef, 0.001; \$x += \$_ for 1 .. 3e4 }" &
    done; wait']])
  local own, other = select(2, ours:gsub("perl: %d+ us", "")), select(2, theirs:gsub(" perl +%d", ""))
  tap.ok(own > 0 and own <= other,
    ("uplua: %d waits, runqslower, with those of preempted threads: %d"):format(own, other))
end

pages.test("doc/from-bcc.md", tests)
neighbour.done()
