-- Strings in handlers: read from the traced program, measured, compared, stored, emitted, cut. All cases run in one
-- setup, on build/targets/strings: text(s, n) 23 times for each n (see there), in the order of n, with one thread.
local tap = require "tap"
local target = require "target"

local EMPTY, SHORT, LETTERS, HOSTILE, NOWHERE, UNMAPPED, PAGE_END, NO_END, UNTOUCHED, CROSSING, BOTH =
  0, 1, 2, 15, 16, 17, 18, 19, 20, 21, 22
local LENGTHS = { [0] = 5000, 7, 8, 9, 15, 16, 62, 63, 64, 65, 4094, 4095, 4096 }
local alphabet = ("abcdefghijklmnopqrstuvwxyz"):rep(200)

-- What the Lua side sees of a text of LENGTH letters that was read into SIZE bytes.
local function letters(length, size)
  return length < size and alphabet:sub(1, length) or alphabet:sub(1, size - 1) .. "…"
end

-- { name, declarations and probes, expression at the end, what it prints as }
local cases = {}
local function case(name, declarations, expression, want)
  cases[#cases + 1] = { name, declarations, expression, want }
end

-- --- what is read ---

case("strings of up to 63 bytes as keys",
  [[local n = up.count() up.uprobe(TEXT, function(e) n[{ up.str(e.arg0), e.arg1 }]:inc() end)]],
  [[n[{ "", 0 }], n[{ "uplua-23", 1 }], n[{ "end of page", 18 }], n[{ alphabet:sub(1, 7), 3 }],
      n[{ alphabet:sub(1, 63), 9 }], n:size()]],
  "23 23 23 23 23 23")
case("pages that the program has not touched are brought in", [[local n = up.count()
  up.uprobe(TEXT, function(e) if e.arg1 >= 20 then n[{ up.str(e.arg0), e.arg1 }]:inc() end end)]],
  [[n[{ "a page of a file", 20 }], n[{ "from one page to another", 21 }],
      n[{ "from one page to another", 22 }], n:size()]], "23 23 23 3")
case("what cannot be read is nil", [[local n = up.count()
  up.uprobe(TEXT, function(e) if up.str(e.arg0, 32) == nil then n[e.arg1]:inc() end end)]],
  "n[16], n[17], n[19], n:size()", "23 23 23 3")
case("keys that lack a string are one key, and equal ones are", [[local n = up.count()
  up.uprobe(TEXT, function(e)
    n[{ s = up.str(e.arg0, 32), k = 1 }]:inc()
    n[{ s = up.str(e.arg0, 32), k = e.arg1 < 15 and 2 or 3 }]:inc()
  end)]], "n[{ k = 1 }], n[{ k = 3 }], n[{ s = 'uplua-23', k = 2 }], n[{ s = alphabet:sub(1, 31) .. '…', k = 1 }]",
  "69 69 23 184")
case("at an address that is nil there is nil", [[local m, n = up.hash(), up.count() m:set(1, 0)
  up.uprobe(TEXT, function(e)
    m[e.arg1] = e.arg1 == 1 and e.arg0 or nil
    n[up.str(m[e.arg1]) or "nil"]:inc()
  end)]], "n['uplua-23'], n['nil']", "23 506")
case("a default for what cannot be read", [[local n = up.count()
  up.uprobe(TEXT, function(e) if e.arg1 >= 15 and e.arg1 < 20 then n[up.str(e.arg0) or "nothing"]:inc() end end)]],
  [[n.nothing, n["end of page"]
]], "69 23")
for _, size in ipairs { 1, 2, 8, 10, 16, 63, 64 } do
  local want = {}
  for i = 0, #LENGTHS do want[i + 1] = ("%s %d"):format(letters(LENGTHS[i], size), math.min(LENGTHS[i], size - 1)) end
  case(("text of 5,000, 7, 8, 9 … bytes in %d"):format(size), ([[local m = up.hash()
    up.uprobe(TEXT, function(e)
      local s = up.str(e.arg0, %d)
      if e.arg1 >= 2 and e.arg1 <= 14 then m[e.arg1] = { s = s, n = #s } end
    end)]]):format(size), "all_letters(m)", table.concat(want, " "))
end
case("bytes are kept",
  [[local m = up.hash() up.uprobe(TEXT, function(e) if e.arg1 == 15 then m[1] = up.str(e.arg0) end end)]],
    [[m[1] == "\27[2J\7\255\15531m\194\155\n\226\130"]], "true")
case("… and escaped where they are printed", [[local n, m, t = up.count(), up.hash(), up.hash()
  up.uprobe(TEXT, function(e) if e.arg1 == 15 then local s = up.str(e.arg0) n[s]:inc()
    m[s] = { s = s } t[{ s, 1 }] = s end end)]],
  "tostring(n)", [[\x1b[2J\x07\xff\x9b31m\x9b\x0a\xe2\x82  23]])
local BANNER = target.banner()
if not BANNER then print "# no string of the kernel is known" end
case("the kernel's strings", [[local m = up.hash()
  up.uprobe(TEXT, function(e) if e.arg1 == 1 then
    m[1], m[2], m[3] = up.kstr(BANNER, 15), up.kstr(BANNER + 6), up.kstr(8) end end)]],
  [[m[1], tostring(m[2]):sub(1, 7), m[3]
]], "Linux version … version nil")

-- --- what is done with them ---

case("lengths", [[local m = up.hash()
  up.uprobe(TEXT, function(e) local s = up.str(e.arg0) if s then m[e.arg1] = #s + #e.comm * 1000 end end)]],
  "m[0], m[1], m[2], m[3], m[4], m[7], m[8], m[9], m[10], m[15]", "7000 7008 7063 7007 7008 7016 7062 7063 7063 7015")
case("the length of constants", [[local m, S = up.hash(), "eleven chars"
  up.uprobe(TEXT, function(e) m[1], m[2], m[3] = #S, #"", #e.func end)]], "m[1], m[2], m[3]", "12 0 4")
case("equal to constants", [[local n = up.count()
  up.uprobe(TEXT, function(e)
    local s = up.str(e.arg0)
    if s == "" then n.empty:inc() end
    if s == "uplua-23" then n.short:inc() end
    if s == "uplua-2" or s == "uplua-234" or s == "plua-23" or s == "abcdefg\1" then n.wrong:inc() end
    if s == "abcdefg" then n.seven:inc() end
    if s == "abcdefgh" then n.eight:inc() end
    if s == SIXTY_THREE then n.sixty_three:inc() end
    if s == SIXTY_THREE .. "l" then n.never:inc() end
    if s ~= SIXTY_THREE then n.others:inc() end
  end)]], "n.empty, n.short, n.wrong, n.seven, n.eight, n.sixty_three, n.never, n.others", "23 23 0 23 23 23 0 506")
case("a string that was cut equals no whole one, and equals what was cut the same", [[local n = up.count()
  up.uprobe(TEXT, function(e)
    local s, t, u = up.str(e.arg0, 8), up.str(e.arg0, 8), up.str(e.arg0, 64)
    if s and s == t then n.same:inc() end
    if s and s == u then n.wide:inc() end
    if s == "abcdefg" then n.whole:inc() end
    if s and #s == 7 and s ~= "abcdefg" and s:starts "abcdefg" then n.cut:inc() end
  end)]], "n.same, n.wide, n.whole, n.cut", "483 46 23 276")
case("equal to strings of other capacities", [[local m, n = up.hash(), up.count()
  up.uprobe(TEXT, function(e)
    local s, t = up.str(e.arg0, 16), up.str(e.arg0, 200)
    if s and s == t then n[#s]:inc() end
    if s and t == s then n[#s]:inc() end
    if s and s ~= t then n[-1]:inc() end
    if s == t and not s then n[-2]:inc() end
  end)]], "n[0], n[7], n[8], n[9], n[15], n[11], n[-1], n[-2]", "46 46 92 46 92 46 276 69")
case("starts with constants", [[local n = up.count()
  up.uprobe(TEXT, function(e)
    local s = up.str(e.arg0)
    if not s then return end
    if s:starts "" then n.all:inc() end
    if s:starts "abcdefg" then n.seven:inc() end
    if s:starts "abcdefgh" then n.eight:inc() end
    if s:starts "abcdefghi" then n.nine:inc() end
    if s:starts(SIXTY_THREE) then n.sixty_three:inc() end
    if s:starts(SIXTY_THREE .. "l") then n.more:inc() end
    if s:starts "bc" or s:starts "abcdefgx" or s:starts "uplua-23x" then n.wrong:inc() end
  end)]], "n.all, n.seven, n.eight, n.nine, n.sixty_three, n.more, n.wrong", "460 299 276 253 161 0 0")
case("starts with other strings", [[local m, n = up.hash(), up.count()
  up.uprobe(TEXT, function(e)
    local s, first, whole = up.str(e.arg0), m[1], up.str(e.arg0, 100)
    if s and first then n[s:starts(first) and "yes" or "no"]:inc() end
    if s and whole:starts(s) then n.own:inc() end
    if s and s:starts(whole) then n.not_longer:inc() end
    if e.arg1 == 5 then m[1] = s end
    if ("abcdefghij"):starts(s or "x") then n.constant:inc() end
  end)]], "n.yes, n.no, n.own, n.not_longer, n.constant", "251 203 460 322 92")
case("starts as a value, and of names that are constants", [[local m, t = up.hash(), up.hash()
  up.uprobe(TEXT, function(e)
    m[1], m[2], m[3] = e.comm:starts "str", not e.comm:starts "str", e.func:starts "te"
    t[1] = e.comm:starts "str" and "yes" or "no"
  end)]], "m[1], m[2], m[3], t[1]", "true false true yes")
case("… which strings of the script do not get: no global is touched", [[local s = "uplua-23"]],
  "string.starts, s.starts, up.starts", "nil nil nil")
case("the place of a text", [[local m, n = up.hash(), up.count()
  up.uprobe(TEXT, function(e)
    local s = up.str(e.arg0)
    if not s then return end
    local from, to = s:find("page", 1, true)
    if from then m[e.arg1] = { from, to } end
    n[s:find "ijklmno" or 0]:inc() n[s:find("f", 7, true) or -1]:inc() n[s:find "wxyzabcd" or -2]:inc()
    if s:find "\155\n\226" then n[50]:inc() end
    if s:find "hijk" and not s:find("z", 1, true) then n[100 + s:find("o")]:inc() end
  end)]], [[m[18][1], m[18][2], m[20][1], m[22][2], m:size(),
    n[9], n[0], n[32], n[-1], n[23], n[-2], n[50], n[115] ]], "8 11 3 13 4 253 230 184 253 184 276 23 46")
case("… in what fills its buffer, and behind which it was cut", [[local n = up.count()
  up.uprobe(TEXT, function(e)
    local s, t = up.str(e.arg0, 8), up.str(e.arg0, 1024)
    if s and t then n[s:find "g" or 0]:inc() n[s:find("gh", 1, true) or -1]:inc() n[t:find "uvwxyza" or -2]:inc() end
    if t and t:find("\1", 1, true) then n[50]:inc() end
  end)]], "n[7], n[5], n[0], n[-1], n[21], n[-2], n[50]", "299 23 138 460 184 276 0")

-- --- where they go ---

case("the widest capacity in a map's keys and values", [[local n, m = up.count(), up.hash()
  up.uprobe(TEXT, function(e)
    if e.arg1 ~= 6 then return end
    n[up.str(e.arg0, 8)]:inc() n[up.str(e.arg0, 16)]:inc() n[up.str(e.arg0, 200)]:inc() n[e.comm]:inc() n.constant:inc()
    m[1] = "constant" m[2] = up.str(e.arg0, 10) m[3] = up.str(e.arg0, 100) m[4] = e.comm
  end)]], [[n["abcdefg…"], n[alphabet:sub(1, 15)], n.strings, n.constant, m[1], m[2], m[3], m[4]
]], "23 46 23 23 constant abcdefghi… abcdefghijklmno strings")
case("a key that was cut is found by what it was read as", [[local m = up.hash()
  up.uprobe(TEXT, function(e) if e.arg1 == 6 then m[up.str(e.arg0, 8)] = 1
    m[up.str(e.arg0, 64)] = 2 m["abcdefg"] = 3 end end)]],
  [[m:get("abcdefg…"), m:get("abcdefg"), m:get(alphabet:sub(1, 15)), m:size(), m:delete("abcdefg…"), m:size()]],
    "1 3 2 3 true 2")
case("fields, of records in records too", [[local m = up.hash()
  up.uprobe(TEXT, function(e)
    if e.arg1 == 4 then m[1] = { s = up.str(e.arg0), in_it = { up.str(e.arg0, 6), e.comm } } end
    if e.arg1 == 16 then m[2] = { s = up.str(e.arg0), in_it = { "constant", "constant" } } end
  end)]], "m[1].s, m[1].in_it[1], m[1].in_it[2], m[2].s, m[2].in_it[1]", "abcdefgh abcde… strings nil constant")
case("emitted", [[local r, seen = up.ring(), {}
  up.uprobe(TEXT, function(e) if e.arg1 >= 12 and e.arg1 < 20 then
    r:emit { n = e.arg1, s = up.str(e.arg0, 24), comm = e.comm } end end)
  r:each(function(ev) local at = tostring(ev.s) .. ev.comm seen[at] = (seen[at] or 0) + 1 end)]],
  [[seen[alphabet:sub(1, 23) .. "…strings"], seen["nilstrings"], seen["end of pagestrings"],
      seen["\27[2J\7\255\15531m\194\155\n\226\130strings"] ]],
  "69 69 23 23")
case("through variables, functions and loops", [[local m = up.hash()
  local function read(address, short) if short then return up.str(address, 8) end return up.str(address, 40) end
  local function name(s) if s == nil then return "none" elseif s:starts "upl" then return "us" end return s end
  up.uprobe(TEXT, function(e)
    local s = name(read(e.arg0, e.arg1 % 2 == 0))
    m[e.arg1] = s
  end)]], "m[0], m[1], m[2], m[3], m[5], m[6], m[16], m[18]", " us abcdefg… abcdefg abcdefghi abcdefg… none end of …")
case("from one variable to the other, round by round", [[local m = up.hash()
  up.uprobe(TEXT, function(e)
    if e.arg1 ~= 5 then return end
    local a, b, c, d = "one", "two", up.str(e.arg0, 6), nil
    for i = 1, 4 do
      a, b, c = b, c, a
      if d and i == 3 then m[4] = d end
      d = up.str(e.arg0 + i)
    end
    m[1], m[2], m[3] = a, b, c
    local x, y = "x", "y"
    while #x < 3 do x, y = y, up.str(e.arg0) or x end
    m[5], m[6] = x, y
  end)]], "m[1], m[2], m[3], m[4], m[5], m[6]", "two abcde… one cdefghi abcdefghi abcdefghi")
case("what another variable had in the round before, known not to be nil", [[local m = up.hash()
  up.uprobe(TEXT, function(e)
    if e.arg1 ~= 5 then return end
    local a, b = "none", up.str(e.arg0)
    for i = 1, 3 do
      if b == nil then return end
      a = b
      b = up.str(e.arg0 + i)
    end
    m[1], m[2] = a, b or "nil"
  end)]], "m[1], m[2]", "cdefghi defghi")
-- 2^20 ways, if each of twenty values that may be nil were followed by itself.
local reads, asks, maybe = {}, {},
  { "up.str(e.arg0 + %d, 20)", "up.read_u8(e.arg0 + %d)", "m[e.arg1 + %d]", "e.comm:starts(s or 's') or %d > 9" }
for i = 1, 20 do
  reads[i] = ("local v%d = " .. maybe[i % 4 + 1]):format(i, i)
  asks[i] = ("if v%d then n[%d]:inc() end"):format(i, i)
end
case("twenty values that may be nil", ([[local n, m = up.count(), up.hash() m:set(22, "x")
  up.uprobe(TEXT, function(e) local s = m[e.arg1] %s %s end)]]):format(table.concat(reads, " "),
                                                                       table.concat(asks, " ")),
  "n[1], n[2], n[4], n[6], n[5], n[8], n[18], n[3], n[7], n[11], n[19]", "483 23 460 23 483 460 23 506 506 529 529")
case("a global that holds a string, and a table's", [[local m, T = up.hash(), { path = "uplua-23", ["other"] = "x" }
  PREFIX = "uplua"
  up.uprobe(TEXT, function(e) local s = up.str(e.arg0)
    if s == T.path and s:starts(PREFIX) then m[T.other] = PREFIX end end)]],
  "m.x", "uplua")

local preamble = [[
local up = require "uplua"
local TEXT = "./build/targets/strings:text"
local alphabet = ("abcdefghijklmnopqrstuvwxyz"):rep(200)
local SIXTY_THREE = alphabet:sub(1, 63)
local BANNER = %sULL
local function all_letters(m)
  local parts = {}
  for i = 2, 14 do parts[#parts + 1] = m[i].s .. " " .. m[i].n end
  return table.concat(parts, " ")
end
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
]]

-- Runs one script of the cases that WANTED accepts: their values by number, and the run.
local function run_cases(wanted)
  local script = { preamble:format(BANNER or 0) }
  for number, c in ipairs(cases) do
    if wanted(c) then
      script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(c[2], number, c[3])
    end
  end
  local path = target.folder() .. "-strings.lua"
  local file = assert(io.open(path, "w"))
  file:write(table.concat(script, "\n"))
  file:close()
  local run, values = target.uplua(path .. " -- ./build/targets/strings"), {}
  os.remove(path)
  for number, value in run.out:gmatch "case (%d+): ([^\n]*)" do values[tonumber(number)] = value end
  return values, run
end

local values, run = run_cases(function(c) return BANNER or not c[2]:find "BANNER" end)
for number, c in ipairs(cases) do
  if BANNER or not c[2]:find "BANNER" then tap.is(values[number], c[4], c[1]) end
end
tap.is(run.status, 0, "the target's status is uplua's")
local losses = run.err:gsub("\n  [%d,]+ × unreadable memory read as nil, [^\n]*:%d+", "")
losses = losses:gsub("\n  [%d,]+ × a key of '[^\n]*' was cut: [^\n]*:%d+", "")
tap.is(losses, "uplua: not everything was seen:\n",
  "what could not be read is counted, and keys that were cut, and nothing else was lost")

-- Alone, since the first handler that reads a page brings it in for all.
for _, name in ipairs { "pages that the program has not touched are brought in", "what cannot be read is nil" } do
  values, run = run_cases(function(c) return c[1] == name end)
  for number, value in pairs(values) do tap.is(value, cases[number][4], name .. ": one handler alone") end
  tap.like(run.out, "absent 20\nabsent 21\nabsent 22\n", "… before which the pages were not there")
  if name:find "nil" then
    tap.like(run.err, "^uplua: not everything was seen:\n  69 × unreadable memory read as nil, [^\n]*:%d+\n$",
      "… each is counted")
  else
    tap.is(run.err, "", "… nothing is lost")
  end
end
target.done()
tap.done_testing()
