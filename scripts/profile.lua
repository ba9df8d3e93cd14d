--[=[
profile: where does the CPU time go?

  uplua profile.lua [options] [-- PID ... or COMMAND]

looks 99 times a second at each CPU that is not idle, and prints at the end the stacks that were seen most often.

  -F, --hertz N          so many samples a second on each CPU (default 99)
  -n, --top N            the N stacks that were seen most often (default 20; 0: all)
  -u, --user             samples of programs only, without the kernel's part of stacks
  -k, --kernel           samples of the kernel only, without the programs' part
  -b, --by WHAT          by process, thread, cpu or nothing but the stack: process, thread, cpu, stack (default process)
      --folded FILE      writes all stacks to FILE, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)

Ends on Ctrl-C, when the target exits, or after --duration.

  $ uplua --duration 10s profile.lua --flame cpu.svg
--]=]
local up     = require "uplua"
local flame  = require "uplua.flame"
local folded = require "uplua.folded"

local options = up.args {
  "profile.lua [options] [-- PID ... or COMMAND]",
  { "hertz,F", "N",    "integer", 99,        "samples a second on each CPU", least = 1, most = 100000 },
  { "top,n",   "N",    "integer", 20,        "the N stacks that were seen most often; 0: all" },
  { "user,u",                                "samples of programs only" },
  { "kernel,k",                              "samples of the kernel only" },
  { "by,b",    "WHAT", "string",  "process", "by process, thread, cpu or stack" },
  { "folded",  "FILE", "string",  false,     "write all stacks to FILE, a line each" },
  { "flame",   "FILE", "string",  false,     "draw all as a flame graph" },
}
if options[1] then up.wrong("'%s' is one argument too many; the target comes after --", options[1]) end
if options.user and options.kernel then up.wrong "--user and --kernel together leave nothing" end

local WHO = { process = "{ e.comm, e.pid", thread = "{ e.comm, e.pid, e.tid", cpu = "{ e.cpu", stack = "{ 0" }
if not WHO[options.by] then up.wrong("--by: process, thread, cpu or stack, not '%s'", options.by) end
local HEADS = {
  process = function(k) return ("%s (pid %d)"):format(k[1], k[2]), k[3] end,
  thread = function(k) return ("%s (pid %d, thread %d)"):format(k[1], k[2], k[3]), k[4] end,
  cpu = function(k) return ("CPU %d"):format(k[1]), k[2] end,
  stack = function(k) return nil, k[2] end,
}

local samples, seen = up.count(), up.count()
local STACK = options.user and "e:ustack()" or options.kernel and "e:kstack()" or "e:stack()"
local key = up.expression(("%s, %s }"):format(WHO[options.by], STACK), "profile")

-- The kernel's addresses are negative as handlers compute.
local function wanted(e) return true end
if options.user then function wanted(e) return up.i64(e.ip) >= 0 end end
if options.kernel then function wanted(e) return up.i64(e.ip) < 0 end end

up.profile(options.hertz, function(e)
  seen:inc()
  if wanted(e) then samples[key(e)]:inc() end
end)

-- Rows of { head, stack, n }, those that print equally as one.
local function merged()
  local rows, by_name, sum = {}, {}, 0
  for k, n in samples:pairs() do
    local head, stack = HEADS[options.by](k)
    local name = (head or "") .. "\n" .. stack:key()
    if not by_name[name] then
      by_name[name] = { head = head, stack = stack, name = name, n = 0 }
      rows[#rows + 1] = by_name[name]
    end
    by_name[name].n, sum = by_name[name].n + n, sum + n
  end
  table.sort(rows, function(a, b)
    if a.n ~= b.n then return a.n > b.n end
    return a.name < b.name
  end)
  return rows, sum
end

up.at_exit(function()
  local rows, sum = merged()
  local shown = options.top == 0 and #rows or math.min(options.top, #rows)
  for i = shown, 1, -1 do -- what was seen most often is the last on the screen
    up.printf("%s\n%s%8s  %.1f %%\n\n", rows[i].stack, rows[i].head and "     " .. rows[i].head .. "\n" or "", up.thousands(rows[i].n),
      100 * rows[i].n / sum)
  end
  up.printf("%s samples in %s stacks%s%s\n", up.thousands(sum), up.thousands(#rows),
    shown < #rows and (", of which the %d most frequent are above"):format(shown) or "",
    sum < seen:get() and ("; %s others were left out"):format(up.thousands(seen:get() - sum)) or "")
  local keys = {}
  for k, n in samples:pairs() do
    local head, stack = HEADS[options.by](k)
    keys[{ head or nil, stack }] = n
  end
  if options.folded then folded.write(options.folded, keys) end
  if options.flame then flame.write(options.flame, keys, { title = "CPU time" }) end
end)
