-- Lines of system calls in strace's notation (uplua.syscalls): records of calls as handlers emit them, and what is
-- printed of them; calls by groups; what a program does, taken by handlers.
local call       = require "uplua.syscalls.call"
local chosen     = require "uplua.syscalls.chosen"
local decode     = require "uplua.syscalls.decode"
local ffi        = require "ffi"
local records    = require "uplua.syscalls.records"
local signatures = require "uplua.syscalls.signatures"
local tap        = require "tap"
local target     = require "target"
local up         = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local set = chosen.set(nil, call.show_of)
local function descriptor(_, number) return number .. "" end
local function reader(strings)
  return decode.reader(set, { strings = strings })
end
local read = reader(32)

-- The line of a record; PIECES go before it: of its entry where they have a time, else of its return.
local base = 0 -- the time of each record, behind those of the ones before
local function line(name, record, pieces)
  base = base + 10000
  for slot, piece in pairs(pieces or {}) do
    piece.kind = piece.time and records.ENTERED or records.RETURNED
    piece.slot, piece.tid, piece.time = slot, 7, base + (piece.time or 1000)
    assert(read(piece) == nil)
  end
  record.nr, record.tid, record.time, record.elapsed = up.syscall_number(name), 7, base + 1000, 10
  local c = read(record)
  return (decode.line(c):gsub(" +=", " =", 1))
end
local function bytes_of_message(size) -- a msghdr with so much control data at 0x1000
  return ffi.string(ffi.new("uint64_t[7]", { 0, 0, 0, 0, 0x1000, size, 0 }), 56)
end
local function bytes(ctype, values) return ffi.string(ffi.new(ctype, values), ffi.sizeof(ctype)) end

is(line("openat", { a1 = 0xffffff9cLL, a2 = 1, t1 = "/etc/x\n\"", a3 = 0x80000, a4 = 0, ret = 3 }),
  [[openat(AT_FDCWD, "/etc/x\n\"", O_RDONLY|O_CLOEXEC) = 3]], "flags; no mode where nothing is made")
is(line("openat", { a1 = 4, a2 = 1, t1 = "x", a3 = 0x241, a4 = 420, ret = -13 }),
  [[openat(4, "x", O_WRONLY|O_CREAT|O_TRUNC, 0644) = -1 EACCES (Permission denied)]], "a mode; an error")
is(line("openat", { a1 = -100, a2 = 0x7f0000000017, a3 = 0, a4 = 0, ret = -2 }),
  "openat(AT_FDCWD, 0x7f0000000017, O_RDONLY) = -1 ENOENT (No such file or directory)", "what could not be read")
is(line("openat", { a1 = -100, a2 = 1, t1 = ("x"):rep(255) .. "…", a3 = 0, a4 = 0, ret = 3 }),
  'openat(AT_FDCWD, "' .. ("x"):rep(255) .. '"..., O_RDONLY) = 3', "a path that was cut, where its rest was lost")
is(line("openat", { a1 = -100, a2 = 1, t1 = ("x"):rep(255) .. "…", a3 = 0, a4 = 0, ret = 3 },
  { [records.LONG + 1] = { text = ("x"):rep(300) } }),
  'openat(AT_FDCWD, "' .. ("x"):rep(300) .. '", O_RDONLY) = 3', "a long path is whole")
is(line("write", { a1 = 1, a2 = 1, a3 = 3, ["b1.bytes"] = "\1\0012\255", ["b1.size"] = 4, ret = 4 }),
  [[write(1, "\1\0012\377", 3) = 4]], "bytes in octal, as short as a digit behind them lets them be")
is(line("write", { a1 = 1, a2 = 1, a3 = 100, ["b1.bytes"] = ("a"):rep(100), ["b1.size"] = 100, ret = 100 }),
  'write(1, "' .. ("a"):rep(32) .. '"..., 100) = 100', "as many bytes as are asked for")
is(line("read", { a1 = 1, a2 = 0x7f0000000000, a3 = 8, ret = -9 }),
  "read(1, 0x7f0000000000, 8) = -1 EBADF (Bad file descriptor)", "nothing was read")
is(line("mmap", { a1 = 0, a2 = 4096, a3 = 3, a4 = 0x22, a5 = 0xffffffffLL, a6 = 0, ret = 0x7f0000000000 }),
  "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000", "an address returned")
