-- Probes as their scripts hold them: detached, attached and given other handlers while the target is told what to do.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local LONG = os.getenv "UPLUA_LONG" -- as many rounds as the manual promises

-- Runs the script TEXT on tests/targets/steps. tell(LINE) has that do what the line says, and returns its answer;
-- begin(FN) calls fn once the probes are attached, and ends the run.
local function run(text)
  return target.shell(([=[
cat >"$D/handles.lua" <<'END'
local up = require "uplua"
local STEP, HOLD, D = "./build/targets/steps:step", "./build/targets/steps:hold", arg[2]
local _, CPUS = io.open("/proc/cpuinfo"):read "*a":gsub("processor%%s*:", "")
local to, from
local function open() to, from = io.open(D .. "/to", "w"), io.open(D .. "/from") end
local function tell(line)
  to:write(line, "\n") to:flush()
  return from:read "*l"
end
local function begin(fn)
  up.after(0, function()
    open()
    local fine, message = pcall(fn)
    if not fine then print("error", message) end
    to:close()
    up.exit()
  end)
end
%s
END
    mkfifo "$D/to" "$D/from"
    ./uplua "$D/handles.lua" %d "$D" -- ./build/targets/steps "$D/to" "$D/from" >"$D/out" 2>"$D/err"
  ]=]):format(text, LONG and 1000 or 23))
end

local REPLACED = "uplua: not everything was seen:\n  %d × uprobe %S+: handler replaced: a hit on each CPU may have " ..
                 "been seen by both handlers, or by none\n$"

