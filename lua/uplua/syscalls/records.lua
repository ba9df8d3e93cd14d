-- What handlers take of system calls, for lines like strace's: the records, and which of the memory that a call's
-- arguments point to they hold.
--
-- There is one record for each call, at its return, in one of a few shapes: numbers alone, or with one or two pieces of
-- memory, t1 and t2 (texts), b1 and b2 (bytes). What has no place there goes before it in records of its own, which
-- have a `slot`: a third argument, the rest of a long path, the buffers of an iovec. A few calls change what they are
-- given, or are gone with it; of these, pieces are taken at the entry, too.
local bit     = require "bit"
local capture = require "uplua.compile.capture"
local ffi     = require "ffi"
local up      = require "uplua"

local records = {}

local PAGE  = 4096
local KEPT  = 256     -- bytes of a structure or an array
local PATH  = 4096    -- bytes of a path
local ITEMS = 16      -- buffers of an iovec: as many elements as KEPT bytes have
local WORDS = 32      -- arguments of a program
local VARIABLES = 4096 -- of its environment, which are counted
local ENTRIES = 4000   -- of a directory, in one call
local MESSAGE = 56      -- bytes of a msghdr
local MANY    = 4096    -- bytes of the pollfds of one poll
local CONTROL_SIZE = 1056 -- bytes of a message's control data: as many descriptors as the kernel sends at a time
local MESSAGES, STRIDE = 8, 64 -- messages of one call, and from one to the next: an mmsghdr
local SPACE   = 128       -- slots of one message

-- In the plan of getxattr, whose third piece is as large as its result says, and not as an argument, setxattr's fourth.
local GOT = bit.lshift(1LL, 40 + 5)

-- Where a signal's handler has its mask, from the stack pointer on when it is over: in the ucontext.
local HANDLER_MASK = ffi.arch == "x64" and 296 or 168

-- Slots of pieces: 1 … 3 those of a call that has three; LONG + 1 and 2: the first and the second, where they are long
-- paths; ENTRY + 1 and 2: those at the entry, and ENTRY + LONG + 1; ITEM + 0 …: buffers of an iovec, or a program's
-- arguments; a msghdr's name, iovec and control data, of one of several messages SPACE slots behind those of the one
-- before; a count. Of select there are the three sets, the time, what its last argument leads to, and the signals. They
-- are not the arguments' places: the verifier would look at what
-- follows for each of these.
local LONG, ENTRY, ITEM, NAME, VECTOR, COUNT, CONTROL = 8, 16, 32, 100, 101, 102, 103
local THIRD, TIME, LAST, MASK = 3, 4, 5, 6
records.KEPT, records.PATH, records.WORDS, records.MANY = KEPT, PATH, WORDS, MANY
records.LONG, records.ENTRY, records.ITEM = LONG, ENTRY, ITEM
records.NAME, records.VECTOR, records.COUNT, records.CONTROL = NAME, VECTOR, COUNT, CONTROL
records.THIRD, records.TIME, records.LAST, records.MASK = THIRD, TIME, LAST, MASK
records.MESSAGES, records.STRIDE, records.SPACE = MESSAGES, STRIDE, SPACE

-- The kind of a piece: taken at the entry or the return of a call, or the files of descriptors at these; of those in
-- memory at the entry another handler tells, and the kernel may run either first. Those of one handler's run have one
-- time.
local RETURNED, ENTERED, FILES_RETURNED, FILES_ENTERED, FILES_IN_MEMORY = 1, 2, 3, 4, 5
records.RETURNED, records.ENTERED = RETURNED, ENTERED
records.FILES_RETURNED, records.FILES_ENTERED = FILES_RETURNED, FILES_ENTERED
records.FILES_IN_MEMORY = FILES_IN_MEMORY

-- Where the size of a piece of memory is from: a constant, an argument (1 … 6), the result, or the number that an
-- argument points to (8 + 1 … 6).
local RESULT, POINTED = 7, 8

