-- The numbers of the constants that uplua.syscalls names, beside the compiler's headers. Runs once: no kernel is asked.
local constants = require "uplua.syscalls.constants"
local tap       = require "tap"
local target    = require "target"

local HEADERS = [[fcntl.h unistd.h sched.h signal.h poll.h sys/mman.h sys/socket.h sys/file.h sys/wait.h sys/epoll.h
  sys/eventfd.h sys/signalfd.h sys/timerfd.h sys/inotify.h sys/prctl.h sys/resource.h sys/time.h sys/random.h
  sys/mount.h sys/xattr.h sys/ptrace.h sys/ioctl.h sys/statvfs.h sys/personality.h sys/stat.h netinet/in.h
  netinet/tcp.h linux/netlink.h linux/futex.h linux/sched.h linux/fs.h linux/fiemap.h linux/falloc.h linux/seccomp.h
  linux/close_range.h linux/magic.h linux/memfd.h linux/sockios.h linux/stat.h linux/capability.h termios.h]]

-- Another number than the kernel's in the C library's headers, which say 0 where every file is large.
local OTHERWISE = { O_LARGEFILE = true }

local source = { "#define _GNU_SOURCE", "#include <stdio.h>" }
for header in HEADERS:gmatch "%S+" do source[#source + 1] = ("#include <%s>"):format(header) end
source[#source + 1] = "#if defined __x86_64__\n#include <asm/prctl.h>\n#endif\nint main(void) {"
local want, count = {}, 0
for _, set in pairs(constants.sets) do
  for _, constant in ipairs(set) do
    if not want[constant.name] and not OTHERWISE[constant.name] and not constants.foreign[constant.name] then
      want[constant.name] = constant.value
      count = count + 1
      source[#source + 1] = ("#ifdef %s\nprintf(\"%s %%.0f\\n\", (double)(%s));\n#endif"):format(constant.name,
        constant.name, constant.name)
    end
  end
end
source[#source + 1] = "return 0; }\n"

local path = target.folder() .. "/constants"
local file = assert(io.open(path .. ".c", "w"))
file:write(table.concat(source, "\n"))
file:close()
tap.is(os.execute(("${CC:-cc} -w -o %s %s.c"):format(path, path)), 0, "the headers' constants compile")
local wrong, compared = {}, 0
for line in assert(io.popen(path)):lines() do
  local name, number = line:match "^(%S+) (%S+)$"
  number = tonumber(number)
  compared = compared + 1
  -- An int's highest bit is its sign; the register has 32 bits of it.
  local value = want[name]
  if value ~= number and value ~= number + 2 ^ 32 then
    wrong[#wrong + 1] = ("%s is %.0f, and not %.0f"):format(name, number, value)
  end
end
table.sort(wrong)
tap.is(table.concat(wrong, "\n"), "", "the numbers are those of the headers")
tap.ok(compared > count * 0.8, ("%d of %d constants compared"):format(compared, count))
target.done()
tap.done_testing()
