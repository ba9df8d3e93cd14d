-- Line by line beside strace: opensnoop.lua and execsnoop.lua; systrace_test.lua has systrace.lua.
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
