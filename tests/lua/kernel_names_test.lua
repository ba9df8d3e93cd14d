-- up.flags, up.signal_name, up.task_state_name and up.ip: names of what the kernel numbers.
local ffi = require "ffi"
local contract = require "uplua.contract"
local tap = require "tap"
local target = require "target"
local up = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

for _, row in ipairs {
  { "open", 0, "O_RDONLY" }, { "open", 0x42, "O_RDWR|O_CREAT" },
  { "open", 0x80241, "O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC" },
  { "open", 0x101000, "O_RDONLY|O_SYNC" }, { "open", 0x1000, "O_RDONLY|O_DSYNC" }, { "open", 3, "0x3" },
  { "open", 2 ^ 40, "O_RDONLY|0x10000000000" }, { "prot", 0, "PROT_NONE" }, { "prot", 3, "PROT_READ|PROT_WRITE" },
  { "prot", 0x40, "0x40" }, { "mmap", 0x22, "MAP_PRIVATE|MAP_ANONYMOUS" }, { "mmap", 3, "MAP_SHARED_VALIDATE" },
  { "mmap", 0x40022 + 21 * 2 ^ 26, "MAP_PRIVATE|MAP_ANONYMOUS|MAP_HUGETLB|MAP_HUGE_2MB" }, { "clone", 17, "SIGCHLD" },
  { "clone", 0x4111, "CLONE_VM|CLONE_VFORK|SIGCHLD" }, { "socket", 1, "SOCK_STREAM" },
  { "socket", 0x80802, "SOCK_DGRAM|SOCK_NONBLOCK|SOCK_CLOEXEC" }, { "msg", 0x4040, "MSG_DONTWAIT|MSG_NOSIGNAL" },
  { "msg", 0, "0" },
} do is(up.flags(row[1], row[2]), row[3], ("%s of %s"):format(row[1], tostring(row[2]))) end
is(up.flags("open", 0x42LL) .. up.flags("prot", 3ULL), "O_RDWR|O_CREATPROT_READ|PROT_WRITE", "64-bit integers")
is(up.flags("open", -100):match "[^|]*$":sub(1, 2), "0x", "a negative number is its 64 bits")

-- What a text says is the number: of each name, and of any flags together.
local function number_of(shown)
  local sum = 0ULL
  for part in shown:gmatch "[^|]+" do
    local value = part:find "^0" and ffi.cast("uint64_t", tonumber(part)) or rawget(contract, part)
    sum = bit.bor(sum, ffi.cast("uint64_t", value or 2ULL ^ 63))
  end
  return sum
end
local MASKS = " O_ACCMODE MAP_TYPE MAP_HUGE_MASK MAP_HUGE_SHIFT "
local wrong, names = nil, 0
for set, prefix in pairs { open = "^O_", prot = "^PROT_", mmap = "^MAP_", socket = "^SOCK_", msg = "^MSG_" } do
  for name, value in pairs(contract) do
    if name:find(prefix) and value > 0 and not MASKS:find(" " .. name .. " ", 1, true) then
      names = names + 1
      local shown = up.flags(set, value)
      if number_of(shown) ~= ffi.cast("uint64_t", value) or not shown:find "%u" then wrong = name .. " is " .. shown end
    end
  end
  for i = 1, 101 do
    local value = (i * 2654435761) % 2 ^ 32
    if number_of(up.flags(set, value)) ~= ffi.cast("uint64_t", value) then wrong = set .. " " .. value end
  end
end
is(wrong, nil, ("each of %d names, and 505 sums of flags, are the number again"):format(names))
ok(names > 80, "there are many")

for number, name in pairs {
  [2] = "SIGINT", [9] = "SIGKILL", [11] = "SIGSEGV", [17] = "SIGCHLD", [34] = "SIGRTMIN", [35] = "SIGRTMIN+1",
  [64] = "SIGRTMAX", [0] = "signal 0", [32] = "signal 32", [99] = "signal 99", [-1] = "signal -1",
} do is(up.signal_name(number), name, name) end