is(line("ioctl", { a1 = 0, a2 = 0x5401, a3 = 1, ret = 0, ["b1.size"] = 16,
                   ["b1.bytes"] = bytes("uint32_t[4]", { 0x500, 0x1805, 0x10a2, 0x8a3b }) }),
  "ioctl(0, TCGETS, {c_iflag=ICRNL|IXON, c_oflag=NL0|CR0|XTABS|BS0|VT0|FF0|OPOST|ONLCR, c_cflag=B115200|CS7|CREAD, " ..
  "c_lflag=ISIG|ICANON|ECHO|ECHOE|ECHOK|IEXTEN|ECHOCTL|ECHOKE, ...}) = 0", "a terminal's settings")
is(line("ioctl", { a1 = 0, a2 = 0x5401, a3 = 23, ret = -25, ["b1.size"] = 16, ["b1.bytes"] = ("x"):rep(16) }),
  "ioctl(0, TCGETS, 0x17) = -1 ENOTTY (Inappropriate ioctl for device)", "… which are not given")
is(line("exit_group", { a1 = 23 }), "exit_group(23) = ?", "one that does not return")
is(line("poll", { a1 = 1, a2 = 2, a3 = -1, ret = 1, ["b1.size"] = 16,
                  ["b1.bytes"] = bytes("int16_t[8]", { 3, 0, 1, 1, 4, 0, 5, 0 }) }),
  "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}], 2, -1) = 1 ([{fd=3, revents=POLLIN}])", "pollfds")
is(line("connect", { a1 = 3, a2 = 1, a3 = 16, ret = 0, ["b1.size"] = 16,
                     ["b1.bytes"] = "\2\0\1\187\127\0\0\1\0\0\0\0\0\0\0\0" }),
  'connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("127.0.0.1")}, 16) = 0', "an address")
is(line("connect", { a1 = 3, a2 = 1, a3 = 4, ret = -22, ["b1.size"] = 4, ["b1.bytes"] = "\2\0\1\187" }),
  'connect(3, {sa_family=AF_INET, sa_data="\\1\\273"}, 4) = -1 EINVAL (Invalid argument)', "… that is too short")
is(line("accept", { a1 = 3, a2 = 1, a3 = 2, ret = 4, ["b1.size"] = 8, ["b1.bytes"] = "\1\0/tmp/x",
                    ["b2.size"] = 4, ["b2.bytes"] = "\8\0\0\0" },
  { [records.ENTRY + 1] = { ["bytes.bytes"] = "\128\0\0\0", ["bytes.size"] = 4, time = 990 } }),
  'accept(3, {sa_family=AF_UNIX, sun_path="/tmp/x"}, [128 => 8]) = 4', "a length before and after")
is(line("accept", { a1 = 3, a2 = 1, a3 = 2, ret = 4, ["b2.size"] = 4, ["b2.bytes"] = "\8\0\0\0" }),
  "accept(3, 0x1, 0x2) = 4", "… which an earlier call's is not")
base = base + 1e8
is(line("accept", { a1 = 3, a2 = 1, a3 = 2, ret = 4, ["b1.size"] = 8, ["b1.bytes"] = "\1\0/tmp/x",
                    ["b2.size"] = 4, ["b2.bytes"] = "\8\0\0\0" },
  { [records.ENTRY + 1] = { ["bytes.bytes"] = "\128\0\0\0", ["bytes.size"] = 4, time = 990 - 5e7 } }),
  'accept(3, {sa_family=AF_UNIX, sun_path="/tmp/x"}, [128 => 8]) = 4', "… where the CPU was away meanwhile")
is(line("wait4", { a1 = -1, a2 = 1, a3 = 0, a4 = 0, ret = 5, ["b1.size"] = 4, ["b1.bytes"] = "\139\0\0\0" }),
  "wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGSEGV && WCOREDUMP(s)}], 0, NULL) = 5", "a status")
is(line("rt_sigprocmask", { a1 = 0, a2 = 1, a3 = 0, a4 = 8, ret = 0, ["b1.size"] = 8,
                            ["b1.bytes"] = "\2\0\1\0\0\0\0\0" }),
  "rt_sigprocmask(SIG_BLOCK, [INT CHLD], NULL, 8) = 0", "a set of signals")
