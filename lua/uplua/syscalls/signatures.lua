-- What the arguments of system calls are, in the order of the registers: a word for each.
--
--   "read" = "fd buf:ret> size"
--
-- A word names a function of uplua.syscalls.numbers or .memory, or a set of uplua.syscalls.constants. Behind a colon
-- stands how many bytes are there: a number, "a3" (what argument 3 says), "a3*16", "ret" (what the call returns),
-- "ret*12", "*a3" (the number that argument 3 points to); "text" of one that ends in a zero byte. ">" behind it: these
-- are what the kernel has written, and only if the call has not failed. A structure that has one size needs no colon.
-- What follows the last argument that strace shows is not named. "= hex" and the like: how the result is shown.
local signatures = {}

local function add(text)
  for line in text:gmatch "[^\n]+" do
    local names, rest = line:match "^%s*([%w_,]+):? *(.-)%s*$"
    for name in (names or ""):gmatch "[^,]+" do signatures[name] = rest end
  end
end

-- Files.
add [[
  read: fd buf:ret> size
  write: fd buf:a3 size
  pread64: fd buf:ret> size long
  pwrite64: fd buf:a3 size long
  readv: fd iovec:a3*16 long ! vector_read
  writev: fd iovec:a3*16 long ! vector_written
  preadv: fd iovec:a3*16 long long ! vector_read
  pwritev: fd iovec:a3*16 long long ! vector_written
  open: path open open_mode = fd
  openat: dirfd path open open_mode = fd
  openat2: dirfd path open_how size = fd
  creat: path mode = fd
  close: fd
  close_range: uint uint close_range
  stat,lstat: path stat>
  fstat: fd stat>
  newfstatat: dirfd path stat> at
  statx: dirfd path at_statx statx_mask statx>
  statfs: path statfs>
  fstatfs: fd statfs>
  access: path access
  faccessat: dirfd path access
  faccessat2: dirfd path access faccessat
  readlink: path buf:ret> size
  readlinkat: dirfd path buf:ret> size
  getcwd: text:ret> size
  chdir,chroot,rmdir,unlink,acct,swapoff: path
  fchdir: fd
  mkdir: path mode
  mkdirat: dirfd path mode
  unlinkat: dirfd path at
  rename,link: path path
  symlink: path path
  renameat: dirfd path dirfd path
  renameat2: dirfd path dirfd path rename
  linkat: dirfd path dirfd path at
  symlinkat: path dirfd path
  chmod: path mode
  fchmod: fd mode
  fchmodat: dirfd path mode
  chown,lchown: path id id
  fchown: fd id id
  fchownat: dirfd path id id at
  mknod: path file_mode mknod_dev
  mknodat: dirfd path file_mode mknod_dev
  truncate: path long
  ftruncate: fd long
  umask: mode = mode
  utimensat: dirfd path file_times at
  utimes: path timevals
  futimesat: dirfd path timevals
  lseek: fd long whence
  dup: fd = fd
  dup2: fd fd = fd
  dup3: fd fd dup3 = fd
  fcntl: fd fcntl fcntl_argument:32 ! command = fcntl
  flock: fd flock
  fsync,fdatasync,syncfs: fd
  fallocate: fd falloc long long
  fadvise64: fd long size fadvise
  readahead: fd long size
  sendfile: fd fd offset:8> size
  copy_file_range: fd offset_before fd offset_before size uint
  splice: fd offset_before fd offset_before size splice
  tee: fd fd size splice
  pipe: pair:8>
  pipe2: pair:8> pipe2
  getdents64,getdents: fd entries size ! directory
  ioctl: fd ioctl ioctl_argument:16 ! command
  memfd_create: str:text memfd = fd
  inotify_init1: inotify_init = fd
  inotify_add_watch: fd path inotify
  inotify_rm_watch: fd int
  setxattr,lsetxattr: path str:text xattr_value:a4 size xattr ! value
  fsetxattr: fd str:text xattr_value:a4 size xattr
  getxattr,lgetxattr: path str:text xattr_or_size:ret> size ! value
  fgetxattr: fd str:text xattr_or_size:ret> size
  listxattr,llistxattr: path buf_or_size:ret> size
  flistxattr: fd buf_or_size:ret> size
  removexattr,lremovexattr: path str:text
  fremovexattr: fd str:text
  mount: path path ptr mount ptr
  umount2: path umount
  pivot_root: path path
]]

