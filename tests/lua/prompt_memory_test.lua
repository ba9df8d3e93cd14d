-- A session at the prompt takes no more memory the longer it lasts: 10,000 entries that show values, set variables,
-- fail, or declare probes that are refused leave nothing behind, and a probe that is attached takes the same each time.
-- On build/targets/calls.
-- Runs once: the memory is user space's.
local tap = require "tap"
local target = require "target"

local ENTRIES, PROBES = 10000, 20

-- What is entered in turn. Three of them have probes, of a function that is there, which the compiler refuses.
local CODE = [[
local core = require "uplua.core"
local loop = require "uplua.base.loop"
local up = require "uplua"
setmetatable(_G, { __index = up })

local LINES = {
  "%d + 1", "x = %d", "x = { %d }", "for i = 1, 3 do\nx = i end", "y = = %d", "error 'entry %d'", "local z = %d",
  'uprobe("./build/targets/calls:nothing%d", function(e) n:inc() end)',
  'uprobe("./build/targets/calls:name", function(e) n:inc(e.nothing) end) x = %d',
  'uprobe("./build/targets/calls:name", function(e) h[1] = 1 h[2] = "%d" end)',
  'uprobe("libc:malloc", function(e) h[1] = e.arg0 + "" end) x = %d',
  "h[%d %% 7] = 5",
}
local PROBE = 'uprobe("./build/targets/calls:name", function(e) if e.arg0 == %d then n:inc() r:emit { e.pid } end end)'

local entered, probes, enter = 0, 0, nil
local function line()
  if entered == 0 then return "n = count() h = hash() r = ring()" end
  if probes > 0 then return PROBE:format(probes) end
  local of = entered % 8 == 0 and 8 + entered / 8 % 4 or entered % 8 -- probes once in eight
  return LINES[of == 0 and 12 or math.floor(of)]:format(entered)
end
core.readline = {
  feed = function()
    local text = line()
    entered = entered + 1
    return text
  end,
}
for _, name in ipairs { "open", "close", "start", "flush", "remember", "abandon", "editing", "share" } do
  core.readline[name] = function() end
end

local watch = loop.watch
function loop.watch(fd, fn, ...)
  if fd ~= 0 then return watch(fd, fn, ...) end
  enter = fn
end

-- Without pages of files, which the kernel takes away and brings back as it likes.
local function memory()
  collectgarbage()
  collectgarbage()
  local resident
  for text in io.lines "/proc/self/status" do resident = resident or text:match "RssAnon:%s+(%d+)" end
  return { tonumber(resident), collectgarbage "count" }
end

local function show(what, before)
  local after = memory()
  io.stderr:write(("%s %d %d\n"):format(what, after[1] - before[1], after[2] - before[2]))
end

local run = loop.run
function loop.run()
  loop.run = run -- of the session itself, the entries are all
  memory()
  for _ = 1, @entries / 5 do enter() end
  local before = memory()
  for _ = 1, @entries * 4 / 5 do enter() end
  show("entries", before)
  jit.off() -- a trace that is compiled now and not then would be some KB of one of the two
  for _ = 1, 2 do
    before = memory()
    for _ = 1, @probes / 2 do
      probes = probes + 1
      enter()
    end
    show("probes", before)
  end
  io.stderr:write(("attached %d\n"):format(#require "uplua.probe.load".setups()))
end
io.stdout:setvbuf "full"
require "uplua.prompt.session".run(nil, function() end)
]]

local run = target.script((CODE:gsub("@entries", ENTRIES):gsub("@probes", PROBES)),
  "-- ./build/targets/calls 1 >/dev/null")
local numbers = {}
for what, resident, lua in run.err:gmatch "(%l+) (%-?%d+) (%-?%d+)\n" do
  numbers[#numbers + 1] = { what, tonumber(resident), tonumber(lua) }
end
local entries, first, second = unpack(numbers)
tap.ok(entries and second, "the session comes to its end", run.err)
if entries and second then
  local says = "# %d entries: %d KB resident, %d KB in Lua; %d probes: %d and %d KB resident, %d and %d KB in Lua"
  print(says:format(ENTRIES * 4 / 5, entries[2], entries[3], PROBES, first[2], second[2], first[3], second[3]))
  tap.ok(entries[3] <= 128, "Lua has no more to keep", entries[3] .. " KB more")
  tap.ok(entries[2] <= 1024, "nor has anything else", entries[2] .. " KB more")
  tap.ok(run.err:find(("attached %d\n"):format(PROBES)), "probes that follow are loaded", run.err)
  -- The first have what all of them share.
  tap.ok(second[3] <= first[3] + 16 and second[3] < PROBES / 2 * 8, "each takes the same in Lua, and little",
         second[3] .. " KB")
  tap.ok(second[2] <= PROBES / 2 * 100, "and little elsewhere", second[2] .. " KB")
end
target.done()
tap.done_testing()
