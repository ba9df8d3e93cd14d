-- Stacks of programs that were built without frame pointers, frame by frame.
local tap = require "tap"
local target = require "target"
local is, ok, like = tap.is, tap.ok, tap.like

local path = target.folder() .. "-chain.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local stacks = up.count()
local returns = up.count()
up.uprobe(arg[1] .. ":mark", function(e) stacks[e:ustack()]:inc() end)
if arg[2] then up.uretprobe(arg[1] .. ":" .. arg[2], function() returns:inc() end) end
up.at_exit(function()
  for s, count in stacks:pairs() do
    local names = {}
    for i, frame in ipairs(s:frames()) do names[i] = frame.symbol or "?" end
    print(count, table.concat(names, " "))
    print(tostring(s))
  end
end)
]]
file:close()

-- What lies between `mark` and main or the end, and how often it was seen.
-- RETURNED: a function that a return probe waits for.
local function chain(program, kind, returned)
  local run = target.uplua(("%s %s %s -- %s %s"):format(path, program, returned or "", program, kind))
  is(run.err, "", ("%s %s: nothing is missing"):format(program, kind))
  local count, names = run.out:match "^(%d+)\t([^\n]*)"
  return names or "", tonumber(count), run.out
end

-- A stack of the first thread: FRAMES, then main and what calls it.
local function check(program, kind, frames, what, returned)
  local names, count = chain(program, kind, returned)
  is(count, 1, what .. ": one stack, once")
  is(names:match "^(.-) main ", "mark " .. frames, what)
  like(names, " main .*_start$", "down to the program's first function")
end

local DESCEND = "descend "

for _, program in ipairs { "./build/targets/chain", "./build/targets/chain-clang" } do
  check(program, "shallow", DESCEND:rep(23) .. "shallow", "23 calls")
  check(program, "deep", DESCEND:rep(101) .. "deep", "101 calls")
  check(program, "shallow", DESCEND:rep(23) .. "shallow", "23 calls whose return addresses are hidden by a return probe", "descend")
  check(program, "variable", "variable", "a frame of variable size")
  check(program, "aligned", "aligned", "an aligned frame")
  check(program, "expression", "expression", "a CFA in memory")

  local names = chain(program, "handler")
  like(names, "^mark on_signal [%w_?]+ handler main .*_start$", "through a signal handler to what it interrupted")
  names = chain(program, "sorted")
  like(names, "^mark compare .* sorted main .*_start$", "through libc")
  names = chain(program, "thread")
  like(names, "^mark thread_main %S+ %S+$", "a thread, down to its start: start_thread and clone3, where those have names")
  names = chain(program, "mappings")
  like(names, "^mark compare .* sorted mappings main .*_start$", "through libc, which lies above 307 other executable mappings")
  check(program, "library", "called_back inner through library", "through a library that was loaded a moment ago")
end

os.remove(path)
target.done()
tap.done_testing()
