-- Programs that run a translation of other programs' code, valgrind and its like: a probe would end their process. It
-- is refused before it is set, with the process, why, and what to do; the process goes on.
local tap    = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local SCRIPT = [[-e 'n = count() uprobe("./build/targets/rr_page:turn", function() n:inc() end)
  at_start(function() io.stderr:write "tracing\n" end)']]

-- Attaches to COMMAND, which says "ready" and then turns for each byte, and lets it turn.
local function attached(command, before)
  return target.shell(([[
    set -m
    mkfifo "$D/in"
    %s
    %s <"$D/in" >"$D/target" 2>"$D/noise" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    ./uplua %s -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces_or_ends
    printf x >&7
    await '[ $(wc -l <"$D/target") -gt 1 ]'
    kill -INT $uplua 2>/dev/null
    wait $uplua
    status=$?
    exec 7>&-
    wait $program || echo "ended with $?" >>"$D/target"
    rm -rf "$D/valgrind" "$D/tools"
    exit $status
  ]]):format(before or "", command, SCRIPT))
end

local RUNS = "^uplua: uprobe cannot attach to turn in %S*rr_page: process %d+ %(([^)\n]*)%) runs under (%w+), "
  .. "which would take a probe for an instruction of the program's and end it with SIGTRAP; "
  .. "run it without %w+, or trace what needs no "
  .. "change of its code: system calls, tracepoints, samples\n"

local function is_refused(run, name, what)
  is(run.status, 1, what .. ": exit status")
  local process, by = run.err:match(RUNS)
  is(by or run.err, name, what .. ": the message")
  ok(process and #process > 0, what .. ": names the process")
  like(run.target, "^[^\n]*ready %d+\nturned\n$", what .. ": the process goes on")
end

-- A process with a page like rr's, or with a library of its name; and one with neither.
is_refused(attached "build/targets/rr_page", "rr", "a page of rr's")
is_refused(attached("env LD_PRELOAD=$D/librrpreload.so build/targets/rr_page elsewhere",
  'cp build/targets/libplugin.so "$D/librrpreload.so"'), "rr", "a library of rr's")
local run = attached "build/targets/rr_page elsewhere"
like(run.out, "n: 23\n", "without: it is probed")

-- Programs of the names that qemu's and valgrind's have; and of names that are nearly so.
for _, case in ipairs {
  { "qemu-aarch64-static", "qemu" }, { "qemu-x86_64", "qemu" }, { "qemu-img" }, { "qemu-x86_64-other" },
  { "valgrind/memcheck-amd64-linux", "valgrind" }, { "tools/shop-amd64-linux" },
} do
  run = attached(('"$D/%s" elsewhere'):format(case[1]),
    ('mkdir "$D/valgrind" "$D/tools"; cp build/targets/rr_page "$D/%s"'):format(case[1]))
  if case[2] then
    is_refused(run, case[2], case[1])
  else
    -- The program is a copy of the file that is probed, which the end of the run says.
    like(run.err, "^tracing\nuplua: uprobe [^\n]*: no hit; the target has a turn elsewhere, too: [^\n]*\n$",
      case[1] .. ": is not refused")
  end
end

-- A command is refused by what it is, and not begun.
run = target.shell([[
  mkdir "$D/bin"
  printf '#!/bin/sh\necho begun\n' >"$D/bin/valgrind"
  chmod +x "$D/bin/valgrind"
  ./uplua ]] .. SCRIPT .. [[ -- "$D/bin/valgrind" true >"$D/out" 2>"$D/err"
  status=$?
  rm -r "$D/bin"
  exit $status
]])
is(run.status .. run.out:match "^%s*(.-)%s*$", "1", "a command is not begun")
like(run.err, "cannot attach to turn in %S*rr_page: the command runs under valgrind, which ", "… and why is said")

-- Machine-wide probes would end it, too, in a file that it maps.
run = target.shell([[
  mkfifo "$D/in"
  cp build/targets/rr_page "$D/qemu-riscv64"
  "$D/qemu-riscv64" elsewhere <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua --duration 0.1s -e 'uprobe("'"$D"'/qemu-riscv64:turn", function() end)' >"$D/out" 2>"$D/err" 7>&-
  status=$?
  exec 7>&-
  wait $program
  exit $status
]])
is(run.status, 1, "machine-wide: exit status")
like(run.err, "process %d+ %(qemu%-riscv64%) runs under qemu, .* samples; or give the PIDs of others\n", "… and why")

-- The real one.
if tap.has "valgrind" then
  run = attached "valgrind -q --tool=none build/targets/rr_page elsewhere"
  is_refused(run, "valgrind", "valgrind")
  run = target.uplua "mallocleak.lua -- valgrind -q --tool=none true"
  is(run.status, 1, "a command under valgrind")
  like(run.err, "the command runs under valgrind", "… and why")
end
target.done()
tap.done_testing()
