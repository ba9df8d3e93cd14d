-- What a name in e.vars means where several declarations have it (tests/targets/names.cc, same_names.c, block_names.c):
-- the variable that the program's own code names there, and prints; or it is refused.
local core   = require "uplua.core"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- What PROGRAM prints behind NAME, and what a handler AT reads by FORMAT and VALUES.
local function run(program, name, at, format, values)
  local r = target.uplua(("-e %s -- %s"):format(target.quote(([[
    uprobe("%s", function(e) printf("=%s\n", %s) end)]]):format(at, format, values)), program))
  local own, seen = {}, {}
  for line in r.out:gmatch("[^\n]+") do
    own[#own + 1] = line:sub(1, #name + 1) == name .. " " and line:sub(#name + 2) or nil
    seen[#seen + 1] = line:match("^=(.*)")
  end
  return table.concat(own, ", "), table.concat(seen, ", "), r
end

local function read(program, name, at, format, values)
  local own, seen, r = run(program, name, at, format or "%d", values or "e.vars.total")
  is(select(2, own:gsub("[^,]+", "")), 5, ("%s: %s was called"):format(program, name))
  is(seen, own, "… what it reads is what it prints")
  is(r.err, "", "… and nothing is said")
end

local function refused(program, at, why, name)
  local _, _, r = run(program, "", at, "%d", ("e.vars[%q]"):format(name or "total"))
  is(r.status, 1, ("%s: %s is refused"):format(program, at))
  like(r.err, "^uplua: %-e:1: the variable '%S+' cannot be read at [^\n]-: " .. why, "… with the reason")
end

-- The line of FILE, block_names.c if it is left out, that is called NAME.
local function line_of(name, file)
  local number = 0
  for text in io.lines("tests/targets/" .. (file or "block_names.c")) do
    number = number + 1
    if text:find("/* LINE " .. name .. " */", 1, true) then return number end
  end
end

for _, build in ipairs { "gcc", "gcc-4", "clang" } do
  local program = "./build/targets/names-" .. build
  local function at(name) return program .. ":" .. name end
  for _, name in ipairs { "outer::in_outer", "outer::inner::in_inner", "Base::in_base", "Derived::in_derived",
    "Derived::Nested::in_nested", "declares::in_declares", "directs::in_directs", "inlines::in_inlines",
    "unnamed::in_unnamed", "spaced::in_spaced", "in_using", "in_caller" } do
    read(program, name, at(name))
  end
  read(program, "Template::in_template", at "Template<int>::in_template")
  read(program, "Around::run::lambda", at "Around::run(int)::*")

  local member = "it is a member of each object there: e.vars.this.total\n"
  refused(program, at "Member::in_member", member)
  refused(program, at "DerivedMember::in_derived_member", member)
  read(program, "Member::in_member", at "Member::in_member", "%d", "e.vars.this.total")
  refused(program, at "constants::in_constants", "it is a constant of an enum there\n")
  refused(program, at "functions::in_functions", "it is a function there\n")
  refused(program, at "befriended", "it may be a member of the class before, if this is a friend of it: ")
  if build == "clang" then
    refused(program, at "captures(int)::*", "it is a member of each object there: e.vars.this.total\n")
  else -- describes what is captured as a variable, too
    read(program, "captures::lambda", at "captures(int)::*")
  end
  read(program, "in_caller_of_member", ("%s@names.cc:%d"):format(program, line_of("put", "names.cc")))
  refused(program, at "in_caller", "the linker has left it out of the program: nothing uses it\n", "unused")

  -- By their whole names, from anywhere.
  local _, seen, r = run(program, "", at "outer::inner::in_inner", "%d %d %d %d %d %d %d",
    [[e.vars["::total"], e.vars["outer::total"], e.vars["Base::total"], e.vars["Derived::total"],
      e.vars["declares::total"], e.vars["inlines::first::total"], e.vars["Template<int>::total"] ]])
  is(seen, "1 10 20 20 10 50 70, 2 11 21 21 11 51 71, 3 12 22 22 12 52 72, 4 13 23 23 13 53 73, 5 14 24 24 14 54 74",
     program .. ": by whole names")
  is(r.err, "", "… and nothing is said")
end

local program = "./build/targets/same_names-lto"
for _, name in ipairs { "first", "second", "third" } do
  read(program, name, program .. ":" .. name, "%d %d", "e.vars.total, e.vars.exported")
end

program = "./build/targets/block_names-gcc"
for _, name in ipairs { "extern", "static", "second", "automatic" } do
  read(program, name, ("%s@block_names.c:%d"):format(program, line_of(name)))
end
refused(program, ("%s@block_names.c:%d"):format(program, line_of "constant"), "it is a constant of an enum there\n")
-- clang puts a block's static variables into the function, where none is told from the others.
program = "./build/targets/block_names-clang"
for _, name in ipairs { "extern", "static", "second", "automatic" } do
  local spec = ("%s@block_names.c:%d"):format(program, line_of(name))
  refused(program, spec, "the source has several of that name, ")
  like(target.uplua(("-v --list 'uprobe:%s'"):format(spec)).out, "total %?  %(the source has several of that name, ",
    "… and listed so")
  like(target.uplua(("scripts/trace.lua '%s' -- %s"):format(spec, program)).out, "blocks at block_names.c:%d+: i=4\n",
    "… and left out of a trace")
end
refused(program, ("%s@block_names.c:%d"):format(program, line_of "constant"), "it is a constant of an enum there\n")

-- What is listed at a line can be read by its name, or neither.
local function there(variable) return variable ~= nil and variable.place ~= "nowhere" end
for _, build in ipairs { "names-gcc@names.cc", "names-clang@names.cc", "block_names-gcc@block_names.c",
  "block_names-clang@block_names.c" } do
  local count, differ = 0, {}
  for line = 1, 200 do
    local spec = ("./build/targets/%s:%d"):format(build, line)
    local found, sites = pcall(core.probe.resolve, spec, "exact", false)
    for _, variable in ipairs(found and sites:variables() or {}) do
      count = count + 1
      local named = sites:variables(variable.name)
      if there(variable) ~= there(named and named[1]) then
        differ[#differ + 1] = ("%s at line %d"):format(variable.name, line)
      end
    end
  end
  ok(count > 20, ("%s: %d variables are listed"):format(build, count))
  is(table.concat(differ, ", "), "", "… and read by their names, or neither")
end

-- A file that says that each of two functions is declared inside of the other: names have an end all the same.
if jit.arch == "x64" then
  local path = target.folder() .. "-circling"
  is(os.execute(("cc -o %s tests/targets/circling.s"):format(path)), 0, "a file that goes in circles")
  local _, _, r = run(path, "", path .. ":f", "%d", "e.vars.total")
  is(r.status, 1, "… is refused")
  is(r.err:match "^[^\n]*", "uplua: -e:1: f has no variable 'total'", "… with what it lacks")
  os.remove(path)
end
target.done()
tap.done_testing()
