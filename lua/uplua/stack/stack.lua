-- Stacks on the script's side. A stack value in a map or ring is a 64-bit id; here it becomes one object per id, so
-- that it can be a key of a Lua table. Frames are read from the kernel and named when somebody asks, and only once.
--
-- A stack:
--   tostring(s)   one line per frame, the innermost first, as in "     zmalloc+0x21"; with the options --lines,
--                 --modules and --addresses of the run more
--   #s            the number of frames; also s:depth()
--   s:frames()    { { address, symbol, offset, module, kernel, file, line, inlined }, … }, the innermost first: see
--                 frame.lua
--   s:text(style) as tostring, in another style: STYLES below
--   s:folded()    "main;serve;zmalloc": the outermost first, functions without offsets, for flame graphs
--   s:key()       equal for stacks that print equally: to merge those of several processes in a view
--   s.id          the id, a uint64_t
-- A stack is code, of whichever process: its frames are places in files (STACK_IN_FILE of bpf/stack.h).
local ffi              = require "ffi"
local bit              = require "bit"
local contract         = require "uplua.contract"
local core             = require "uplua.core"
local command_programs = require "uplua.stack.command_programs"
local frame            = require "uplua.stack.frame"
local frame_index      = require "uplua.stack.frame_index"
local loop             = require "uplua.base.loop"
local map              = require "uplua.base.map"
local options          = require "uplua.options"
local run              = require "uplua.base.run"
local text             = require "uplua.base.text"

local HEADER = ffi.offsetof("struct uplua_stack", "frames")
local INDENT = "     "

local u64       = ffi.typeof "uint64_t"
local view_type = ffi.typeof "const struct uplua_stack *"
local words     = ffi.typeof "const uint64_t *"
local bytes     = ffi.typeof "const char *"
local PROGRAM   = ffi.offsetof("struct uplua_stack", "program")
local key       = ffi.new "uint64_t[1]"
local length    = ffi.new "size_t[1]"
local C         = contract.C

local stack, methods = {}, {}

-- A stack is a userdata, of which LuaJIT takes the length; a table's it would not. What is known of it stands in its
-- environment.
local prototype = newproxy(true)
local meta      = getmetatable(prototype)

local own = run.part(function()
  return {
    sources = {},     -- { fd, map, value, room (frames) }, where a stack was last found first
    objects = {},     -- upper half of the id → object
    others = {},      -- where that has another lower half: upper half → lower half → object
    symbols = nil,    -- the run's (frame.symbols), by FFI
    unwinder = nil,   -- uplua.core's; nil until handlers use stacks
    followed = nil,   -- the descriptor of the records of what processes map
    guessed = {},     -- ids, as text, of stacks that were read and of which frames were guessed
    foreseen = nil,   -- paths of the programs that the command will execute
  }
end)
-- An object's state: { id, pid (of the process that it was first seen in), program (since when that executed it, a
-- u64), ending, raw (its frames, u64 each), list, lines, text, folded, renamings }.
local set_state, state_of = debug.setfenv, debug.getfenv
local names = frame.symbols

-- The run's symbols by FFI.
local function native_symbols()
  local mine = own()
  mine.symbols = mine.symbols or ffi.cast("struct uplua_symbols *", names():pointer())
  return mine.symbols
end

-- The kernel's frames of a stack, valid until the next call, and their number. nil if it is not there, because the
-- store was full or no stack could be taken: the ledger has counted it.
local function find(id)
  local sources = own().sources
  key[0] = id
  for i = 1, #sources do
    local source = sources[i]
    if source.map:lookup(key, source.value) then
      -- Most are where the last one was: asking costs a system call.
      if i > 1 then sources[i], sources[1] = sources[1], source end
      local found = ffi.cast(view_type, source.value)
      local count = math.min(found.count, source.room)
      if frame.any_guessed(found.frames, count) then own().guessed[tostring(id)] = true end
      return found, count
    end
  end
end

