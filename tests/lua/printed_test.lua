-- The classic: a program prints the arguments of each call of a function, from where it was called, and its stack
-- pointer; uplua's output is the same.
local tap = require "tap"
local target = require "target"

local folder = target.folder() .. "-printed"
local r = target.uplua(([[-e '
uprobe("./build/targets/printer:printed", function(e)
  printf("%%d %%u %%s %%u %%x %%x\n", i32(e.arg0), u64(e.arg1), str(e.arg2), u64(e.arg3), e.caller, e.sp)
end)' -- ./build/targets/printer %s]]):format(folder))
local file = assert(io.open(folder))
local own = {}
for line in file:lines() do
  own[#own + 1] = line .. "\n"
end
file:close()
os.remove(folder)
tap.is(#own, 101, "the program has printed each call")
tap.is(r.out, table.concat(own),
  "its lines are ours: negative and large numbers, strings, sizes, return addresses, stack pointers")
tap.is(r.err, "", "nothing is lost")
target.done()
tap.done_testing()
