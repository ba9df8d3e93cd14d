-- explain(p), bt(p) and live(value) at the prompt: closer looks at a probe and at values.
local core     = require "uplua.core"
local loop     = require "uplua.base.loop"
local run      = require "uplua.base.run"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"
local value    = require "uplua.prompt.value"

local look = {}

local NAMED    = 1e8   -- ns until what a process has mapped is known, by which its stacks are walked and named
local PATIENCE = "10s" -- for which bt waits for a first hit

local own = run.part(function()
  return {
    fn = nil,    -- gives the text that is live; nil: nothing is
    timer = nil,
    rows = 0,    -- of the terminal, that it takes
    armed = setmetatable({}, { __mode = "k" }), -- probe → { kept, original, handler }: those whose stacks are kept
  }
end)

local function handles() return require "uplua.probe.handle" end

-- The probe that P means: itself, a number of `probes`, or nothing for the last one.
local function probe_of(what, p)
  local list = handles().probes()
  if #list == 0 then error(what .. ": there are no probes yet", 0) end
  if p == nil then p = #list end
  if type(p) == "number" then
    if not list[p] then
      error(("%s: there is no probe %d: `probes` lists those that there are"):format(what, p), 0)
    end
    return list[p]
  end
  for _, probe in ipairs(list) do
    if rawequal(probe, p) then return probe end
  end
  error(what .. ": the argument is a probe, or its number in `probes`", 0)
end

-- explain([p]): its compiled handler beside its Lua lines, as --explain prints it.
function look.explain(p) print((handles().explain(probe_of("explain", p)))) end

-- --- bt ---

-- A handler that keeps the stack in KEPT, and then does what ORIGINAL does.
local function keeping(kept, original)
  return function(e)
    kept[0] = { stack = e:stack(), comm = e.comm, pid = e.pid, time = e.time }
    original(e)
  end
end

-- Has the handler of PROBE keep its stacks from now on, unless it does. Returns what is known of that.
local function arm(probe)
  local armed = own().armed
  local one = armed[probe]
  if one and probe.handler == one.handler then return one end -- p:replace has another
  if not probe.handler then error(("bt: %s %s has no handler of its own"):format(probe.kind, probe.spec), 0) end
  local kept = require "uplua".hash { max = 1 }
  one = { kept = kept, original = probe.handler, handler = keeping(kept, probe.handler) }
  probe:replace(one.handler)
  armed[probe] = one
  return one
end

-- Whether all of the target has exited; of the whole machine never.
local function is_over()
  if core.target.command() then return core.target.status() ~= nil end
  local pids = require "uplua".target().pids
  for _, pid in ipairs(pids) do
    if core.system.real_path(("/proc/%d"):format(pid)) then return false end
  end
  return #pids > 0
end

local function ago(ns)
  local elapsed = require "uplua".now() - ns
  return elapsed < 1e9 and "" or (", %s ago"):format(text.time(elapsed))
end

-- … and no more. Where the target has exited nothing can be attached, and nothing has to be: no handler runs again.
local function disarm(probe)
  local one = own().armed[probe]
  if one and probe.handler == one.handler then
    local ok, why = pcall(probe.replace, probe, one.original)
    if not ok and not is_over() then error(why, 0) end
    probe.handler = one.original
  end
  own().armed[probe] = nil
end

-- Prints the last stack that ONE has kept, and returns true; nothing where there is none.
local function print_last(one)
  local hit = one.kept[0]
  if not hit then return false end
  print(("%s %d%s\n%s"):format(hit.comm, hit.pid, ago(hit.time), tostring(hit.stack)))
  return true
end

-- Waits up to PATIENCE ns for the first hit of ONE, of a probe called NAME; its stack is printed once what the process
-- has mapped is known.
local function await(one, name, patience)
  local waited, seen, timer = 0, false, nil
  timer = loop.every(NAMED, function()
    waited = waited + NAMED
    local done = seen and print_last(one)
    seen = one.kept[0] ~= nil
    if not done and not seen and waited >= patience then
      done = true
      print(("%s: not hit within %s; once it is, bt() shows its last stack"):format(name, text.time(patience)))
    end
    if done then timer:cancel() end
  end)
end

-- bt([p [, patience]]): prints the last stack of the probe. Its handler keeps them from the first bt on, which waits
-- for a hit; bt(p, false): no more.
function look.bt(p, patience)
  local probe = probe_of("bt", p)
  local name = ("%s %s"):format(probe.kind, probe.spec)
  if patience == false then return disarm(probe) end
  local ns, wrong = text.wait(patience or PATIENCE)
  if not ns then error("bt: " .. wrong, 0) end
  local provider = require "uplua.probe.providers".find(probe.kind)
  if provider and provider.of_nobody then
    error(("bt: %s has no stack: no thread is there for it"):format(name), 0)
  end
  if own().armed[probe] and print_last(own().armed[probe]) then return end
  if is_over() then error(("bt: %s: no stack was kept, and the target has exited"):format(name), 0) end
  if probe.status == "detached" then error(("bt: %s is detached: attach() it first"):format(name), 0) end
  await(arm(probe), name, ns)
end

-- --- live ---


function look.is_live() return own().fn ~= nil end

local function draw()
  local mine = own()
  local ok, shown = pcall(mine.fn)
  if not ok then shown = tostring(shown) end
  local columns, rows = terminal.size()
  columns, rows = columns or 80, math.max((rows or 24) - 2, 1)
  local lines = {}
  for line in (value.harmless(shown) .. "\n"):gmatch "(.-)\n" do
    if #lines == rows then
      lines[rows] = "…"
      break
    end
    lines[#lines + 1] = line:find "\27" and line or text.cut(line, columns)
  end
  io.stdout:write(table.concat(lines, "\n"), "\n")
  mine.rows = #lines
  io.stdout:flush()
end

-- Draws it anew; what was printed meanwhile stands above.
local function repaint()
  local mine = own()
  if mine.rows > 0 then core.readline.put(("\27[%dA\27[J"):format(mine.rows)) end
  io.stdout:flush()
  draw()
end

-- The loop's flush while it is live.
function look.flush()
  if core.readline.pending() then repaint() end
end

-- Ends it; what was seen last stays.
function look.stop()
  local mine = own()
  if not mine.fn then return end
  mine.timer:cancel()
  mine.fn, mine.timer, mine.rows = nil, nil, 0
end

-- live(value [, period]): shows the value, or what a function gives, again each second until a key is pressed.
function look.live(what, period)
  if not terminal.interactive() then error("live: this terminal's cursor cannot be moved (TERM)", 0) end
  local mine = own()
  look.stop()
  local ns, wrong = text.wait(period or "1s")
  if not ns or ns == 0 then error("live: " .. (wrong or "the period must be longer than zero"), 2) end
  mine.timer = loop.every(ns, repaint)
  mine.fn = function()
    local shown = what
    if type(what) == "function" then shown = what() end
    return type(shown) == "string" and shown or value.show(shown)
  end
  draw()
end

return look