for number, name in pairs {
  [0] = "running", [1] = "sleeping", [2] = "disk sleep", [4] = "stopped", [8] = "tracing stop", [0x10] = "dead",
  [0x20] = "zombie", [0x40] = "parked", [0x80] = "dead", [0x102] = "disk sleep", [0x402] = "idle", [0x100] = "running",
  [0x2001] = "sleeping", [0x1000] = "disk sleep", [0x8000] = "disk sleep",
} do is(up.task_state_name(number), name, ("state 0x%x"):format(number)) end

is(up.ip(0x0100007f), "127.0.0.1", "an IPv4 address as it lies in memory")
is(up.ip(0xff00a8c0LL), "192.168.0.255", "a 64-bit integer")
is(up.ip(-939524086), "10.0.0.200", "a signed field of 32 bits")
is(up.ip(-1LL), "255.255.255.255", "another")
is(up.ip "\10\1\2\3", "10.1.2.3", "four bytes")
is(up.ip(("\0"):rep(15) .. "\1"), "::1", "an IPv6 address")
is(up.ip("\32\1\13\184" .. ("\0"):rep(11) .. "\5"), "2001:db8::5", "another")
is(up.ip { 127, 0, 0, 1 }, "127.0.0.1", "a table of bytes")

is(up.ip { -64, -88, 0, 1 }, "192.168.0.1", "bytes of C's char, which has a sign")
for _, case in ipairs {
  { 'up.flags("opne", 1)', "flags: there is no set 'opne'; did you mean 'open'%?", "another set" },
  { 'up.flags("quux", 1)', "there is no set 'quux'; there are clone, mmap, msg, open, prot, socket", "no set" },
  { 'up.flags("open", "1")', "flags: a number is expected, not a string", "a text" },
  { 'up.flags("open", 0.5)', "flags: 0.5 is not an integer", "a fraction" },
  { "up.signal_name()", "signal_name: a number is expected, not a nil", "no signal" },
  { 'up.ip "abc"', "ip: an address has 4 or 16 bytes, not 3", "three bytes" },
  { "up.ip(2^32)", "ip: 4294967296 has more than 32 bits", "too large a number" },
  { "up.ip(-2^31 - 1)", "ip: %-2147483649 has more than 32 bits", "too small a one" },
  { "up.ip {}", "ip: an address has 4 or 16 bytes, not 0", "an empty table" },
  { "up.ip { 256, 0, 0, 1 }", "ip: a byte is a number from 0 to 255, not 256", "what is no byte" },
} do
  local ran, message = pcall(assert(loadstring("local up = require 'uplua' return " .. case[1])))
  ok(not ran and message:find(case[2]), case[3] .. ": " .. tostring(message))
end

local run = target.script([[
local up = require "uplua"
local states = up.count()
up.raw_tracepoint("sched_switch", function(e)
  if e.pid == e.tid then states[e.args.prev.__state]:inc() end
end)
up.at_exit(function() for state in states:pairs() do print(up.task_state_name(state)) end end)
]], "-- sleep 0.05")
like(run.out, "sleeping\n", "a thread that goes to sleep")

-- A connection to a port where nobody listens, which is told of in whichever thread the kernel works then.
run = target.shell [[
  cat >"$D/x.lua" <<'END'
local up = require "uplua"
local ring = up.ring()
up.tracepoint("sock:inet_sock_set_state", { all = true }, function(e)
  if e.args.dport ~= 1 then return end
  local a = e.args.saddr
  ring:emit { list = { a[0], a[1], a[2], a[3] }, bytes = up.buf(a, 4), state = e.args.newstate }
end)
ring:each(function(r) print("seen", up.ip(r.list), up.ip(r.bytes), r.state) end)
END
  ./uplua "$D/x.lua" -- bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' >"$D/out" 2>"$D/err"]]
if run.err:find "no such tracepoint" then
  tap.skip "the kernel has no tracepoint sock:inet_sock_set_state"
else
  is(run.out, "seen\t127.0.0.1\t127.0.0.1\t2\nseen\t127.0.0.1\t127.0.0.1\t7\n", "addresses in records")
end
target.done()
tap.done_testing()
