-- Structures of the kernel's uapi as strace prints them, from their bytes: structures.NAME = { size, show }, where show
-- is a function of the bytes (at least so many), the call and the argument's place.
local bit       = require "bit"
local constants = require "uplua.syscalls.constants"
local ffi       = require "ffi"
local names     = require "uplua.probe.kernel_names"
local numbers   = require "uplua.syscalls.numbers"
local quote     = require("uplua.syscalls.quote").quote
local syscall   = require "uplua.probe.providers.syscall"

local hex, pointer, show = numbers.hex, numbers.pointer, constants.show
local ON_X86 = ffi.arch == "x64"

local structures = {}

-- Readers: the integer at OFFSET of BYTES, the lowest byte first. Those of 64 bits are Lua numbers where these have
-- room. By bytes: of a pointer into a string LuaJIT may load from the offset alone.
local function u8(bytes, offset) return bytes:byte(offset + 1) end
local function u16(bytes, offset)
  local a, b = bytes:byte(offset + 1, offset + 2)
  return a + 256 * b
end
local function u32(bytes, offset)
  local a, b, c, d = bytes:byte(offset + 1, offset + 4)
  return a + 256 * b + 65536 * c + 16777216 * d
end
local function i32(bytes, offset)
  local value = u32(bytes, offset)
  return value < 2 ^ 31 and value or value - 2 ^ 32
end
local function u64(bytes, offset)
  local low, high = u32(bytes, offset), u32(bytes, offset + 4)
  if high < 2 ^ 21 then return low + 2 ^ 32 * high end
  return bit.bor(bit.lshift(0ULL + high, 32), 0ULL + low)
end
local function i64(bytes, offset)
  local low, high = u32(bytes, offset), i32(bytes, offset + 4)
  if high >= -2 ^ 21 and high < 2 ^ 21 and not (high == -2 ^ 21 and low == 0) then return low + 2 ^ 32 * high end
  return ffi.cast("int64_t", bit.bor(bit.lshift(0ULL + high % 2 ^ 32, 32), 0ULL + low))
end
structures.i32, structures.u32, structures.u64, structures.i64 = i32, u32, u64, i64

local signed, unsigned = numbers.signed, numbers.unsigned

local function structure(name, size, fn) structures[name] = { size = size, show = fn } end

-- --- times ---

local function timespec(bytes, at)
  return ("{tv_sec=%s, tv_nsec=%s}"):format(signed(i64(bytes, at)), signed(i64(bytes, at + 8)))
end
local function timeval(bytes, at)
  return ("{tv_sec=%s, tv_usec=%s}"):format(signed(i64(bytes, at)), signed(i64(bytes, at + 8)))
end
structure("timespec", 16, function(bytes) return timespec(bytes, 0) end)
structure("timeval", 16, function(bytes) return timeval(bytes, 0) end)
structure("itimerval", 32, function(bytes)
  return ("{it_interval=%s, it_value=%s}"):format(timeval(bytes, 0), timeval(bytes, 16))
end)
structure("itimerspec", 32, function(bytes)
  return ("{it_interval=%s, it_value=%s}"):format(timespec(bytes, 0), timespec(bytes, 16))
end)

local UTIME_NOW, UTIME_OMIT = 0x3fffffff, 0x3ffffffe
local function file_time(bytes, at)
  local seconds, ns = i64(bytes, at), i64(bytes, at + 8)
  if ns == UTIME_NOW or ns == UTIME_OMIT then return ns == UTIME_NOW and "UTIME_NOW" or "UTIME_OMIT" end
  local text = timespec(bytes, at)
  if type(seconds) ~= "number" or seconds <= 0 or seconds >= 2 ^ 40 or ns < 0 or ns >= 1e9 then return text end
  return ("%s /* %s%s%s */"):format(text, os.date("%Y-%m-%dT%H:%M:%S", seconds),
    ns > 0 and (".%09d"):format(ns) or "", os.date("%z", seconds))
end
structure("file_times", 32, function(bytes)
  return ("[%s, %s]"):format(file_time(bytes, 0), file_time(bytes, 16))
end)
structure("timevals", 32, function(bytes) return ("[%s, %s]"):format(timeval(bytes, 0), timeval(bytes, 16)) end)

