-- Types that compilers put into units of their own (.debug_types, and signatures in DWARF 5) are shown as those of a
-- program without such units are. Debug information in other files (-gsplit-dwarf) is not read, which is said.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local TARGETS = "./build/targets/"

-- What trace.lua prints of FUNCTIONS in PROGRAM: the last column, without the addresses that differ from run to run.
local function trace(program, functions)
  local specs = {}
  for i, name in ipairs(functions) do specs[i] = TARGETS .. program .. ":" .. name end
  local run = target.uplua(("scripts/trace.lua --depth 2 %s -- %s%s")
    :format(table.concat(specs, " "), TARGETS, program))
  is(run.status, 0, "trace.lua " .. program)
  if run.status ~= 0 then io.stderr:write(run.err) end
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do
    line = line:gsub("^%d%d:%d%d:%d%d%.%d+  %S+ +%d+  ", "@ "):gsub("0x%x%x%x%x%x+", "ADDRESS")
    if line:find "^@ " or line:find "^    " then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

-- What it prints of two programs is the same, and more than ATLEAST lines.
local function compare(plain, other, functions, at_least)
  local expected, got = trace(plain, functions), trace(other, functions)
  local count = select(2, expected:gsub("\n", "")) + 1
  tap.ok(count >= at_least, ("%s: %d lines"):format(plain, count))
  is(got, expected, other .. " as " .. plain)
end

for _, kind in ipairs { "gcc-types-4", "gcc-types-5", "clang-types-4", "clang-types-5" } do
  local program = "type_units-" .. kind
  compare("type_units", program, { "take" }, 24)
  local run = target.script(([[
    local up = require "uplua"
    local seen = up.ring()
    up.uprobe(%q, function(e)
      local b = e.args.b
      seen:emit { b.in[1].k, b.ptr.k, b.f1, b.f2, up.str(b.s), e.args.arr[0][2], e.args.c }
    end)
    seen:each(function(v) print("seen", v[1], v[2], v[3], v[4], v[5], v[6], v[7]) end)]])
    :gsub("b%.in%[", 'b["in"]['):format(TARGETS .. program .. ":take"), "-- " .. TARGETS .. program)
  if run.status ~= 0 then io.stderr:write(run.err) end
  is(run.out, ("seen\t2\t3\t5\t17\thello\t30\t-1\n"):rep(2), kind .. ": fields in a handler")
end

-- C's structures, unions, enums, texts and lists
for _, kind in ipairs { "types-4", "types-5" } do
  compare("values", "values-" .. kind, { "scalars", "show", "list" }, 20)
end

for _, kind in ipairs { "split-4", "split-5" } do
  local program = TARGETS .. "type_units-gcc-" .. kind
  for _, table_of in ipairs { "args", "vars" } do
    local run = target.uplua(("-e 'uprobe(%q, function(e) print(e.%s.c) end)' -- %s")
      :format(program .. ":take", table_of, program))
    is(run.status, 1, ("%s: e.%s is refused"):format(kind, table_of))
    like(run.err, "is split DWARF %(%-gsplit%-dwarf%), that of this %l+ is in %S+%.dwo: such files are not read",
      "and the format is named, with the file")
    is(run.err:find("with -g\n", 1, true), nil, "not that there is none")
  end
  local run = target.uplua(("-e 'n = count() uprobe(%q, function(e) n[e.func]:inc() end)' -- %s")
    :format(program .. ":take", program))
  like(run.out, "take%(.*%)  2\n", kind .. ": without arguments by name it is traced")
end
target.done()
tap.done_testing()
