-- The kernel's stack at a tracepoint begins where the kernel has fired it, whoever else looks at it, and however.
local tap = require "tap"
local target = require "target"
local is = tap.is

local PRCTL = jit.arch == "x64" and 157 or 167

-- What PROBES see of their kernel's stacks in 23 calls of prctl: who how often, of how many stacks, where these begin.
-- see(NAME, e) counts.
local function seen(probes)
  local path = target.folder() .. "-fired.lua"
  local file = assert(io.open(path, "w"))
  file:write([[
local up = require "uplua"
local n = up.count()
local function see(name, e) n[{ name, e:kstack(), e:kstack(1) }]:inc() end
]], probes, [[

up.at_exit(function()
  local lines, stacks, count, first = {}, {}, 0, {}
  for k, hits in n:pairs() do
    local names = k[2]:frames()
    local through = false
    for _, frame in ipairs(names) do if frame.symbol:find "sys_prctl" or frame.symbol:find "syscall" then
      through = true end end
    if through and hits == 23 then
      lines[#lines + 1] = k[1] .. " " .. hits
      if not stacks[k[2] ] then stacks[k[2] ], count = true, count + 1 end
      first[names[1].symbol:match "^[%w_]+"] = true
      first[k[3]:frames()[1].symbol:match "^[%w_]+"] = true
      if k[3]:depth() ~= 1 then first.deeper = true end
    end
  end
  table.sort(lines)
  for name in pairs(first) do lines[#lines + 1] = name end
  print(table.concat(lines, ", ") .. ": " .. count)
end)
]])
  file:close()
  local run = target.uplua(path .. " -- ./build/targets/traced 1 23")
  os.remove(path)
  is(run.err, "", "nothing is missing")
  return run.out
end

is(seen [[up.raw_tracepoint("task_rename", function(e) see("raw", e) end)]], "raw 23, __set_task_comm: 1\n",
  "a raw tracepoint")
is(seen [[up.tracepoint("task:task_rename", function(e) see("record", e) end)]], "record 23, __set_task_comm: 1\n",
  "a tracepoint")
is(seen [[
up.raw_tracepoint("task_rename", function(e) see("raw", e) end)
up.tracepoint("task:task_rename", function(e) see("record", e) end)
up.raw_tracepoint("task_rename", function(e) for i = 1, e.pid do if i == 2 then see("loop", e) break end end end)
]], "loop 23, raw 23, record 23, __set_task_comm: 1\n", "several: one stack")

-- Linux 6.1 gives no kernel's stack to who looks at one system call by its record.
local major, minor = io.open "/proc/sys/kernel/osrelease":read "*a":match "^(%d+)%.(%d+)"
local one = seen [[up.syscall("prctl", function(e) see("call", e) end)]]
local whole = one ~= ": 0\n" or tonumber(major) * 100 + tonumber(minor) >= 618
if whole then is(one, "call 23, syscall_trace_enter: 1\n", "a system call") end
is(seen([[
up.syscall("prctl", function(e) see("call", e) end)
up.syscall("*", function(e) if e.nr == ]] .. PRCTL .. [[ then see("any", e) end end)
up.tracepoint("syscalls:sys_enter_prctl", function(e) see("record", e) end)
up.raw_tracepoint("sys_enter", function(e) if e.args.id == ]] .. PRCTL .. [[ then see("raw", e) end end)
]]), whole and "any 23, call 23, raw 23, record 23, syscall_trace_enter: 1\n" or
  "any 23, raw 23, syscall_trace_enter: 1\n", "in every way: one stack")

target.done()
tap.done_testing()
