-- A record of a system call (uplua.syscalls.records) as what strace prints of it.
--
-- decode.call(name, arguments) knows how: { name, decoders, plan = what handlers read, entry = what they read at the
-- entry, result, arguments }. decode.reader(set, options) returns a function of a ring's records, which returns a call
-- for those that are one: [1] … [6] = the registers, and what the decoders ask for.
local bit        = require "bit"
local call       = require "uplua.syscalls.call"
local constants  = require "uplua.syscalls.constants"
local contract   = require "uplua.contract"
local ffi        = require "ffi"
local happenings = require "uplua.syscalls.happenings"
local memory     = require "uplua.syscalls.memory"
local numbers    = require "uplua.syscalls.numbers"
local records    = require "uplua.syscalls.records"
local signatures = require "uplua.syscalls.signatures"
local structures = require "uplua.syscalls.structures"
local syscall    = require "uplua.probe.providers.syscall"

local decode = {}

-- --- signatures ---

local TEXTS = { path = true, program = true }
local AT_FDCWD = -100
local APART = { value = true, poll = true } -- of these the third piece alone goes before the call
local WRITTEN = { left = true, msghdr_read = true, mmsghdrs_read = true } -- which the kernel alone fills
local READS = { vector_read = true, directory = true }
local GIVEN = { fd = true, dirfd = true, map_fd = true } -- words of descriptors
-- Bytes that are read before the call.
local AT_ENTRY = { length = 4, offset = 8, offset_before = 8, sleep = 16, time_before = 16, msghdr_read = 12,
                   mmsghdrs_read = records.STRIDE, pselect_mask = 16 }
local OF_ENTRY = { select = true, handler = true, messages_read = true } -- what is special at the entry, too

-- The piece of memory of argument I, of a signature's WORD: { argument, … } (records.plan), or nil.
local function piece_of(word, name, i)
  local size, out = word:match ":(.*)$", word:find ">$" ~= nil
  if size then size = size:gsub(">$", ""):gsub("EPOLL", structures.epoll_size) end
  local structure = structures[name]
  if not size and type(structure) == "table" then size = tostring(structure.size) end
  if TEXTS[name] or size == "text" then return { argument = i, text = true, from = 0, times = 0 } end
  if not size then return nil end
  local from, times = records.size(size)
  return { argument = i, out = out, from = from, times = times }
end

