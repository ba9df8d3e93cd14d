-- Line by line beside strace: systrace.lua, opensnoop.lua and execsnoop.lua.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local neighbour = require "neighbour"
local quote = neighbour.quote

local PERL = quote [[for (1 .. 23) { -e "/nope$_"; open F, "<", "/etc/hostname"; $x = <F>; close F }
  $l = readlink "/proc/self/exe"; mkdir "/proc/no\x01p\"\xe4";
  rename "/nope", "/nope2"; print STDOUT "x" x 300;
  if (!($p = fork)) { exit 3 } waitpid $p, 0; print `echo a "b\\n"`; exit 0]]
local PROGRAMS = {
  { "perl",         "perl -e " .. PERL },
  { "four threads", "./build/targets/calls 4" },
  { "a build",      'make -C "$D/tree"', neighbour.tree },
  { "find",         "find /usr/include/linux -name '*.h' -newer /etc/hostname" },
}
local BYTES = 64 -- of a string, both

-- The bytes of a string as `strace -xx` and systrace.lua print it, up to the first NUL: uplua reads texts; and whether
-- it is cut there.
local function bytes_of(text)
  local inner, cut = text:match '^"(.*)"%.*$'
  if not inner then return nil end
  inner, cut = inner:gsub("…$", "")
  return (inner:gsub('\\"', '"'):gsub("\\x(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end):match "^%Z*"), cut > 0
end

-- TEXT's parts between the commas that are in no string and no bracket.
local function parts_of(text)
  local parts, from, depth, at = {}, 1, 0, 1
  while at <= #text do
    local c = text:sub(at, at)
    if c == '"' then
      at = at + 1
      while at <= #text and text:sub(at, at) ~= '"' do at = at + (text:sub(at, at) == "\\" and 2 or 1) end
    elseif c:find "[%[{(]" then
      depth = depth + 1
    elseif c:find "[%]})]" then
      depth = depth - 1
    elseif c == "," and depth == 0 then
      parts[#parts + 1] = text:sub(from, at - 1)
      from = at + 2
    end
    at = at + 1
  end
  if from <= #text then parts[#parts + 1] = text:sub(from) end
  return parts
end

-- A number as both print it, in the 64 bits of a register; nil for anything else.
local function number_of(text)
  if text == "NULL" then return 0ULL end
  local sign, digits = text:match "^(%-?)(%d%w*)$"
  if not digits then return nil end
  if digits:find "^0[0-7]+$" then return tonumber(digits, 8) + 0ULL end
  local value = loadstring("return " .. digits .. "ULL")
  value = value and value()
  return value and (sign == "-" and -value or value)
end

-- True if the arguments OURS and THEIRS of a call are the same as far as both show them: texts, and numbers of 32 or 64
-- bits. nil if they cannot be compared: strace shows what a structure holds.
local function same_argument(ours, theirs)
  local ours_text, cut = bytes_of(ours)
  local theirs_text = bytes_of(theirs)
  if ours_text and theirs_text then return ours_text == (cut and theirs_text:sub(1, #ours_text) or theirs_text) end
  local x, y = number_of(ours), number_of(theirs)
  if x == nil or y == nil then return nil end
  return x == y or bit.band(x, 0xffffffffULL) == bit.band(y, 0xffffffffULL) and (x < 2 ^ 32 or y < 2 ^ 32)
end

-- strace's lines by thread: { { name, { argument, … }, result }, … }, in the order in which the calls return. Those
-- after the program's first exec only: strace hides what is before.
local function calls_of_strace(text)
  local threads, open = {}, {}
  for tid, line in text:gmatch "(%d+) +([^\n]+)" do
    local began = line:match "^(.*) <unfinished %.%.%.>$"
    local rest = line:match "^<%.%.%. [%w_]+ resumed>(.*)$"
    if began then open[tid] = began end
    if rest and open[tid] then line, open[tid] = open[tid] .. rest, nil end
    local name, arguments, result = line:match "^([%w_]+)%((.*)%) += ([^%s]+ ?E?%u*%d*)"
    if name and not began then
      threads[tid] = threads[tid] or {}
      table.insert(threads[tid], { name, parts_of(arguments), (result:gsub(" $", "")) })
    end
  end
  return threads
end

-- The same of systrace.lua, without what the tool does, the process TOOL, and its children before they are the program.
local function calls_of_systrace(text, tool)
  local threads = {}
  for _, found in ipairs(neighbour.lines(text, "^%S+  (%S+) +(%d+)  ([%w_]+)%((.*)%) = ([^<]-) ?<?[%d.]* ?%l*>?$")) do
    local comm, tid, name, arguments, result = unpack(found)
    if tid ~= tool and comm ~= "strace" then
      local values = {}
      for i, part in ipairs(parts_of(arguments)) do values[i] = part:match "^[%w_]+=(.*)$" or part end
      threads[tid] = threads[tid] or {}
      table.insert(threads[tid], { name, values, result })
    end
  end
  return threads
end

local function printed(call) return call and ("%s(%s) = %s"):format(call[1], table.concat(call[2], ", "), call[3])
  or "nothing" end

local function same_result(ours, theirs)
  if ours == theirs then return true end
  local x, y = number_of(ours:match "^%S+"), number_of(theirs:match "^%S+")
  return x ~= nil and x == y and ours:match "E%u+" == theirs:match "E%u+"
end

-- Where strace leaves out arguments that the operation does not use, those before are compared.
local LEFT_OUT = { futex = 4 }

-- Compares the calls of all threads; what differs, and how many calls and arguments were the same.
local function compare(ours, theirs)
  local wrong, calls, arguments, shown = {}, 0, 0, 0
  local function tell(tid, x, y)
    wrong[#wrong + 1] = ("%s: uplua %s\n     strace %s"):format(tid, printed(x), printed(y))
  end
  for tid in pairs(ours) do theirs[tid] = theirs[tid] or {} end
  for tid, list in pairs(theirs) do
    local own = ours[tid] or {}
    for i = 1, math.max(#list, #own) do
      local x, y = own[i], list[i]
      if not x or not y or x[1] ~= y[1] then
        tell(tid, x, y)
        break
      end
      calls = calls + 1
      if not same_result(x[3], y[3]) then tell(tid, x, y) end
      for n = 1, math.min(#x[2], #y[2], LEFT_OUT[x[1]] or 6) do
        local same = same_argument(x[2][n], y[2][n])
        if same == false then tell(tid, x, y) end
        arguments, shown = arguments + 1, shown + (same and 1 or 0)
      end
    end
  end
  return table.concat(wrong, "\n"), calls, shown, arguments
end

for _, program in ipairs(PROGRAMS) do
  local name, command, before = program[1], program[2], program[3]
  local out, tool = neighbour.run("systrace.lua -s " .. BYTES,
    ('strace -f -qq -X raw -xx -s %d -o "$D/strace" %s'):format(BYTES, command), before)
  local wrong, calls, shown, arguments = compare(calls_of_systrace(out, tool), calls_of_strace(neighbour.read "strace"))
  tap.is(wrong, "", ("%s: systrace.lua's lines are strace's: %d calls, %d of %d arguments can be compared"):format(name,
    calls, shown, arguments))
  tap.ok(calls > 79 and shown > arguments / 2, name .. ": most of them")
end

-- The lines of each process, as text: LISTS has them by PID.
local function add(lists, pid, line) lists[pid] = (lists[pid] or "") .. line .. "\n" end

-- opensnoop.lua: the path and the result of each open, by process.
for _, program in ipairs(PROGRAMS) do
  local name, command, before = program[1], program[2], program[3]
  local out, tool = neighbour.run("opensnoop.lua", 'strace -f -qq -e trace=open,openat,openat2 -o "$D/strace" ' ..
    command, before)
  local ours, theirs = {}, {}
  for _, found in ipairs(neighbour.lines(out, "^%S+  (%S+) +(%d+) +(%S+) +[%d.]+ %l+  (.*)$")) do
    local comm, pid, result, path = unpack(found)
    if pid ~= tool and comm ~= "strace" then add(ours, pid, path .. " " .. result) end
  end
  for pid, calls in pairs(calls_of_strace(neighbour.read "strace")) do
    for _, call in ipairs(calls) do
      add(theirs, pid, (call[1] == "open" and call[2][1] or call[2][2]):sub(2, -2) .. " " .. call[3]:gsub("^%-1 ", ""))
    end
  end
  neighbour.same(ours, theirs, name .. ": opensnoop.lua tells what strace tells, of each process")
end

-- A word as a shell would have to be told it.
local function word_of(text) return text:find "^[%w_@%%+=:,./-]+$" and text or "'" .. text:gsub("'", "'\\''") .. "'" end

-- execsnoop.lua: each program with its arguments, of which it shows 20, and what was not there.
local LONG = (" x%s 'y %s'"):format(("x"):rep(254), ("y"):rep(600)) -- as long as what is read at once, and longer
local SHELL = "sh -c " .. quote([[echo builtin; /bin/echo "it's" "" 'two words' "a\"b"; /nope; ( exec /bin/true );
  cat /dev/null | cat; /bin/echo]] .. LONG ..
                                "; echo " .. ("many "):rep(23) .. "| xargs /bin/echo")
for _, program in ipairs { PROGRAMS[1], PROGRAMS[3], { "a shell", SHELL } } do
  local name, command, before = program[1], program[2], program[3]
  local out, tool = neighbour.run("execsnoop.lua",
    'strace -f -qq -v -s 4000 -e trace=execve,execveat -o "$D/strace" ' .. command, before)
  local ours, theirs, count = {}, {}, 0
  for _, found in ipairs(neighbour.lines(out, "^%S+  (%S+) +(%d+) +(.*)$")) do
    local comm, pid, rest = unpack(found)
    if pid ~= tool and comm ~= "strace" then add(ours, pid, (rest:gsub("^%d+  ", "", 1))) end
  end
  for pid, calls in pairs(calls_of_strace(neighbour.read "strace")) do
    for _, call in ipairs(calls) do
      local words = parts_of(call[2][2]:sub(2, -2))
      for i, word in ipairs(words) do
        words[i] = word_of((word:sub(2, -2):gsub("\\(.)", function(c) return c == "n" and "\n" or c end))):gsub("\n",
          "\\x0a")
      end
      if #words > 20 then words = { unpack(words, 1, 20) } words[21] = "…" end
      add(theirs, pid, call[3] == "0" and table.concat(words, " ") or call[2][1]:sub(2, -2) .. ": " ..
        call[3]:match "E%u+")
      count = count + 1
    end
  end
  neighbour.same(ours, theirs, ("%s: execsnoop.lua tells the %d programs that strace tells"):format(name, count))
end
neighbour.done()
