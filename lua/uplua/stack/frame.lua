-- Frames: addresses with their names. A frame is a table with the fields
--   address   a number, a uint64_t where it is 2^53 or more
--   symbol    the function's name; nil where none is known
--   offset    from the function's start; without a function, in the module
--   start     where a function without a name begins in the module, by the module's unwind tables; nil: not known
--   module    "/usr/lib/x86_64-linux-gnu/libc.so.6", "[vdso]", "[kernel]"; nil where nothing is mapped
--   kernel    true: an address of the kernel's
--   file, line  of the source, where debug information is found
--   guessed   true: no unwind table led here, but what the code of the frame before does to the stack
--   inlined   true: the function was inlined into that of the next frame; both have the same address, module and offset
-- tostring(frame) is "malloc+0x1d", "libfoo.so+0x1234", "[unknown] 0x1234" or "checked_sum (inlined)".
local ffi         = require "ffi"
local bit         = require "bit"
local contract    = require "uplua.contract"
local core        = require "uplua.core"
local run         = require "uplua.base.run"
local int64_bytes = require "uplua.base.int64_bytes"
local text        = require "uplua.base.text"

local frame, meta = {}, {}

local u64       = ffi.typeof "uint64_t"
local words     = ffi.typeof "const uint64_t *"
local KERNEL    = 2ULL ^ 63
local USER_END  = 2ULL ^ 56 -- at most (five levels of page tables)
local GUESSED   = contract.STACK_GUESSED / 2 ^ 32 -- a bit of the upper half, …
local RETURNED  = contract.STACK_RETURNED / 2 ^ 32
local UPPER     = ffi.typeof "const uint32_t *"
local BEYOND    = 2 ^ 31                          -- … which is so much at least in an address of the kernel's
local C         = contract.C

local own = run.part(function()
  return { symbols = nil } -- uplua.core's, made when first needed
end)

-- The run's symbols.
function frame.symbols()
  local mine = own()
  mine.symbols = mine.symbols or core.symbols.new()
  return mine.symbols
end

-- The losses of symbols:lost(); nothing if no symbol was ever asked for.
function frame.lost()
  local symbols = own().symbols
  if symbols then return symbols:lost() end
end

-- What is missing of files' debug information, for the ledger: { { text, count }, … }.
function frame.unread()
  local list, symbols = {}, own().symbols
  for i, one in ipairs(symbols and symbols:unread() or {}) do
    local units = tonumber(one[2])
    local text = units and "unit of debug information not read, damaged or too large, and its lines not shown: "
      or one[2] == "too large" and "debug information not read, too large, and its lines not shown: "
      or "file of which symbols or debug information were not read, out of memory: "
    list[i] = { text .. one[1], units or 1 }
  end
  return list
end

-- Addresses as text; a number is exact below 2^53, garbage above it comes as cdata.
local function hex(address)
  local digits = bit.tohex(ffi.cast(u64, address)):gsub("^0+", "")
  return "0x" .. (digits == "" and "0" or digits)
end
frame.hex = hex

local function plain(address) return address < 2 ^ 53 and tonumber(address) or address end

-- The last part of a path.
function frame.basename(path) return path:match "[^/]+$" or path end

-- A frame's function, or what is known in its place; the second value tells whether the offset is still to be added.
local function name(one)
  if one.inlined then return one.symbol or "[unknown]", false end
  if one.symbol then return one.symbol, true end
  if one.module then return frame.basename(one.module) .. "+" .. hex(one.offset), false end
  return "[unknown] " .. hex(one.address), false
end

local here -- the folder in which uplua runs, with a slash behind it

