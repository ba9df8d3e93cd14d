-- e.vars: variables and parameters where a probe stands inside of a function, in programs of two compilers at four
-- levels of optimisation: each is what the program has, in all calls, or refused with the reason.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local CALLS = 23
local lines = {} -- of the marks in the source
do
  local number = 0
  for line in io.lines "tests/targets/variables.c" do
    number = number + 1
    local mark = line:match "/%* at: (%w+) %*/"
    if mark then lines[mark] = number end
  end
end

-- What is read at each mark: { expression, the value in the call I, or in the hit NUMBER of it }.
local function int8(i) return (i + 128) % 256 - 128 end
local function big(i) return ("%.0f"):format(i) end
local function u64(i) return "18446744073709551" .. 615 - i end
local function text(i) return i % 2 == 1 and "odd" or "even" end
local EXPECTED = {
  types = {
    { "i8", function(i) return int8(-i) end }, { "u16", function(i) return 65536 - i end },
    { "i64", function(i) return big(-8589934592 * i) end }, { "u64", u64 },
    { "odd", function(i) return i % 2 == 1 end }, { "color", function(i) return i % 3 == 0 and -2 or 5 end },
    { "text", text, "up.str(%s)" }, { "request.path", text, "up.str(%s)" },
    { "request.mode", function(i) return i % 8 end },
    { "request.step", function(i) return 0 - i % 16 end }, { "request.inner.level", function(i) return -i end },
    { "request.inner.total", u64 }, { "request.list[1].level", function(i) return 3 * i end },
    { "request.next.mode", function(i) return i % 8 end }, { "name", function(i) return "name " .. i end },
    { "numbers[2]", function(i) return 3 * i end }, { "pointer.inner.level", function(i) return -i end },
    { "counted", function(i) return 2 * i end }, { "i", function(i) return i end },
  },
  inlined = {
    { "number", function(i) return i + 1 end }, { "result", function(i) return (i + 1) * (i + 1) end },
    { "sum", function() return 24 end }, { "n", function(i) return i end },
  },
  inner = {
    hits = 2,
    { "n", function(_, hit) return 10 * hit + 7 end }, { "i", function(_, hit) return hit end },
    { "sum", function(_, hit) return 7 * hit end },
  },
  outer = { { "n", function(i) return i end }, { "sum", function(i) return 24 + (i + 1) * (i + 1) end } },
  lengths = {
    { "n", function(i) return i % 5 + 3 end }, { "list[1]", function(i) return i % 5 + 3 end },
    { "list[2]", function(i) return 2 * (i % 5 + 3) end },
  },
  passed = { { "first", function(i) return i end }, { "second", function(i) return 3 * i end } },
  others = { { "parts.level", function(i) return i end }, { "parts.total", function() return 7 end } },
  early = { { "early", function(i) return i + 1 end }, { "i", function(i) return i end } },
  late = {
    { "late", function(i) return 5 * i end }, { "i", function(i) return i end },
    { "early", function(i) return i + 1 end },
  },
}

local path = target.folder() .. "-variables.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local core = require "uplua.core"
local program, plan = arg[1], assert(loadfile(arg[2]))()
local function show(value)
  if type(value) == "cdata" then return (tostring(value):gsub("U?LL$", "")) end
  return type(value) == "number" and ("%.0f"):format(value) or tostring(value)
