-- Exceptions of C++ and return probes: one that passes through a function whose return is probed ends the program, which is said beforehand; all other
-- probes leave exceptions alone.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM = "./build/targets/unwound"
local function run(code, options)
  return target.uplua(("%s -e '%s' -- %s"):format(options or "", code:gsub("PROGRAM", PROGRAM), PROGRAM))
end
local function warning(what)
  return ("uplua: %s: %s has code for exceptions: one that passes through "):format(what, "/[^\n]*/build/targets/unwound")
end
local ENDS = " while its return is probed ends the program\n"

local r = run [[local n = count()
  for _, name in ipairs { "thrower", "middle", "main" } do uprobe("PROGRAM:" .. name, function(e) n[name]:inc() end) end
  at_exit(function() print("hits", n.thrower, n.middle, n.main) end)]]
is(r.out, "caught 23\ncalm 10100\nhits\t23\t23\t1\n", "entries of functions that exceptions pass through")
is(r.err, "", "… need no warning")
is(r.status, 0, "… and do no harm")

r = run [[local n, sum = count(), sum() uretprobe("PROGRAM:calm", function(e) n:inc() sum:add(e.ret) end) at_exit(function() print("hits", n:get(), sum:get()) end)]]
is(r.out, "caught 23\ncalm 10100\nhits\t101\t10100\n", "the return of a function that none passes through")
like(r.err, "^" .. warning "uretprobe ./build/targets/unwound:calm" .. "calm" .. ENDS .. "$", "… with a warning, since nobody can know that")

r = run [[local n = count() uretprobe("PROGRAM:middle", function(e) n:inc() end) at_exit(function() print("hits", n:get()) end)]]
is(r.out, "hits\t0\n", "one that an exception passes through: it does not arrive")
like(r.err, "^" .. warning "uretprobe ./build/targets/unwound:middle" .. "middle" .. ENDS .. "terminate called after throwing an instance of 'int'\n", "… with a warning")
is(r.status, 128 + 6, "… and the program ends")

r = run([[uretprobe({ "PROGRAM:calm", "PROGRAM:midd*" }, function(e) end)]], "--explain")
like(r.err, "^" .. warning "uretprobe ./build/targets/unwound:calm, ./build/targets/unwound:midd%*" .. "one of 2 functions" .. ENDS .. "$", "several, and --explain")

r = target.uplua [[-e 'local n = count() uretprobe("libc:puts", function(e) n:inc() end) uretprobe("./build/targets/calls:main", function(e) end)' -- true]]
is(r.err, "", "programs and libraries in C have none")

r = target.uplua(("-e 'local tool = object \"build/objects/guest.bpf.o\" tool:attach(\"on_twice\", \"%s:calm\")' -- %s"):format(PROGRAM, PROGRAM))
like(r.err, "\nuplua: object build/objects/guest.bpf.o: program on_twice, uretprobe ./build/targets/unwound:calm: /[^\n]*/unwound has code for exceptions: ", "programs of an object")

target.done()
tap.done_testing()
