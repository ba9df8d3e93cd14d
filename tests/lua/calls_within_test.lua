-- What functions of a file call of each other, as their code has it (core.module.calls_within), and what becomes of it
-- where an allocator is traced: on tests/targets/self_calling.c, whose numbers are known, and on allocators that are
-- installed.
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local PROGRAM = "./build/targets/self_calling"

-- The kinds of the functions NAMES of MODULE, and how many calls of one are far.
local function kinds(module, names)
  local r = target.script(([[
local up = require "uplua"
local core = require "uplua.core"
local module, names, where = %q, {}, {}
for name in (%q):gmatch "%%S+" do names[#names + 1] = name end
local offsets = core.module.offsets(module, names)
for i, name in ipairs(names) do where[i] = assert(offsets[name], name) end
local found, far = core.module.calls_within(module, where, { "malloc", "aligned_alloc" })
for i, name in ipairs(names) do print(name, found[i]) end
print("far", #far)
up.exit()
]]):format(module, names), "")
  is(r.status, 0, module .. " is read")
  local of = {}
  for name, kind in r.out:gmatch "(%S+)\t(%S+)\n" do of[name] = kind end
  return of
end

local of = kinds(PROGRAM, "malloc calloc memalign realloc free valloc pvalloc cfree posix_memalign")
is(of.malloc, "none", "a function that calls none, and jumps within itself")
is(of.calloc, "others", "one that calls another one")
is(of.memalign, "others", "one that jumps to another one")
is(of.realloc, "others", "one whose helper calls another one")
is(of.free, "none", "one that does so far away")
is(of.far, "1", "which is told")
is(of.valloc, "pointers", "one that jumps to where a variable points")
is(of.pvalloc, "pointers", "one that asks the loader")
is(of.cfree, "others", "one that calls itself")
is(of.posix_memalign, "others", "one that calls another file's, by its name")

is(kinds("libc", "malloc free calloc").free, "none", "glibc's free calls none")
local glibc = kinds("libc", "malloc calloc realloc memalign")
is(glibc.malloc .. " " .. glibc.calloc, "none none", "nor do malloc and calloc")
is(glibc.realloc, "others", "glibc's realloc calls malloc")
is(glibc.memalign, "others", "glibc's memalign goes on in malloc where the alignment is that of any block")

-- The functions of the allocator in FILE, if it is installed.
local function installed(file, names)
  local path = ("/usr/lib/x86_64-linux-gnu/%s"):format(file)
  local there = io.open(path)
  if not there then return tap.skip(file .. " is not installed") end
  there:close()
  local found = kinds(path, names)
  for name in names:gmatch "%S+" do is(found[name], "none", ("%s: %s calls none"):format(file, name)) end
end
installed("libjemalloc.so.2", "malloc free calloc")
installed("libtcmalloc_minimal.so.4", "malloc free calloc _Znwm _ZdlPv")
installed("libmimalloc.so.2", "malloc free calloc mi_malloc mi_free")

if not tap.fewer(true, false) then
  target.done()
  tap.done_testing()
end

-- --- what is counted ---

local SCRIPT = target.folder() .. "-script.lua"
local file = assert(io.open(SCRIPT, "w"))
file:write [[
local up = require "uplua"
local allocators = require "uplua.allocators"
local n = up.count()
local trace = allocators.trace({ blocks = 1000 }, {
  allocated = function(e, address, bytes) n[{ "allocated", e.func, bytes }]:inc() end,
  freed = function(e, address, block)
    if block then n[{ "freed", e.func, block.bytes }]:inc() else n[{ "unknown", e.func, 0 }]:inc() end
  end,
})
up.after(0, function() io.stderr:write "tracing\n" end)
up.at_exit(function()
  local lines, held = {}, 0
  for key, calls in n:pairs() do lines[#lines + 1] = ("%s %s %d: %d"):format(key[1], key[2], key[3], calls) end
  trace:each(function(block) held = held + block.bytes end)
  table.sort(lines)
  print(table.concat(lines, "\n"))
  print("held " .. held)
end)
]]
file:close()
local run = target.attached(PROGRAM, SCRIPT)
os.remove(SCRIPT)
is(run.status, 0, "a trace of such an allocator ends with 0")
is(run.out, [[
allocated calloc 60: 101
allocated malloc 1000: 5
allocated malloc 10: 18
allocated malloc 32: 5
allocated memalign 50: 7
freed free 1000: 5
freed free 10: 18
freed free 50: 7
freed free 60: 101
held 160
]], "each call of the program counts once, and those far away")
ok(run.err:find("5 × call of an allocator's function by the allocator itself, counted like the program's", 1, true),
   "which the ledger tells")

-- glibc's memalign, of an alignment that every block has, is one allocation.
local python = io.open "/usr/bin/python3"
if python then
  python:close()
  local memalign = target.script([[
local up = require "uplua"
local allocators = require "uplua.allocators"
local n = up.count()
allocators.trace { allocated = function(e, address, bytes) n[{ e.func, bytes }]:inc() end }
up.at_exit(function() print(tonumber(n[{ "memalign", 0x12345 }]), tonumber(n[{ "malloc", 0x12345 }])) end)
]], "-- python3 -c 'import ctypes; l = ctypes.CDLL(None); [l.memalign(8, 0x12345) for i in range(23)]'")
  is(memalign.out, "23\t0\n", "memalign goes on in malloc: one allocation each")
else
  tap.skip "python3 is not installed"
end

target.done()
tap.done_testing()
