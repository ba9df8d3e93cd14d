-- explain(p), bt(p) and live(value) at the prompt: closer looks at a probe and at values.
local core     = require "uplua.core"
local loop     = require "uplua.base.loop"
local run      = require "uplua.base.run"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"
local value    = require "uplua.prompt.value"

local look = {}

local PATIENCE = 10     -- seconds for which bt waits for a hit
local NAMED    = "100ms" -- until what a process has mapped is known, by which its stacks are walked and named

local own = run.part(function()
  return {
    fn = nil,    -- gives the text that is live; nil: nothing is
    timer = nil,
    rows = 0,    -- of the terminal, that it takes
    ring = nil,  -- of bt, for the hits of all its looks
    looks = {},  -- number → { again = the probe, name, hit }
    number = 0,  -- of the last one
  }
end)

local function handles() return require "uplua.probe.handle" end

-- The probe that P means: itself, a number of `probes`, or nothing for the last one.
local function probe_of(what, p)
  local list = handles().probes()
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

-- Ends the look NUMBER, and prints what was seen: called once the names of a stack are known, or when it has waited
-- long enough.
local function finish(number)
  local one = own().looks[number]
  if not one then return end
  own().looks[number] = nil
  one.timer:cancel()
  handles().remove(one.again)
  print(one.hit and ("%s %d\n%s"):format(one.hit.comm, one.hit.pid, tostring(one.hit.stack))
        or ("%s: not hit within %d s"):format(one.name, PATIENCE))
end

local function on_hit(hit)
  local one = own().looks[hit.look]
  if not one then return end
  if not one.hit then
    local number = hit.look
    loop.after(NAMED, function() finish(number) end)
  end
  one.hit = { comm = hit.comm, pid = hit.pid, stack = hit.stack }
end

-- bt([p]): prints the stack of a hit of the probe, once there is one: of the last one of a tenth of a second.
function look.bt(p)
  local probe = probe_of("bt", p)
  local mine, up = own(), require "uplua"
  if not mine.ring then
    mine.ring = up.ring { size = 65536 }
    mine.ring:each(on_hit)
  end
  local ring, number, name = mine.ring, mine.number + 1, ("%s %s"):format(probe.kind, probe.spec)
  mine.number = number
  local again = up.probe(("%s:%s"):format(probe.kind, probe.spec), function(e)
    ring:emit { look = number, stack = e:stack(), comm = e.comm, pid = e.pid }
  end)
  mine.looks[number] = {
    again = again, name = name, timer = loop.after(PATIENCE * 1e9, function() finish(number) end),
  }
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
    lines[#lines + 1] = line:find "\27" and line or text.cut(line, columns - 1)
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
