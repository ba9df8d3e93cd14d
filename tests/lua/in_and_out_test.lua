-- Threads that are traced by turns, by --comm: a call whose return takes something of its entry belongs to what its
-- thread was at the entry, whatever it is called at the return; entries, and returns that stand alone, to what it is
-- then. On a program that changes its name in the middle of calls, and leaves some by longjmp.
local tap    = require "tap"
local target = require "target"
local text   = require "uplua.base.text"
local is, ok = tap.is, tap.ok

local ROUNDS = 23
local PROGRAM = "build/targets/in_and_out"

-- What the script CODE prints of the program, with `work` and `outer` for its functions; the ledger.
local function run(code)
  local r = target.script(([[
    local up = require "uplua"
    local work, outer = "%s:work", "%s:outer"
    local seen = up.count()
    local function print_seen()
      local list = {}
      for key, n in seen:pairs() do list[#list + 1] = ("%%s: %%d"):format((tostring(key):gsub(",", "")), n) end
      table.sort(list)
      print(table.concat(list, ", "))
    end
    up.at_exit(print_seen)
    %s]]):format(PROGRAM, PROGRAM, code), ("-- %s %d"):format(PROGRAM, ROUNDS), "--comm in")
  is(r.status, 0, "status 0" .. (r.status == 0 and "" or ": " .. r.err))
  return r.out:match "[^\n]*", r.err
end

local TWICE = 2 * ROUNDS

-- By the return address.
local out, err = run [[
  up.uretprobe(work, function(e) seen[{ e.arg0, e.ret }]:inc() end)
  up.uretprobe(outer, function(e) seen[{ e.arg0, e.ret }]:inc() end)
]]
is(out, ("1 1: %d, 3 3: %d, 7 16: %d"):format(TWICE, ROUNDS, ROUNDS), "calls that began as 'in', each with its return")
local never = err:match "(%d+) × %S+:work: calls that never returned: left by longjmp" or 0
local ended = err:match "(%d+) × %S+:work: calls that never returned: their threads ended" or 0
is(never + ended, ROUNDS, "those that longjmp has left are in the ledger")
is(select(2, err:gsub("×", "")), ended == 0 and 1 or 2, "and nothing else is")

-- At return instructions.
out, err = run [[
  up.uretprobe(work, { returns = "instructions" }, function(e) seen[{ e.arg0, e.ret }]:inc() end)
  up.uretprobe(outer, { returns = "instructions" }, function(e) seen[{ e.arg0, e.ret }]:inc() end)
]]
is(out, ("1 1: %d, 3 3: %d, 7 16: %d"):format(TWICE, ROUNDS, ROUNDS), "the same at return instructions")
is(tonumber(err:match "(%d+) × %S+:work: calls left by longjmp" or 0), ROUNDS, "what longjmp has left")
is(tonumber(err:match "(%d+) × %S+:work: return of a call whose entry was not seen" or 0), TWICE,
   "calls that began as 'out' and return as 'in' are said")

-- Entries, and returns that take nothing of theirs.
out, err = run [[
  up.uprobe(work, function(e) seen[{ "entry", e.arg0 }]:inc() end)
  up.uretprobe(work, function(e) seen[{ "return", e.ret }]:inc() end)
]]
is(out, ("entry 1: %d, entry 3: %d, entry 5: %d, return 1: %d, return 4: %d, return 6: %d"):format(
   TWICE, ROUNDS, ROUNDS, TWICE, ROUNDS, ROUNDS), "what is no pair counts where it is")
is(err, "", "and nothing is lost")

-- System calls.
for _, spec in ipairs { "prctl", "*" } do
  out, err = run(([[
    up.sysreturn("%s", function(e)
      if e.nr == (jit.arch == "x64" and 157 or 167) then
        seen[{ up.str(e.arg1), e.ret, e.elapsed > 0 and 1 or 0 }]:inc()
      end
    end)
  ]]):format(spec))
  is(out, ("out 0 1: %d"):format(4 * ROUNDS), "system calls that began as 'in': " .. spec)
  is(err, "", "nor is one of these lost")
end

-- taskstate.lua: one row, of what the thread has done as "in".
local began = text.now()
local r = target.uplua(("--comm in scripts/taskstate.lua --state sleeping --format json -- %s %d")
  :format(PROGRAM, ROUNDS))
local times, all = r.out:match '"sleeping times":(%d+)', select(2, r.out:gsub('"sleeping times":', ""))
is(tonumber(times), ROUNDS, "taskstate: it has slept so often as 'in'")
is(all, 1, "and is one row")
local total, longest = r.out:match '"sleeping":(%d+)', r.out:match '"sleeping longest":(%d+)'
ok(tonumber(total) >= 2e6 * ROUNDS, "for so long at least")
ok(r.out:find('"name":"sleeping"[^}]*"times":' .. ROUNDS .. ","), "in all, too")
ok(tonumber(longest) >= 2e6, "the longest")
local sum = 0
for ns in r.out:gmatch '"total":(%d+)' do sum = sum + ns end
ok(sum + 9e6 * ROUNDS <= text.now() - began, "and nothing of what it has done as 'out'")
-- What a thread has begun as "in" is over when it exits, and what a process has allocated is gone when it executes
-- another program, whatever they are called by then.
local EXEC = "build/targets/in_and_exec"
for _, exit in ipairs { "thread", "process" } do
  r = target.script(([[
    local up = require "uplua"
    local begun = require "uplua.span".new {
      from = { "%s:begins", key = function(e) return %s end }, to = { "%s:ends", key = function(e) return e.arg0 end },
      exit = "%s",
    }
    up.at_exit(function() print("exited", begun:counts().exited, #begun:open()) end)
  ]]):format(EXEC, exit == "thread" and "e.tid" or "e.arg0", EXEC, exit), "-- " .. EXEC, "--comm in")
  is(r.out:match "exited[^\n]*", "exited\t4\t0", "spans that threads called 'in' have begun end with the " .. exit)
end
r = target.uplua(("--comm in --format json mallocleak.lua -- %s"):format(EXEC))
is(r.out:match '"blocks":(%d+)', "5", "blocks that execve has taken away are not held")
tap.done_testing()
