-- Whatever a handler has on its stack, the kernel loads it together with the functions of the library that it calls:
-- what these take is measured when uplua is built (bpf/stack_bytes.c). Kernels before 6.7 count most strictly, which is
-- why this test also runs under Linux 6.1. On build/targets/strings: many(s, t, i), 1,009 times in each thread.
local tap = require "tap"
local target = require "target"

-- Handlers with strings of FROM … TO bytes, 8 apart; BODY adds the string s to what they count.
local function handlers(from, to, body)
  local lines = { 'local up = require "uplua"', "local n, h = up.count(), up.hist()" }
  for size = from, to, 8 do
    lines[#lines + 1] = ('up.%s("./build/targets/strings:many", function(e) local s = up.str(e.arg0, %d) %s end)')
      :format(body:find "e%.elapsed" and "uretprobe" or "uprobe", size, body)
  end
  lines[#lines + 1] = 'up.at_exit(function() print "loaded" end)'
  return table.concat(lines, "\n")
end

local function loads(from, to, body, name)
  local path = target.folder() .. "-room.lua"
  local file = assert(io.open(path, "w"))
  file:write(handlers(from, to, body))
  file:close()
  local result = target.uplua(path .. " -- ./build/targets/strings 1")
  os.remove(path)
  tap.is(result.out:match "loaded" or result.err, "loaded", name)
end

loads(80, 216, "n[{ s, e:ustack() }]:inc()", "strings beside a stack's walk, joined with others into one program")
loads(80, 216, "for i = 1, e.arg2 % 3 do n[{ s, e:ustack(), i }]:inc() end", "… in a loop")
loads(320, 480, "h[s]:add(e.arg2)", "strings beside the functions of aggregations")
loads(320, 480, "for i = 1, e.arg2 % 3 do h[s]:add(i) end", "… in a loop")
loads(320, 480, "h[s]:add(e.elapsed)", "… beside those that pair entries and returns")

tap.done_testing()
