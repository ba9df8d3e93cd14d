-- up.cast: handlers read the structures of the traced program with their declared sizes and signs. All cases run in one
-- setup, on build/targets/memory, which says what its functions are given; the declarations are those it was compiled
-- from.
local tap = require "tap"
local target = require "target"

-- { name, declarations and probes, expression at the end, what it prints as }
local cases = {
  { "a list, walked to its end", [[local n, sum = up.count(), up.sum()
    up.uprobe(MEMORY .. "list", function(e)
      local item = up.cast("struct item *", e.arg0)
      while item do n:inc() sum:add(item.value) item = item.next end
    end)]], "n:get(), sum:get()", "124 5303" },
  { "a list, walked by ~= nil in a helper", [[local lengths, ITEM = up.count(), ffi.typeof "const struct item *"
    local function length(item) local n = 0 while item ~= nil do n = n + 1 item = item.next end return n end
    up.uprobe(MEMORY .. "list", function(e) lengths[length(up.cast(ITEM, e.arg0))]:inc() end)]],
    "lengths[23], lengths[101]", "1 1" },
  { "a chain of pointers, nil behind the end", [[local n = up.count()
    up.uprobe(MEMORY .. "table", function(e)
      local item = up.cast("struct item **", e.arg0)[3]
      n[item.value]:inc()
      if item.next == nil and item.next.next == nil and item.next.next.value == nil then n[-1]:inc() end
    end)]], "n[3], n[-1]", "1 1" },
  { "fields of all widths and signs", [[local m = up.hash()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      m.i8, m.i16, m.u16, m.i32, m.u32, m.i64 = s.i8, s.i16, s.u16, s.i32, s.u32, s.i64
      m.half = s.u64 / 2
      if s.u64 > 1 and s.i64 < 1 then m.greater = 1 end
    end)
    local sum = up.sum()
    up.uprobe(MEMORY .. "shapes", function(e) sum:add(up.cast("struct shapes *", e.arg0).u8) end)]],
    "m.i8, m.i16, m.u16, m.i32, m.u32, m.i64, m.half, m.greater, sum:get()",
    "-128 -32768 65535 -2147483648 4294967295 -9223372036854775808LL 9223372036854775807LL 1 253" },
  { "booleans, enums and constants", [[local n, all, MINUS = up.count(), up.count(), ffi.C.MINUS
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      if s.yes and not s.no and s.flag and s.unset == false and s.set and s.color == ffi.C.BLUE and s.sign == MINUS then
        all:inc() end
      n[s.yes == true]:inc() n[s.no]:inc()
    end)]], "all:get(), n[true], n[false]", "23 23 23" },
  { "structs in structs, by value", [[local m = up.hash()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      local header = s.header
      m.header, m.type, m.x, m.y, m.unnamed = header.id, s.header.kind, s.header.inner.x, header.inner.y, s.x
    end)]], "m.header, m.type, m.x, m.y, m.unnamed", "65521 7 -23 101 5" },
  { "a union's views of the same bytes", [[local m = up.hash()
    up.uprobe(MEMORY .. "shapes", function(e)
      local word = up.cast("struct shapes *", e.arg0).word
      m.whole, m.high, m.byte = word.whole, word.halves[1], word.bytes[3]
    end)]], "m.whole, m.high, m.byte", "16909060 258 1" },
  { "bitfields", [[local m = up.hash()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      m.low, m.high, m.wide = s.low, s.high, s.wide
    end)]], "m.low, m.high, m.wide", "5 -3 11259375" },
  { "arrays by constant and by computed index", [[local m, sum = up.hash(), up.sum()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      m.last, m.cell, m.header, m.y = s.list[3], s.matrix[1][2], s.headers[2].id, s.headers[1].inner.y
      for i = 0, 3 do sum.list:add(s.list[i]) end
      for i = 0, 1 do for j = 0, 2 do sum.matrix:add(s.matrix[i][j]) end end
      for i = 0, 2 do local header = s.headers[i] sum.headers:add(header.id + header.inner.y) end
    end)]], "m.last, m.cell, m.header, m.y, sum.list, sum.matrix, sum.headers", "7 23 3 9 391 2346 345" },
  { "an array of one may go on", [[local sum = up.sum()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      sum:add(s.tail[0]) sum:add(s.tail[1] * 0)
    end)]], "sum:get()", "0" },
  { "pointers to pointers", [[local sum, n = up.sum(), up.count()
    up.uprobe(MEMORY .. "table", function(e)
      local rows, i = up.cast("struct item *const *", e.arg0), 0
      while rows[i] do sum:add(rows[i].value) i = i + 1 end
      n[i]:inc()
    end)
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      if s.twice[0] == s and s.self.self.twice[0].u16 == 65535 and s.unknown == nil and s.call ~= nil then
        n[-1]:inc() end
    end)]], "sum:get(), n[5], n[-1]", "10 1 23" },
  { "p[i] is as far as the type is large", [[local n = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      local ints, i, here = up.cast("int *", up.u64(s.list)) , up.i32(e.arg0 * 0) + 1, up.u64(s)
      if ints[i - 1] == 2 and ints[3] == 7 and up.cast("int *", up.u64(s.list) + 4)[-1] == 2 and
          up.u64(s[i]) - here == SIZE and up.u64(s[1]) - here == SIZE and up.u64(s[-1]) - here == -SIZE then n:inc() end
    end)]], "n:get()", "23" },
  { "a pointer kept from entry to return", [[local saved, n, keys = up.hash(), up.sum(), up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      saved[e.tid] = { s = s, more = s.unknown }
      keys[s]:inc() keys[up.u64(s)]:inc()
    end)
    up.uretprobe(MEMORY .. "shapes", function(e)
      local kept = saved[e.tid]
      if kept and not kept.more then n:add(kept.s.u8) end
    end)]], "n:get(), (function() for _, count in keys:pairs() do return count end end)()", "253 46" },
  { "a NULL pointer stored is nil", [[local m = up.hash() m:set(5, 1)
    up.uprobe(MEMORY .. "shapes", function(e) m[5] = up.cast("struct shapes *", e.arg0).unknown end)]], "m[5]", "nil" },
  { "a pointer in a ring is a number", [[local r, equal = up.ring(), 0
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      r:emit { s = s, address = e.arg0, none = s.unknown }
    end)
    r:each(function(ev) if ev.s == ev.address and ev.none == nil then equal = equal + 1 end end)]], "equal", "23" },
  { "a choice of pointers", [[local sum = up.sum()
    up.uprobe(MEMORY .. "table", function(e)
      local rows = up.cast("struct item **", e.arg0)
      local item = rows[5] or rows[4]
      local other = e.arg0 == 0 and rows[1] or rows[2]
      sum:add(item.value * 10 + other.value)
    end)]], "sum:get()", "42" },
  { "casts between pointers, and to integers", [[local n = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      local bytes = up.cast("uint8_t *", s.self)
      if bytes[0] == 128 and up.cast("int8_t *", s)[0] == -128 and up.cast("int", s.u32) == -1 and
          up.read_i16(up.u64(s) + 2) == s.i16 and
        up.read_u8(s) == 128 then n:inc() end
    end)]], "n:get()", "23" },
  { "memory that nobody has touched yet is brought in", [[local sum = up.sum()
    up.uprobe(MEMORY .. "untouched", function(e) sum:add(up.cast("struct item *", e.arg0).value) end)]],
    "sum:get()", "101" },
  { "an array of char is a string", [[local names = up.count()
    up.uprobe(MEMORY .. "list", function(e)
      local item = up.cast("struct item *", e.arg0)
      while item do names[item.name]:inc() item = item.next end
    end)]], "names['item 7'], names['item 22'], names['item 23'], names['item 100'], names:size()", "2 2 1 1 101" },
  { "up to its NUL, or all of it", [[local names, n = up.count(), up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      names[s.full]:inc() names[s.nine]:inc() names[s.short_name]:inc()
      if s.full == "12345678" and s.nine == "123456789" and s.nine ~= s.full and s.short_name == "abc" then
        n.equal:inc() end
      if #s.full == 8 and #s.nine == 9 and #s.short_name == 3 and s.nine:starts(s.full) and
          s.short_name:starts "ab" then n.parts:inc() end
    end)]], "names['12345678'], names['123456789'], names.abc, n.equal, n.parts", "23 23 23 23 23" },
  { "a large one", [[local lengths, n = up.count(), up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      lengths[#s.large]:inc() n[s.large]:inc()
    end)]], "lengths[997], n[('x'):rep(997)]", "23 23" },
  { "its elements and its address", [[local n = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      local full, last = s.full, 7
      if full then last = last + full[0] * 0 end
      if full[0] == 49 and full[last] == 56 and up.u64(s.nine) == up.u64(full) + 8 and
          up.cast("uint16_t *", full)[0] == 0x3231 then
        n[up.str(full, 4)]:inc()
      end
      n[up.str(s.nine, 32)]:inc()
    end)]], "n['123…'], n['123456789abc']", "23 23", { "23 × a key of 'n' was cut" } },
  { "strings in arrays", [[local names = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      for i = 0, 1 do names[s.names[i] ]:inc() end
      if s.names[1] == "second" then names.constant:inc() end
      if s.names[s.u8] == nil then names.outside:inc() end
    end)]], "names.first, names.second, names.constant, names.outside", "23 23 23 21",
    { "21 × an index outside of 'char %[2%]%[8%]' read as nil" } },
  { "a pointer to char is read by up.str, NULL is nil", [[local texts, n = up.count(), up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      texts[up.str(s.text, 7)]:inc()
      if s.text[2] == 116 and up.str(s.unknown) == nil and up.str(s.nothing) == nil then n:inc() end
    end)]], "texts['a text…'], n:get()", "23 23", { "23 × a key of 'texts' was cut" } },
  { "strings on pages that nobody has touched", [[local names = up.count()
    up.uprobe(MEMORY .. "untouched", function(e) names[up.cast("struct item *", e.arg0).name]:inc() end)]],
    "names.untouched", "1" },
  { "a string that cannot be read is nil", [[local n = up.count()
    up.uprobe(MEMORY .. "split", function(e)
      local item = up.cast("struct item *", e.arg0)
      if item.name == nil and item.next.name == nil and item.value == 7 then n:inc() end
    end)]], "n:get()", "1", { "1 × unreadable memory read as nil" } },
  { "a page that is not there is nil, what lies before it is read", [[local m = up.hash()
    up.uprobe(MEMORY .. "split", function(e)
      local item = up.cast("struct item *", e.arg0)
      m[item.value] = item.name[0] == nil and item.next == nil
    end)]], "m[7]", "true", { "1 × unreadable memory read as nil" } },
  { "unmapped, kernel and impossible addresses", [[local n = up.count()
    up.uprobe(MEMORY .. "broken", function(e)
      local item = up.cast("struct item *", e.arg0)
      if item.value == 1 and item.next ~= nil then n.head:inc() end
      if item.next.next == nil then n.faults:inc() end
    end)]], "n.head, n.faults", "3 3", { "3 × unreadable memory read as nil" } },
  { "a field read twice is read once …", [[local n = up.count()
    up.uprobe(MEMORY .. "broken", function(e)
      local next = up.cast("struct item *", e.arg0).next
      if next.value == nil and next.value == nil then n:inc() end
    end)]], "n:get()", "3", { "3 × unreadable memory read as nil" } },
  { "… but anew in each round of a loop", [[local n = up.count()
    up.uprobe(MEMORY .. "broken", function(e)
      local next = up.cast("struct item *", e.arg0).next
      for i = 1, 5 do if next.value == nil then n:inc() end end
    end)]], "n:get()", "15", { "15 × unreadable memory read as nil" } },
  { "an index beyond the declared array is nil", [[local n = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      if s.list[s.u8] then n.inside:inc() else n.outside:inc() end
      if s.headers[s.u8 - 1].inner.y == nil then n.headers:inc() end
    end)]], "n.inside, n.outside, n.headers", "4 19 20",
    { "19 × an index outside of 'int %[4%]' read as nil",
      "20 × an index outside of 'struct header %[3%]' read as nil" } },
  { "arithmetic on a field of NULL ends the handler", [[local n = up.count()
    up.uprobe(MEMORY .. "shapes", function(e)
      local s = up.cast("struct shapes *", e.arg0)
      local none = up.cast("struct item *", s.unknown)
      if none.value == nil and up.u64(none) == 0 then n[0]:inc() end
      n[none.value + 1]:inc()
    end)]], "n[0], n[1]", "23 0", { "23 × handler ended by an error: arithmetic or comparison on nil" } },
  { "a list that goes in a circle ends the handler", [[local n, after = up.count(), up.count()
    up.uprobe(MEMORY .. "ring", function(e)
      local item = up.cast("struct item *", e.arg0)
      while item do n:inc() item = item.next end
      after:inc()
    end)]], "n:get(), after:get()", "65536 0", { "1 × handler ended: its loops ran 65,536 rounds" } },
}

