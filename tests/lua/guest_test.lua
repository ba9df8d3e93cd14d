-- BPF objects that somebody else has compiled: their programs attached, every hit counted, their maps, rings and
-- variables by their types; what is refused; and the manual's example.
local examples = require "examples"
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local OBJECT = "build/objects/guest.bpf.o"
local WARNING = "uplua: object build/objects/guest.bpf.o: the keys of its map untyped are not typed %(no BTF, " ..
                "or key_size and value_size instead of __type%): " ..
                "they are strings of bytes\n"

local path = target.folder() .. "-guest.lua"
local file = assert(io.open(path, "w"))
file:write [=[
local up = require "uplua"
local tool = up.bpf_object("build/objects/guest.bpf.o", { words = "struct short_event" })
local own = up.count()
print("before", tool.rodata.limit, tool.rodata.wanted, tool.rodata.enabled,
      tool.data.started, tool.bss.total, tool.bss.lows[3])
tool.rodata.limit, tool.rodata.wanted, tool.rodata.enabled = 9, "wanted", true
tool.data.started, tool.bss.lows = 24, { [0] = -1, [3] = -4 }
tool.maps.counts[3] = 77
tool:attach("on_others", "./build/targets/typed:others")
tool:attach("on_twice")
tool:attach("on_told", { slide = false })
up.uprobe("./build/targets/typed:others", function(e) own:inc() end)
local sum, words, lines, kept = 0, 0, {}
tool.maps.events:each(function(e)
  sum = sum + e.number / 2 ^ 40
  lines[#lines + 1] = ("%s %d %d %d"):format(e.text, e.values[0], e.values[1], e.values[2])
  kept = kept or up.copy(e)
end)
tool.maps.words:each(function(e) words = words + e.number - 2 ^ 32 end)
up.after(0, function() if arg[1] then io.stderr:write "tracing\n" end end) -- for target.attached
up.at_exit(function()
  local values, keys = tool.maps.values, {}
  for k, v in values:pairs() do
    keys[#keys + 1] = table.concat({
      k.color_and_2, k.letter, k.places[0], k.places[1], v.count, tostring(v.largest), v.low, v.high, tostring(v.flag),
      v.color, v.comm, v.name, v.word, v.bytes[0], v.bytes[3], v.inner.level, #v.inner.ratio, ("%.0f"):format(v.sum),
    }, " ")
  end
  table.sort(keys)
  print(table.concat(keys, "\n"))
  print("key", values:get { color_and_2 = 7, letter = 120, places = { [0] = -3, 3 } } ~= nil,
        values:get { color_and_2 = 7, letter = 120 } == nil, values:size())
  values:set({ color_and_2 = 9 }, { high = -5, low = 7, color = -2, comm = "sixteen letters.", bytes = { [1] = 2 } })
  local v = values[{ color_and_2 = 9 }]
  print("set", v.high, v.low, v.color, v.comm, v.word, v.count, values:delete { color_and_2 = 9 }, values:size())
  print("array", tool.maps.counts[0], tool.maps.counts[3], tool.maps.counts[4])
  local per, all = tool.maps.by_cpu[1], 0
  for cpu = 0, #per do all = all + per[cpu] end
  print("percpu", all, tool.maps.scratch[0][0].values[2])
  print("ring", #lines, sum, lines[1], lines[#lines], kept.text, words)
  print("untyped", tool.maps.untyped["\255\255\255\255"], tool.maps.untyped:size())
  print("variables", tool.bss.total, tool.bss.last_pid > 1, tool.data.started, tool.rodata.limit, tool.rodata.wanted,
        tool.bss.lows[0], tool.bss.lows[1], tool.bss.lows[3])
  tool.bss.total = 5
  print("after", tool.bss.total, select(2, pcall(function() tool.rodata.limit = 3 end)))
  print("own", own:get())
end)
]=]
file:close()

local function line(out, name) return out:match("\n" .. name .. "\t([^\n]*)") end

-- What CALLS calls in each of THREADS leave.
local function check(run, threads, calls, what)
  local counts, sums = { [0] = 0, 0, [7] = 0 }, { [0] = 0, 0, [7] = 0 }
  for i = 1, calls do
    local color = i % 3 == 0 and 0 or i % 3 == 1 and 1 or 7
    counts[color], sums[color] = counts[color] + threads, sums[color] - threads * i * 2 ^ 40
  end
  local want = {}
  for _, color in ipairs { 0, 1, 7 } do
    want[#want + 1] =
      ("%d 120 -3 3 %d 18446744073709551615ULL 5 -9 true %d typed wanted 16909060 4 1 -7 8 %.0f"):format(color,
      counts[color], color - 2, sums[color])
  end
  like(run.out, table.concat(want, "\n"):gsub("%-", "%%-"),
    what .. ": a hash's keys and values, field by field, and every hit")
  is(line(run.out, "key"), "true\ttrue\t3", "… keys as records of the script's own")
  is(line(run.out, "set"), "-5\t7\t-2\tsixteen letters.\t512\t0\ttrue\t3", "… and values; what is left out is 0")
  is(line(run.out, "array"), ("%d\t77\tnil"):format(calls), "… an array, also as set before it was there")
  is(line(run.out, "percpu"),
    ("%d\t0"):format(threads * (math.floor((calls - 1) / 3) + 1 + math.floor((calls + 1) / 3))),
    "… a value for each CPU")
  is(line(run.out, "ring"),
     ("%d\t%d\ttext 1 -1 -1 9\ttext %d -%d -1 9\ttext 1\t%d"):format(calls, calls * (calls + 1) / 2, calls, calls,
       -((calls + 1) / 2) ^ 2),
     "… rings, typed by their declaration and by the script")
  is(line(run.out, "untyped"), "abc\t" .. calls, "… what has no type is bytes")
  is(line(run.out, "variables"), ("%d\ttrue\t24\t9\twanted\t-1\t0\t-4"):format(threads * calls), "… variables")
  like(line(run.out, "after"), "^5\t.*'limit' is in .rodata, which cannot be changed once the object is loaded",
    "… written to once the object is loaded")
  is(line(run.out, "own"), tostring(threads * calls), "… and a handler of the script's own beside it")
  like(run.err,
    ("not everything was seen:\n%%s+%d × words: records that are shorter than their type"):format((calls - 1) / 2),
    "… records that are too short are counted")
end

local run = target.uplua(path .. " -- ./build/targets/typed 1 23")
is(run.out:match "before[^\n]*", "before\t5\tnone\tfalse\t23\t0\t0", "variables before the object is loaded")
like(run.err, "^" .. WARNING, "what is not typed is said")
is(run.status, 0, "a command ends as it does alone")
check(run, 1, 23, "one thread")
check(target.uplua(path .. " -- ./build/targets/typed 4 101"), 4, 101, "four threads")
check(target.attached("./build/targets/typed 4 23 wait", path .. " tell", true), 4, 23, "a process that runs")

-- A program of the same kind beside the target is none of its hits, where the kernel can tell them apart.
run = target.shell(([[
  ./build/targets/typed 4 101 >/dev/null & other=$!
  ./uplua %s -- ./build/targets/typed 1 23 >"$D/out" 2>"$D/err" </dev/null
  wait $other
]]):format(path))
if run.err:find "it is also hit by processes and threads that are not traced: this kernel does not keep them apart" then
  ok(true, "the kernel does not filter, and that is said")
else
  is(line(run.out, "own"), "23", "another process runs the same program")
  is((line(run.out, "variables") or ""):match "^%d+", "23", "… whose hits the object's programs do not see")
end

run = target.uplua(
  ("--follow -e 'local tool = bpf_object %q tool:attach \"on_twice\"' -- ./build/targets/typed 1 1"):format(OBJECT))
like(run.err, "program on_twice: it is also hit by processes and threads that are not traced: %-%-follow, ",
  "who is traced beside the target is nothing to an object")

-- --- other kinds ---

run = target.uplua(([=[-e 'local tool = bpf_object "%s"
  tool:attach("on_mark", "./build/targets/usdt:app:counter", { cookie = 77 })
  local n, sum, same, good = 0, 0, {}, true
  tool.maps.events:each(function(e)
    n, sum = n + 1, sum + e.values[0]
    good = good and e.number == 2 and e.values[2] == 77 and e.values[0] == (same[e.values[1]] or 0)
    same[e.values[1]] = e.values[0] + 1
  end)
  at_exit(function() print("usdt", n, sum, good, #same) end)' -- ./build/targets/usdt 4]=]):format(OBJECT))
is(line(run.out, "usdt"), "404\t20200\ttrue\t3",
  "USDT: each thread counts up by ones, none missing, with the arguments and the cookie that usdt.bpf.h reads")

run = target.uplua(([[-e 'local tool = bpf_object "%s"
  tool:attach "on_exit" tool:attach "on_raw_exit" tool:attach("on_fault", "page-faults", { period = 1 })
  at_exit(function() for i = 1, 3 do print("kernel" .. i, tool.maps.counts[i] > 0) end
    end)' -- ./build/targets/typed 1 1]]):format(OBJECT))
is(line(run.out, "kernel1"), "true", "a tracepoint")
is(line(run.out, "kernel2"), "true", "a raw tracepoint")
is(line(run.out, "kernel3"), "true", "a perf event")

run = target.uplua [[-e 'local tool = bpf_object "build/objects/core.bpf.o"
  tool:attach "read_task"
  at_exit(function() print("core", tool.bss.tgid > 1, tool.bss.there) end)' -- ./build/targets/typed 1 1]]
is(line(run.out, "core"), "true\t2", "fields of the kernel's structures are found, and those that are not there")

like(target.uplua(("-e 'print(bpf_object %q)'"):format(OBJECT)).out,
     "map values: hash of struct key → struct value\n.*map counts: array of u64\n.*" ..
     "variable wanted in .rodata: char%[8%]\n", "print")

-- --- what is refused ---

local function refused(code, want, name, object, environment)
  local said =
    target.shell(
      ("%s ./uplua -e %s -- ./build/targets/typed 1 1 >\"$D/out\" 2>\"$D/err\" </dev/null"):format(environment or "",
    target.quote(("local tool = bpf_object(%q) %s"):format(object or OBJECT, code))))
  like(said.err:gsub(WARNING, ""), "^uplua: " .. want, name)
  ok(not said.out:find "done", "… before the command has begun")
end
local BEGIN = "%-e:1: object build/objects/%w+.bpf.o: "
refused("", "%-e:1: object /nowhere/tool.bpf.o: No such file or directory\n", "no such file", "/nowhere/tool.bpf.o")
refused("", "%-e:1: object /etc/passwd: it cannot be loaded: it is no ELF file\n", "no object", "/etc/passwd")
refused("",
  "%-e:1: object ./uplua: it cannot be loaded: it is for a CPU, not for BPF: compile it with clang %-target bpf",
  "a program", "./uplua")
-- Copies of which some bytes are others: what they refer to is not there.
local function damaged(what, change)
  local bytes = assert(io.open(OBJECT, "rb")):read "*a"
  local copy = path:gsub("%.lua$", "") .. ".bpf.o"
  local out = assert(io.open(copy, "wb"))
  out:write(change(bytes))
  out:close()
  local said = target.uplua(("-e 'bpf_object(%q)' -- true"):format(copy))
  is(said.err,
    ("uplua: -e:1: object %s: it cannot be loaded: it is damaged: %s\n  -e:1: in the main chunk\n"):format(copy, what),
    "a damaged object: " .. what)
  os.remove(copy)
end
local function replace(bytes, at, with) return bytes:sub(1, at - 1) .. with .. bytes:sub(at + #with) end
local BTF = "\159\235\1%z" -- its magic number and version; 24 bytes behind that begins the first type, with its name
damaged("its BTF leads nowhere", function(bytes) return replace(bytes, bytes:find(BTF) + 24, "\255\255\255\127") end)
damaged("its BTF leads nowhere", function(bytes) return replace(bytes, bytes:find(BTF) + 12, "\255\255\255\255") end)
damaged("its sections or symbols lead nowhere", function(bytes) return replace(bytes, 0x28 + 1, "\255\255\255\255") end)
damaged("its sections or symbols lead nowhere", function(bytes) return bytes:sub(1, -2) end)

refused('tool:attach "on_packet"',
  BEGIN .. 'program on_packet is of the kind SEC%("xdp"%), which uplua does not attach; it attaches uprobe, ',
  "a kind that has no provider")
refused('tool:attach "on_tould"', BEGIN .. "it has no program 'on_tould'; did you mean 'on_told'?", "no such program")
refused('tool:attach "on_others"',
  BEGIN ..
  'program on_others, SEC%("uprobe"%): it does not say where to; tool:attach%("on_others", "libc:malloc"%) does',
  "no place")
refused('tool:attach("on_others", "./build/targets/typed:othres")',
  BEGIN .. "program on_others, uprobe .*: no such function in .*; did you mean others?", "no such function")
refused('tool:attach("on_told", { slid = false })',
  BEGIN .. "program on_told, uprobe: unknown option 'slid'; did you mean 'slide'", "an option")
refused('tool:attach("on_fault", "cpu-clock")',
  BEGIN .. "program on_fault, perf cpu%-clock: how often%? Options: { hertz = 99 } or { period = 1 }", "how often")
refused('tool:attach "refused"',
  "object " .. OBJECT .. ": the kernel's verifier refuses the program refused:\n.*R%d invalid mem access",
  "what the verifier refuses, with its log")
refused('tool:attach("on_mark", "./build/targets/usdt:app:indexed")',
        "object " .. OBJECT ..
        ": program on_mark, usdt .*: its argument 0, '.-', is not in a place that usdt.bpf.h knows",
          "an argument that usdt.bpf.h cannot read")
refused('tool:attach "read_nothing"', "object .*: the kernel's verifier refuses the program read_nothing:\n.*failed " ..
                                      "to resolve CO%-RE relocation <byte_off> .* struct task_struct.no_such_field",
        "a field that the kernel does not have", "build/objects/core.bpf.o")
refused('tool:attach "read_task"', "object .*: it refers to types of the kernel %(CO%-RE%), " ..
                                   "and this kernel has no BTF that they could be found in %(CONFIG_DEBUG_INFO_BTF%)",
        "a kernel without BTF", "build/objects/core.bpf.o", "UPLUA_WITHOUT=btf")
refused('tool:attach "count" print(tool.bss.hits)',
  BEGIN .. "its .bss of 8 bytes is not typed: it has no BTF %(compile it with %-g%)", "an object without BTF",
  "build/objects/untyped.bpf.o")
refused("tool.rodata.limt = 1", BEGIN .. "no variable 'limt' in .rodata; did you mean 'limit'%?", "no such variable")
refused("tool.rodata.limit = 2 ^ 31", BEGIN .. "limit: 2147483648 is not in %-2147483648 … 2147483647",
  "a value that is too large")
refused('tool.rodata.wanted = "123456789"', BEGIN .. "wanted: '123456789' is longer than the 8 bytes of its place",
  "a text that is too long")
refused("print(tool.maps.stacks)",
  BEGIN .. "its map stacks is of the kind stack_trace, which scripts have no object for", "a kind of map")
refused("print(tool.maps.words)",
  BEGIN .. "the records of words are not typed: name their type, up.bpf_object%(path, { words = \"struct …\" }%)",
  "a ring that is not typed")
refused("print(tool.maps.word)", BEGIN .. "it has no map 'word'; did you mean 'words'%?", "no such map")
refused('tool.maps.values:set({ colour = 1 }, {})', "%-e:1: .*unknown field 'colour'", "no such field")
refused("print(tool.sections)", BEGIN:gsub("%%%-e:1: ", "%%-e:1: ") ..
  "a BPF object has maps, rodata, data, bss and :attach%(%), no 'sections'", "a name that it does not have")
refused('uprobe("./build/targets/typed:told", function(e) tool.maps.counts[1] = 2 end)',
  "%-e:1: a handler cannot change 'tool.maps.counts', which belongs to the script", "its maps in a handler")
run = target.uplua(("-e 'bpf_object(%q, { wrds = \"struct short_event\" })'"):format(OBJECT))
like(run.err:gsub(WARNING, ""),
  "^uplua: " .. BEGIN .. "it has no map 'wrds' that records could be told of; did you mean 'words'",
  "a type for no ring")
run = target.uplua(("-e 'bpf_object(%q, { words = \"struct nothing\" })'"):format(OBJECT))
like(run.err:gsub(WARNING, ""), "^uplua: " .. BEGIN .. "its BTF has no type 'struct nothing' for the records of words",
  "a type that there is not")

-- --- the manual ---

local text = assert(io.open "doc/api.md"):read "*a"
local source = text:match "\n```c\n(.-)\n```"
if tap.has "clang" then
  local name = target.folder() .. "-deliver"
  local out = assert(io.open(name .. ".bpf.c", "w"))
  out:write(source, "\n")
  out:close()
  local machine = io.popen("uname -m"):read "*l"
  is(os.execute(
     ("clang -g -O2 -target bpf -D__TARGET_ARCH_%s -isystem /usr/include/%s-linux-gnu -c -o %s.bpf.o %s.bpf.c"):format(
       machine == "aarch64" and "arm64" or "x86", machine, name, name)), 0, "the manual's object compiles")
  for _, example in ipairs(examples.of "doc/api.md") do
    local code, uses = example.code:gsub('"deliver.bpf.o"', ("%q"):format(name .. ".bpf.o"))
    if uses > 0 then is(examples.run(code), example.output, "… and the script prints what the manual says") end
  end
  os.remove(name .. ".bpf.o")
  os.remove(name .. ".bpf.c")
end
os.remove(path)
target.done()
tap.done_testing()
