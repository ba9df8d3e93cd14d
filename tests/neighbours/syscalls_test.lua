-- Counts of system calls: syscalls.lua beside strace -c and perf trace -s.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local neighbour = require "neighbour"
local lines, quote = neighbour.lines, neighbour.quote

local tracefs = neighbour.tracefs()

local PERL = quote [[for (1 .. 101) { -e "/nope" } for (1 .. 23) { open F, "<", "/etc/hostname"; $x = <F>; close F }
  if (!($p = fork)) { exit 3 } waitpid $p, 0;
  mkdir "/proc/nope"; print `echo a "b\\n"`; exit 0]]
local PROGRAMS = {
  { "perl",           "perl -e " .. PERL },
  { "four threads",   "./build/targets/calls 4" },
  { "a build",        'make -C "$D/tree"', neighbour.tree },
  { "find",           "find /usr/include/linux -name '*.h' -newer /etc/hostname" },
}

-- What `syscalls.lua --by-process` printed: { { comm, pid, name, calls, errors }, … }
local function rows_of_syscalls(text)
  local header = text:match "[^\n]*System call[^\n]*"
  local _, calls_end = header:find "Calls"
  local _, errors_end = header:find "Errors"
  local rows = {}
  for line in text:gmatch "[^\n]+" do
    local comm, pid, name, calls = line:match "^(%S+)%s+(%d+)%s+(%S+)%s+([%d,]+)"
    if comm then
      rows[#rows + 1] = { comm = comm, pid = pid, name = name, calls = tonumber((calls:gsub(",", ""))),
                          errors = tonumber((line:sub(calls_end + 1, errors_end):gsub("[ ,]", ""))) or 0 }
    end
  end
  return rows
end

-- What the tool, the process TOOL, does itself, and what it does in a new process before that becomes the program.
local function of_tool(row, tool)
  return row.pid == tool or row.comm == "strace" or row.comm == "perf" or row.comm == "perf-exec"
end

-- Adds the calls and errors of ROW to what TABLE has at KEY.
local function add(table, key, calls, errors)
  local sum = table[key] or { 0, 0 }
  table[key] = { sum[1] + calls, sum[2] + errors }
end

-- Calls and errors by call, of what `syscalls.lua --by-process` printed.
local function table_of_ours(text, tool)
  local found = {}
  for _, row in ipairs(rows_of_syscalls(text)) do
    if not of_tool(row, tool) then add(found, row.name, row.calls, row.errors) end
  end
  return found
end

-- What perf trace -s printed: calls and errors by call. It counts the calls that return: what makes a process or thread
-- does so twice, in the new one with no entry and so no time, and is counted here once; rt_sigreturn returns without
-- its number, and is not seen.
local function table_of_perf(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local name, calls, errors, least = line:match "^   ([%l%d_]+) +(%d+) +(%d+) +[%d.]+ +([%d.]+) "
    if name and (name:find "clone" or name:find "fork") and least == "0.000" then calls = calls - 1 end
    if name and tonumber(calls) > 0 then add(found, name, tonumber(calls), tonumber(errors)) end
  end
  return found
end

for _, program in ipairs(PROGRAMS) do
  local name, command, before = program[1], program[2], program[3]
  local out, tool = neighbour.run("syscalls.lua --by-process", 'strace -f -c -U name,calls,errors -o "$D/strace" ' ..
    command, before)
  local ours, theirs = table_of_ours(out, tool), {}
  for line in neighbour.read "strace":gmatch "[^\n]+" do
    local call, calls, errors = line:match "^([%l%d_]+) +(%d+) *(%d*)$"
    if call and call ~= "total" then add(theirs, call, tonumber(calls), tonumber(errors) or 0) end
  end
  neighbour.same(ours, theirs, name .. ": syscalls.lua counts the calls and errors that strace -c counts")

  if tracefs then
    out, tool = neighbour.run("syscalls.lua --by-process", 'perf trace -s -m 2048 -o "$D/perf" ' .. command, before)
    ours = table_of_ours(out, tool)
    ours.rt_sigreturn = nil
    theirs = table_of_perf(neighbour.read "perf")
    neighbour.covered(ours, theirs, name .. ": perf trace -s counts no call or error that syscalls.lua does not count")
  end
end
neighbour.done()
