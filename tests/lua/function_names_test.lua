-- What a function's name means: the function with the clones that compilers make of it, and all versions that a library
-- has of it; and how each is named alone.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- What is counted by the expression KEY at SPECS, a list, while PROGRAM runs: "key count", sorted; and what is said.
local function count(program, specs, key, probe, options)
  local list = {}
  for i, spec in ipairs(specs) do list[i] = ("%q"):format(spec) end
  local code = ([[
n = count()
%s({ %s }, %s function(e) n[%s]:inc() end)
at_exit(function() for k, v in n:pairs() do print("=", k, v) end end)]])
    :format(probe or "uprobe", table.concat(list, ", "), options or "", key or "e.func")
  local r = target.uplua(("-e %s -- %s"):format(target.quote(code), program))
  local lines = {}
  for name, number in r.out:gmatch "=\t([^\n]-)\t(%d+)" do lines[#lines + 1] = name .. " " .. number end
  table.sort(lines)
  return table.concat(lines, ", "), r.err:gsub("^uplua: tracing[^\n]*\n", "")
end

local function counts(want, name, ...)
  local out, err = count(...)
  is(out, want, name)
  is(err, "", "  … and nothing else is said")
end

-- --- clones, as gcc makes them ---

local CALC = "./build/targets/clones:calc"
local both = count("./build/targets/clones", { CALC })
if both:find "constprop" then
  counts("calc 2, calc.constprop.0 6", "a function with its clone", "./build/targets/clones", { CALC })
  counts("calc.constprop.0 6", "the clone alone", "./build/targets/clones", { CALC .. ".constprop.0" })
  counts("calc 2", "the function alone", "./build/targets/clones", { CALC .. "+0" })
  counts("calc 2, calc.constprop.0 6", "their returns", "./build/targets/clones", { CALC }, nil, "uretprobe")
  counts("calc, 0 1, calc, 1 1, calc.constprop.0, 0 1, calc.constprop.0, 1 1, calc.constprop.0, 2 1, " ..
         "calc.constprop.0, 3 1, calc.constprop.0, 4 1, calc.constprop.0, 5 1", "an argument that both have",
    "./build/targets/clones", { CALC }, '{ e.func, e.args.a }')
  like(select(2, count("./build/targets/clones", { CALC }, "e.args.mode")),
    "the argument 'mode' of [^\n]* cannot be read in a handler: in calc%.constprop%.0 ",
    "one that the clone does not have is refused, with the reason")
  counts("9 2", "and is there in the function alone", "./build/targets/clones", { CALC .. "+0" }, "e.args.mode")
else
  tap.skip("the compiler makes no clone of calc: " .. both)
end

-- --- clones by their names ---

local NAMES = "./build/targets/clone_names"
local function named(want, name, ...) counts(want, name, NAMES, { NAMES .. ":" .. (...) }, select(2, ...)) end

local APART = "apart 5, apart.isra.0 7, apart.isra.0.constprop.1 11, apart.lto_priv.0 13"
named(APART, "with clones of each kind, and clones of clones, but no parts", "apart")
named("apart.isra.0 7", "one that has a clone itself, alone", "apart.isra.0")
named("apart.isra.0.constprop.1 11", "a clone of that one", "apart.isra.0.constprop.1")
named("apart 5", "the function alone", "apart+0")
named("apart.part.0 17", "a part that is named", "apart.part.0")
named("apart.isra.0.cold 19", "another one", "apart.isra.0.cold")
named(APART, "a pattern that means the function's name means its clones", "[a]part")
local MORE = APART:gsub("apart.isra", "apart.5 2, apart.isra 3, %0", 1)
named(MORE, "one that means more means those, and no parts", "apart*")
named("gone.constprop.0 47, gone.constprop.1 53", "where nothing but clones is left", "gone")
named("ns::f(int) 41, ns::f(int) [clone .constprop.0] 43", "a function of C++", "ns::f")
named("ns::f(int) 41, ns::f(int) [clone .constprop.0] 43", "with its parameters", "ns::f(int)")
named("shared 23, shared.constprop.0 29", "a global function with its clone, not with those of another file's",
  "shared")
like(count(NAMES, { NAMES .. ":shared*" }), "^shared 54, shared%.constprop%.0 66$", "a pattern means all of them")
like(select(2, count(NAMES, { NAMES .. ":gone+0" })), "no such function in [^\n]*; did you mean gone%.constprop%.0",
  "a function that is gone is not there alone")

counts("width, -5 2, width.constprop.0, -50000000005 3", "what each returns, by its own type", NAMES,
  { NAMES .. ":width" }, "{ e.func, e.ret }", "uretprobe", "{ typed = true },")
local list = target.uplua("--list uprobe:" .. NAMES .. ":apart")
is(list.out:gsub("uprobe:/%S*/build/targets/clone_names:", ""), "apart\napart.isra.0  a clone of apart\n" ..
  "apart.isra.0.constprop.1  a clone of apart\napart.lto_priv.0  a clone of apart\n",
  "--list says what belongs together")
like(target.uplua("--json --list uprobe:" .. NAMES .. ":ns::f").out,
  '"of":"a clone of ns::f%(int%)"', "in JSON, too")

-- --- versions ---

local VERSIONS, LIBRARY = "./build/targets/versions", "./build/targets/libversions.so:"
counts("foo 2, foo@V1 6", "all versions of a function", VERSIONS, { LIBRARY .. "foo" })
counts("bar 11, bar@V1 5, bar@V10 7", "three", VERSIONS, { LIBRARY .. "bar" })
counts("foo@V1 6", "an older one alone", VERSIONS, { LIBRARY .. "foo@V1" })
counts("foo 2", "the default one alone", VERSIONS, { LIBRARY .. "foo@@V2" })
counts("bar@V1 5", "not one whose name begins so", VERSIONS, { LIBRARY .. "bar@V1" })
counts("bar@V10 7", "that one", VERSIONS, { LIBRARY .. "bar@V10" })
counts("bar 11, bar@V1 5, bar@V10 7", "a beginning of several names", VERSIONS, { LIBRARY .. "bar@V" })
counts("foo 2", "without a version, and alone", VERSIONS, { LIBRARY .. "foo+0" })
counts("same 124", "one function with two versions", VERSIONS, { LIBRARY .. "same" })
counts("same 124", "by an older name", VERSIONS, { LIBRARY .. "same@@V2" })
counts("bar 11, bar@V1 5, bar@V10 7, foo 2, foo@V1 6, same 124", "by a pattern", VERSIONS,
  { LIBRARY .. "[bfs]*[or]", LIBRARY .. "same" })
counts("foo 2, foo@V1 6", "at their returns", VERSIONS, { LIBRARY .. "foo" }, nil, "uretprobe")
counts("width, 65531 6, width@V1, -5 3", "what each version returns, by its own type", VERSIONS, { LIBRARY .. "width" },
  "{ e.func, e.ret }", "uretprobe", "{ typed = true },")
counts("65531 6", "the default one's", VERSIONS, { LIBRARY .. "width@@V2" }, "e.ret", "uretprobe", "{ typed = true },")
counts("-5 3", "the older one's", VERSIONS, { LIBRARY .. "width@V1" }, "e.ret", "uretprobe", "{ typed = true },")
counts("foo 8", "by a library's name alone", VERSIONS, { "libversions:foo" }, '"foo"')
like(select(2, count(VERSIONS, { LIBRARY .. "bar@V3" })),
  "libversions%.so:bar@V3: no such function in [^\n]*, which has [^\n]*bar@V1[^\n]*bar@@V2",
  "a version that there is not: which there are")
list = target.uplua("--list uprobe:" .. LIBRARY .. "foo")
is(list.out:gsub("uprobe:/%S*/build/targets/libversions.so:", ""), "foo\nfoo@V1  an older version of foo\n",
  "--list says which is which")

-- Each function of a trace is one, whatever else has its name.
local traced = target.uplua("trace.lua uprobe:" .. NAMES .. ":apart -- " .. NAMES)
local _, lines = traced.out:gsub("apart", "apart")
is(lines, 36, "a trace has each call once")

target.done()
tap.done_testing()