-- Waiting.
add [[
  poll: pollfds:a2*8 uint int ! poll = poll
  ppoll: pollfds:a2*8 uint time_before:16> sigset size ! poll = poll
  select: int fds fds fds select_time ! select = select
  pselect6: int fds fds fds pselect_time pselect_mask ! select = select
  epoll_create: int = fd
  epoll_create1: epoll_create = fd
  epoll_ctl: fd epoll_op fd epoll_event:EPOLL
  epoll_wait: fd epoll_events:ret*EPOLL> int int
  epoll_pwait: fd epoll_events:ret*EPOLL> int int sigset:8 size
  eventfd: uint = fd
  eventfd2: uint eventfd = fd
  signalfd4: fd sigset size signalfd = fd
  timerfd_create: clock timerfd = fd
  timerfd_settime: fd timerfd_set itimerspec itimerspec>
  timerfd_gettime: fd itimerspec>
  futex: ptr futex futex_value futex_fourth:16 futex_address futex_last
]]

-- Memory.
add [[
  mmap: ptr size prot map fd hex = hex
  munmap: ptr size
  mprotect: ptr size prot
  mremap: ptr size size mremap mremap_to = hex
  madvise: ptr size madvise
  msync: ptr size msync
  mlock,munlock: ptr size
  mlockall: mlockall
  munlockall:
  brk: ptr = hex
  membarrier: membarrier hex32
]]

-- The network.
add [[
  socket: family socktype protocol = fd
  socketpair: family socktype protocol pair:8>
  bind,connect: fd sockaddr:a3 int
  listen: fd int
  accept: fd sockaddr:*a3> length:4> = fd
  accept4: fd sockaddr:*a3> length:4> sock = fd
  getsockname,getpeername: fd sockaddr:*a3> length:4>
  sendto: fd buf:a3 size msg sockaddr:a6 uint
  recvfrom: fd buf:ret> size msg sockaddr:*a6> length:4>
  sendmsg: fd msghdr:56 msg ! message_written
  recvmsg: fd msghdr_read:56 msg ! message_read
  sendmmsg: fd mmsghdrs:64 uint msg ! messages_written
  recvmmsg: fd mmsghdrs_read:64 uint msg time_before ! messages_read = messages
  shutdown: fd shut
  setsockopt: fd sol sockopt optval:a5 int
  getsockopt: fd sol sockopt optval:*a5> length:4>
]]

-- Processes.
add [[
  fork,vfork,getpid,getppid,gettid,getuid,geteuid,getgid,getegid,setsid,pause,sync,sched_yield,getpgrp,inotify_init:
  execve: program argv envp
  execveat: dirfd program argv envp at
  exit,exit_group: int
  wait4: int waited:4> wait rusage_of>
  waitid: idtype int siginfo> wait rusage_of>
  setuid,setgid,setfsuid,setfsgid: id
  setreuid,setregid: id id
  setresuid,setresgid: id id id
  getresuid,getresgid: uint_at:4> uint_at:4> uint_at:4>
  getgroups: int groups:ret*4>
  setgroups: size groups:a1*4
  setpgid: int int
  getpgid,getsid: int
  getpriority: prio int
  setpriority: prio int int
  getrlimit: rlimit rlim>
  setrlimit: rlimit rlim
  prlimit64: int rlimit rlim64 rlim64>
  getrusage: rusage rusage_of>
  sysinfo: sysinfo>
  uname: utsname>
  times: tms>
  prctl: prctl prctl_argument:text
  arch_prctl: arch_prctl ptr
  set_tid_address: ptr
  set_robust_list: ptr size
  rseq: ptr hex32 rseq hex32
  clone3: clone_args size
  unshare: clone_flags
  setns: fd clone_flags
  sched_getaffinity: int size cpus:ret>
  sched_setaffinity: int size cpus:a2
  sched_getscheduler: int = sched
  getrandom: random:ret> size random_flags
  sethostname,setdomainname: str:text size
  personality: personality
  pidfd_open: int hex32 = fd
  seccomp: seccomp hex32 ptr
  ptrace: ptrace int hex hex
]]

-- Signals.
add [[
  kill,tkill: int signal
  tgkill: int int signal
  rt_sigaction: signal sigaction sigaction> size
  rt_sigprocmask: sighow sigset sigset> size
  rt_sigpending: sigset> size
  rt_sigsuspend: sigset size
  rt_sigtimedwait: sigset siginfo> timespec size
  rt_sigreturn: handler_mask ! handler
  sigaltstack: sigaltstack sigaltstack>
  alarm: uint
]]

-- Times.
add [[
  nanosleep: sleep left:16
  clock_nanosleep: clock timer sleep left:16
  clock_gettime,clock_getres: clock timespec>
  clock_settime: clock timespec
  timer_create: clock sigevent uint_at:4>
  timer_settime: int timer itimerspec itimerspec>
  timer_gettime: int itimerspec>
  timer_delete,timer_getoverrun: int
  gettimeofday: timeval> ptr
  getitimer: itimer itimerval>
  setitimer: itimer itimerval itimerval>
]]

return signatures
