-- Arguments that are numbers, as strace prints them: functions of a call (uplua.syscalls.decode) and the place of an
-- argument, which return its text, or nil where it and what follows is left out.
local bit       = require "bit"
local constants = require "uplua.syscalls.constants"
local ffi       = require "ffi"
local text      = require "uplua.base.text"

local i64, u64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

local numbers = {}

-- VALUE, of a register, as a signed or an unsigned number of 32 bits; VALUE as one of 64, which may be too large for a
-- Lua number.
local function i32(value)
  if type(value) == "number" and value >= -2 ^ 31 and value < 2 ^ 31 then return value end
  return tonumber(ffi.cast("int32_t", ffi.cast(i64, value)))
end
local function u32(value)
  if type(value) == "number" and value >= 0 and value < 2 ^ 32 then return value end
  return tonumber(ffi.cast("uint32_t", ffi.cast(i64, value)))
end
numbers.i32, numbers.u32 = i32, u32

local function signed(value) return type(value) == "number" and value .. "" or text.integer(ffi.cast(i64, value)) end
local function unsigned(value)
  if type(value) == "number" and value >= 0 then return value .. "" end
  return text.integer(ffi.cast(u64, ffi.cast(i64, value)))
end
numbers.signed, numbers.unsigned = signed, unsigned

-- VALUE as an address.
local function pointer(value)
  if value == 0 then return "NULL" end
  if type(value) == "number" and value > 0 then return ("0x%x"):format(value) end
  return text.format("%#x", ffi.cast(u64, ffi.cast(i64, value)))
end
numbers.pointer = pointer

local function hex(value) return value == 0 and "0" or pointer(value) end
numbers.hex = hex

-- A file's mode: octal, of three digits at least.
local function octal(value)
  local digits = ("%o"):format(value)
  return #digits < 3 and ("0"):rep(3 - #digits) .. digits or "0" .. digits
end
numbers.mode = octal

-- A mode with the kind of file: "S_IFREG|0644", "S_IFDIR|S_ISVTX|0777".
local SPECIAL = 0xe00
function numbers.file_mode(value)
  local kind, special = bit.band(value, 0xf000), bit.band(value, SPECIAL)
  local name = constants.name("filetype", kind) or ("0%o"):format(kind)
  if special ~= 0 then name = name .. "|" .. constants.show("mode_bits", special) end
  return (kind == 0 and special == 0 and "" or name .. "|") .. octal(value - kind - special)
end

function numbers.device(value) -- of 64 bits: glibc's makedev
  value = ffi.cast(u64, value)
  local major = bit.bor(bit.band(bit.rshift(value, 8), 0xfff), bit.band(bit.rshift(value, 32), 0xfffff000))
  local minor = bit.bor(bit.band(value, 0xff), bit.band(bit.rshift(value, 12), 0xffffff00))
  return ("makedev(%s, %s)"):format(hex(tonumber(major)), hex(tonumber(minor)))
end

