-- Shared objects may be called anything: what is uplua's own in the kernel has names of its own. On build/targets/calls
-- with one thread: name("uplua-23") 23 times, with stacks, scratch memory, calls that are kept and the names of several
-- functions in one setup.
local tap = require "tap"
local target = require "target"

-- What parts of the object are called, were called once, or could be.
local NAMES = {
  "ledger", "zeros", "exit", "exited", "turns", "scratch", "stacks", "stacks_reserve", "threads_end", "calls_settled",
  "calls_0_0", "calls0",
  "handler_0", "handler0", "handlers_0", "object_0", "map0", "map1", "spill_0", "spill0", "names_0_1", "names0",
  "stack_own", "own_code", "stack_lost",
  "stack_rules", "unwind_kernel", "unwind_wanted", "aggregate_lost", "nothing", "license", "_license", "maps",
  "names", "int", "bss", "walk",
  "uplua_zeros", "uplua_map0", "uplua_map1",
  "uplua_stacks", "uplua_ustack", "uplua_handler0", "uplua_exit", "uplua_calls0", "LBB0_1",
}
local KINDS = {
  { "up.hash()", "%s[1] = (%s[1] or 0) + 1", "%s[1]" }, { "up.var(0)", "%s:add(1)", "%s:get()" },
  { "up.count()", "%s[1]:inc()", "%s[1]" },
  { "up.stats()", "%s:add(1)", "%s.sum" },
}
local GROUP = 14 -- names in a handler

local declared, handlers, shown = {}, {}, {}
for i, name in ipairs(NAMES) do
  local kind = KINDS[i % #KINDS + 1]
  declared[i] = ("%s = %s"):format(name, kind[1])
  if i % GROUP == 1 then handlers[#handlers + 1] = 'up.uprobe("./build/targets/calls:name", function(e)' end
  handlers[#handlers + 1] = kind[2]:gsub("%%s", name)
  if i % GROUP == 0 or i == #NAMES then handlers[#handlers + 1] = "end)" end
  shown[i] = kind[3]:format(name)
end
local run = target.script(([[
local up = require "uplua"
long, at = up.hash(), up.hash()
%s
up.uretprobe("./build/targets/calls:name", function(e)
  long[1] = { up.str(e.arg0, 400), up.str(e.arg0, 300) }
  if e.elapsed < 0 then up.exit() end
end)
up.uprobe("./build/targets/calls:na*", function(e) at[e.func] = e:ustack(1) end)
%s
up.at_exit(function() print(%s) end)]]):format(table.concat(declared, "\n"),
                                               table.concat(handlers, "\n"), table.concat(shown, " + ")),
  "-- ./build/targets/calls 1")
tap.is(run.out:match "\n(%d+)\n", tostring(23 * #NAMES), "each object has what was added to it")
tap.is(run.err, "", "nothing is lost")
target.done()
tap.done_testing()
