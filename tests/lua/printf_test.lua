-- What handlers say to the script: printf formats in user space what they emit, in one order over all CPUs, and escapes
-- what the target chose; exit ends the handler and the run, once. On build/targets/calls: add3(i, 2i, T) 23 times in
-- each thread T.
local tap = require "tap"
local target = require "target"

local is, like = tap.is, tap.like

-- What the target itself prints comes whenever it does.
local function without_target(out) return (out:gsub("add3 %d+ negative [^\n]*\n", "")) end

-- Runs BODY (CALLS and up are there) on COMMAND.
local function script(body, command)
  local path = target.folder() .. "-printf.lua"
  local file = assert(io.open(path, "w"))
  file:write('local up = require "uplua" local CALLS = "./build/targets/calls:" ' .. body)
  file:close()
  local run = target.uplua(path .. " -- " .. (command or "./build/targets/calls 1"))
  os.remove(path)
  run.out = without_target(run.out)
  return run
end

-- The handler's statements for the add3 of 7, and what they print.
local formats = {
  { [[up.printf("%d %5d|%-5d|%05d|%+d\n", e.arg0, e.arg0, e.arg1, e.arg0, e.arg0)]], "7     7|14   |00007|+7\n" },
  { [[up.printf("%x %X %#x %o %c%c\n", e.arg0 + 248, e.arg0 + 248, e.arg0, e.arg0 + 1, e.arg0 + 65, 66)]],
    "ff FF 0x7 10 HB\n" },
  { [[up.printf("%i %u %.3d %s\n", -e.arg0, -e.arg0, e.arg0, -e.arg0)]], "-7 18446744073709551609 007 -7\n" },
  { [[up.printf("%.2f %g %e\n", e.arg0, e.arg0, e.arg0)]], "7.00 7 7.000000e+00\n" },
  { [[up.printf("%d %s\n", 9007199254740993LL + e.arg0 - 7, 9007199254740993LL + e.arg0 - 7)]],
    "9007199254740993 9007199254740993\n" },
  { [[up.printf("%d %.1f\n", bit.lshift(e.arg0 - 6, 62), bit.lshift(e.arg0 - 6, 62))]],
    "4611686018427387904 4611686018427387904.0\n" },
  { [[up.printf("%s %d %s\n", 123456789012338 + e.arg0, 123456789012338 + e.arg0, -123456789012338 - e.arg0)]],
    "123456789012345 123456789012345 -123456789012345\n" },
  { [[up.printf("%s %s\n", 9007199254740984 + e.arg0, 140737488348153 + e.arg0)]],
    "9007199254740991 140737488348160\n" },
  { [[local u = up.u64(e.arg0 - 8) up.printf("%d %s %x %20u\n", u, u, u, u)]],
    "18446744073709551615 18446744073709551615 ffffffffffffffff 18446744073709551615\n" },
  { [[up.printf("%s %d\n", 0xffffffffffffffffULL, -5LL)]], "18446744073709551615 -5\n" },
  { [[up.printf("%s|%8s|%-8s|%.3s|%q\n", e.comm, e.comm, e.comm, e.comm, e.comm)]],
    "calls|   calls|calls   |cal|\"calls\"\n" },
  { [[up.printf("%s %s %s\n", e.arg0 > 3, e.arg0 < 3, nil)]], "true false nil\n" },
  { [[local x if e.arg0 > 100 then x = e.arg0 end up.printf("%s\n", x)]], "nil\n" },
  { [[up.printf("%s %s %s %g %d\n", "constant", true, 5, 0.25, 23)]], "constant true 5 0.25 23\n" },
  { [[up.printf("100%% of %s\n", e.func)]], "100% of add3\n" },
  { [[up.printf("nothing to fill in\n")]], "nothing to fill in\n" },
  { [[up.printf("%s %s\n", { a = e.arg0, s = e.comm }, { e.arg0, { 1, 2 } })]], "a=7 s=calls 7, {1, 2}\n" },
  { [[up.printf("%d", e.arg0) up.printf(" and ") up.printf("%d\n", e.arg1)]], "7 and 14\n" },
  { [[helper(e.arg0) helper(e.arg1)]], "helper 7\nhelper 14\n" },
  { [[m[1] = e.arg0 up.printf("%d %s\n", m[1], m[2])]], "7 nil\n" },
}
local body, want = { [[local m = up.hash() m:set(2, 1) local function helper(x) up.printf("helper %d\n", x) end
  up.uprobe(CALLS .. "add3", function(e) if e.arg0 ~= 7 then return end m[2] = nil ]] }, {}
for number, case in ipairs(formats) do
  body[#body + 1] = ('do up.printf("case %d\\n") %s end'):format(number, case[1])
  want[number] = case[2]
end
local run = script(table.concat(body, "\n") .. "\nend)")
for number = 1, #formats do
  local _, start = run.out:find(("case %d\n"):format(number), 1, true)
  local stop = run.out:find(("case %d\n"):format(number + 1), 1, true) or #run.out + 1
  is(start and run.out:sub(start + 1, stop - 1), want[number], formats[number][1])
end
is(run.status .. run.err, "0", "nothing is lost")

run = script [[
  up.uprobe(CALLS .. "add3", function(e) up.printf("%s\n", e:ustack()) end)
  up.at_exit(function() print "the end" end)]]
local stacks, last = 0, run.out:match "([^\n]*)\n$"
for _ in run.out:gmatch " add3%+0x%x+\n +work%+0x%x+\n" do stacks = stacks + 1 end
is(stacks, 23, "a stack prints as its frames")
is(last, "the end", "all is printed before at_exit's functions are called")

-- The order of one thread's events is kept, whatever thread's come between.
run = script([[up.uprobe(CALLS .. "add3", function(e) up.printf("%d %d\n", e.arg2, e.arg0) end)
  up.uprobe(CALLS .. "six", function(e) up.printf("six %d\n", e.arg5) end)]], "./build/targets/calls 4")
local next_of, lines, sixes = { [0] = 0, 0, 0, 0 }, 0, 0
for thread, i in run.out:gmatch "(%d) (%d+)\n" do
  thread = tonumber(thread)
  if next_of[thread] == tonumber(i) then next_of[thread] = tonumber(i) + 1 end
  lines = lines + 1
end
for _ in run.out:gmatch "six 6\n" do sixes = sixes + 1 end
is(lines, 4 * 23, "four threads print all")
is(("%d %d %d %d"):format(next_of[0], next_of[1], next_of[2], next_of[3]), "23 23 23 23", "each in its order")
is(sixes, 4 * 23, "two handlers share the ring")

-- What the target chose cannot drive the terminal.
run = script([[up.uprobe("libc:write", function(e)
    up.printf("[%s] [%q] %c%c%c\n", e.comm, e.comm, 27, e.arg0 * 0 + 155, e.arg0 * 0 + 10)
  end)]], [[sh -c 'printf "\033[2J\302\233x" >/proc/self/comm; echo']])
tap.ok(run.out:find "%[\\x1b%[2J\\x9bx%]" and not run.out:find "[\27\155]",
  "control characters in the target's strings do not reach the terminal")

-- nil where a number is needed is an error, as in Lua; what came before stays.
run = script [[local m = up.hash() m:set(3, 5)
  up.uprobe(CALLS .. "add3", function(e)
    up.printf("before %d\n", e.arg0) up.printf("%d\n", m[e.arg0]) up.printf("after\n")
  end)]]
is(select(2, run.out:gsub("before %d+\n", "")), 23, "before an error a handler prints")
is(select(2, run.out:gsub("\n5\nafter\n", "")), 1, "behind it not")
like(run.err, "  22 × handler ended by an error: printf of nil, which only %%s prints, [^\n]*%.lua:3\n$",
  "the error is counted with its line")

-- Strings of the target's memory.
run = script [[up.uprobe(CALLS .. "name", function(e)
  local s = up.str(e.arg0)
  up.printf("%s|%s|%d|%10s|%.3s|%q|%s\n", s, up.str(e.arg0, 4), #s, s, s, s, up.str(8)) up.exit(5) end)]]
is(run.out, "uplua-23|upl…|8|  uplua-23|upl|\"uplua-23\"|nil\n",
  "strings of the target, one of them cut, one unreadable")

-- The prompt and -e code have printf and exit as globals.
run = target.uplua [[-e 'uprobe("./build/targets/calls:add3", function(e) printf("%d,", e.arg0)
  if e.arg0 == 4 then exit(3) end end)' \
  -- ./build/targets/calls 1]]
is(without_target(run.out), "0,1,2,3,4,", "printf and exit are globals of -e code")
is(run.status, 3, "… with the status")

-- The script looks away while more is printed than the ring holds, until all calls have been made, or for far too long:
-- what is missing is counted exactly.
run = script [[ local n = up.count()
  up.after(0, function() local stop = os.clock() + 20 while n:get() < 23 and os.clock() < stop do end end)
  up.uprobe(CALLS .. "add3", function(e)
    for i = 1, 10007 do up.printf("p%s%s%s\n", e.comm, e.comm, e.comm) end
    n:inc()
  end)]]
local printed = select(2, run.out:gsub("pcallscallscalls\n", ""))
local lost = run.err:match("\n  ([%d,]+) × printf: its ring of 4194304 bytes is full: text lost; print less, " ..
  "[^\n]*%.lua:4\n")
tap.ok(lost and printed > 20000, "a full ring loses text, and says so")
is(printed + tonumber((lost or "0"):gsub(",", ""), 10), 23 * 10007, "each line was printed or counted")

run = script [[local n = up.count()
  up.after(0, function() local stop = os.clock() + 20 while n:get() < 6 and os.clock() < stop do end end)
  up.uprobe(CALLS .. "add3", function(e)
    n:inc()
    for i = 1, 40009 do up.printf("p%s%s%s%s%s\n", e.comm, e.comm, e.comm, e.comm, e.comm) end
    if e.arg0 == 5 then up.exit(11) end
  end)
  up.at_exit(function() print("calls", n:get()) end)]]
is(run.status, 11, "a full ring does not lose the exit")
like(run.out, "calls\t6\n$", "nor what was counted until then")

run = script [[local n = up.count()
  local function find(x) for i = 0, x do n:inc() if i == 13 then up.exit(i) end end return x end
  up.uprobe(CALLS .. "add3", function(e) if find(e.arg0) > 12 then n:inc() end end)
  up.at_exit(function() print("rounds", n:get()) end)]]
is(run.status .. run.out, "13rounds\t105\n", "exit in a loop of a function ends both and the handler")
run = script [[local n, after = up.count(), up.count()
  local function check(x) if x == 22 then up.exit(7) end return x end
  up.uprobe(CALLS .. "add3", function(e) n:inc() up.printf("%d\n", check(e.arg0)) after:inc() end)
  up.uprobe(CALLS .. "negative", function(e) n:inc() end)
  up.at_exit(function() print("calls", n:get(), after:get()) end)]]
is(run.status, 7, "exit's status is uplua's")
like(run.out, "\n21\ncalls\t23\t22\n$",
  "exit at the 23rd call: 23 are counted, and nothing behind it ran, in no handler")

run = script([[local n = up.count()
  up.uprobe(CALLS .. "add3", function(e) n:inc() up.printf("%d\n", e.arg0) up.exit(e.arg2 + 40) end)
  up.at_exit(function() print("calls", n:get()) end)]], "./build/targets/calls 4")
tap.ok(run.status >= 40 and run.status <= 43, "of four threads' exits one counts")
is(select(2, run.out:gsub("%f[%d]0\n", "")), tonumber(run.out:match "calls\t(%d+)"),
  "what was printed before is delivered")

run = script([[up.uprobe("libc:clock_nanosleep", function(e) up.exit() end)
  up.at_exit(function() print "report" end)]], "sh -c 'echo $$; exec sleep 101'")
local sleeper = run.out:match "^%d+" or 0
is(run.status .. run.out, ("0%d\nreport\n"):format(sleeper), "an exit wakes uplua up")
is(os.execute(("kill %d"):format(sleeper)), 0, "… the target sleeps on")

run = script [[up.uprobe(CALLS .. "negative", function(e) up.exit(e.arg0 - 5) end)]]
is(run.status, 1, "a status that no process can have is 1")
like(run.err, "  1 × exit: the status was not from 0 to 255, the run ended with 1, [^\n]*%.lua:1\n$", "and counted")

run = script [[local m = up.hash() m:set(1, 1)
  up.uprobe(CALLS .. "add3", function(e) m[1] = nil if e.arg0 == 3 then up.exit(m[2]) end end)
  up.after(0, function() up.exit(9) end) up.at_stop(function() end)]]
tap.ok(run.status == 9 or run.status == 0, "the first exit counts, the script's or a handler's")
target.done()
tap.done_testing()
