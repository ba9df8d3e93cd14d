-- Functions of Go: at their return instructions instead of by a return probe; which entry a return belongs to where
-- goroutines go on in other threads and their stacks are moved. tests/targets/goroutines.c does what Go does, by hand.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

if target.shell("uname -m >$D/out").out ~= "x86_64\n" then
  print "1..0 # SKIP the target is for x86_64"
  os.exit(0)
end

local COMMAND = "./build/targets/goroutines"

-- The output of CODE on the target, sorted, and what is said of losses.
local function trace(code, threads)
  local path = target.folder() .. "-go.lua"
  local file = assert(io.open(path, "w"))
  file:write('local up = require "uplua"\nlocal G = "', COMMAND, ':"\n', code)
  file:close()
  local r = target.uplua(("%s -- %s %d"):format(path, COMMAND, threads or 1))
  os.remove(path)
  local lines = {}
  for line in r.out:gmatch "[^\n]+" do
    if not line:find "^sum " then lines[#lines + 1] = line end
  end
  table.sort(lines)
  return table.concat(lines, "\n"), r.err, r
end

local SUMS = [[
local n = up.count()
up.uretprobe(G .. "go_sum", function(e) n[{ e.func, e.arg0, e.ret == e.arg0 * (e.arg0 + 1) / 2 * e.arg1 }]:inc() end)
up.at_exit(function() for k, v in n:pairs() do print(k[1], k[2], k[3], v) end end)
]]
for _, threads in ipairs { 1, 4 } do
  local out, err, r = trace(SUMS, threads)
  is(out, "go_sum\t1\ttrue\t2323\ngo_sum\t2\ttrue\t2323\ngo_sum\t3\ttrue\t2323",
    ("each return with its entry's arguments, 23 goroutines in %d threads"):format(threads))
  is(err, "", "  … none is lost")
  like(r.out, "sum 165163,", "  … and the program computes what it does by itself")
end

local out, err = trace [[
local n, jumps, alone, stacks = up.count(), up.count(), up.count(), up.count()
up.uretprobe(G .. "go_signed", function(e)
  n[{ e.ret == e.arg0 - 1, e.ret < 0, e.elapsed >= 0, e.caller ~= 0 }]:inc()
  stacks[e:ustack(1)]:inc()
end)
up.uretprobe(G .. "go_sum", function(e) alone:inc() end)
up.uprobe(G .. "go_jump", function(e) jumps[e.arg0 >= 1 and e.arg0 <= 23]:inc() end)
up.at_exit(function()
  print(n)
  print("jumps", jumps)
  print("alone", alone:get())
  for stack, count in stacks:pairs() do print(count, (tostring(stack):gsub("%+0x%x+", ""):gsub("%s+", " "))) end
end)]]
is(out, "184\t go_signed\nalone\t6969\njumps\ttrue  23\ntrue, true, true, true  184",
  "negative numbers, times, callers, stacks; the arguments of Go at an entry")
is(err, "", "  … none is lost")

out, err = trace [[
local n = up.count()
up.uretprobe(G .. "go_*", function(e) n[e.func]:inc() end)
up.at_exit(function() for k, v in n:pairs() do print(k, v) end end)]]
is(out, "go_signed\t184\ngo_sum\t6969", "a pattern")
like(err,
  "2 functions are left out[^\n]*\n  2: it has no return instruction: it ends the program or jumps to another function",
  "  … and what it leaves out")
like(select(2, trace [[up.uretprobe(G .. "go_never", function(e) end)]]), "go_never: it has no return instruction: ",
  "a function that never returns")
like(select(2, trace [[up.uretprobe(G .. "go_sum+1", function(e) end)]]), "go_sum%+1: a return probe has no offset",
  "an offset")
like(select(2, trace [[up.uretprobe({ G .. "go_sum", "libc:malloc" }, function(e) end)]]),
  "functions of Go are called in another way than others: [%w_]+ and [%w_]+ need probes of their own",
    "together with others")

target.done()
tap.done_testing()
