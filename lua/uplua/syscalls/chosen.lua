-- Which system calls patterns and groups mean: "read,*stat*,%network", "!%memory" (all but these).
local decode     = require "uplua.syscalls.decode"
local list       = require "uplua.run.list"
local signatures = require "uplua.syscalls.signatures"
local syscall    = require "uplua.probe.providers.syscall"
local text       = require "uplua.base.text"

local chosen = {}

local MOST = 1024 -- the numbers of calls are below that: the newest has 469 (Linux 6.18)

-- Groups that follow from the arguments: those that have one of these words.
local BY_WORD = {
  file = { path = true, program = true },
  desc = { fd = true, dirfd = true, pollfds = true, pair = true },
}
local GROUPS = {
  memory = "brk madvise mbind mincore mlock mlock2 mlockall mmap move_pages mprotect mremap msync " ..
    "munlock munlockall munmap pkey_mprotect process_madvise remap_file_pages shmat shmdt migrate_pages " ..
    "set_mempolicy get_mempolicy",
  network = "socket socketpair bind connect listen accept accept4 getsockname getpeername sendto recvfrom " ..
    "sendmsg recvmsg sendmmsg recvmmsg shutdown setsockopt getsockopt sendfile",
  process = "fork vfork clone clone3 execve execveat exit exit_group wait4 waitid kill tkill tgkill rt_sigqueueinfo " ..
    "rt_tgsigqueueinfo pidfd_send_signal unshare arch_prctl",
  signal = "kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend rt_sigtimedwait " ..
    "rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn sigaltstack pause signalfd signalfd4 pidfd_send_signal",
  ipc = "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl",
  creds = "getuid getgid geteuid getegid setuid setgid setreuid setregid getgroups setgroups setresuid getresuid " ..
    "setresgid getresgid setfsuid setfsgid capget capset prctl",
  clock = "gettimeofday settimeofday time clock_gettime clock_settime clock_getres adjtimex clock_adjtime",
  stat = "stat lstat fstat newfstatat statx",
}
GROUPS.net = GROUPS.network
local MORE = { -- those of BY_WORD that have no signature, or another kind of argument
  file = "swapon uselib name_to_handle_at fanotify_mark quotactl move_mount open_tree fspick mount_setattr",
  desc = "openat2 epoll_create epoll_create1 eventfd eventfd2 inotify_init inotify_init1 memfd_create pipe pipe2 " ..
    "mmap select pselect6 sendmmsg recvmmsg signalfd timerfd_create perf_event_open pidfd_open close_range " ..
    "io_uring_enter io_uring_setup io_uring_register userfaultfd bpf",
}
for group, words in pairs(BY_WORD) do
  local names = { MORE[group] }
  for name, signature in pairs(signatures) do
    for word in signature:gmatch "[%l_]+" do
      if words[word] then names[#names + 1] = name end
    end
  end
  GROUPS[group] = table.concat(names, " ")
end
GROUPS.desc = GROUPS.desc .. " " .. GROUPS.network

local function add(set, pattern)
  for _, entry in ipairs(list.list("syscall:" .. pattern, true)) do
    local name = entry.probe:match ":(.*)$"
    local number = syscall.syscall_number(name)
    if number and number < MOST then set[number] = { name, entry.arguments or {} } end
  end
end

-- Adds the calls of the group NAME to SET, as far as this kernel has them. Raises that there is no such group.
local function add_group(set, name, all)
  local names = GROUPS[name]
  if not names then
    local near = text.did_you_mean(name, GROUPS):gsub("'([%w]+)'", "%%%1")
    error(("there is no group %%%s of system calls%s; there are %%%s"):format(name, near,
      table.concat(text.keys(GROUPS), ", %")), 0)
  end
  for one in names:gmatch "%S+" do
    local number = syscall.syscall_number(one)
    if number and all()[number] then set[number] = all()[number] end
  end
end

local REGISTERS = {}
for i = 1, 6 do REGISTERS[i] = { name = "arg" .. i - 1, type = "u64", source = "void *" } end

-- The calls that PATTERNS mean: number → call (decode.call). nil: all numbers. Raises that there is no such call or
-- group.
function chosen.set(patterns, show_of)
  local found, cached = {}, nil
  local function all()
    if not cached then
      cached = {}
      add(cached, "*")
    end
    return cached
  end
  local negated = patterns and patterns:sub(1, 1) == "!"
  for pattern in (patterns or "*"):gsub("^!", ""):gmatch "[^,]+" do
    if pattern:sub(1, 1) == "%" then add_group(found, pattern:sub(2), all) else add(found, pattern) end
  end
  if negated then
    local others = {}
    for number, entry in pairs(all()) do
      if not found[number] then others[number] = entry end
    end
    found = others
  end
  local set = {}
  for number, entry in pairs(found) do set[number] = decode.call(entry[1], entry[2], show_of) end
  if patterns then return set end
  local function unknown(number) return decode.call(syscall.syscall_name(number), REGISTERS, show_of) end
  for number = 0, MOST - 1 do set[number] = set[number] or unknown(number) end
  return setmetatable(set, { __index = function(_, number) return unknown(number) end }) -- a program may ask for any
end

return chosen
