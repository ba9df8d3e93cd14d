-- uplua.descriptors: which file a descriptor is at the moment of a handler, whoever opened it and whenever.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

if not io.open "/sys/kernel/btf/vmlinux" then tap.skip_rest "the kernel has no BTF" end

-- What every machine has: the kernel takes the handlers, and a file that was open before has its name.
local one = target.shell [[
  echo abc >"$D/abc"
  ./uplua scripts/systrace.lua -y -e read,openat -- dd status=none bs=4 "of=$D/copy" <"$D/abc" >"$D/out" 2>"$D/err"
]]
is(one.err, "", "nothing is lost")
local folder = target.folder()
like(one.out, ('read%%(0<%s/abc>, "abc\\n", 4%%)'):format(folder), "a descriptor that was open before, by its path")
like(one.out, ('openat%%(AT_FDCWD<[^\n]*>, "%s/copy", [%%u_|]+, 0666%%) = 3<%s/copy>'):format(folder, folder),
  "one that a call makes, and the working directory")

-- Below another root paths begin there, as those of strace.
local SKIPPED = "unshare and chroot with mounts of their own are not to be had here"
local below = target.shell [[
  trap 'rmdir "$D/root"' EXIT
  mkdir "$D/root"
  echo abc >"$D/abc"
  unshare --mount --propagation private sh -c 'mount --rbind / "$D/root" && chroot "$D/root" true' || exit 99
  unshare --mount --propagation private sh -c '
    mount --rbind / "$D/root" && exec chroot "$D/root" sh -c "cd $PWD && exec ./uplua scripts/systrace.lua -y -e read \
      -- dd status=none bs=4 if=$D/abc of=/dev/null"' >"$D/out" 2>"$D/err"
]]
if below.status == 99 then
  tap.skip(SKIPPED)
else
  is(below.err, "", "below another root nothing is lost either")
  like(below.out, ('read%%(0<%s/abc>, "abc\\n", 4%%)'):format(folder), "and a path begins there")
end

if os.execute "command -v perl >/dev/null" ~= 0 then tap.skip_rest "needs perl" end

local COUNT = [[
  local up = require "uplua"
  local files, n = require "uplua.descriptors".new(), up.count()
  up.syscall("lseek", function(e) if e.arg2 == 7 then n[files:file(e.arg0)]:inc() end end)
  START
  up.at_exit(function()
    for file, calls in n:pairs() do print(calls, files:name(file), files:path(file)) end
  end)
]]

-- A perl program that marks descriptors by lseek's that fail, 8 on x86_64.
local MARK = "sub mark { my ($f, $n) = @_; sysseek $f, 0, 7 for 1 .. $n }"

local function lines(script, perl, before)
  local run = target.shell(([[
    export D; %s
    cat >"$D/count.lua" <<'END'
%s
END
    cat >"$D/program.pl" <<'END'
%s
%s
END
    ./uplua --follow "$D/count.lua" -- perl "$D/program.pl" >"$D/out" 2>"$D/err"
  ]]):format(before or "", script, MARK, perl))
  is(run.err, "", "nothing is lost")
  return run.out
end

local out = lines(COUNT:gsub("START", ""), [[
  use Socket; chdir $ENV{D}; mkdir "d";
  open F, ">", "d/a<b"; mark(*F, 23);
  rename "d/a<b", "d/c"; mark(*F, 5); unlink "d/c"; mark(*F, 7); rmdir "d";
  open G, "<", "/dev/zero"; mark(*G, 11);
  open H, "<&", *G; mark(*H, 2);               # the same file
  close G; open G, "<", "/etc/passwd"; mark(*G, 13);
  if (!fork) { mark(*G, 3); exit }             # which is inherited
  wait; chroot $ENV{D}; mark(*G, 1);
  sysseek STDERR, 0, 7;
]])
local d = target.folder()
like(out, "23\t" .. d .. "/d/a\\74b\t" .. d .. "/d/a<b\n", "a file")
like(out, "5\t" .. d .. "/d/c\t", "… that was renamed")
like(out, "7\t" .. d .. "/d/c %(deleted%)\t" .. d .. "/d/c\n", "… and deleted")
like(out, "13\t/dev/zero<char 1:5>\t/dev/zero\n", "a device by two descriptors")
like(out, "17\t/etc/passwd\t/etc/passwd\n", "another file by that number, in the child, below another root")
like(out, "1\t" .. d .. "/err\t", "one that was open before")