-- What else is to be read, of calls whose arguments lead further. READ: the buffers hold so much as was read. HANDLER:
-- at the entry, what the kernel has put on the stack of a signal's handler.
local COMMAND, THREE, DIRECTORY, VECTOR_READ, VECTOR_WRITTEN, MESSAGE_READ, MESSAGE_WRITTEN = 2, 3, 4, 5, 6, 7, 8
local MESSAGES_READ, MESSAGES_WRITTEN, SELECT, HANDLER, VALUE, POLL = 9, 10, 11, 12, 13, 14
local SPECIAL = {
  none = 1, command = COMMAND, three = THREE, directory = DIRECTORY, vector_read = VECTOR_READ,
  vector_written = VECTOR_WRITTEN, message_read = MESSAGE_READ, message_written = MESSAGE_WRITTEN,
  messages_read = MESSAGES_READ, messages_written = MESSAGES_WRITTEN, select = SELECT, handler = HANDLER,
  value = VALUE, poll = POLL,
}

-- A plan is one number: 20 bits for each of three pieces, then what is special, 1 where nothing is.
-- PIECE: { argument = its place, text = true, out = true: only if the call has not failed, from = as above, times }.
local function bits_of(piece)
  if not piece then return 0LL end
  return piece.argument + (piece.text and 8 or 0) + (piece.out and 16 or 0) + piece.from * 32LL + piece.times * 512LL
end

-- The plan of PIECES, at most three, and SPECIAL, a name.
function records.plan(pieces, special)
  return bits_of(pieces[1]) + bit.lshift(bits_of(pieces[2]), 20) + bit.lshift(bits_of(pieces[3]), 40)
    + bit.lshift(0LL + SPECIAL[special or "none"], 60)
end

-- Where TEXT says that a size is from: "24", "a3", "a3*16", "ret", "ret*12", "*a3". Returns from, times.
function records.size(text)
  if text:find "^%d+$" then return 0, tonumber(text) end
  local base, times = text:match "^([^*]*%*?a?%d?[ret]*)%*?(%d*)$"
  local pointed, argument = text:match "^(%*?)a(%d)"
  times = tonumber(text:match "[ad%dt]%*(%d+)$" or 1)
  if argument then return tonumber(argument) + (pointed == "*" and POINTED or 0), times end
  assert(base and text:find "^ret", "no size: " .. text)
  return RESULT, times
end

local argument_at = capture.inlined(function(e, place)
  if place == 1 then return e.arg0 end
  if place == 2 then return e.arg1 end
  if place == 3 then return e.arg2 end
  if place == 4 then return e.arg3 end
  if place == 5 then return e.arg4 end
  return e.arg5
end)

-- The size of PIECE, bits of a plan, of a call that returned RET. Counts have 31 bits: no call takes more.
local size_of = capture.inlined(function(e, piece, ret)
  local from, times = bit.band(bit.rshift(piece, 5), 15), bit.band(bit.rshift(piece, 9), 2047)
  if from == 0 then return times end
  local count = up.i64(0)
  if from == RESULT then
    if ret > 0 then count = ret end
  elseif from > POINTED then
    local at = argument_at(e, from - POINTED)
    if at ~= 0 then count = up.i64(up.read_u32(at) or 0) end
  else
    count = argument_at(e, from)
  end
  return bit.band(count, 0x7fffffff) * times
end)

-- What is at an address, or nil: in the first page is nothing, which is no loss.
local bytes_at = capture.inlined(function(at, size, kept)
  if up.u64(at) < PAGE then return nil end
  return up.buf(at, size, kept)
end)
local text_at = capture.inlined(function(at, most)
  if up.u64(at) < PAGE then return nil end
  return up.str(at, most)
end)

-- A piece: SIZE bytes at FROM, KEPT at the most; the text at FROM; a number.
local emit_bytes = capture.inlined(function(ring, e, time, kind, slot, from, size, kept)
  ring:emit { kind = kind, tid = e.tid, time = time, slot = slot, bytes = up.buf(from, size, kept) }
end)
local emit_text = capture.inlined(function(ring, e, time, kind, slot, from, most)
  ring:emit { kind = kind, tid = e.tid, time = time, slot = slot, text = up.str(from, most) }
end)
local emit_number = capture.inlined(function(ring, e, time, kind, slot, number)
  ring:emit { kind = kind, tid = e.tid, time = time, slot = slot, number = number }
end)

