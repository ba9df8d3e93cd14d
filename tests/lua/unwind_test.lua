-- Stacks of programs that were built without frame pointers, frame by frame.
local tap = require "tap"
local target = require "target"
local is, ok, like = tap.is, tap.ok, tap.like

local path = target.folder() .. "-chain.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local stacks = up.count()
local returns = up.count()
up.uprobe(arg[1] .. ":mark", function(e) stacks[e:ustack()]:inc() end)
if arg[2] == "mapped" then
  local ffi = require "ffi"
  ffi.cdef "int kill(int pid, int signal);"
  local ready = up.ring()
  up.uprobe(arg[1] .. ":mapped", function(e) ready:emit { pid = e.pid } end)
  ready:each(function(ev)
    up.symbol(ev.pid, 0) -- takes in all that the kernel has recorded of mappings until now
    ffi.C.kill(tonumber(ev.pid), 10)
  end)
elseif arg[2] then
  up.uretprobe(arg[1] .. ":" .. arg[2], function() returns:inc() end)
end
up.at_exit(function()
  for s, count in stacks:pairs() do
    local names = {}
    for i, frame in ipairs(s:frames()) do names[i] = frame.symbol or "?" end
    print(count, s:incomplete() or "whole", table.concat(names, " "), tostring(s):match "([^\n]*)$":match "%S.*")
  end
end)
]]
file:close()

-- The same of probes by address: the names, and how often.
local every = target.folder() .. "-every.lua"
file = assert(io.open(every, "w"))
file:write [[
local up = require "uplua"
local stacks = up.count()
for i = 2, #arg do up.uprobe(arg[1] .. ":" .. arg[i], function(e) stacks[e:ustack()]:inc() end) end
up.at_exit(function()
  for s, count in stacks:pairs() do
    local names = {}
    for i, frame in ipairs(s:frames()) do names[i] = frame.symbol or "?" end
    print(table.concat(names, " "), count)
  end
end)
]]
file:close()

