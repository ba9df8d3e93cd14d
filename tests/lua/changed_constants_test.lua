-- What a handler takes as a constant and the script changes later is told: once for each variable, with the handler's
-- line and both values.
local tap = require "tap"
local target = require "target"

local path = target.folder() .. "-captured.lua"

local function script(body)
  local file = assert(io.open(path, "w"))
  file:write(body)
  file:close()
  local run = target.uplua(path .. " -- ./build/targets/calls 1")
  os.remove(path)
  local warnings = {}
  for line in run.err:gmatch "[^\n]+" do warnings[#warnings + 1] = line:gsub("^uplua: .-captured%.lua:", "") end
  return run, warnings
end

local run, warnings = script [[
local up = require "uplua"
local limit, name, T, n, m = 5, "x", { low = 3, sub = { x = 1 } }, up.count(), up.count()
flag, big, kept = true, 5LL, 7
local function helper(x) return x > T.sub.x end
up.uprobe("./build/targets/calls:add3", function(e)
  if e.arg0 > limit and e.comm ~= name then n:inc() end
  if flag and e.arg0 > T.low and e.arg0 > big and e.arg0 > kept then n:inc() end
  if helper(e.arg0) then n:inc() end
  if undefined then n:inc() end
  m:inc()
end)
up.uprobe("./build/targets/calls:six", function(e) if e.arg0 > limit then n:inc() end end)
up.after(0, function()
  limit, name, T.low, T.sub.x, flag, big, undefined, n = 7, "abc\27", 4, 9, nil, 6LL, 5, up.count()
  kept, T.unused = 8, 5
  kept = 7
end)
up.at_exit(function() print(m:get()) limit, T = 11, nil end)
]]
local want = {
  "4: 'T.sub.x' was 1 when the handler was compiled: that it is 9 now" ..
  " does not change the handler; use up.var(1) for a value that changes",
  "6: 'limit' was 5 when the handler was compiled: that it is 7 now" ..
  " does not change the handler; use up.var(5) for a value that changes",
  "6: 'n' was a count when the handler was compiled: that it is another now" ..
  " does not change the handler",
  "6: 'name' was 'x' when the handler was compiled: that it is 'abc\\x1b' now" ..
  " does not change the handler",
  "7: 'T.low' was 3 when the handler was compiled: that it is 4 now" ..
  " does not change the handler; use up.var(3) for a value that changes",
  "7: 'big' was 5 when the handler was compiled: that it is 6 now" ..
  " does not change the handler; use up.var(5) for a value that changes",
  "7: 'flag' was true when the handler was compiled: that it is nil now" ..
  " does not change the handler; use up.var(true) for a value that changes",
  "9: 'undefined' was nil when the handler was compiled: that it is 5 now" ..
  " does not change the handler",
}
table.sort(warnings)
for i = 1, math.max(#want, #warnings) do
  tap.is(warnings[i], want[i], want[i] and want[i]:match "'.-'" or "no more warnings")
end
tap.like(run.out, "23\n", "the run goes on")
tap.is(run.status, 0, "… to its end")

run, warnings = script [[
local up = require "uplua"
local limit, n = 5, up.count()
up.uprobe("./build/targets/calls:add3", function(e) if e.arg0 > limit then n:inc() end end)
limit = 20
up.at_exit(function() print(n:get()) end)
]]
tap.is(#warnings, 0, "the main chunk may change them: they are taken behind it")
tap.like(run.out, "2\n", "… with their last values")

run = target.uplua [[-e 'limit = 3 uprobe("libc:clock_nanosleep", function(e) if e.arg0 > limit then exit(1) end end)
  after(0, function() limit = 4 end) every("0.3s", function() limit = limit + 1 end)' -- sleep 1.5]]
tap.like(run.err, "%-e:1: 'limit' was 3 when the handler was compiled", "a warning comes while the run lasts")
tap.is(select(2, run.err:gsub("'limit' was 3", "")), 1, "… once")
-- The more there are, the more of the code that reads them runs compiled by LuaJIT.
local handler = [[do local m = up.hash()
  up.uprobe("./build/targets/calls:add3", function(e) local x, y, z = up.i64(LARGE), up.i64(LARGE + 6), up.i64(8)
    m[1], m[2], m[3] = x, y, z end)
  up.at_exit(function() if m[1] ~= 0xff00000000000000LL or m[2] ~= 0xff00000000000006LL then wrong = wrong + 1 end end)
end
]]
run = script('local up, LARGE = require "uplua", 0xff00000000000000ULL\nwrong = 0\n' .. handler:rep(40) ..
             'up.at_exit(function() print("wrong: " .. wrong) end)')
tap.like(run.out, "wrong: 0\n", "many 64-bit constants")
target.done()
tap.done_testing()
