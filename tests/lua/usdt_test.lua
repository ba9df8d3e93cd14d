-- USDT probes: exact counts and values of every kind of operand, semaphores, several places, stacks, and what is
-- refused.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "./build/targets/usdt"
local script = target.folder() .. "-usdt.lua"

local function write(text)
  local file = assert(io.open(script, "w"))
  file:write('local up = require "uplua"\n', text, '\nup.after(0, function() io.stderr:write "tracing\\n" end)\n')
  file:close()
end

-- Runs the script TEXT on the program, which has so many THREADS, as a user would by PID.
local function attached(threads, text)
  write(text)
  return target.attached(("%s %d wait"):format(PROGRAM, threads), script)
end

-- Runs it on the program as a command.
local function command(text, threads)
  write(text)
  return target.uplua(("%s -- %s %d"):format(script, PROGRAM, threads or 1))
end

-- --- the classic: one argument counts up, none is missing ---

local COUNTER = [[
local r = up.ring { size = "1M" }
up.usdt("usdt:app:counter", function(e) r:emit{ i = e.arg0, thread = e.arg1, tid = e.tid } end)
local next_of, seen, wrong, thread_of = {}, 0, 0, {}
r:each(function(ev)
  if ev.i ~= (next_of[ev.thread] or 0) then wrong = wrong + 1 end
  if (thread_of[ev.tid] or ev.thread) ~= ev.thread then wrong = wrong + 1 end
  thread_of[ev.tid] = ev.thread
  next_of[ev.thread], seen = ev.i + 1, seen + 1
end)
up.at_exit(function()
  print("seen", seen, "wrong", wrong)
  for thread = 0, 3 do print(thread, next_of[thread]) end
end)
]]
for _, threads in ipairs { 1, 4 } do
  local run = attached(threads, COUNTER)
  local want = ("seen\t%d\twrong\t0\n"):format(101 * threads)
  for thread = 0, 3 do want = want .. ("%d\t%s\n"):format(thread, thread < threads and "101" or "nil") end
  is(run.out, want, threads .. " threads: consecutive integers, none missing")
  is(run.err, "tracing\n", "and nothing was lost")
end

-- --- operands ---