-- Emits the buffers of the COUNT elements at FROM, an iovec: of all of them MOST bytes. SHIFT: to the slots of its
-- message.
local emit_vector = capture.inlined(function(ring, e, time, kind, from, count, most, kept, shift)
  local left, items = most, up.i64(count)
  if items > ITEMS then items = up.i64(ITEMS) end
  for i = 0, items - 1 do
    local base, length = up.read_u64(from + 16 * i) or 0, up.read_i64(from + 16 * i + 8) or 0
    if length > left then length = left end
    if length < 0 then break end
    emit_bytes(ring, e, time, kind, shift + ITEM + i, base, length, kept)
    left = left - length
  end
end)

-- Emits what the msghdr at FROM leads to: MOST bytes of the buffers.
local emit_message = capture.inlined(function(ring, e, time, kind, from, most, kept, shift)
  local name, length = up.read_u64(from), up.read_u32(from + 8)
  local vector, count = up.read_u64(from + 16), up.read_i64(from + 24)
  local control, size = up.read_u64(from + 32), up.read_u32(from + 40)
  if name and name ~= 0 and length then
    emit_bytes(ring, e, time, kind, shift + NAME, name, length, KEPT)
  end
  if control and control ~= 0 and size and size ~= 0 then
    emit_bytes(ring, e, time, kind, shift + CONTROL, control, size, CONTROL_SIZE)
  end
  if vector and count and count >= 0 and count <= 1024 then
    emit_bytes(ring, e, time, kind, shift + VECTOR, vector, 16 * count, KEPT)
    emit_vector(ring, e, time, kind, vector, count, most, kept, shift)
  end
end)

-- Emits what select is given or gives back: the sets of its first argument's descriptors, and the time.
local emit_sets = capture.inlined(function(ring, e, time, kind, slot)
  local count = up.i64(up.i32(e.arg0))
  if count > 0 then
    local size = bit.rshift(count + 63, 6) * 8
    if up.u64(e.arg1) >= PAGE then emit_bytes(ring, e, time, kind, slot + 1, e.arg1, size, KEPT) end
    if up.u64(e.arg2) >= PAGE then emit_bytes(ring, e, time, kind, slot + 2, e.arg2, size, KEPT) end
    if up.u64(e.arg3) >= PAGE then emit_bytes(ring, e, time, kind, slot + 3, e.arg3, size, KEPT) end
  end
  if up.u64(e.arg4) >= PAGE then emit_bytes(ring, e, time, kind, slot + TIME, e.arg4, 16, KEPT) end
end)

-- Emits the texts of the list of addresses at ARGV, and how many there are at ENVP.
local emit_words = capture.inlined(function(ring, e, time, kind, argv, envp)
  for i = 0, WORDS do
    local word = up.read_u64(argv + 8 * i)
    if not word or word == 0 then break end
    emit_text(ring, e, time, kind, ITEM + i, word, KEPT)
  end
  local count = up.i64(0)
  if envp ~= 0 then
    for i = 0, VARIABLES - 1 do
      local variable = up.read_u64(envp + 8 * i)
      if not variable or variable == 0 then break end
      count = count + 1
    end
  end
  emit_number(ring, e, time, kind, COUNT, count)
end)

-- Emits how many entries are in the LENGTH bytes at FROM, of a directory.
local emit_entries = capture.inlined(function(ring, e, time, kind, from, length)
  local at, count = up.i64(0), up.i64(0)
  for _ = 1, ENTRIES do
    if at >= length then break end
    local size = up.read_u16(from + at + 16) or 0
    if size == 0 then break end
    at, count = at + size, count + 1
  end
  if at >= length then emit_number(ring, e, time, kind, COUNT, count) end
end)