-- The same at `mark` of stacks of several depths, of which the walk learns where the stack ends: how many frames they
-- have, and how often.
local depths = target.folder() .. "-depths.lua"
file = assert(io.open(depths, "w"))
file:write [[
local up = require "uplua"
local few, all = up.count(), up.count()
up.uprobe(arg[1] .. ":mark", function(e)
  few[e:ustack(7)]:inc() all[e:ustack()]:inc() few[e:ustack(3)]:inc() all[e:ustack()]:inc()
end)
up.at_exit(function()
  local lines = {}
  for _, stacks in ipairs { few, all } do
    for s, count in stacks:pairs() do
      lines[#lines + 1] = ("%3d %d %s"):format(s:depth(), count, s:frames()[s:depth()].symbol) end
  end
  table.sort(lines)
  print(table.concat(lines, ", "))
end)
]]
file:close()

-- What a run says on standard error where stacks are incomplete: most end in code without a table. And where some code
-- without one has told of its caller itself.
local INCOMPLETE = "uplua: not everything was seen:\n  %%d+ × stack incomplete: %s\n"
local NO_TABLE = "a frame's code has no unwind table and no frame pointer"
local GUESSED = "uplua: not everything was seen:\n  %d+ × stack with frames marked as guessed: [^\n]*\n"

-- What ends the stack of a program's first thread below main: the names, and on the last line why they are not more.
local GLIBC = { names = " main .*_start$", incomplete = false }
-- The same without randomized addresses: the stack is then where the kernel's [uprobes] code is otherwise.
local UNMOVED = { names = GLIBC.names, incomplete = false, prefix = "setarch -R " }
local BY_CODE = { names = GLIBC.names, incomplete = false, guessed = true }
local MUSL = { names = " main [%w_?]+ _start$", incomplete = false, guessed = true }

-- Runs PROGRAM with ARGUMENTS: { names, count, whole, last line } of each stack, the shallow ones first. RETURNED: a
-- function that a return probe waits for; "mapped": the program waits until its new mappings are known.
local function stacks(program, arguments, bottom, returned)
  local run = target.shell(('%s./uplua %s %s %s -- %s %s >"$D/out" 2>"$D/err" </dev/null'):format(bottom.prefix or "",
    path, program, returned or "", program, arguments))
  if bottom.incomplete then
    like(run.err, "^" .. INCOMPLETE:format(bottom.cause or NO_TABLE) .. "$",
      ("%s %s: what is missing is counted"):format(program, arguments))
  elseif bottom.guessed then
    like(run.err, "^" .. GUESSED .. "$", ("%s %s: what is guessed is said"):format(program, arguments))
  else
    is(run.err, "", ("%s %s: nothing is missing"):format(program, arguments))
  end
  local list = {}
  for count, whole, names, last in run.out:gmatch "(%d+)\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)\n" do
    list[#list + 1] = { names = names, count = tonumber(count), whole = whole == "whole", last = last }
  end
  table.sort(list, function(a, b) return #a.names < #b.names end)
  return list
end

-- The only one of LIST, of a run as KIND, which ends at BOTTOM.
local function only(list, program, kind, bottom)
  is(#list, 1, ("%s %s: one stack"):format(program, kind))
  local one = list[1] or { names = "", last = "" }
  is(one.count, 1, "once")
  is(one.whole, not bottom.incomplete, bottom.incomplete and "which is incomplete" or "which is whole")
  return one
end

-- The only stack of such a run.
local function stack(program, kind, bottom, returned)
  return only(stacks(program, kind, bottom, returned), program, kind, bottom)
end

-- The stacks of one run as each of KINDS, by kind: they all pass the function of that name, which main has called.
local function stack_of_each(program, kinds, bottom)
  local list, found = stacks(program, table.concat(kinds, " "), bottom), {}
  is(#list, #kinds, ("%s: as many stacks as kinds"):format(program))
  for _, kind in ipairs(kinds) do
    local of_kind = {}
    for _, one in ipairs(list) do
      if one.names:find(" " .. kind .. " main ", 1, true) then of_kind[#of_kind + 1] = one end
    end
    found[kind] = only(of_kind, program, kind, bottom)
  end
  return found
end

-- FRAMES between `mark` and main, and what is below.
local function check_names(one, frames, what, bottom)
  is(one.names:match "^(.-) main ", "mark " .. frames, what)
  like(one.names, bottom.names, "down to the program's first function, or the end of what has a table")
  if bottom.incomplete then is(one.last, bottom.incomplete, "which is said") end
end

local function check(program, kind, frames, what, bottom, returned)
  check_names(stack(program, kind, bottom, returned), frames, what, bottom)
end

-- CHAINS: { kind, frames, what }, of one run; the stacks of all, by kind.
local function check_each(program, chains, bottom, also)
  local kinds = {}
  for i, chain in ipairs(chains) do kinds[i] = chain[1] end
  kinds[#kinds + 1] = also
  local found = stack_of_each(program, kinds, bottom)
  for _, chain in ipairs(chains) do check_names(found[chain[1]], chain[2], chain[3], bottom) end
  return found
end

local DESCEND = "descend "

-- What each program can do, whoever has built it.
local CHAINS = {
  { "shallow", DESCEND:rep(23) .. "shallow", "23 calls" },
  { "deep", DESCEND:rep(101) .. "deep", "101 calls" },
  { "tail", "tail", "a tail call, whose caller has no frame any more" },
  { "variable", "variable", "a frame of variable size" },
  { "aligned", "aligned", "an aligned frame" },
  { "expression", "expression", "a CFA in memory" },
  { "saved", "saves based saved", "registers that are saved where expressions say" },
  { "held", "holds based held", "registers that have the values of expressions" },
}

local function check_chains(program, bottom)
  local handler = check_each(program, CHAINS, bottom, "handler").handler
  -- The trampoline; where it is no instruction that raises the signal, also the functions of libc that do.
  local between = jit.arch == "x64" and "[%w_?]+" or "[%w_?]+ [%w_?.]+ raise"
  like(handler.names:gsub(" gsignal ", " raise "), "^mark on_signal " .. between .. " handler main ",
    "through a signal handler to what it interrupted")
  like(handler.names, bottom.names, "and on")
  check(program, "shallow", DESCEND:rep(23) .. "shallow",
    "23 calls whose return addresses are hidden by a return probe", bottom, "descend")
  table.insert(CHAINS, table.remove(CHAINS, 1)) -- each is the first that is walked, of one program or another
end

-- Below what handles the fault of going where nothing can be executed.
local function check_faults(program, bottom)
  local faults = stack_of_each(program, { "null", "data", "first" }, bottom)
  for _, kind in ipairs { "null", "data" } do
    like(faults[kind].names, "^mark on_fault [%w_?]+ [%w_?]+ " .. kind .. " main ",
      kind .. ": to what called an address where nothing can be executed")
    like(faults[kind].names, bottom.names, "and on")
  end
  like(faults.first.names, "^mark on_fault [%w_?]+ take first main ",
    "to a function that was interrupted before its first instruction")
  like(faults.first.names, bottom.names, "and on")
  local lost = stack(program, "lost", { incomplete = "[mapping not known]", cause = "a frame's mapping was not known" })
  like(lost.names, "^mark on_fault [%w_?]+ [%w_?]+$", "no further than to such an address where it was not called")
  is(lost.last, "[mapping not known]", "which is said")
end

-- The stack of a program that is about to be told that it has called address 0.
local function check_delivered(program)
  local run = target.uplua(([[-e 's = count()
    tracepoint("signal:signal_deliver", function(e) if e.args.sig == 11 then s[e:ustack()]:inc() end end)
    at_exit(function() for k, n in s:pairs() do print(n, k:incomplete(), k:text { offsets = false, one_line = " " }) end
      s:clear() end)' -- %s null]]):format(program))
  like(run.out, "^1\tnil\t%[unknown%] 0x0 null main .*_start\n$", "where it stands it was called from")
  is(run.err, "", "nothing is missing")
end

-- What needs call frame information of the C library.
local function check_libc(program)
  like(stack(program, "sorted", GLIBC).names, "^mark compare .* sorted main .*_start$", "through libc")
  like(stack(program, "thread", GLIBC).names, "^mark thread_main %S+ %S+$",
       "a thread, down to its start: start_thread and clone3, where those have names")
  like(stack(program, "mappings", GLIBC, "mapped").names, "^mark compare .* sorted again mappings main .*_start$",
       "through libc, which lies above 307 other executable mappings")
  local contended = stacks(program, "contended", GLIBC, "mapped")
  is(#contended, 7, "seven stacks while two threads change the mappings")
  for round, one in ipairs(contended) do
    is(one.count, 1, "a stack of its own")
    ok(one.whole, "which is whole")
    like(one.names, "^mark compare .* sorted " .. ("again "):rep(round) .. "mappings main .*_start$", "in each round")
  end
end

for _, program in ipairs { "./build/targets/chain", "./build/targets/chain-clang" } do
  check_chains(program, GLIBC)
  check_libc(program)
  check_faults(program, GLIBC)
  check_delivered(program)
  check(program, "library", "called_back inner through library", "through a library that was loaded a moment ago",
    GLIBC, "mapped")
end

for _, program in ipairs { "./build/targets/chain", "./build/targets/chain-static-pie" } do
  check(program, "shallow", DESCEND:rep(23) .. "shallow", "23 such calls where addresses are not randomized", UNMOVED,
    "descend")
  check(program, "aligned", "aligned", "an aligned frame that a return probe waits for", UNMOVED, "aligned")
end

for _, program in ipairs { "./build/targets/chain-static-pie", "./build/targets/chain-static-pie-clang" } do
  check_chains(program, GLIBC)
  check_libc(program)
end

for kind, frames in pairs { shallow = 29, deep = 107 } do -- with mark, shallow or deep, main, and three below it
  local run = target.uplua(("%s ./build/targets/chain -- ./build/targets/chain %s"):format(depths, kind))
  is(run.out, ("  3 1 descend,   7 1 descend, %3d 2 _start\n"):format(frames),
    kind .. ": whole after one that was cut, and again")
  is(run.err, "", "nothing is missing")
end

-- Through the kernel's code in the program: samples of a program that asks for the time, until enough were in there.
-- Its own functions there are one, or what the kernel's compiler has made of it.
local sampled = target.folder() .. "-sampled.lua"
file = assert(io.open(sampled, "w"))
file:write("local HERTZ = ", target.hertz(1999), [[

local up = require "uplua"
local stacks = up.count()
up.profile(HERTZ, function(e) stacks[e:ustack()]:inc() end)
local function is_inside(frame) return frame ~= nil and frame.module == "[vdso]" end
up.every("20ms", function()
  local inside = 0
  for s, count in stacks:pairs() do inside = inside + (is_inside(s:frames()[1]) and count or 0) end
  if inside >= 101 then up.exit() end
end)
up.at_exit(function()
  for s in stacks:pairs() do
    local names = {}
    for _, frame in ipairs(s:frames()) do
      if not is_inside(frame) then names[#names + 1] = frame.symbol or "?"
      elseif names[#names] ~= "vdso" then names[#names + 1] = "vdso" end
    end
    if names[1] == "vdso" then print(table.concat(names, " ")) end
  end
end)
]])
file:close()
for _, program in ipairs(tap.fewer({ "./build/targets/chain", "./build/targets/chain-clang" },
  { "./build/targets/chain" })) do
  for kind, calls in pairs { clocked = 23, late = 101 } do
    local run = target.shell(([[
      %s %s >"$D/target" &
      program=$!
      until_said ready
      ./uplua %s -- $program >"$D/out" 2>"$D/err"
      kill $program
    ]]):format(program, kind, sampled))
    local places, wrong = 0, nil
    for names in run.out:gmatch "([^\n]*)\n" do
      places = places + 1
      if not names:find("^vdso [%w_]*clock_gettime[%w_]* ticks " .. ("lower "):rep(calls) .. kind ..
        " main %S+ [%w_]+ _start$") then wrong = names end
    end
    ok(places > 0, ("%s %s: samples in the vDSO"):format(program, kind))
    is(wrong, nil, ("each is %d calls, and main, below the C library's"):format(calls))
  end
end

-- .debug_frame: as it is, compressed, and in a separate debug file. What the linker adds has .eh_frame.
for _, program in ipairs(
  tap.fewer({ "./build/targets/chain-debug-frame", "./build/targets/chain-debug-frame-zlib",
  "./build/targets/chain-debug-frame-split" }, {})) do
  check_chains(program, GLIBC)
  check(program, "library", "called_back inner through library", "a library beside it", GLIBC, "mapped")
end

-- Code without call frame information, in a file with some and in a file with none: by what the code does to the stack.
for _, kind in ipairs { "bare", "none" } do
  for _, program in ipairs { "./build/targets/chain-" .. kind, ("./build/targets/chain-%s-pointers"):format(kind) } do
    check_each(program, {
      { "shallow", DESCEND:rep(23) .. "shallow", "23 calls by their code" },
      { "deep", DESCEND:rep(101) .. "deep", "101 calls by their code" },
      { "variable", "variable", "a frame of variable size by its pointer" },
      { "aligned", "aligned", "an aligned frame by its pointer" },
    }, BY_CODE)
  end
end
check("./build/targets/bare/chain", "library", "called_back inner through library",
  "through a library without a table", BY_CODE, "mapped")

-- Code that the program has made: with frame pointers, without.
check("./build/targets/chain", "generated", "? generate generated", "through code in memory by its frame pointer",
  GLIBC)
if jit.arch == "arm64" then
  check("./build/targets/chain", "unframed", "? generate unframed", "through such code, by itself", GLIBC)
else
  local unframed = stack("./build/targets/chain", "unframed", { incomplete = "[no unwind table: [anon]]" })
  is(unframed.names, "mark ?", "into such code, and no further")
  is(unframed.last, "[no unwind table: [anon]]", "which is said")
end

-- musl is built without call frame information; its signal trampoline is known by its code.
check_chains("./build/targets/chain-musl", MUSL)
check_faults("./build/targets/chain-musl", MUSL)
if tap.fewer(true, false) then
  check_chains("./build/targets/chain-musl-clang", MUSL)
  check_chains("./build/targets/chain-musl-static", MUSL)
end
check("./build/targets/chain-musl", "library", "called_back inner through library", "a library beside musl", MUSL,
  "mapped")

-- Exceptions: code that is run from landing pads, for which gcc has functions of their own (.cold).
for _, program in ipairs { "./build/targets/pads", "./build/targets/pads-clang" } do
  local function plain(one) return { names = one.names:gsub("%.cold", ""), last = one.last } end

  check_names(plain(stack(program, "caught", GLIBC)), "catcher " .. DESCEND:rep(23) .. "caught",
    "in a catch block below 23 calls", GLIBC)
  local cleaned = stacks(program, "cleaned", GLIBC)
  is(#cleaned, 23, "23 calls with something to destroy")
  for calls, one in ipairs(cleaned) do
    is(one.count, 1, "a stack of its own")
    check_names(plain(one), "destroy Guard::~Guard() " .. ("guarded "):rep(calls) .. "cleaned",
      "destroyed by a landing pad", GLIBC)
  end
  local rethrown = stacks(program, "rethrown", GLIBC)
  is(#rethrown, 2, "caught twice")
  check_names(plain(rethrown[1]), "rethrown", "at last above 101 calls", GLIBC)
  check_names(plain(rethrown[2]), ("again "):rep(101) .. "rethrown", "first below them", GLIBC)
end

-- Each instruction of a stub of the procedure linkage table, those of the table's head, and the last one of a leaf
-- function.
if jit.arch == "x64" then
  for _, program in ipairs { "./build/targets/chain", "./build/targets/chain-clang" } do
    local run = target.shell(([[
      objdump -d --no-show-raw-insn -j .plt -j .text %s >"$D/code"
      addresses() { sed -n "/<$1>:/,/^\$/s/^ *\([0-9a-f]*\):\t\($2\).*/0x\1/p" "$D/code"; }
      head=$(addresses '.*plt-0x10' | head -n 2)
      ./uplua %s %s $(addresses qsort@plt) $head $(addresses mark ret) -- %s sorted >"$D/out" 2>"$D/err"
    ]]):format(program, every, program, program))
    is(run.err, "", "nothing is missing")
    local plain, leaf, strange = 0, 0, nil
    for names, count in run.out:gmatch "([^\n]*)\t(%d+)\n" do
      if names:find "^%S+ sorted main .*_start$" and count == "1" then
        plain = plain + 1
      elseif names:find "^mark compare .* sorted main .*_start$" then
        leaf = leaf + 1
      elseif not names:find "^%? main .*_start$" then -- through the head, too: what main itself calls
        strange = names
      end
    end
    is(strange, nil, "no other stack")
    is(plain, 5, "three instructions of qsort@plt, and the two behind them, see its caller")
    is(leaf, 1, "a leaf function's last one too")
  end
end

-- The first instruction of a part that gcc has put apart from its function: it is jumped to, where the function's frame
-- is under way.
if jit.arch == "x64" then
  local program = "./build/targets/pads"
  local function seen(part, kind)
    local run = target.uplua(("%s %s %s -- %s %s"):format(every, program, part, program, kind))
    is(run.err, "", ("%s: nothing is missing"):format(part))
    return run.out
  end
  like(seen("catcher.cold", "caught"), "^catcher%.cold " .. DESCEND:rep(23) .. "caught main .*_start\t1\n$",
    "below 23 calls")
  like(seen("rethrown.cold", "rethrown"), "^rethrown%.cold main .*_start\t1\n$", "below one")
  for _, spec in ipairs { program .. ":catcher.cold",
                          "./build/targets/chain:$(objdump -d -j .plt ./build/targets/chain | sed -n '/^ " ..
                          "/{s/^ *\\([0-9a-f]*\\):.*/0x\\1/p;q}')" } do
    local run =
      target.shell(([[./uplua -e 'uretprobe(arg[1], function() end)' "%s" -- true >"$D/out" 2>"$D/err"]]):format(spec))
    like(run.err,
         ": a return probe there would crash the program: the code there is entered by a jump, not by a call; " ..
         "use uprobe\n",
           "no return probe there: what it would replace is no return address")
  end
end

-- What the loader calls before the program runs ends where the loader itself begins, of which no call frame information
-- tells.
do
  local run = target.uplua [[-e 's = count() uprobe("libc:__libc_early_init", function(e) s[e:ustack()]:inc() end)
    at_exit(function() for k, n in s:pairs() do local f = k:frames()
      print(n, k:incomplete(), f[1].symbol, f[#f].module) end s:clear() end)' -- true]]
  like(run.out, "^1\tnil\t__libc_early_init\t[^\n]*ld%-linux[^\n]*\n$", "a stack below the program's loader is whole")
  is(run.err, "", "and nothing is missing")
end

-- Tables from the disk are the same.
local cached = target.shell(([[
  for run in 1 2; do
    UPLUA_CACHE=$D/cache ./uplua %s ./build/targets/chain -- ./build/targets/chain sorted >>"$D/out" 2>>"$D/err"
    ls -i "$D/cache" >"$D/$run"
  done
  cmp "$D/1" "$D/2" && grep -c . "$D/1" >>"$D/out"
]]):format(path))
local first, second, files = cached.out:match "^(1\twhole\tmark compare [^\n]* sorted main [^\n]*\n)([^\n]*\n)(%d+)\n$"
is(cached.err, "", "nothing is missing in two runs with a folder for tables")
ok(first and first == second, "both have the whole stack")
ok((tonumber(files) or 0) > 0, "the second by what the first has left")

os.remove(path)
os.remove(every)
os.remove(sampled)
os.remove(depths)
target.done()
tap.done_testing()
