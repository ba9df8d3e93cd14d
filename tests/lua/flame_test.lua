-- Flame graphs: what is in the file, of known numbers, hostile names and a program's samples. What a browser makes of it:
-- tests/browser/flame_test.sh.
local ffi = require "ffi"
local flame = require "uplua.flame"
local kernel = require "kernel"
local stack = require "uplua.stack"
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

ffi.cdef "int getpid(void); void *malloc(size_t size); void *calloc(size_t n, size_t size); void free(void *p);"

-- The frames of PICTURE as its script has them: { name, module, value, callees } each, a caller before its callees.
local function frames_of(picture)
  local function list(name)
    local strings = {}
    for s in picture:match("const " .. name .. "=%[(.-)%];\n"):gmatch '"(.-[^\\]?)"' do
      strings[#strings + 1] = s:gsub("\\x(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
    end
    return strings
  end
  local names, modules, frames = list "names", list "modules", {}
  for name, module, value, callees in picture:match "const rows=%[(.-)%]":gmatch "(%d+),(%d+),([^,]+),(%d+)" do
    frames[#frames + 1] = { name = names[name + 1], module = modules[module + 1], value = tonumber(value), callees = tonumber(callees) }
  end
  return frames
end

local function describe(picture)
  local list = {}
  for i, f in ipairs(frames_of(picture)) do list[i] = ("%s %d %d"):format(f.name, f.value, f.callees) end
  return table.concat(list, ", ")
end

-- Each element of PICTURE is closed, and nothing in its texts opens another.
local function is_well_formed(picture)
  local open = {}
  for closing, name, alone in picture:gsub("<!%[CDATA%[.-%]%]>", ""):gsub("<%?.-%?>", ""):gmatch "<(/?)(%a+)[^<>]-(/?)>" do
    if closing == "/" then
      if table.remove(open) ~= name then return false end
    elseif alone == "" then
      open[#open + 1] = name
    end
  end
  return #open == 0 and not picture:gsub("<!%[CDATA%[.-%]%]>", ""):find "&[^agql]" and not picture:find "[%z\1-\8\11-\31]"
end

local orders = { [{ "main", "parse" }] = 16, [{ "main", "parse", "render" }] = 7, [{ "main", "render" }] = 78 }
local picture = flame.svg(orders, { title = "a < b & c", unit = "orders" })
is(describe(picture), "all 101 1, main 101 2, parse 23 1, render 7 0, render 78 0", "101 orders of three keys")
ok(is_well_formed(picture), "well-formed")
like(picture, "<title>parse: 23 orders, 22.77%%</title>", "… with what a viewer without scripts shows")
like(picture, ">a &lt; b &amp; c</text>", "… and its title")
is(picture, flame.svg(orders, { title = "a < b & c", unit = "orders" }), "the same numbers are the same picture")

picture = flame.svg { ["]]></script><b>\27[2J\"\\&\255"] = 23 }
ok(is_well_formed(picture), "a hostile name stays in its place")
is(#frames_of(picture), 2, "… as one frame")
like(picture, "]]&gt;&lt;/script&gt;&lt;b&gt;\\x1b%[2J&quot;\\&amp;\\xff", "… and is to be read")
is(select(2, picture:gsub("</script>", "")), 1, "the script ends once")

picture = flame.svg {}
ok(is_well_formed(picture) and picture:find "nothing was counted", "nothing at all")
is(describe(flame.svg { [{ "a", "b" }] = 2 ^ 53, [{ "a", 5 }] = 0.5 }), "all 9007199254740992 1, a 9007199254740992 2, 5 0 0, b 9007199254740992 0",
   "large numbers and small ones, labels that are numbers")

-- Keys with stacks: labels, then programs' stacks, then the kernel's, each in the key's order.
local fd = kernel.map("hash", 8, 8 + 8 * 127, 23)
local function put(id, tgid, ending, ...)
  local words = { tgid + 2 ^ 32 * select("#", ...) + 2 ^ 48 * ending, ... }
  for i = #words + 1, 128 do words[i] = 0 end
  kernel.update(fd, id, words)
end
local function address(f) return ffi.cast("uint64_t", ffi.cast("void *", f)) end
local pid, UNKNOWN = ffi.C.getpid(), 0xffffffffffffff00ULL
put(2, pid, 0, address(ffi.C.malloc), address(ffi.C.calloc) + 7)
put(3, pid, 0, address(ffi.C.free))
put(4, 0, 0, UNKNOWN)
put(5, pid, 5, 4, 2) -- joined
stack.bind(fd)
stack.add_process(pid)
local two, three, in_kernel, joined = stack.intern(2), stack.intern(3), stack.intern(4), stack.intern(5)
local function column(...)
  local list = {}
  for i, f in ipairs(frames_of(flame.svg { [{ ... }] = 23 })) do list[i] = f.name end
  return table.concat(list, " ")
end
is(column(two, "x", three), "all x calloc malloc free", "two stacks of programs: the first is the lower one")
is(column(three, two, "x"), "all x free calloc malloc", "… in the other order")
is(column(in_kernel, three, "x", two), "all x free calloc malloc [unknown]", "the kernel's above both")
is(column("x", joined), "all x calloc malloc [unknown]", "a joined stack")
is(column(joined, three), "all calloc malloc [unknown] free", "… below another one")
is(describe(flame.svg { [joined] = 23, [two] = 7, [{ two, in_kernel }] = 71 }),
   "all 101 1, calloc 101 1, malloc 101 1, [unknown] 94 0", "a joined stack and a tuple of its parts are one column")

local function refused(want, what, ...)
  local good, message = pcall(...)
  like(not good and message, want, what)
end
refused("flame: unknown option 'titel'; did you mean 'title'%?", "a misspelt option", flame.svg, {}, { titel = "x" })
refused("flame: unit is a text, not a number", "a unit that is none", flame.svg, {}, { unit = 1 })
refused("flame: cannot write /nowhere/x.svg: No such file or directory", "a path that is none", flame.write, "/nowhere/x.svg", {})

-- The example, on a program that copies zeros in the kernel below a chain of 23 calls.
local path = target.folder() .. "-cpu.svg"
local run = target.uplua("examples/cpu_flame.lua " .. path .. " -- ./build/targets/busy kernel")
is(run.status, 0, "examples/cpu_flame.lua runs")
local file = assert(io.open(path))
picture = file:read "*a"
file:close()
os.remove(path)
ok(is_well_formed(picture), "its picture is well-formed")
local frames, below, chain, kernel = frames_of(picture), 0, 0, 0
for i, f in ipairs(frames) do
  if f.name == "descend" then chain = chain + 1 end
  if f.name == "descend" and frames[i - 1].name == "main" then below = f.value end
  if f.name:find "^entry_SYSCALL_64" and frames[i - 1].module == "libc.so.6" and f.module:find "^%[kernel" then kernel = kernel + f.value end
end
is(frames[2].name, "busy", "e.comm lies lowest")
ok(chain >= 23 and below > 0.8 * frames[1].value, "the program's calls above it")
ok(kernel > 0.7 * frames[1].value, "the kernel's above the system call")
target.done()
tap.done_testing()
