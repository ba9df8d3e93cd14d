-- systrace.lua's lines beside strace's of one run, both tracing it at a time: what differs.
local neighbour = require "neighbour"

local strace_lines = {}

-- What the kernel calls itself in a program that somebody has return probes in: no call of the program's (uretprobe and
-- uprobe of Linux 6.11 and 6.18, which strace 6.1 has no names for).
local OF_PROBES = { syscall_0x14f = true, syscall_0x150 = true, uretprobe = true, uprobe = true }

-- TEXT, of `strace -f -o`: lists of calls by thread, { call, result } each, in the order in which they return. Signals
-- and ends are left out.
local function calls_of_strace(text)
  local threads, open = {}, {}
  for tid, line in text:gmatch "(%d+) +([^\n]+)" do
    local began = line:match "^(.*) <unfinished %.%.%.>$"
    local rest = line:match "^<%.%.%. [%w_]+ resumed>(.*)$"
    if began then open[tid] = began end
    if rest and open[tid] then line, open[tid] = open[tid] .. rest, nil end
    if line:find "^[%w_]+%(" and not began and not OF_PROBES[line:match "^[%w_]+"] then
      threads[tid] = threads[tid] or {}
      table.insert(threads[tid], (line:gsub("%) +=", ") =")))
    end
  end
  return threads
end

-- The same of what systrace.lua has printed, without the calls of the tool, the process TOOL, and of its children
-- before they are the program.
local function calls_of_systrace(text, tool)
  local threads = {}
  for line in text:gmatch "[^\n]+" do
    local comm, tid, call = line:match "^%S+  (%S.-) +(%d+)  ([%w_]+%(.*)$"
    if comm and tid ~= tool and comm ~= "strace" then
      threads[tid] = threads[tid] or {}
      table.insert(threads[tid], (call:gsub(" <[%d.]+ [num]?s>$", ""):gsub("%) +=", ") =")))
    end
  end
  return threads
end

-- Runs COMMAND, shell words, after the shell command BEFORE, under both, with the options OURS_WITH and THEIRS_WITH.
-- Returns a text of what differs, the number of calls, and how many of them are the same.
function strace_lines.compare(command, before, ours_with, theirs_with)
  local out, tool = neighbour.run("systrace.lua -e '!ptrace,process_vm_readv' " .. (ours_with or ""), -- strace's own
    ('strace -f -qq %s -o "$D/strace" %s'):format(theirs_with or "", command), before)
  local ours, theirs = calls_of_systrace(out, tool), calls_of_strace(neighbour.read "strace")
  local wrong, calls, same = {}, 0, 0
  for tid in pairs(ours) do theirs[tid] = theirs[tid] or {} end
  for tid, list in pairs(theirs) do
    local own = ours[tid] or {}
    for i = 1, math.max(#list, #own) do
      local x, y = own[i], list[i]
      calls = calls + 1
      if x == y then
        same = same + 1
      else
        wrong[#wrong + 1] = ("%s: uplua  %s\n       strace %s"):format(tid, x or "nothing", y or "nothing")
        if not x or not y or x:match "^[%w_]+" ~= y:match "^[%w_]+" then break end
      end
    end
  end
  return table.concat(wrong, "\n"), calls, same
end

return strace_lines