-- The path of a source as people would type it: from where they are.
local function from_here(path)
  here = here or (core.system.real_path "." or ""):gsub("/?$", "/")
  return path:sub(1, #here) == here and path:sub(#here + 1) or path
end

-- True if how the caller of frame I (from 0) was found is a guess. HALVES: of the stack's frames.
local function is_guess(halves, i)
  local upper = halves[2 * i + 1]
  return upper < BEYOND and bit.band(upper, GUESSED) ~= 0
end

-- True if one of the COUNT frames that begin at FIRST was found so.
function frame.any_guessed(first, count)
  local halves = ffi.cast(UPPER, first)
  for i = 0, count - 2 do
    if is_guess(halves, i) then return true end
  end
  return false
end

-- The function of frame ONE for tables of functions: its name, "libfoo.so+0x1234" by where it begins, or what is known
-- in the place of that.
function frame.function_name(one)
  if one.symbol then return one.symbol end
  if one.start then return frame.basename(one.module) .. "+" .. hex(one.start) end
  return one.module and ("[no name in %s]"):format(frame.basename(one.module)) or "[unknown]"
end

-- A frame as text, with what STYLE asks for: its offset in the function, its address before it, its module and its
-- place in the source behind it.
function frame.text(one, style)
  local shown, bare = name(one)
  if bare and style.offsets ~= false then shown = shown .. "+" .. hex(one.offset) end
  if one.inlined then shown = shown .. " (inlined)" end
  if one.guessed then shown = shown .. " (guessed)" end
  if style.addresses then shown = hex(one.address) .. " " .. shown end
  if style.modules and one.symbol and one.module then shown = ("%s (%s)"):format(shown, frame.basename(one.module)) end
  if style.lines and one.file then shown = ("%s %s:%s"):format(shown, from_here(one.file), one.line or "?") end
  return shown
end

local USUAL = {}
function meta.__tostring(one) return frame.text(one, USUAL) end

-- A frame like ONE, for the script to keep.
function frame.copy(one)
  local copy = {}
  for field, value in pairs(one) do copy[field] = value end
  return setmetatable(copy, meta)
end

-- The frames RAW of a stack (a string of 64-bit integers, the innermost first), which was seen in process PID while it
-- executed PROGRAM, as stacks have it (a string of one such integer); nil: the last one that had something there.
function frame.resolve(pid, raw, program)
  local list, symbols = {}, frame.symbols()
  local found = symbols:resolve(pid, raw, program)
  local address, of = ffi.cast(words, raw), ffi.cast("struct uplua_symbols *", symbols:pointer())
  local since = program and ffi.cast(words, program)[0] or 0ULL
  local halves = ffi.cast(UPPER, address)
  for i = 1, #raw / 8 do
    list[i] = setmetatable({
      address = plain(C.symbols_address(of, pid, since, address[i - 1])),
      symbol  = found[4 * i - 3] or nil,
      module  = found[4 * i - 2] or nil,
      offset  = found[4 * i - 1],
      start   = found[4 * i] or nil,
      kernel  = address[i - 1] >= KERNEL or nil,
      guessed = i > 1 and is_guess(halves, i - 2) or nil,
    }, meta)
  end
  return list
end

-- True where the first frame of RAW is marked as a return address.
local function is_returned(raw)
  local upper = ffi.cast(UPPER, raw)[1]
  return upper < BEYOND and bit.band(upper, RETURNED) ~= 0
end

-- Adds to WHOLE the frame ONE, number I of RAW in process PID, with file and line, and before it the functions that
-- were inlined there. RETURNED: the first frame, too, is a return address, whose call lies before it.
local function add_with_lines(whole, one, pid, raw, i, program, returned)
  if i == 1 and returned and not is_returned(raw) then raw = int64_bytes.of(ffi.cast(words, raw)[0] - 1) end
  local places = frame.symbols():places(pid, raw, i, program)
  for at = 1, #places, 3 do
    local copy = frame.copy(one)
    copy.file, copy.line = places[at + 1] or nil, places[at + 2] ~= 0 and places[at + 2] or nil
    if at + 3 <= #places then
      copy.symbol, copy.inlined = places[at] or nil, true
    else
      copy.symbol = copy.symbol or places[at] or nil
    end
    whole[#whole + 1] = copy
  end
  if #places == 0 then whole[#whole + 1] = one end
end

-- LIST, the frames of RAW in process PID, with file and line, and with the inlined functions as frames of their own.
-- RETURNED: the first one is what a call has just returned to.
function frame.with_lines(list, pid, raw, program, returned)
  local whole = {}
  for i, one in ipairs(list) do add_with_lines(whole, one, pid, raw, i, program, returned) end
  return whole
end

-- The instruction at WORD, a frame of a stack of process PID, as a string of one 64-bit integer: its address in the
-- file, as nm prints it, and its text; nil where no file has it, the text also where there is no disassembler.
function frame.instruction(pid, word) return frame.symbols():instruction(pid, word) end

-- The functions of the last frame of RAW alone: the inlined ones, then the function proper.
function frame.last_with_lines(pid, raw, program)
  local list, functions = frame.resolve(pid, raw, program), {}
  add_with_lines(functions, list[#list], pid, raw, #list, program)
  return functions
end

-- The frames of ADDRESS, an integer, in PROGRAM of process PID, and their raw form. What is no address of any process
-- has bits that are marks in stacks: it is nowhere.
function frame.of_address(pid, address, program)
  local word = ffi.cast(u64, address)
  local is_none = word >= USER_END and word < KERNEL
  local raw = int64_bytes.of(is_none and 0 or address)
  local list = frame.resolve(pid, raw, program)
  if is_none then list[1].address, list[1].offset = plain(word), plain(word) end
  return list, raw
end

-- A negative number is an address of the kernel's in a signed integer, as e.arg0 of a kprobe is one.
local function resolve_one(what, pid, address)
  if type(address) ~= "number" and not (ffi.istype("uint64_t", address) or ffi.istype("int64_t", address)) then
    error(("%s: an address is a number, not a %s"):format(what, type(address)), 3)
  end
  if type(address) == "number" then
    if not (address >= -2 ^ 53 and address < 2 ^ 64) or address % 1 ~= 0 then
      error(("%s: %s is no address"):format(what, tostring(address)), 3)
    end
    if address < 0 then address = ffi.cast("int64_t", address) end
  end
  return frame.of_address(pid, address)
end

local function check_pid(what, pid, lowest)
  if type(pid) ~= "number" or pid % 1 ~= 0 or pid < lowest or pid >= 2 ^ 31 then
    error(("%s: %s is no process"):format(what, text.shown(pid)), 3)
  end
  return pid
end

-- up.symbol(pid, address): the frame of ADDRESS in process PID, or in the kernel, which is the same in all of them; 0
-- is the idle thread, which has nothing else. Raises what is no process or no address.
function frame.symbol(pid, address) return resolve_one("symbol", check_pid("symbol", pid, 0), address)[1] end

-- up.source(pid, address): the frames of ADDRESS with file and line, the innermost inlined function first.
function frame.source(pid, address)
  local list, raw = resolve_one("source", check_pid("source", pid, 0), address)
  return frame.with_lines(list, pid, raw)
end

-- up.address(spec [, pid]): where the function "libc:malloc" is in process PID, else in the run's target. nil and the
-- reason where it is not there.
function frame.address(spec, pid)
  if type(spec) ~= "string" then
    error('address: a function is named as for a probe, as in up.address("libc:malloc", 4242)', 2)
  end
  pid = pid or core.target.pids()[1]
  if not pid then error("address: there is no target; name the process, as in up.address(\"libc:malloc\", 4242)", 2) end
  local ok, address = pcall(core.probe.address, spec, check_pid("address", pid, 1))
  if not ok then return nil, address end
  return address
end

return frame
