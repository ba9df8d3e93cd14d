-- doc/from-strace-gdb.md: the lines of strace and gdb and uplua's, run on one run of a program, or gdb's on another run
-- that does the same.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"
local pages     = require "pages"
local typed     = require "typed"

local SOURCE = [[
  for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F }
  print STDOUT "x" x 300; kill "USR1", $$ for 1 .. 7;
  for (1 .. 3) { if (!($p = fork)) { exit 3 } waitpid $p, 0 }
  select undef, undef, undef, 0.03; exit 0]]
local PERL, MAKE = neighbour.program("/usr/bin/perl", "$SIG{USR1} = sub { $n++ };" .. SOURCE)

-- Runs both lines of PAIR on perl, uplua on strace's run. Returns what uplua and what strace printed.
local function both(pair, options)
  local theirs = pair.theirs:gsub("PROGRAM", (PERL:gsub("%%", "%%%%"))):gsub("%-o log", '-o "$D/log"')
  local ours = pages.run(pair.ours:gsub(" %-%- PROGRAM$", ""), "--comm perl " .. (options or "--follow"), theirs, MAKE)
  local log = pair.theirs:find "%-o log" and "log" or pair.theirs:find "2>&1" and "said" or "complained"
  return ours, neighbour.read(log)
end

-- How often each call was made: of strace's lines those where it begins, without the execve before which the thread had
-- another name.
local function calls_of(text, pattern)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local name = line:match(pattern)
    if name and name ~= "execve" then found[name] = (found[name] or 0) + 1 end
  end
  return found
end

local STRACE, SYSTRACE = "^%d* *([%l%d_]+)%(", "^%S+  perl +%d+  ([%l%d_]+)%("

local function same_calls(pair)
  local ours, theirs = both(pair)
  neighbour.same(calls_of(ours, SYSTRACE), calls_of(theirs, STRACE), pair.title)
end

local tests = {
  ["strace: with the processes that it starts"] = same_calls,
}

-- Without -f strace sees the first process only; so does uplua without --follow, which follows strace's child here.
local function of_first(pair)
  local ours, theirs = both(pair)
  local first = ours:match "^%S+  perl +(%d+)  "
  neighbour.same(calls_of(ours, "^%S+  perl +" .. first .. "  ([%l%d_]+)%("), calls_of(theirs, STRACE), pair.title)
end
tests["strace: every system call, as a line"] = of_first
tests["strace: some calls only"] = of_first
tests["strace: only calls that fail"] = of_first
tests["strace: how long each call took"] = of_first

tests["strace: a table of counts and errors"] = function(pair)
  local ours, theirs = both(pair)
  local own, other = {}, {}
  for line in ours:gmatch "[^\n]+" do
    local name, calls = line:match "^([%l%d_]+) +([%d,]+) "
    if name then own[name] = tonumber((calls:gsub(",", ""))) end
  end
  for line in theirs:gmatch "[^\n]+" do
    local name, calls = line:match "^([%l%d_]+) +(%d+) *%d*$"
    if name and name ~= "total" and name ~= "execve" then other[name] = tonumber(calls) end
  end
  neighbour.same(own, other, pair.title)
end

tests["strace: calls that took long"] = function(pair)
  local ours, theirs = both(pair)
  tap.like(theirs, "select[^\n]*<0%.%d+>\n", "strace: the sleep of 30 ms")
  tap.like(ours, "perl[^\n]* %d+%.%d ms[^\n]*select", "uplua: the sleep")
end

tests["strace: from where a call is made"] = function(pair)
  local ours, theirs = both(pair)
  local _, own = ours:gsub("openat%(", "")
  local _, other = theirs:gsub("%f[^\n%z]openat%(", "")
  tap.is(own, other, ("as many calls: %d"):format(other))
  tap.like(ours, "/etc/hostname[^\n]*\n +open%d*%+0x%x+\n +PerlIOUnix_open%+0x%x+\n", "uplua: from perl's open")
  tap.like(theirs, "/etc/hostname[^\n]*\n > [^\n]*libc%.so%.6%(", "strace: from the C library")
end

tests["strace: calls on one file"] = function(pair)
  local ours, theirs = both(pair)
  local _, opened = theirs:gsub("%f[^\n%z]openat%(", "")
  tap.is(opened, 23, "strace sees 23")
  tap.is(pages.counts(ours).openat, 23, "so does uplua")
end

