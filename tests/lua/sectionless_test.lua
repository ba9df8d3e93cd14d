-- Programs and libraries without a section table run, and are traced: their functions, stacks, allocations, and what
-- PT_DYNAMIC says of libc is what its sections say.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- A section table is where the header's e_shoff says, and has e_shnum entries.
local function has_sections(path)
  local file = assert(io.open(path, "rb"))
  local header = file:read(64)
  file:close()
  return header:sub(41, 48):find "[^%z]" ~= nil or header:sub(61, 62):find "[^%z]" ~= nil
end

for _, kind in ipairs { "", "-sysv" } do
  local program, library = "./build/targets/sectionless" .. kind, "./build/targets/libsectionless" .. kind .. ".so"
  local name = library:match "[^/]*$"
  is(has_sections(program) or has_sections(library), false, name .. ": there is no section table")
  local run = target.script(([[
    local up = require "uplua"
    local program, library = %q, %q
    local calls, sums, stacks, names = up.count(), up.sum(), up.count(), up.count()
    up.uprobe(program .. ":fill", function(e) calls.fill:inc() names[e.func]:inc() end)
    up.uprobe(library .. ":k*", function(e) names[e.func]:inc() end)
    up.uretprobe(program .. ":fill", function(e) sums.all:add(e.ret) end)
    up.uprobe("libc:malloc", function(e) stacks[e:ustack()]:inc() end)
    up.at_exit(function()
      for _, n in calls:pairs() do print("calls", n) end
      for _, n in sums:pairs() do print("sum", n) end
      for name, n in names:pairs() do print("name", name, n) end
      for stack, n in stacks:pairs() do
        print("stack", n, (tostring(stack):gsub("%%+0x%%x+", ""):gsub("%%s+", " ")))
      end
    end)]]):format(program, library), "-- " .. program)
  is(run.status, 0, name .. ": its functions are found")
  if run.status ~= 0 then io.stderr:write(run.err) end
  like(run.out, "calls\t23\nsum\t276\n", "each call, and what it returns")
  like(run.out, "name\tkeep\t23\n", "by a pattern, too")
  like(run.out, "stack\t23\t ?malloc libsectionless%S* keep fill main [%w_. ]*_start",
    "whole stacks, with the names that are there")
  is(run.err, "", "and nothing is missing")

  run = target.uplua("mallocleak.lua -- " .. program)
  is(run.status, 0, name .. ": mallocleak")
  like(run.out, "2,553 bytes in 23 blocks", "what is held") -- 100 + 0 … 100 + 22
  run = target.uplua(("-e 'uprobe(%q, function(e) end)' -- %s"):format(library .. ":allocate", program))
  like(run.err, "no such function in [^\n]*\n[^\n]*no symbol table %(stripped%)", "local functions have no names there")
end

-- The dynamic symbols of libc, by both ways to find them.
if tap.has("llvm-objcopy", "llvm") then
  local libc
  for line in io.lines "/proc/self/maps" do libc = libc or line:match "(/%S*/libc%.so%.6)$" end
  if not libc then
    tap.skip "there is no /…/libc.so.6"
  else
    local lists = {}
    for i, command in ipairs { "strip -o %s %s", "cp %2$s %1$s && llvm-objcopy --strip-sections %1$s" } do
      local copy = ("%s-libc-%d.so"):format(target.folder(), i)
      command = command:gsub("%%1%$s", copy):gsub("%%2%$s", libc)
      assert(os.execute(i == 1 and command:format(copy, libc) or command) == 0, command)
      local run = target.uplua(("-v --list 'uprobe:%s:*'"):format(copy))
      if run.status ~= 0 then io.stderr:write(run.err) end
      lists[i] = run.out:gsub("libc%-%d%.so", "libc.so")
      os.remove(copy)
    end
    local count = select(2, lists[1]:gsub("\n", ""))
    tap.ok(count > 2000, "libc has " .. count .. " functions")
    is(lists[2] == lists[1], true, "the same ones without its section table, with their versions")
  end
end
target.done()
tap.done_testing()
