-- Arguments of Fortran's procedures, most of which are passed by reference: as numbers in handlers, by e.args and
-- e.vars, and as trace.lua prints them. What is printed is right, or a "?", also where another compiler says less.
local tap = require "tap"
local target = require "target"
local is, like, skip = tap.is, tap.like, tap.skip

-- What trace.lua prints of the calls of FUNCTIONS, a list, in PROGRAM: a list of events.
local function trace(program, functions, options)
  local specs = {}
  for i, name in ipairs(functions) do specs[i] = program .. ":" .. name end
  local run = target.uplua(("scripts/trace.lua %s %s -- %s"):format(options or "", table.concat(specs, " "), program))
  is(run.status, 0, "trace.lua " .. program)
  if run.status ~= 0 then io.stderr:write(run.err) end
  local events = {}
  for event in run.out:gmatch "[^\n]*  ([%w_]+%([^\n]*)" do events[#events + 1] = event end
  return events
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- What a handler of FUNCTION sees of VALUES, a list of expressions: the records, one a line.
local function values(program, name, expressions)
  local run = target.script(([[
    local up = require "uplua"
    local seen = up.ring()
    up.uprobe(%q, function(e) seen:emit { %s } end)
    seen:each(function(values)
      local words = {}
      for i = 1, %d do words[i] = tostring(values[i]) end
      print(table.concat(words, " "))
    end)]]):format(program .. ":" .. name, table.concat(expressions, ", "), #expressions), "-- " .. program)
  if run.status ~= 0 then io.stderr:write(run.err) end
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do
    if not line:find "truth" then lines[#lines + 1] = line end
  end
  return lines
end

local MODULE = "__shapes_MOD_"
local STORED = "__shapes_MOD_store(count=%d, small=7, big=%s, single=0.5, mark=true, spot={x=3, y=-4, z=1.25}, " ..
  "extra=-5000000000, code=101)"
local LISTED = '__shapes_MOD_lists(label="ab d", grid=[11, 22, 33, 44], from=[5, 6, 7], pair=?, ' ..
  "flags=[false, true], _label=4)"

for _, level in ipairs { "O0", "O2" } do
  local references = "./build/targets/references-gfortran-" .. level
  local procedures = "./build/targets/procedures-gfortran-" .. level
  if not exists(references) then
    skip("gfortran -" .. level .. ": there was no gfortran when the targets were built")
  else
    -- variables of modules; arrays that a descriptor leads to, or whose first index counts fastest, are none of C's
    local modules = "./build/targets/modules-gfortran-" .. level
    local lines = values(modules, "__kept_MOD_work", { "e.vars.plain", "e.vars.bounded[0]", "e.vars.bounded[3]" })
    is(table.concat(lines, ", "), "23 50 80, 24 73 80, 26 96 80", level .. ": variables of a module")
    for _, name in ipairs { "square", "allocated_one", "pointed" } do
      local script = ("uprobe('%s:__kept_MOD_work', function(e) print(e.vars.%s[0]) end)"):format(modules, name)
      local run = target.uplua(("-e %s -- %s"):format(target.quote(script), modules))
      like(run.err, "^uplua: %-e:1: the variable '" .. name .. "' cannot be read at [^\n]-: " ..
           "it is a 'integer%(kind=4%) %[[^\n]-', which handlers cannot compute with\n", "… " .. name .. " is refused")
    end
    -- the program that showed an address for n
    local events = trace(references, { "work_" })
    is(#events, 3, level .. ": each call of work")
    for i = 1, 3 do
      is(events[i], ('work_(n=%d, x=2.5, name="hello", arr=(integer(kind=4) []), flag=true, _name=5)'):format(i),
        level .. ": numbers, texts by their hidden length, logicals; of an array of any size its type")
    end
    local lines = values(references, "work_", { "e.args.n", "e.vars.n", "e.args.flag", "e.vars.flag", "e.args._name" })
    is(table.concat(lines, ", "), "1 1 true true 5, 2 2 true true 5, 3 3 true true 5",
      level .. ": e.args and e.vars say the same")
    events = trace(references, { "work_" }, "--return")
    like(events[1] or "", "^work_%(n=%?, x=%(real%(kind=8%)%), .*flag=%?, _name=5%)",
      level .. ": at the return they may have changed")

    -- all ways of passing
    events = trace(procedures, { MODULE .. "store" })
    is(#events, 23, level .. ": each call of store")
    local big, wrong = 0LL, 0
    for i = 1, 23 do
      local expected = STORED:format(-i, (tostring(big):gsub("LL", "")))
      if events[i] ~= expected then
        if wrong == 0 then is(events[i], expected, level .. ": call " .. i) end
        wrong = wrong + 1
      end
      big = big - i + 7 + 101 - 4 - 5000000000LL
    end
    is(wrong, 0, level .. ": by reference and by value, in registers and on the stack")
    events = trace(procedures, { MODULE .. "lists" })
    is(#events, 23, level .. ": each call of lists")
    for i, event in ipairs(events) do
      if event ~= LISTED or i == 23 then is(event, LISTED, level .. ": texts and arrays of a fixed size") break end
    end
    events = trace(procedures, { "twice" })
    is(events[23], "twice(number=23)", level .. ": by value")
    events = trace(procedures, { MODULE .. "texts" })
    is(events[23], MODULE .. 'texts(first="xyz", times=23, second="a longer one", _first=3, _second=12)',
      level .. ": two hidden lengths")
    lines = values(procedures, MODULE .. "store",
      { "e.args.count", "e.args.small", "e.args.mark", "e.args.extra", "e.args.code" })
    is(lines[23], "-23 7 true -5000000000 101", level .. ": in handlers")
    local run = target.uplua(("-e 'local n = up.count() up.uprobe(%q, function(e) n[e.args.single]:inc() end)' -- %s")
      :format(procedures .. ":" .. MODULE .. "store", procedures))
    like(run.err, "it is a 'real%(kind=4%)' passed by reference, whose address is e%.arg3", level .. ": and why not")
  end
end

-- LLVM's compiler leaves parameters out, and types: what is shown of the others is right.
local EXPECTED = { count = "%-%d+", small = "7", single = "0.5", mark = "true", grid = "%[11, 22, 33, 44%]",
  extra = "%-5000000000", code = "101", big = "%-?%d+", spot = "<x:3, y:%-4, z:1.25>", from = "%[5, 6, 7%]",
  flags = "%[false, true%]", label = '"ab d"' }
local flang
for _, name in ipairs { "flang", "flang-new", "flang-new-19" } do
  local pipe = io.popen("command -v " .. name)
  flang = flang or pipe:read "*l"
  pipe:close()
end
if not flang then
  skip "flang: there is no flang"
else
  for _, level in ipairs { "O0", "O2" } do
    local program = target.folder() .. "-flang-" .. level
    local built = os.execute(("cd %s && %s -%s -g -o %s \"$OLDPWD\"/tests/targets/procedures.f90 >&2")
      :format(target.folder(), flang, level, program))
    if built ~= 0 then
      skip("flang -" .. level .. " cannot build the program")
    else
      local events = trace(program, { "_QMshapesPstore", "_QMshapesPlists" })
      if level == "O0" then is(#events, 46, "flang: each call") end -- the optimiser has none
      local wrong = {}
      for _, event in ipairs(events) do
        local flat = event:gsub("{(.-)}", function(inside) return "<" .. inside:gsub("=", ":") .. ">" end)
        for name, shown in flat:gmatch "([%w_]+)=([^=]*)[,)]" do
          local unknown = shown == "?" or shown:find "^%("
          if not unknown and not shown:find("^" .. (EXPECTED[name] or "nothing") .. "$") then
            wrong[#wrong + 1] = name .. "=" .. shown
          end
        end
      end
      is(table.concat(wrong, " "), "", "flang -" .. level .. ": nothing wrong is printed")
      os.remove(program)
    end
  end
end
target.done()
tap.done_testing()