end
for _, one in ipairs(plan) do
  local spec = ("%s@variables.c:%d"):format(program, one.line)
  local sites = core.probe.resolve(spec, "exact", false)
  local reason = "there is none"
  for _, variable in ipairs(assert(sites:variables())) do
    if variable.name == one.name:match "^%w+" then
      reason = variable.place == "nowhere" and variable.type or false
      if variable.place == "parts" then
        local part, why = sites:variables(one.name)
        reason = not part and why
      end
      break
    end
  end
  if reason then
    print(("%s %s refused: %s"):format(one.mark, one.name, reason))
  else
    local ring, values = up.ring(), {}
    up.uprobe(spec, assert(loadstring(("local ring, up = ... return function(e) ring:emit { v = %s } end"):format(
      one.how:format("e.vars." .. one.name))))(ring, up))
    ring:each(function(record) values[#values + 1] = show(record.v) end)
    up.at_exit(function() print(("%s %s %s"):format(one.mark, one.name, table.concat(values, ","))) end)
  end
end
]]
file:close()
local plan = target.folder() .. "-plan.lua"
file = assert(io.open(plan, "w"))
file:write "return {\n"
for mark, list in pairs(EXPECTED) do
  for _, one in ipairs(list) do
    file:write(("{ mark = %q, line = %d, name = %q, how = %q },\n"):format(mark, lines[mark], one[1], one[3] or "%s"))
  end
end
file:write "}\n"
file:close()

