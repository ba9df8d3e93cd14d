-- Text for people: numbers, durations, times, keys of maps, bars; and the parsing of what people write in their place.
local ffi      = require "ffi"
local columns  = require "uplua.term.columns"

local text = {}

-- VALUE for a message that says what is wrong with it: 'x', 5, nil, a table.
function text.shown(value)
  local kind = type(value)
  if kind == "string" then return "'" .. value .. "'" end
  local plain = kind == "number" or kind == "boolean" or kind == "nil" or kind == "cdata"
  return plain and tostring(value) or "a " .. kind
end

-- Raises, at the line of who called the function WHO, that VALUE is none of a KIND.
local function check(who, value, kind)
  if type(value) == kind then return end
  if kind == "number" and (ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)) then return end
  error(("%s: a %s is expected, not a %s"):format(who, kind, type(value)), 3)
end

local function hex(c) return ("\\x%02x"):format(c:byte()) end

-- The characters of UTF-8 in a run of bytes from 128 on: two, three or four bytes, by the first.
local SEQUENCES = {
  "^[\194-\223][\128-\191]",
  "^[\224-\239][\128-\191][\128-\191]",
  "^[\240-\244][\128-\191][\128-\191][\128-\191]",
}
-- None are: what could be shorter, halves of UTF-16's pairs, what lies beyond U+10FFFF; and U+FFFE and U+FFFF, with
-- which no XML is well-formed.
local NONE = { "^\224[\128-\159]", "^\240[\128-\143]", "^\237[\160-\191]", "^\244[\144-\191]", "^\239\191[\190\191]" }