-- What a handle says.
local got = run [[
  local other = up.count()
  local p = up.uprobe(STEP, function(e) end)
  local q = up.probe({ "uretprobe:" .. HOLD, STEP }, function(e) other:inc() end)
  print(p)
  print(#up.probes(), up.probes()[1] == p, up.probes()[2] == q, p.hits)
  begin(function()
    tell "23"
    print(p, q)
    local site = p:sites()[1]
    print(site["function"], site.path:match "[^/]*$", site.inside, #q:sites())
    up.uprobe(HOLD, function() end)
  end)
  up.at_exit(function()
    print(p, p.hits, other:get())
    print(pcall(p.detach, p))
    print(pcall(p.replace, p, function() end))
  end)
]]
is(got.status, 0, "the run ends well")
local lines = {}
for line in got.out:gmatch "[^\n]+" do lines[#lines + 1] = line:gsub("%S*/build", "./build") end
is(lines[1], "uprobe ./build/targets/steps:step: 1 site, 0 hits, declared", "a probe says what it is")
is(lines[2], "2\ttrue\ttrue\t0", "the run's probes are listed")
like(lines[3], "^uprobe %S+: 1 site, 23 hits, attached\tprobe %S+, %S+: 2 sites, 23 hits, attached$",
     "… and how often it was hit, a list of specs as one probe")
is(lines[4], "step\tsteps\t0\t2", "sites() says where it stands")
like(lines[5], "1 site, 23 hits, ended\t23\t23$", "after the run the hits can still be read")
like(lines[6], "^false\t.*detach: the run is over, and uprobe %S+ is detached; only its hits can be read$",
     "… and nothing else")
like(lines[7], "^false\t.*replace: the run is over", "no handler is taken any more")
is(got.err, "", "nothing is lost")

-- Detached and attached, while the target waits: exact.
got = run [[
  local n, all = up.count(), up.count()
  local p = up.uprobe(STEP, function(e) n:inc() end)
  local r = up.uretprobe(STEP, function(e) if e.arg1 >= 0 then n:inc() end end)
  local o = up.uprobe(STEP, function(e) all:inc() end)
  begin(function()
    for i = 1, arg[1] do
      for _, one in ipairs { p, r } do
        local before = n:get()
        one:detach():detach()
        tell "101"
        if n:get() - before ~= 101 then print("detached", i, n:get() - before) end
        before = n:get()
        one:attach():attach()
        tell "23"
        if n:get() - before ~= 46 then print("attached", i, n:get() - before) end
      end
      if i == 23 then break end
    end
    print(p.hits + r.hits == n:get(), all:get(), o.hits)
  end)
]]
is(got.out, ("true\t%d\t%d\n"):format(23 * 2 * 124, 23 * 2 * 124),
   "a detached probe counts nothing, an attached one all, and the others go on")
is(got.err, "", "nothing is lost")

-- The same under load: an attached probe misses none of a thread's calls. Each gap is a time of being detached.
got = run [[
  local last, gaps = up.hash(), up.count()
  local p = up.uprobe(STEP, function(e)
    local before = last[e.arg0]
    if before and before + 1 ~= e.arg1 then gaps:inc() end
    last[e.arg0] = e.arg1
  end)
  begin(function()
    tell "run"
    local while_detached = 0
    for i = 1, arg[1] do
      p:detach()
      local hits = p.hits
      for _ = 1, 10000 do end
      while_detached = while_detached + p.hits - hits
      p:attach()
    end
    local total = tonumber(tell "stop")
    print(while_detached, gaps:get() <= 2 * arg[1], p.hits > 0, p.hits < total)
  end)
]]
is(got.out, "0\ttrue\ttrue\ttrue\n", "under load a detached probe counts nothing, an attached one all")
is(got.err, "", "nothing is lost")

-- Handlers replaced under load: each hit is seen by one, but for one on each CPU.
got = run [[
  local a, b = up.count(), up.count()
  local function one(e) a:inc() end
  local function two(e) b:inc() end
  local p = up.uprobe(STEP, one)
  begin(function()
    tell "run"
    for i = 1, arg[1] do p:replace(i % 2 == 0 and one or two) end
    local total = tonumber(tell "stop")
    local off = math.abs(a:get() + b:get() - total)
    print(off <= arg[1] * CPUS, a:get() + b:get() == p.hits, a:get() > 0, b:get() > 0)
    print(tostring(p):match "attached$")
  end)
]]
is(got.out, "true\ttrue\ttrue\ttrue\nattached\n", "under load each hit is seen by one of the handlers")
like(got.err, (REPLACED:gsub("%%d", LONG and "1,000" or "23")), "the end says how often the handler was replaced")

-- While the target waits nothing is seen twice or not at all, whatever kind of probe it is.
got = run [[
  local seen = up.count()
  local function handler(name) return function(e) seen[name]:inc() end end
  local function of_return(name) return function(e) if e.arg0 == 0 then seen[name]:inc() end end end
  local probes = {
    { up.uprobe(STEP, handler "a"), handler }, { up.uretprobe(STEP, of_return "a"), of_return },
    { up.syscall("getppid", handler "a"), handler },
    { up.uretprobe(STEP, handler "a"), handler },
  }
  begin(function()
    for i, one in ipairs(probes) do
      local name = "b" .. i
      one[1]:replace(one[2](name))
      tell "23"
      print(i, one[1].hits, seen[name])
    end
  end)
]]
is(got.out, "1\t23\t23\n2\t46\t23\n3\t0\t0\n4\t92\t23\n", "while the target waits each hit is seen once")

-- A call that is open returns under the handler that saw its entry.
got = run [[
  local old, new = up.count(), up.count()
  local p = up.uretprobe(HOLD, function(e) if e.arg0 == 23 then old:inc() end end)
  begin(function()
    tell "hold"
    p:replace(function(e) if e.arg0 == 23 then new:inc() end end)
    tell "return"
    print(old:get(), new:get(), p.hits)
    tell "hold" tell "return"
    print(old:get(), new:get(), p.hits)
  end)
]]
is(got.out, "1\t0\t1\n1\t1\t2\n", "a call returns under the handler of its entry")

-- … and is given up after a second; a detached probe sees no return.
got = run [[
  local old, new = up.count(), up.count()
  local p = up.uretprobe(HOLD, function(e) if e.arg0 == 23 then old:inc() end end)
  up.every("10ms", function() end)
  local function later()
    tell "return"
    print(old:get(), new:get(), p.hits)
    tell "hold"
    p:detach()
    tell "return"
    print(old:get(), new:get(), p.hits)
    p:attach()
    tell "hold" tell "return"
    print(old:get(), new:get(), p.hits)
    to:close()
    up.exit()
  end
  up.after(0, function()
    open()
    tell "hold"
    p:replace(function(e) if e.arg0 == 23 then new:inc() end end)
    up.after("1500ms", later)
  end)
]]
is(got.out, "0\t0\t0\n0\t0\t0\n0\t1\t1\n", "a second later it is not waited for, and a detached probe sees no return")
like(got.err, "1 × uretprobe %S+: calls that were open a second after their handler was replaced or detached: " ..
              "return not seen", "which is counted")

-- What does not fit is refused, and the old handler stays.
got = run [[
  local m, n = up.hash(), up.count()
  local p = up.uprobe(STEP, function(e) m[e.tid] = e.arg1 n:inc() end)
  begin(function()
    print(select(2, pcall(p.replace, p, function(e) m[e.comm] = 1 end)))
    print(select(2, pcall(p.replace, p, print)))
    print(select(2, pcall(p.replace, p, 23)))
    print(select(2, pcall(p.replace, p, function(e) n:inc() return e.nothing end)))
    print(select(2, pcall(p.detach)))
    tell "23"
    print(n:get(), p)
  end)
]]
lines = {}
for line in got.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
like(got.out, "^%S*handles.lua:%d+: .-'m'", "a handler that uses a map in another way is refused")
like(got.out, "\n%S*replace: the handler must be written in Lua", "a function of C is")
like(got.out, "\n%S*replace: the argument is the handler, a function\n", "no function is")
like(got.out, "nothing", "a handler that does not compile is")
like(got.out, "\n%S*detach: this is no probe: write p:detach%(%), with a colon\n", "a method without its probe is")
like(got.out, "\n23\tuprobe %S+: 1 site, 23 hits, attached\n$", "the old handler stays")
is(got.err, "", "and nothing is said to be lost")

-- Before the run has begun, and what a probe that is asleep gets.
got = run [[
  local a, b = up.count(), up.count()
  local p = up.uprobe(STEP, function(e) a:inc() end)
  local q = up.uprobe(STEP, function(e) a:inc() end):detach()
  p:replace(function(e) b:inc() end)
  begin(function()
    tell "23"
    print(a:get(), b:get(), p, q.hits, tostring(q):match "%w+$")
    q:replace(function(e) b:inc() b:inc() end)
    tell "23"
    q:attach()
    tell "23"
    print(a:get(), b:get(), q.hits)
  end)
]]
like(got.out, "^0\t23\tuprobe %S+: 1 site, 23 hits, attached\t0\tdetached\n0\t115\t23\n$",
     "handlers are replaced, and probes detached, before the run begins")
is(got.err, "", "nothing is lost")

-- --- what is no field ---

got = run [[
  local n = up.count()
  local p = up.uprobe(STEP, function(e) n:inc() end)
  begin(function()
    print(pcall(function() p.hits = 7 end))
    print(pcall(function() return p.hit end))
    print(pcall(function() p:dettach() end))
    tell "23"
    print(p.hits == n:get(), p.hits)
  end)
]]
like(got.out, "^false\t%S+ a probe's 'hits' cannot be set.*false\t%S+ a probe has no 'hit'; did you mean 'hits'%?\n" ..
     "false\t%S+ a probe has no 'dettach'; did you mean 'detach'%?\ntrue\t23\n$",
     "misspelled fields, and those that are set")

-- A probe that waits for the command's first instruction, detached before that.
got = run [[
  local n, m = up.count(), up.count()
  local p = up.interval("10ms", function(e) n:inc() end)
  local q = up.profile(99, function(e) m:inc() end)
  up.at_start(function() p:detach() q:detach() end)
  begin(function()
    os.execute "sleep 0.1"
    print(n:get(), m:get(), p.hits, q.hits, tostring(q):match "%w+$")
    p:attach() q:attach()
    package.path = package.path .. ";tests/lua/?.lua"
    require("target").await("ticks", function() return p.hits > 3 end)
    p:detach()
    print(p.hits == n:get() and n:get() > 3, tostring(q):match "%w+$")
  end)
]]
is(got.out:gsub("^%d+\t0\t%d+", "N\t0\tN"), "N\t0\tN\t0\tdetached\ntrue\tattached\n",
   "what waits for a command is not attached once it was detached")

tap.done_testing()
