-- Who is traced: threads by number, names of threads, cgroups; all together.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local FAMILY = "build/targets/family"
local HITS = 101

-- CODE for each of `hits` by name; "tracing" once it is attached.
local CODE = ([[-e '
  local hits, calls, samples = count(), count(), count()
  uprobe("./%s:hit", function(e) hits[e.comm]:inc() end)
  uprobe("./%s:once", function(e) up.printf("seen") end)
  syscall("getppid", function(e) calls[e.comm]:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function()
    local list = {}
    for name, n in hits:pairs() do list[#list + 1] = ("%%s=%%d/%%d"):format(name, n, calls[name] or 0) end
    table.sort(list)
    print("hits " .. table.concat(list, " "))
  end)']]):format(FAMILY, FAMILY)

-- Runs uplua OPTIONS and, once it traces, SCRIPT; then ends it.
local function beside(options, script, before)
  return target.shell(([[
    set -m
    %s
    ./uplua %s %s >"$D/out" 2>"$D/err" </dev/null &
    uplua=$!
    until_traces
    %s
    kill -INT $uplua
    wait $uplua]]):format(before or "", options, CODE, script))
end

local function hits(run) return run.out:match "hits ([^\n]*)" end

-- Names begin with what no other run of this test has.
local TAG = target.folder():match "...$"
local function named(format) return (format:gsub("@", TAG)) end

local NAMES = named [[
  for name in @alpha @alphabet @beta @name-that-is-long; do
    ln -sf "$PWD/build/targets/family" "$D/$name"
    "$D/$name" hits
  done]]
is(hits(beside(named "--comm @alpha", NAMES)), named "@alpha=101/101", "threads of one name")
is(hits(beside(named "--comm '@alpha*'", NAMES)), named "@alpha=101/101 @alphabet=101/101", "of names that begin alike")
is(hits(beside(named "--comm @beta --comm '@alphab*'", NAMES)), named "@alphabet=101/101 @beta=101/101", "of several")
is(hits(beside(named "--comm @name-that-is-long", NAMES)), named "@name-that-is=101/101",
  "names are cut as the kernel cuts them")
is(hits(beside(named "--comm @alphabets", NAMES)), "", "and no other")

local FOLLOWED = "sh -c 'ln -sf $PWD/build/targets/family $0/alpha; ln -sf alpha $0/beta; $0/beta; $0/alpha; $0/beta' "
local run = target.shell(('./uplua --follow --comm alpha %s -- %s "$D" >"$D/out" 2>"$D/err"'):format(CODE, FOLLOWED))
is(hits(run), "alpha=23/23", "a name among those that are followed; what these execute has another")

-- Threads.
run = target.shell(([[
  set -m
  mkfifo "$D/in"
  build/targets/family threads <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  threads=($(ls /proc/$program/task))
  ./uplua --tid ${threads[2]},${threads[4]} --comm 'fam*' %s >"$D/out" 2>"$D/err" 7>&- </dev/null &
  uplua=$!
  until_traces
  printf x >&7
  until_said done
  exec 7>&-
  wait $uplua]]):format(CODE))
is(hits(run), "family=202/202", "two of four threads")
is(run.status, 0, "the run ends with them, or their process")

-- Cgroups, where one can be made.
local cgroup = target.cgroup()
if cgroup then
  local inside = ([[
    in_cgroup() { (echo $BASHPID >"$1/cgroup.procs" && exec build/targets/family "$2"); }
    A=%s
    mkdir -p $A/one/below $A/two]]):format(cgroup)
  local all = "in_cgroup $A hits; in_cgroup $A/one hits; in_cgroup $A/one/below hits; " ..
              "in_cgroup $A/two hits; build/targets/family hits"
  is(hits(beside(("--cgroup '%s/*'"):format(cgroup), all, inside)), "family=303/303",
    "in the cgroups of a pattern, and below")
  is(hits(beside(("--cgroup %s/one"):format(cgroup:match "[^/]*$"), all, inside)), "family=202/202",
    "in one, by its path in the hierarchy")
  is(hits(beside(("--cgroup %s --comm alpha"):format(cgroup:match "[^/]*$"), all, inside)), "", "and of a name")
  run = beside(("--cgroup '%s/l*/b*'"):format(cgroup), [[
    mkdir -p $A/later/below
    await 'in_cgroup $A/later/below once; grep -q seen "$D/out"' $uplua
    mkdir $A/later/begun
    ]] .. all .. "; in_cgroup $A/later/below hits", inside)
  is(hits(run), "family=101/101", "in one that comes later")
  like(run.err, "%-%-cgroup .*/l%*/b%*: there is none yet: waiting for one", "of which there was none")
  target.shell(("rmdir %s/later/b* %s/later %s/one/below %s/one %s/two %s"):format(cgroup, cgroup, cgroup, cgroup,
    cgroup, cgroup))
  like(target.uplua(("--cgroup %s/../x -e 'uprobe(\"libc:free\", function() end)'"):format(cgroup:match "[^/]*$")).err,
       "write the path from the root of the hierarchy on", "a path with ..")
  like(target.uplua "--cgroup / -e 'uprobe(\"libc:free\", function() end)'".err, "that is the root, where everybody is",
    "the root")
  like(target.uplua "--cgroup a,b -e 'uprobe(\"libc:free\", function() end)'".err,
       "%-%-cgroup a,b: there is no such cgroup; it is one path, and a pattern means several", "a list of cgroups")
end

local shown = target.uplua [[--comm 'alph*' --explain -e 'uprobe("libc:free", function() end)' -- true]].out
like(shown, "bpf_get_current_comm", "--explain shows what a name costs")

local function refused(arguments, want, what, status)
  run = target.uplua(arguments)
  like(run.err, want, what)
  is(run.status, status, "… with its status")
end
refused("--comm 'a*b' -e 'print(1)'", "%-%-comm needs a name, or the beginning of one before a '%*'",
  "a pattern that the kernel would have to match", 2)
refused("--comm '*' -e 'print(1)'", "%-%-comm needs a name", "any name", 2)
refused("--comm '' -e 'print(1)'", "%-%-comm needs a name", "no name", 2)
refused("--tid x -e 'print(1)'", "%-%-tid needs threads, as in %-%-tid 4242", "a thread that is no number", 2)
refused("--tid 4194304 -e 'print(1)'", "no thread 4194304", "a thread that is not there", 1)
refused("--tid 1 -p 1 -e 'print(1)'", "more than one target", "threads and processes", 2)
refused("--cgroup a --cgroup b -e 'print(1)'", "%-%-cgroup is given twice", "two patterns", 2)
refused("--comm a -e 'counter \"page-faults\"' -- true",
  "counter: the kernel counts without asking for the threads' names", "a counter of names", 1)
refused("--cgroup a -e 'counter \"page-faults\"' -- true", "counter: %-%-cgroup is for handlers",
  "a counter of cgroups", 1)

target.done()
tap.done_testing()
