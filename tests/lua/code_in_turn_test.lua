-- Frames are of the file that was mapped at the hit, where one file's code takes the place of another's: libraries that
-- are loaded and unloaded in turn, and code that is mapped over other code, and gone before the report.
local tap = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local turns = "build/targets/turns"
local folder = target.folder()

-- Whether the kernel says when mappings change: src/unwind/kernel_layout.c looks for the same.
local types = io.open("/sys/kernel/btf/vmlinux", "rb")
local tells = types and types:read "*a":find("mm_lock_seq", 1, true) ~= nil
if types then types:close() end

local NOT_TOLD = "file mapped in place of another one"
local SEVERAL  = "address where a process had several files, one after the other: named by the last one"

local written = {}

local function script(name, text)
  local path = ("%s-%s.lua"):format(folder, name)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  written[#written + 1] = path
  return path
end

-- Counts the stacks at getppid by the library that they go through.
local stacks = script("stacks", [[
local up = require "uplua"
local n = up.count()
up.syscall("getppid", function(e) n[e:ustack()]:inc() end)
up.at_exit(function()
  local by = { left = 0, right = 0, other = 0 }
  for s, count in n:pairs() do
    local of
    for _, frame in ipairs(s:frames()) do
      of = of or (frame.symbol or ""):match "^(%a+)_inner$"
    end
    of = of or "other"
    by[of] = by[of] + count
  end
  print(("left %d, right %d, others %d"):format(by.left, by.right, by.other))
end)
]])

-- The same of the calls of the program's `answer`, by the address that it returns to, and by what up.sym makes of it.
local callers = script("callers", [[
local up = require "uplua"
local n = up.count()
up.uprobe("build/targets/turns:answer", function(e) n[up.sym(e.caller)]:inc() end)
up.at_exit(function()
  local all = 0
  for _, count in n:pairs() do all = all + count end
  print(("all %d"):format(all))
end)
]])

-- Has turns run by uplua with SCRIPT and its arguments.
local function run(path, mode, rounds, calls, microseconds)
  return target.shell(("./uplua %s -- %s %s %d %d %d >$D/out 2>$D/err"):format(path, turns, mode, rounds, calls,
    microseconds))
end

-- That GOT is WANTED, or, on a kernel that does not tell, that the report says what may be wrong.
local function is_or_said(got, wanted, result, what)
  if tells then
    is(got, wanted, what)
    ok(not result.err:find(NOT_TOLD, 1, true), "… and nothing is said to be wrong")
  else
    ok(got == wanted or result.err:find(NOT_TOLD, 1, true), what .. ", or it is said")
    ok(true, "… on a kernel that does not tell when mappings change")
  end
end

for _, mode in ipairs { "open", "map" } do
  for _, case in ipairs { { 23, 5, 1000 }, { 101, 2, 1000 }, { 5, 101, 500 }, { 101, 23, 0 } } do
    local rounds, calls, microseconds = unpack(case)
    local result = run(stacks, mode, rounds, calls, microseconds)
    local each = rounds * calls
    local places = tonumber(result.out:match "(%d+) places")
    ok(places and places < 2 * rounds, ("%s: code of both in one place"):format(mode))
    is_or_said(result.out:match "left[^\n]*", ("left %d, right %d, others 0"):format(each, each), result,
      ("%s: %d rounds of %d calls, %d us apart"):format(mode, rounds, calls, microseconds))
  end
end

-- Blocks by who has left them.
local blocks = run("scripts/mallocleak.lua", "open", 53, 23, 100)
local sums = { left = 0, right = 0 }
for count, of in blocks.out:gmatch " in ([%d,]+) blocks?[^\n]*\n%s+(%a+)_leak" do
  sums[of] = sums[of] + tonumber((count:gsub(",", "")))
end
is_or_said(("%d, %d"):format(sums.left, sums.right), ("%d, %d"):format(53 * 23, 53 * 23), blocks,
  "mallocleak: blocks of each library")

-- An address alone does not say of which file it was.
local addresses = run(callers, "map", 23, 5, 0)
is(addresses.out:match "all %d+", "all 230", "callers by address")
ok(addresses.err:find(SEVERAL, 1, true), "… of which the report says that they were several files'")

for _, path in ipairs(written) do os.remove(path) end
target.done()
tap.done_testing()
