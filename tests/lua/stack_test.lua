-- Stacks: from ids in maps to lines of text, that outlive the map.
local ffi = require "ffi"
local tap = require "tap"
local target = require "target"
local kernel = require "kernel"
local core = require "uplua.core"
local loop = require "uplua.base.loop"
local stack = require "uplua.stack.stack"
local ok, is, like = tap.ok, tap.is, tap.like

-- Memory without a symbol, which is there before the mappings are first read: they are read again only now and then.
local unnamed = ffi.new "char[64]"
ffi.cdef [[int getpid(void); void *malloc(size_t size); void *calloc(size_t n, size_t size);
  void free(void *p); int close(int fd);
  void *mmap(void *address, size_t size, int protection, int flags, int fd, long offset);]]
local C = ffi.C
local pid = C.getpid()

local function address(f) return ffi.cast("uint64_t", ffi.cast("void *", f)) end

local FRAMES = 127
local fd = kernel.map("hash", 8, 16 + 8 * FRAMES, 201)

local function put(id, ...)
  local words = { pid + 2 ^ 32 * select("#", ...), 0, ... } -- of no known program
  for i = #words + 1, FRAMES + 2 do words[i] = 0 end
  kernel.update(fd, id, words)
end

local malloc, calloc, free = address(C.malloc), address(C.calloc), address(C.free)
local ID = 0xfedcba9876543210ULL
put(ID, malloc, free + 7, calloc + 1, 0xdeadbeef12345678ULL, 0x123)
put(23, malloc, free + 7)
put(24, malloc, free + 7)
put(25, malloc, free + 8)

stack.bind(fd)
ok(stack.add_process(pid), "a process's mappings are read")
local added, reason = stack.add_process(2 ^ 30)
is(added, nil, "those of no process are not")
like(reason, "1073741824: No such process$", "and the reason is told")