-- True if the command of an fcntl or ioctl, its second argument, has an address behind it: of locks, of terminals.
local leads_on = capture.inlined(function(command)
  return command >= 5 and command <= 7 or command >= 36 and command <= 38 or bit.rshift(command, 8) == 0x54
end)

local emit_call = capture.inlined(function(ring, e, time, with_stack, t1, b1, t2, b2)
  ring:emit { time = time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0, a2 = e.arg1,
              a3 = e.arg2, a4 = e.arg3, a5 = e.arg4, a6 = e.arg5, ret = e.ret, elapsed = e.elapsed,
              stack = with_stack and e:ustack() or nil, t1 = t1, b1 = b1, t2 = t2, b2 = b2 }
end)

-- setxattr or getxattr: of both two texts, and the value.
local emit_attribute = capture.inlined(function(ring, e, time, with_stack, plan, kept)
  local size = up.i64(e.ret)
  if bit.band(plan, GOT) == 0 then size = bit.band(e.arg3, 0x7fffffff) end
  if e.arg2 ~= 0 and size >= 0 then emit_bytes(ring, e, time, RETURNED, THIRD, e.arg2, size, kept) end
  local t1, t2 = text_at(e.arg0, KEPT), text_at(e.arg1, KEPT)
  if t1 and #t1 >= KEPT - 1 then emit_text(ring, e, time, RETURNED, LONG + 1, e.arg0, PATH) end
  emit_call(ring, e, time, with_stack, t1, nil, t2)
end)

-- poll, or ppoll, which has signals and a time, of which it tells what is left.
local emit_poll = capture.inlined(function(ring, e, time, with_stack, plan)
  local b1 = bytes_at(e.arg0, bit.band(e.arg1, 0x7fffffff) * 8, MANY)
  if bit.rshift(bit.lshift(plan, 4), 24) == 0 then return emit_call(ring, e, time, with_stack, nil, b1) end
  if e.arg3 ~= 0 then emit_bytes(ring, e, time, RETURNED, THIRD, e.arg3, 8, KEPT) end
  emit_call(ring, e, time, with_stack, nil, b1, nil, bytes_at(e.arg2, 16, KEPT))
end)

-- A call that sends or receives messages: one, or several.
local emit_messages = capture.inlined(function(ring, e, time, with_stack, special, kept)
  local count, size, most = up.i64(1), up.i64(MESSAGE), up.i64(0x7fffffff)
  if special == MESSAGE_READ and e.ret < 0 then count = up.i64(0) end
  if special == MESSAGE_READ then most = e.ret end
  if special == MESSAGES_READ then
    count = e.ret
    if e.arg4 ~= 0 then emit_bytes(ring, e, time, RETURNED, TIME, e.arg4, 16, KEPT) end
  end
  if special == MESSAGES_WRITTEN then count = up.i64(up.u32(e.arg2)) end
  if special >= MESSAGES_READ then size = bit.band(count, 0x7fffff) * STRIDE end
  if count > MESSAGES then count = up.i64(MESSAGES) end
  for i = 0, count - 1 do
    local at = e.arg1 + STRIDE * i
    if special == MESSAGES_READ then most = up.i64(up.read_u32(at + MESSAGE) or 0) end
    emit_message(ring, e, time, RETURNED, at, most, kept, SPACE * i)
  end
  emit_call(ring, e, time, with_stack, nil, bytes_at(e.arg1, size, MESSAGES * STRIDE))
end)

