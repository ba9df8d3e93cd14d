-- Sampling: how often, where, and whole stacks in user space and in the kernel.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local HERTZ = target.hertz(499)

-- How many of the samples there have to be, and of them as the program does. A machine that is emulated stands still at
-- times, and its clock does not.
local RATE, SHARE = tap.fewer(0.4, 0.1), tap.fewer(0.8, 0.5)

local path = target.folder() .. "-profile.lua"
local file = assert(io.open(path, "w"))
file:write(([[
local up = require "uplua"
local n, places, stacks, both, joined = up.count(), up.count(), up.count(), up.count(), up.count()
up.profile(%d, function(e)
  n:inc()
  places[{ e.comm, e.ip > 0x7fffffffffffffffULL, e.period > 0, e.probe }]:inc()
  stacks[{ e:ustack(), e:kstack() }]:inc()
  both[e:ustack(2)]:inc()
  joined[e:stack()]:inc()
end)
local function names(s)
  local list = {}
  for i, frame in ipairs(s:frames()) do list[i] = (frame.kernel and "K:" or "") .. (frame.symbol or "?") end
  return table.concat(list, " ")
end
up.at_exit(function()
  print("n", n:get())
  for k, count in places:pairs() do print("place", k[1], tostring(k[2]), tostring(k[3]), k[4], count) end
  for k, count in stacks:pairs() do print("stack", count, names(k[1]), names(k[2]), k[1]:folded(), k[2]:folded()) end
  local expected = {} -- the joined stack of each sample is both of its parts
  for k, count in stacks:pairs() do
    local text = names(k[2]) .. (#k[2] > 0 and #k[1] > 0 and " " or "") .. names(k[1])
    expected[text] = (expected[text] or 0) + count
  end
  for s, count in joined:pairs() do expected[names(s)] = (expected[names(s)] or 0) - count end
  local wrong = 0
  for _, count in pairs(expected) do wrong = wrong + math.abs(count) end
  print("wrong", wrong)
  local sum = 0
  for _, count in both:pairs() do sum = sum + count end
  print("two", sum)
end)
]]):format(HERTZ))
file:close()

local CHAIN = (" descend"):rep(23) .. " main "

-- What the samples of build/targets/busy KIND say.
local function profile(kind)
  local stolen = target.stolen()
  local run = target.uplua(path .. " -- ./build/targets/busy " .. kind)
  local used = tonumber(run.out:match "used (%d+) ms")
  -- While the machine stands still nothing is sampled, and the program's clock may go on.
  local least = RATE * (used - (target.stolen() - stolen) / 1e6) * HERTZ / 1000
  local seen = { used = used, least = least, n = tonumber(run.out:match "n\t(%d+)"), run = run,
                 stacks = {}, sum = 0, user = 0, kernel = 0 }
  for comm, in_kernel, period, probe, count in run.out:gmatch "place\t(%S+)\t(%a+)\t(%a+)\t(%S+)\t(%d+)" do
    local at = in_kernel == "true" and "kernel" or "user"
    seen[at] = seen[at] + (comm == "busy" and tonumber(count) or 0)
    seen.fields = period .. " " .. probe
  end
  for count, user, kernel, folded,
    kernel_folded in run.out:gmatch "stack\t(%d+)\t([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)" do
    seen.stacks[#seen.stacks + 1] = { count = tonumber(count), user = user, kernel = kernel, folded = folded,
      kernel_folded = kernel_folded }
    seen.sum = seen.sum + tonumber(count)
  end
  return seen
end

-- How many samples of SEEN have a stack that ACCEPTS takes.
local function share(seen, accepts)
  local count = 0
  for _, s in ipairs(seen.stacks) do count = count + (accepts(s) and s.count or 0) end
  return count
end

local function is_whole(s) return s.user:find(CHAIN, 1, true) and s.user:find "_start$" end

local seen = profile "user"
is(seen.run.status == 0 and 0 or seen.run.err, 0, "the program's status")
local expected = seen.used * HERTZ / 1000
ok(seen.n > 0 and seen.n >= seen.least and seen.n < 1.3 * expected,
  ("%d samples in %d ms of CPU time at %d Hz"):format(seen.n, seen.used, HERTZ))
is(seen.sum, seen.n, "each has a stack")
is(seen.fields, "true " .. HERTZ, "e.period and e.probe")
ok(seen.user > SHARE * seen.n, "in user space")
local whole = share(seen, function(s) return is_whole(s) and s.user:find "^compute descend " end)
ok(whole > SHARE * seen.n, ("%d of %d stacks are whole, from the loop down to _start"):format(whole, seen.n))
local without = share(seen, function(s) return is_whole(s) and s.kernel == "" and s.kernel_folded == "" end)
ok(without > SHARE * seen.n, "what computes has no frames in the kernel")
local folded = share(seen, function(s) return s.folded:find("main;" .. ("descend;"):rep(23) .. "compute", 1, true) end)
ok(folded >= whole, "folded: the outermost first")

is(seen.run.out:match "wrong\t(%d+)", "0", "e:stack() of each is the kernel's stack above the program's")

seen = profile "kernel"
expected = seen.used * HERTZ / 1000
ok(seen.n > 0 and seen.n >= seen.least and seen.n < 1.3 * expected,
  ("%d samples in %d ms of CPU time, mostly the kernel's"):format(seen.n, seen.used))
ok(seen.kernel > SHARE * seen.n, "in the kernel")
whole = share(seen, function(s)
  return is_whole(s) and s.user:find " copy descend " and s.kernel:find "K:%S*read%S* .*K:entry_SYSCALL_64%S*$"
end)
ok(whole > SHARE * seen.n,
  ("%d of %d: the kernel's stack from its work down to the system call, and the program's below it"):format(whole,
  seen.n))
is(seen.run.out:match "wrong\t(%d+)", "0", "… as one by e:stack()")

-- A handler of a function that a sample interrupts loses nothing, and the other way round.
local run = target.uplua(([[-e 'n, calls, keys = count(), count(), count()
  profile(%d, function(e) n:inc() keys[1]:inc() end)
  uprobe("./build/targets/busy:tick", function(e) calls:inc() keys[1]:inc() end)
  at_exit(function() print(calls:get(), n:get() > 0, keys[1] == n:get() + calls:get())
    end)' -- ./build/targets/busy calls]]):format(target.hertz(4999)))
is(run.out:match "%d+\t%a+\t%a+", "100003\ttrue\ttrue", "calls, and samples that interrupt them, in one count")
is(run.err, "", "… without a loss")

local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("-e '%s' -- true"):format(code)).err, want, what)
end
refused('profile(0, function() end)',
  "%-e:1: profile: the first argument is how often a second: 0 is not a whole number from 1 to 1000000", "0 Hz")
refused('profile("99", function() end)', "%-e:1: profile: the first argument is how often a second", "a string")
refused('profile(99.5, function() end)', "99.5 is not a whole number", "a fraction")
refused('profile(99)', "%-e:1: profile 99: the last argument is the handler, a function", "no handler")
refused('profile(99, { pidd = 1 }, function() end)', "%-e:1: profile: unknown option 'pidd'", "an unknown option")
refused('n = count() profile(99, function(e) n[e.arg0]:inc() end)',
        "%-e:1: the event of a profile has no field 'arg0'; it has time, .*period, e.regs, e:stack%(%), " ..
        "e:ustack%(%) and e:kstack%(%)", "e.arg0")
refused('profile(1, function(e) n = 1 end)', "%-e:1: a handler cannot assign to 'n'", "what no handler can do")
local most = target.max_hertz()
refused(('n = count() profile(%d, function(e) n:inc() end)'):format(most + 1),
        ("profile: cannot sample %d times a second: this kernel permits %%d+ %%(sysctl " ..
         "kernel%%.perf_event_max_sample_rate%%)"):format(most + 1),
        "too often for the kernel")
-- In user space there is nothing above the program's stack.
run = target.uplua [[-e 'n = count()
  uprobe("./build/targets/busy:tick", function(e) n[{ e:stack(), e:ustack() }]:inc() end)
  at_exit(function() for k, count in n:pairs() do print(count, k[1] == k[2], k[1]:folded()) end
    end)' -- ./build/targets/busy calls]]
like(run.out, "100003\ttrue\t_start;[%w_;.+]+;main;tick\n", "e:stack() of a function is its e:ustack()")
run = target.uplua [[--explain -e 'n = count() profile(99, function(e) n[e:kstack(5)]:inc() end)']]
like(run.out, "profile 99\n  at       each CPU that is not idle, 99 times a second\n.*uplua_kstack", "--explain")
run = target.uplua(
  ("-e 'n = count() profile(%d, function(e) n[e:kstack(2)]:inc() end)' -- ./build/targets/busy kernel"):format(HERTZ))
like(run.out, "\n *%d+\n +[%w_.]+%+0x%x+\n +[%w_.]+%+0x%x+\n *%d", "the kernel's stack alone, cut to two frames")
is(run.err, "", "… without a loss")
os.remove(path)
target.done()
tap.done_testing()
