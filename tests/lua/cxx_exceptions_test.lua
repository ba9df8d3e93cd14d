-- Exceptions of C++ and return probes: one that passes through a function whose return is probed ends the program,
-- which is said beforehand; all other probes leave exceptions alone.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "./build/targets/cxx_exceptions"
local function run(code, options)
  return target.uplua(("%s -e '%s' -- %s"):format(options or "", code:gsub("PROGRAM", PROGRAM), PROGRAM))
end
-- What is said of FILES, once in a run.
local function warning(files)
  return ("uplua: %s code for exceptions: one that passes through a function whose return is " ..
          "probed ends the program\n"):format(files)
end

local r = run [[local n = count()
  for _, name in ipairs { "thrower", "middle", "main" } do uprobe("PROGRAM:" .. name, function(e) n[name]:inc() end) end
  at_exit(function() print("hits", n.thrower, n.middle, n.main) end)]]
is(r.out, "caught 23\ncalm 10100\nhits\t23\t23\t1\n", "entries of functions that exceptions pass through")
is(r.err, "", "… need no warning")
is(r.status, 0, "… and do no harm")

r = run [[local n, sum = count(), sum() uretprobe("PROGRAM:calm", function(e) n:inc() sum:add(e.ret) end)
  at_exit(function() print("hits", n:get(), sum:get()) end)]]
is(r.out, "caught 23\ncalm 10100\nhits\t101\t10100\n", "the return of a function that none passes through")
is(r.err, warning "cxx_exceptions has", "… with a warning, since nobody can know that")

r = run [[local n = count() uretprobe("PROGRAM:middle", function(e) n:inc() end)
  at_exit(function() print("hits", n:get()) end)]]
is(r.out, "hits\t0\n", "one that an exception passes through: it does not arrive")
is(r.err, warning "cxx_exceptions has" .. "terminate called after throwing an instance of 'int'\n", "… with a warning")
is(r.status, 128 + 6, "… and the program ends")

r = run([[uretprobe({ "PROGRAM:calm", "PROGRAM:midd*" }, function(e) end) uretprobe("PROGRAM:main", function(e) end)
  uretprobe("./build/targets/throws:main", function(e) end)]], "--explain")
is(r.err, warning "cxx_exceptions and throws have", "several probes in several files, one line, with --explain, too")

r = run [[local n = count() uretprobe("PROGRAM:calm", { throws = false }, function(e) n:inc() end)
  at_exit(function() print("hits", n:get()) end)]]
is(r.out .. r.err, "caught 23\ncalm 10100\nhits\t101\n", "whoever knows better says so, and is told nothing")

r = run [[local n, c = count(), 0
  uretprobe({ "PROGRAM:calm", "PROGRAM:middle" }, { returns = "instructions" }, function(e)
    n[{ e.func, e.elapsed >= 0 }]:inc() end)
  at_exit(function() print(n) end)]]
is(r.out, "caught 23\ncalm 10100\ncalm, true  101\n",
  "exceptions pass through functions whose return instructions are probed")
like(r.err, "^uplua: not everything was seen:\n  23 × [^\n]* calls left by longjmp, an exception, " ..
            "a jump to another function or the like: return not seen\n$",
     "… and the next call at the same place of the stack, at last that of calm, tells that one was left")

r = target.uplua [[-e 'local n = count() uretprobe("libc:puts", function(e) n:inc() end)
  uretprobe("./build/targets/calls:main", function(e) end)' -- ./build/targets/calls]]
is(r.err, "", "programs and libraries in C have none")

-- A static program has the unwinder in itself; stripped, it does not say so by names.
for _, case in ipairs {
  { "cxx_exceptions-static", "", "calm", true }, { "cxx_exceptions-static", "-stripped", "calm", true },
  { "cxx_exceptions-static-pie", "-stripped", "calm", true },
  { "sites-static", "-stripped", "main", false },
} do
  local name, warned = case[1] .. case[2], case[4]
  local symbols = io.popen("nm ./build/targets/" .. case[1])
  local spec = ("./build/targets/%s:0x%s"):format(name, symbols:read "*a":match("0*(%x+) T " .. case[3] .. "\n"))
  symbols:close()
  r = target.uplua(("-e 'n = count() uretprobe(\"%s\", function(e) n:inc() end)' -- ./build/targets/%s"):format(spec,
    name))
  is((r.err:gsub("/%S*/build/targets/", "")), warned and warning(name .. " has") or "",
    name .. (warned and " has code for exceptions" or " has none"))
  like(r.out, warned and "^caught 23\ncalm 10100\nn: 101\n$" or "\nn: 1\n$", "… and runs")
end

r = target.uplua(
  ("-e 'local tool = bpf_object \"build/objects/guest.bpf.o\" tool:attach(\"on_twice\", \"%s:calm\")' -- %s"):format(
  PROGRAM, PROGRAM))
ok(r.err:find(warning "cxx_exceptions has", 1, true), "programs of an object")

target.done()
tap.done_testing()