local script = { [[
local up, ffi = require "uplua", require "ffi"
local MEMORY = "./build/targets/memory:"
local declarations = assert(io.open "tests/targets/memory.h")
ffi.cdef(declarations:read "*a")
local SIZE = ffi.sizeof "struct shapes"
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]] }
for number, case in ipairs(cases) do
  script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(case[2], number, case[3])
end
local path = target.folder() .. "-memory.lua"
local file = assert(io.open(path, "w"))
file:write(table.concat(script, "\n"))
file:close()
local run = target.uplua(path .. " -- ./build/targets/memory")
os.remove(path)

local losses = run.err:gsub("uplua: not everything was seen:\n", "")
for number, case in ipairs(cases) do
  local value = run.out:match(("case %d: ([^\n]*)"):format(number))
  tap.is(value, case[4], case[1])
  for _, loss in ipairs(case[5] or {}) do
    local line
    line, losses = losses:match("( *" .. loss .. "[^\n]*\n)"), losses:gsub(" *" .. loss .. "[^\n]*\n", "", 1)
    tap.ok(line, "  … counted: " .. loss)
  end
end
tap.is(run.status, 0, "the target's status is uplua's")
tap.is(losses, "", "nothing else is lost")

run = target.uplua "examples/connects.lua -- ./build/targets/memory"
local connects = run.out:gsub("list 2 [^\n]*\n", "") -- what the program itself prints, whenever it does
tap.like(connects, "memory connects to /nowhere/23\nmemory connects to 127%.0%.1%.23 port 65521\n" ..
  "memory connects to 2001:db8:0:0:0:0:17:ff01 port 101\n", "examples/connects.lua says where a program connects to")
tap.is(run.err:find "not everything", nil, "… and loses nothing")
target.done()
tap.done_testing()
