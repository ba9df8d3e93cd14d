-- e.caller, and variables that only a caller knows, where return probes have put the kernel's own code in the place of
-- return addresses: of the function itself, and of one that has jumped to it at its end.
local ffi    = require "ffi"
local tap    = require "tap"
local target = require "target"
local is = tap.is

local PROGRAM = "./build/targets/tail_callers"
local X64 = ffi.arch == "x64"

local function run(code)
  return target.uplua(("--strict -e %s -- %s"):format(target.quote((code:gsub("PROGRAM", PROGRAM))), PROGRAM))
end

local CALLERS = [[
  c = count() uprobe("PROGRAM:inner", OPTIONS, function(e) c[up.sym(e.caller)]:inc() end)
  at_exit(function()
    local names = {}
    for symbol, n in c:pairs() do names[#names + 1] = symbol.symbol .. " " .. tonumber(n) end
    table.sort(names)
    print("callers", table.concat(names, ", "))
  end)
]]
local RETURNS = ' r = count() uretprobe("PROGRAM:outer", function(e) r:inc() end)'
local INNER = ' s = count() uretprobe("PROGRAM:inner", function(e) s[up.sym(e.caller)]:inc() end)'
for _, options in ipairs { "{}", "{ slide = false }" } do
  local callers = CALLERS:gsub("OPTIONS", options)
  is(run(callers).out, "callers\tdirect 23, main 101\n", "callers, " .. options)
  local r = run(callers .. RETURNS)
  is(r.err, "", "returns of a function that ends in a jump, " .. options)
  is(r.out, "callers\tdirect 23, main 101\nr: 101\n", "… hide no caller")
  r = run(callers .. RETURNS .. INNER)
  is(r.out, "callers\tdirect 23, main 101\nr: 101\ns:\nmain    101\ndirect   23\n",
    "… nor do those of the function itself")
  r = run(callers .. INNER .. RETURNS)
  is(r.out:match "callers[^\n]*", "callers\tdirect 23, main 101", "… in the other order")
end

-- Of another uplua.
local r = target.shell(([[
  ./uplua -e 'uretprobe("%s:*", function(e) end) printf("ready\n")' >"$D/other" 2>&1 &
  other=$!
  await 'grep -q ready "$D/other"' $other
  ./uplua -e %s -- %s >"$D/out" 2>"$D/err"
  kill $other
  wait $other
]]):format(PROGRAM, target.quote((CALLERS:gsub("OPTIONS", "{}"):gsub("PROGRAM", PROGRAM))), PROGRAM))
is(r.out .. r.err, "callers\tdirect 23, main 101\n", "return probes of another uplua hide none")

if X64 then
  local LINE = ' v = count() uprobe("PROGRAM@tail_callers.c:33", function(e) v[e.vars.b]:inc() end)'
  local there = run(LINE)
  if there.status == 0 and there.out:find "3 +101" then
    is(run(LINE .. ' r = count() uretprobe("PROGRAM:passed", function(e) r:inc() end)').out,
      "v:\n3  101\n4   23\nr: 124\n", "what the caller has passed is known beside a return probe")
  else
    tap.skip("this compiler keeps the variable, or loses it: " .. there.out .. there.err)
  end
end
target.done()
tap.done_testing()