is(line("rt_sigprocmask", { a1 = 2, a2 = 1, a3 = 0, a4 = 8, ret = 0, ["b1.size"] = 8,
                            ["b1.bytes"] = "\255\254\255\255\255\255\255\255" }),
  "rt_sigprocmask(SIG_SETMASK, ~[KILL], NULL, 8) = 0", "… of all but one")
is(line("prlimit64", { a1 = 0, a2 = 3, a3 = 0, a4 = 1, ret = 0, ["b2.size"] = 16,
                       ["b2.bytes"] = "\0\0\128\0\0\0\0\0" .. ("\255"):rep(8) }),
  "prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) = 0", "limits")
is(line("futex", { a1 = 0x7f0000000000, a2 = 0x189, a3 = 5, a4 = 0, a5 = 0, a6 = -1, ret = -110 }),
  "futex(0x7f0000000000, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, NULL, FUTEX_BITSET_MATCH_ANY) = " ..
  "-1 ETIMEDOUT (Connection timed out)", "an argument left out in the middle")
is(line("execve", { a1 = 1, a2 = 2, a3 = 3, ret = 0 }, {
  [records.ENTRY + 1] = { text = "/bin/x", time = 995 }, [records.ITEM] = { text = "x", time = 995 },
  [records.ITEM + 1] = { text = "", time = 995 }, [records.COUNT] = { number = 1, time = 995 },
}), 'execve("/bin/x", ["x", ""], 0x3 /* 1 var */) = 0', "a program with its arguments")
is(line("clock_nanosleep", { a1 = 1, a2 = 0, a3 = 1, a4 = 1, ret = -516 }),
  "clock_nanosleep(CLOCK_MONOTONIC, 0, 0x1, 0x1) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)",
  "what a signal has interrupted")
local PIECES = {
  [records.ENTRY + 1] = { ["bytes.bytes"] = "\8\0\0\0\0\0\0\0", ["bytes.size"] = 8, time = 995 },
  [records.ENTRY + 2] = { ["bytes.bytes"] = "\0\4\0\0\0\0\0\0", ["bytes.size"] = 8, time = 995 },
  [1] = { ["bytes.bytes"] = "\0\0\0\0\0\0\0\0", ["bytes.size"] = 8 },
  [2] = { ["bytes.bytes"] = "\0\4\0\0\0\0\0\0", ["bytes.size"] = 8 },
}
is(line("pselect6", { a1 = 11, a2 = 1, a3 = 2, a4 = 0, a5 = 0, a6 = 0, ret = 1 }, PIECES),
  "pselect6(11, [3], [10], NULL, NULL, NULL) = 1 (out [10])", "sets of descriptors before and after")
is(line("pselect6", { a1 = 11, a2 = 1, a3 = 2, a4 = 0, a5 = 0, a6 = 0, ret = 0 }),
  "pselect6(11, 0x1, 0x2, NULL, NULL, NULL) = 0 (Timeout)", "… which were lost")
local function control(bytes, size)
  size = size or #bytes
  local call = { a1 = 3, a2 = 1, a3 = 0, ret = 1, ["b1.size"] = 56, ["b1.bytes"] = bytes_of_message(size) }
  return line("sendmsg", call, { [records.CONTROL] = { ["bytes.bytes"] = bytes, ["bytes.size"] = size } })
    :match "msg_control=(.*), msg_controllen"
end
local RIGHTS = "\24\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\5\0\0\0\6\0\0\0"
is(control(RIGHTS), "[{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[5, 6]}]", "descriptors")
is(control(RIGHTS .. RIGHTS:sub(1, 16), 64),
  "[{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[5, 6]}, " ..
  "{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS}, ...]", "control data that was cut")
is(control("\3" .. RIGHTS:sub(2)), "[{cmsg_len=3, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS}, ... /* 0x1010 */]",
  "a length that lies")
is(control("\255\255\255\255\255\255\255\255" .. RIGHTS:sub(9)),
  "[{cmsg_len=18446744073709551615, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[5, 6]}]", "… to 2^64")
