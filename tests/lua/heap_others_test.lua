-- Proofs of processes that others have a hand in: one that a tracer has attached to, one in namespaces of its own, as
-- containers are, and one that uplua has no right to read.
local reach  = require "reach"
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- mallocleak.lua OPTIONS on `reach list`, started by BEFORE, and with DURING begun once that waits; AS runs uplua.
local function run(options, before, during, as)
  local r = target.shell(([[
    set -m
    mkfifo "$D/in"
    %s build/targets/reach list <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    for child in $(cat /proc/$program/task/*/children); do program=$child; done # of unshare --fork
    %s
    %s ./uplua mallocleak.lua --top 0 %s -- $program >"$D/out" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces_or_ends
    printf x >&7
    until_said lost
    kill -INT $uplua
    wait $uplua
    echo $? >"$D/status"
    [ -z "$tracer" ] || { kill $tracer; wait $tracer; }
    printf x >&7
    await_end $program
  ]]):format(before or "", during or "", as or "", options))
  r.uplua_status = tonumber(target.read(target.folder() .. "/status"))
  return r, reach.truth(r)
end

if tap.has "strace" then
  local ATTACH = [[
    strace -f -o /dev/null -p $program 2>"$D/noise" 7>&- &
    tracer=$!
    await 'grep -q "^TracerPid:.*[1-9]" /proc/$program/status' $tracer
  ]]
  local r, truth = run("--prove", "", ATTACH)
  is(reach.proven(r), truth.lost, "beside a tracer: all that is lost is proven")
  is(truth.used, truth.kept, "… and the program goes on")
  r, truth = run("--stop=20s", "", ATTACH)
  like(r.out, "\n   process %d+ cannot be stopped: [^\n]*\n", "beside a tracer: it is said that it cannot be stopped")
  is(reach.proven(r), truth.lost, "… and passes prove it all the same")
  is(truth.used, truth.kept, "… and the program goes on")
end

if tap.has("unshare", "util-linux") then
  for _, how in ipairs { "--prove", "--stop=20s" } do
    local r, truth = run(how, "unshare --pid --mount --uts --ipc --net --fork --mount-proc")
    is(reach.proven(r), truth.lost, "in a container, " .. how .. ": all that is lost is proven")
    is(truth.used, truth.kept, "… and the program goes on")
  end
end

if tap.has("setpriv", "util-linux") then
  local r = run("--prove", "", "", "setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace")
  like(r.out .. r.err, "CAP_SYS_PTRACE", "without the right to read it: what is missing is named")
  is(reach.proven(r), "none", "… and nothing is proven")
end

target.done()
tap.done_testing()
