-- Calls that are under way when tracing ends, as strace writes them: `read(0,  <unfinished ...>`. The kernel tells of
-- each thread that waits which call it is in; what the arguments point to is in its memory.
local bit     = require "bit"
local core    = require "uplua.core"
local decode  = require "uplua.syscalls.decode"
local ffi     = require "ffi"
local numbers = require "uplua.syscalls.numbers"
local proc    = require "uplua.base.proc"
local records = require "uplua.syscalls.records"

local unfinished = {}

local PAGE = 4096

-- The number in WORD, "0x7f…", as handlers give those of registers.
local function register(word)
  local digits = ("0"):rep(16) .. word:sub(3)
  local high, low = tonumber(digits:sub(-16, -9), 16), tonumber(digits:sub(-8), 16)
  local value = ffi.cast("int64_t", bit.bor(bit.lshift(0ULL + high, 32), 0ULL + low))
  local as_double = tonumber(value)
  return as_double > -2 ^ 53 and as_double < 2 ^ 53 and as_double or value
end

-- The number of the call that the thread TID waits in, and its registers; nil where it is in none.
local function waits_in(tid)
  local line = proc.read("%d/syscall", tid) or ""
  local number, rest = line:match "^(%d+) (.*)"
  if not number then return nil end
  local registers = {}
  for word in rest:gmatch "%S+" do
    if #registers < 6 then registers[#registers + 1] = register(word) end
  end
  return tonumber(number), registers
end

-- SIZE bytes of the memory FILE at ADDRESS, or nil.
local function bytes_at(file, address, size)
  local at = tonumber(address)
  if at < PAGE or at >= 2 ^ 47 or not file:seek("set", at) then return nil end
  local bytes = file:read(size)
  return bytes and #bytes == size and bytes or nil
end

local function text_at(file, address, most)
  local at = tonumber(address)
  if at < PAGE or at >= 2 ^ 47 or not file:seek("set", at) then return nil end
  local bytes = file:read(most) or file:seek("set", at) and file:read(PAGE - at % PAGE) -- the page behind may be none
  local whole = bytes and bytes:match "^(%Z*)%z"
  return whole or bytes, not whole
end

-- Gives C what PIECE of its arguments points to.
local function take(c, file, piece)
  local at, from = piece.argument, piece.from
  if piece.out then return end
  if piece.text then
    c.text[at], c.cut[at] = text_at(file, c[at], records.PATH)
  elseif from <= 6 then
    local size = piece.times * (from > 0 and numbers.u32(c[from]) or 1)
    c.bytes[at] = bytes_at(file, c[at], math.min(size, records.MANY))
    c.size[at] = size
  end
end

-- Gives C what handlers take at the entry.
local function take_entry(c, file)
  local before = {}
  for n, piece in ipairs(c.of.entry) do
    local bytes = bytes_at(file, c[piece.argument], piece.times)
    before[records.ENTRY + n] = bytes and { bytes = bytes, size = piece.times }
  end
  if c.of.name == "select" or c.of.name == "pselect6" then
    local size = math.ceil(math.max(0, numbers.i32(c[1])) / 64) * 8
    for n = 1, 3 do
      local bytes = size > 0 and bytes_at(file, c[n + 1], math.min(size, records.KEPT))
      before[records.ENTRY + n] = bytes and { bytes = bytes, size = size } or nil
    end
    local time = bytes_at(file, c[5], 16)
    before[records.ENTRY + records.TIME] = time and { bytes = time, size = 16 }
  end
  c.before = before
end

-- The file of the descriptor FD of PID, as far as links tell it: "3</etc/passwd>".
local function with_file(pid, fd)
  local path = fd >= 0 and core.system.real_path(("/proc/%d/fd/%d"):format(pid, fd))
  return path and ("%d<%s>"):format(fd, path:match "/fd/([%w_]+:[^/]*)$" or path) or fd .. ""
end

-- The call OF of the thread TID with these REGISTERS, as strace's line.
local function line_of(of, pid, registers, options)
  local c = decode.new(of, options.strings)
  for i = 1, 6 do c[i] = registers[i] end
  if options.descriptors then
    c.descriptor = function(_, fd) return with_file(pid, fd) end
  end
  local file = io.open(("/proc/%d/mem"):format(pid), "rb")
  if file then
    for _, piece in ipairs(of.pieces) do take(c, file, piece) end
    take_entry(c, file)
    file:close()
  end
  local words = {}
  for i, word in ipairs(decode.texts(c)) do
    if i >= (of.written or 7) then break end
    words[#words + 1] = word or nil
  end
  local begun = #words > 0 and of.written and of.written <= #of.decoders and ", " or ""
  return ("%s(%s%s <unfinished ...>"):format(of.name, table.concat(words, ", "), begun)
end

local function process_of(tid) return tonumber(proc.status(tid):match "\nTgid:%s*(%d+)") end

-- What is to be asked at the end: { saw(tid, pid, time) of each line, find(), each(fn) }. SET: number → call
-- (decode.call); options: strings, descriptors.
function unfinished.new(set, options)
  local threads, last, found = {}, {}, {}
  local self = {}

  function self.saw(tid, pid, time, ended)
    threads[tid], last[tid] = not ended and pid or nil, time
  end

  -- Asks the kernel: of the threads that have made calls, and of the target's.
  function self.find()
    local up = require "uplua"
    local target = up.target()
    for _, pid in ipairs(target.pids) do
      for _, tid in ipairs(target.tids[1] and {} or core.system.names(("/proc/%d/task"):format(pid)) or {}) do
        if tonumber(tid) then threads[tonumber(tid)] = pid end
      end
    end
    for _, tid in ipairs(target.tids) do threads[tid] = threads[tid] or process_of(tid) end
    for tid, pid in pairs(threads) do
      local number, registers = waits_in(tid)
      local of = number and set[number]
      if of and process_of(tid) == pid then
        found[#found + 1] = { time = up.now(), pid = pid, tid = tid, of = of, registers = registers,
                              comm = proc.comm(tid) or "?" }
        found[#found].strace = line_of(of, pid, registers, options)
      end
    end
    table.sort(found, function(a, b) return a.tid < b.tid end)
  end

  -- Calls FN with those that have not returned since.
  function self.each(fn)
    for _, one in ipairs(found) do
      if (last[one.tid] or 0) <= one.time then
        fn { time = one.time, pid = one.pid, tid = one.tid, comm = one.comm, name = one.of.name, strace = one.strace,
             line = one.strace, result = "?", arguments = {}, unfinished = true }
      end
    end
  end
  return self
end

return unfinished
