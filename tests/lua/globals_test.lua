-- e.vars of variables outside of functions (tests/targets/globals.cc): what a handler reads is what the program prints.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- The line of the source where ns::unnamed grows.
local line = 0
for text in io.lines "tests/targets/globals.cc" do
  line = line + 1
  if text:find("ns::unnamed++", 1, true) then break end
end

for _, program in ipairs { "./build/targets/globals-4", "./build/targets/globals-5" } do
  -- What the program prints of itself behind NAME, and the same by a handler of the function.
  local function beside(name, at, format, values)
    local r = target.uplua(("-e %s -- %s"):format(target.quote(([[
      uprobe("%s", function(e) printf("=%s %s\n", %s) end)]]):format(at, name, format, values)), program))
    local own, seen = {}, {}
    for line in r.out:gmatch("[^\n]+") do
      own[#own + 1] = line:match("^" .. name .. " (.*)")
      seen[#seen + 1] = line:match("^=" .. name .. " (.*)")
    end
    is(#own, 5, program .. ": " .. name .. " was called")
    is(table.concat(seen, "\n"), table.concat(own, "\n"), "… the variables are what it prints")
    is(r.err, "", "… and nothing is said")
  end
  beside("step", program .. ":step", "%d %d %d %d %d %d %d %d %d %d %d",
         [[e.vars.total, e.vars.hidden, e.vars.limit, e.vars.bytes[3], e.vars.on and 1 or 0,
           e.vars["config.limits[1].high"], e.vars["ns::counter"], e.vars.other_file, e.vars["ns::other_counter"],
           e.vars["ns::Klass::count"], e.vars.calls]])
  beside("method", program .. ":ns::Klass::step", "%d %d %d %d %d %d",
         "e.vars.count, e.vars.begins_with_3, e.vars.total, e.vars.counter, e.vars.unnamed, e.vars.other_counter")
  beside("library", "./build/targets/libglobals.so:lib_step", "%d %d", "e.vars.inside, e.vars.hidden_one")

  if jit.arch == "x64" then -- where the kernel tells the thread pointer
    beside("thread", program .. ":step", "%d %d %d", [[e.vars.per_thread, e.vars["aligned.b"], e.vars.of_thread]])
  end

  -- Inside of a function, and a struct by its fields.
  local r = target.uplua(("-e %s -- %s"):format(target.quote(([[
    uprobe("%s@globals.cc:%d", function(e) printf("=%%d %%s %%d\n", e.vars["ns::unnamed"],
                                                 str(e.vars.config.name), e.vars.config.limits[2].low) end)]])
    :format(program, line)), program))
  is(table.concat({ r.out:match("=(%d+ %a+ %d+)\n.*=(%d+ %a+ %d+)\n") }, ", "), "200 abc 5, 204 abc 5",
     program .. ": at a line, before its code")

  -- What cannot be had is refused, with the reason.
  local function refused(name, pattern, at)
    local said = target.uplua(("-e %s -- %s"):format(target.quote(("uprobe('%s', function(e) print(e.vars['%s']) end)")
      :format(at or program .. ":step", name)), program))
    is(said.status, 1, program .. ": " .. name .. " is refused")
    like(said.err, "^uplua: %-e:1: " .. pattern, "… with the reason")
  end
  refused("mine", "%S+ has no variable 'mine'; ")
  refused("totl", "%S+ has no variable 'totl'; did you mean total%?\n")
  refused("ns::nothing", "%S+ has no variable 'ns::nothing'; ")
  refused("threads_own", "the variable 'threads_own' cannot be read at %S+: each thread has its own " ..
          "%(_Thread_local%), and where those of a library are only the loader knows\n",
          "./build/targets/libglobals.so:lib_step")
  refused("of_library", "the variable 'of_library' cannot be read at %S+: it is a variable of another file\n")
  refused("of_library", "the variable 'of_library' cannot be read at %S+: the library exports it, " ..
          "and a program that uses it has it in its own memory\n", "./build/targets/libglobals.so:lib_step")
  refused("total.x", "the variable 'total.x' cannot be read at %S+: ")
end

target.done()
tap.done_testing()