-- --- files ---

-- Where a stat has its mode, rdev and size.
local MODE, RDEV, SIZE = ON_X86 and 24 or 16, ON_X86 and 40 or 32, 48
local S_IFCHR, S_IFBLK = constants.value("filetype", "S_IFCHR"), constants.value("filetype", "S_IFBLK")
structure("stat", ON_X86 and 144 or 128, function(bytes)
  local mode = u32(bytes, MODE)
  local kind = bit.band(mode, 0xf000)
  local rest = (kind == S_IFCHR or kind == S_IFBLK) and "st_rdev=" .. numbers.device(u64(bytes, RDEV))
    or "st_size=" .. signed(i64(bytes, SIZE))
  return ("{st_mode=%s, %s, ...}"):format(numbers.file_mode(mode), rest)
end)

local BASIC, ALL = 0x7ff, 0xfff
local function statx_mask(value)
  local begin, rest = "", value
  if bit.band(value, ALL) == ALL then
    begin, rest = "STATX_ALL", value - ALL
  elseif bit.band(value, BASIC) == BASIC then
    begin, rest = "STATX_BASIC_STATS", value - BASIC
  end
  if begin == "" then return show("statx", value) end
  return rest ~= 0 and begin .. "|" .. show("statx", rest) or begin
end
structures.statx_mask = statx_mask
structure("statx", 256, function(bytes)
  return ("{stx_mask=%s, stx_attributes=%s, stx_mode=%s, stx_size=%s, ...}"):format(statx_mask(u32(bytes, 0)),
    show("statx_attr", u64(bytes, 8)), numbers.file_mode(u16(bytes, 28)), unsigned(u64(bytes, 40)))
end)

structure("statfs", 120, function(bytes)
  return ("{f_type=%s, f_bsize=%s, f_blocks=%s, f_bfree=%s, f_bavail=%s, f_files=%s, f_ffree=%s, " ..
          "f_fsid={val=[%s, %s]}, f_namelen=%s, f_frsize=%s, f_flags=%s}"):format(show("statfs", i64(bytes, 0)),
    unsigned(u64(bytes, 8)), unsigned(u64(bytes, 16)), unsigned(u64(bytes, 24)), unsigned(u64(bytes, 32)),
    unsigned(u64(bytes, 40)), unsigned(u64(bytes, 48)), hex(u32(bytes, 56)), hex(u32(bytes, 60)),
    unsigned(u64(bytes, 64)), unsigned(u64(bytes, 72)), show("statfs_flag", u64(bytes, 80)))
end)

structure("flock_range", 32, function(bytes)
  return ("{l_type=%s, l_whence=%s, l_start=%s, l_len=%s}"):format(show("lock", u16(bytes, 0)),
    show("whence", u16(bytes, 2)), signed(i64(bytes, 8)), signed(i64(bytes, 16)))
end)

structure("open_how", 24, function(bytes)
  local flags, mode = u64(bytes, 0), u64(bytes, 8)
  local text = "{flags=" .. numbers.arguments.open({ flags }, 1)
  if mode ~= 0 then text = text .. ", mode=" .. numbers.mode(mode) end
  return text .. ", resolve=" .. hex(u64(bytes, 16)) .. "}"
end)

-- --- terminals ---

