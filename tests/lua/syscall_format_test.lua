-- System calls as lines (uplua.syscalls): what a record of one is shown as; calls by names and patterns; and the
-- texts that handlers take, exactly.
local tap    = require "tap"
local target = require "target"
local call   = require "uplua.syscalls.call"
local text   = require "uplua.text"
local up     = require "uplua"
local is, ok = tap.is, tap.ok

local calls = call.set()
local function line(name, record) return call.line(calls[up.syscall_number(name)], record) end

is(line("openat", { a1 = 0xffffff9cLL, first = "/etc/x\n\"", a2 = 23, a3 = 101, a4 = 0, ret = 3 }),
  [[openat(dfd=-100, filename="/etc/x\x0a\"", flags=101, mode=0) = 3]], "a descriptor by its size, a text in quotes")
is(line("openat", { a1 = -100, a2 = 0x7f0000000017, a3 = 0, a4 = 0, ret = -2 }),
  "openat(dfd=-100, filename=0x7f0000000017, flags=0, mode=0) = -1 ENOENT",
    "the address of a text that could not be read; an error by its name")
is(line("write", { a1 = 1, first = "101 orders", a2 = 1, a3 = 3, ret = 2 }), 'write(fd=1, buf="101", count=3) = 2',
  "as much as is written")
is(line("read", { a1 = 1, first = "101 orders", a2 = 1, a3 = 8, ret = 6 }), 'read(fd=1, buf="101 or", count=8) = 6',
  "as much as was read")
is(line("read", { a1 = 1, first = "101 orders", a2 = 1, a3 = 8, ret = -9 }), 'read(fd=1, buf="", count=8) = -1 EBADF',
  "nothing, where that failed")
is(line("munmap", { a1 = 0x7f0000000017LL, a2 = 4096, ret = 0 }), "munmap(addr=0x7f0000000017, len=4096) = 0",
  "a large number as an address")
is(line("exit_group", { a1 = 23 }), "exit_group(error_code=23) = ?", "one that does not return")
is(line("linkat", { a1 = 3, first = "a", a2 = 1, a3 = 4, second = "b", a4 = 2, a5 = 0, ret = 0 }),
  'linkat(olddfd=3, oldname="a", newdfd=4, newname="b", flags=0) = 0', "two texts")
is(line("execve", { a1 = 0x7f0000000017, a2 = 0, a3 = 0, ret = 0 }),
  "execve(filename=0x7f0000000017, argv=NULL, envp=NULL) = 0", "none of memory that is gone")
is(call.line(calls[5000], { a1 = 1, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = -1LL, ret = -38 }),
  "syscall 5000(arg0=0x1, arg1=NULL, arg2=NULL, arg3=NULL, arg4=NULL, arg5=0xffffffffffffffff) = -1 ENOSYS",
    "one that nobody knows")
is(call.result(-4096), "-4096", "the last error is 4095")

local some = call.set "read,op?nat"
local names = {}
for number, of in pairs(some) do
  names[#names + 1] = of.name
  is(up.syscall_number(of.name), number, "by its number: " .. of.name)
end
table.sort(names)
is(table.concat(names, " "), "openat read", "the calls of names and patterns")
is(some[5000], nil, "and no others")
local good, message = pcall(call.set, "read,opnat")
ok(not good and tostring(message):find "syscall opnat: the kernel has no such system call; did you mean openat",
  "what there is not")

is(text.quote "a-b/c", "a-b/c", "a word for a shell")
is(text.quote "it's", [['it'\''s']], "… with a quote in it")
is(text.quote "", "''", "… without anything")

-- By handlers: 23 and 101 calls that tell what they are given.
local PROGRAM = [[perl -e 'for (1 .. 101) { mkdir "/nowhere/$_" }
  for (1 .. 23) { link "/nowhere/a$_", "/nowhere/b" } syscall(5000, 1, 2)']]
local function lines(options, names)
  local path = target.folder() .. "-call.lua"
  local file = assert(io.open(path, "w"))
  file:write(([[
local up, call = require "uplua", require "uplua.syscalls.call"
local calls, ring = call.set(%s), up.ring {}
local emit = call.emitter(ring, calls, %s)
up.sysreturn("*", function(e) if call.failed(e.ret) then emit(e) end end)
ring:each(function(record) print(tonumber(record.id), call.line(calls[tonumber(record.nr)], record)) end)
]]):format(names, options))
  file:close()
  local run = target.uplua(path .. " -- " .. PROGRAM)
  os.remove(path)
  is(run.err, "", "names " .. names)
  return run.out
end
if not tap.fewer(false, true) then -- which has no perl
  local out = lines("{ strings = 16 }", '"mkdir,link"')
  is(select(2, out:gsub('0\tmkdir%(pathname="/nowhere/%d+", mode=511%) = %-1 ENOENT\n', "")), 101, "one text")
  is(select(2, out:gsub('0\tlink%(oldname="/nowhere/a%d+", newname="/nowhere/b"%) = %-1 ENOENT\n', "")), 23, "two")
  is(select(2, out:gsub("\n", "")), 124, "nothing else")
  out = lines("{ strings = 4, id = 7 }", "nil")
  is(select(2, out:gsub('7\tmkdir%(pathname="/now…", mode=511%) = %-1 ENOENT\n', "")), 101, "so many bytes of a text")
  is(select(2, out:gsub("7\tsyscall 5000%(arg0=0x1, arg1=0x2, [^\n]*%) = %-1 ENOSYS\n", "")), 1,
    "a number that is no call's")
  local r = target.uplua(("-e %s -- true"):format(target.quote [[
    local options = { size = "1M", strings = 16, stack = true, failed = false }
    require "uplua.syscalls".trace("exit_group", options, function(c) print(c.line) end)]]))
  is(r.out, "exit_group(error_code=0) = ?\n", "each option of syscalls.trace")
end

target.done()
tap.done_testing()
