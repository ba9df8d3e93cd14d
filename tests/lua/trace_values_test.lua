-- trace.lua shows values by their types: structures to a depth, texts, lists, enums, addresses and times, strings and
-- vectors of C++; what lies about its length, leads in circles or to nothing ends, and is said.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local VALUES = "./build/targets/values"

-- What trace.lua prints with ARGUMENTS on PROGRAM, in its order: the last column of each event, with the lines below
-- that belong to it, joined by "\n"; addresses as ADDRESS. And the run.
local function trace(arguments, program)
  local run = target.uplua(("scripts/trace.lua %s -- %s"):format(arguments, program))
  is(run.status, 0, "trace.lua " .. arguments)
  if run.status ~= 0 then io.stderr:write(run.err) end
  local events = {}
  for line in run.out:gmatch "[^\n]+" do
    local event = line:match "^%d%d:%d%d:%d%d%.%d+  %S+ +%d+  (.*)$"
    if event then
      events[#events + 1] = event
    elseif line:find "^    " then
      events[#events] = events[#events] .. "\n" .. line
    end
  end
  for i, event in ipairs(events) do events[i] = event:gsub("0x%x%x%x%x%x+", "ADDRESS") end
  return events, run
end

-- --- scalars, and one structure with everything ---

local events, run = trace(VALUES .. ":scalars " .. VALUES .. ":show", VALUES)
is(run.err, "", "all of it is read")
local large = "scalars(mode=WRITE, state=IDLE, flag=true, letter=113 'q', large=139637976731648)"
is(events[1], large, "an enum's constant by its name, a character with its letter")
is(events[2], "scalars(mode=9, state=77, flag=false, letter=10, large=5)", "what has no name is a number")
local x86 = jit.arch == "x64"
is(events[3], [=[
show(all=ADDRESS {…}, line=12)
    all = ADDRESS {
      yes = true
      no = false
      letter = 120 'x'
      control = 7
      small = -8
      mode = READ|EXECUTE
      state = WIDE
      narrow = 5
      below = -6
      wide = 1094624909430
      most = 18446744073709551615
      least = -9223372036854775808
      point = {x=0.1, y=-2.5e+300, z=]=] .. (x86 and "1.25" or "?") .. [=[}
      numbers = [1, -2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, …]
      grid = [[1, 2, 3], [4, 5, 6]]
      text = "a\"\\\x01"
      full = "full"
      either = {word=16909060, bytes=[4, 3, 2, 1]}
      nothing = NULL
      function = ADDRESS
    }]=], "a structure, a field a line: bit fields, fractions, lists that are cut, unions")
is(#trace("--depth 0 " .. VALUES .. ":show", VALUES)[1]:gsub("[^\n]", ""), 0, "no structures where nobody wants them")

-- --- pointers ---

events = trace(VALUES .. ":list", VALUES)
is(events[1], 'list(node=ADDRESS {id=1, name="first", next=ADDRESS})', "a structure and its texts")
is(events[3], "list(node=ADDRESS {id=-1, name=0x8 (not readable), next=0x10})",
  "a text that is not there")
events = trace("--depth 3 " .. VALUES .. ":list", VALUES)
is(events[1], [[
list(node=ADDRESS {…})
    node = ADDRESS {
      id = 1
      name = "first"
      next = ADDRESS {id=2, name="second", next=ADDRESS {id=3, name=NULL, next=NULL}}
    }]],
  "to a depth")
local circle = select(2, events[2]:gsub('name ?= ?"ring"', ""))
is(circle, 3, "a circle goes so deep, and ends")
like(events[3], "next=0x10 %(not readable%)", "a pointer that lies")
events, run = trace(VALUES .. ":bad", VALUES)
local unreadable = "ADDRESS (not readable)"
is(events[1], ("bad(node=%s, text=%s, number=%s)"):format(unreadable, unreadable, unreadable),
  "memory that is not there")
is(events[2], "bad(node=NULL, text=NULL, number=NULL)", "NULL")
like(run.err, "unreadable memory read as nil, arguments of", "… which the ledger has, too")

-- --- returns ---

events = trace("--return " .. VALUES .. ":fill " .. VALUES .. ":give " .. VALUES .. ":give_text", VALUES)
like(events[1], '^fill%(text="filled with 42", size=256, count=ADDRESS → 14, node=ADDRESS {…}%) = 0 %(.*'
  .. "node = ADDRESS {id=%-7, name=NULL, next=NULL}$", "what a function fills is read when it returns")
like(events[2],
  '^give%(node=ADDRESS {…}%) = ADDRESS {…} %(.*\n    result = ADDRESS {id=1, name="first", next=ADDRESS}$',
  "what the result leads to")
like(events[3], "^give%(node=NULL%) = NULL %(", "nothing")
like(events[4], '^give_text%(%) = "given" %(', "a text")

-- --- every byte, times, addresses, the end of a page ---

events = trace(VALUES .. ":bytes", VALUES)
local seen = {}
for i, event in ipairs(events) do
  seen[i] = event:match '^bytes%(text="(.*)"%)$':gsub("\\x(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end):gsub('\\(["\\])', "%1")
end
local every = {}
for i = 1, 255 do every[i] = string.char(i) end
is(table.concat(seen), table.concat(every), "every byte is shown so that it can be told from others")
events = trace(("--depth 2 %s:times %s:addresses %s:edge"):format(VALUES, VALUES, VALUES), VALUES)
is(events[1], "times(wait=ADDRESS 1.000000005 s, date=ADDRESS 2023-11-14 22:13:20.250000 UTC)", "times")
is(events[2], "addresses(four=127.0.0.1:80, six=[::1]:443, path=unix:/run/a socket, typed=ADDRESS 127.0.0.1:80)",
  "addresses of sockets by their families")
like(events[3], '^edge%(page=ADDRESS {…}%)\n    page = ADDRESS {\n      bytes = "p+"…\n    }$', "to the end of a page")

is(trace(VALUES .. ":edge", VALUES)[1], "edge(page=ADDRESS)", "what is large stays an address, unless more is wanted")

-- --- on terminals ---

for _, columns in ipairs(target.has_terminal() and { 20, 200 } or {}) do
  local shown = target.shell(([[
    cat >"$D/s" <<'END'
TERM=xterm LC_ALL=C.UTF-8 COLUMNS=%d exec ./uplua scripts/trace.lua --depth 3 %s:list -- %s
END
    build/targets/pty sh "$D/s" >"$D/out" 2>"$D/err" </dev/null
  ]]):format(columns, VALUES, VALUES)).out:gsub("0x%x%x%x%x%x+", "ADDRESS")
  local whole = 'list(node=ADDRESS {id=1, name="first", next=ADDRESS {id=2, name="second", next=ADDRESS {id=3, '
    .. "name=NULL, next=NULL}}})\n"
  local indented = '    node = ADDRESS {\n      id = 1\n      name = "first"\n      next = ADDRESS {\n        id = 2\n'
  tap.ok(shown:find(columns == 200 and whole or indented, 1, true), ("in %d columns"):format(columns))
end

-- --- the kernel's ---

events = trace("--depth 2 raw_tracepoint:sched_process_exit", VALUES)
like(events[1], "^sched_process_exit%(p=ADDRESS {…}.*\n    p = ADDRESS {\n.*\n      …\n    }$", "its structures")
like(trace("raw_tracepoint:sched_process_exit", VALUES)[1], "^sched_process_exit%(p=ADDRESS[,)]", "not by default")

-- --- the C library's functions, with and without its debug information ---

if tap.has "perl" then
  local program = "perl -e '$SIG{USR1} = sub {}; for (1 .. 23) { kill USR1, $$ } open F, \"</etc/hostname\"; " ..
    "socket S, 2, 1, 0'"
  local kills = trace("libc:kill", program)
  is(#kills, 23, "kill")
  like(kills[1], "^kill%(pid=%d+, sig=SIGUSR1%)$", "a signal by its name")
  like(table.concat(trace("libc:socket", program), "\n"),
    "family=AF_INET, type=SOCK_STREAM|SOCK_CLOEXEC, protocol=IPPROTO_IP%)", "constants and flags")
  like(table.concat(trace("libc:open64", program), "\n"),
    'open64%(file[name]*="/etc/hostname", o?flags?=O_RDONLY|O_CLOEXEC', "flags, of another name of the function")
  local several = table.concat(trace("'libc:*kill*'", program), "\n")
  like(several, "kill%([^\n]*SIGUSR1", "of several functions")
end

-- --- C++ ---

for _, compiler in ipairs { "gcc", "gcc-4", "clang" } do
  local program = "./build/targets/containers-" .. compiler
  local specs = {}
  for i, name in ipairs { "text", "copied", "view", "list", "order", "liar" } do
    specs[i] = ("%s:%s"):format(program, name)
  end
  events = trace(table.concat(specs, " "), program)
  local function arguments(i) return (events[i]:gsub("^[^(]*%b()", "", 1):gsub("^%((.*)%)$", "%1")) end
  is(arguments(1), ('s="short", pointer="%s"… (300 bytes)'):format(("l"):rep(127)), compiler .. ": std::string")
  is(arguments(2), 's="", pointer=NULL', "empty, and none")
  is(arguments(3), [[s="a\x00b\x0a\xff", pointer="short"]], "of any bytes")
  is(arguments(4), 's="by value"', "by value")
  is(arguments(5), 'v="a view of it", behind=12', "std::string_view, in two registers")
  is(arguments(6), 'v="", behind=12', "an empty one")
  is(arguments(7), "v=[1, -2, 3], points=[{x=1, y=2}, {x=3, y=4}]", "std::vector, of each type its own")
  is(arguments(8), "v=[], points=NULL", "an empty one")
  like(arguments(9), "v = %[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, … %(1000 elements%)%]$", "a long one")
  like(arguments(10), 'o = ADDRESS {name="a teapot", pieces=%[7, 8%], view="seen", text="plain"}$', "in a structure")
  like(arguments(11), '%(s="short.*"… %(1152921504606846976 bytes%), v=.*, w=0x10 %(not readable%)%)\n'
    .. "    v = %[0, .*, 15, … %(288230376151711744 elements%)%]$", "lengths that lie")
  like(arguments(12), '%(s=NULL %(not readable%), v=.*, w=""%)', "and none")
end

-- --- Rust ---

if tap.has "rustc" then
  for _, level in ipairs { 0, 1 } do
    local program = target.folder() .. "-rust" .. level
    local build = ("rustc -g -C opt-level=%d -o %s tests/targets/containers.rs"):format(level, program)
    is(os.execute(build), 0, "rustc")
    local specs = {}
    for i, name in ipairs { "text", "owned", "list", "point" } do
      specs[i] = ("%s:*::%s"):format(program, name)
    end
    events = trace(table.concat(specs, " "), program)
    local whole = level == 0 -- what an optimised function does not read has no place
    like(events[1], whole and '^[^(]*text%(a="borrowed", n=7, b="an owned one"%)$' or ', n=7, b="an owned one"%)$',
      "&str and String, -O" .. level)
    like(events[2], ', n=8, b=""%)$', "an empty one")
    local moved = whole and "s=%(struct String%), k=%?" or 's="moved moved .*"… %(600 bytes%), k=%-3'
    like(events[3], "owned%(" .. moved .. "%)$", "one that is moved in")
    like(events[4], "list%(v=%[1, %-2, 3%], " .. (whole and "s=%[7, 8%], on=true%)$" or ""), "Vec, a slice")
    like(events[5], "v = %[0, 1, .*, 15, … %(1000 elements%)%]$", "a long one")
    like(events[6], "point%(p=ADDRESS {…}, c=65 'A'%)\n    p = ADDRESS {.*name=\"middle\", label=\"here\"", "a struct")
  end
end

-- --- Go ---

if tap.has "go" then
  local program = target.folder() .. "-go"
  local build = "GOCACHE=%s-cache GO111MODULE=off go build -o %s tests/targets/containers.go"
  is(os.execute(build:format(program, program)), 0, "go build")
  local specs = {}
  for i, name in ipairs { "text", "list", "point", "mixed", "many" } do
    specs[i] = ("%s:main.%s"):format(program, name)
  end
  events = trace("--depth 2 " .. table.concat(specs, " "), program)
  is(events[1], 'main.text(a="borrowed", n=7, b="an owned one")', "Go's string, and an address of one")
  is(events[2], 'main.text(a="", n=8, b="")', "an empty one")
  is(events[3], ('main.text(a="%s"… (300 bytes), n=9, b="an owned one")'):format(("l"):rep(127)), "a long one")
  is(events[4], "main.list(v=[1, -2, 3], s=[7, 8], on=true)", "slices")
  like(events[5], "^main.list%(v=%[…%], s=%[%], on=false%)\n    v = %[0, 0, .*, … %(1000 elements%)%]$",
    "a long one, none")
  is(events[6], "main.point(p=ADDRESS {…}, k=-3)\n    p = ADDRESS {x=1, y=-2, z=3, w=1099511627776, " ..
    'name="middle", label="here"}', "a structure")
  is(events[7],
    'main.mixed(m=(main.Mixed), x=(float64), a=(int [2]), b=(int [1]), none=(struct {}), s="behind", last=-6)',
    "what is in parts of words, on the stack, or in registers for fractions, takes its own")
  is(events[8],
    'main.many(a="a", b="bb", c="ccc", d="dddd", e=(struct string), f=(struct string), g=(struct string), h=8)',
    "… or has no room in registers")
  os.execute(("rm -rf %s-cache %s"):format(program, program))
end

target.done()
tap.done_testing()