-- Reads SIGNATURE into OF. OF.written: the first argument that the call does not read but write, if any.
local function read_signature(of, signature)
  local arguments, result = signature:match "^(.-) *= (%a+)$"
  local words, special = (arguments or signature):match "^(.-) *! ([%l_]+)$"
  words, of.result = words or arguments or signature, result
  local pieces, given, before, relative = {}, {}, nil, nil
  local does = (result == "fd" or result == "fcntl") and "result" or nil
  for word in words:gmatch "%S+" do
    local name = word:match "^[%w_]+"
    local i = #of.decoders + 1
    of.decoders[i] = memory[name] or numbers.arguments[name]
      or error(("%s: nobody knows what '%s' is"):format(of.name, name))
    pieces[#pieces + 1] = piece_of(word, name, i)
    local written = word:find ">$" and not AT_ENTRY[name] or WRITTEN[name] or READS[special] and i == 2
    if written and not of.written then of.written = i end
    if AT_ENTRY[name] then of.entry[#of.entry + 1] = { argument = i, from = 0, times = AT_ENTRY[name] } end
    if name == "argv" then of.words = i end
    if GIVEN[name] then given[#given + 1] = i end
    if TEXTS[name] then
      local at = before == "dirfd"
      of.paths[#of.paths + 1] = { argument = i, at = at and i - 1 or nil, program = name == "program" }
      if not at then relative = 7 end
    end
    before = name
    does = name == "pair" and "pair" .. i or does
  end
  of.descriptors = records.descriptor_plan(given, does)
  given[#given + 1] = relative
  of.descriptors_and_cwd = records.descriptor_plan(given, does)
  if of.words then -- the memory of the program that called is no more
    pieces, of.entry = {}, pieces
  end
  of.apart = APART[special] or false
  if pieces[3] and not of.apart then special = "three" end
  if of.entry[1] or OF_ENTRY[special] then
    of.entry_plan = records.plan(of.entry, OF_ENTRY[special] and special)
  end
  if special == "handler" then special = nil end
  of.pieces, of.plan = pieces, records.plan(pieces, special)
  of.special = special and special ~= "command"
end

-- A call that has no signature: registers, and texts that it reads.
local function read_arguments(of, arguments, show_of)
  local pieces, given = {}, {}
  for i, argument in ipairs(arguments) do
    local show = show_of(argument)
    of.decoders[i] = function(c, at) return show(c[at]) end
    if argument.source:find "^const char" and #pieces < 2 then
      pieces[#pieces + 1] = { argument = i, text = true, from = 0, times = 0 }
      of.decoders[i] = memory.str
    elseif argument.name:find "fd$" then
      of.decoders[i] = numbers.arguments.fd
      given[#given + 1] = i
    end
  end
  of.descriptors = records.descriptor_plan(given)
  of.pieces, of.plan = pieces, records.plan(pieces)
end

-- The call NAME of ARGUMENTS, as up.list has them; SHOW_OF: how one is shown of which nobody knows more.
function decode.call(name, arguments, show_of)
  local of = { name = name, decoders = {}, entry = {}, arguments = {}, paths = {} }
  for i, argument in ipairs(arguments) do of.arguments[i] = { name = argument.name, show = show_of(argument) } end
  if name == "clone" and ffi.arch == "x64" then
    of.pieces = { { argument = 3, out = true, from = 0, times = 4 } }
    of.plan, of.whole = records.plan(of.pieces), decode.clone
  elseif signatures[name] then
    read_signature(of, signatures[name])
  else
    read_arguments(of, arguments, show_of)
  end
  return of
end

-- clone's arguments: strace shows them in another order than the kernel's, by name.
function decode.clone(c)
  local flags = numbers.u32(c[1])
  local parts = { "child_stack=" .. numbers.pointer(c[2]), "flags=" .. numbers.clone(c[1]) }
  local function has(name) return bit.band(flags, constants.value("clone", name)) ~= 0 end
  if has "CLONE_PARENT_SETTID" or has "CLONE_PIDFD" then
    local bytes = c.bytes[3]
    parts[#parts + 1] = (has "CLONE_PARENT_SETTID" and "parent_tid=" or "pidfd=") ..
      (bytes and #bytes >= 4 and ("[%d]"):format(structures.i32(bytes, 0)) or numbers.pointer(c[3]))
  end
  if has "CLONE_SETTLS" then parts[#parts + 1] = "tls=" .. numbers.pointer(c[5]) end
  if has "CLONE_CHILD_SETTID" or has "CLONE_CHILD_CLEARTID" then
    parts[#parts + 1] = "child_tidptr=" .. numbers.pointer(c[4])
  end
  return table.concat(parts, ", ")
end

-- --- records ---

local Call, lazy = {}, {}
-- Fields that are made when they are asked for: the last call's, as c is the same table for each.
function Call.__index(c, name)
  local make = lazy[name]
  if make then return make(c) end
  return Call[name]
end

-- What has been taken in the piece SLOT: bytes and how many there were; at the call's entry; a program's argument N.
function Call:piece(slot)
  local piece = self.after and self.after[slot]
  if piece then return piece.bytes, piece.size end
end
function Call:entry(i)
  local place = self.of.entry[1] and self.of.entry[1].argument == i and 1 or 2
  local piece = self.before and self.before[records.ENTRY + place]
  if piece then return piece.bytes end
end
function Call:before_piece(slot)
  local piece = self.before and self.before[records.ENTRY + slot]
  if piece then return piece.bytes, piece.size end
end
function Call:entry_text()
  local before = self.before
  local piece = before and (before[records.ENTRY + records.LONG + 1] or before[records.ENTRY + 1])
  if piece then return piece.text, piece.cut end
end
function Call:words(n)
  local piece = self.before and self.before[records.ITEM + n]
  if piece then return piece.text, piece.cut end
end
function Call:number()
  local piece = self.after and self.after[records.COUNT]
  return piece and piece.number
end
function Call:entry_number()
  local piece = self.before and self.before[records.COUNT]
  return piece and piece.number
end

-- The descriptor FD, and one that the call has made: with its file where that is asked for; "<?>" where it is not
-- known, since its record was lost.
local function with_file(c, fd, group)
  local file = group and group[fd]
  if not file then return fd .. "<?>" end
  return file == 0 and fd .. "" or fd .. (c.files:shown(file) or "<?>")
end
function Call:descriptor(fd)
  if not self.files or fd < 0 then return fd .. "" end
  return with_file(self, fd, self.files_before)
end
function Call:made(fd)
  if not self.files or fd < 0 then return fd .. "" end
  return with_file(self, fd, self.files_after)
end
function Call:cwd()
  if not self.files then return "AT_FDCWD" end
  local file = self.files_before and self.files_before[AT_FDCWD]
  return "AT_FDCWD" .. (file and self.files:shown(file) or "<?>")
end

function Call.errno_name(number) return syscall.errno_name(number) end

-- Handlers at a call's entry run one after the other, and one of them says when it began: so many ns may lie between,
-- where a virtual machine's CPU is taken away.
local SLACK = 1e9
local MOST_THREADS = 65536 -- whose last call is remembered

-- A piece of RECORD.
local function piece_from(record)
  local text, bytes = record.text, record["bytes.bytes"]
  if text then
    local slot = record.slot % records.ENTRY
    local most = record.slot < records.ITEM and slot > records.LONG and records.PATH or records.KEPT
    local cut = #text > most - 1
    return { text = cut and text:sub(1, most - 1) or text, cut = cut }
  end
  if bytes then return { bytes = bytes, size = record["bytes.size"] } end
  return { number = record.number }
end

-- Keeps the piece in RECORD for the call of its thread: by slot, or of a file by the descriptor.
local function keep(pending, record)
  local tid, time, kind = record.tid, record.time, tonumber(record.kind)
  local groups = pending[tid]
  if not groups then
    groups = {}
    pending[tid] = groups
  end
  local group = groups[kind]
  if not group or group.time ~= time then
    group = { time = time }
    groups[kind] = group
  end
  local fd = record.fd
  if fd then group[tonumber(fd)] = record.file else group[record.slot] = piece_from(record) end
end

-- Gives C the pieces of its thread that belong to it, as those that were taken while it ran, and not before SINCE, the
-- end of the thread's last call that is known; nil: of none.
local function take(pending, c, since)
  local groups, began = pending[c.tid], c.time - (c.elapsed or 0) - SLACK
  if since and since > began then began = since end
  pending[c.tid] = nil
  local function of(kind)
    local group = groups[kind]
    return group and group.time >= began and group or nil
  end
  c.after, c.before = of(records.RETURNED), of(records.ENTERED)
  c.files_after, c.files_before = of(records.FILES_RETURNED), of(records.FILES_ENTERED)
  local in_memory = of(records.FILES_IN_MEMORY)
  for fd, file in pairs(in_memory and c.files_before or {}) do in_memory[fd] = file end
  c.files_before = in_memory or c.files_before
end

local function set_text(c, i, text, order)
  local long = c.after and c.after[records.LONG + order]
  if long then
    c.text[i], c.cut[i] = long.text, long.cut
  elseif text then
    c.cut[i] = #text > records.KEPT - 1
    c.text[i] = c.cut[i] and text:sub(1, records.KEPT - 1) or text
  end
end


-- Gives C the memory of RECORD, by the pieces of its call OF, in the order in which the handler has read them.
local function set_memory(c, of, record)
  local pieces = of.pieces
  local first, second = pieces[1], pieces[2]
  if pieces[3] then
    for i = of.apart and 3 or 1, 3 do
      local piece, place = c.after and c.after[i], pieces[i].argument
      if piece then c.bytes[place], c.size[place] = piece.bytes, piece.size end
    end
    if not of.apart then return end
  end
  if c.failed then
    if second and second.out then second = nil end
    if first.out then first, second = second, nil end
  end
  if first then
    local i = first.argument
    if first.text then set_text(c, i, record.t1, 1) end
    if not first.text then c.bytes[i], c.size[i] = record["b1.bytes"], record["b1.size"] end
  end
  if second then
    local i = second.argument
    if second.text then set_text(c, i, record.t2, 2) end
    if not second.text then c.bytes[i], c.size[i] = record["b2.bytes"], record["b2.size"] end
  end
end

local function forget(c, piece)
  local place = piece.argument
  c.text[place], c.bytes[place] = nil, nil
end

-- A call of OF that has nothing yet; STRINGS: so many bytes of a buffer are shown.
function decode.new(of, strings, files)
  return setmetatable({ strings = strings, files = files, of = of, text = {}, cut = {}, bytes = {}, size = {},
                        failed = false }, Call)
end

-- A function of a ring's records: a call, which is valid until the next, or nil for what only belongs to one. SET:
-- number → call (decode.call). Options: strings; files (uplua.descriptors), where descriptors have their file's name.
function decode.reader(set, options)
  local pending, ends, threads = {}, {}, 0 -- ends: of each thread's last call
  local c = decode.new({ pieces = {} }, options.strings, options.files)
  local raw = {}
  return function(view)
    local record, fill = view, view[".fill"]
    if fill then -- of a ring; tests have tables
      record = raw
      raw.kind, raw.text, raw.number, raw.fd, raw["bytes.bytes"], raw["bytes.size"] = nil, nil, nil, nil, nil, nil
      raw.signal, raw.status, raw["info.bytes"] = nil, nil, nil
      raw.ret, raw.elapsed, raw.stack, raw.t1, raw.t2 = nil, nil, nil, nil, nil
      raw["b1.bytes"], raw["b1.size"], raw["b2.bytes"], raw["b2.size"] = nil, nil, nil, nil
      fill(view, raw)
    end
    if record.kind then return keep(pending, record) end
    if record.signal or record.status then return happenings.of(record) end
    local pieces = c.of.pieces -- of the call before
    if pieces[1] then
      forget(c, pieces[1])
      if pieces[2] then forget(c, pieces[2]) end
      if pieces[3] then forget(c, pieces[3]) end
    end
    local of = set[tonumber(record.nr)]
    local ret = record.ret
    c.of, c.name, c.ret = of, of.name, ret
    c.time, c.pid, c.tid, c.comm, c.elapsed = record.time, record.pid, record.tid, record.comm, record.elapsed
    c[1], c[2], c[3], c[4], c[5], c[6] = record.a1, record.a2, record.a3, record.a4, record.a5, record.a6
    c.stack = record.stack
    c.failed = ret and ret < 0 and ret > -4096 or false
    c.after, c.before, c.files_after, c.files_before = nil, nil, nil, nil
    local since = ends[c.tid]
    if pending[c.tid] then take(pending, c, since) end
    if not since then
      threads = threads + 1
      if threads > MOST_THREADS then ends, threads = {}, 1 end
    end
    ends[c.tid] = c.time
    if of.pieces[1] then set_memory(c, of, record) end
    return c
  end
end

-- --- lines ---

-- TEXTS with those of the fifth and the sixth argument.
local function more_texts(c, decoders, texts)
  for i = 5, #decoders do
    local text = decoders[i](c, i)
    if text == nil then break end
    texts[i] = text
  end
  return texts
end

-- The texts of C's arguments, as far as strace shows them; false for one that it leaves out before others.
function decode.texts(c)
  local decoders = c.of.decoders
  -- No loop: LuaJIT compiles none inside of the ring's.
  local first = decoders[1]
  local a = first and first(c, 1)
  if a == nil then return {} end
  local second = decoders[2]
  local b = second and second(c, 2)
  if second == nil or b == nil then return { a } end
  local third = decoders[3]
  local d = third and third(c, 3)
  if third == nil or d == nil then return { a, b } end
  local fourth = decoders[4]
  local e = fourth and fourth(c, 4)
  if fourth == nil or e == nil then return { a, b, d } end
  return more_texts(c, decoders, { a, b, d, e })
end

-- What the kernel tells itself of calls that a signal has interrupted.
local RESTARTS = {
  [512] = "ERESTARTSYS (To be restarted if SA_RESTART is set)", [513] = "ERESTARTNOINTR (To be restarted)",
  [514] = "ERESTARTNOHAND (To be restarted if no handler)",
  [516] = "ERESTART_RESTARTBLOCK (Interrupted by signal)",
}

local failures = {} -- number → text
local function failure(number)
  if not failures[number] then
    local name = contract.C.strerrorname_np(number)
    failures[number] = RESTARTS[number] and "? " .. RESTARTS[number]
      or name ~= nil and ("-1 %s (%s)"):format(ffi.string(name), ffi.string(contract.C.strerror(number)))
      or ("-1 (errno %d)"):format(number)
  end
  return failures[number]
end

local RESULTS = {}
function RESULTS.hex(c) return numbers.hex(c.ret) end
function RESULTS.fd(c) return c.made(c, numbers.i32(c.ret)) end
function RESULTS.mode(c) return numbers.mode(c.ret) end
function RESULTS.sched(c) return ("%d (%s)"):format(c.ret, constants.show("sched", numbers.u32(c.ret))) end
function RESULTS.poll(c)
  if c.ret == 0 then return "0 (Timeout)" end
  local list = c.bytes[1] and structures.pollfds(c, c.bytes[1], true, c.strings) or {}
  if #list < c.ret then list[#list + 1] = "..." end -- behind those that are shown
  local left = c.bytes[3] and ", left " .. structures.timespec.show(c.bytes[3]) or ""
  return ("%s ([%s]%s)"):format(numbers.signed(c.ret), table.concat(list, ", "), left)
end
function RESULTS.select(c)
  if c.ret == 0 then return "0 (Timeout)" end
  local list, ready = {}, tonumber(c.ret)
  for i, name in ipairs { "in", "out", "except" } do
    local set = ready > 0 and memory.set_of(c, c:piece(i), ready)
    if set and #set > 0 then list[#list + 1], ready = ("%s [%s]"):format(name, table.concat(set, " ")), ready - #set end
  end
  local time = c:piece(records.TIME)
  if time and #time >= 16 then
    list[#list + 1] = "left " .. (c.name == "select" and structures.timeval or structures.timespec).show(time)
  end
  return ("%s (%s)"):format(numbers.signed(c.ret), table.concat(list, ", "))
end
function RESULTS.messages(c)
  if c.ret == 0 then return "0 (Timeout)" end
  local left = c:piece(records.TIME)
  return numbers.signed(c.ret) ..
    (left and #left >= 16 and (" (left %s)"):format(structures.timespec.show(left)) or "")
end
function RESULTS.fcntl(c)
  local name, value = constants.name("fcntl", numbers.u32(c[2])), numbers.u32(c.ret)
  local flags = name == "F_GETFL" and numbers.arguments.open({ value }, 1)
    or name == "F_GETFD" and value ~= 0 and constants.show("fd", value)
  if flags then return ("%s (flags %s)"):format(numbers.hex(value), flags) end
  if name == "F_DUPFD" or name == "F_DUPFD_CLOEXEC" then return c.made(c, value) end
  return numbers.signed(c.ret)
end

-- What C has returned: "3", "-1 ENOENT (No such file or directory)", "?".
function decode.result(c)
  local ret = c.ret
  if ret == nil then return "?" end
  if c.failed then return failure(-tonumber(ret)) end
  local show = c.of.result and RESULTS[c.of.result]
  return show and show(c) or numbers.signed(ret)
end

-- TEXTS without those that strace leaves out in the middle, which are false.
local function joined(texts)
  local rest = {}
  for n = 1, #texts do rest[#rest + 1] = texts[n] or nil end
  return table.concat(rest, ", ")
end

-- C's arguments as strace shows them. The most are four or fewer: these make no garbage but the text.
local function arguments_of(c)
  local of = c.of
  if of.whole then return of.whole(c) end
  local decoders = of.decoders
  if of.name == "futex" or decoders[5] then return joined(decode.texts(c)) end
  local first, second, third, fourth = decoders[1], decoders[2], decoders[3], decoders[4]
  local a = first and first(c, 1)
  if not a then return "" end
  local b = second and second(c, 2)
  if not b then return a end
  local d = third and third(c, 3)
  if not d then return a .. ", " .. b end
  local e = fourth and fourth(c, 4)
  if not e then return a .. ", " .. b .. ", " .. d end
  return a .. ", " .. b .. ", " .. d .. ", " .. e
end

local COLUMN = 39 -- where strace writes " = "
local EQUALS = {} -- what stands between the arguments and the result, by the length of what is before
for length = 0, COLUMN do EQUALS[length] = ")" .. (" "):rep(COLUMN - 1 - length) .. " = " end

-- C as strace's line.
function decode.line(c)
  local name, arguments = c.of.name, arguments_of(c)
  return name .. "(" .. arguments .. (EQUALS[#name + #arguments + 1] or ") = ") .. decode.result(c)
end

-- --- as events of syscalls.trace ---

lazy.strace = decode.line
function lazy.arguments(c)
  local list, texts = {}, decode.texts(c)
  for i, argument in ipairs(c.of.arguments) do
    list[i] = { name = argument.name, value = c.text[i] or c.bytes[i] or c[i], text = texts[i] or argument.show(c[i]) }
  end
  return list
end
function lazy.result(c) return c.ret and call.result(c.ret) or "?" end
function lazy.line(c)
  local words = {}
  for i, argument in ipairs(c.arguments) do words[i] = argument.name .. "=" .. argument.text end
  return c.name .. "(" .. table.concat(words, ", ") .. ") = " .. c.result
end

return decode
