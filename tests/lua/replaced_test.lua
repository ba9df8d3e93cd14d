-- Files that are replaced or written to while, or before, they are probed: it is the file that the target has mapped that is probed, and what that
-- does not see is told.
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

-- uplua on a process that has loaded the library $D/a/libplugin.so, to which BEFORE and, once it is traced, AFTER happen before it calls it.
local function loaded(before, what, after)
  return target.shell(([[
    set -m
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/libplugin.so"
    cp %s "$D/a/other.so"
    mkfifo "$D/in"
    build/targets/plugin "$D/a/libplugin.so" <"$D/in" >"$D/target" & program=$!
    exec 7>"$D/in"
    until grep -q ready "$D/target"; do kill -0 $program || exit 99; sleep 0.01; done
    printf x >&7
    until grep -q loaded "$D/target"; do kill -0 $program || exit 99; sleep 0.01; done
    %s
    ./uplua %s -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
    until grep -q tracing "$D/err"; do kill -0 $uplua || exit 98; sleep 0.01; done
    %s
    printf x >&7
    until grep -q called "$D/target"; do kill -0 $program || exit 99; sleep 0.01; done
    kill -INT $uplua
    wait $uplua
    status=$?
    exec 7>&-
    wait $program
    exit $status]]):format(LIBRARY, OTHER, before or "", CODE:gsub("%%s", what), after or ""))
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

-- A byte behind all that is mapped.
local run = loaded(nil, "libplugin", 'printf x >>"$D/a/libplugin.so"')
is(run.out, "seen\t101\t101\t101\n", "one that is written to")
is((run.err:gsub("/%S*/a/", "")), "tracing\nuplua: libplugin.so was written to while it was probed: its code may have moved away from under the probes, which can harm " ..
   "what has it mapped: restart that\n", "… which is told, once")

-- A program in the whole machine, and one that is followed, which is replaced: what is started then is another program.
local HITS = [[-e 'local hits = count()
  uprobe("'"$D"'/a/program:hit", function(e) hits:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function() print("seen", hits:get()) end)']]
local WARNED = "tracing\nuplua: program was replaced by another file while it was probed: what has been started since runs that one, and was not seen\n"
local function replaced(options, start)
  return target.shell(([[
    set -m
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/program"
    cp %s "$D/a/other"
    mkfifo "$D/in"
    %s
    ./uplua %s %s >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
    until grep -q tracing "$D/err"; do kill -0 $uplua || exit 98; sleep 0.01; done
    run hits
    mv "$D/a/other" "$D/a/program"
    run hits
    kill -INT $uplua
    wait $uplua]]):format(PROGRAM, PROGRAM, start, options:gsub("HITS", function() return HITS end), ""))
end
run = replaced("HITS", [[run() { "$D/a/program" "$@"; }]])
is(run.out, "seen\t101\n", "the whole machine: a program until it is replaced")
is((run.err:gsub("/%S*/a/", "")), WARNED, "… which is told")
run = replaced("--follow HITS -- $shell", [[
  # a shell that starts what it is told to
  (while read -r word; do "$D/a/program" $word; echo ran; done) <"$D/in" >"$D/target" & shell=$!
  exec 7>"$D/in"
  ran=0
  run() { echo "$1" >&7; ran=$((ran + 1)); until [ "$(wc -l <"$D/target")" = $ran ]; do kill -0 $shell || exit 97; sleep 0.01; done; }]])
is(run.out, "seen\t101\n", "--follow: a program until it is replaced")
is((run.err:gsub("/%S*/a/", "")), WARNED, "… which is told")

-- Between the moment at which its sites are found and that at which the kernel is given its path.
local function meanwhile(declare)
  return target.shell(([[
    mkdir -p "$D/a"
    trap 'rm -rf "$D/a"' EXIT
    cp %s "$D/a/libplugin.so"
    cp %s "$D/a/other.so"
    ./uplua -e '%s os.execute [=[mv "$D/a/other.so" "$D/a/libplugin.so"]=]' >"$D/out" 2>"$D/err" </dev/null]]):format(LIBRARY, LIBRARY, declare))
end
for declare, what in pairs {
  ['uprobe("\'"$D"\'/a/libplugin.so:plugged", function(e) end)'] = "uprobe",
  ['uretprobe("\'"$D"\'/a/libplugin.so:plugged", function(e) end)'] = "uretprobe",
  ['usdt("\'"$D"\'/a/libplugin.so:uplua:plugged", function(e) end)'] = "usdt",
} do
  run = meanwhile(declare)
  is((run.err:gsub("/%S*/a/", "")), ("uplua: %s cannot attach to %s: libplugin.so was replaced by another file while the probes were being set; run uplua again\n"):format(what,
     what == "usdt" and "uplua:plugged" or "plugged"), what .. ": a file that is replaced while the probes are being set")
  is(run.status, 1, "… is an error")
end

target.done()
tap.done_testing()