local VALUES = [[
local n = up.count()
up.usdt("app:widths", function(e)
  up.printf("w %d %d %d %d %d %d %d %u %d\n", e.arg0, e.arg1, e.arg2, e.arg3, e.arg4, e.arg5, e.arg6, e.arg7, e.nargs)
  end)
up.usdt("app:text", function(e) n[{ "text", up.str(e.arg0), e.arg1 }]:inc() end)
up.usdt("app:places", function(e) n[{ "places", e.func, e.arg0 * 10 + e.arg1 }]:inc() end)
up.usdt("app:global", function(e) n[{ "global", e.func, e.arg0 + e.arg1 }]:inc() end)
up.usdt("app:indexed", function(e) n[{ "indexed", e.func, e.arg0 }]:inc() end)
up.usdt("app:fraction", function(e) n[{ "fraction", e.func, e.arg0 }]:inc() end)
up.usdt("app:none", function(e) n[{ "none", e.probe, e.nargs }]:inc() end)
up.usdt("other:counter", function(e) n[{ "other", e.func, e.arg0 }]:inc() end)
up.at_exit(function()
  local lines = {}
  for key, count in n:pairs() do lines[#lines + 1] = table.concat({ key[1], key[2], tostring(key[3]), count }, " ") end
  table.sort(lines)
  print(table.concat(lines, "\n"))
end)
]]
local want = { ["text uplua-23 8"] = 23, ["places app:places -27"] = 23, ["global app:global 2310"] = 23,
  ["none app:none 0"] = 23 }
for i = 0, 22 do
  want["places app:places " .. i * 10 + 1] = 2 -- two places whose operands are equal
  want["places app:places " .. i * 10 + 2] = 1
end
for i = 0, 6 do want["fraction app:fraction " .. i] = 1 end
for i = 1000, 1006 do want["other other:counter " .. i] = 1 end
for digit in ("31415926535897932384626"):gmatch "%d" do
  local key = "indexed app:indexed " .. digit
  want[key] = (want[key] or 0) + 1
end
local list = {}
for key, count in pairs(want) do list[#list + 1] = key .. " " .. count end
table.sort(list)

local run = command(VALUES)
is(run.err, "tracing\n", "all kinds of operands: nothing is lost")
local widths = {}
for i = 0, 22 do
  local n = -23 - i
  widths[i + 1] = ("w %d %d %d %d %d %.0f %d 184467440737095515%d 8"):format(n, n + 256, n, n + 65536, n, n + 2 ^ 32, n,
    93 - i)
end
is((run.out:gsub("guarded %d+\n", "")):match "^(w .-)\nfraction", table.concat(widths, "\n"), "all sizes and signs")
is(run.out:match "\n(fraction.*)\n$", table.concat(list, "\n"),
  "registers, memory, constants, symbols, indexes, strings")

-- --- several probes by one pattern ---

run = command [[
local n = up.count()
up.usdt("usdt:*:*", function(e) n[e.func]:inc() end)
up.at_exit(function() for _, name in ipairs { "app:counter", "app:places", "app:text", "app:guarded",
    "other:counter" } do print(name, n[name]) end end)
]]
is(run.out, "guarded 101\napp:counter\t101\napp:places\t92\napp:text\t23\napp:guarded\t101\nother:counter\t7\n",
  "a pattern: e.func tells them apart")
run = command([[
local n = up.count()
up.usdt("./build/targets/usdt:text", function(e) n:inc() end)
up.usdt("./build/targets/usdt::cou*", function(e) n:inc() end)
up.at_exit(function() print(n:get()) end)
]], 4)
is(run.out, "guarded 0\n" .. 4 * (23 + 101 + 7) .. "\n", "without a provider, of 4 threads")

-- --- semaphores ---

local GUARDED = [[
local n = up.count()
up.usdt("app:guarded", function(e) n[e.arg0]:inc() end)
up.at_exit(function() local sum = 0 for i = 0, 100 do sum = sum + (n[i] or 0) end print("hits", sum, n[100]) end)
]]
run = command(GUARDED .. (GUARDED:gsub("%f[%w]n%f[%W]", "m")))
is(run.out, "guarded 101\nhits\t101\t1\nhits\t101\t1\n", "two handlers at one probe with a semaphore")
run = attached(4, GUARDED)
is(run.out, "hits\t404\t4\n", "guarded by a semaphore: hits")
like(run.target, "\nguarded 404\n$", "the program has seen its semaphore each time")
if tap.has("readelf", "binutils") then
  run = target.shell(([[
    address=$(readelf -n %s | grep -A1 "Name: guarded" | sed -n "s/.*Location: \(0x[0-9a-f]*\),.*/\1/p")
    ./uplua -e "usdt('%s:app:guarded', function(e) end) uprobe('%s:$address', function(e) end)" -- %s 2>"$D/err"
  ]]):format(PROGRAM, PROGRAM, PROGRAM, PROGRAM))
  like(run.err, "^uplua: uprobe cannot attach to guard in %S+: the kernel refuses a probe at file offset 0x%x+; " ..
    "beside a USDT probe that raises a semaphore, or another tracer's probe with such a counter, it takes none without",
    "beside it the kernel takes no uprobe, which is said")
end
write(GUARDED)
run = target.shell(([[
  mkfifo "$D/a" "$D/b"
  %s 1 wait <"$D/a" >"$D/target" & traced=$!
  exec 7>"$D/a"
  %s 1 wait <"$D/b" >"$D/other" & other=$!
  exec 8>"$D/b"
  await 'grep -q ready "$D/target" && grep -q ready "$D/other"' $traced $other
  ./uplua %s -- $traced >"$D/out" 2>"$D/err" 7>&- 8>&- & uplua=$!
  until_traces_or_ends
  printf x >&8
  await 'grep -q guarded "$D/other"' $other
  kill -TERM $uplua
  wait $uplua
  printf x >&7
  await 'grep -q guarded "$D/target"' $traced
  cat "$D/other" >>"$D/out"
  exec 7>&- 8>&-
  wait
]]):format(PROGRAM, PROGRAM, script))
like(run.out, "hits\t0\t0\nready %d+\nguarded 0\n$", "another process of the program does not notice")
like(run.target, "\nguarded 0\n$", "and the traced one not any more afterwards")

-- --- stacks and places ---

run = attached(1, [[
local stacks, ips = up.count(), up.count()
up.usdt("app:text", function(e) stacks[e:ustack()]:inc() ips[e.ip]:inc() end)
up.usdt("app:places", function(e) stacks[e:ustack()]:inc() end)
up.at_exit(function()
  local lines = {}
  for s, count in stacks:pairs() do
    local names = {}
    for i, frame in ipairs(s:frames()) do names[i] = frame.symbol or "?" end
    lines[#lines + 1] = count .. " " .. table.concat(names, " ")
  end
  table.sort(lines)
  print(table.concat(lines, "\n"))
  for _, count in ips:pairs() do print("ip", count) end
end)
]])
local function count_stacks(name)
  local sum = 0
  for count, rest in ("\n" .. run.out):gmatch("\n(%d+) " .. name .. "([^\n]*)") do
    if rest:find "^ work main%f[ %z]" then sum = sum + count end
  end
  return sum
end
is(count_stacks "text", 23, "e:ustack() in the middle of a function")
is(count_stacks "places", 92, "at each of several places")
like(run.out, "\nip\t23\n$", "e.ip is where the probe stands")
is(run.err, "tracing\n", "stacks: nothing is lost")

write [[up.usdt("./build/targets/usdt:app:places", function(e) up.printf("%d\n", e.arg0) end)]]
run = target.uplua("--explain " .. script)
like(run.out, "usdt ./build/targets/usdt:app:places\n  at +/%S+/usdt:app:places, offset 0x%x+\n? *:? *the nop that",
  "--explain: where it stands")
local _, programs = run.out:gsub("\n? *usdt ./build", "")
is(programs, 3, "a program for each way in which the arguments are found")

-- --- what is refused ---

for _, case in ipairs(tap.fewer({ -- asks nothing of the kernel
  { [["./build/targets/usdt:app:countre", function(e) end]],
    "usdt ./build/targets/usdt:app:countre: no such USDT probe in /%S+/build/targets/usdt; did you mean counter%?" },
  { [["./build/targets/usdt:ap:counter", function(e) end]], "no provider 'ap' in /%S+/usdt; did you mean app%?" },
  { [["/bin/sh:app:counter", function(e) end]], "there are no USDT probes in /%S+: it was built without them" },
  { [["/nope:app:counter", function(e) end]], "no such file: /nope" },
  { [["nosuchlibrary:counter", function(e) end]], "nosuchlibrary" },
  { [["counter", function(e) end]], "'counter' names no USDT probe; write BINARY:PROVIDER:NAME" },
  { [["a:b:c:d", function(e) end]], "'a:b:c:d' names no USDT probe" },
  { [[17, function(e) end]], "usdt: the first argument names the probe" },
  { [["./build/targets/usdt:app:none", { slide = true }, function(e) end]], "usdt: unknown option 'slide'" },
  { [["./build/targets/usdt:app:counter", function(e) up.exit(e.arg2) end]],
    "usdt ./build/targets/usdt:app:counter has 2 arguments, which begin with e.arg0" },
  { [["./build/targets/usdt:app:none", function(e) up.exit(e.arg0) end]],
    "usdt ./build/targets/usdt:app:none has no arguments" },
  { [["./build/targets/usdt:app:fraction", function(e) up.exit(e.arg1) end]],
    "argument 'arg1' of ./build/targets/usdt:app:fraction cannot be read in a handler: " ..
    "it is a floating%-point number" },
  { [["./build/targets/usdt:app:counter", function(e) up.exit(e.args.i) end]],
    "the arguments of usdt ./build/targets/usdt:app:counter have no names" },
  { [["./build/targets/usdt:app:counter", function(e) up.exit(e.caller) end]],
    "has no field 'caller'; it has .*those of e.arg0 … that the probe has, e.nargs" },
}, {})) do
  write("up.usdt(" .. case[1] .. ")")
  run = target.uplua(script)
  is(run.status, 1, case[1] .. ": refused")
  like(run.err, case[2], case[1] .. ": why")
end

-- Damaged notes: the word that stands OFFSET bytes before the strings of probe NAME is BY more.
local function damage(from, to, name, offset, by)
  local file = assert(io.open(from, "rb"))
  local bytes = file:read "*a"
  file:close()
  local at = bytes:find("app\0" .. name .. "\0", 1, true) - offset
  file = assert(io.open(to, "wb"))
  file:write(bytes:sub(1, at - 1), string.char((bytes:byte(at) + by) % 256), bytes:sub(at + 1))
  file:close()
end
local damaged = target.folder() .. "-damaged"
for _, case in ipairs(tap.fewer({
  -- the probe's address: one byte behind the nop
  { "text", 24, 1, "a probe there, where no nop is, would corrupt the program" },
  { "text", 21, 64, "its address lies outside of the code" },
  { "guarded", 6, 64, "its semaphore is at an address where none can be" },
  { "guarded", 8, 1, "its semaphore is at an address where none can be" },
}, {})) do
  damage(PROGRAM, damaged, case[1], case[2], case[3])
  run = target.uplua(("-e 'usdt(\"%s:app:%s\", function(e) end)'"):format(damaged, case[1]))
  is(run.status, 1, "a damaged note of " .. case[1])
  like(run.err, "app:" .. case[1] .. " in /%S+damaged cannot be probed: its note is damaged: " .. case[4], "why")
  run = target.uplua(("-v --list usdt:%s:app:%s"):format(damaged, case[1]))
  like(run.out, "\n    cannot be probed: its note is damaged: " .. case[4], "the list tells it too")
end
os.remove(damaged)

-- A process that keeps the kernel from raising a semaphore.
local sealed = target.attached("./build/targets/probe_kinds sealed sealed", [[-e '
  local hits, guarded = count(), count()
  usdt("./build/targets/probe_kinds:app:deed", function(e) hits:inc() end)
  usdt("./build/targets/probe_kinds:app:guarded", function(e) guarded:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function() print("seen", hits:get(), guarded:get()) end)']])
is(sealed.out, "seen\t404\t0\n",
  "a semaphore in memory that the process cannot write to: the probe behind it is not passed")
like(sealed.err, "^uplua: usdt ./build/targets/probe_kinds:app:guarded: process %d+ has made its semaphore " ..
                 "unwritable, so that the kernel cannot raise it: " ..
     "app:guarded is not passed there unless it is traced otherwise\ntracing\n$", "… which is told, of that probe only")

target.done()
os.remove(script)
tap.done_testing()