-- Why a stack has no more frames (enum stack_end of bpf/stack.h). A joined one has none itself: it has the ids of the
-- kernel's stack and of the program's below it.
local NO_TABLE, UNMAPPED, UNREADABLE = contract.STACK_NO_TABLE, contract.STACK_UNMAPPED, contract.STACK_UNREADABLE
local CUT, JOINED, WHOLE = contract.STACK_CUT, contract.STACK_JOINED, contract.STACK_WHOLE
local NOT_KEPT = -1 -- the lower part of a joined stack is not there

-- Reads the frames of a stack from the kernel, once; false where they are not there.
local function load(state)
  if state.raw then return true end
  local found, count = find(state.id)
  if not found then return false end
  state.pid, state.ending = found.tgid, found["end"]
  if found["end"] ~= JOINED then
    state.program = ffi.string(ffi.cast(bytes, found) + PROGRAM, 8)
    state.raw = ffi.string(found.frames, count * 8)
    return true
  end
  local kernel, user = { id = found.frames[0] }, { id = found.frames[1] }
  load(kernel)
  state.ending = load(user) and user.ending or NOT_KEPT
  state.program = user.program
  state.raw = (kernel.raw or "") .. (user.raw or "")
  return true
end

-- Forgets the names of STATE if code that a process makes as it runs has been renamed since.
local function refresh(state)
  local renamings = tonumber(C.symbols_renamings(native_symbols()))
  if state.renamings ~= renamings then
    state.list, state.lines, state.text, state.folded, state.renamings = nil, nil, nil, nil, renamings
  end
end

local function resolve(state)
  refresh(state)
  if not state.list then
    if not load(state) then return {} end
    state.list = frame.resolve(state.pid, state.raw, state.program)
  end
  return state.list
end

-- The same with files, lines and inlined functions; RETURNED as frame.with_lines has it.
local function resolve_lines(state, returned)
  local list = resolve(state)
  if state.raw and returned then return frame.with_lines(list, state.pid, state.raw, state.program, true) end
  if state.raw and not state.lines then state.lines = frame.with_lines(list, state.pid, state.raw, state.program) end
  return state.lines or list
end

-- The text in place of frames that are missing after the LAST one, of a stack with this ENDING; nil if none is missing.
local function missing(ending, last)
  if ending == NO_TABLE then
    return ("[no unwind table: %s]"):format(last and last.module and frame.basename(last.module) or "unknown code")
  end
  if ending == UNMAPPED then return "[mapping not known]" end
  if ending == UNREADABLE then return "[stack not readable]" end
  if ending == CUT then return "[cut]" end
  if ending == NOT_KEPT then return "[stack not recorded]" end
end

-- How s:text(style) prints, and what tostring takes.
local STYLES = {
  offsets   = true,  -- "zmalloc+0x21" instead of "zmalloc"
  addresses = false, -- each line begins with the address
  modules   = false, -- the file in parentheses behind the function
  lines     = false, -- each line ends with "zmalloc.c:101", and inlined functions have lines of their own
  returned  = false, -- the innermost frame's line is that of the call that has just returned to it
  reverse   = false, -- the outermost frame first
  one_line  = false, -- frames are joined by " < " (reverse: " > ") or by this text
}

