-- Which entry a return belongs to: where calls nest, also deeper than the kernel follows, where they are left by
-- longjmp, where threads end in them, where one function jumps to another. What is not seen is counted.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local F = "./build/targets/returns:"
local COMMAND = "./build/targets/returns"
local DEEP = "return not seen: nested deeper than the 64 calls that the kernel follows"
local LEFT = "calls that never returned: left by longjmp or the like"
local ENDED = "calls that never returned: their threads ended in them"

-- What CODE prints about the target's THREADS, and the ledger as its lines, sorted, without the probes' names. UNMOVED:
-- without randomized addresses.
local function trace(code, threads, unmoved)
  local path = target.folder() .. "-returns.lua"
  local file = assert(io.open(path, "w"))
  file:write('local up = require "uplua"\nlocal F = "', F, '"\n', code)
  file:close()
  local r =
    target.shell(('%s./uplua %s -- %s %d >"$D/out" 2>"$D/err" </dev/null'):format(unmoved and "setarch -R " or "", path,
    COMMAND, threads))
  os.remove(path)
  local lost = {}
  for count, text in r.err:gmatch "\n  ([%d,]+) × [^:\n]*returns:[^ ]* ([^\n]+)" do
    lost[#lost + 1] = count .. " " .. text:gsub("^.*returns:%S+ ", "")
  end
  table.sort(lost)
  return r.out:gsub("sum %d+\n", ""), table.concat(lost, "\n")
end

-- A handler at the returns of SPECS that counts what e.arg0 and e.ret have to do with each other by EXPRESSION.
local function pairs_of(specs, expression)
  return ([[
local n = up.count()
up.uretprobe({ %s }, function(e) n[{ e.func, %s }]:inc() end)
up.at_exit(function() for k, v in n:pairs() do print(k[1], k[2], v) end end)
]]):format(specs, expression)
end

local function sorted(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines)
  return table.concat(lines, "; ")
end

-- The counts in WANT, a format, are per thread, if they begin with a colon.
local function check_threads(threads, unmoved, name, code, want, lost)
  local function scaled(text) return (text:gsub(":(%d+)", function(n) return n * threads end)) end
  local out, ledger = trace(code, threads, unmoved)
  is(sorted(out), scaled(want),
    ("%s, %d threads%s"):format(name, threads, unmoved and ", addresses not randomized" or ""))
  is(ledger, scaled(lost), "  … and what was not seen")
end

local function check(...)
  for _, threads in ipairs { 1, 4 } do check_threads(threads, false, ...) end
end

-- The same where the kernel's code that functions return to lies elsewhere, since the first thread's stack is where it
-- is otherwise.
local function check_everywhere(...)
  check(...)
  check_threads(4, true, ...)
end

check("101 nested calls, of which the kernel follows the 64 outermost",
  pairs_of('F .. "deep"', "e.ret * 2 == e.arg0 * (e.arg0 + 1) and e.arg0 > 37"), "deep\ttrue\t:64", ":37 " .. DEEP)
check("with nothing of the entry", [[
local n = up.count()
up.uretprobe(F .. "deep", function(e) n[e.ret > 37 * 38 / 2]:inc() end)
up.at_exit(function() for k, v in n:pairs() do print(k, v) end end)
]], "true\t:64", ":37 " .. DEEP)
check("each outer call takes longer than the one in it, with its probes", [[
local times = up.hash()
up.uretprobe(F .. "deep", function(e) times[{ e.tid, e.arg0 }] = e.elapsed + e.taken_off end)
up.at_exit(function()
  local longer = 0
  for k, elapsed in times:pairs() do
    if k[2] > 38 and elapsed > times[{ k[1], k[2] - 1 }] then longer = longer + 1 end
  end
  print(longer)
end)
]], ":63", ":37 " .. DEEP)
check_everywhere("two functions that call each other, by one handler",
  pairs_of('F .. "turn", F .. "twist"', "e.ret == e.arg0 and e.arg0 > 2"), "turn\ttrue\t:32; twist\ttrue\t:32",
    ":2 " .. DEEP)
check("by two handlers", pairs_of('F .. "turn"', "e.ret == e.arg0 and e.arg0 > 2") ..
  pairs_of('F .. "twist"', "e.ret == e.arg0 and e.arg0 > 2"), "turn\ttrue\t:32; twist\ttrue\t:32",
    ":1 " .. DEEP .. "\n:1 " .. DEEP)
check("calls that longjmp leaves", pairs_of('F .. "risky"', "e.ret == e.arg0 and e.arg1 == 0"), "risky\ttrue\t:505",
  ":115 " .. LEFT)
check_everywhere("and the one that they are left to",
  pairs_of('F .. "risky", F .. "tries"', "e.ret == e.arg0 and e.arg1 == 0 or e.ret == 101 and e.arg1 == 101"),
    "risky\ttrue\t:505; tries\ttrue\t:1", ":115 " .. LEFT)
check_everywhere("a function that jumps to another at its end",
  pairs_of('F .. "front", F .. "back"', "e.ret == e.arg0 + 1"), "back\ttrue\t:23; front\ttrue\t:23", "")
check_everywhere("stacks whose return addresses the kernel has replaced", [[
local n = up.count()
up.uretprobe(F .. "deep", function(e) n[{ e.arg0, e:ustack() }]:inc() end)
up.at_exit(function()
  local whole, least, most = 0, 1000, 0
  for k, count in n:pairs() do
    local below = k[2]:depth() - (101 - k[1]) -- frames, beside those of the calls around this one
    least, most = math.min(least, below), math.max(most, below)
    if not k[2]:incomplete() then whole = whole + count end
  end
  print(whole, least > 0 and least == most)
end)
]], ":64\ttrue", ":37 " .. DEEP)
check("threads that end in a call", pairs_of('F .. "last"', "e.ret == 7 and e.arg0 == 0"), "last\ttrue\t101",
  "23 " .. ENDED)

-- Functions that are left by going on on another stack: return probes end the program, probes on return instructions do
-- not.
local SWITCHES = 'uplua: if coroutines switches stacks (swapcontext) within a function of coroutines whose return ' ..
                 'is probed, the program ends: use --returns instructions, or returns = "instructions" in the script\n'
local function coroutines(given, options)
  return target.uplua(([[%s -e 'n, C = count(), "./build/targets/coroutines:"
    uretprobe({ C .. "before", C .. "yields", C .. "after", C .. "returns" }, { %s }, function(e)
      n[{ e.func, e.ret == e.arg0 or e.ret == 100 * e.arg0 or
          e.func == "returns", e.elapsed >= 0, e.caller ~= 0 }]:inc()
    end)' -- ./build/targets/coroutines]]):format(options or "", given))
end
local ALL = "sum 4307\nn:\nbefore, true, true, true   1,000\nyields, true, true, true      46\nafter, true, true, " ..
            "true    1,007\nreturns, true, true, true    101\n"
local SORTED = sorted(ALL)
local r = coroutines ""
is(r.status, 128 + 4, "a call that goes on on another stack while its return is probed ends the program")
is(r.err:match "^[^\n]*\n", SWITCHES, "… which was said before, in one line")
for given, options in pairs { ['returns = "instructions"'] = "", ['slide = false'] = "--returns instructions" } do
  r = coroutines(given, options)
  is(sorted(r.out), SORTED, given .. " " .. options .. ": each call is seen on whichever stack it is")
  is(r.err, "", "… the program lives, none is lost, nothing is to be warned of")
end
r = target.uplua [[-e 'uretprobe("./build/targets/coroutines:passes", { returns = "instructions" }, function(e) end)' \
  -- true]]
like(r.err,
  "coroutines:passes: it may jump to code outside of it, and return there: not all its returns would be seen\n",
  "a function that ends in a jump is refused")
r = target.uplua [[-e 'uretprobe("./build/targets/coroutines:after", { returns = "never" }, function(e) end)' -- true]]
like(r.err, "uretprobe: option 'returns': it is \"address\" or \"instructions\", not 'never'\n", "another option")
r = target.uplua [[-e 'uretprobe("libc:puts", function(e) end)' -- true]]
is(r.err, "", "the C library, which has swapcontext for others, is none that switches")
-- libcrypto, which many programs have, does so for those that ask for jobs, as openssl does.
for command, warning in pairs {
  ["curl --version"] = "^$", ["openssl version"] = "^uplua: if openssl switches stacks %(ASYNC_start_job%) [^\n]*\n$",
} do
  if tap.has(command:match "^%a+") then
    r = target.uplua([[-e 'uretprobe("libcrypto:OPENSSL_init_crypto", function(e) end)' -- ]] .. command)
    like(r.err, warning, command .. ": a warning where it is due")
  end
end

-- A program that goes on while entries and returns are attached one after the other, a place at a time on older
-- kernels, and detached.
r = target.shell [[
  ./build/targets/ticker >"$D/target" &
  program=$!
  until_said ready
  ./uplua -e 'n = count() uretprobe({ "ticker:step", "libc:isw*" }, function(e)
    if e.elapsed >= 0 then n[e.func]:inc() end end)
    every("10ms", function() if (n.step or 0) >= 23 then exit() end end)
    at_exit(function() print(n.step >= 23) end)' -- $program >"$D/out" 2>"$D/err"
  kill $program]]
is(r.out:match "true", "true", "calls of a program that runs")
is(r.err, "", "… nothing is counted that had begun before, or returned behind the end")

target.done()
tap.done_testing()
