-- Arguments that point to memory, as strace prints them: functions of a call (uplua.syscalls.decode) and the place of
-- an argument, which return its text, nil where it and what follows is left out, or false where it alone is. What has
-- not been read is an address.
local bit        = require "bit"
local constants  = require "uplua.syscalls.constants"
local ffi        = require "ffi"
local numbers    = require "uplua.syscalls.numbers"
local quoted     = require "uplua.syscalls.quote"
local records    = require "uplua.syscalls.records"
local structures = require "uplua.syscalls.structures"

local quote = quoted.quote
local i32, u32, pointer, unsigned = numbers.i32, numbers.u32, numbers.pointer, numbers.unsigned

local of = {}

-- A path: whole.
function of.path(c, i)
  local text = c.text[i]
  return text and quote(text, c.cut[i]) or pointer(c[i])
end

-- Another text.
function of.str(c, i)
  local text = c.text[i]
  if not text then return pointer(c[i]) end
  if #text > c.strings then return quote(text:sub(1, c.strings), true) end
  return quote(text, c.cut[i])
end

-- BYTES of a buffer that has SIZE.
local function buffer(c, bytes, size)
  if #bytes > c.strings then bytes = bytes:sub(1, c.strings) end
  return quote(bytes, size > #bytes)
end

function of.buf(c, i)
  local bytes = c.bytes[i]
  if not bytes then return pointer(c[i]) end
  return buffer(c, bytes, c.size[i])
end

-- Bytes that are random: in hexadecimal.
function of.random(c, i)
  local bytes = c.bytes[i]
  return bytes and quoted.hex(bytes:sub(1, c.strings), c.size[i] > c.strings) or pointer(c[i])
end

function of.at_statx(c, i)
  local value = u32(c[i])
  local text = constants.show("at_statx", value)
  if bit.band(value, 0x6000) ~= 0 then return text end
  return value == 0 and "AT_STATX_SYNC_AS_STAT" or "AT_STATX_SYNC_AS_STAT|" .. text
end

-- The same of a call that only asks how long it is where the size behind it is 0.
function of.buf_or_size(c, i) return c[i + 1] == 0 and pointer(c[i]) or of.buf(c, i) end

-- The value of an extended attribute: a text has its end with it.
function of.xattr_value(c, i)
  local bytes, size = c.bytes[i], c.size[i]
  if not bytes then return pointer(c[i]) end
  if size == #bytes and bytes:sub(-1) == "\0" then bytes, size = bytes:sub(1, -2), size - 1 end
  return buffer(c, bytes, size)
end
function of.xattr_or_size(c, i) return c[i + 1] == 0 and pointer(c[i]) or of.xattr_value(c, i) end

-- A text with its end, as getcwd writes it.
function of.text(c, i)
  local bytes = c.bytes[i]
  return bytes and quote(bytes:match "^%Z*") or pointer(c[i])
end

for name, one in pairs(structures) do
  if type(one) == "table" then
    of[name] = function(c, i)
      local bytes = c.bytes[i]
      return bytes and #bytes >= one.size and one.show(bytes) or pointer(c[i])
    end
  end
end

local rusage_of = of.rusage_of
function of.rusage_of(c, i) -- wait4's, too, which writes none where nobody has ended
  return c.ret == 0 and c.of.name == "wait4" and pointer(c[i]) or rusage_of(c, i)
end

-- Where the kernel has written a structure's size, or what it was before: "[16]", "[128 => 16]".
function of.length(c, i)
  local before, after = c:entry(i), c.bytes[i]
  before, after = before and structures.i32(before, 0), after and structures.i32(after, 0)
  if not before then return pointer(c[i]) end
  if c.failed or not after or before == after then return ("[%d]"):format(before) end
  return ("[%d => %d]"):format(before, after)
end

-- A place in a file, which the call moves on.
function of.offset(c, i)
  local before, after = c:entry(i), c.bytes[i]
  if not before then return pointer(c[i]) end
  before, after = structures.i64(before, 0), after and structures.i64(after, 0)
  if not after then return ("[%s]"):format(numbers.signed(before)) end
  return ("[%s] => [%s]"):format(numbers.signed(before), numbers.signed(after))
end
function of.offset_before(c, i)
  local before = c:entry(i)
  return before and ("[%s]"):format(numbers.signed(structures.i64(before, 0))) or pointer(c[i])
end

function of.sockaddr(c, i)
  local bytes = c.bytes[i]
  return bytes and structures.sockaddr(bytes) or pointer(c[i])
end

-- What wait4 tells, if anybody has ended: it returns 0 where nobody has.
function of.waited(c, i) return c.ret == 0 and pointer(c[i]) or of.wait_status(c, i) end

-- --- lists ---

function of.pair(c, i) -- of descriptors
  local bytes = c.bytes[i]
  if not bytes or #bytes < 8 then return pointer(c[i]) end
  return ("[%s, %s]"):format(c:made(structures.i32(bytes, 0)), c:made(structures.i32(bytes, 4)))
end

-- LIST, of which there are COUNT: in brackets, with "..." where there are more.
local function bracketed(list, more) return "[" .. table.concat(list, ", ") .. (more and ", ...]" or "]") end

function of.pollfds(c, i)
  local bytes = c.bytes[i]
  if not bytes then return pointer(c[i]) end
  return bracketed(structures.pollfds(c, bytes, false, c.strings), c.size[i] > 8 * c.strings or c.size[i] > #bytes)
end

-- The members of BYTES, a set of descriptors of which there are c[1]; MOST: so many of them.
function of.set_of(c, bytes, most)
  local list = {}
  for fd = 0, bytes and math.min(i32(c[1]), 8 * #bytes) - 1 or -1 do
    if #list == most then break end
    if bit.band(bit.rshift(bytes:byte(math.floor(fd / 8) + 1), fd % 8), 1) == 1 then list[#list + 1] = fd end
  end
  return list
end

-- A set of descriptors, as select is given it.
function of.fds(c, i)
  local bytes, size = c:before_piece(i - 1)
  if not bytes then return pointer(c[i]) end
  local list = of.set_of(c, bytes)
  for n, fd in ipairs(list) do list[n] = c:descriptor(fd) end
  return "[" .. table.concat(list, " ") .. (size > #bytes and " ...]" or "]")
end

-- How long select waits.
local function before_as(name)
  return function(c, i)
    local bytes = c:before_piece(records.TIME)
    return bytes and #bytes >= 16 and structures[name].show(bytes) or pointer(c[i])
  end
end
of.select_time, of.pselect_time = before_as "timeval", before_as "timespec"

function of.pselect_mask(c, i)
  local bytes = c:before_piece(records.LAST)
  if not bytes or #bytes < 16 then return pointer(c[i]) end
  return structures.kernel_sigset(bytes, c:before_piece(records.MASK))
end

-- The signals that a handler, which is over, has held back.
function of.handler_mask(c)
  local bytes = c:before_piece(1)
  return bytes and #bytes >= 8 and "{mask=" .. structures.sigset.show(bytes) .. "}" or nil
end

function of.epoll_event(c, i)
  local bytes = c.bytes[i]
  return bytes and #bytes >= structures.epoll_size and structures.epoll_event(bytes, 0) or pointer(c[i])
end

function of.epoll_events(c, i)
  local bytes, list = c.bytes[i], {}
  if not bytes then return pointer(c[i]) end
  for at = 0, #bytes - structures.epoll_size, structures.epoll_size do
    list[#list + 1] = structures.epoll_event(bytes, at)
  end
  return bracketed(list, c.size[i] > #bytes)
end

-- The elements of BYTES, an iovec of SIZE bytes: of their buffers so much as the handler has taken. SHIFT: to the slots
-- of its message.
local function vector(c, bytes, size, shift)
  local list = {}
  for at = 0, #bytes - 16, 16 do
    local base, length = structures.u64(bytes, at), structures.u64(bytes, at + 8)
    local taken, whole = c:piece(shift + records.ITEM + at / 16)
    local text = taken and buffer(c, taken, whole) or pointer(base)
    list[#list + 1] = ("{iov_base=%s, iov_len=%s}"):format(text, unsigned(length))
  end
  return bracketed(list, size > #bytes)
end

function of.iovec(c, i)
  local bytes = c.bytes[i]
  return bytes and vector(c, bytes, c.size[i], 0) or pointer(c[i])
end

-- The msghdr in BYTES. SHIFT: to its slots; BEFORE: the room for its name before the call, nil where that is what it
-- still has; MADE: descriptors in it are those that the call has made.
local function message(c, bytes, shift, before, made)
  local u64 = structures.u64
  local name, name_size = c:piece(shift + records.NAME)
  local list, list_size = c:piece(shift + records.VECTOR)
  local length = structures.u32(bytes, 8)
  local text = ("{msg_name=%s, msg_namelen=%s, msg_iov=%s, msg_iovlen=%s"):format(
    name and name_size > 0 and structures.sockaddr(name) or pointer(u64(bytes, 0)),
    before and before ~= length and ("%d => %d"):format(before, length) or length,
    list and vector(c, list, list_size, shift) or pointer(u64(bytes, 16)), unsigned(u64(bytes, 24)))
  local size, where = u64(bytes, 40), u64(bytes, 32)
  if size ~= 0 then
    local control, whole = c:piece(shift + records.CONTROL)
    text = ("%s, msg_control=%s"):format(text,
      control and structures.control(c, control, whole, where, made) or pointer(where))
  end
  return ("%s, msg_controllen=%s, msg_flags=%s}"):format(text, unsigned(size),
    constants.show("msg", structures.u32(bytes, 48)))
end

local MESSAGE = 56 -- bytes of a msghdr
function of.msghdr(c, i)
  local bytes = c.bytes[i]
  return bytes and #bytes >= MESSAGE and message(c, bytes, 0) or pointer(c[i])
end

function of.msghdr_read(c, i)
  local bytes, before = c.bytes[i], c:entry(i)
  local length = before and #before >= 12 and structures.i32(before, 8)
  if c.failed and length then return ("{msg_namelen=%d}"):format(length) end
  return not c.failed and bytes and #bytes >= MESSAGE and message(c, bytes, 0, length, true) or pointer(c[i])
end

-- COUNT messages of a call, the first GOT of which have their length.
local function messages(c, i, count, got, before, made)
  local bytes, list = c.bytes[i], {}
  if not bytes then return pointer(c[i]) end
  for at = 0, #bytes - records.STRIDE, records.STRIDE do
    local n = at / records.STRIDE
    if n == count or n == c.strings then break end
    local length = before and #before >= at + 12 and structures.i32(before, at + 8)
    list[n + 1] = ("{msg_hdr=%s%s}"):format(
      message(c, bytes:sub(at + 1, at + records.STRIDE), n * records.SPACE, length or nil, made),
      n < got and (", msg_len=%d"):format(structures.u32(bytes, at + MESSAGE)) or "")
  end
  return bracketed(list, #list < count)
end
function of.mmsghdrs(c, i) return messages(c, i, u32(c[i + 1]), c.failed and 0 or c.ret) end
function of.mmsghdrs_read(c, i)
  if c.failed then return pointer(c[i]) end
  return messages(c, i, c.ret, c.ret, c:entry(i), true)
end

-- The arguments of a program.
function of.argv(c, i)
  local list, more = {}, false
  for n = 0, records.WORDS do
    local word, cut = c:words(n)
    if not word then break end
    if n == records.WORDS then
      more = true
    else
      if #word > c.strings then word, cut = word:sub(1, c.strings), true end
      list[#list + 1] = quote(word, cut)
    end
  end
  if #list == 0 then return pointer(c[i]) end
  return bracketed(list, more)
end

function of.envp(c, i)
  local count = c:entry_number()
  if not count or c[i] == 0 then return pointer(c[i]) end
  return ("%s /* %d var%s */"):format(pointer(c[i]), count, count == 1 and "" or "s")
end

function of.program(c, i)
  local text, cut = c:entry_text()
  if not text then return of.path(c, i) end
  return quote(text, cut)
end

function of.entries(c, i)
  local count = c:number()
  if c.failed or not count and c.ret ~= 0 then return pointer(c[i]) end
  count = count or 0
  return ("%s /* %d entr%s */"):format(pointer(c[i]), count, count == 1 and "y" or "ies")
end

-- CPUs of a set: "[0 1]".
function of.cpus(c, i)
  local bytes, list = c.bytes[i], {}
  if not bytes then return pointer(c[i]) end
  for at = 1, #bytes do
    local byte = bytes:byte(at)
    for n = 0, 7 do
      if bit.band(bit.rshift(byte, n), 1) == 1 then list[#list + 1] = (at - 1) * 8 + n end
    end
  end
  return "[" .. table.concat(list, " ") .. "]"
end

-- An integer of 32 bits that the kernel has written: "[1000]".
function of.uint_at(c, i)
  local bytes = c.bytes[i]
  return bytes and #bytes >= 4 and ("[%d]"):format(structures.u32(bytes, 0)) or pointer(c[i])
end

function of.groups(c, i)
  local bytes, list = c.bytes[i], {}
  if not bytes then return pointer(c[i]) end
  for at = 0, #bytes - 4, 4 do list[#list + 1] = structures.u32(bytes, at) .. "" end
  return bracketed(list, c.size[i] > #bytes)
end

-- A socket's option: most are an int.
function of.optval(c, i)
  local bytes, size = c.bytes[i], c.size[i]
  if not bytes then return pointer(c[i]) end
  local option = numbers.arguments.sockopt(c, i - 1)
  if option == "SO_LINGER" and size == 8 then
    return ("{l_onoff=%d, l_linger=%d}"):format(structures.i32(bytes, 0), structures.i32(bytes, 4))
  elseif option == "SO_PEERCRED" and size == 12 then
    return ("{pid=%d, uid=%d, gid=%d}"):format(structures.i32(bytes, 0), structures.u32(bytes, 4),
      structures.u32(bytes, 8))
  elseif option:find "TIMEO" and size == 16 then
    return structures.timeval.show(bytes)
  elseif option == "SO_ERROR" and size == 4 then
    local number = structures.i32(bytes, 0)
    return number == 0 and "[0]" or ("[%s]"):format(c.errno_name(number))
  elseif option == "SO_TYPE" and size == 4 then
    return ("[%s]"):format(constants.show("socktype", structures.u32(bytes, 0)))
  elseif size == 4 then
    return ("[%d]"):format(structures.i32(bytes, 0))
  end
  return buffer(c, bytes, size)
end

-- --- by what another argument says ---

-- futex's fourth argument: a time, of operations that wait; a number, of those that move waiters.
function of.futex_fourth(c, i)
  local kind = numbers.futex_kind(c)
  if kind == "wake" then return false end
  if kind == "unlock" then return nil end
  return kind == "requeue" and u32(c[i]) .. "" or of.timespec(c, i)
end

local LOCKS = { F_GETLK = true, F_SETLK = true, F_SETLKW = true, F_OFD_GETLK = true, F_OFD_SETLK = true,
                F_OFD_SETLKW = true }
function of.fcntl_argument(c, i)
  if LOCKS[constants.name("fcntl", u32(c[i - 1]))] then return of.flock_range(c, i) end
  return numbers.fcntl_argument(c, i)
end

-- Names of one number.
local ALSO = { TCSETS = "SNDCTL_TMR_START or TCSETS", TCSETSW = "SNDCTL_TMR_STOP or TCSETSW",
               TCSETSF = "SNDCTL_TMR_CONTINUE or TCSETSF", FICLONE = "BTRFS_IOC_CLONE or FICLONE",
               FICLONERANGE = "BTRFS_IOC_CLONE_RANGE or FICLONERANGE" }
function of.ioctl(c, i)
  local name = constants.show("ioctl", u32(c[i]))
  return ALSO[name] or name
end

local SETS = { TCSETS = true, TCSETSW = true, TCSETSF = true }
-- What an ioctl was given: for some commands what is there.
function of.ioctl_argument(c, i)
  local name, bytes = constants.name("ioctl", u32(c[i - 1])), c.bytes[i]
  if name == "TIOCGWINSZ" and bytes and not c.failed then
    return ("{ws_row=%d, ws_col=%d, ws_xpixel=%d, ws_ypixel=%d}"):format(bytes:byte(1) + bytes:byte(2) * 256,
      bytes:byte(3) + bytes:byte(4) * 256, bytes:byte(5) + bytes:byte(6) * 256, bytes:byte(7) + bytes:byte(8) * 256)
  end
  if (name == "FIONREAD" or name == "FIONBIO" or name == "TIOCGPGRP" and not c.failed) and bytes then
    return ("[%d]"):format(structures.i32(bytes, 0))
  end
  if (name == "TCGETS" and not c.failed or SETS[name]) and bytes then return structures.termios.show(bytes) end
  if name == "FIOCLEX" or name == "FIONCLEX" then return nil end
  if name == "FICLONE" then return i32(c[i]) .. "" end
  return numbers.hex(c[i])
end

local ALONE = { PR_GET_DUMPABLE = true, PR_GET_KEEPCAPS = true, PR_GET_TIMERSLACK = true, PR_GET_SECUREBITS = true }
-- prctl's second argument: a name, a signal, a number.
function of.prctl_argument(c, i)
  local name = constants.name("prctl", u32(c[i - 1]))
  if name == "PR_SET_NAME" or name == "PR_GET_NAME" and not c.failed then
    return c.text[i] and quote(c.text[i]:sub(1, 15), #c.text[i] > 15) or pointer(c[i])
  end
  if name == "PR_SET_PDEATHSIG" then return numbers.signal_name(i32(c[i])) end
  if ALONE[name] then return nil end
  if name == "PR_SET_DUMPABLE" then
    return c[i] == 0 and "SUID_DUMP_DISABLE" or c[i] == 1 and "SUID_DUMP_USER" or numbers.hex(c[i])
  end
  if name == "PR_CAPBSET_READ" or name == "PR_CAPBSET_DROP" then
    local cap = u32(c[i])
    return constants.name("cap", cap) or numbers.hex(cap) .. " /* CAP_??? */"
  end
  return name and name:find "^PR_SET_[KCT]" and unsigned(c[i]) or numbers.hex(c[i])
end

function of.statx_mask(c, i) return structures.statx_mask(u32(c[i])) end

local S_IFCHR, S_IFBLK = constants.value("filetype", "S_IFCHR"), constants.value("filetype", "S_IFBLK")
function of.mknod_dev(c, i)
  local kind = bit.band(u32(c[i - 1]), 0xf000)
  return (kind == S_IFCHR or kind == S_IFBLK) and numbers.device(u32(c[i])) or nil
end

-- How long a call is to wait: before it, since what is left may be written to the same place.
function of.time_before(c, i)
  local before = c:entry(i)
  return before and #before >= 16 and structures.timespec.show(before) or pointer(c[i])
end
of.sleep = of.time_before

function of.clone_args(c, i)
  local bytes = c.bytes[i]
  return bytes and #bytes >= structures.clone_args.size and structures.clone_args.show(bytes, c) or pointer(c[i])
end

-- The time that is left of a sleep: only where a signal has ended it.
function of.left(c, i)
  if c.ret == -516 or c.ret == -4 then return of.timespec(c, i) end
  return pointer(c[i])
end

return of