local function check_style(style)
  for name, value in pairs(style) do
    if STYLES[name] == nil then
      error(("text: unknown style '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), STYLES)), 3)
    end
    if type(value) ~= "boolean" and not (name == "one_line" and type(value) == "string") then
      error(("text: %s is true or false, not %s"):format(name, tostring(value)), 3)
    end
  end
end

local function text_of(state, style)
  local lines = {}
  local shown = style.lines and resolve_lines(state, style.returned) or resolve(state)
  for i, one in ipairs(shown) do lines[i] = frame.text(one, style) end
  local list = state.list
  lines[#lines + 1] = list and missing(state.ending, list[#list])
  if #lines == 0 then lines[1] = state.raw and "[no frames]" or "[stack not recorded]" end
  if style.reverse then
    for i = 1, math.floor(#lines / 2) do lines[i], lines[#lines + 1 - i] = lines[#lines + 1 - i], lines[i] end
  end
  if style.one_line then
    local between = style.one_line == true and (style.reverse and " > " or " < ") or style.one_line
    return table.concat(lines, between)
  end
  return INDENT .. table.concat(lines, "\n" .. INDENT)
end

function methods:text(style)
  style = style or {}
  if type(style) ~= "table" then error("text: a style is a table, as in s:text { addresses = true }", 2) end
  check_style(style)
  return text_of(state_of(self), style)
end

-- Why the stack ends where it does: "[no unwind table: libfoo.so]"; nil for a whole one.
function methods:incomplete()
  local state = state_of(self)
  if not load(state) then return "[stack not recorded]" end
  local list = state.ending == NO_TABLE and resolve(state)
  return missing(state.ending, list and list[#list])
end

function methods:depth()
  local state = state_of(self)
  return load(state) and #state.raw / 8 or 0
end

function methods:frames()
  local copies = {}
  for i, one in ipairs(resolve_lines(state_of(self))) do copies[i] = frame.copy(one) end
  return copies
end

function methods:folded()
  local state = state_of(self)
  refresh(state)
  if state.folded then return state.folded end
  local pid, program, frames, count = state.pid, 0ULL, nil, nil
  if state.raw then
    frames, count = ffi.cast(words, state.raw), #state.raw / 8
    if state.program then program = ffi.cast(words, state.program)[0] end
  else -- of a million stacks only the text is kept
    local found
    found, count = find(state.id)
    if not found then return "[stack not recorded]" end
    if found["end"] == JOINED then
      local kernel, user = stack.intern(found.frames[0]), stack.intern(found.frames[1])
      local below, above = user:folded(), kernel:folded()
      state.folded = below .. (below ~= "" and above ~= "" and ";" or "") .. above
      return state.folded
    end
    pid, program, frames = found.tgid, found.program, found.frames
  end
  if count == 0 then return "" end
  local symbols = native_symbols()
  C.symbols_update(symbols)
  local text_at = C.symbols_fold(symbols, pid, program, frames, count, length)
  state.folded = ffi.string(text_at, length[0])
  return state.folded
end

function methods:key() return tostring(self) end

function meta.__index(self, name)
  if name == "id" then return state_of(self).id end
  return methods[name]
end

function meta.__newindex(_, name) error(("a stack's field '%s' cannot be set"):format(tostring(name)), 2) end

meta.__len = methods.depth

function meta:__tostring()
  local state = state_of(self)
  refresh(state)
  if state.text then return state.text end
  local shown = text_of(state, {
    lines = options.lines or false, modules = options.modules or false, addresses = options.addresses or false,
  })
  if state.raw then state.text, state.list = shown, nil end -- of ten thousand stacks the text is enough
  return shown
end

function meta.__concat(a, b) return tostring(a) .. tostring(b) end

-- Gives the script side the kernel's map `stacks`, of which the descriptor FD stays the caller's. Each setup may
-- have a map of its own: ids are hashes of what they stand for, so that equal ids in two maps are the same stack.
function stack.bind(fd)
  local sources = own().sources
  for _, source in ipairs(sources) do
    if source.fd == fd then return end
  end
  local opened = map.open(fd)
  local room = math.floor((opened.value_size - HEADER) / 8)
  table.insert(sources, 1, { fd = fd, map = opened, value = opened:value_buffer(), room = room })
end

local function new_object(id, low)
  local s = newproxy(prototype)
  -- With all fields at once: there may be a million stacks.
  set_state(s, {
    id = id, low = low, pid = nil, program = nil, ending = nil, raw = nil, list = nil, text = nil, folded = nil,
    renamings = nil,
  })
  return s
end

-- The one object of ID (a number or a 64-bit cdata).
function stack.intern(id)
  id = ffi.cast(u64, id)
  -- A key that is no integer never makes an array part, which would keep the JIT from compiling this.
  local high, low = tonumber(bit.rshift(id, 32)) + 0.5, tonumber(bit.band(id, 0xffffffffULL)) + 0.5
  local mine = own()
  local s = mine.objects[high]
  if not s then
    s = new_object(id, low)
    mine.objects[high] = s
  elseif state_of(s).low ~= low then
    local others = mine.others
    others[high] = others[high] or {}
    s = others[high][low]
    if not s then
      s = new_object(id, low)
      others[high][low] = s
    end
  end
  return s
end

-- True if V is a stack.
function stack.is(v) return type(v) == "userdata" and getmetatable(v) == meta end

-- True if S is of the kernel alone, e:kstack()'s: of no process.
function stack.is_kernel(s)
  local state = state_of(s)
  load(state)
  return state.pid == 0
end

local joined_words = ffi.new("uint64_t[?]", 2 * contract.STACK_FRAMES)
local found_functions = {}

-- The frames of S as the kernel has them, valid until the next call, their number, the process and the program (8
-- bytes) whose they are, and how they end. nil where they are not there.
local function words_of(s)
  local state = state_of(s)
  if state.raw then
    return ffi.cast(words, state.raw), #state.raw / 8, state.pid, state.program, state.ending
  end
  local found, count = find(state.id)
  if not found then return nil end
  local pid, ending = found.tgid, found["end"]
  if ending ~= JOINED then
    return found.frames, count, pid, ffi.string(ffi.cast(bytes, found) + PROGRAM, 8), ending
  end
  local kernel, user, n = found.frames[0], found.frames[1], 0
  local program
  found, count = find(kernel)
  if found then
    ffi.copy(joined_words, found.frames, 8 * count)
    n = count
  end
  found, count = find(user)
  if found then
    ffi.copy(joined_words + n, found.frames, 8 * count)
    n, program, ending = n + count, ffi.string(ffi.cast(bytes, found) + PROGRAM, 8), found["end"]
  end
  return joined_words, n, pid, program, found and ending or NOT_KEPT
end

-- For those who look at many stacks: the frames of S by number, the innermost first. KNOWN, a table of the caller's,
-- keeps them, as long as it likes: KNOWN.index.lists[number] is what is there (uplua.stack.frame_index). Returns the
-- numbers (valid until the next call), how many there are, what incomplete() says.
function stack.numbers(s, known)
  known.index = known.index or frame_index.new()
  local frames, count, pid, program, ending = words_of(s)
  if not frames then return found_functions, 0, "[stack not recorded]" end
  local numbers = known.index:numbers(frames, count, pid, program)
  if ending == WHOLE then return numbers, count end
  local last = count > 0 and known.index.lists[numbers[count]]
  return numbers, count, missing(ending, last and last[#last])
end

-- The same with the lists in place of their numbers, which are the same lists wherever a frame comes again.
function stack.functions(s, known)
  local numbers, count, incomplete = stack.numbers(s, known)
  for i = 1, count do found_functions[i] = known.index.lists[numbers[i]] end
  return found_functions, count, incomplete
end

-- Calls VISIT(frame, place) for each function of S, the innermost first, inlined ones, too. Returns what incomplete()
-- says.
function stack.each_function(s, known, visit)
  local lists, count, incomplete = stack.functions(s, known)
  if count == 0 then visit({ symbol = incomplete or "[no frames]" }, 1) end
  local place = 0
  for i = 1, count do
    for _, one in ipairs(lists[i]) do
      place = place + 1
      visit(one, place)
    end
  end
  return count > 0 and incomplete or nil
end

-- Reads the mappings of process PID now, so that its stacks can be named after it has exited. true, or nil and the
-- reason.
function stack.add_process(pid) return names():add_process(pid) end

-- Keeps in mind what the processes PIDS map (all, where there are none), so that their stacks can be named after they
-- have exited. COMMAND: the program that the process is still to execute.
function stack.follow(pids, command)
  local symbols = names()
  if command then symbols:keep_file(command) end
  local fd = symbols:follow(pids, command ~= nil)
  if not fd then return end
  own().followed = fd
  loop.watch(fd, stack.update)
  -- This reads what runs already; not now, when probes are about to be attached.
  if #pids == 0 then loop.after(0, stack.update) end
end

-- Reads what the processes that are followed have mapped since.
function stack.update()
  local mine, again = own(), names():update()
  if mine.awaited or not mine.followed or not again then return end
  mine.awaited = true -- a just-in-time compiler may write its names later, and no record tells
  loop.after("20ms", function()
    mine.awaited = nil
    if mine.followed then stack.update() end
  end)
end

-- To be called before the command begins that is the target: what could not be recorded until then was not its.
function stack.begin()
  if own().followed then names():begin() end
end

-- To be called once all probes are detached: what is mapped from then on is in no stack.
function stack.unfollow()
  local mine = own()
  if not mine.followed then return end
  loop.unwatch(mine.followed)
  names():unfollow()
  mine.followed = nil
end

-- The library's maps that unwind tables go to.
stack.TABLES = {
  contract.uplua_unwind_slabs, contract.uplua_unwind_tables, contract.uplua_unwind_rules,
  contract.uplua_unwind_process, contract.uplua_unwind_files, contract.uplua_unwind_kernel,
  contract.uplua_unwind_early, contract.uplua_unwind_executed, contract.uplua_unwind_wanted,
}

local BEFORE = 0.02 -- seconds of CPU time at most for tables of what the command will only execute later

-- Makes the tables of PROGRAMS, from number FROM on: those of the first one now, of the others as long as it does not
-- take long; what is left beside the target.
local function add_programs(programs, from)
  local start = os.clock()
  for i = from, #programs do
    if i > from and os.clock() - start > BEFORE then return loop.after(0, function() add_programs(programs, i) end) end
    own().unwinder:add_program(programs[i])
  end
end

-- From now on the kernel gets unwind tables for the processes that are followed, in MAPS (name → fd, which stay open);
-- EVERYBODY: for those in which a handler takes a stack. COMMAND: the program that is still to be executed. To be
-- called before follow().
function stack.unwind(maps, everybody, command)
  local mine, unwinder = own(), core.unwind.new(names(), maps, everybody)
  mine.unwinder = unwinder
  if everybody or command or options.follow then unwinder:recall() end
  mine.foreseen = command and command_programs.programs(options.command, everybody or options.follow) or {}
  loop.watch(unwinder:fd(), function() unwinder:update() end)
  loop.at_exit(function() unwinder:update() end) -- what was executed last is kept for the next run, too
end

-- To be called before a command begins: waits for tables that are under way, for a moment, and makes those of its
-- programs that are not among them.
function stack.settle()
  local mine = own()
  if not mine.unwinder then return end
  mine.unwinder:await()
  add_programs(mine.foreseen, 1)
end

-- What was lost of it, for the ledger: { { text, count }, … }.
function stack.lost()
  local records, frames, places, replaced = frame.lost()
  local guessed = 0
  for _ in pairs(own().guessed) do guessed = guessed + 1 end
  local list = {
    { "stack with frames marked as guessed: the code that they have called has no unwind table", guessed },
    { "mapping not recorded: addresses in it may have no names", records or 0 },
    { "frame of a process that has exited: nothing is known of its mappings", frames or 0 },
    { "address where a process had several files, one after the other: named by the last one", places or 0 },
  }
  local unwinder = own().unwinder
  if unwinder then
    local _, _, _, failures = unwinder:counts()
    list[#list + 1] = { "unwind table, or mappings of a process, not loaded: the kernel has no room", failures }
    if not unwinder:sees_changes() then
      list[#list + 1] = { "file mapped in place of another one: until uplua saw that, stacks there may have been " ..
                          "walked and named by the other one; this kernel does not tell (Linux 6.4)", replaced }
    end
  end
  return list
end

return stack