is(control("abc"), "0x1000", "no header")
is(line("setxattr", { a1 = 1, t1 = "/x", a2 = 2, t2 = "user.a", a3 = 3, a4 = 3, a5 = 1, ret = 0 },
  { [records.THIRD] = { ["bytes.bytes"] = "ab\0", ["bytes.size"] = 3 } }),
  'setxattr("/x", "user.a", "ab", 3, XATTR_CREATE) = 0', "a value, without its end")
is(line("rt_sigreturn", { ret = 0 },
  { [records.ENTRY + 1] = { ["bytes.bytes"] = "\0\64\0\0\0\0\0\0", ["bytes.size"] = 8, time = 995 } }),
  "rt_sigreturn({mask=[TERM]}) = 0", "a handler's mask")
local c = read { nr = 5000, a1 = 1, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = -1LL, ret = -38, tid = 7, time = 1 }
is(decode.line(c):gsub(" +=", " =", 1),
  "syscall 5000(0x1, NULL, NULL, NULL, NULL, 0xffffffffffffffff) = -1 ENOSYS (Function not implemented)",
  "one that nobody knows")

-- Every signature is one of a call, and its words are known: decode.call raises others.
local unknown = {}
for name in pairs(signatures) do
  if not up.syscall_number(name) and ffi.arch == "x64" then unknown[#unknown + 1] = name end
  decode.call(name, {}, call.show_of)
end
is(table.concat(unknown, " "), "", "signatures are of calls")

-- Groups.
local function names_of(patterns)
  local names = {}
  for _, of in pairs(chosen.set(patterns, call.show_of)) do names[of.name] = true end
  return names
end
local file, network, rest = names_of "%file", names_of "%network", names_of "!%file,read"
ok(file.openat and file.execve and file.renameat2 and not file.read and not file.connect, "%file")
ok(network.connect and network.sendmsg and not network.openat, "%network")
ok(rest.write and not rest.read and not rest.openat, "all but some")
ok(names_of "%desc".read and names_of "%memory".brk and names_of "%signal".kill and names_of "%process".wait4, "others")
local good, message = pcall(chosen.set, "%fiel", call.show_of)
ok(not good and message:find("there is no group %fiel of system calls; did you mean %file", 1, true), "no such group")

-- By handlers.
if not tap.fewer(false, true) then -- which has no perl
  local out = target.uplua([[scripts/systrace.lua -- perl -e '
    syswrite STDOUT, "a\0b\n" . "x" x 300; mkdir "/nope/" . "y" x 600; rename "/nope", "/nope/2";
    pipe R, W; $SIG{ALRM} = sub {}; utime 23, 101, "/nope"; socket S, 1, 1, 0; connect S, "\1\0/nope\0";
    syscall(1, 1, 8192, 5)']]).out
  local function has(text, why) like(out, text:gsub("[%-%(%)%.%[%]%+%*%?]", "%%%0"), why) end
  has([[write(1, "a\0b\nxxxxxxxxxxxxxxxxxxxxxxxxxxxx"..., 304) = 304 <]], "a buffer with NUL bytes")
  has('mkdir("/nope/' .. ("y"):rep(600) .. '", 0777) = -1 ENOENT (No such file or directory) <', "a long path")
  has('rename("/nope", "/nope/2")', "two paths")
  like(out, "pipe2%(%[%d, %d%], O_CLOEXEC%)", "a pair of descriptors")
  like(out, 'utimensat%(AT_FDCWD, "/nope", %[{tv_sec=23, tv_nsec=0} /%* %d+%-%S+ %*/, {tv_sec=101, ', "times")
  like(out, 'connect%(%d, {sa_family=AF_UNIX, sun_path="/nope"}, 8%)', "an address of a socket")
  like(out, 'execve%("%S*perl", %["perl", "%-e", "\\n    syswrite[^\n]*"%.%.%.%], 0x%x+ /%* %d+ vars %*/%)', "execve")
  like(out, "write%(1, 0x2000, 5%) += %-1 EFAULT", "an address that is none")
  out = target.uplua("scripts/systrace.lua -k -Z -e mkdir -- perl -e 'mkdir q(/nope/1); mkdir q(/nope/2)'").out
  is(select(2, out:gsub('mkdir%("/nope/%d", 0777%) += %-1 ENOENT %(No such[^\n]*%) <[^\n]*\n  +%S+', "")), 2,
    "with the stack")
end

target.done()
tap.done_testing()
