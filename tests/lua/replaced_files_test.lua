-- Files that are replaced or written to while, or before, they are probed: it is the file that the target has mapped
-- that is probed, and what that does not see is told.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local LIBRARY, OTHER, PROGRAM = "build/targets/libplugin.so", "build/targets/libshim.so", "build/targets/family"
local CODE = [[-e 'local calls, returns, probes = count(), count(), count()
  uprobe("%s:plugged", function(e) calls:inc() end)
  uretprobe("%s:plugged", function(e) if e.ret == 2 * e.arg0 then returns:inc() end end)
  usdt("%s:uplua:plugged", function(e) probes:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function() print("seen", calls:get(), returns:get(), probes:get()) end)']]

-- uplua on a process that has loaded the library $D/a/libplugin.so, to which BEFORE and, once it is traced, AFTER
-- happen before it calls it.
local function loaded(before, what, after, options)
  return target.shell(([[
    set -m
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/libplugin.so"
    cp %s "$D/a/other.so"
    mkfifo "$D/in"
    build/targets/plugin "$D/a/libplugin.so" <"$D/in" >"$D/target" & program=$!
    exec 7>"$D/in"
    until_said ready
    printf x >&7
    until_said loaded
    %s
    ./uplua %s %s -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
    until_traces
    %s
    printf x >&7
    until_said called
    kill -INT $uplua
    wait $uplua
    status=$?
    exec 7>&-
    wait $program
    exit $status]]):format(LIBRARY, OTHER, before or "", options or "", CODE:gsub("%%s", what), after or ""))
end

local REPLACE, REMOVE = 'mv "$D/a/other.so" "$D/a/libplugin.so"', 'rm "$D/a/libplugin.so"'
for _, case in ipairs {
  { REPLACE, "libplugin", nil, "a library that was replaced since it was loaded: the one that is mapped is probed" },
  { REPLACE, "'\"$D\"'/a/libplugin.so", nil, "… also by its path" },
  { REMOVE, "libplugin", nil, "one that was deleted" },
  { nil, "libplugin", REPLACE, "one that is replaced while it is probed" },
  { nil, "libplugin", REMOVE, "… or deleted" },
} do
  local run = loaded(case[1], case[2], case[3])
  is(run.out, "seen\t101\t101\t101\n", case[4])
  is(run.err, "tracing\n", "… and nothing has to be told of it")
end

-- A byte behind all that is mapped. What is told is waited for: the target goes on, and uplua ends, only then.
local TOLD = [[; await 'grep -q "while it was probed" "$D/err"' $uplua]]
local WRITTEN = "tracing\nuplua: libplugin.so was written to while it was probed: " ..
                "the probes may stand on other code now, which can harm processes that have it mapped: restart them\n"
local WARNED = "tracing\nuplua: program was replaced by another file while it was probed: " ..
               "processes that start after that run the other one, and are not seen\n"
local run = loaded(nil, "libplugin", 'printf x >>"$D/a/libplugin.so"' .. TOLD)
is(run.out, "seen\t101\t101\t101\n", "one that is written to")
is((run.err:gsub("/%S*/a/", "")), WRITTEN, "… which is told at once, and once")
run = loaded(nil, "libplugin", 'chmod 700 "$D/a/libplugin.so"; printf x >>"$D/a/libplugin.so"' .. TOLD)
is((run.err:gsub("/%S*/a/", "")), WRITTEN, "… also where something else was done to it before")

-- With --follow another process may map the new one, which is probed then where the library has been named, not its
-- file.
run = loaded(nil, "libplugin", REPLACE, "--follow")
is(run.err, "tracing\n", "--follow: a library that is replaced, and of which a copy would be probed")
run = loaded(nil, "'\"$D\"'/a/libplugin.so", REPLACE .. TOLD, "--follow")
is((run.err:gsub("/%S*/a/", "")), (WARNED:gsub("program", "libplugin.so")), "… one that is named by its path")

-- A program in the whole machine, and one that is followed, which is replaced: what is started then is another program.
local HITS = [[-e 'local hits = count()
  uprobe("'"$D"'/a/program:hit", function(e) hits:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function() print("seen", hits:get()) end)']]
local function replaced(options, start, replace)
  return target.shell(([[
    set -m
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/program"
    cp %s "$D/a/other"
    mkfifo "$D/in"
    %s
    ./uplua %s %s >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
    until_traces
    run hits
    %s
    run hits
    kill -INT $uplua
    wait $uplua]]):format(PROGRAM, PROGRAM, start, options:gsub("HITS", function() return HITS end), "", replace))
end
local MOVE = 'mv "$D/a/other" "$D/a/program"' .. TOLD
for _, case in ipairs {
  { MOVE, "a program until it is replaced" },
  { 'rm "$D/a/program"; mv "$D/a/other" "$D/a/program"', "… until it is removed and made again" },
} do
  run = replaced("HITS", [[run() { "$D/a/program" "$@"; }]], case[1])
  is(run.out, "seen\t101\n", "the whole machine: " .. case[2])
  is((run.err:gsub("/%S*/a/", "")), WARNED, "… which is told")
end
run = replaced("--follow HITS -- $shell", [[
  # a shell that starts what it is told to
  (while read -r word; do "$D/a/program" $word; echo ran; done) <"$D/in" >"$D/target" & shell=$!
  exec 7>"$D/in"
  ran=0
  run() { echo "$1" >&7; ran=$((ran + 1)); await '[ "$(wc -l <"$D/target")" = $ran ]' $shell; }]], MOVE)
is(run.out, "seen\t101\n", "--follow: a program until it is replaced")
is((run.err:gsub("/%S*/a/", "")), WARNED, "… which is told")

-- Between the moment at which its sites are found and that at which the kernel is given its path.
local function meanwhile(declare, change)
  return target.shell(([[
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/libplugin.so"
    cp %s "$D/a/other.so"
    ./uplua -e '%s os.execute [=[%s]=]' >"$D/out" 2>"$D/err" </dev/null]]):format(LIBRARY, LIBRARY, declare, change))
end
for declare, what in pairs {
  ['uprobe("\'"$D"\'/a/libplugin.so:plugged", function(e) end)'] = "uprobe",
  ['uretprobe("\'"$D"\'/a/libplugin.so:plugged", function(e) end)'] = "uretprobe",
  ['usdt("\'"$D"\'/a/libplugin.so:uplua:plugged", function(e) end)'] = "usdt",
} do
  local name = what == "usdt" and "uplua:plugged" or "plugged"
  run = meanwhile(declare, REPLACE)
  is((run.err:gsub("/%S*/a/", "")), ("uplua: %s cannot attach to %s: libplugin.so was replaced by another file " ..
                                     "while the probes were being set; run uplua again\n"):format(what,
     name), what .. ": a file that is replaced while the probes are being set")
  is(run.status, 1, "… is an error")
  -- The same bytes, but for one that nobody reads, and as many.
  run = meanwhile(declare, 'printf x | dd of="$D/a/libplugin.so" bs=1 seek=15 conv=notrunc status=none')
  is((run.err:gsub("/%S*/a/", "")), ("uplua: %s cannot attach to %s: libplugin.so was written to while the probes " ..
                                     "were being set, which could stand in the middle of " ..
     "instructions now; run uplua again\n"):format(what, name), what .. ": one that is written to")
  is(run.status, 1, "… is an error")
end

local separate = target.shell "unshare -m true" -- fails in a chroot, where / is no mount point

-- /proc/PID/exe opens the program that runs, whatever its name leads to by now: in the whole machine and of that
-- process.
for _, case in ipairs {
  { 'rm "$D/a/program"', "that was deleted" },
  { 'mv "$D/a/other" "$D/a/program"', "that was replaced" },
  { "", "of another mount namespace", 'unshare -m sh -c \'mount -t tmpfs none "$D/a" && cp build/targets/sites ' ..
                                      '"$D/a/program" && exec "$D/a/program" wait\'' },
} do
  local possible = not case[3] or separate.status == 0
  if not possible then tap.skip("no mount namespace can be made here: " .. separate.noise) end
  for _, of in ipairs(possible and { "", "-- $program" } or {}) do
    run = target.shell(([[
      set -m
      export D
      mkdir -p "$D/a"
      trap 'rm -rf "$D/a"' EXIT
      cp %s "$D/a/program"
      cp %s "$D/a/other"
      mkfifo "$D/in"
      %s <"$D/in" >"$D/target" & program=$!
      exec 7>"$D/in"
      until_said ready
      %s
      ./uplua -e 'local calls, returns = count(), count()
        uprobe("/proc/'$program'/exe:plain", function(e) calls:inc() end)
        uretprobe("/proc/'$program'/exe:plain", function(e) returns:inc() end)
        after(0, function() io.stderr:write "tracing\n" end)
        at_exit(function() print("seen", calls:get(), returns:get())
          end)' %s >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
      until_traces
      printf x >&7
      wait $program
      kill -INT $uplua
      wait $uplua]]):format(case[3] and PROGRAM or "build/targets/sites", PROGRAM,
                            case[3] or '"$D/a/program" wait', case[1], of))
    is(run.out, "seen\t101\t101\n", "/proc/PID/exe " .. of .. ": a program " .. case[2])
    is(run.err, "tracing\n", "… and nothing has to be told of it")
  end
end

target.done()
tap.done_testing()
