-- Samples of all processes called NAME, by stack: how many stacks there are, what has no name, and what uplua's own
-- memory is meanwhile:
--   uplua churn.lua NAME SECONDS
local up = require "uplua"

local name, seconds = arg[1], tonumber(arg[2])
local user, both = up.count(), up.count { max = 60000 }
up.profile(99, function(e)
  if e.comm == name then
    user[e:ustack()]:inc()
    both[e:stack()]:inc()
  end
end)

-- Megabytes.
local function memory()
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match "^VmRSS:%s+(%d+)"
    if kilobytes then return kilobytes / 1024 end
  end
end

local least, most -- after the first minute, or a third of a short run
local pause = math.min(60, seconds / 3)
up.every("1s", function()
  pause = pause - 1
  if pause < 0 then
    least, most = math.min(least or math.huge, memory()), math.max(most or 0, memory())
  end
end)
up.after(("%gs"):format(seconds), up.exit)

local function describe(what, counts)
  local stacks, samples, unknown, functions, seen = 0, 0, 0, 0, {}
  for s, n in counts:pairs() do
    stacks, samples = stacks + 1, samples + n
    if tostring(s):find("[unknown]", 1, true) then
      unknown = unknown + 1
      io.stderr:write(("without a name, %d samples:\n%s\n"):format(n, s:text { addresses = true, modules = true }))
    end
    local folded = s:folded()
    if not seen[folded] then seen[folded], functions = true, functions + 1 end
  end
  print(("%s %d stacks %d samples %d unknown %d functions"):format(what, stacks, samples, unknown, functions))
end

-- How many stacks were left if the innermost frame of the kernel's were its function, without the place in it.
local function innermost_functions(counts)
  local distinct, seen = 0, {}
  for s in counts:pairs() do
    local text, innermost = s:text(), s:frames()[1]
    if innermost and innermost.kernel then text = text:gsub("%+0x%x+", "", 1) end
    if not seen[text] then seen[text], distinct = true, distinct + 1 end
  end
  return distinct
end

up.at_exit(function()
  print(("memory %.1f %.1f MB"):format(least, most))
  describe("user", user)
  describe("both", both)
  print(("end %.1f MB"):format(memory()))
  print(("innermost %d functions"):format(innermost_functions(both)))
end)
print "ready"
io.stdout:flush()
