-- e.ret of one handler over many functions: each function's own width and sign, by whichever compiler, and what is said
-- of those that return no integer, or of whose result nothing is known. The programs know what they return.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local BUILDS = { "gcc-O0", "gcc-O2", "clang-O0", "clang-O2" }

local function sorted(lines)
  table.sort(lines)
  return table.concat(lines, "\n")
end

-- The values that FUNCTION of return_types.cc returns, as the lines of argdist: its calls by what they return.
local CALLS = 23
local function counts_of(name, value)
  local counts, lines = {}, {}
  for i = 1, CALLS do
    local text = ("%s  %s"):format(name, tostring(value(i)))
    counts[text] = (counts[text] or 0) + 1
  end
  for text, n in pairs(counts) do lines[#lines + 1] = ("%s  %d"):format(text, n) end
  return lines
end

local RETURNS = {
  r_int8 = function(i) return -i end,
  r_uint8 = function(i) return 256 - i end,
  r_int16 = function(i) return -200 * i end,
  r_uint16 = function(i) return 65536 - i end,
  r_int32 = function(i) return -100000 * i end,
  r_uint32 = function(i) return ("%.0f"):format(2 ^ 32 - i) end,
  r_int64 = function(i) return ("%.0f"):format(-34359738368 * i) end,
  r_bool = function(i) return i % 2 end,
  r_mood = function(i) return i % 2 == 1 and -3 or 7 end,
  r_tiny = function() return 250 end,
  r_pointer = function(i) return 0x17171717 + i end,
}
local NOTHING = { "r_double", "r_small", "r_void", "r_wide" }

-- What a script prints of { e.func, e.ret } that it has counted: "name  value  hits".
local COUNT = [[
local up = require "uplua"
local n = up.count()
local p = up.%s("%s", { %s }, function(e) %s n[{ e.func, e.ret }]:inc() end)
up.at_exit(function()
  for k, hits in n:pairs() do up.printf("%%s  %%s  %%d\n", k[1], tostring(k[2]):gsub("LL$", ""), hits) end
  io.stderr:write("hits ", p.hits, ", sites ", #p:sites(), "\n")
end)
]]

local function count(constructor, spec, options, before, program)
  return target.script(COUNT:format(constructor, spec, options, before, constructor), "-- " .. program)
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return sorted(lines)
end

-- The lines of the functions that MATCH, of those that return nothing if WITH_NIL is true, and MORE.
local function expected(match, with_nil, more)
  local lines = more or {}
  for name, value in pairs(RETURNS) do
    if name:find(match) then
      for _, line in ipairs(counts_of(name, value)) do lines[#lines + 1] = line end
    end
  end
  for _, name in ipairs(with_nil and NOTHING or {}) do lines[#lines + 1] = ("%s  nil  %d"):format(name, CALLS) end
  return sorted(lines)
end


-- argdist.lua's lines "name, value  hits" in that form.
local function table_of(out)
  local lines = {}
  for name, value, hits in out:gmatch "(%w[%w_:]*), (%-?%w+) +(%d+)\n" do
    lines[#lines + 1] = ("%s  %s  %s"):format(name, value, hits)
  end
  return sorted(lines)
end

-- The calls that trace.lua shows, without their times.
local function calls_of(out)
  local lines = {}
  for call in out:gmatch "  (r_[^\n]*) %([%d.]+ %a+%)\n" do lines[#lines + 1] = call end
  return sorted(lines)
end

local SHOWN = sorted {
  "r_int8(i=2) = -2", "r_uint8(i=2) = 254", "r_int16(i=2) = -400", "r_uint16(i=2) = 65534", "r_int32(i=2) = -200000",
  "r_uint32(i=2) = 4294967294", "r_int64(i=2) = -68719476736", "r_bool(i=2) = false", "r_mood(i=2) = HIGH",
  "r_tiny(i=2) = LAST", "r_pointer(i=2) = 0x17171719 (not readable)", "r_double(i=2) = (double)",
  "r_small(i=2) = (struct small)", "r_void(i=2)",
}

local function overloads()
  local lines = { ("V::get(double)  nil  %d"):format(CALLS) }
  for i = 1, CALLS do
    lines[#lines + 1] = ("V::get(signed char)  %d  1"):format(i - 100)
    lines[#lines + 1] = ("V::get(int)  %d  1"):format(-1000 * i)
    lines[#lines + 1] = ("V::get(unsigned short)  %d  1"):format(65536 - i)
  end
  return sorted(lines)
end

local NIL = "e.ret is nil of what returns no integer: "

for _, build in ipairs(BUILDS) do
  local widths, types = "./build/targets/return_widths-" .. build, "./build/targets/return_types-" .. build
  local TRUE = "get_char  -5  2\nget_int  -5000  2\nget_long  -50000000000  2\nget_us  65535  2"
  local r = count("uretprobe", widths .. ":get_*", "typed = true", "", widths)
  is(lines_of(r.out:gsub("truth:[^\n]*\n", "")), TRUE, build .. ": each function's own width and sign")
  is(r.err, "hits 8, sites 4\n", "… counted once, at each place")
  for _, way in ipairs { "address", "instructions" } do
    r = target.uplua(("--returns %s argdist.lua -r -k '{ e.func, e.ret }' 'uprobe:%s:get_*' -- %s"):format(way, widths,
      widths))
    is(r.err, "", "… argdist.lua --returns " .. way .. " has nothing to say")
    is(table_of(r.out), TRUE, "… and prints them")
  end

  r = count("retprobe", "uprobe:" .. types .. ":r_*", "", "", types)
  is(lines_of(r.out), expected("^r_", true), build .. ": fifteen types in one handler")
  is(r.err, ("uplua: uretprobe %s:r_*: %s%s\nhits 345, sites 15\n"):format(types, NIL,
    "r_double (double), r_small (struct small), r_void (void) and 1 more"), "… and which are none")

  local INTEGERS = "r_[biu]*[0-9l]"
  r = target.uplua(("argdist.lua -n 0 -r -k '{ e.func, e.ret }' '%s:%s' -- %s"):format(types, INTEGERS, types))
  is(table_of(r.out), expected "^r_[biu]", "… by argdist.lua")
  is(r.err, "", "… which has nothing to say of integers alone")
  r = target.uplua(("trace.lua -r '%s:r_*' -w 'e.arg0 == 2' -- %s"):format(types, types))
  is(calls_of(r.out), SHOWN, "… by trace.lua")

  r = count("uretprobe", types .. ":V::get", "typed = true", "", types)
  is(lines_of(r.out), overloads(), "… overloads of one name")
  is(r.err, ("uplua: uretprobe %s:V::get: %sV::get(double) (double)\nhits 92, sites 4\n"):format(types, NIL),
    "… of which one returns no integer")
end

local types, widths = "./build/targets/return_types-gcc-O2", "./build/targets/return_widths-gcc-O2"

-- What a handler may do with a result that may be nil, and what it may not.
local r = count("retprobe", types .. ":r_*", "", "if e.ret == nil or e.ret >= 0 then return end", types)
is(lines_of(r.out), expected("r_int", false, { "r_mood  -3  12" }), "a handler asks whether there is a result")
r = target.script(([[
local up = require "uplua"
local n, s = up.count(), up.sum()
up.retprobe("%s:r_*", function(e) s:add(e.arg0 * 0 + 1) n[e.ret]:inc() end)
up.at_exit(function() print(s:get(), n:size() > 0) end)
]]):format(types), "-- " .. types)
is(r.out, "345\ttrue\n", "… and ends where it needs one")
like(r.err, "\n  92 × handler ended by an error: an aggregation's key is nil, [^\n]*:3\n$", "… which is counted")
for spec, why in pairs {
  ["r_double"] = "r_double returns double, which is in no register that handlers see",
  ["r_[dw]*"] = "r_double returns double, which is in no register that handlers see",
  ["r_void"] = "r_void returns nothing",
} do
  r = count("retprobe", types .. ":" .. spec, "", "", types)
  like(r.err, "e%.ret: " .. why:gsub("%p", "%%%0") .. "\n$", spec .. " has no results at all: refused")
  is(r.status, 1, "… by its exit status")
end
r = target.uplua(("trace.lua -r %s:r_void %s:r_double -- %s"):format(types, types, types))
is(r.err, "", "trace.lua asks for none of them")
like(r.out, "  r_void%(i=23%) %(", "… and shows the calls")

-- Where nobody knows what a function returns.
local plain = widths .. "-plain"
r = count("retprobe", plain .. ":get_*", "", "", plain)
like(r.out, "get_int  4294962296  2\n", "without debug information it is the whole register")
is(r.err, ("uplua: uretprobe %s:get_*: e.ret is the whole register, whose upper half may be anything, of get_char, " ..
  "get_int, get_long and 1 more: %s has no debug information\nhits 8, sites 4\n"):format(plain,
  target.shell(("readlink -f %s >\"$D/out\""):format(plain)).out:gsub("\n", "")), "… which is said")
r = count("uretprobe", plain .. ":get_*", "", "", plain)
is(r.err, "hits 8, sites 4\n", "… not to who asks for the register")

r = target.uplua(("-e 'n = count() uretprobe(\"%s:r_*\", { typed = true }, function(e) n[e.ret]:inc() end)' --explain")
  :format(types))
for _, remark in ipairs {
  "e.ret has 8 bits, signed", "e.ret has 8 bits, unsigned", "e.ret has 16 bits, signed", "e.ret has 32 bits, unsigned",
  NIL .. "r_double (double), r_small (struct small), r_void (void) and",
} do
  like(r.out:gsub("%s+", " "), " returns " .. remark:gsub("%p", "%%%0"), "--explain: " .. remark)
end

-- More functions than have a probe of their own each: trace.lua has their arguments by number, and e.ret by type.
local compiler = tap.compiler()
local path, source, want = target.folder() .. "-many", {}, {}
local TYPES = {
  { "int", function(n) return -n end }, { "signed char", function(n) return -n end },
  { "unsigned short", function(n) return 65536 - n end }, { "void" }, { "double" },
}
for n = 1, 101 do
  local type, value = unpack(TYPES[n % #TYPES + 1])
  source[n] = ("__attribute__((noinline, noclone)) %s many_%d(int n) { __asm__ volatile(\"\" : \"+r\"(n)); %s }\n")
    :format(type, n, type ~= "void" and "return -n;" or "")
  local result = value and (" = %d"):format(value(n)) or type == "double" and " = (double)" or ""
  want[n] = ("many_%d(arg0=%#x)%s"):format(n, n, result)
end
local file = assert(io.open(path .. ".c", "w"))
file:write(table.concat(source), "int main(void)\n{\n")
for n = 1, 101 do file:write(("many_%d(%d);\n"):format(n, n)) end
file:write "return 0;\n}\n"
file:close()
assert(os.execute(("%s -g -O1 -o %s %s.c"):format(compiler, path, path)) == 0)
r = target.uplua(("trace.lua -r '%s:many_*' -- %s"):format(path, path))
local got = {}
for name, first, result in r.out:gmatch "  (many_%d+)%((arg0=%w+)[^)]*%)([^\n]*) %([%d.]+ %a+%)\n" do
  got[#got + 1] = ("%s(%s)%s"):format(name, first, result)
end
is(sorted(got), sorted(want), "a hundred functions of five types")
is(r.err, "", "… without a word")
os.execute(("rm -f %s %s.c"):format(path, path))

target.done()
tap.done_testing()
