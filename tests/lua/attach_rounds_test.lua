-- Probes of each kind are detached and attached again and again, while sixteen threads pass them: the program never
-- ends by a signal, and computes what it does without. With UPLUA_LONG in the environment, 200 rounds of each kind.
local tap    = require "tap"
local target = require "target"

if not os.getenv "UPLUA_LONG" then tap.skip_rest "it takes minutes: make test-long" end

local ROUNDS = tonumber(os.getenv "ROUNDS") or 200
local CROWD = "./build/targets/crowd"
local KINDS = {
  { "uprobe", 'uprobe("%s:deed", HANDLER)' },
  { "uprobe at the entry", 'uprobe("%s:deep", { slide = false }, HANDLER)' },
  { "uretprobe", 'uretprobe("%s:deed", HANDLER)' },
  { "uretprobe of a function that calls itself", 'uretprobe("%s:deep", HANDLER)' },
  { "uretprobe at return instructions", 'uretprobe("%s:deep", { returns = "instructions" }, HANDLER)' },
  { "uprobe of libc", 'uprobe("libc:getppid", HANDLER)' },
  { "usdt", 'usdt("%s:app:deed", HANDLER)' },
  { "usdt with a semaphore", 'usdt("%s:app:guarded", HANDLER)' },
  { "uprobe with stacks", 'uprobe("%s:deep", function(e) n[e:ustack()]:inc() end)' },
  { "syscall", 'syscall("getppid", HANDLER)' },
  { "sysreturn", 'sysreturn("getppid", HANDLER)' },
  { "tracepoint", 'tracepoint("sched:sched_switch", HANDLER)' },
  { "raw_tracepoint", 'raw_tracepoint("sched_switch", HANDLER)' },
  { "profile", "profile(499, HANDLER)" },
  { "perf", 'perf("context-switches", 1, HANDLER)' },
  { "kprobe", 'kprobe("__x64_sys_getppid", HANDLER)', target.has "kprobe" },
  { "watch", 'watch("%s:watched", "w", HANDLER)', target.watches() },
}

local SCRIPT = [[
n = count()
local p = %s
local left = 2 * %d
every("1ms", function()
  left = left - 1
  if left %% 2 == 1 then p:detach() else p:attach() end
  if left == 0 then exit(0) end
end)
at_exit(function() io.stderr:write(p.hits > 0 and "hit\n" or "never hit\n") end)]]

local lines = { [[
  mkfifo "$D/in"
  exec 7<>"$D/in"
  ]] .. CROWD .. [[ 16 <"$D/in" 7>&- >"$D/target" & program=$!
  until_said ready
]] }
for i, kind in ipairs(KINDS) do
  if kind[3] ~= false then
    local script = SCRIPT:format(kind[2]:gsub("HANDLER", "function(e) n:inc() end"):format(CROWD), ROUNDS)
    lines[#lines + 1] = ("./uplua -e %s -- $program >/dev/null 2>\"$D/err-%d\"; echo \"$?\" >>\"$D/err-%d\"\n")
      :format(target.quote(script), i, i)
  end
end
lines[#lines + 1] = [[
  kill -0 $program && echo there >"$D/out"
  exec 7>&-
  wait $program]]
local run = target.shell(table.concat(lines))
for i, kind in ipairs(KINDS) do
  if kind[3] ~= false then
    local said = target.read(("%s/err-%d"):format(target.folder(), i)):gsub("uplua: not everything was seen:\n.*\n", "")
    tap.is(said, "hit\n0\n", ("%s: %d rounds"):format(kind[1], ROUNDS))
  end
end
tap.is(run.out, "there\n", "the program runs on")
tap.like(run.target, "^ready %d+\nright\n$", "… and has computed what it should")
tap.is(run.status, 0, "… and ends by itself")

target.done()
tap.done_testing()
