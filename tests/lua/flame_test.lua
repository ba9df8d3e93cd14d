-- Flame graphs: what is in the file, of known numbers, hostile names and a program's samples. What a browser makes of
-- it: tests/browser/flame_test.sh.
local ffi = require "ffi"
local flame = require "uplua.flame"
local folded = require "uplua.folded"
local kernel = require "kernel"
local stack = require "uplua.stack.stack"
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

ffi.cdef "int getpid(void); void *malloc(size_t size); void *calloc(size_t n, size_t size); void free(void *p);"

-- The frames of PICTURE as its script has them, callers first: { name, module, value, callees, caller } each.
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
    frames[#frames + 1] = { name = names[name + 1], module = modules[module + 1], value = tonumber(value),
      callees = tonumber(callees) }
  end
  local function adopt(i) -- sets the caller of all frames above frame I → the frame after them
    local after = i + 1
    for _ = 1, frames[i].callees do
      frames[after].caller = frames[i]
      after = adopt(after)
    end
    return after
  end
  if frames[1] then adopt(1) end
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
  for closing, name, alone in picture:gsub("<!%[CDATA%[.-%]%]>", ""):gsub("<%?.-%?>",
    ""):gmatch "<(/?)(%a+)[^<>]-(/?)>" do
    if closing == "/" then
      if table.remove(open) ~= name then return false end
    elseif alone == "" then
      open[#open + 1] = name
    end
  end
  return #open == 0 and not picture:gsub("<!%[CDATA%[.-%]%]>", ""):find "&[^agql]"
    and not picture:find "[%z\1-\8\11-\31]"
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
is(describe(flame.svg { [{ "a", "b" }] = 2 ^ 53, [{ "a", 5 }] = 0.5 }),
   "all 9007199254740992 1, a 9007199254740992 2, 5 0 0, b 9007199254740992 0",
     "large numbers and small ones, labels that are numbers")

-- Keys with stacks: labels, then programs' stacks, then the kernel's, each in the key's order.
local fd = kernel.map("hash", 8, 16 + 8 * 127, 23)
local function put(id, tgid, ending, ...)
  local words = { tgid + 2 ^ 32 * select("#", ...) + 2 ^ 48 * ending, 0, ... } -- of no known program
  for i = #words + 1, 129 do words[i] = 0 end
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

-- Two runs: 101 orders now, 80 before.
local before = folded.sums { [{ "main", "parse" }] = 40, [{ "main", "render" }] = 23,
  [{ "main", "old", "render" }] = 17 }
picture = flame.svg({ [{ "main", "parse" }] = 16, [{ "main", "parse", "render" }] = 7, [{ "main", "render" }] = 78 },
  { before = before, unit = "orders" })
ok(is_well_formed(picture), "a comparison is well-formed")
is(describe(picture), "all 101 1, main 101 3, old 0 1, render 0 0, parse 23 1, render 7 0, render 78 0",
  "with the frames that are gone")
like(picture, "const before=%[80,80,17,17,40,0,23%];", "… and what was before")
like(picture, "101 orders, before 80; shares are compared, by numbers before × 1.262; " ..
              "of those before 17 %(21.25%%%) are in frames that are gone<",
  "it tells what is compared, and what is gone")
local function has(pattern, name) like(picture, pattern, name) end
has("<title>all: 101 orders, 100.00%%; before 80, 100.00%%: %+0.00 points, " ..
    "× 1.00</title><rect [^>]*fill=\"#e4e0d6\"/><text [^>]*>all<",
  "the same share is neither")
has("<title>parse: 23 orders, 22.77%%; before 40, 50.00%%: %-27.23 points, " ..
    "× 0.46</title><rect [^>]*width=\"268.7\"[^>]*fill=\"#6aa2dc\"/><text [^>]*>▼▼ parse<",
  "what has shrunk to less than half, as wide as it is now")
has("<title>render: 7 orders, 6.93%%; before 0, 0.00%%: new</title><rect [^>]*fill=\"#ee7a66\"/>", "what is new")
has("<title>render: 78 orders, 77.23%%; before 23, 28.75%%: %+48.48 points, " ..
    "× 2.69</title><rect [^>]*width=\"911.3\"[^>]*/><text [^>]*>▲▲ render<",
  "what has grown to more than twice")
ok(not picture:find "<title>old", "what is gone has no width")
for _, words in ipairs { "▼▼ at most half, or gone", "▼ less", "equal within 5 %%", "▲ more",
  "▲▲ at least twice, or new" } do
  has("<g id=\"legend\">.*>" .. words .. "</text>.*<g id=\"frames\">", "the legend: " .. words)
end

-- Each step begins where it says: each of these was 100 before, and all were as many as they are.
local STEPS = { ["#6aa2dc"] = "less than half", ["#bcd7f0"] = "less", ["#e4e0d6"] = "equal", ["#f6c3b6"] = "more",
  ["#ee7a66"] = "twice" }
local now, was, steps = { rest = 2000 }, { rest = 2000 }, {}
local counts = { 49, 50, 51, 94, 95, 105, 106, 199, 200 }
for i, n in ipairs(counts) do
  now["f" .. i], now.rest, was["f" .. i], was.rest = n, now.rest - n, 100, was.rest - 100
end
picture = flame.svg(now, { before = was })
for i, n in ipairs(counts) do
  steps[i] = n .. " " .. STEPS[picture:match("<title>f" .. i .. ":[^\n]-fill=\"(#%x+)\"")]
end
is(table.concat(steps, ", "),
  "49 less than half, 50 less than half, 51 less, 94 less, 95 equal, 105 equal, 106 more, 199 more, 200 twice",
    "where the steps begin")
picture = flame.svg({ a = 200, b = 50 }, { before = { a = 100, b = 50 }, absolute = true })
has("250 samples, before 150; numbers are compared<", "absolute: numbers as they are")
has("<title>a: 200 samples, 80.00%%; before 100, 66.67%%: %+100, × 2.00</title>.*▲▲ a<", "… twice as many")
has("<title>b: 50 samples, 20.00%%; before 50, 33.33%%: %+0, × 1.00</title><rect [^>]*fill=\"#e4e0d6\"/><text [^>]*>b<",
  "… as many")
picture = flame.svg({ a = 101 }, { before = { a = 101 } })
has(">101 samples, before 101; numbers are compared<", "equal sums need no scale")
ok(is_well_formed(flame.svg({}, { before = { ["a;b"] = 23 } })), "everything gone")
picture = flame.svg({ ["a;b"] = 23 }, { before = {} })
has("<title>b: 23 samples, 100.00%%; before 0, 0.00%%: new</title>", "everything new")

-- Folded stacks are frames.
is(describe(flame.svg { ["main;a b"] = 16, main = 7, ["main;c++filt+0x1234"] = 3, ["main;c++filt+0x1238"] = 4 }),
  "all 30 1, main 30 2, [c++filt] 7 0, a b 16 0", "of a folded file; code without a function is its module's")
ok(flame.svg { parse = 1 }:match 'fill="(hsl[^"]*)"' ~= flame.svg { render = 1 }:match 'fill="(hsl[^"]*)"',
  "colours by name, where no module is known")

local function refused(want, what, ...)
  local good, message = pcall(...)
  like(not good and message, want, what)
end
refused("flame: unknown option 'titel'; did you mean 'title'%?", "a misspelt option", flame.svg, {}, { titel = "x" })
refused("flame: option 'unit': it is a text, not 1", "a unit that is none", flame.svg, {}, { unit = 1 })
refused("flame: option 'before': it is a count, a sum, or a table of stacks with numbers, not 'x'",
  "a path in place of what is in it", flame.svg, {}, { before = "x" })
refused("flame_test.lua:%d+: flame: the source is a count, a sum, or a table of stacks with numbers, not nil",
  "no source", function() return (flame.svg()) end)
refused("flame: cannot write /nowhere/x.svg: No such file or directory", "a path that is none", flame.write,
  "/nowhere/x.svg", {})

-- The example, on a program that copies zeros in the kernel below a chain of 23 calls.
local path = target.folder() .. "-cpu.svg"
local run = target.uplua("examples/cpu_flame.lua " .. path .. " -- ./build/targets/busy kernel")
is(run.status, 0, "examples/cpu_flame.lua runs")
local file = assert(io.open(path))
picture = file:read "*a"
file:close()
os.remove(path)
ok(is_well_formed(picture), "its picture is well-formed")
local frames, main, below, chain, kernel = frames_of(picture), 0, 0, 0, 0
for _, f in ipairs(frames) do
  if f.name == "main" then main = main + f.value end
  if f.name == "descend" then chain = chain + 1 end
  if f.name == "descend" and f.caller.name == "main" then below = f.value end
  if f.name:find "^entry_SYSCALL_64" and f.caller.module == "libc.so.6" and f.module:find "^%[kernel" then
    kernel = kernel + f.value
  end
end
is(frames[2].name, "busy", "e.comm lies lowest")
ok(chain >= 23 and below > 0.8 * main, "the program's calls above it")
ok(kernel > 0.7 * main, "the kernel's above the system call")
target.done()
tap.done_testing()
