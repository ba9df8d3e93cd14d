-- Several rings, and what handlers print, come in one order of time, whichever CPUs their handlers ran on.
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

-- --- two rings, two threads that emit at the same time ---

-- see(record) counts what it sees, and what is older than the one before.
local SEE = [[
    local before, wrong, seen = 0, 0, 0
    local function see(record)
      if record.time < before then wrong = wrong + 1 end
      before, seen = record.time, seen + 1
    end
    local at = "./build/targets/meet:"
]]

local function two(options, rounds)
  return target.script(SEE .. ([[
    local up = require "uplua"
    local a, b = up.ring%s, up.ring%s
    up.uprobe(at .. "end",   function(e) a:emit { time = e.time, of = e.arg0 } end)
    up.uprobe(at .. "begin", function(e) b:emit { time = e.time, of = e.arg0 } end)
    up.uprobe(at .. "enter", function(e) b:emit { time = e.time, key = e.arg0, tid = e.tid } end)
    a:each(see)
    b:each(see)
    up.at_exit(function() print("seen", seen, "wrong", wrong) end)
  ]]):format(options, options), "-- build/targets/meet " .. rounds)
end

local r = two("()", 1009)
is(r.out, "seen\t5045\twrong\t0\n", "each record of two rings, in order of time")
is(r.err, "", "nothing was lost, and nothing came too late")
r = two("{ size = '64K' }", tap.fewer(10007, 1009))
is(r.out:match "wrong\t(%d+)", "0", "also where rings are small and busy")
ok(tonumber(r.out:match "seen\t(%d+)") > 0 and not r.err:find "out of order", "nothing came too late")
is(two("{ order = false }", 1009).out:match "seen\t(%d+)", "5045", "order = false: each record")

local function takes_time(options)
  local path = target.folder() .. "-order.lua"
  local file = assert(io.open(path, "w"))
  file:write(([[
    local up = require "uplua"
    local a, b = up.ring%s, up.ring%s
    up.uprobe("./build/targets/meet:end", function(e) a:emit { of = e.arg0 } end)
    up.uprobe("./build/targets/meet:begin", function(e) %s:emit { of = e.arg0 } end)
    a:each(print)
    b:each(print)
  ]]):format(options, options, options == "{ order = true }" and "a" or "b"))
  file:close()
  local run = target.uplua("--explain " .. path .. " -- build/targets/meet 1")
  os.remove(path)
  is(run.status, 0, "--explain " .. options)
  return run.out:find "ktime_get_ns" ~= nil
end
is(takes_time "()", true, "records of two rings take their time")
is(takes_time "{ order = false }", false, "without an order they do not")
is(takes_time "{ order = true }", true, "one that asks for an order takes it in any case")

local function one(options)
  local explained = target.uplua(([[--explain -e 'local a = ring%s uprobe("./build/targets/meet:end", function(e)
    a:emit { of = e.arg0 } end) a:each(print)' -- build/targets/meet 1]]):format(options)).out
  return explained:find "ktime_get_ns" ~= nil
end
is(one "()", false, "nor does the only one")
is(one "{ order = true }", true, "if it does not ask for an order")

-- --- rings of handlers that are loaded later ---

local function later(options)
  return target.script(SEE .. ([[
    local up = require "uplua"
    local a, b = up.ring%s, nil
    up.uprobe(at .. "end", function(e) a:emit { time = e.time, of = e.arg0 } end)
    a:each(see)
    up.at_start(function()
      b = up.ring()
      up.uprobe(at .. "begin", function(e) b:emit { time = e.time, of = e.arg0 } end)
      b:each(see)
    end)
    up.at_exit(function() print("seen", seen, "wrong", wrong) end)
  ]]):format(options), "-- build/targets/meet 1009")
end

r = later "{ order = true }"
is(r.out:match "wrong\t(%d+)", "0", "with order = true, later ones are in order with it")
ok(tonumber(r.out:match "seen\t(%d+)") > 2018, "and all are seen", r.out)
is(r.err, "", "without a warning")
r = later "()"
tap.like(r.err, "the ring 'a' and the ring 'b' are in no order of time: the handlers of one were loaded before",
  "without it, that there is none is said")
is(later "{ order = false }".err, "", "but not where none is wanted")

-- --- what handlers print, and a ring ---

r = target.script([[
local up = require "uplua"
local started = up.ring()
up.usdt("app:queued", function(e) up.printf("queued %d\n", e.arg0) end)
up.usdt("app:started", function(e) started:emit { i = e.arg0 } end)
up.usdt("app:answered", function(e) up.printf("answered %d\n", e.arg0) end)
started:each(function(record) up.printf("started %d\n", record.i) end)
]], "-- build/targets/requests 101")
local wanted = {}
for i = 0, 100 do
  wanted[#wanted + 1] = ("queued %d\nstarted %d\n"):format(i, i)
  if i % 40 ~= 3 then wanted[#wanted + 1] = ("answered %d\n"):format(i) end
end
local said = {}
for line in r.out:gmatch "[^\n]+" do if line:find "^%a+ %d+$" then said[#said + 1] = line .. "\n" end end
is(table.concat(said), table.concat(wanted), "what handlers print stands in order with what callbacks do")
is(r.err, "", "nothing was lost")

-- --- a callback that raises an error ---

r = target.script([[
local up = require "uplua"
local a, b = up.ring(), up.ring()
up.usdt("app:queued", function(e) a:emit { i = e.arg0 } end)
up.usdt("app:answered", function(e) b:emit { i = e.arg0 } end)
a:each(function(record) if record.i == 23 then error "enough" end end)
local seen = 0
b:each(function(record) seen = seen + 1 end)
up.at_exit(function() print("seen", seen) end)
]], "-- build/targets/requests 101")
ok(r.err:find "enough", "an error in a callback is reported")
ok(tonumber(r.out:match "seen\t(%d+)") >= 22, "what came before it was read")

target.done()
tap.done_testing()
