-- One probe of many functions: patterns, lists, names of C++, source lines; e.func tells which; what must not be probed
-- is left out.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"

local SITES = "./build/targets/sites"

-- The output of CODE on the target, sorted, without what the target prints.
local function trace(code)
  local path = target.folder() .. "-sites.lua"
  local file = assert(io.open(path, "w"))
  file:write('local up = require "uplua"\nlocal S = "./build/targets/sites:"\n', code)
  file:close()
  local r = target.uplua(("%s -- %s"):format(path, SITES))
  os.remove(path)
  local lines = {}
  for line in r.out:gmatch "[^\n]+" do
    if not line:find "^sum " and not line:find "^tested 0x" then lines[#lines + 1] = line end
  end
  table.sort(lines)
  return table.concat(lines, "\n"), r.err:gsub("^uplua: tracing[^\n]*\n", ""), r.status
end

local COUNT = [[
local n = up.count()
up.%s(%s, function(e) %s n[%s]:inc() end)
up.at_exit(function() for k, v in n:pairs() do print(k, v) end end)
]]

local function counts(want, name, probe, spec, key, first)
  local out, err = trace(COUNT:format(probe, spec, first or "", key or "e.func"))
  tap.is(out, want, name)
  tap.is(err, "", name .. ": nothing else is said")
end

counts("again\t23\nfirst\t23\nmain\t1\nplain\t101\nsecond\t101", "a list of functions and patterns, each once",
  "uprobe", [[{ S .. "plain", S .. "ag*", S .. "main", S .. "mai*", S .. "first", S .. "second", S .. "alias" }]])
counts("ns::Klass::f(int)\t23\nns::Klass::f(long)\t101\nns::Klass::g()\t7", "methods of C++, by their class", "uprobe",
  [[S .. "ns::Klass::*"]])
counts("ns::Klass::f(int)\t23\nns::Klass::f(long)\t101", "one with its overloads", "uprobe", [[S .. "ns::Klass::f"]])
counts("ns::Klass::f(long)\t101", "one overload", "uprobe", [[S .. "ns::Klass::f(long)"]])
counts("ns::Klass::f(int)\t23\nns::Klass::f(long)\t101", "at their returns", "uretprobe", [[S .. "ns::Klass::f"]])
counts("ns::Klass::f(int), 3\t23\nns::Klass::f(long), 5\t101", "with what they return", "uretprobe",
  [[S .. "ns::Klass::f"]], "{ e.func, e.ret }")
counts("ns::Klass::f(int)\t23\nns::Klass::f(long)\t101\nplain\t101",
  "a pattern means what people read as well as what the linker does", "uprobe", [[S .. "[np][sl]*[fn]"]])
counts("ns::Klass::f(int), 1\t23\nns::Klass::f(long), 1\t101", "and their arguments", "uretprobe",
  [[S .. "ns::Klass::f"]], "{ e.func, up.i32(e.arg0) }")
counts("one\t101", "e.func is compared as any string", "uprobe", [[S .. "ns::*"]], [["one"]],
  [[if e.func ~= "ns::Klass::f(long)" then return end]])
counts("first, true\t23\nplain, false\t101", "and with s:starts", "uprobe", [[{ S .. "first", S .. "plain" }]],
  [[{ e.func, e.func:starts "fi" }]])

counts("x\t1", "in a loop", "uprobe", [[{ S .. "main", S .. "ns::Klass::g" }]], [["x"]],
  [[for i = 1, 3 do if i == 2 and e.func == "main" then n.x:inc() end end if true then return end]])

local long = target.uplua("-e 'n = count() uprobe(\"./build/targets/texts:thirty*\", " ..
                          "function(e) n[e.func]:inc() end)' -- ./build/targets/texts")
tap.like(long.out, "^n: thirty_two_[%l_]+…  2\n$", "names that are longer than e.func")
tap.is(long.err, "uplua: uprobe ./build/targets/texts:thirty*: e.func does not tell 1 of the functions from others, " ..
                 "whose names are the same in their first 127 bytes\nuplua: not everything was seen:\n" ..
                 "  2 × a key of 'n' was cut: keys that begin with the same text are one, -e:1\n",
  "… are said to be the same to it")

-- Functions of the kernel that one of several probes has (uplua.probe.claims), where it shows their names.
local claims = require "uplua.probe.claims"
local functions = core.probe.resolve_kernel "vfs_*"
local taken, all = {}, #functions:list()
tap.ok(claims.new(taken):sites(functions, "kernel entry") and #functions:list() == all and all > 1, "the first has all")
functions = core.probe.resolve_kernel "vfs_read"
tap.ok(not claims.new(taken):sites(functions, "kernel entry") and #functions:list() == 0, "the second none")
functions = core.probe.resolve_kernel "vfs_read"
tap.ok(claims.new(taken):sites(functions, "kernel return") and #functions:list() == 1, "but their returns")
functions = core.probe.resolve_kernel "ksys_*"
tap.ok(claims.new(taken):sites(functions, "kernel entry"), "and others")

-- --- --- source lines ---

local numbers, number = {}, 0
for text in io.lines "tests/targets/sites.c" do
  number = number + 1
  local what = text:match "/%* the (.-) line %*/" or text:match "/%* the line of (.-) %*/"
  if what then numbers[what] = number end
end
counts("first\t23", "a source line", "uprobe", ([["./build/targets/sites@sites.c:%d"]]):format(numbers.first))
counts("alias\t101\nfirst\t23", "a line that was inlined, wherever it was", "uprobe",
  ([["./build/targets/sites@targets/sites.c:%d"]]):format(numbers.inlined))
tap.like(select(2, trace(COUNT:format("uprobe", [["./build/targets/sites@sites.c:3"]], "", "1"))),
  "sites@sites%.c:3: no code of [^\n]*sites comes from that line; line %d+ has some", "a line without code")
tap.like(select(2, trace(COUNT:format("uprobe", [["./build/targets/sites@nosuch.c:3"]], "", "1"))),
  "no code of [^\n]* comes from a file 'nosuch%.c'", "a file that there is not")
tap.like(select(2, trace(COUNT:format("uprobe", [["./build/targets/leak-stripped@leak.c:3"]], "", "1"))),
  "has no debug information[^\n]*\n[^\n]*%-g", "a program without debug information")

-- --- --- what is left out ---

tap.like(select(2, trace [[up.uretprobe("libc:setjmp", function() end)]]),
  "libc:setjmp: a return probe there would crash or hang the program: it keeps its return address[^\n]*; use uprobe",
    "a return probe that would crash the program is refused")
local out, err = trace(COUNT:format("uretprobe", [[{ S .. "again", "libc:*context*" }]], "", "e.func"))
tap.is(out, "again\t23", "or left out where a pattern means it")
tap.like(err, "uretprobe [^\n]*: %d functions are left out[^\n]*\n  %d: it keeps its return address for later",
  "which is said")
tap.like(select(2, trace [[up.uretprobe("libc:*sigsetjmp", function() end)]]),
  "no function of that name can be probed: it keeps its return address", "nothing is left to probe")
local explained = target.uplua([[--explain -e 'uprobe("libc:*time*", function(e) end)']]).out
tap.like(explained, "\n  not at   [%w_]+: it chooses an implementation when it is first used %(IFUNC%)\n",
  "--explain lists what is left out")
tap.like(select(2, trace [[up.uprobe({}, function() end)]]), "uprobe: the first argument names the function",
  "an empty list is refused")
tap.like(select(2, trace [[up.uprobe({ "libc:malloc", 3 }, function() end)]]), "or it is a list of such names",
  "a list of other things too")
tap.like(select(2, trace [[up.uprobe(S .. "ns::Klass::h", function() end)]]), "did you mean ns::Klass::[fg]",
  "names of C++ are suggested")

-- --- --- all functions of libc ---

local sites, skipped = core.probe.resolve({ "libc:*" }, "exact"):list()
local offsets, names = {}, {}
for _, site in ipairs(sites) do
  names[site["function"]] = true
  offsets[site.offset] = (offsets[site.offset] or 0) + 1
end
local most = 0
for _, n in pairs(offsets) do most = math.max(most, n) end
tap.is(most, 1, "no two sites of libc are at one place")
tap.ok(#sites > 1500 and #skipped > 5, -- where libc comes without its local symbols, it has few that cannot be probed
   ("%d sites, %d left out"):format(#sites, #skipped))

-- Without links for many places each is an event, which the kernel takes 20 ms to set and longer to let go: fewer then.
local MANY = not target.has "uprobe_multi" and [["libc:__memc*", "libc:*longjmp*"]] or [["libc:*"]]
out, err = trace(([[
local n = up.count()
up.uprobe({ MANY, S .. "*" }, function(e) n[e.func]:inc() end)
up.at_exit(function() print(n.plain, n["ns::Klass::f(int)"], n.again,
    n.longjmp + n.siglongjmp + n._longjmp + n.__libc_siglongjmp + n.__libc_longjmp) end)
]]):gsub("MANY", MANY))
tap.is(out, "101\t23\t23\t23", "all functions of libc and of a program, each counted by its name")
tap.like(err, "function%a* %a+ left out", "but for those")

target.done()
tap.done_testing()