-- A call whose argument leads further: what that is, and the call.
local emit_special = capture.inlined(function(ring, e, time, with_stack, plan, kept)
  local special = bit.rshift(plan, 60)
  if special == THREE then
    if e.ret >= 0 then
      for i = 1, 3 do
        local piece = bit.band(plan, 0xfffff)
        local at, size = argument_at(e, bit.band(piece, 7)), size_of(e, piece, e.ret)
        if at ~= 0 then emit_bytes(ring, e, time, RETURNED, i, at, size, kept) end
        plan = bit.rshift(plan, 20)
      end
    end
    return emit_call(ring, e, time, with_stack)
  end
  if special == DIRECTORY then
    if e.ret > 0 then emit_entries(ring, e, time, RETURNED, e.arg1, e.ret) end
    return emit_call(ring, e, time, with_stack)
  end
  if special == SELECT then
    if e.ret > 0 then emit_sets(ring, e, time, RETURNED, 0) end
    return emit_call(ring, e, time, with_stack)
  end
  if special == VALUE then return emit_attribute(ring, e, time, with_stack, plan, kept) end
  if special == POLL then return emit_poll(ring, e, time, with_stack, plan) end
  if special >= MESSAGE_READ then return emit_messages(ring, e, time, with_stack, special, kept) end
  local most = up.i64(0x7fffffff)
  if special == VECTOR_READ then most = e.ret end
  if most > 0 then emit_vector(ring, e, time, RETURNED, e.arg1, e.arg2, most, kept, 0) end
  emit_call(ring, e, time, with_stack, nil, bytes_at(e.arg1, bit.band(e.arg2, 0x7fffffff) * 16, KEPT))
end)

-- A function for handlers at the return of all system calls, up.sysreturn("*"), which emits a record into RING for each
-- that PLANS, an array of numbers, has a plan for; those of calls that it does not know have BEYOND. Options: strings,
-- so many bytes of a buffer; stack, with the program's.
function records.emitter(ring, plans, beyond, options)
  local with_stack, kept = options.stack or false, math.max(KEPT, options.strings)
  return capture.inlined(function(e)
    local plan, time = plans[e.nr] or beyond, e.time
    if plan == 0 then return end
    local first, second = bit.band(plan, 0xfffff), bit.band(bit.rshift(plan, 20), 0xfffff)
    local special = bit.rshift(plan, 60)
    local failed = e.ret < 0 and e.ret > -4096
    if special == COMMAND and not leads_on(bit.band(e.arg1, 0xffffffff)) then first = 0 end
    if failed and bit.band(second, 16) ~= 0 then second = 0 end
    if failed and bit.band(first, 16) ~= 0 then first, second = second, 0 end
    if first == 0 then return emit_call(ring, e, time, with_stack) end
    local at, to = argument_at(e, bit.band(first, 7)), argument_at(e, bit.band(second, 7))
    if bit.band(first, 8) == 0 then
      local b1 = bytes_at(at, size_of(e, first, e.ret), kept)
      if second == 0 then return emit_call(ring, e, time, with_stack, nil, b1) end
      return emit_call(ring, e, time, with_stack, nil, b1, nil, bytes_at(to, size_of(e, second, e.ret), kept))
    end
    local t1 = text_at(at, KEPT)
    if t1 and #t1 >= KEPT - 1 then emit_text(ring, e, time, RETURNED, LONG + 1, at, PATH) end
    if second == 0 then return emit_call(ring, e, time, with_stack, t1) end
    if bit.band(second, 8) == 0 then
      return emit_call(ring, e, time, with_stack, t1, nil, nil, bytes_at(to, size_of(e, second, e.ret), kept))
    end
    local t2 = text_at(to, KEPT)
    if t2 and #t2 >= KEPT - 1 then emit_text(ring, e, time, RETURNED, LONG + 2, to, PATH) end
    emit_call(ring, e, time, with_stack, t1, nil, t2)
  end)
end

-- The same for the calls that are special; of these PLANS has none in the other. In one handler the verifier would look
-- at too many ways through both.
function records.special_emitter(ring, plans, options)
  local with_stack, kept = options.stack or false, math.max(KEPT, options.strings)
  return capture.inlined(function(e)
    local plan, time = plans[e.nr] or 0, e.time
    if plan ~= 0 then emit_special(ring, e, time, with_stack, plan, kept) end
  end)
end

