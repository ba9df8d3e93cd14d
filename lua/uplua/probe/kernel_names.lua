-- Names of what the kernel numbers: flags, signals, states of threads, addresses of the Internet. The numbers are those
-- of the system's headers (uplua.contract), but for the states, which no header of programs has.
local ffi      = require "ffi"
local bit      = require "bit"
local buffer   = require "uplua.objects.buffer"
local contract = require "uplua.contract"
local record   = require "uplua.objects.record"
local text     = require "uplua.base.text"

local C = contract.C

local names = {}

local u64 = ffi.typeof "uint64_t"

-- NUMBER as a uint64_t; an error in the caller's caller's line for anything else. WHO: the function.
local function integer(who, number)
  if type(number) ~= "number" and not (ffi.istype("int64_t", number) or ffi.istype("uint64_t", number)) then
    error(("%s: a number is expected, not a %s"):format(who, type(number)), 3)
  end
  if type(number) == "number" and (number ~= math.floor(number) or math.abs(number) > 2 ^ 53) then
    error(("%s: %s is not an integer"):format(who, tostring(number)), 3)
  end
  return ffi.cast(u64, ffi.cast("int64_t", number))
end

local function hex(number) return "0x" .. (bit.tohex(number):gsub("^0+", "")) end

-- --- flags ---

-- Of each set: the prefix of its names; the fields of more than one bit in it, of which each value has a name (that of
-- 0, or nil: it is not shown); and names that are no flags or another name of one.
local SETS = {
  open = { prefix = "O_", fields = { { mask = contract.O_ACCMODE, zero = "O_RDONLY" } },
           but = "O_ACCMODE O_NDELAY O_FSYNC O_RSYNC" },
  prot = { prefix = "PROT_", fields = {}, empty = "PROT_NONE", but = "" },
  mmap = { prefix = "MAP_", fields = { { mask = contract.MAP_TYPE },
                                       { mask = contract.MAP_HUGE_MASK * 2 ^ contract.MAP_HUGE_SHIFT } },
           but = "MAP_TYPE MAP_ANON MAP_HUGE_MASK MAP_HUGE_SHIFT" },
  clone = { prefix = "CLONE_", fields = {}, signal = contract.CSIGNAL, but = "" },
  socket = { prefix = "SOCK_", fields = { { mask = 0xf } }, but = "" }, -- SOCK_TYPE_MASK of the kernel's linux/net.h
  msg = { prefix = "MSG_", fields = {}, but = "" },
}

local function bits_of(number)
  local count = 0
  while number ~= 0 do number, count = bit.band(number, number - 1), count + 1 end
  return count
end

