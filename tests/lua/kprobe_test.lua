-- Functions of the kernel: every call of a program's threads, with its arguments, result and stacks. Where the kernel
-- has no kprobes, what the messages say; the machine of tests/vm has them.
local examples = require "examples"
local machine = require "machine"
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- --- what is wrong with a probe, on any kernel ---

local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("--explain -e %s"):format(target.quote(code))).err, "^uplua: " .. want, what)
end
refused('kprobe("vfs_raed", function() end)',
  "%-e:1: kprobe vfs_raed: no such function in the kernel; did you mean vfs_read", "a function that there is not")
refused('kretprobe("nowhere:vfs_read", function() end)',
  "%-e:1: kretprobe nowhere:vfs_read: the kernel has no module nowhere loaded", "a module")
refused('kprobe("vfs_read+1c", function() end)', "%-e:1: kprobe vfs_read%+1c: '%+1c' is not an offset",
  "an offset that is none")
refused('kprobe("vfs_*+1", function() end)', "%-e:1: kprobe vfs_%*%+1: an offset needs one function",
  "an offset and a pattern")
refused('kretprobe("vfs_read+1", function() end)', "%-e:1: kretprobe vfs_read%+1: a return probe stands at a function",
  "a return inside")
refused('kprobe("", function() end)', "%-e:1: kprobe '' names no function; write FUNCTION, such as vfs_read",
  "no function")
refused('kprobe(7, function() end)', '%-e:1: kprobe: the first argument names the kernel\'s function: "vfs_read"',
  "a number")
refused('kprobe("vfs_read")', "%-e:1: kprobe vfs_read: the last argument is the handler", "no handler")
refused('n = count() kprobe("vfs_read", function(e) n[e.ret]:inc() end)',
        "%-e:1: e.ret is known when the function returns: use kretprobe", "the result at the entry")
refused('n = count() kprobe("vfs_read", function(e) n[e.caller]:inc() end)',
        "%-e:1: the event of a kprobe has no field 'caller'; it has time, .*func, ip, arg0, " ..
        ".*e:ustack%(%) and e:kstack%(%)", "e.caller")
if jit.arch == "x64" then -- aarch64 has registers for all eight
  refused('n = count() kprobe("vfs_read", function(e) n[e.arg7]:inc() end)',
    "%-e:1: arg7 is not in a register on this CPU", "an argument on the stack")
end

