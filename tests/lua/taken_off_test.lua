-- What probes of calls within a call take is taken off its time: beside the same code without probes, in the same run.
-- By how much the two may differ follows from what was taken off: less than half of it, so that what is not taken off,
-- or taken off twice, is seen.
local tap = require "tap"
local target = require "target"
local is = tap.is

local ATTEMPTS = 4 -- a busy machine's traps take longer now than a moment ago

local CODE = [[
local up = require "uplua"
local calls, seen = up.ring {}, {}
%s
calls:each(function(call)
  local name = call.name .. " " .. tonumber(call.n)
  seen[name] = seen[name] or { took = {}, off = {} }
  table.insert(seen[name].took, tonumber(call.took))
  table.insert(seen[name].off, tonumber(call.off))
end)
local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end
up.at_exit(function()
  for name, call in pairs(seen) do print("call", name, #call.took, median(call.took), median(call.off)) end
end)
]]
local EMIT = "calls:emit { name = e.func, n = e.arg0, took = e.elapsed, off = e.taken_off }"
local ONE = ('up.uretprobe("./build/targets/inner_calls:*er", %%sfunction(e) if e.func ~= "inner" then %s end end)')
  :format(EMIT)

-- Runs the target under PROBES: by name and number, { count, took, off, own }, own being what the program says itself.
local function run(probes)
  local r = target.script(CODE:format(probes), "-- ./build/targets/inner_calls")
  local calls, own = {}, {}
  for name, n, ns in r.out:gmatch "%f[^\n%z](%w+) (%d+) (%d+)\n" do
    own[name .. " " .. n] = own[name .. " " .. n] or {}
    table.insert(own[name .. " " .. n], tonumber(ns))
  end
  for name, count, took, off in r.out:gmatch "call\t(%w+ %d+)\t(%d+)\t(%d+)\t(%d+)" do
    local times = own[name] or {}
    table.sort(times)
    calls[name] = { count = tonumber(count), took = tonumber(took), off = tonumber(off),
                    own = times[math.ceil(#times / 2)] }
  end
  return calls, r
end

-- What is wrong with CALL, "" if nothing.
local function difference(call)
  if not call or not call.own then return "it was not seen" end
  if call.off < call.own then return ("only %d ns are taken off of %d"):format(call.off, call.own) end
  if math.abs(call.took - call.own) < 0.45 * call.off then return "" end
  return ("%d ns, without probes %d; taken off %d"):format(call.took, call.own, call.off)
end

local function check(probes, name)
  local calls, r, wrong
  for _ = 1, ATTEMPTS do
    calls, r = run(probes)
    wrong = difference(calls["outer 23"]) .. difference(calls["deeper 23"])
    if wrong == "" then break end
    print("# " .. wrong)
  end
  is(wrong .. r.err, "", name)
  is(calls["outer 23"].count + calls["outer 0"].count + calls["deeper 23"].count, 303, "  … each call")
  return calls
end

local calls = check(ONE:format "", "23 calls in one, and 23 of itself")
is(calls["outer 0"].off, 0, "  … of one that calls none nothing")
is(calls["deeper 0"].off, 0, "  … nor of the innermost")
local growing = true
for n = 1, 23 do growing = growing and calls["deeper " .. n].off > calls["deeper " .. n - 1].off end
is(growing, true, "  … and more of each that has more within")

check([[
local longest = up.max()
up.uretprobe("./build/targets/inner_calls:inner", function(e) longest:add(e.elapsed) end)
up.uretprobe("./build/targets/inner_calls:outer", function(e) ]] .. EMIT .. [[ end)
up.uretprobe("./build/targets/inner_calls:deeper", function(e) ]] .. EMIT .. [[ end)]], "… by a handler each")

calls = run(ONE:format '{ returns = "instructions" }, ')
is(calls["outer 23"].off, 0, "returns that are seen at instructions have it in their times, as the manual says")
is(calls["outer 23"].took > 2 * calls["outer 23"].own, true, "  … which shows")

-- funclatency says it, unless something else took longer, as on a busy machine: in data that shows.
local FUNCTIONS = "funclatency.lua ./build/targets/inner_calls:outer ./build/targets/inner_calls:inner " ..
  "-- ./build/targets/inner_calls"
local SAYS = "Probes of the calls within outer took %S+ %l+ of its %S+ %l+[^\n]*%.\n" ..
  "That is taken off, as far as it is known %(±%); for its own time probe outer alone, or sample it: " ..
  "profile%.lua%.\n\n" ..
  "Function [^\n]*Total +±\n"
local out, sum, off, says
for _ = 1, ATTEMPTS do
  out = target.uplua(FUNCTIONS).out
  sum, off = target.uplua("--format json " .. FUNCTIONS).out:match '"func":"outer"[^}]*"sum":(%d+),"taken_off":(%d+)'
  says = out:find(SAYS)
  if says then break end
end
tap.ok(says or tonumber(off) < tonumber(sum), "funclatency says first whose time it is", out:match "Function.*")
tap.ok(tonumber(off) > 100000, "data has what was taken off", off)
out = target.uplua("funclatency.lua ./build/targets/inner_calls:outer -- ./build/targets/inner_calls").out
is(out:find "Probes of" or out:find "±\n", nil, "… and of one alone there is nothing to say")

target.done()
tap.done_testing()