-- A function for handlers at the entry of all system calls, up.syscall("*"), which emits into RING the pieces, one or
-- two, that PLANS say; of select and of rt_sigreturn what these are given. One that is a text is a program's path, and
-- its arguments follow. One probe for all: the kernel takes its time to let go of each call's own.
function records.entry_emitter(ring, plans)
  return capture.inlined(function(e)
    local plan = plans[e.nr] or 0
    if plan == 0 then return end
    local first, second, time = bit.band(plan, 0xfffff), bit.band(bit.rshift(plan, 20), 0xfffff), e.time
    local special = bit.rshift(plan, 60)
    if special == SELECT then
      emit_sets(ring, e, time, ENTERED, ENTRY)
      if first ~= 0 and e.arg5 ~= 0 then
        emit_bytes(ring, e, time, ENTERED, ENTRY + LAST, e.arg5, 16, KEPT)
        local mask = up.read_u64(e.arg5) or 0
        if mask ~= 0 then emit_bytes(ring, e, time, ENTERED, ENTRY + MASK, mask, 8, KEPT) end
      end
      return
    end
    if special == HANDLER then
      return emit_bytes(ring, e, time, ENTERED, ENTRY + 1, e.sp + HANDLER_MASK, 8, KEPT)
    end
    local at = argument_at(e, bit.band(first, 7))
    if bit.band(first, 8) ~= 0 then
      local text = up.str(at, KEPT)
      ring:emit { kind = ENTERED, tid = e.tid, time = time, slot = ENTRY + 1, text = text }
      if text and #text >= KEPT - 1 then emit_text(ring, e, time, ENTERED, ENTRY + LONG + 1, at, PATH) end
      local argv, envp = e.arg1, e.arg2
      if bit.band(first, 7) == 2 then argv, envp = e.arg2, e.arg3 end
      return emit_words(ring, e, time, ENTERED, argv, envp)
    end
    local size = bit.rshift(first, 9)
    if special == MESSAGES_READ then size = bit.band(e.arg2, 0x7fffff) * STRIDE end
    if at ~= 0 then emit_bytes(ring, e, time, ENTERED, ENTRY + 1, at, size, MESSAGES * STRIDE) end
    if second ~= 0 then
      local to = argument_at(e, bit.band(second, 7))
      if to ~= 0 then emit_bytes(ring, e, time, ENTERED, ENTRY + 2, to, bit.rshift(second, 9), KEPT) end
    end
  end)
end

-- Which descriptors a call takes and returns, as a number: its arguments that are one, up to three, 3 bits each (7: its
-- working directory); then what else it does: `result`, it returns one; `pair1` and `pair4`, it writes two to where its
-- first or fourth argument points.
local GIVEN, CWD, AT_FDCWD = 511, 7, -100
local DOES = { result = 512, pair1 = 1024, pair4 = 2048 }
local MAKES, PAIR1, PAIR4 = DOES.result + DOES.pair1 + DOES.pair4, DOES.pair1, DOES.pair4
function records.descriptor_plan(arguments, does)
  return (arguments[1] or 0) + 8 * (arguments[2] or 0) + 64 * (arguments[3] or 0) + (DOES[does] or 0)
end
local SETS_WORDS = KEPT / 8 -- of a set of select
-- Bytes of a cmsghdr, headers that are looked at, and descriptors behind one, as many as the kernel sends at a time.
local CMSG, HEADERS, PASSED = 16, 8, 253
local SOL_SOCKET, SCM_RIGHTS = 1, 1

local emit_file = capture.inlined(function(ring, e, time, kind, fd, file)
  ring:emit { kind = kind, tid = e.tid, time = time, fd = fd, file = file }
end)

-- A function for handlers at the entry of all system calls: emits into RING which file each descriptor is that the call
-- is given, by FILES (uplua.descriptors) and PLANS.
function records.files_at_entry(ring, plans, files)
  local emit = capture.inlined(function(e, time, place)
    if place == 0 then return end
    local fd = up.i64(AT_FDCWD)
    if place ~= CWD then fd = up.i64(up.i32(argument_at(e, place))) end
    emit_file(ring, e, time, FILES_ENTERED, fd, files:file(fd))
  end)
  return capture.inlined(function(e)
    local plan = plans[e.nr] or 0
    if bit.band(plan, GIVEN) == 0 then return end
    local time = e.time
    emit(e, time, bit.band(plan, 7)) -- one behind the other: the verifier would look longer at a loop
    emit(e, time, bit.band(bit.rshift(plan, 3), 7))
    emit(e, time, bit.band(bit.rshift(plan, 6), 7))
  end)
