-- What files can hold that is more than can be probed, or damaged: said exactly, before anything is attached.
local tap = require "tap"
local target = require "target"
local is = tap.is

local cc = tap.compiler()
local D = target.folder() .. "-limits"
os.execute("mkdir -p " .. D)

-- Makes the library NAME of TEXT in assembly.
local function library(name, text)
  local file = assert(io.open(("%s/%s.s"):format(D, name), "w"))
  file:write(text)
  file:close()
  return os.execute(("%s -shared -nostdlib -o %s/%s %s/%s.s"):format(cc, D, name, D, name)) == 0
end

-- A note of a USDT probe at the label ADDRESS with SEMAPHORE and ARGUMENTS.
local function note(name, address, semaphore, arguments)
  return ([[
.pushsection .note.stapsdt, "", "note"
.balign 4
.4byte 8, 994f-993f, 3
.asciz "stapsdt"
993: .8byte %s, 0, %s
.asciz "app"
.asciz "%s"
.asciz "%s"
994: .balign 4
.popsection
]]):format(address, semaphore, name, arguments)
end

local function refused(code, want, what)
  local run = target.uplua(("-e '%s' -- true"):format(code))
  is((run.err:gsub(D:gsub("%p", "%%%0") .. "/", "")), ("uplua: -e:1: %s\n  -e:1: in the main chunk\n"):format(want),
    what)
  is(run.status, 1, "… is an error")
end

-- 100,003 functions of one byte or more.
local functions = { ".text\n" }
for i = 1, 100003 do
  functions[#functions + 1] = (".globl f%d\n.type f%d,@function\nf%d: ret\n.size f%d,.-f%d\n"):format(i, i, i, i, i)
end
assert(library("many.so", table.concat(functions)))
refused(('uprobe("%s/many.so:f*", function(e) end)'):format(D),
  "uprobe many.so:f*: these are 100003 places, and no more than 100000 can be probed at once; name fewer functions",
        "more functions than can be probed")
refused(('uretprobe({ "%s/many.so:f*", "libc:malloc" }, function(e) end)'):format(D),
        "uretprobe many.so:f*: these are 100003 places, and no more than 100000 can be probed at once; " ..
        "name fewer functions", "… one of a list")

-- A USDT probe at 100,003 places, whose notes all mean one nop: each counts.
assert(library("notes.so", ".text\nplace: nop\nret\n.data\n.balign 2\nsemaphore: .2byte 0\n.rept 100003\n" ..
  note("many", "place", "0", "") .. ".endr\n"))
refused(('usdt("%s/notes.so:app:many", function(e) end)'):format(D),
        "usdt notes.so:app:many: these are more than 4096 probes with different arguments, or 100000 places; " ..
        "name fewer", "more places of a USDT probe")
local different = {}
for i = 1, 4099 do different[i] = note("different", "place", "0", ("8@$%d"):format(i)) end
assert(library("different.so", ".text\nplace: nop\nret\n" .. table.concat(different)))
refused(('usdt("%s/different.so:app:different", function(e) end)'):format(D),
        "usdt different.so:app:different: these are more than 4096 probes with different arguments, " ..
        "or 100000 places; name fewer", "more layouts of arguments")

-- Semaphores that lie where none can be.
for what, address in pairs { ["in the code"] = "place", ["beyond the file"] = "0x7ffffff0",
  ["at an odd address"] = "odd" } do
  assert(library("semaphore.so", ".text\nplace: nop\nret\n.data\n.balign 2\n.byte 0\nodd: .4byte 0\n" ..
    note("guarded", "place", address, "")))
  refused(('usdt("%s/semaphore.so:app:guarded", function(e) end)'):format(D),
          "usdt semaphore.so:app:guarded: app:guarded in semaphore.so cannot be probed: its note is damaged: " ..
          "its semaphore is at an address where none can be", "a semaphore " .. what)
end

os.execute("rm -rf " .. D)
-- Too few descriptors are no fault of the kernel's, nor of the handler's.
local run = target.shell([[(ulimit -n 20 && ./uplua -e 'n = count()
  uprobe("./build/targets/calls:add3", function(e) n[e:ustack()]:inc() end)' -- true) >"$D/out" 2>"$D/err"]])
tap.like(run.err, "^uplua: too many open files: the handlers need %d+ more, " ..
                  "and of the 20 that are allowed %d+ are left: raise `ulimit %-n`\n$", "too few open files")
is(run.status, 1, "… with its status")
-- … wherever it is that none is left: handlers, tracepoints, functions, returns.
local refused_limits = 0
for limit = 60, 88 do
  run = target.shell(('(ulimit -n %d && ./uplua mallocleak.lua -- true) >"$D/out" 2>"$D/err"'):format(limit))
  if run.status ~= 0 then
    tap.like(run.err, "^uplua: [^\n]*too many open files: [^\n]*of the " .. limit ..
             " that are allowed [^\n]+: raise `ulimit %-n`\n", "too few for all of a script's probes, " .. limit)
    refused_limits = refused_limits + 1
  end
end
tap.ok(refused_limits > 0, "so few files are refused: " .. refused_limits .. " of 29 limits")
-- … and for its tracepoints: one attaches where nothing else is left that a descriptor could be had of.
local SPENT = [[
local up = require "uplua"
local n = up.count()
up.tracepoint("%s", function() n:inc() end)
up.at_exit(function() print("not refused") end)]]
local path = target.folder() .. "-spent.lua"
local file = assert(io.open(path, "w"))
file:write(SPENT:format "sched:*")
file:close()
for _, limit in ipairs { 32, 34, 36, 38, 40, 42, 44, 46, 48, 56, 64 } do
  run = target.shell(('(ulimit -n %d && ./uplua %s -- true) >"$D/out" 2>"$D/err"'):format(limit, path))
  if run.status ~= 0 then
    tap.like(run.err, "^uplua: [^\n]*too many open files: [^\n]*of the " .. limit ..
             " that are allowed [^\n]+: raise `ulimit %-n`\n", "the limit is told, " .. limit)
  end
end
os.remove(path)

target.done()
tap.done_testing()