-- Of such a run, what is no UTF-8, and the control characters C1, as \x9b.
local function escape_high(run)
  local parts, at = {}, 1
  while at <= #run do
    local last
    for i = 1, #SEQUENCES do last = last or select(2, run:find(SEQUENCES[i], at)) end
    for i = 1, #NONE do last = not run:find(NONE[i], at) and last or nil end
    local c1 = last and run:match("^\194([\128-\159])", at)
    parts[#parts + 1] = c1 and hex(c1) or last and run:sub(at, last) or hex(run:sub(at, at))
    at = (last or at) + 1
  end
  return table.concat(parts)
end

-- Control characters, C1 in UTF-8 included, and bytes that are no UTF-8, as \x1b: what a target put into a string must
-- not drive the terminal. KEEP (a set of characters for a pattern, such as "\n\t") is let through.
function text.escape(s, keep)
  check("escape", s, "string")
  if not s:find("[%c\127-\255]") then return s end
  s = s:gsub("[%c\127]", function(c)
    if keep and keep:find(c, 1, true) then return c end
    return hex(c)
  end)
  return (s:gsub("[\128-\255]+", escape_high))
end

-- WORD as a shell would have to be told it: "it's" is 'it'\''s'.
function text.quote(word)
  check("quote", word, "string")
  if word:find "^[%w_@%%+=:,./-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- Events are printed by the thousand: format → the letters of its conversions.
local conversions, conversion_count = {}, 0

local function conversions_of(format)
  local letters = conversions[format]
  if not letters then
    letters = {}
    for letter in format:gsub("%%%%", ""):gmatch("%%[-+ #0]*%d*%.?%d*(%a)") do letters[#letters + 1] = letter end
    if conversion_count >= 1000 then conversions, conversion_count = {}, 0 end -- formats made at run time
    conversions[format], conversion_count = letters, conversion_count + 1
  end
  return letters
end

local INTEGER, FLOAT = "^[diuxXoc]$", "^[eEfFgGaA]$"

-- FORMAT with the conversions of 64-bit cdata in ARGS (which LuaJIT's string.format refuses for %d and the like)
-- replaced by %s, and these arguments by their text.
local function format_wide(format, args)
  local at = 0
  return (format:gsub("%%([-+ #0]*%d*%.?%d*)([%a%%])", function(flags, letter)
    if letter == "%" then return nil end
    at = at + 1
    if type(args[at]) ~= "cdata" or not letter:find(INTEGER) then return nil end
    local buffer = ffi.new "char[512]"
    if letter:find "[di]" and ffi.istype("uint64_t", args[at]) then letter = "u" end
    require "uplua.contract".C.snprintf(buffer, 512, "%" .. flags .. "ll" .. letter, args[at])
    args[at] = ffi.string(buffer)
    return "%s"
  end))
end

-- FORMAT with the conversions %c of control characters replaced by %s, and these arguments by their escaped text.
local function format_characters(format, args)
  local at = 0
  return (format:gsub("%%([-+ #0]*%d*%.?%d*)([%a%%])", function(flags, letter)
    if letter == "%" then return nil end
    at = at + 1
    local code = letter == "c" and tonumber(args[at])
    if not code or code % 256 >= 32 and code % 256 ~= 127 then return nil end
    args[at] = text.escape(string.char(code % 256), "\n\t")
    return "%" .. flags .. "s"
  end))
end

-- string.format, with 64-bit cdata for %d, %x and the like; %s takes any value. An unkeyed count or var is its number.
-- Control characters in what %s and %c print are escaped, newlines and tabs excepted; colours belong into the format.
function text.format(format, ...)
  local n, args = select("#", ...), { ... }
  local letters = conversions_of(format)
  local wide, characters = false, false
  for at = 1, #letters do
    local letter, v = letters[at], args[at]
    local kind = type(v)
    if letter == "s" then
      if kind == "number" or kind == "cdata" and (ffi.istype("int64_t", v) or ffi.istype("uint64_t", v)) then
        args[at] = text.integer(v) -- all digits of an integer, of which tostring has 14
      else
        args[at] = text.escape(tostring(v), "\n\t")
      end
    elseif kind == "table" and v.get then
      args[at] = v:get()
    elseif kind == "cdata" and letter:find(FLOAT) then
      args[at] = tonumber(v)
    end
    wide = wide or (type(args[at]) == "cdata" and letter:find(INTEGER))
    characters = characters or letter == "c"
  end
  if characters then format = format_characters(format, args) end
  if wide then format = format_wide(format, args) end
  local result = string.format(format, unpack(args, 1, math.max(n, #letters)))
  -- Once more, for what a precision has cut and for bytes that have come together.
  if result:find "[\128-\255]" then result = result:gsub("[\128-\255]+", escape_high) end
  return result
end

-- string.format to standard output. A wrong argument is reported at the caller's line.
function text.printf(format, ...)
  if type(format) ~= "string" then error("printf: a format is expected, not a " .. type(format), 2) end
  local ok, result = pcall(text.format, format, ...)
  if not ok then error("printf: " .. tostring(result):gsub("^.-: ", "", 1):gsub("to '[^']*' ", "", 1), 2) end
  io.write(result)
end

-- Integers, 64-bit ones included, without a suffix.
function text.integer(n)
  check("integer", n, "number")
  if type(n) == "cdata" then return (tostring(n):gsub("U?LL$", "")) end
  if n == math.floor(n) and math.abs(n) < 2 ^ 63 then return ("%d"):format(n) end
  if n == math.floor(n) and math.abs(n) <= 2 ^ 64 then return ("%.0f"):format(n) end
  return tostring(n)
end

-- VALUE as text: an integer with all of its digits, which tostring rounds; else by tostring.
function text.plain(value)
  local is_number = type(value) == "number" or ffi.istype("int64_t", value) or ffi.istype("uint64_t", value)
  return is_number and text.integer(value) or tostring(value)
end

-- 1204551 → "1,204,551"
function text.thousands(n)
  check("thousands", n, "number")
  local sign, digits, rest = text.integer(n):match("^(%-?)(%d+)(.*)$")
  if not digits then return text.integer(n) end
  digits = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return sign .. digits .. rest
end

-- 22.04 → "22", 1204.7 → "1,205"
function text.average(x)
  if math.abs(x) < 100 then return tostring(tonumber(("%.1f"):format(x))) end
  return text.thousands(tonumber(("%.0f"):format(x)))
end

-- 1 and "stack" → "1 stack"; 1204 → "1,204 stacks", or "1,204 " and MANY.
function text.plural(n, one, many)
  check("plural", n, "number")
  check("plural", one, "string")
  return text.thousands(n) .. " " .. (n == 1 and one or many or one .. "s")
end

local NS = { ns = 1, us = 1e3, ms = 1e6, s = 1e9, [""] = 1e9, m = 6e10, min = 6e10, h = 3.6e12, d = 8.64e13 }

-- The ns of a duration, a whole number: a text such as "100ms", "5s", "2m", "1h", where a number without a unit is
-- seconds, as people write it on a command line; or a number, which is ns already. nil and a message for anything else.
function text.duration(value)
  local ns
  if type(value) == "string" then
    local number, unit = value:match "^%s*(%d*%.?%d*)%s*(%a*)%s*$"
    ns = tonumber(number) and NS[unit] and tonumber(number) * NS[unit]
    if not ns then
      return nil, text.shown(value) .. " is not a duration; write a number of seconds, or 100ms, 5s, 2m, 1h"
    end
  else
    ns = (type(value) == "number" or type(value) == "cdata") and tonumber(value)
    if not (ns and ns >= 0 and ns < math.huge) then
      return nil, text.shown(value) .. ' is not a duration; write "100ms", "5s", "2m", "1h", or a number of ns'
    end
  end
  return math.floor(ns + 0.5)
end

-- The same of what something is to wait: whoever writes a small number there means seconds.
function text.wait(value)
  if type(value) == "number" and value > 0 and value < 1000 then
    return nil, ("%s is a number of ns, and too short a time; did you mean \"%ss\"?"):format(value, value)
  end
  return text.duration(value)
end

-- A time in ns for people: 29100000 → "29.1 ms"
function text.time(ns)
  check("time", ns, "number")
  ns = tonumber(ns)
  if ns < 0 then return "-" .. text.time(-ns) end
  if ns == 0 then return "0 s" end
  -- Where the digits would round up to the next unit's first, it is that.
  if ns < 999.5 then return ("%.0f ns"):format(ns) end
  if ns < 999950 then return ("%.1f us"):format(ns / 1e3) end
  if ns < 999950000 then return ("%.1f ms"):format(ns / 1e6) end
  local s = ns / 1e9
  if s < 599.95 then return ("%.1f s"):format(s) end
  if s < 7200 then return ("%d min %d s"):format(s / 60, s % 60) end
  return ("%d h %d min"):format(s / 3600, s % 3600 / 60)
end

-- A number of bytes for people: 1258291 → "1.2 MB"
function text.bytes(n)
  check("bytes", n, "number")
  n = tonumber(n)
  local units, i = { "B", "KB", "MB", "GB", "TB", "PB", "EB" }, 1
  while math.abs(n) >= (i == 1 and 1023.5 or 1023.95) and i < #units do n, i = n / 1024, i + 1 end
  return (i == 1 and "%.0f %s" or "%.1f %s"):format(n, units[i])
end

-- How a quantity of a unit is shown; of none, as a count.
text.UNITS = { ns = text.time, bytes = text.bytes, count = text.thousands }

function text.quantity(value, unit) return (text.UNITS[unit] or text.thousands)(value) end

-- The same of an average.
function text.mean(value, unit)
  return (unit ~= "count" and text.UNITS[unit] or text.average)(value)
end

local SCALES = {
  ns = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } },
  bytes = { { 2 ^ 40, "TB" }, { 2 ^ 30, "GB" }, { 2 ^ 20, "MB" }, { 2 ^ 10, "KB" }, { 1, "B" } },
}

-- The same without loss, for ends of buckets: 1250000 and "ns" → "1.25 ms".
function text.exact(value, unit)
  for _, scale in ipairs(SCALES[unit] or {}) do
    if math.abs(value) >= scale[1] then return ("%.15g %s"):format(value / scale[1], scale[2]) end
  end
  return text.thousands(value)
end

local size_of = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, T = 2 ^ 40 }

-- "4M", "64k", 4096 → bytes. nil and a message for anything else.
function text.size(value)
  if type(value) == "number" then
    if value >= 0 and value == math.floor(value) and value < 2 ^ 53 then return value end
  elseif type(value) == "string" then
    local number, unit = value:match("^%s*(%d+)%s*(%a?)i?[bB]?%s*$")
    if unit == "b" or unit == "B" then unit = "" end
    local factor = unit and size_of[unit:upper()]
    if number and factor then return tonumber(number) * factor end
  end
  return nil, text.shown(value) .. " is not a size; write bytes, or 64K, 4M, 1G"
end

-- What the headers say of clocks is loaded with the first question for the time: a short run asks none.
local contract, now

local function nanoseconds(clock)
  if not now then
    contract = require "uplua.contract"
    now = ffi.new "struct uplua_timespec"
  end
  contract.C.clock_gettime(contract[clock], now)
  return ffi.cast("int64_t", now.tv_sec) * 1000000000LL + now.tv_nsec
end

-- The time of CLOCK_MONOTONIC in ns, as e.time.
function text.now()
  local ns = nanoseconds "CLOCK_MONOTONIC"
  return ns <= 9007199254740992LL and tonumber(ns) or ns
end

-- The same moment by CLOCK_MONOTONIC and by CLOCK_REALTIME, in ns.
function text.clocks() return nanoseconds "CLOCK_MONOTONIC", nanoseconds "CLOCK_REALTIME" end

-- The wall clock moves against the monotonic one only when somebody sets it: look again after ten seconds of events.
local offset, looked = 0LL, nil
local second, second_text

-- The wall clock's HH:MM:SS.micros of a time of CLOCK_MONOTONIC in ns, such as e.time.
function text.clock(ns)
  check("clock", ns, "number")
  ns = ffi.cast("int64_t", ns)
  if not looked or ns - looked > 10000000000LL then
    looked = nanoseconds "CLOCK_MONOTONIC"
    offset = nanoseconds "CLOCK_REALTIME" - looked
  end
  local micros = (ns + offset) / 1000
  local s = tonumber(micros / 1000000)
  if s ~= second then second, second_text = s, os.date("%H:%M:%S", s) end
  return ("%s.%06d"):format(second_text, tonumber(micros % 1000000))
end

-- From when to when and how long: "12:34:56.000000 to 12:34:57.000000, 1.0 s".
function text.interval(from, to)
  return ("%s to %s, %s"):format(text.clock(from), text.clock(to), text.time(to - from))
end

-- A bar of WIDTH columns, filled to FRACTION (0 … 1); what is not zero shows.
function text.bar(fraction, width)
  check("bar", fraction, "number")
  check("bar", width, "number")
  local filled = math.floor(math.max(0, math.min(1, fraction)) * width + 0.5)
  if fraction > 0 and filled == 0 then filled = 1 end
  return ("@"):rep(filled) .. (" "):rep(width - filled)
end

local CHARACTER = "[^\128-\191][\128-\191]*"
local SPECIAL = "[\204\205\225-\244]" -- how characters begin that may take no column or two

-- The columns that a string takes on the terminal.
function text.width(s)
  check("width", s, "string")
  local width = select(2, s:gsub("[^\128-\191]", ""))
  if s:find(SPECIAL) then
    for character in s:gmatch(CHARACTER) do width = width - 1 + columns.of(character) end
  end
  return width
end

-- S, or so much of it that it takes WIDTH columns with "…" at its end ("..." would take three).
function text.cut(s, width)
  check("cut", s, "string")
  check("cut", width, "number")
  if text.width(s) <= width then return s end
  local used = 0
  for at, character in s:gmatch("()(" .. CHARACTER .. ")") do
    used = used + columns.of(character)
    if used > width - 1 then return width < 1 and "" or s:sub(1, at - 1) .. "…" end
  end
end

function text.pad(s, width) return s .. (" "):rep(width - text.width(s)) end

-- The keys of T, which are texts, in their order.
function text.keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- How many letters are to be put in, left out, replaced or swapped with their neighbour, so that A becomes B.
local function edits(a, b)
  local before, last, now = {}, {}, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    now[0] = i
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      now[j] = math.min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        now[j] = math.min(now[j], before[j - 2] + 1)
      end
    end
    before, last, now = last, now, before
  end
  return last[#b]
end

-- Whether SHORT has letters of LONG, in their order and the first one among them: "hz" of "hertz".
local function abbreviates(short, long)
  local at = 1
  for i = 1, #short do
    local found = long:find(short:sub(i, i), at, true)
    if not found or i == 1 and found > 1 then return false end
    at = found + 1
  end
  return #short >= 2
end

-- The name nearest to NAME among NAMES (a list, or a table's keys), if it is near enough to be a slip of the finger: a
-- third of its letters may differ, or it begins as the other one, or abbreviates it. The dashes of options count for
-- nothing.
function text.nearest(name, names)
  local wanted = name:gsub("^%-+", "")
  local best, least, changes -- of several that are as near, the one with the fewest changes
  for _, candidate in ipairs(names[1] and names or text.keys(names)) do
    local bare = candidate:gsub("^%-+", "")
    local changed = #wanted > 0 and #bare > 0 and edits(wanted, bare) or math.huge
    local distance, limit = changed, #wanted > 2 and math.max(1, math.floor(#wanted / 3)) or 0
    local starts = bare:sub(1, #wanted) == wanted or wanted:sub(1, #bare) == bare
    -- "string.format" is no "str", and "up" no "up.i8".
    local alike = #wanted >= 2 and (wanted:find "[.:]" ~= nil) == (bare:find "[.:]" ~= nil)
    if alike and (starts or abbreviates(wanted, bare)) then distance, limit = math.min(distance, 1), 1 end
    local nearer = not least or distance < least or distance == least and changed < changes
    if distance <= limit and nearer then best, least, changes = candidate, distance, changed end
  end
  return best
end

-- "; did you mean 'max'?", or "" where nothing is near.
function text.did_you_mean(name, names)
  local best = text.nearest(name, names)
  return best and ("; did you mean '%s'?"):format(best) or ""
end

return text
