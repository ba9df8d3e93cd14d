-- Libraries that the target loads after its probes were declared, and that nothing on the machine tells of before.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local CALLS = 101

-- Copies of the library, at places where nobody looks. Then ./uplua ARGUMENTS on `plugin $D/a/libplugin.so`, which it
-- lets load it; once uplua tells that it is probed, the calls are made. ENDS: how uplua ends.
local function attached(arguments, ends, probes)
  return target.shell(([[
    set -m
    trap 'rm -rf "$D/a"' EXIT
    mkdir "$D/a"
    cp build/targets/libplugin.so "$D/a/"
    mkfifo "$D/in"
    build/targets/plugin "$D/a/libplugin.so" <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    ./uplua --duration 100 %s -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null &
    uplua=$!
    until_traces
    printf x >&7
    await '[ $(grep -c "probed from now on" "$D/err") -ge %d ]' $uplua
    printf x >&7
    until_said called
    %s
    wait $uplua
    status=$?
    exec 7>&-
    wait $program
    exit $status]]):format(arguments, probes or 1, ends or "kill -INT $uplua"))
end

local TRACING = 'after(0, function() io.stderr:write "tracing\\n" end)'

local run = attached(([[-e '
  local calls, sum, returns, named = count(), sum(), sum(), sum()
  uprobe("libplugin:plugged", function(e) calls[e.func]:inc() sum:add(e.arg0) end)
  uretprobe("libplugin:plugged", function(e) if e.arg0 < 23 then returns:add(e.ret) end end)
  uprobe("libplugin:plugged", function(e) named:add(e.args.i) end)
  %s
  at_exit(function() print("seen", calls.plugged, sum:get(), returns:get(), named:get()) end)']]):format(TRACING),
  nil, 3)
is(run.out:match "seen\t([^\n]*)", "101\t5050\t506\t5050",
  "a library that a process loads: each call from when uplua says so")
like(run.err, "^uplua: uprobe libplugin:plugged: process %d+ has no program or library 'libplugin'; " ..
              "did you mean plugin%?\nIt is probed once a library of that name is loaded\n",
     "what is waited for is told at once")
like(run.err,
  "uretprobe libplugin:plugged: process %d+ has loaded %S+/a/libplugin%.so: probed from now on, %S+ ?m?s later\n",
  "and when it has come")
is(run.status, 0, "the run ends well")

run = attached(([[-e '
  local calls, specs, probes = sum(), sum(), count()
  uprobe({ "libplugin:plug*", "libplugin:plugged" }, function(e) calls:add(e.arg0) end)
  probe({ "libplugin:plugged", "libplugin:plugged", "libplugin:plug*" }, function(e)
    specs:add(e.arg0) probes[e.probe]:inc() end)
  %s
  at_exit(function() print("seen", calls:get(), specs:get(), probes["libplugin:plugged"]) end)']]):format(TRACING),
  nil, 5)
is(run.out:match "seen\t([^\n]*)", "5050\t5050\t101",
  "a function that several specs of a list name is probed once, for the first of them")

run = attached(([[-e '
  local calls = sum()
  uprobe({ "libc:free", "libplugin.so:plug*" }, function(e) if e.func == "plugged" then calls:add(e.arg0) end end)
  usdt("libplugin:uplua:plugged", function(e) calls:add(e.arg0) end)
  %s
  at_exit(function() print("seen", calls:get()) end)']]):format(TRACING), "exec 7>&-", 2)
is(run.out:match "seen\t([^\n]*)", "10100", "a pattern among others, and a USDT probe")

-- Where the file is known, nothing is missed.
run = attached(([[-e '
  local calls = count()
  uprobe(arg[1] .. ":plugged", function(e) calls:inc() end)
  %s
  at_exit(function() print("seen", calls:get()) end)' "$D/a/libplugin.so"]]):format(TRACING), nil, 0)
is(run.out:match "seen\t([^\n]*)", "101", "a path is probed before it is loaded")
is(run.err, "tracing\n", "of which nothing has to be told")

-- Processes that are followed bring copies of their own: a file is probed from when the first has loaded it.
run = target.shell(([[
  set -m
  trap 'rm -rf "$D/a"' EXIT
  mkdir "$D/a"
  cp build/targets/libplugin.so "$D/a/"
  mkfifo "$D/in"
  build/targets/plugin "$D/a/libplugin.so" again <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua --duration 100 --follow -e 'local calls = count()
    uprobe("libplugin:plugged", function(e) calls[e.pid]:inc() end)
    %s
    at_exit(function()
      local last = 0
      for pid, n in calls:pairs() do last = math.max(last, n) end
      print("seen", last)
    end)' -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null &
  uplua=$!
  until_traces
  n=0
  more() { [ $(grep -c called "$D/target") -lt $n ] || { n=$((n + 1)); printf x >&7; }; }
  await 'more; grep -q "probed from now on" "$D/err"' $uplua
  n=$((n + 1))
  printf x >&7
  await '[ $(grep -c called "$D/target") -ge $n ]' $program
  exec 7>&-
  wait $uplua
  status=$?
  exit $status]]):format(TRACING))
is(run.out:match "seen\t([^\n]*)", "101", "a library that a followed process loads")

-- The whole machine: processes that start later, with a library that they load, and a semaphore.
local own = { CALLS = target.copy "build/targets/calls", USDT = target.copy "build/targets/usdt",
  LIBRARY = target.copy "build/targets/libplugin.so" }
run = target.shell(([[
  set -m
  ./uplua -e '
    local calls, guarded, plugged = count(), count(), count()
    uprobe("CALLS:negative", function(e) calls:inc() end)
    usdt("USDT:app:guarded", function(e) guarded:inc() end)
    uprobe("LIBRARY:plugged", function(e) plugged:inc() end)
    after(0, function() io.stderr:write "tracing\n" end)
    at_exit(function() print("seen", calls:get(), guarded:get(), plugged:get()) end)' >"$D/out" 2>"$D/err" </dev/null &
  uplua=$!
  until_traces
  CALLS 4; CALLS
  USDT 1 >"$D/target"
  build/targets/plugin LIBRARY now
  cp LIBRARY "$D/copy.so" # which is another file
  build/targets/plugin "$D/copy.so" now
  kill -INT $uplua
  wait $uplua]]):gsub("%u%u%u%u+", own))
is(run.out:match "seen\t([^\n]*)", "505\t101\t101", "processes that start later, and map the file of a probe")
like(run.target, "guarded 101", "the semaphore of a USDT probe is raised in them")

-- What never comes.
run = target.uplua [[-e 'uprobe("libnowhere:fn", function() end)' -- true]]
like(run.err, "uprobe libnowhere:fn: the command has no program or library 'libnowhere'\nIt is probed once",
  "a command's that never comes is told at once")
like(run.err, "uprobe libnowhere:fn: the command never loaded libnowhere\n", "… and at the end")
is(run.status, 1, "which is an error")
is(target.uplua([[-e 'uprobe("libnowhere:fn", function() end)' -- sh -c 'exit 7']]).status, 7,
  "but the command's own status is kept")
run = target.attached("build/targets/family stay",
  ([[-e 'uretprobe("libnowhere:fn", function() end) %s']]):format(TRACING))
like(run.err, "uretprobe libnowhere:fn: process %d+ never loaded libnowhere\n", "a process's")

-- A statically linked command has no library: that is told where it has not executed another program by its end.
local COUNTED = [[-e 'local n = count()
  uprobe({ "libc:malloc", "./build/targets/ticker:step" }, function(e) n[e.func]:inc() end)
  at_exit(function() io.stderr:write(("seen %%d\n"):format(n.step)) end)' %s-- %s]]
local UNUSED = "uplua: uprobe libc:malloc: the command never loaded libc: it is statically linked; " ..
               "its own functions are named by its file, as in %s:main\n"
run = target.uplua(COUNTED:format("", "./build/targets/sites-static"))
is(run.err, "seen 0\n" .. UNUSED:format "sites-static", "a library's functions in a statically linked command")
is(run.status, 0, "… which is no error")
is(target.uplua(COUNTED:format("--follow ", "./build/targets/sites-static")).err, "seen 0\n",
  "--follow: what it starts may have the library")
is(target.uplua(COUNTED:format("", "./build/targets/ticker ticker 23")).err, "seen 23\n",
  "a command that is linked with it")
is(target.uplua(COUNTED:format("", "./build/targets/hostile-static")).err, "seen 0\n",
  "a statically linked one that executes /bin/true, which is")

local function refused(code, rest, want, what)
  run = target.uplua(("-e '%s' %s"):format(code, rest))
  like(run.err, want, what)
  is(run.status, 1, "… with its status")
end
refused('uprobe("libnowhere:fn", function() end)', "", "there is no program or library 'libnowhere'",
  "without a target nobody waits")
refused('uprobe("nowhere:fn", function() end)', "-- true",
  "the command has no program or library 'nowhere'\nname a file", "what is no library's name")
refused('uprobe("libnowhere:fn", function(e) local x = e.nothing end)', "-- true",
  "the event of a uprobe has no field 'nothing'", "a handler that cannot be compiled is told at once")

target.done()
tap.done_testing()