local SIGNALS = {}
for name in ([[HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN
    TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS]]):gmatch "%S+" do SIGNALS[#SIGNALS + 1] = name end
SIGNALS[32] = "RTMIN"
for i = 33, 64 do SIGNALS[i] = "RT_" .. i - 32 end
numbers.signals = SIGNALS

function numbers.signal_name(number) return SIGNALS[number] and "SIG" .. SIGNALS[number] or number .. "" end

-- --- arguments ---

local of = {}
numbers.arguments = of

function of.int(c, i) return i32(c[i]) .. "" end
function of.uint(c, i) return u32(c[i]) .. "" end
function of.long(c, i) return signed(c[i]) end
function of.size(c, i) return unsigned(c[i]) end
function of.ptr(c, i) return pointer(c[i]) end
function of.hex(c, i) return hex(c[i]) end
function of.hex32(c, i) return hex(u32(c[i])) end
function of.mode(c, i) return octal(bit.band(u32(c[i]), 0xffff)) end
function of.file_mode(c, i) return numbers.file_mode(bit.band(u32(c[i]), 0xffff)) end
function of.dev(c, i) return numbers.device(u32(c[i])) end
function of.fd(c, i) return c.descriptor(c, i32(c[i])) end
function of.id(c, i) return i32(c[i]) .. "" end -- of a user or group: -1 leaves it as it is
function of.signal(c, i) return numbers.signal_name(i32(c[i])) end
function of.rusage(c, i) return constants.show("rusage", i32(c[i])) end
function of.none() return nil end

local AT_FDCWD = -100
function of.dirfd(c, i)
  local fd = i32(c[i])
  return fd == AT_FDCWD and c.cwd(c) or c.descriptor(c, fd)
end

function of.open(c, i)
  local value = u32(c[i])
  local access = bit.band(value, 3)
  local name = constants.show("accmode", access)
  return value == access and name or name .. "|" .. constants.show("open", value - access)
end

-- open's and openat's mode counts only where a file may be made.
local O_CREAT, O_TMPFILE = constants.value("open", "O_CREAT"), constants.value("open", "O_TMPFILE")
function of.open_mode(c, i)
  local flags = u32(c[i - 1])
  if bit.band(flags, O_CREAT) == 0 and bit.band(flags, O_TMPFILE) ~= O_TMPFILE then return nil end
  return of.mode(c, i)
end

function of.access(c, i) return c[i] == 0 and "F_OK" or constants.show("access", u32(c[i])) end
function of.prot(c, i) return c[i] == 0 and "PROT_NONE" or constants.show("prot", u32(c[i])) end

local TYPE, HUGE = 0xf, 26
function of.map(c, i)
  local value = u32(c[i])
  local size = bit.band(bit.rshift(value, HUGE), 0x3f)
  local kind, rest = bit.band(value, TYPE), bit.band(value, 0x3fffff0)
  local name = constants.name("map_type", kind) or hex(kind)
  if rest ~= 0 then name = name .. "|" .. constants.show("map", rest) end
  return size ~= 0 and ("%s|%d<<MAP_HUGE_SHIFT"):format(name, size) or name
end

function of.mremap_to(c, i) -- the new address, where it is asked for
  return bit.band(u32(c[i - 1]), 6) ~= 0 and pointer(c[i]) or nil
end

local SOCKET_TYPE = 0xf
function of.socktype(c, i)
  local value = u32(c[i])
  local kind = bit.band(value, SOCKET_TYPE)
  local rest = value - kind
  local name = constants.show("socktype", kind)
  return rest ~= 0 and name .. "|" .. constants.show("sock", rest) or name
end

function of.protocol(c, i)
  local family, value = constants.name("family", u32(c[i - 2])), u32(c[i])
  if family == "AF_INET" or family == "AF_INET6" then return constants.show("ipproto", value) end
  if family == "AF_NETLINK" then return constants.show("netlink", value) end
  return value .. ""
end

local OPTIONS = { SOL_SOCKET = "so", SOL_TCP = "tcp", SOL_IP = "ip", SOL_IPV6 = "ipv6" }
function of.sockopt(c, i)
  local level = constants.name("sol", u32(c[i - 1]))
  local set, value = OPTIONS[level], u32(c[i])
  return set and constants.show(set, value) or hex(value)
end

local FUTEX_FLAGS = 128 + 256
function of.futex(c, i)
  local value = u32(c[i])
  local flags = bit.band(value, FUTEX_FLAGS)
  local name = constants.show("futex", value - flags)
  if bit.band(flags, 128) ~= 0 then name = name .. "_PRIVATE" end
  return bit.band(flags, 256) ~= 0 and name .. "|FUTEX_CLOCK_REALTIME" or name
end

-- The arguments 3 … 6 of futex's operations, by the operation.
local WAIT, WAKE, REQUEUE, LOCK, UNLOCK = "wait", "wake", "requeue", "lock", "unlock"
local FUTEX = {
  [0] = WAIT, [1] = WAKE, [2] = WAKE, [3] = REQUEUE, [4] = REQUEUE, [5] = REQUEUE, [6] = LOCK, [7] = UNLOCK,
  [8] = UNLOCK, [9] = WAIT, [10] = WAKE, [11] = REQUEUE, [12] = REQUEUE, [13] = LOCK,
}
numbers.futex_kind = function(c) return FUTEX[bit.band(u32(c[2]), 0x7f)] end

function of.futex_value(c, i)
  local kind = numbers.futex_kind(c)
  if kind == UNLOCK or kind == LOCK then return nil end
  return u32(c[i]) .. ""
end

local BITSET, COMPARED = { [9] = true, [10] = true }, { [4] = true, [12] = true }
function of.futex_address(c, i)
  local operation = bit.band(u32(c[2]), 0x7f)
  if BITSET[operation] then return false end
  return FUTEX[operation] == REQUEUE and pointer(c[i]) or nil
end
function of.futex_last(c, i)
  local operation, value = bit.band(u32(c[2]), 0x7f), u32(c[i])
  if BITSET[operation] then return value == 0xffffffff and "FUTEX_BITSET_MATCH_ANY" or hex(value) end
  return COMPARED[operation] and value .. "" or operation == 5 and hex(value) or nil
end

function of.clone_flags(c, i) return numbers.clone(c[i]) end

-- Flags of clone, with the signal that the child's end sends.
function numbers.clone(value)
  local low = u32(value)
  local signal = bit.band(low, 0xff)
  local flags = low - signal
  local name = flags ~= 0 and constants.show("clone", flags)
  if signal ~= 0 then return (name and name .. "|" or "") .. numbers.signal_name(signal) end
  return name or "0"
end

-- fcntl's third argument, by its command.
local NO_ARGUMENT = { F_GETFD = true, F_GETFL = true, F_GETOWN = true, F_GETSIG = true, F_GETLEASE = true,
                      F_GETPIPE_SZ = true, F_GET_SEALS = true }
local FLAGS = { F_SETFD = "fd", F_ADD_SEALS = "seals" }
function numbers.fcntl_argument(c, i)
  local name = constants.name("fcntl", u32(c[i - 1]))
  if NO_ARGUMENT[name] then return nil end
  if FLAGS[name] then return constants.show(FLAGS[name], u32(c[i])) end
  if name == "F_SETFL" then return of.open(c, i) end
  if name == "F_SETLEASE" then return constants.show("lock", u32(c[i])) end
  if name == "F_SETSIG" then return of.signal(c, i) end
  if name and name:find "LK" or name and name:find "_EX$" or name and name:find "HINT" then return pointer(c[i]) end
  return name and signed(c[i]) or hex(c[i])
end

-- Names of sets are decoders, too.
for name, set in pairs(constants.sets) do
  of[name] = of[name] or function(c, i) return constants.show(name, u32(c[i])) end
end

return numbers
