-- Stacks on the script's side. A stack value in a map or ring is a 64-bit id; here it becomes one object per id, so that
-- it can be a key of a Lua table. Frames are read from the kernel and named when somebody asks, and only once.
--
-- A stack is a table (LuaJIT without 5.2 compatibility asks no table for its length: hence depth(), not #s):
--   tostring(s)   one line per frame, the innermost first, as in "     zmalloc+0x21"
--   s:frames()    { { address, symbol or nil, offset, module or nil }, … }, the innermost first
--   s:depth()     the number of frames
--   s:folded()    "main;serve;zmalloc": the outermost first, functions without offsets, for flame graphs
--   s:key()       equal for stacks that print equally: to merge those of several processes in a view
--   s:pid()       the process it was taken in
--   s.id          the id, a uint64_t
local ffi  = require "ffi"
local bit  = require "bit"
local core = require "uplua.core"
local loop = require "uplua.loop"
local map  = require "uplua.map"

ffi.cdef [[
struct uplua_stack { uint32_t tgid; uint16_t count, end_; uint64_t frames[]; };
]]

local HEADER = ffi.sizeof "uint32_t" * 2
local INDENT = "     "

local u64       = ffi.typeof "uint64_t"
local u64_array = ffi.typeof "uint64_t[1]"
local view_type = ffi.typeof "const struct uplua_stack *"
local words     = ffi.typeof "const uint64_t *"

local stack, methods, meta = {}, {}, {}
meta.__index = methods

local sources = {}  -- { fd, map, value }, the last bound first
local objects = {}  -- upper half of the id → lower half → object
local symbols       -- uplua.core's, made when first needed
local unwinder      -- uplua.core's; nil until handlers use stacks

local function names()
  symbols = symbols or core.symbols.new()
  return symbols
end

-- Addresses as text; a number is exact below 2^53, garbage above it comes as cdata.
local function hex(address)
  local digits = bit.tohex(ffi.cast(u64, address)):gsub("^0+", "")
  return "0x" .. (digits == "" and "0" or digits)
end

local function plain(address)
  return address < 2 ^ 53 and tonumber(address) or address
end

-- Reads the frames of S from the kernel, once. What is not there has no frames: the store was full, or no stack
-- could be taken; the ledger has counted it.
local function load(s)
  if s._frames then return end
  for _, source in ipairs(sources) do
    if source.map:lookup(u64_array(s.id), source.value) then
      local found = ffi.cast(view_type, source.value)
      local room = math.floor((source.map.value_size - HEADER) / 8)
      s._pid, s._end = found.tgid, found.end_
      s._frames = ffi.string(found.frames, math.min(found.count, room) * 8)
      return
    end
  end
  return true
end

local function resolve(s)
  if s._list then return s._list end
  if load(s) then return {} end
  local list, raw = {}, s._frames
  local found = names():resolve(s._pid, raw)
  local address = ffi.cast(words, raw)
  for i = 1, #raw / 8 do
    list[i] = {
      address = plain(address[i - 1]),
      symbol  = found[3 * i - 2] or nil,
      module  = found[3 * i - 1] or nil,
      offset  = found[3 * i],
    }
  end
  s._list = list
  return list
end

-- Why a stack has no more frames (enum stack_end of bpf/stack.h).
local NO_TABLE, UNMAPPED, UNREADABLE, CUT = 1, 2, 3, 4

local function basename(path)
  return path:match "[^/]+$" or path
end

-- A frame's function, or what is known in its place; the second value tells whether the offset is still to be added.
local function name(frame)
  if frame.symbol then return frame.symbol, true end
  if frame.module then return basename(frame.module) .. "+" .. hex(frame.offset), false end
  return "[unknown] " .. hex(frame.address), false
end

local function line(frame)
  local text, bare = name(frame)
  return bare and text .. "+" .. hex(frame.offset) or text
end

-- What is to be said in place of the frames that are missing; nil where none is.
local function missing(s)
  local last = s._list and s._list[#s._list]
  if s._end == NO_TABLE then
    return ("[no unwind table: %s]"):format(last and last.module and basename(last.module) or "unknown code")
  end
  if s._end == UNMAPPED then return "[mapping not known]" end
  if s._end == UNREADABLE then return "[stack not readable]" end
  if s._end == CUT then return "[cut]" end
end

function methods:pid()
  load(self)
  return self._pid
end

function methods:depth()
  load(self)
  return self._frames and #self._frames / 8 or 0
end

function methods:frames()
  local copies = {}
  for i, frame in ipairs(resolve(self)) do
    copies[i] = { address = frame.address, symbol = frame.symbol, offset = frame.offset, module = frame.module }
  end
  return copies
end

function methods:folded()
  if self._folded then return self._folded end
  local parts, list = {}, resolve(self)
  for i = #list, 1, -1 do
    parts[#parts + 1] = (name(list[i]):gsub(";", "\\x3b"))
  end
  local text = #parts > 0 and table.concat(parts, ";") or "[stack not recorded]"
  if self._frames then self._folded = text end
  return text
end

function methods:key()
  return tostring(self)
end

function meta:__tostring()
  if self._text then return self._text end
  local lines = {}
  for i, frame in ipairs(resolve(self)) do
    lines[i] = INDENT .. line(frame)
  end
  local note = missing(self)
  if note and #lines > 0 then lines[#lines + 1] = INDENT .. note end
  local text = #lines > 0 and table.concat(lines, "\n") or INDENT .. "[stack not recorded]"
  if self._frames then self._text = text end
  return text
end

function meta.__concat(a, b)
  return tostring(a) .. tostring(b)
end

-- Gives the script side the kernel's map `stacks`, of which the descriptor FD stays the caller's. Each setup may
-- have a map of its own: ids are hashes of what they stand for, so that equal ids in two maps are the same stack.
function stack.bind(fd)
  for _, source in ipairs(sources) do
    if source.fd == fd then return end
  end
  local opened = map.open(fd)
  table.insert(sources, 1, { fd = fd, map = opened, value = opened:value_buffer() })
end

-- To be called before FD is closed: stacks that the script holds keep their frames.
function stack.unbind(fd)
  for _, lower in pairs(objects) do
    for _, s in pairs(lower) do load(s) end
  end
  for i, source in ipairs(sources) do
    if source.fd == fd then
      table.remove(sources, i)
      return
    end
  end
end

-- The one object of ID (a number or a 64-bit cdata).
function stack.intern(id)
  id = ffi.cast(u64, id)
  local high, low = tonumber(bit.rshift(id, 32)), tonumber(bit.band(id, 0xffffffffULL))
  -- A key that is no integer never makes an array part, which would keep the JIT from compiling this.
  local lower = objects[high + 0.5]
  if not lower then
    lower = {}
    objects[high + 0.5] = lower
  end
  local s = lower[low + 0.5]
  if not s then
    s = setmetatable({ id = id }, meta)
    lower[low + 0.5] = s
  end
  return s
end

-- True if V is a stack.
function stack.is(v)
  return type(v) == "table" and getmetatable(v) == meta
end

-- True if A and B print equally.
function stack.names_equal(a, b)
  return a == b or a:key() == b:key()
end

-- Reads the mappings of process PID now, so that its stacks can be named after it has exited. true, or nil and the reason.
function stack.add_process(pid)
  return names():add_process(pid)
end

-- Keeps in mind what the processes PIDS map (all, where there are none), so that their stacks can be named after they have
-- exited. COMMAND: the program that the process is still to execute.
function stack.follow(pids, command)
  local symbols = names()
  if command then symbols:keep_file(command) end
  local fd = symbols:follow(pids, command ~= nil)
  if not fd then return end
  local function update() symbols:update() end
  loop.watch(fd, update)
  if #pids == 0 then loop.after(0, update) end -- reads what runs already; not now, when probes are about to be attached
end

-- The library's maps that unwind tables go to.
stack.TABLES = {
  "unwind_slabs", "unwind_tables", "unwind_rules", "unwind_process", "unwind_files", "unwind_kernel",
  "unwind_early", "unwind_wanted",
}

-- From now on the kernel gets unwind tables for the processes that are followed, in MAPS (name → fd, which stay open);
-- EVERYBODY: for those in which a handler takes a stack. COMMAND: the program that is still to be executed. To be called before
-- follow().
function stack.unwind(maps, everybody, command)
  unwinder = core.unwind.new(names(), maps, everybody)
  if command then unwinder:add_program(command) end
  loop.watch(unwinder:fd(), function() unwinder:update() end)
end

-- What was lost of it, for the ledger: { { text, count }, … }.
function stack.lost()
  if not symbols then return {} end
  local records, frames = symbols:lost()
  return {
    { "mapping not recorded: what it holds may have no names", records },
    { "frame of a process that has exited: nothing is known of its mappings", frames },
  }
end

return stack