-- Those of a process that began before.
local run = target.shell([[
  export D
  mkfifo "$D/go"
  perl -e ']] .. MARK .. [[ open F, "<", "/etc/passwd"; open G, "<", "$ENV{D}/go"; # a FIFO that uplua opens
    mark(*F, 101)' & pid=$!
  cat >"$D/count.lua" <<'END'
]] .. COUNT:gsub("START", 'up.at_start(function() io.open(os.getenv "D" .. "/go", "w"):close() end)') .. [[

END
  await 'ls -l /proc/$pid/fd | grep -q /etc/passwd' $pid
  ./uplua "$D/count.lua" -- $pid >"$D/out" 2>"$D/err"
  kill $pid 2>/dev/null # where uplua did not begin
  wait
]])
is(run.err, "", "nothing is lost")
is(run.out, "101\t/etc/passwd\t/etc/passwd\n", "opened before uplua began")

-- Sockets and pipes.
out = lines(COUNT:gsub("START", ""), [[
  use Socket qw(:all);
  socket S, AF_INET, SOCK_STREAM, 0; mark(*S, 2);
  bind S, sockaddr_in(0, inet_aton "127.0.0.1"); listen S, 5; mark(*S, 3); my ($port) = sockaddr_in getsockname S;
  socket C, AF_INET, SOCK_STREAM, 0; connect C, sockaddr_in($port, inet_aton "127.0.0.1"); mark(*C, 5);
  accept A, S; mark(*A, 7); my ($peer) = sockaddr_in getpeername A; print "ports $port $peer\n";
  socketpair P, Q, AF_UNIX, SOCK_STREAM, 0; mark(*P, 11); mark(*Q, 11);
  socket U, AF_UNIX, SOCK_DGRAM, 0; bind U, sockaddr_un "\0uplua-$$"; mark(*U, 13); print "name uplua-$$\n";
  pipe R, W; mark(*R, 17); socket N, 16, 3, 0; bind N, pack "SSLL", 16, 0, 0, 0; mark(*N, 19);
  socket I, AF_INET6, SOCK_DGRAM, 0; bind I, sockaddr_in6(4711, inet_pton(AF_INET6, "::1")); mark(*I, 23);
]])
local port, peer = out:match "ports (%d+) (%d+)"
like(out, "2\tTCP:%[%d+%]\tnil", "a socket")
like(out, ("3\tTCP:%%[127.0.0.1:%s%%]"):format(port), "… that listens")
like(out, ("5\tTCP:%%[127.0.0.1:%s%%->127.0.0.1:%s%%]"):format(peer, port), "… connected")
like(out, ("7\tTCP:%%[127.0.0.1:%s%%->127.0.0.1:%s%%]"):format(port, peer), "… accepted")
local left, right = out:match "11\tUNIX%-STREAM:%[(%d+)%->(%d+)%]"
like(out, ("11\tUNIX%%-STREAM:%%[%s%%->%s%%]"):format(right, left), "a pair, each other's peer")
like(out, '13\tUNIX:%[%d+,@"' .. out:match("name (%S+)"):gsub("%-", "%%-") .. '"%]', "an abstract name")
like(out, "17\tpipe:%[%d+%]", "a pipe")
like(out, "19\tNETLINK:%[ROUTE:%d+%]", "a netlink socket")
like(out, "23\tUDPv6:%[%[::1%]:4711%]", "an address of version 6")

target.done()
tap.done_testing()