-- VALUE as one of each of FIELDS, { set, mask }, and what else is in it as flags of the set REST, which may be none.
local function fields_of(value, fields, rest)
  local parts = {}
  for i, field in ipairs(fields) do parts[i] = show(field[1], bit.band(value, field[2])) end
  for _, field in ipairs(fields) do value = bit.band(value, bit.bnot(field[2])) end
  value = value % 2 ^ 32
  if value ~= 0 then parts[#parts + 1] = show(rest, value) end
  return table.concat(parts, "|")
end

local OUTPUT = { { "nldly", 0x100 }, { "crdly", 0x600 }, { "tabdly", 0x1800 }, { "bsdly", 0x2000 }, { "vtdly", 0x4000 },
                 { "ffdly", 0x8000 } }
local BAUD, IBSHIFT = 0x100f, 16
local function control(value)
  local input = bit.band(bit.rshift(value, IBSHIFT), BAUD)
  local baud = show("baud", bit.band(value, BAUD))
  if input ~= 0 then baud = ("%s|%s<<IBSHIFT"):format(baud, show("baud", input)) end
  local rest = bit.band(value, bit.bnot(bit.bor(BAUD, bit.lshift(BAUD, IBSHIFT)))) % 2 ^ 32
  return baud .. "|" .. fields_of(rest, { { "csize", 0x30 } }, "c_cflag")
end

structure("termios", 16, function(bytes)
  return ("{c_iflag=%s, c_oflag=%s, c_cflag=%s, c_lflag=%s, ...}"):format(fields_of(u32(bytes, 0), {}, "c_iflag"),
    fields_of(u32(bytes, 4), OUTPUT, "c_oflag"), control(u32(bytes, 8)), fields_of(u32(bytes, 12), {}, "c_lflag"))
end)

-- --- signals ---

-- A set of signals: "[INT CHLD]"; "~[KILL]" of those that are not in it, where most are.
local function sigset(bytes, at)
  local low, high = u32(bytes, at), u32(bytes, at + 4)
  local function is_in(signal)
    local word = signal <= 32 and low or high
    return bit.band(bit.rshift(word, (signal - 1) % 32), 1) == 1
  end
  local count = 0
  for signal = 1, 64 do count = count + (is_in(signal) and 1 or 0) end
  local inverted, list = count >= 64 * 2 / 3, {}
  for signal = 1, 64 do
    if is_in(signal) ~= inverted then list[#list + 1] = numbers.signals[signal] end
  end
  return (inverted and "~[" or "[") .. table.concat(list, " ") .. "]"
end
structure("sigset", 8, function(bytes) return sigset(bytes, 0) end)

-- What pselect6 is given last, and the set that it points to.
function structures.kernel_sigset(bytes, set)
  return ("{sigmask=%s, sigsetsize=%s}"):format(set and #set >= 8 and sigset(set, 0) or pointer(u64(bytes, 0)),
    unsigned(u64(bytes, 8)))
end

local HANDLERS = { [0] = "SIG_DFL", [1] = "SIG_IGN" }
local SA_RESTORER = constants.value("sa", "SA_RESTORER")
structure("sigaction", 32, function(bytes)
  local handler, flags = u64(bytes, 0), u64(bytes, 8)
  local text = ("{sa_handler=%s, sa_mask=%s, sa_flags=%s"):format(HANDLERS[handler] or pointer(handler),
    sigset(bytes, 24), show("sa", flags))
  if bit.band(u32(bytes, 8), SA_RESTORER) ~= 0 then text = text .. ", sa_restorer=" .. pointer(u64(bytes, 16)) end
  return text .. "}"
end)

structure("sigevent", 16, function(bytes)
  local value = u64(bytes, 0)
  local begin = value == 0 and "" or
    ("sigev_value={sival_int=%d, sival_ptr=%s}, "):format(i32(bytes, 0), pointer(value))
  return ("{%ssigev_signo=%s, sigev_notify=%s}"):format(begin, numbers.signal_name(i32(bytes, 8)),
    show("sigev", u32(bytes, 12)))
end)

structure("sigaltstack", 24, function(bytes)
  return ("{ss_sp=%s, ss_flags=%s, ss_size=%s}"):format(pointer(u64(bytes, 0)), show("ss", u32(bytes, 8)),
    unsigned(u64(bytes, 16)))
end)

-- The sets of the codes that the kernel gives signals of its own, and those whose cause is an address.
local SIGCHLD, SIGPOLL, SIGSYS, SI_TIMER, ARCH_X86_64, ARCH_AARCH64 = 17, 29, 31, -2, 0xc000003e, 0xc00000b7
local CODES = { [4] = "ill", [5] = "trap", [7] = "bus", [8] = "fpe", [11] = "segv", [17] = "cld", [29] = "band",
                [31] = "sys" }
local FAULTS = { [4] = true, [7] = true, [8] = true, [11] = true }
local ARCHES = { [ARCH_X86_64] = "AUDIT_ARCH_X86_64", [ARCH_AARCH64] = "AUDIT_ARCH_AARCH64" }

local function code_name(signal, code)
  local set = code > 0 and code ~= 0x80 and CODES[signal] or "si"
  return constants.name(set, code) or tostring(code)
end

-- What tells of the cause, by the code and the signal: the union of the kernel's siginfo, as strace shows it.
local function cause_of(signal, code, bytes)
  local sender = (", si_pid=%d, si_uid=%d"):format(i32(bytes, 16), u32(bytes, 20))
  local value = u64(bytes, 24) ~= 0
    and (", si_int=%d, si_ptr=%s"):format(i32(bytes, 24), pointer(u64(bytes, 24))) or ""
  if code == SI_TIMER then
    return (", si_timerid=%s, si_overrun=%d%s"):format(hex(u32(bytes, 16)), i32(bytes, 20), value)
  end
  if code <= 0 then return sender .. ((code == 0 or code == -6) and "" or value) end
  if signal == SIGCHLD then
    local status = i32(bytes, 24)
    return ("%s, si_status=%s, si_utime=%s, si_stime=%s"):format(sender,
      code == 1 and status or numbers.signal_name(status), signed(i64(bytes, 32)), signed(i64(bytes, 40)))
  end
  if FAULTS[signal] then return ", si_addr=" .. pointer(u64(bytes, 16)) end
  if signal == SIGPOLL and code ~= 0x80 then return (", si_band=%s"):format(signed(i64(bytes, 16))) end
  if signal == SIGSYS and code ~= 0x80 then
    local arch, call = u32(bytes, 28), i32(bytes, 24)
    local name = syscall.syscall_name(call)
    return (", si_call_addr=%s, si_syscall=%s, si_arch=%s"):format(pointer(u64(bytes, 16)),
      name and "__NR_" .. name or tostring(call), ARCHES[arch] or hex(arch))
  end
  return (i32(bytes, 16) ~= 0 or u32(bytes, 20) ~= 0) and sender .. value or value
end

structure("siginfo", 128, function(bytes)
  local signal, errno, code = i32(bytes, 0), i32(bytes, 4), i32(bytes, 8)
  if signal == 0 and errno == 0 and code == 0 then return "{}" end
  return ("{si_signo=%s, si_code=%s%s%s}"):format(numbers.signal_name(signal), code_name(signal, code),
    errno ~= 0 and ", si_errno=" .. syscall.errno_name(errno) or "", cause_of(signal, code, bytes))
end)

-- --- processes ---

structure("wait_status", 4, function(bytes)
  local status = u32(bytes, 0)
  local signal, rest = bit.band(status, 0x7f), bit.band(bit.rshift(status, 8), 0xff)
  if status == 0xffff then return "[{WIFCONTINUED(s)}]" end
  if bit.band(status, 0xff) == 0x7f then
    return ("[{WIFSTOPPED(s) && WSTOPSIG(s) == %s}]"):format(numbers.signal_name(rest))
  end
  if signal == 0 then return ("[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]"):format(rest) end
  return ("[{WIFSIGNALED(s) && WTERMSIG(s) == %s%s}]"):format(numbers.signal_name(signal),
    bit.band(status, 0x80) ~= 0 and " && WCOREDUMP(s)" or "")
end)

structure("rusage_of", 144, function(bytes)
  return ("{ru_utime=%s, ru_stime=%s, ...}"):format(timeval(bytes, 0), timeval(bytes, 16))
end)

local INFINITY = bit.bnot(0ULL)
local function limit(value, infinity)
  if value == INFINITY then return infinity end
  if type(value) == "number" and value > 1024 and value % 1024 == 0 then return value / 1024 .. "*1024" end
  return unsigned(value)
end
local function limits_of(infinity)
  return function(bytes)
    return ("{rlim_cur=%s, rlim_max=%s}"):format(limit(u64(bytes, 0), infinity), limit(u64(bytes, 8), infinity))
  end
end
structure("rlim", 16, limits_of "RLIM_INFINITY")
structure("rlim64", 16, limits_of "RLIM64_INFINITY")

local UTS = 65 -- bytes of each field
structure("utsname", 3 * UTS, function(bytes)
  local function field(i) return quote(bytes:sub(UTS * i + 1):match "^%Z*") end
  return ("{sysname=%s, nodename=%s, ...}"):format(field(0), field(1))
end)

structure("sysinfo", 112, function(bytes)
  local function at(offset) return unsigned(u64(bytes, offset)) end
  return ("{uptime=%s, loads=[%s, %s, %s], totalram=%s, freeram=%s, sharedram=%s, bufferram=%s, totalswap=%s, " ..
          "freeswap=%s, procs=%d, totalhigh=%s, freehigh=%s, mem_unit=%d}"):format(at(0), at(8), at(16), at(24), at(32),
    at(40), at(48), at(56), at(64), at(72), u16(bytes, 80), at(88), at(96), u32(bytes, 104))
end)

structure("tms", 32, function(bytes)
  return ("{tms_utime=%s, tms_stime=%s, tms_cutime=%s, tms_cstime=%s}"):format(signed(i64(bytes, 0)),
    signed(i64(bytes, 8)), signed(i64(bytes, 16)), signed(i64(bytes, 24)))
end)

-- struct clone_args; of clone3.
local CLONE_PIDFD = constants.value("clone", "CLONE_PIDFD")
local CLONE_PARENT_SETTID = constants.value("clone", "CLONE_PARENT_SETTID")
structure("clone_args", 64, function(bytes, c)
  local parts = { "flags=" .. show("clone", u64(bytes, 0)) }
  local function add(name, offset)
    local value = u64(bytes, offset)
    if value ~= 0 then parts[#parts + 1] = name .. "=" .. pointer(value) end
  end
  local flags = u32(bytes, 0)
  if bit.band(flags, CLONE_PIDFD) ~= 0 then add("pidfd", 8) end
  add("child_tid", 16)
  add("parent_tid", 24)
  local signal = u64(bytes, 32)
  parts[#parts + 1] = "exit_signal=" .. (signal == 0 and "0" or numbers.signal_name(tonumber(signal)))
  parts[#parts + 1] = "stack=" .. pointer(u64(bytes, 40))
  parts[#parts + 1] = "stack_size=" .. hex(u64(bytes, 48))
  add("tls", 56)
  local text = "{" .. table.concat(parts, ", ") .. "}"
  -- The kernel has written there what the call returns.
  if c.failed or bit.band(flags, CLONE_PARENT_SETTID) == 0 then return text end
  return ("%s => {parent_tid=[%s]}"):format(text, signed(c.ret))
end)

-- --- sockets ---

local function port(bytes, at) return u8(bytes, at) * 256 + u8(bytes, at + 1) end

local ADDRESSES = {}
ADDRESSES.AF_INET = function(bytes)
  if #bytes < 8 then return nil end
  return ("sin_port=htons(%d), sin_addr=inet_addr(\"%s\")"):format(port(bytes, 2), names.ip(bytes:sub(5, 8)))
end
ADDRESSES.AF_INET6 = function(bytes)
  if #bytes < 24 then return nil end
  local text = ("sin6_port=htons(%d), sin6_flowinfo=htonl(%d), inet_pton(AF_INET6, \"%s\", &sin6_addr)")
    :format(port(bytes, 2), port(bytes, 4) * 65536 + port(bytes, 6), names.ip(bytes:sub(9, 24)))
  return #bytes >= 28 and ("%s, sin6_scope_id=%d"):format(text, u32(bytes, 24)) or text
end
ADDRESSES.AF_UNIX = function(bytes)
  local path = bytes:sub(3)
  if path == "" then return "" end
  if path:byte() == 0 then return "sun_path=@" .. quote(path:sub(2)) end
  return "sun_path=" .. quote(path:match "^%Z*")
end
ADDRESSES.AF_NETLINK = function(bytes)
  if #bytes < 12 then return nil end
  return ("nl_pid=%s, nl_groups=%s"):format(i32(bytes, 4), bit.tohex(u32(bytes, 8)))
end

-- The address in BYTES, as long as it is; nil where it is none.
function structures.sockaddr(bytes)
  if #bytes < 2 then return nil end
  local number = u16(bytes, 0)
  local family = constants.name("family", number)
  local text = ADDRESSES[family] and ADDRESSES[family](bytes)
  if not text and #bytes > 2 then text = "sa_data=" .. quote(bytes:sub(3)) end
  return ("{sa_family=%s%s}"):format(family or hex(number), text and text ~= "" and ", " .. text or "")
end

-- --- control data of messages ---

local CMSG = 16 -- bytes of a cmsghdr
local CONTROLS = {}
function CONTROLS.SCM_RIGHTS(c, data, made)
  local list = {}
  for at = 0, #data - 4, 4 do
    if #list == c.strings then
      list[#list + 1] = "..."
      break
    end
    local fd = i32(data, at)
    list[#list + 1] = made and c:made(fd) or c:descriptor(fd)
  end
  return #list > 0 and "[" .. table.concat(list, ", ") .. "]" or nil
end
function CONTROLS.SCM_CREDENTIALS(_, data)
  return #data >= 12 and ("{pid=%d, uid=%d, gid=%d}"):format(i32(data, 0), i32(data, 4), i32(data, 8)) or nil
end
function CONTROLS.SCM_SECURITY(_, data) return #data > 0 and quote(data) or nil end
function CONTROLS.SO_TIMESTAMP_OLD(_, data) return #data >= 16 and timeval(data, 0) or nil end
function CONTROLS.SO_TIMESTAMPNS_OLD(_, data) return #data >= 16 and timespec(data, 0) or nil end
function CONTROLS.IP_TTL(_, data) return #data >= 4 and ("[%d]"):format(u32(data, 0)) or nil end
function CONTROLS.IP_TOS(_, data) return #data >= 1 and ("[%#x]"):format(data:byte()) or nil end

local TYPES = { SOL_SOCKET = "scm", SOL_IP = "ip" }

-- The header at AT of BYTES, of which there are so many from there on: as a text, and how long it says that it is.
local function control_of(c, bytes, at, made)
  local said = u64(bytes, at)
  local length = math.min(tonumber(said), 2 ^ 31)
  local level, kind = constants.show("sol", u32(bytes, at + 8)), u32(bytes, at + 12)
  local kind_name = TYPES[level] and show(TYPES[level], kind) or hex(kind)
  local show_data = CONTROLS[kind_name]
  local data = show_data and show_data(c, bytes:sub(at + CMSG + 1, math.min(at + length, #bytes)), made)
  return ("{cmsg_len=%s, cmsg_level=%s, cmsg_type=%s%s}"):format(unsigned(said), level, kind_name,
    data and ", cmsg_data=" .. data or ""), length
end

-- The control data BYTES of a message, which has SIZE bytes of it at the address WHERE; MADE: its descriptors are those
-- that the call has made. nil where there is not one header.
function structures.control(c, bytes, size, where, made)
  local list, at = {}, 0
  while #bytes - at >= CMSG do
    local text, length = control_of(c, bytes, at, made)
    list[#list + 1] = text
    if length < CMSG then -- a header that lies: where the next one is nobody knows
      at = at + CMSG
      break
    end
    at = math.min(size, at + math.ceil(length / 8) * 8)
  end
  if #list == 0 then return nil end
  local rest = at >= size and "" or
    at < #bytes and (", ... /* %s */"):format(pointer(where + at)) or ", ..."
  return "[" .. table.concat(list, ", ") .. rest .. "]"
end

-- --- lists ---

local POLLFD = 8
-- The descriptors of BYTES, MOST of them: what is asked of them, or OF_RESULTS what has happened; of these those where
-- nothing has are left out.
function structures.pollfds(c, bytes, of_results, most)
  local list = {}
  for at = 0, #bytes - POLLFD, POLLFD do
    if #list == most then break end
    local fd, events = i32(bytes, at), u16(bytes, at + (of_results and 6 or 4))
    if not of_results then
      list[#list + 1] = ("{fd=%s%s}"):format(c.descriptor(c, fd), fd >= 0 and ", events=" .. show("poll", events) or "")
    elseif events ~= 0 and fd >= 0 then
      list[#list + 1] = ("{fd=%d, revents=%s}"):format(fd, show("poll", events))
    end
  end
  return list
end

local EPOLL_DATA = ON_X86 and 4 or 8
structures.epoll_size = EPOLL_DATA + 8
function structures.epoll_event(bytes, at)
  local data = at + EPOLL_DATA
  return ("{events=%s, data={u32=%d, u64=%s}}"):format(show("epoll", u32(bytes, at)), u32(bytes, data),
    unsigned(u64(bytes, data)))
end

return structures