local explained = target.uplua [[--explain -e 'n = count() kprobe("vfs_read", function(e) n:inc() end)
  kretprobe("vfs_read", function(e) n:inc() end)']]
like(explained.out, "\nkprobe vfs_read\n  at       the kernel's vfs_read\n", "--explain")
like(explained.out, "\nkretprobe vfs_read %(at the function's return%)\n.*\nkretprobe vfs_read %(at the function's " ..
                    "entry, for the handler at its return%)\n",
     "a return has a half at the entry, so that losses are counted")

refused('fentry("vfs_*", function() end)',
  "%-e:1: fentry vfs_%*: a function calls the handler itself, and each needs one of its own: use kprobe",
  "fentry of a pattern")
refused('fexit("vfs_raed", function() end)',
  "%-e:1: fexit vfs_raed: no such function in the kernel; did you mean vfs_read", "fexit of no function")
refused('n = count() fentry("vfs_read", function(e) n[e.ret]:inc() end)',
  "%-e:1: e.ret is known when the function returns: use fexit", "the result at fentry")
refused('n = count() fentry("vfs_read", function(e) n[e.args.cuont]:inc() end)',
        "%-e:1: fentry vfs_read has no argument 'cuont'; did you mean count",
          "an argument that there is not, at fentry")
refused('n = count() kprobe("vfs_read", function(e) n[e.args.cuont]:inc() end)',
        "%-e:1: kprobe vfs_read has no argument 'cuont'; did you mean count", "… at a kprobe")
refused('n = count() kprobe("vfs_*", function(e) n[e.args.count]:inc() end)',
        "%-e:1: kprobe vfs_%* has no argument 'count'", "of several functions: they have none in common")
explained = target.uplua [[--explain -e 'n = count()
  fentry("vfs_read", function(e) n[{ e.args.count, e.args.buf ~= nil }]:inc() end)']]
like(explained.out, "\nfentry vfs_read\n  at       the kernel's vfs_read\n.*bpf_get_func_arg", "--explain of fentry")

local device = io.open "/sys/bus/event_source/devices/kprobe/type"
ok(device or not os.getenv "UPLUA_KERNEL", "the kernel of tests/vm has kprobes")
if not device then
  local run = target.uplua [[-e 'n = count() kprobe("vfs_read", function(e) n:inc() end)']]
  is(run.err:match "[^\n]*", "uplua: -e:1: kprobe vfs_read: this kernel has no kprobes (CONFIG_KPROBE_EVENTS); " ..
                             "it has tracepoints: up.tracepoint, " ..
     "or up.syscall for system calls", "without kprobes, what there is")
  run = target.uplua [[-e 'n = count() fentry("vfs_read", function(e) n:inc() end)']]
  like(run.err, "^uplua: %-e:1: fentry vfs_read: this kernel's functions can call no handlers %([^\n]*%); " ..
                "it has tracepoints: up.tracepoint\n", "without fentry, too")
  target.done()
  tap.done_testing()
end
device:close()

-- --- what a handler sees ---

-- Whether functions of the kernel can call handlers: on aarch64 since Linux 6.4.
local can_call = target.uplua("--info").out:find "\n  yes  trampoline " ~= nil
local KINDS = can_call and { "kprobe", "kretprobe", "fentry", "fexit" } or { "kprobe", "kretprobe" }
if not can_call then
  for _, kind in ipairs { "fentry", "fexit" } do
    like(target.uplua(([[-e '%s("vfs_read", function() end)' -- true]]):format(kind)).err,
         "^uplua: %-e:1: " .. kind ..
           " vfs_read: this kernel's functions can call no handlers %([^\n]*%); use up.kprobe\n", "without them")
  end
end

-- CODE with the names that functions and arguments have on this CPU, without the handlers that no function can call.
local function adapted(code)
  code = code:gsub("SEEKS", machine.seeks):gsub("SOUGHT", machine.sought)
  return can_call and code or "local function fentry() end local function fexit() end " .. code
end

-- How often the kernel passed over a handler of fentry or fexit in the last run, of any process, by kind: with
-- preempt=full a thread may enter the function while another one on its CPU is in the handler.
local passed

-- What the script CODE prints for build/targets/kernel_calls ARGUMENTS, and that nothing was lost unless LOSES.
local function run(code, arguments, loses)
  local result =
    target.uplua(("-e %s -- ./build/targets/kernel_calls %s"):format(target.quote(adapted(code)), arguments))
  -- The loader of the program opens files by names in pages that are not there yet; its own names are on its stack.
  local lost = result.err:gsub("  %d+ × unreadable memory read as nil, [^\n]*\n",
    ""):gsub("^uplua: not everything was seen:\n$", "")
  passed = {}
  lost = lost:gsub("  ([%d,]+) × ([%l_]+) %S+: hits that the kernel passed over, [^\n]*\n", function(count, kind)
    if kind ~= "fentry" and kind ~= "fexit" then return nil end
    passed[kind] = tonumber((count:gsub(",", "")))
    return ""
  end):gsub("^uplua: not everything was seen:\n$", "")
  if not loses then is(lost, "", "nothing is lost: " .. arguments) end
  return result.out, result.err
end

-- Whether COUNT is WANT, or short of it by what was passed over.
local function is_all(kind, count, want)
  local missed = want - (tonumber(count) or 0)
  return missed == 0 or missed > 0 and missed <= (passed[kind] or 0)
end

for _, threads in ipairs { 1, 4 } do
  local out = run([[
    calls, seeks, names = count(), count(), hash()
    kprobe("do_sys_openat2", function(e)
      local name = str(e.arg1, 64)
      if name == nil or not name:starts "/nowhere/" then return end
      calls[{ e.comm, e.func, e.probe, i32(e.arg0) }]:inc()
      names[{ e.tid, name }] = (names[{ e.tid, name }] or 0) + 1
    end)
    kprobe("SEEKS", function(e) if e.arg1 > 100000 then seeks[{ e.arg1, e.arg2 }]:inc() end end)
    at_exit(function()
      for k, n in calls:pairs() do print("calls", n, k[1], k[2], k[3], k[4]) end
      local once, tids, last = 0, {}, 0
      for k, n in names:pairs() do
        local t = tonumber(k[2]:match "^/nowhere/(%d+)%-%d+$")
        tids[t] = tids[t] or k[1]
        if n == 1 and tids[t] == k[1] then once = once + 1 end
      end
      local sought, sum = 0, 0
      for k, n in seeks:pairs() do sought, sum = sought + n, sum + k[1] - math.floor(k[1] / 100000) * 100000 end
      print("once", once, #tids, "sought", sought, sum)
    end)]], threads .. " 101")
  like(out, ("calls\t%d\tkernel_calls\tdo_sys_openat2\tdo_sys_openat2\t%%-100\n"):format(101 * threads),
    "each call, its function and a negative number")
  like(out, ("once\t%d\t%d\tsought\t%d\t%d\n"):format(101 * threads, threads, 101 * threads, threads * 101 * 102 / 2),
    "strings of the program, numbers")

  out = run([[
    opens, seeks, kinds, slow = count(), hash(), count(), count()
    kretprobe("do_sys_openat2", function(e)
      local name = str(e.arg1, 64)
      if name ~= nil and name:starts "/nowhere/" then opens[{ i32(e.ret), i32(e.arg0), e.elapsed > 0 }]:inc() end
    end)
    kretprobe("SEEKS", function(e)
      if e.ret > 100000 then seeks[e.ret] = e.ret - e.arg1 + 1 end
    end)
    kretprobe("SEEKS", function(e) if e.ret > 100000 then kinds:inc() end end)
    kretprobe("SEEKS", function(e) if e.elapsed < 0 or e.elapsed > 10000000000 then slow:inc() end end)
    at_exit(function()
      for k, n in opens:pairs() do print("opens", n, k[1], k[2], tostring(k[3])) end
      local equal = 0
      for _, difference in seeks:pairs() do equal = equal + difference end
      print("seeks", seeks:size(), equal, kinds:get(), slow:get())
    end)]], threads .. " 101")
  like(out, ("opens\t%d\t%%-2\t%%-100\ttrue\n"):format(101 * threads),
    "at the return: result, the entry's arguments and strings, elapsed")
  like(out, ("seeks\t%d\t%d\t%d\t0\n"):format(101 * threads, 101 * threads, 101 * threads),
    "64-bit results; with no, one and two values of the entry")
end

for _, example in ipairs(examples.of "doc/handlers.md") do
  if example.heading == "Functions of the kernel" and (can_call or not example.code:find "%f[%w]fe[nx][it]") then
    is(examples.run(example.code), example.output, ("doc/handlers.md:%d prints what it says"):format(example.line))
  end
end

local out = run([[
  both, at = count(), count()
  kprobe("SEEKS", function(e) if e.arg1 > 100000 then both[{ e:kstack(), e:ustack() }]:inc() at[e.ip]:inc() end end)
  kretprobe("SEEKS", function(e) if e.arg1 > 100000 then at[e.ip]:inc() end end)
  local function names(s)
    local list = {}
    for i, frame in ipairs(s:frames()) do list[i] = frame.symbol or "?" end
    return table.concat(list, " ")
  end
  at_exit(function()
    for k, n in both:pairs() do print("stack", n, names(k[1]), names(k[2])) end
    for ip, n in at:pairs() do print("at", n, symbol(0, ip)) end
  end)]], "1 101")
like(out, "stack\t101\t" .. machine.seeks .. " [^\t]*" .. machine.enters .. "[^\t]*\t%S*lseek%S* work ",
  "the kernel's stack, and the program's below it")
like(out, "at\t202\t" .. machine.seeks, "e.ip is the function, at its entry and its return")

-- Arguments by name, of all widths: by registers and by calls from the function.
for _, threads in ipairs { 1, 4 } do
  local want = 101 * threads
  out = run([[
    at, sums = count(), sum()
    local function see(e, kind)
      if e.args.offset > 100000 then
        at[{ kind, SOUGHT }]:inc()
        sums[kind]:add(e.args.offset)
      end
    end
    kprobe("SEEKS", function(e) see(e, "kprobe") end)
    kretprobe("SEEKS", function(e) see(e, "kretprobe") end)
    fentry("SEEKS", function(e) see(e, "fentry")
      if e.arg1 ~= e.args.offset or e.nargs ~= 3 then at[{ "wrong", true, true }]:inc() end end)
    fexit("SEEKS", function(e) see(e, "fexit") if e.args.offset > 100000 and e.ret ~= e.args.offset then
      at[{ "wrong", true, true }]:inc() end end)
    at_exit(function() for k, n in at:pairs() do print(k[1], n, k[2], k[3], sums[k[1] ] ) end end)]], threads .. " 101")
  local sum = 101 * 100000 * threads * (threads + 1) / 2 + threads * 101 * 102 / 2
  for _, kind in ipairs(KINDS) do
    local count, total = out:match(("%%f[^\n%%z]%s\t(%%d+)\ttrue\ttrue\t(%%d+)\n"):format(kind))
    ok(is_all(kind, count, want),
      ("%s: arguments by name, %s of %d calls, %d passed over"):format(kind, tostring(count), want, passed[kind] or 0))
    is(total, tonumber(count) == want and tostring(sum) or total, "… and their sum")
  end
  ok(not out:find "wrong", "numbers and results are the same")
  out = run([[
    opens = count()
    fexit("do_sys_openat2", function(e)
      local name = str(e.args.filename, 64)
      if name ~= nil and name:starts "/nowhere/" then opens[{ "fexit", e.args.dfd, i32(e.ret), e.func }]:inc() end
    end)
    kprobe("do_sys_openat2", function(e)
      local name = str(e.args.filename, 64)
      if name ~= nil and name:starts "/nowhere/" then opens[{ "kprobe", e.args.dfd, 0, e.func }]:inc() end
    end)
    at_exit(function() for k, n in opens:pairs() do print(k[1], n, k[2], k[3], k[4]) end end)]], threads .. " 101")
  if can_call then
    ok(is_all("fexit", out:match "fexit\t(%d+)\t%-100\t%-2\tdo_sys_openat2\n", want),
      "fexit: negative ints, strings, results")
  end
  like(out, ("kprobe\t%d\t%%-100\t0\tdo_sys_openat2\n"):format(want), "kprobe: negative ints and strings by name")
end

-- Pointers lead into the kernel's structures, at the return too. The program's file lies in the machine's root, a
-- tmpfs.
out = run([[
  files = count()
  local function see(e, kind)
    local file = e.args.file
    if e.args.offset > 100000 then files[{ kind, file.f_inode.i_ino, kstr(file.f_path.dentry.d_name.name, 32) }]:inc()
      end
  end
  kprobe("shmem_file_llseek", function(e) see(e, "kprobe") end)
  kretprobe("shmem_file_llseek", function(e) see(e, "kretprobe") end)
  fentry("shmem_file_llseek", function(e) see(e, "fentry") end)
  fexit("shmem_file_llseek", function(e) see(e, "fexit") end)
  at_exit(function() for k, n in files:pairs() do print(k[1], n, k[2], k[3]) end end)]], "4 101")
for _, kind in ipairs(KINDS) do
  ok(is_all(kind, out:match(("%%f[^\n%%z]%s\t(%%d+)\t%s\tkernel_calls\n"):format(kind, out:match "inode (%d+)")), 404),
    kind .. ": structures of the kernel")
end

if can_call then
  out = run([[
  n = count()
  fentry("SEEKS", function(e) if e.args.offset > 100000 then n[{ e:ustack(), e:kstack() }]:inc() end end)
  at_exit(function() for k, c in n:pairs() do
    local names = {}
    for _, s in ipairs { k[1], k[2] } do for _, frame in ipairs(s:frames()) do
      names[#names + 1] = frame.symbol or "?" end end
    print(c, table.concat(names, " "))
  end end)]], "1 101")
  like(out, "101\t%S*lseek%S* work .*" .. machine.seeks .. " " .. machine.enters, "stacks at fentry")
end

-- Handlers that walk stacks become one program, but not of both sorts: one that may sleep is for functions of programs
-- only.
out = run([[
  calls, names = count(), hash()
  uprobe("./build/targets/kernel_calls:main", function(e) calls[{ "main", #e.comm, e:ustack() }]:inc()
    names[1] = str(read_u64(e.arg1), 64) end)
  uprobe("libc:lseek", function(e) calls[{ "lseek", 0, e:ustack() }]:inc() end)
  kprobe("SEEKS", function(e) if e.arg1 > 100000 then calls[{ "SEEKS", 0, e:ustack() }]:inc() end end)
  kretprobe("SEEKS", function(e) if e.ret > 100000 then calls[{ "return", 0, e:ustack() }]:inc() end end)
  at_exit(function()
    for k, n in calls:pairs() do print(k[1], n, #k[3]:frames() > 1) end
    print(names[1])
  end)]], "1 101")
for _, name in ipairs { "main\t1", "lseek\t101", "SEEKS\t101", "return\t101" } do
  name = name:gsub("SEEKS", machine.seeks)
  like(out, "%f[^\n%z]" .. name .. "\ttrue\n", "stacks of programs' functions and the kernel's: " .. name)
end
like(out, "\n%./build/targets/kernel_calls\n", "and memory read by a handler that may sleep")

out = run([[
  n = count()
  kprobe("SEEKS*", function(e) if e.arg1 > 100000 then n[{ e.ip, e.func }]:inc() end end)
  kprobe("do_sys_open*", function(e) if i32(e.arg0) == -100 then n[{ e.ip, e.func }]:inc() end end)
  at_exit(function() for k, c in n:pairs() do print(tostring(symbol(0, k[1])):match "^[%w_]+", k[2], c > 100) end
    end)]], "1 101")
like(out, machine.seeks .. "\t" .. machine.seeks .. "\ttrue", "a pattern of one function")
like(out, "do_sys_openat2\tdo_sys_openat2\ttrue", "a pattern of several, each by its own name")
out = run([[
  n, elsewhere = count(), count()
  kretprobe("do_sys_open*", function(e)
    if i32(e.arg0) == -100 and i32(e.ret) == -2 then n[{ e.func, e.probe }]:inc() end
  end)
  kprobe("*_lseek", function(e)
    if e.arg1 > 100000 and e.func == "SEEKS" then n[{ e.func, e.probe }]:inc() end
  end)
  kprobe("vfs_*", function(e) elsewhere[e.func]:inc() end)
  at_exit(function()
    for k, c in n:pairs() do print(k[1], k[2], c > 100) end
    local others = 0
    for name in elsewhere:pairs() do others = others + (name:find "^vfs_[%w_]+$" and 1 or -1000) end
    print("others", others > 1)
  end)]], "1 101", true) -- the kernel permits no probe on some of these
like(out, "do_sys_openat2\tdo_sys_open%*\ttrue", "… at returns")
if machine.seeks:find "_lseek$" then like(out, machine.seeks .. "\t%*_lseek\ttrue", "… and compared with a text") end
like(out, "others\ttrue", "many functions, several of which are hit")

-- The second instruction of a function is somewhere in the first bytes behind its call of the tracer; elsewhere the
-- kernel says no.
local inside, no_start = 0, 0
for _, offset in ipairs { 1, 2, unpack(machine.inside) } do
  local result = target.uplua(([[-e 'n = count() kprobe("%s+%d", function(e) n[e.ip]:inc() end)
    at_exit(function() for ip, c in n:pairs() do print(symbol(0, ip), c > 100) end
      end)' -- ./build/targets/kernel_calls 1 101]]):format(machine.seeks, offset))
  if result.out:find(("%s+%#x\ttrue"):format(machine.seeks, offset), 1, true) then inside = inside + 1 end
  if result.err:find(("kprobe %s+%d: cannot probe %s: %s"):format(machine.seeks, offset, machine.seeks,
    machine.elsewhere), 1, true) then
    no_start = no_start + 1
  end
  if inside > 0 and no_start > 0 then break end
end
ok(inside > 0, "inside of a function")
ok(no_start > 0, "but not inside of an instruction")

like(target.uplua([[-e 'kprobe("notify_die", function() end)' -- true]]).err,
     "kprobe notify_die: cannot probe notify_die: the kernel permits no probe there", "a function that probes need")

-- 23 threads sleep at a time in a function of which the kernel follows fewer returns: what it leaves out is counted.
local errors
out, errors = run([[
  n = count()
  kretprobe("hrtimer_nanosleep", function(e) n:inc() end)
  at_exit(function() print("seen " .. n:get()) end)]], "23 23 sleep", true)
local seen = tonumber(out:match "seen (%d+)")
local counted = tonumber((errors:match "([%d,]+) × hrtimer_nanosleep: return not seen" or "0"):gsub(",", ""), 10)
ok(seen and seen > 0 and seen < 529, ("the kernel follows some of 529 returns at a time: %s"):format(seen))
is(seen and seen + counted, 529, "all others are counted as lost")
target.done()
tap.done_testing()
