-- Stacks of commands that are over before anybody could have read their mappings have names, and so have those of files
-- that are deleted then.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local RUNS = tap.fewer(target.has "uprobe_multi" and 20 or 5, 2) -- an attach to each function by itself takes a second

-- The frames of the stacks in TEXT, as mallocleak prints them, without places in the source, and how many of them have
-- no function. A library may have no symbols for its local functions: there its name will do.
local function frames(text)
  local all, unnamed = {}, 0
  for frame in text:gmatch "\n         (%S[^\n]*)" do
    frame = frame:gsub(" %S+:%d+$", "")
    all[#all + 1] = frame
    local named = frame:find "^[%w_]+%+0x%x+$" or frame:find "^[%w_]+ %(inlined%)$"
      or frame:find "^l[id][^ ]*%.so[%d.]*%+0x%x+$"
    if frame:find "unknown" or not named then unnamed = unnamed + 1 end
  end
  return all, unnamed
end

-- True if ERR tells of no loss but one that cannot be ruled out: a stack is taken in code of which the tables do not
-- know yet that it is mapped, and at that very moment another thread of the process is changing its mappings, so that
-- the kernel cannot be asked.
local UNAVOIDABLE = "  [%d,]+ × stack incomplete: a frame's mapping was not known\n"
local function nothing_else_was_lost(err)
  local losses = err:match "not everything was seen:\n(.*)"
  return not losses or losses:gsub(UNAVOIDABLE, "") == ""
end

local function has(list, pattern)
  for _, item in ipairs(list) do
    if item:find(pattern) then return true end
  end
  return false
end

do
  local complete, quiet, unnamed, seen = 0, 0, 0, ""
  for _ = 1, RUNS do
    local run = target.uplua "mallocleak.lua --top 0 -- build/targets/leak"
    local list, without = frames(run.out)
    if has(list, "^leak_small%+") and has(list, "^leak_large_level1%+") and has(list, "^worker%+") then
      complete = complete + 1
    end
    if nothing_else_was_lost(run.err) then quiet = quiet + 1 end
    if run.err:find "not everything" then io.stderr:write("# ", run.err:gsub("\n", "\n# "), "\n") end
    unnamed = unnamed + without
    if without > 0 then seen = run.out end
  end
  is(complete, RUNS, "the functions of a short command are in every report")
  is(unnamed, 0, "and no frame is without a name")
  is(quiet, RUNS, "nothing was lost, but perhaps what the ledger tells of a mapping that was being made")
  if unnamed > 0 then io.stderr:write("# ", seen:gsub("\n", "\n# "), "\n") end
end

do
  local run = target.uplua "mallocleak.lua --top 0 -- build/targets/leak-stripped"
  local list = frames(run.out)
  ok(has(list, "^leak%-stripped%+0x%x+$"), "a stripped program's frames name the file")
  ok(not has(list, "unknown"), "and none is unknown")
end

do
  local run = target.shell [[
    cp build/targets/leak "$D/gone"
    : >"$D/out"
    remove() {
      await 'grep -q ready "$D/out"'
      rm -- "$D/gone"
      printf xx
    }
    ./uplua mallocleak.lua --top 0 -- "$D/gone" wait >"$D/out" 2>"$D/err" < <(remove)
  ]]
  local list, unnamed = frames(run.out)
  ok(has(list, "^leak_large_level2%+"), "a program that was deleted while it ran has names")
  is(unnamed, 0, "all of them")
end

do
  -- Without a target: processes that come and go, and whose program is deleted once both were seen. SIGTERM: jobs of a
  -- script ignore SIGINT.
  local brief = target.copy "build/targets/leak"
  local comm = brief:match "[^/]+$"
  local run = target.shell(([[
    ./uplua -e 's, r = count(), ring()
      uprobe("libc:malloc", function(e)
        if e.arg0 == 10 then
          s[{ e.comm, e:ustack() }]:inc()
          if e.comm == "COMM" then r:emit { pid = e.pid } end
        end
      end)
      local seen = {}
      r:each(function(ev)
        symbol(ev.pid, 0) -- takes in what the kernel has recorded of mappings until now
        if not seen[tonumber(ev.pid)] then print "seen" end
        seen[tonumber(ev.pid)] = true
        io.stdout:flush()
      end)
      after(0, function() print "ready" io.stdout:flush() end)' >"$D/out" 2>"$D/err" </dev/null &
    uplua=$!
    await 'grep -q ready "$D/out"' $uplua
    BRIEF >/dev/null; BRIEF >/dev/null
    await '[ $(grep -c seen "$D/out") = 2 ]' $uplua
    rm BRIEF
    kill -TERM $uplua
    wait $uplua
  ]]):gsub("BRIEF", brief):gsub("COMM", comm))
  comm = comm:gsub("%-", "%%-")
  like(run.out, comm .. "\n%s+malloc%+0x0\n%s+leak_small%+", "without a target, processes that have exited have names")
  ok(not run.out:find(comm .. "\n%s+%[unknown"), "and no stack of theirs is unknown")
end

-- What follows depends on no way to set probes.
if not target.has "uprobe_multi" then
  target.done()
  tap.done_testing()
end

-- What is not recorded of mappings, since the machine makes so many while nobody reads of them, is told where it may be
-- the target's: not before a command begins, nor once all probes are detached.
local MANY = 'os.execute "build/targets/mapper"'
local COUNTED = 'n = count() uprobe("./build/targets/%s:%s", function(e) n[e:ustack()]:inc() end) '
local LOST = "^uplua: not everything was seen:\n  [%d,]+ × mapping not recorded: addresses in it may have no names\n$"

do
  local script =
    (COUNTED ..
    "at_start(function() %s end) at_exit(function() %s for s, v in n:pairs() do print(v, s) end end)"):format("calls",
    "add3", MANY, MANY)
  local run = target.uplua(("-e %s -- build/targets/calls 1"):format(target.quote(script)))
  is(run.err, "", "what others map before a command begins and after the probes are detached is no loss")
  like(run.out, "\n23%s+add3%+0x0\n", "its stacks have names")
  script = (COUNTED .. "at_start(function() %s end) at_exit(function() print(next(n)) end)"):format("ticker", "step",
    MANY)
  run = target.shell(([[
    build/targets/ticker >"$D/target" & program=$!
    until_said ready
    ./uplua --duration 0.01 -e %s -- $program >"$D/out" 2>"$D/err"
    kill $program
  ]]):format(target.quote(script)))
  like(run.err, LOST, "while probes are in a process that runs, it is one")
end

target.done()
tap.done_testing()