local s = stack.intern(ID)
ok(s == stack.intern(ffi.cast("int64_t", ID)) and stack.intern(23) == stack.intern(23LL), "one object per id")
ok(s ~= stack.intern(23), "another for another id")
ok(stack.is(s) and not stack.is {} and not stack.is(23), "stack.is tells stacks")
is(s.id, ID, "its id")
is(#s, 5, "its length")
is(s:depth(), 5, "which is its depth")
ok(not pcall(function() s.id = 23 end), "its fields are not set")
is(tostring(s), [[
     malloc+0x0
     free+0x7
     calloc+0x1
     [unknown] 0xdeadbeef12345678
     [unknown] 0x123]], "one line per frame, unknown addresses as they are")
is("at\n" .. stack.intern(23) .. "\n", "at\n     malloc+0x0\n     free+0x7\n", "a stack is joined to strings")
is(s:folded(), "[unknown] 0x123;[unknown] 0xdeadbeef12345678;calloc;free;malloc", "folded: the outermost first")

local frames = s:frames()
is(#frames, 5, "its frames")
is(frames[2].symbol, "free", "with symbol")
is(frames[2].offset, 7, "offset, which is the return address's")
is(frames[2].address, tonumber(free) + 7, "address, a number")
like(frames[2].module, "/libc%.so%.6$", "and module")
is(frames[4].address, 0xdeadbeef12345678ULL, "an address of 64 bits is exact")
is(frames[4].symbol, nil, "without a symbol")
is(frames[4].module, nil, "or module")
frames[1].symbol = "changed"
is(s:frames()[1].symbol, "malloc", "they are copies")

is(stack.intern(23):key(), stack.intern(24):key(), "stacks of different ids may read alike: their keys are equal")
ok(stack.intern(23):key() ~= stack.intern(25):key(), "another offset is another place")

-- The first frame is where the probe stands: a function's first instruction. The others follow a call.
put(26, free, free)
is(stack.intern(26):frames()[1].symbol, "free", "the first frame may be a function's start")
ok(stack.intern(26):frames()[2].offset ~= 0 or stack.intern(26):frames()[2].symbol == "free",
   "a return address there belongs to the function before, if there is one")

put(27, address(unnamed))
like(tostring(stack.intern(27)), "^     %[?[%w_]+%]?%+0x%x+$", "memory without a symbol is module and offset")

put(31, 0xffffffff81000100ULL, malloc, free + 7)
like(stack.intern(31):folded(), "^free;malloc;",
  "below the kernel's frames the first address is none that is returned to")
is(stack.intern(31):frames()[1].kernel, true, "a kernel's frame says so")

-- A joined stack: the kernel's, and the program's below it (STACK_JOINED of bpf/stack.h).
local JOINED, NO_TABLE = 5, 1
local function put_raw(id, tgid, ending, ...)
  local words = { tgid + 2 ^ 32 * select("#", ...) + 2 ^ 48 * ending, 0, ... } -- of no known program
  for i = #words + 1, FRAMES + 2 do words[i] = 0 end
  kernel.update(fd, id, words)
end
local IN_KERNEL = 0xffffffff81000100ULL
local KERNEL_ID, USER_ID = 0xfedcba9800000032ULL, 0xfedcba9800000033ULL -- more than a double holds
put_raw(KERNEL_ID, 0, 0, IN_KERNEL, IN_KERNEL + 0x100)
put_raw(USER_ID, pid, NO_TABLE, malloc, free + 7)
put_raw(34, pid, JOINED, KERNEL_ID, USER_ID)
put_raw(35, pid, JOINED, KERNEL_ID, 99)
put_raw(36, pid, 0)
put_raw(37, pid, JOINED, KERNEL_ID, 36)
local joined, above, below = stack.intern(34), stack.intern(KERNEL_ID), stack.intern(USER_ID)
is(joined:folded(), below:folded() .. ";" .. above:folded(), "a joined stack, folded: the program's, then the kernel's")
is(tostring(joined), tostring(above) .. "\n" .. tostring(below),
  "its lines: the kernel's, then the program's with what is missing")
is(joined:incomplete(), "[no unwind table: libc.so.6]", "which it says itself")
is(#joined, 4, "its length is that of both")
is(joined:frames()[2].kernel, true, "its frames: the kernel's")
is(joined:frames()[3].kernel, nil, "and those of the program")
is(joined:folded(), below:folded() .. ";" .. above:folded(), "folded once its frames were read")
is(tostring(stack.intern(35)), tostring(above) .. "\n     [stack not recorded]",
  "the lower part may not have been kept")
is(stack.intern(37):folded(), above:folded(), "or have no frames: a thread of the kernel's")

-- What many stacks are looked at by: the same frames, each address named once.
-- of uplua itself, which has debug information: other functions are inlined into it
local fold = address(require "uplua.contract".C.symbols_fold)
put(38, fold + 3, fold + 17, fold + 101, fold + 149, fold + 23, malloc, fold + 211, fold + 307)
local known, lists, inlined = {}, {}, 0
for round = 1, 2 do
  for _, id in ipairs { ID, 23, 25, 26, 31, 34, 35, 36, 38 } do
    local one = stack.intern(id)
    local functions, count, missing = stack.functions(one, known)
    local got, want = {}, {}
    for i = 1, count do
      for _, f in ipairs(functions[i]) do
        got[#got + 1] = ("%s %s:%s"):format(f, f.file, f.line)
        inlined = inlined + (f.inlined and 1 or 0)
      end
      if round == 1 then
        lists[tostring(id) .. " " .. i] = functions[i]
      elseif lists[tostring(id) .. " " .. i] ~= functions[i] then
        got[#got + 1] = "another list"
      end
    end
    for i, f in ipairs(one:frames()) do want[i] = ("%s %s:%s"):format(f, f.file, f.line) end
    is(table.concat(got, ", "), table.concat(want, ", "),
      ("the functions of stack %s are its frames"):format(tostring(id)))
    is(missing, one:incomplete(), "… and what is missing below")
  end
end
ok(inlined > 0, inlined .. " of them were inlined")

-- More frames than the table of numbers began with, again and again: a number is that of one frame alone.
do
  local INTERRUPTED = 2ULL ^ 62
  local many, wrong = {}, 0
  for id = 0, 59 do
    local words = {}
    for i = 1, 61 do words[i] = malloc + 17 * id + i * 1009 + (i % 23 == 0 and INTERRUPTED or 0ULL) end
    put(1000 + id, unpack(words))
  end
  for _ = 1, 2 do
    for id = 0, 59 do
      local one = stack.intern(1000 + id)
      local numbers, count = stack.numbers(one, many)
      local at, frames = 0, one:frames()
      for i = 1, count do
        local list = many.index.lists[numbers[i]]
        if list.returns ~= (i > 1 and i % 23 ~= 0) then wrong = wrong + 1 end
        for _, f in ipairs(list) do
          at = at + 1
          if tostring(f) ~= tostring(frames[at]) then wrong = wrong + 1 end
        end
      end
      if at ~= #frames or count ~= 61 then wrong = wrong + 1 end
    end
  end
  is(wrong, 0, "of 3,660 frames each has its function, and is said to return where it does")
  ok(#many.index.lists > 1024, #many.index.lists .. " numbers")
end

local short = stack.intern(25)
local place = ("0x%x free (libc.so.6)"):format(tonumber(free) + 8)
is(short:text { offsets = false }, "     malloc\n     free", "a style: without offsets")
is(short:text { reverse = true }, "     free+0x8\n     malloc+0x0", "the outermost first")
is(short:text { one_line = true }, "malloc+0x0 < free+0x8", "in one line")
is(short:text { one_line = true, reverse = true }, "free+0x8 > malloc+0x0", "in one line, the outermost first")
is(short:text { one_line = ";", offsets = false }, "malloc;free", "joined by a text")
ok(short:text { addresses = true, modules = true, offsets = false }:find("\n     " .. place, 1, true),
  "with address and module")
is(short:text(), tostring(short), "the usual one")
local with_lines = short:text { lines = true }
ok(with_lines:gsub(" %S+:[%d?]+\n", "\n"):gsub(" %S+:[%d?]+$", ""):gsub("[^\n]+ %(inlined%)\n", "") == tostring(short),
   "with lines, where the C library has debug information")
local good, message = pcall(short.text, short, { ofsets = true })
like(message, "unknown style 'ofsets'; did you mean 'offsets'%?$", "an unknown style is refused")
good, message = pcall(short.text, short, { offsets = 1 })
like(message, "offsets is true or false, not 1$", "and a value that is none")
ok(not good, "with an error")
is(tostring(short:frames()[2]), "free+0x8", "a frame is text, too")

local late = stack.intern(28)
is(tostring(late), "     [stack not recorded]", "an id that the map lacks")
is(late:depth(), 0, "has no frames")
put(28, calloc)
is(tostring(late), "     calloc+0x0", "and is read when it is there")

-- Code that a process makes as it runs, ours, and makes anew at the same place: the newest name counts, also for a
-- stack that was printed.
do
  local PROT_READ_EXEC, MAP_PRIVATE_ANONYMOUS = 5, 0x22
  local code = ffi.cast("uint64_t", C.mmap(nil, 4096, PROT_READ_EXEC, MAP_PRIVATE_ANONYMOUS, -1, 0))
  local path = ("/tmp/perf-%d.map"):format(pid)
  local function write(name, mode)
    local file = assert(io.open(path, mode))
    file:write(("%x 40 %s\n"):format(tonumber(code), name))
    file:close()
  end
  put(39, malloc, code + 8)
  stack.add_process(pid) -- now, whenever the mappings were read last
  write("first;made", "w")
  local made = stack.intern(39)
  is(tostring(made) .. " " .. made:folded(), "     malloc+0x0\n     first;made+0x8 first\\x3bmade;malloc",
    "code that was made as the process runs")
  -- The file is read again after a pause, which is the longer the slower the machine reads it.
  local function shows(name)
    pcall(target.await, name, function() return tostring(made):find(name, 1, true) end) -- what is there is told below
  end
  write("second_made", "a")
  shows "second_made"
  is(tostring(made) .. " " .. made:folded(), "     malloc+0x0\n     second_made+0x8 second_made;malloc", "made anew")
  is(made:frames()[2].symbol, "second_made", "… its frames")
  write("third_made", "w")
  shows "third_made"
  is(made:folded() .. " " .. tostring(made), "third_made;malloc      malloc+0x0\n     third_made+0x8",
    "and written anew")
  os.remove(path)
end

is(tostring(stack.intern(30)), "     [stack not recorded]", "of what no map has nothing is known")
C.close(fd)

local symbols = core.symbols.new()
local name, module, offset = symbols:lookup(pid, tonumber(malloc) + 3)
is(name, "malloc", "symbols:lookup names an address")
like(module, "/libc%.so%.6$", "its module")
is(offset, 3, "its offset")
name, module, offset = symbols:lookup(pid, 0x123)
ok(name == nil and module == nil and offset == 0x123, "and nothing where there is nothing")
ok(not pcall(symbols.lookup, symbols, pid, "x"), "a wrong argument is an error")
symbols:close()
symbols:close()
is(tostring(symbols), "symbols (closed)", "symbols close")
ok(not pcall(symbols.lookup, symbols, pid, 1), "and are not used then")

local new, watch = core.unwind.new, loop.watch
local function nothing() end
core.unwind.new = function()
  return { fd = function() return 7 end, counts = function() return 1, 2, 3, 23 end, recall = nothing,
    update = nothing, sees_changes = function() return true end }
end
loop.watch = function() end
stack.unwind({}, true)
core.unwind.new, loop.watch = new, watch
local lost = stack.lost()
is(lost[#lost][1] .. " " .. lost[#lost][2],
   "unwind table, or mappings of a process, not loaded: the kernel has no room 23",
     "what the unwinder finds no room for is in the ledger")

tap.done_testing()
