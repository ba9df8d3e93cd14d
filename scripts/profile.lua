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
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

Ends on Ctrl-C, when the target exits, or after --duration.

  $ uplua --duration 10s profile.lua --flame cpu.svg
  $ uplua --duration 10s profile.lua --folded monday.folded -- 4242
  $ uplua --duration 10s profile.lua --before monday.folded --flame changes.svg -- 4243
--]=]
local up     = require "uplua"
local files  = require "uplua.stack_files"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"

local options = up.args {
  "profile.lua [options] [-- PID ... or COMMAND]",
  { "hertz,F", "N",    "integer", 99,        "samples a second on each CPU", least = 1, most = 100000 },
  { "top,n",   "N",    "integer", 20,        "the N stacks that were seen most often; 0: all" },
  { "user,u",                                "samples of programs only" },
  { "kernel,k",                              "samples of the kernel only" },
  { "by,b",    "WHAT", "string",  "process", "by process, thread, cpu or stack" },
  files.folded, files.flame, files.before,
  arguments = 0,
}
if options.user and options.kernel then up.args.fail "--user and --kernel together leave nothing" end
files.check(options)

local WHO = {
  process = "{ e.comm, e.pid, %s }", thread = "{ e.comm, e.pid, e.tid, %s }", cpu = "{ e.cpu, %s }", stack = "%s",
}
if not WHO[options.by] then up.args.fail("--by: process, thread, cpu or stack, not '%s'", options.by) end
local LABELS = {
  process = function(k) return ("%s (pid %d)"):format(k[1], k[2]) end,
  thread = function(k) return ("%s (pid %d, thread %d)"):format(k[1], k[2], k[3]) end,
  cpu = function(k) return ("CPU %d"):format(k[1]) end,
}

local samples, seen = up.count(), up.count()
local STACK = options.user and "e:ustack()" or options.kernel and "e:kstack()" or "e:stack()"
local key = up.expression(WHO[options.by]:format(STACK), { name = "profile" })

-- The kernel's addresses are negative as handlers compute.
local function wanted(e) return true end
if options.user then function wanted(e) return up.i64(e.ip) >= 0 end end
if options.kernel then function wanted(e) return up.i64(e.ip) < 0 end end

up.profile(options.hertz, function(e)
  seen:inc()
  if wanted(e) then samples[key(e)]:inc() end
end)

up.at_exit(function()
  local rows, sum = stacks.rows(samples, LABELS[options.by])
  local shown = stacks.print(rows, options.top, function(row)
    return ("%8s  %.1f %%"):format(text.thousands(row.number), 100 * row.number / sum)
  end)
  local others = seen:get() - sum
  up.printf("%s in %s%s\n", text.plural(sum, "sample"), stacks.told(rows, shown, "most frequent"),
    others > 0 and ("; %s left out"):format(text.plural(others, "other was", "others were")) or "")
  files.write(options, stacks.named(rows), { title = "CPU time" })
end)
