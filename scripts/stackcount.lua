--[=[
stackcount: by which calls does the program get to a function?

  uplua stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the stacks at the hits of all probes that the specs name, and prints them at the end with their numbers, the most
frequent first.

  -n, --top N            the N most frequent stacks (default 20; 0: all)
  -u, --user             the program's part of stacks only
  -k, --kernel           the kernel's part only
  -p, --by-process       by process and stack
      --folded FILE      writes all stacks to FILE, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)

A spec is what --list prints and uprobe takes: libc:malloc, kprobe:'vfs_*', tracepoint:sched:sched_switch, syscall:openat.

  $ uplua stackcount.lua libc:malloc -- redis-server
--]=]
local up     = require "uplua"
local flame  = require "uplua.flame"
local folded = require "uplua.folded"

local options = up.args {
  "stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "top,n",        "N",    "integer", 20,    "the N most frequent stacks; 0: all" },
  { "user,u",                                 "the program's part of stacks only" },
  { "kernel,k",                               "the kernel's part only" },
  { "by-process,p",                           "by process and stack" },
  { "folded",       "FILE", "string",  false, "write all stacks to FILE, a line each" },
  { "flame",        "FILE", "string",  false, "draw all as a flame graph" },
}
if #options == 0 then up.wrong "whose stacks? Give specs, such as libc:malloc" end
if options.user and options.kernel then up.wrong "--user and --kernel together leave nothing" end

local stacks = up.count()

local function stack_of(e) return e:stack() end
if options.user then function stack_of(e) return e:ustack() end end
if options.kernel then function stack_of(e) return e:kstack() end end

local function count(e) stacks[stack_of(e)]:inc() end
if options.by_process then function count(e) stacks[{ e.comm, e.pid, stack_of(e) }]:inc() end end

for _, spec in ipairs(options) do up.probe(spec, count) end

-- Stacks of several processes that print equally are one.
local function merged()
  local rows, by_name, sum = {}, {}, 0
  for key, n in stacks:pairs() do
    local stack, head = options.by_process and key[3] or key, options.by_process and ("%s (pid %d)"):format(key[1], key[2]) or ""
    local name = head .. "\n" .. stack:key()
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
  for i = shown, 1, -1 do -- the most frequent is the last line on the screen
    up.printf("%s%s\n%12s\n\n", rows[i].stack, rows[i].head ~= "" and "\n     " .. rows[i].head or "", up.thousands(rows[i].n))
  end
  up.printf("%s hits in %s stacks%s\n", up.thousands(sum), up.thousands(#rows),
    shown < #rows and (", of which the %d most frequent are above"):format(shown) or "")
  if options.folded then folded.write(options.folded, stacks) end
  if options.flame then flame.write(options.flame, stacks, { title = table.concat(options, " "), unit = "hits" }) end
end)