-- The names of SET, those of most bits first: { name, value (u64), field = the mask that it is a value of, or nil }.
local function flags_of(set)
  if set.flags then return set.flags end
  local list = {}
  for name, value in pairs(contract) do
    if name:find("^" .. set.prefix) and not (" " .. set.but .. " "):find(" " .. name .. " ", 1, true) then
      local flag = { name = name, value = ffi.cast(u64, value) }
      for _, field in ipairs(set.fields) do
        local mask = ffi.cast(u64, field.mask)
        if flag.value ~= 0 and bit.band(flag.value, bit.bnot(mask)) == 0 then flag.field = mask end
      end
      if flag.value ~= 0 then list[#list + 1] = flag end
    end
  end
  table.sort(list, function(a, b)
    local x, y = bits_of(a.value), bits_of(b.value)
    if x ~= y then return x > y end
    if a.value ~= b.value then return a.value < b.value end
    return a.name < b.name
  end)
  set.flags = list
  return list
end

-- up.flags(set, number): the names of its flags, "O_RDWR|O_CREAT" of 0x42 in the set "open"; what has no name is a
-- number at the end. "0" where there are none.
function names.flags(set, number)
  local known = SETS[set]
  if not known then
    local list = {}
    for name in pairs(SETS) do list[#list + 1] = name end
    table.sort(list)
    local near = text.did_you_mean(tostring(set), list)
    error(("flags: there is no set %s%s"):format(text.shown(set), near ~= "" and near or "; there are " ..
                                                               table.concat(list, ", ")), 2)
  end
  local rest, found = integer("flags", number), {}
  for _, field in ipairs(known.fields) do
    if field.zero and bit.band(rest, ffi.cast(u64, field.mask)) == 0 then found[1] = field.zero end
  end
  local signal = known.signal and tonumber(bit.band(rest, ffi.cast(u64, known.signal))) or 0
  for _, flag in ipairs(flags_of(known)) do
    local has = bit.band(rest, flag.field or flag.value)
    if has == flag.value and not (known.signal and bit.band(flag.value, ffi.cast(u64, known.signal)) ~= 0) then
      found[#found + 1] = flag
      rest = bit.band(rest, bit.bnot(flag.value))
    end
  end
  local parts = {}
  table.sort(found, function(a, b) return type(a) == "string" or type(b) ~= "string" and a.value < b.value end)
  for i, flag in ipairs(found) do parts[i] = type(flag) == "string" and flag or flag.name end
  if signal ~= 0 then
    parts[#parts + 1] = names.signal_name(signal)
    rest = bit.band(rest, bit.bnot(ffi.cast(u64, known.signal)))
  end
  if rest ~= 0 then parts[#parts + 1] = hex(rest) end
  if not parts[1] then return known.empty or "0" end
  return table.concat(parts, "|")
end

-- --- signals and states ---

-- up.signal_name(number): "SIGSEGV" of 11, "SIGRTMIN+1" of 35; "signal 99" where there is none.
function names.signal_name(number)
  local signal = tonumber(integer("signal_name", number))
  local least, most = C.__libc_current_sigrtmin(), C.__libc_current_sigrtmax()
  if signal >= least and signal <= most then
    return signal == least and "SIGRTMIN" or signal == most and "SIGRTMAX" or ("SIGRTMIN+%d"):format(signal - least)
  end
  local name = signal < least and C.sigabbrev_np(signal) or nil
  return name ~= nil and "SIG" .. ffi.string(name) or ("signal %s"):format(text.integer(number))
end

-- The bits of task_struct's __state and exit_state that /proc/PID/status tells, in its words (include/linux/sched.h and
-- fs/proc/array.c, task_state_index; the same from Linux 4.14 to 6.18).
local STATES = {
  { 0x80, "dead" }, { 0x40, "parked" }, { 0x20, "zombie" }, { 0x10, "dead" }, { 0x08, "tracing stop" },
  { 0x04, "stopped" }, { 0x02, "disk sleep" }, { 0x01, "sleeping" },
}
local IDLE, LOCKED = 0x402, 0x9000 -- TASK_IDLE; TASK_RTLOCK_WAIT and TASK_FROZEN, which wait uninterruptibly

-- up.task_state_name(number): of e.task.__state, and of prev_state at raw_tracepoint sched_switch: "running" of 0.
function names.task_state_name(number)
  local state = integer("task_state_name", number)
  if bit.band(state, 0xff) == 0x02 and bit.band(state, ffi.cast(u64, IDLE)) == IDLE then return "idle" end
  for _, one in ipairs(STATES) do
    if bit.band(state, ffi.cast(u64, one[1])) ~= 0 then return one[2] end
  end
  return bit.band(state, ffi.cast(u64, LOCKED)) ~= 0 and "disk sleep" or "running"
end

-- --- addresses ---

-- The bytes of LIST, a table of them or a record's tuple; nil: it is none. The bytes of C's char have a sign.
local function bytes_of(list)
  local count = record.is(list) and #record.names(list) or type(list) == "table" and not getmetatable(list) and #list
  if not count then return nil end
  local bytes = {}
  for i = 1, count do
    local byte = tonumber(list[i])
    if not byte or byte < -128 or byte > 255 or byte % 1 ~= 0 then
      error(("ip: a byte is a number from 0 to 255, not %s"):format(text.shown(list[i])), 3)
    end
    bytes[i] = string.char(byte % 256)
  end
  return table.concat(bytes)
end

-- up.ip(value): "127.0.0.1" of the integer that a sin_addr is in memory, or of 4 bytes; "::1" of 16 bytes, a string, a
-- buffer of up.buf, a table or a tuple.
function names.ip(value)
  local bytes = buffer.parts(value) or bytes_of(value)
  if not bytes then
    local number = integer("ip", value)
    if number >= 0xffffffff80000000ULL then number = bit.band(number, 0xffffffffULL) end -- of a signed field
    if number >= 2ULL ^ 32 then error(("ip: %s has more than 32 bits"):format(text.integer(value)), 2) end
    bytes = ffi.string(ffi.new("uint32_t[1]", tonumber(number)), 4)
  end
  if #bytes ~= 4 and #bytes ~= 16 then
    error(("ip: an address has 4 or 16 bytes, not %d"):format(#bytes), 2)
  end
  local shown = ffi.new "char[64]"
  C.inet_ntop(#bytes == 4 and contract.AF_INET or contract.AF_INET6, bytes, shown, 64)
  return ffi.string(shown)
end

return names