end

-- The same of poll, of the first MOST descriptors in its first argument.
function records.polled_files(ring, files, most)
  return capture.inlined(function(e)
    local time, count = e.time, up.i64(up.u32(e.arg1))
    if count > most then count = up.i64(most) end
    for i = 0, count - 1 do
      local fd = up.i64(up.read_i32(e.arg0 + 8 * i) or -1)
      emit_file(ring, e, time, FILES_IN_MEMORY, fd, files:number(fd))
    end
  end)
end

-- The 64 members of a set that begin with 64 * I; none where there is no set.
local members = capture.inlined(function(set, i)
  if up.u64(set) < PAGE then return 0 end
  return up.read_u64(set + 8 * i) or 0
end)

-- The same of select, of the descriptors in its sets.
function records.selected_files(ring, files)
  return capture.inlined(function(e)
    local time, count = e.time, up.i64(up.i32(e.arg0))
    for i = 0, SETS_WORDS - 1 do
      if 64 * i >= count then break end
      local any = bit.bor(members(e.arg1, i), members(e.arg2, i), members(e.arg3, i))
      for n = 0, 63 do
        if any == 0 then break end
        if bit.band(any, 1) ~= 0 then
          local fd = up.i64(64 * i + n)
          emit_file(ring, e, time, FILES_IN_MEMORY, fd, files:number(fd))
        end
        any = bit.rshift(any, 1)
      end
    end
  end)
end

-- The descriptors in the control data of the msghdr at FROM.
local emit_passed = capture.inlined(function(ring, e, time, kind, from, files)
  local at, left = up.read_u64(from + 32) or 0, up.i64(up.read_u32(from + 40) or 0)
  for _ = 1, HEADERS do
    if at == 0 or left < CMSG then break end
    local size = up.read_i64(at) or 0
    if size < CMSG or size > left then break end
    if up.read_u32(at + 8) == SOL_SOCKET and up.read_u32(at + 12) == SCM_RIGHTS then
      local count = bit.rshift(size - CMSG, 2)
      if count > PASSED then count = up.i64(PASSED) end
      for i = 0, count - 1 do
        local fd = up.i64(up.read_i32(at + CMSG + 4 * i) or -1)
        emit_file(ring, e, time, kind, fd, files:number(fd))
      end
    end
    size = bit.band(size + 7, -8)
    at, left = at + size, left - size
  end
end)

-- The same of sendmsg, at its entry, and recvmsg, at its return: of the descriptors that go with the message.
function records.passed_at_entry(ring, files)
  return capture.inlined(function(e) emit_passed(ring, e, e.time, FILES_IN_MEMORY, e.arg1, files) end)
end
function records.passed_at_return(ring, files)
  return capture.inlined(function(e)
    if e.ret >= 0 then emit_passed(ring, e, e.time, FILES_RETURNED, e.arg1, files) end
  end)
end

-- The same at the return, of the descriptors that the call has made.
function records.files_at_return(ring, plans, files)
  local emit = capture.inlined(function(e, time, fd)
    emit_file(ring, e, time, FILES_RETURNED, fd, files:file(fd))
  end)
  return capture.inlined(function(e)
    local plan = plans[e.nr] or 0
    if bit.band(plan, MAKES) == 0 or e.ret < 0 then return end
    local time = e.time
    if bit.band(plan, PAIR1 + PAIR4) == 0 then return emit(e, time, up.i64(e.ret)) end
    local at = e.arg0
    if bit.band(plan, PAIR4) ~= 0 then at = e.arg3 end
    emit(e, time, up.i64(up.read_i32(at) or -1))
    emit(e, time, up.i64(up.read_i32(at + 4) or -1))
  end)
end

return records
