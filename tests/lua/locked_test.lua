-- Functions that begin with a locked instruction, where the kernel puts no probe: they are probed behind it where
-- nothing is lost by that; else the message tells where a probe can be.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

if require "ffi".arch ~= "x64" then
  tap.skip "only x86_64 has lock prefixes"
  return tap.done_testing()
end

local FIRST, MORE = "./build/targets/locked_first", "./build/targets/locked_begins"
local TRUTH, SUMS = "truth: ref_get 5 calls, ref_put 5\n", "299 69 7856\n"

local function run(program, code)
  return target.uplua(("-e %s -- %s"):format(target.quote("n, s = count(), sum() " .. code), program))
end
local function probe(program, name, body, options, kind)
  return run(program, ('%s("%s:%s", %s, function(e) n:inc() %s end)'):format(kind or "uprobe", program, name,
    options or "{}", body or ""))
end

-- --- a reference count, as compilers make it ---

is(probe(FIRST, "ref_get").out, TRUTH .. "n: 5\ns: 0\n", "a command: each call")
is(probe(FIRST, "ref_get", "if e.arg0 ~= 0 and e.caller ~= 0 then s:add(1) end").out, TRUTH .. "n: 5\ns: 5\n",
  "with what the handler reads in registers, and the caller")
is(probe(FIRST, "ref_get", nil, nil, "uretprobe").out, TRUTH .. "n: 5\ns: 0\n", "returns")
is(probe(FIRST, "ref_get", nil, '{ returns = "instructions" }', "uretprobe").out, TRUTH .. "n: 5\ns: 0\n",
  "returns, by its return instruction, which is the next one")
is(run(FIRST, ('uprobe("%s:ref_*", function(e) n[e.func]:inc() end)'):format(FIRST)).out,
  TRUTH .. "n:\nref_get  5\nref_put  1\ns: 0\n", "a pattern")
local r = target.shell(FIRST .. [[ 900000 >"$D/out" & pid=$!
  ./uplua -e 'n = count() uprobe("]] .. FIRST .. [[:ref_get", function(e) n:inc() end)' -- $pid >"$D/counted" 2>&1
  wait $pid; cat "$D/counted" >>"$D/out"]])
like(r.out, "n: [1-5]\n", "a running process")
like(target.uplua(([[--explain -e 'uprobe("%s:ref_get", function(e) end)']]):format(FIRST)).out:gsub("\n +", " "),
  "ref_get%+0x4, offset 0x%x+ the kernel puts no probe on the function's first instruction",
  "--explain tells why")

-- --- where something would be lost ---

local PLACE = "the kernel puts no probe on the instruction at +0 of %s%s; the next one is at +%#x\n"
local function refuses(r, name, why, inside, what)
  local place = PLACE:format(name, why, inside)
  is(r.status, 1, what)
  is(r.err:find(place, 1, true) and place or r.err, place, "  and the message tells why")
end
local NOWHERE = ", and behind it is no place that sees each call once"
local GONE = ", and the handler reads what is gone behind it"

refuses(probe(FIRST, "ref_get", "s:add(up.read_u32(e.arg0))"), "ref_get", GONE, 4,
  "a handler that reads memory would read what the instruction has written")
refuses(probe(FIRST, "ref_get", nil, "{ slide = false }"), "ref_get", ", and slide = false keeps it from the next", 4,
  "slide = false")
is(probe(MORE, "pushes", "s:add(e.arg1)").out, SUMS .. "n: 23\ns: 253\n", "a push follows")
is(probe(MORE, "fetches").out, SUMS .. "n: 23\ns: 0\n", "it overwrites an argument that nobody reads")
is(probe(MORE, "spins", "s:add(e.arg1)").out, SUMS .. "n: 23\ns: 253\n", "it jumps to its first instruction")
is(probe(MORE, "spins", "s:add(e.arg1)", nil, "uretprobe").out, SUMS .. "n: 23\ns: 253\n", "  at the return, too")
is(probe(MORE, "fetches", "s:add(e.arg0 ~= 0 and 1 or 0)").out, SUMS .. "n: 23\ns: 23\n", "another one is there")
refuses(probe(MORE, "fetches", "s:add(e.arg1)"), "fetches", GONE, 5, "it overwrites the argument")
refuses(probe(MORE, "shared"), "shared", NOWHERE, 5, "others jump to what is behind it")
refuses(probe(MORE, "adds_all"), "adds_all", NOWHERE, 5, "a string instruction follows")

local pattern = run(MORE, ('uprobe("%s:[psfa]*[sdl]", function(e) n[e.func]:inc() end)'):format(MORE))
is(pattern.out, SUMS .. "n:\nfetches  23\npushes   23\nspins    23\ns: 0\n",
  "a pattern leaves out what it cannot count")
like(pattern.err, "2: the kernel puts no probe on its first instruction\n", "and says so")
pattern = run(MORE, ('uprobe("%s:[pf]*es", function(e) n[e.func]:inc() s:add(e.arg1) end)'):format(MORE))
is(pattern.out, SUMS .. "n: pushes  23\ns: 253\n", "so it does if a handler reads what is gone")
like(pattern.err, "the kernel puts no probe on the first instruction of fetches\n", "and says that, too")

target.done()
tap.done_testing()
