-- e.args has what callers pass, however compilers pass it and whatever they drop; and says why where it cannot be had.
-- Each function of tests/targets/cxx_parameters.cc and optimised_parameters.c by two compilers, as they optimise and as
-- they do not.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like
local x86 = jit.arch == "x64"

-- Runs BINARY under a probe of all functions that SPECS name; returns their calls, sorted, without addresses and the
-- types that stand for what cannot be read.
local function calls_of(binary, specs)
  local words = {}
  for i, spec in ipairs(specs) do words[i] = ("%q"):format("uprobe:./build/targets/" .. binary .. ":" .. spec) end
  local run = target.uplua(([[-e 'local calls = {}
    require "uplua.trace".each({ %s }, {}, function(event) calls[#calls + 1] = event.call end)
    at_exit(function() print(table.concat(calls, "\n")) end)' -- ./build/targets/%s]]):format(table.concat(words, ", "),
                                                                                              binary))
  is(run.err, "", binary .. ": nothing is lost")
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do -- a member that the function never reads the caller need not write
    lines[#lines + 1] = line:gsub("0x%x+", "ADDRESS"):gsub("copied={v=%-?%d+}", "copied={v=ANY}"):gsub("=%b()", "=?")
  end
  table.sort(lines)
  return lines
end

-- --- C++ ---

local letter = x86 and -1 or 255 -- char has no sign on aarch64
local PASSED = {
  small = "s={x=1, y=2}, a=12", two = "s={x=1, y=2}, a=12", mixed = "s=?, a=12, b=13",
  floats = "s=?, a=12", large = "s=?, a=12",
  empty = "arg0=?, a=12", packed = "s=?, a=12",
  copied = "s=ADDRESS {v=1}, a=12", destroyed = "s=ADDRESS {v=1}, a=12", defaulted = "s={v=1}, a=12",
  moved = "s={v=1}, a=12", member = "s=ADDRESS {copied={v=ANY}, w=2}, a=12", derived = "s={x=0, y=0, z=0}, a=12",
  bits = "s={a=5, b=-7, c=70000}, a=12", narrow_bits = "x=1, s={version=4, length=5, service=7}, a=12",
  late_bits = "s={x=1, u=2, v=3, w=4}, a=12", real_bits = "s=?, a=12, arg2=?, b=13",
  packed_bits = "s={u=1, v=2, w=3}, a=12",
  owner = "p=ADDRESS {_M_t={_M_t={_M_head_impl=ADDRESS}}}, a=12",
  wide = "w=?, a=12", wide_second = "x=1, w=?, a=12, b=13", wide_sixth = "c=1, d=2, e=3, f=4, g=5, w=?, a=12, b=13",
  two_sixth = "c=1, d=2, e=3, f=4, g=5, s=?, a=12, b=13", reals = "x=?, a=12, y=?, b=13",
  narrow = ("c=%d, u=200, f=true, s=-4, t=60000, e=LOW, b=A"):format(letter), taken = "x=1, a=12, b=13",
  give_large = "a=12", give_copied = "a=12", give_fixed = "a=12", give_defaulted = "a=12", give_small = "a=12",
  give_short = "a=12", give_real = "a=12", give_shared = "a=12",
  vector_alone = "v=?, a=12", extended = "x=?, a=12, c=1, d=2, e=3, f=4, g=5, b=13", complex = "x=?, a=12",
  to_member = "p=?, a=12", to_function = "p=?, a=12",
  nothing = "n=NULL, a=12", nowhere = "s=ADDRESS {v=1}, a=12",
  elsewhere = "s=ADDRESS {v=1}, a=12", ["Pack<int>::rest"] = "some=1, b=13",
  ["behind<int, long>"] = "some#0=1, some#1=2, b=13", ["Pack<int, long>::rest"] = "some#0=1, some#1=2, b=13",
  give_extended = "a=12", give_long = "a=12", give_complex = "a=12", give_pointing = "a=12", give_member = "a=12",
  give_nowhere = "a=12", give_elsewhere = "a=12", give_twin = "a=12", give_other_twin = "a=12",
  vector = "v=?, a=12", aligned = "t=?, s=?, a=12, c=1, d=2, e=3, f=4, g=5, b=13",
  ["Shop::find"] = "this=ADDRESS, a=12",
  ["Shop::sell"] = "this=ADDRESS, p=ADDRESS {_M_ptr=ADDRESS, _M_refcount={_M_pi=ADDRESS}}, a=12",
  ["Virtual::~Virtual"] = "this=ADDRESS",
}

-- The same, but for what OTHER has.
local function passed(binary, other)
  local seen = {}
  for _, line in ipairs(calls_of(binary, { "passed::*", "rare::*" })) do
    local name, arguments = line:gsub("^void ", ""):match "^%a+::([%w_:~<>, ]+)%b().-%((.*)%)$"
    if name then seen[name] = arguments end
  end
  for name, arguments in pairs(PASSED) do is(seen[name], other[name] or arguments, binary .. ": " .. name) end
end

-- gcc gives the clones of Shop's functions no `this`, numbers also the only parameter of a class's pack, and has no
-- names for a function's. How clang splits 128 bits, it says only of what it has not optimised away. Where debug
-- information has the parameters behind the prologue, it says of vectors, of what is aligned otherwise than its numbers
-- and of a class that it only declares too little to tell what lies behind them.
local function with(...)
  local all = {}
  for _, other in ipairs { ... } do
    for name, arguments in pairs(other) do all[name] = arguments end
  end
  return all
end
local split = x86 and { wide_sixth = "c=1, d=2, e=3, f=4, g=5, w=?, a=?, b=?" } or {}
local packs = { ["Pack<int>::rest"] = "some#0=1, b=13", ["behind<int, long>"] = "arg0=?, arg1=?, b=13" }
local vectors, aligned = { vector = "v=?, a=?" }, x86 and { aligned = "t=?, s=?, a=12, c=1, d=2, e=3, f=4, g=5, b=?" }
  or {}
passed("cxx_parameters-gcc-O0", with(packs, vectors, aligned))
passed("cxx_parameters-gcc-O2", with(packs, { ["Shop::find"] = "this=?, a=12", ["Shop::sell"] = "this=?, p=?, a=12" }))
local declared = { nowhere = "s=?, a=12" } -- a class that no file defines
passed("cxx_parameters-clang-O0", with(split, vectors, aligned, declared, x86 and { give_nowhere = "a=?" } or {}))
passed("cxx_parameters-clang-O2", with(split, aligned, declared, {
  nothing = "n=?, a=12", small = "s=?, a=12", two = "s=?, a=12", derived = "s=?, a=12", late_bits = "s=?, a=12",
}))

-- --- what is dropped ---

local DROPPED = {
  "unused_first(unused=?, i=%d, j=%d)", "read_only(p=ADDRESS, j=%2$d)", "half(p=?, seven=?, j=%2$d)",
  "changed(i=?, j=%2$d)", "taken(unused=?, i=%d, j=%d)",
  "external(i=%d, unused=777, j=%d)", "counted_up(i=%d, j=%d)", "replaced(i=%d, j=%d)",
  "tenth(a=0, b=1, c=2, d=3, e=4, f=5, g=%3$d, h=7, i=%1$d, j=%2$d)",
}

local function dropped(binary, other)
  local want = {}
  for _, form in ipairs(DROPPED) do
    form = other[form:match "^[%w_]+"] or form
    for i = 0, 4 do
      local line = form:gsub("%%1%$d", i):gsub("%%2%$d", 100 + i):gsub("%%3%$d", 0 - i):gsub("%%d", i, 1):gsub("%%d",
        100 + i)
      want[#want + 1] = line
    end
  end
  table.sort(want)
  local specs = {}
  for i, form in ipairs(DROPPED) do specs[i] = form:match "^[%w_]+" .. "*" end
  local lines = calls_of(binary, specs)
  for i, line in ipairs(lines) do lines[i] = line:gsub("^([%w_]+)[%w.]*%(", "%1(") end
  is(table.concat(lines, "\n"), table.concat(want, "\n"), "… every call with what is passed")
end

local by_clang = { external = "external(i=%d, unused=?, j=%d)", replaced = "replaced(i=?, j=%2$d)" }
dropped("optimised_parameters-gcc", {})
dropped("optimised_parameters-gcc-4", {})
dropped("optimised_parameters-clang", by_clang)
dropped("optimised_parameters-clang-4", by_clang)

-- --- why ---

local function refused(binary, spec, argument, want)
  local code = ('n = hash() probe("uprobe:./build/targets/%s:%s", function(e) n[e.args.%s] = 1 end)'):format(binary,
    spec, argument)
  like(target.uplua("--explain -e " .. target.quote(code)).err, "^uplua: %-e:1: the argument '" .. argument ..
       "' of .* cannot be read in a handler: " .. want, binary .. ": " .. spec .. "'s " .. argument)
end
refused("optimised_parameters-clang", "external", "unused",
  "the compiler has optimised it away: by the debug information nothing holds it when the function is entered")
refused("optimised_parameters-clang", "half", "seven",
  "the function's code has 7 in its place, and the debug information does not say whether callers pass the same")
if x86 then
  refused("cxx_parameters-clang-O0", "rare::give_nowhere*", "a",
          "the function returns a 'class Nowhere', of which the debug information does not say whether an address " ..
          "for it is passed before the arguments")
end
refused("cxx_parameters-gcc-O0", "passed::copied*", "s",
  "it is a 'struct Copied' passed by value, as the address e.arg0 of a copy")
refused("cxx_parameters-gcc-O0", "passed::Shop::sell*", "p",
  "it is a 'class shared_ptr<int>' passed by value, as the address e.arg1 of a copy")
refused("cxx_parameters-gcc-O0", "passed::moved*", "s",
  "it is a 'struct Moved' of 4 bytes passed by value, which are e.arg0")

-- --- what many functions return ---

local function returned(binary, pattern)
  local run = target.uplua(("scripts/trace.lua --return %s:'%s' -- %s"):format(binary, pattern, binary))
  is(run.status, 0, "returns of " .. pattern)
  return run.out
end
local out = returned("./build/targets/cxx_parameters-gcc-O2", "passed::*")
like(out, "give_short%(int%)%(a=12%) = %-30000 %(", "of a pattern of more than 16 functions each result is of its type")
like(out, "give_real%(int%)%(a=12%) = %(double%) %(", "… and no register is shown where that does not have it")
like(out, "narrow%b()%(c=%S+, u=200, f=true, s=%-4, t=60000, e=LOW, b=%?%) %(", "… and nothing for void")
out = returned("./build/targets/cxx_parameters-gcc-O0", "*")
like(out, "give_short%(int%)%(arg0=0xc, .-%) = raw 0x%x+ %(",
  "of more than 64, with different parameters, all are raw, and say so")

-- --- a struct that its file only declares ---

-- Where two other files define it in two ways, as C may, nothing says which of them is meant.
local FILES = {
  user = "struct node; long get(struct node *n); struct node *make(void);\n__attribute__((noinline)) long " ..
         "use(struct node *n) { return get(n); }\n"
    .. "int main(void) { return use(make()) != 42; }",
  maker = "struct node { long key, more; };\nlong get(struct node *n) { return n->key; " ..
          "}\nstruct node *make(void) { static struct node n = { 42, 7 }; return &n; }",
  other = "struct node { int more, key; };\nlong other(struct node *n) { return n->key; }",
}
local folder, CC = target.folder() .. "-declared", tap.compiler()
os.execute("mkdir " .. folder)

local function declared(program, files)
  for i, name in ipairs(files) do
    files[i] = folder .. "/" .. name .. ".c"
    local file = assert(io.open(files[i], "w"))
    file:write(FILES[name], "\n")
    file:close()
  end
  program = folder .. "/" .. program
  is(os.execute(("%s -std=gnu11 -O1 -g -o %s %s"):format(CC, program, table.concat(files, " "))), 0,
    "built: " .. #files .. " files")
  return target.uplua(
    ("-e 'probe(\"uprobe:%s:use\", function(e) printf(\"%%d\\n\", e.args.n.key) end)' -- %s"):format(program, program))
end
is(declared("one", { "user", "maker" }).out, "42\n", "a struct that another file defines")
like(declared("two", { "user", "other", "maker" }).err, "the type that a 'struct node %*' points to is not defined",
  "… and that two define in two ways")
os.execute("rm -rf " .. folder)

target.done()
tap.done_testing()