local function expected(list, one)
  local values = {}
  for i = 1, CALLS do
    for hit = 0, (list.hits or 1) - 1 do values[#values + 1] = tostring(one[2](i, hit)) end
  end
  return table.concat(values, ",")
end

-- Reads everything in PROGRAM: what is not as expected, what is refused, and how many are right.
local function read_all(program)
  local run = target.uplua(("%s %s %s -- %s %d"):format(path, program, plan, program, CALLS))
  is(run.err, "", program .. ": nothing is lost")
  local wrong, refused, right = {}, {}, 0
  for mark, list in pairs(EXPECTED) do
    for _, one in ipairs(list) do
      local name = mark .. " " .. one[1]
      local got = run.out:match("%f[^\n%z]" .. name:gsub("%p", "%%%0") .. " ([^\n]*)") or "nothing"
      if got:find "^refused" then
        refused[name] = got
      elseif got == expected(list, one) then
        right = right + 1
      else
        wrong[#wrong + 1] = ("%s: %s, not %s"):format(name, got, expected(list, one))
      end
    end
  end
  is(table.concat(wrong, "\n"), "", "… and nothing is wrong")
  return refused, right
end

local all = 0
for _, list in pairs(EXPECTED) do all = all + #list end
for _, compiler in ipairs { "gcc", "clang" } do
  for level = 0, 3 do
    local program = ("./build/targets/variables-%s-O%d"):format(compiler, level)
    local refused, right = read_all(program)
    local reasons = {}
    for name, why in pairs(refused) do reasons[#reasons + 1] = name .. ": " .. why end
    if level == 0 then is(table.concat(reasons, "\n"), "", "… without -O all are there") end
    if level > 0 then
      if not ok(right >= all / 2, "… and most are there") then print("# " .. table.concat(reasons, "\n# ")) end
      like(table.concat(reasons, "\n"), "late early: refused: the compiler has optimised it away at this instruction",
        "… but not what is not needed any more")
    end
  end
end

-- --- what is refused ---

local function refused(program, mark, value, want, what)
  local code = ('uprobe("./build/targets/variables-%s@variables.c:%s", function(e) printf("%%d\\n", %s) end)'):format(
    program, lines[mark] or mark, value)
  like(target.uplua(("--explain -e %s"):format(target.quote(code))).err, "^uplua: %-e:1: " .. want, what)
end
for _, program in ipairs { "gcc-O0", "clang-O0" } do
  refused(program, "others", "e.vars.ratio", "the variable 'ratio' cannot be read at others%+0x%x+: " ..
    "it is a 'double', which handlers cannot compute with", program .. ": a double")
  refused(program, "others", "e.vars.vector", "the variable 'vector' .* it is a vector", "… a vector")
  refused(program, "others", "e.vars.wide", "the variable 'wide' .* it is a '[%w_ ]+' of 128 bits",
    "… a wide integer")
  refused(program, "others", "e.vars.ratoi", "others%+0x%x+ has no variable 'ratoi'", "… one that there is not")
  refused(program, "outer", "e.vars.i", "the source has no variable 'i' at scopes%+0x%x+: it is there on the lines " ..
    "[%d, -]+ of variables.c", "… one of another scope, with its lines")
end
refused("gcc-O2", "late", "e.vars.early", "the variable 'early' cannot be read at gone%+0x%x+: the compiler has " ..
  "optimised it away at this instruction: nothing holds it there; it is there on the lines? [%d, -]+ of variables.c",
  "what is not there any more, with the lines where it is")
refused("gcc-O2", "others", "e.vars.parts", "printf: argument 2 is a struct that is not in memory here, of which " ..
  "single fields can be read", "a struct in parts as a whole")
refused("gcc-O2", "others", "e.vars.parts.lvel", "the variable 'parts.lvel' .* parts is a 'struct inner', which has " ..
  "no field 'lvel'; did you mean level", "… and a field that there is not")

local function wrong(code, want, what)
  like(target.uplua(("--explain -e %s"):format(target.quote(code))).err, "^uplua: %-e:1: " .. want, what)
end
local T = "./build/targets/variables-gcc-O0:"
wrong(('uretprobe("%stypes", function(e) printf("%%d\\n", e.vars.i) end)'):format(T),
  "e.vars are the variables where a uprobe stands: uretprobe handlers have none, since the function's frame is gone",
  "a return")
wrong('kprobe("vfs_read", function(e) printf("%d\\n", e.vars.i) end)', "e.vars are the variables where a uprobe stands",
  "the kernel")
wrong(('uprobe("%stypes", function(e) local k = e.comm printf("%%d\\n", e.vars[k]) end)'):format(T),
  "e.vars has names that are known when the handler is compiled", "a computed name")
wrong(('uprobe("%stypes", function(e) e.vars.i = 1 end)'):format(T), "the event's fields cannot be assigned to",
  "an assignment")
wrong(('uprobe("%stypes", function(e) printf("%%d\\n", e.vars.i8) end)'):format(T),
  "the variable 'i8' cannot be read at types: the function's first instructions have not put it into its place yet; " ..
  "it is there on the lines", "at the function's entry")
wrong(('uprobe({ "%stypes", "%sscopes" }, function(e) printf("%%d\\n", e.vars.i) end)'):format(T, T),
  "the source has no variable 'i' at scopes", "several places, of which one lacks it")
local S = T:sub(1, -2) .. "@variables.c:"
wrong(('uprobe({ "%s%d", "%s%d" }, function(e) printf("%%d\\n", e.vars.i) end)'):format(S, lines.types, S, lines.early),
  "the variable 'i' cannot be read: %w+%+0x%x+ and %w+%+0x%x+ have it in other places than each other; give each a " ..
  'probe of its own: "%S+variables%-gcc%-O0:0x%x+" and "%S+variables%-gcc%-O0:0x%x+"', "several places")
wrong(('uprobe({ "%s%d", "%s%d" }, function(e) printf("%%d\\n", e.vars.n) end)'):format(S, lines.outer, S, lines.early),
  "gone%+0x%x+ has no variable 'n'", "several places, of which one lacks it")
wrong('uprobe("./build/targets/typed-plain:many+4", function(e) printf("%d\\n", e.vars.n) end)',
  "many: %S+ has no debug information, by which its variables have names", "no debug information")

-- Parameters at a function's entry are those of e.args.
local run = target.uplua(([[-e 'n = count() uprobe("%stypes", function(e) n[e.vars.i]:inc() end)
  at_exit(function() local all = 0 for k, c in n:pairs() do all = all + k * c end print(all) end)' -- %s 101]]):format(
  T, T:sub(1, -2)))
is(run.out:match "(%d+)\n$", tostring(101 * 51), "a parameter where its function is entered, 101 times")

target.done()
os.remove(path)
os.remove(plan)
tap.done_testing()