tests["strace: what is written"] = function(pair)
  local ours, theirs = both(pair)
  local dumped = {}
  for row in theirs:gmatch "\n | %x+  ([^\n]*)" do dumped[#dumped + 1] = row:sub(1, 49) end -- what follows is text
  local shown = table.concat(dumped):gsub("%s", "")
  tap.is((ours:gsub("[^%x]", "")), shown, ("the same bytes: %d"):format(#shown / 2))
  tap.is(#shown, 600, "all 300 of them")
end

tests["strace: signals"] = function(pair)
  local ours, theirs = both(pair)
  local _, own = ours:gsub("sig=SIGUSR1[,)]", "")
  local _, other = theirs:gsub("%-%-%- SIGUSR1 ", "")
  tap.is(other, 7, "strace sees 7 SIGUSR1")
  tap.is(own, 7, "so does uplua")
end

tests["strace: a process that runs"] = function(pair)
  local run = target.shell(pages.until_attached .. ([[
    set -m
    mkfifo "$D/in"
    perl -e '$| = 1; print "ready\n"; <STDIN>; -e "/nope$_" for 1 .. 23; print "done\n"; <STDIN>' \
      <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    %s 7>&- >"$D/out" 2>"$D/err" & uplua=$!
    until_attached $uplua
    %s 7>&- 2>"$D/strace" & strace=$!
    until grep -q attached "$D/strace"; do kill -0 $strace || exit 97; sleep 0.01; done
    echo x >&7
    until_said done
    kill -INT $strace; wait $strace
    exec 7>&-
    wait $uplua
  ]]):format(pair.ours:gsub("^uplua", "./uplua"):gsub("PID", "$program"), pair.theirs:gsub("PID", "$program")))
  local _, own = run.out:gsub("/nope%d+", "")
  local _, other = neighbour.read "strace":gsub("/nope%d+", "")
  tap.is(own .. " " .. other, "23 23", "both see what it looks for")
end

-- --- gdb: programs of the cookbook ---

-- The text of the cookbook's file NAME.
local function source(name)
  for _, chapter in ipairs(typed.read "doc/cookbook.md") do
    for _, step in ipairs(chapter.steps) do
      if step.file == name then return step.text .. "\n" end
    end
  end
end

-- What gdb prints for the lines COMMANDS, and what uplua prints, each on a run of the program.
local function beside_gdb(pair, commands)
  local run = target.shell(([[
    cat >"$D/balance.c" <<'END'
%sEND
    cat >"$D/throws.cc" <<'END'
%sEND
    cat >"$D/commands" <<'END'
set pagination off
set debuginfod enabled off
%s
END
    top=$PWD
    cd "$D"
    gcc -O1 -g -fno-inline -o balance balance.c && g++ -O1 -g -fno-inline -o throws throws.cc || exit 96
    gdb -nx -q -batch -x commands %s >gdb 2>&1 </dev/null
    PATH=$top:$PATH
    ln -s "$top/scripts" scripts
    %s >out 2>err </dev/null
  ]]):format(source "balance.c", source "throws.cc", commands or pair.theirs .. "\nrun", pair.ours:match "%S+$",
    pair.ours))
  tap.is(run.status, 0, "uplua ends well")
  tap.is(run.err, "", "and has lost nothing")
  return run.out, neighbour.read "gdb"
end

local function count_of(text, pattern) return select(2, text:gsub(pattern, "")) end

if tap.has "gdb" and tap.has("g++", "g++") then
  tests["gdb: a breakpoint that prints and goes on"] = function(pair)
    local ours, theirs = beside_gdb(pair)
    tap.is(count_of(ours, "withdraw 30\n"), 5, "uplua prints 5 lines")
    tap.is(count_of(theirs, "withdraw 30\n"), 5, "so does gdb")
  end

  tests["gdb: how often is a function called?"] = function(pair)
    local ours, theirs = beside_gdb(pair, pair.theirs)
    tap.like(theirs, "breakpoint already hit 23 times", "gdb: 23 times")
    tap.like(ours, "\ndeposit +23\n", "uplua: 23")
  end

  tests["gdb: a condition"] = function(pair)
    local ours, theirs = beside_gdb(pair, pair.theirs .. "\nignore 1 1000\nrun\ninfo breakpoints")
    tap.like(theirs, "breakpoint already hit 5 times", "gdb: 5 times")
    tap.like(ours, "n: 5\n", "uplua: 5")
  end

  -- Both print the program's own line, "2150", too.
  local function same_numbers(count)
    return function(pair)
      local ours, theirs = beside_gdb(pair)
      local own, lines = pages.lines(ours, "^(%d+)$")
      tap.is(own, (pages.lines(theirs, "^(%d+)$")), "the same values")
      tap.is(lines, count + 1, ("which are %d"):format(count))
    end
  end
  tests["gdb: a variable at a line"] = same_numbers(23)
  tests["gdb: who changes a variable?"] = same_numbers(28)

  tests["gdb: what is on the stack?"] = function(pair)
    local ours, theirs = beside_gdb(pair)
    tap.is(count_of(theirs, "\n#1 [^\n]* main "), 5, "gdb: main has called it, 5 times")
    tap.is(count_of(ours, "\n +withdraw%+0x0\n +main%+0x%x+\n"), 5, "uplua: the same")
  end

  tests["gdb: what a function returns"] = function(pair)
    local run = target.shell(([[
      printf '%%s\n' "set pagination off" "set debuginfod enabled off" %s run >"$D/commands"
      gdb -nx -q -batch -x "$D/commands" build/targets/calls >"$D/gdb" 2>&1 </dev/null
      ./%s >"$D/out" 2>"$D/err" </dev/null
    ]]):format((pair.theirs:gsub("parse", "six"):gsub("[^\n]+", "'%0'"):gsub("\n", " ")),
      (pair.ours:gsub("%./app", "./build/targets/calls"):gsub("parse", "six"))))
    tap.like(neighbour.read "gdb", "Value returned is $1 = 21\n", "gdb: the first one, 21, where it stops")
    tap.is(count_of(run.out, "six%([^\n]*%) = 21 %("), 23, "uplua: all 23")
  end

  tests["gdb: system calls, forks, programs that are executed, libraries that are loaded"] = function(pair)
    local lines = {}
    for line in pair.ours:gmatch "[^\n]+" do 
      lines[#lines + 1] = (line:gsub("%-%- %./app", "-- perl " .. target.folder() .. "/program"))
    end
    local run = target.shell(MAKE .. ([[

      export PERL5LIB=/nowhere
      for what in "syscall openat" fork exec load; do
        printf '%%s\n' "set pagination off" "set debuginfod enabled off" "handle SIGUSR1 nostop noprint" "catch $what" \
          "ignore 1 100000" run "info breakpoints"
      done | split -l 7 - "$D/commands"
      for commands in "$D"/commands*; do
        gdb -nx -q -batch -x "$commands" --args perl "$D/program" </dev/null
      done >"$D/gdb" 2>&1
      { ./%s; ./%s; } >"$D/out" 2>"$D/err" </dev/null
    ]]):format(lines[1], lines[2]))
    local hits = {}
    for count in neighbour.read "gdb":gmatch "already hit (%d+) times" do hits[#hits + 1] = tonumber(count) end
    tap.is(count_of(run.out, "openat%(") * 2, hits[1], "openat: gdb stops at the entry and at the return")
    tap.is(count_of(run.out, "sched_process_fork"), hits[2], "fork")
    tap.is(hits[2], 3, "which is 3")
  end

  tests["gdb: which function is at this address?"] = function(pair)
    local run = target.shell(([[
      sleep 600 & program=$!
      sleep 0.2
      address=$(gdb -nx -batch -p $program -ex 'printf "0x%%lx\n", (long)&malloc + 23' 2>/dev/null | grep ^0x)
      gdb -nx -batch -p $program -ex "%s" >"$D/gdb" 2>/dev/null </dev/null
      ./%s >"$D/out" 2>"$D/err"
      kill $program
    ]]):format((pair.theirs:gsub("0x%x+", "$address")), (pair.ours:gsub("PID", "$program"):gsub("0x%x+", "$address"))))
    tap.like(neighbour.read "gdb", "\nmalloc %+ 23 in section %.text", "gdb: malloc + 23")
    tap.like(run.out, "malloc%+0x17", "uplua: the same, in hexadecimal")
  end

  tests["gdb: exceptions"] = function(pair)
    local ours, theirs = beside_gdb(pair, "set breakpoint pending on\n" .. pair.theirs ..
      "\nignore 1 1000\nrun\ninfo breakpoints")
    tap.like(theirs, "already hit 24 times", "gdb: 24 are thrown")
    tap.like(ours, "\n24 hits in 2 stacks", "uplua: 24")
  end
end

pages.test("doc/from-strace-gdb.md", tests)
neighbour.done()
