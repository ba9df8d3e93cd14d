--[=[
funccount: how often is each function called?

  uplua funccount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the hits of all probes that the specs name, by function, and prints them at the end, the most called first: on
Ctrl-C, when the target exits, or after --duration.

  -i, --interval TIME    prints the counts each TIME, too
  -n, --top N            the N most called (default 0: all)
  -b, --by WHAT          by WHAT and function: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid
  -p, --by-process       as --by process
  -k, --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e, in a column NAME; may be repeated
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values: 'bytes=e.arg2'; may be repeated
  -S, --stacks           with the stacks behind each row, for Enter where the table lives (--interval on a terminal)
  -w, --where EXPR       only hits for which EXPR is true: 'e.arg0 > 4096'; behind a spec, of that one alone

A spec is what --list prints and uprobe takes: libc:malloc, 'libc:str*', './app:ns::Klass::*', kprobe:'vfs_*',
tracepoint:'sched:*', syscall:'open*', usdt:./app:shop:'*'.

  $ uplua funccount.lua 'libc:pthread_mutex_*' -- redis-server
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local specs  = require "uplua.specs"
local stacks = require "uplua.stacks"
local view   = require "uplua.view"

local options = up.args {
  "funccount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "interval,i",   "TIME", "duration", false, "print the counts each TIME, too", least = "10ms" },
  { "top,n",        "N",    "integer",  0,     "the N most called; 0: all" },
  by.option,
  { "by-process,p",                            "as --by process" },
  by.key, by.sum, specs.where,
  { "stacks,S",                                "with the stacks behind each row, for Enter" },
}
if options.stacks and not options.interval then
  up.args.fail "--stacks: the stacks are behind the rows of a table that lives; give --interval, or use stackcount.lua"
end
if #options == 0 then up.args.fail "which functions? Give specs, such as 'libc:str*'" end

local calls, by_stack, stacked = up.count(), up.count(), options.stacks
local who = by.new(options.by or options.by_process and "process", { keys = options.key })
local sums = by.sums(options.sum)
local several = specs.ambiguous(options)

local whose, add = who and who.key, sums.add
local function key(e) return e.func end
if several then function key(e, returns) return { e.func, e.probe, returns } end end
if who then function key(e) return { e.func, whose(e) } end end
if who and several then function key(e, returns) return { e.func, whose(e), e.probe, returns } end end

for _, spec in ipairs(options) do
  if spec == "syscall:*" then
    up.args.fail "syscall:'*' is one probe of all calls, which does not know their names; syscalls.lua tells them apart"
  end
end
specs.probe(options, function(e, returns)
  local k = key(e, returns)
  add(e, k)
  calls[k]:inc()
  if stacked then by_stack[{ k, e:stack() }]:inc() end
end)

local counts = view.new {
  who and who.columns,
  { "func", "Function" },
  { "calls", "Calls", "count" },
  sums.columns,
  by = "calls", top = options.top,
}

up.report(options.interval, function()
  local rows, counted, taken = {}, calls:take(), stacked and by_stack:take()
  sums:take()
  for key, n in counted:pairs() do
    local row = sums:fill({ func = key, calls = n }, key)
    if who or several then row.func = key[1] end
    if who then who:fill(row, key[2]) end
    row.behind = taken and function() return stacks.behind(taken, key, "call") end or nil
    if several then row.probe, row.returns = key[who and 3 or 2], key[who and 4 or 3] end
    rows[#rows + 1] = row
  end
  if several then specs.name_apart(rows, options) end
  counts:print(rows)
end, { tables = true })
