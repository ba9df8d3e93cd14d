-- systrace.lua's options: what it chooses, and where it writes.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- Runs systrace.lua with OPTIONS on the shell's SCRIPT and what it starts. Returns the run and the names of its calls.
local function run(options, script)
  local result = target.shell(([[export D; ./uplua --follow systrace.lua %s -- sh -c %s >"$D/out" 2>"$D/err"]])
    :format(options, target.quote(script)))
  return result
end
local function calls(out)
  local names = {}
  for name, arguments in out:gmatch "  ([%w_]+)%(([^\n]*)" do names[#names + 1] = name .. "(" .. arguments end
  return names
end
local function count(list, pattern)
  local n = 0
  for _, line in ipairs(list) do n = n + (line:find(pattern) and 1 or 0) end
  return n
end

if io.open "/sys/kernel/btf/vmlinux" then
  local one = run("--path /etc/hostname", [[cd /etc; read x <hostname; read x <../etc/hostname; read x <passwd
    exec 7<hostname; read x <&7; test -e /etc/hostname; test -e /usr/hostname]])
  is(one.err, "", "nothing is lost")
  local list = calls(one.out)
  is(count(list, "^openat%(AT_FDCWD, \"hostname\""), 2, "by its name from the working directory")
  is(count(list, "^openat%(AT_FDCWD, \"../etc/hostname\""), 1, "… and by a longer one")
  is(count(list, "passwd") + count(list, "/usr"), 0, "no other path")
  is(count(list, "^read%(0, "), count(list, "^read%("), "by descriptors that were moved")
  like(table.concat(list, "\n"), "dup2%(3, 7%) += 7", "… and by that which is moved")
  is(count(list, "^newfstatat%(AT_FDCWD, \"/etc/hostname\"") + count(list, "^faccessat2?%(AT_FDCWD, \"/etc/h"), 1,
    "by its name from the root")
  one = run("-y -P /bin", "test -e /bin; test -e /usr/bin; test -e /usr/bin/.; test -e /usr/lib")
  is(#calls(one.out), 3, "a link, and where it leads")
end

if io.open "/sys/kernel/btf/vmlinux" and os.execute "command -v perl >/dev/null" == 0 then
  local one = run("-S -e write", [[perl -e '
    $SIG{USR1} = sub {}; for (1 .. 23) { kill "USR1", $$; select undef, undef, undef, 0 }
    if (!fork) { kill "KILL", $$ } wait; exit 101']])
  is(one.err, "", "nothing is lost")
  local sent = "%-%-%- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=%d+, si_uid=0} %-%-%-\n"
  is(select(2, one.out:gsub(sent, "")), 23, "signals")
  is(select(2, one.out:gsub("%+%+%+ killed by SIGKILL %+%+%+", "")), 1, "an end by a signal")
  is(select(2, one.out:gsub("%+%+%+ exited with 101 %+%+%+", "")), 2, "ends with a status, the shell's, too")
  one = run("-b 4K -e write", [[perl -e 'syswrite(STDERR, "x", 0) for 1 .. 20000']])
  like(one.err, "\n  [%d,]+ × the ring '%w+' is full %(size = 4096%): event lost; give it a larger %-%-buffer\n$",
    "calls that come faster than they are printed are counted, and the option is named that has room for them")
end

local each = target.shell(([[
  export D
  ./uplua --follow systrace.lua -T -b 1M -e write,exit_group --each-process "$D/each" -- sh -c %s >"$D/said" 2>"$D/err"
  shell=$(cat "$D/shell")
  set -- "$D"/each.*; echo $# >"$D/out"
  grep -Ec "^[0-9:.]+ $shell  write\\(1, .*, [23]\\) " "$D/each.$shell" >>"$D/out"
  for file; do tail -n 1 "$file" | cut -d ' ' -f 4-; done >>"$D/out"; rm "$D"/each.* "$D/shell"
]]):format(target.quote 'echo a; echo bc; (echo de; exit 23); (exit 23); echo $$ >"$D/shell"; exit 23'))
is(each.err, "", "nothing is lost")
is(each.out, "3\n2\n" .. ("exit_group(23)                          = ?\n"):rep(3), "a file for each process")
local bad = target.uplua "systrace.lua --each-process /nope/x -- true"
is(bad.status, 1, "a folder that is not there")
like(bad.err, "/nope/x%.%d+: No such file or directory; %-%-each%-process takes", "… says so")

-- The report of syscalls.lua.
local counted = target.uplua("systrace.lua -c -e '%desc,!write' -- true")
is(counted.status, 1, "no group and no call of that name")
counted = target.uplua "systrace.lua -c -e write,close -- dd if=/dev/zero of=/dev/null bs=1 count=101 status=none"
is(counted.err, "", "nothing is lost")
like(counted.out, "^System call +Calls  Errors +p50 .* Total\n", "--count is the table of syscalls.lua")
like(counted.out, "\nwrite +101 ", "… of these calls")
tap.ok(not counted.out:find "\nread ", "… and no others")
counted = target.uplua "systrace.lua -c -Z -e 'mkdir,getpid' -- mkdir /proc/nope"
like(counted.out, "\nmkdir +1 +1 .*\n\nSystem call  Error   Times\nmkdir +ENOENT +1\n$", "… of those that fail")
counted = target.uplua "systrace.lua -f -- true"
tap.is(counted.status .. counted.err,
  "2systrace.lua: what a command starts is traced by uplua --follow systrace.lua …; see --help\n", "strace's -f")
counted = target.uplua "systrace.lua -c -P /etc -- true"
like(counted.err, "^systrace.lua: %-%-path is about lines, and %-%-count prints none; leave one of them out; see",
  "refused")

-- Calls that are under way at the end.
if not tap.has "perl" then tap.skip_rest "there is no perl" end
local waiting = target.shell [[
  mkfifo "$D/fifo"; exec 9<>"$D/fifo"
  (read x <&9) & one=$!
  perl -e 'select undef, undef, undef, 2300' & two=$!
  sleep 2300 & three=$!
  await 'grep -q pipe /proc/$one/wchan' $one # they are in their calls
  await 'grep -q "select\|poll" /proc/$two/wchan' $two
  await 'grep -q nanosleep /proc/$three/wchan' $three
  ./uplua --duration 1 systrace.lua -y -- $one $two $three >"$D/out" 2>"$D/err"
  kill $one $two $three; rm "$D/fifo"
]]
is(waiting.err, "", "nothing is lost")
like(waiting.out, "  read%(%d+<[^>]*fifo>,  <unfinished %.%.%.>\n", "what is not read yet is left out")
like(waiting.out, "  p?select6?%(0, NULL, NULL, NULL, {tv_sec=2300, tv_u?n?sec=0}.* <unfinished %.%.%.>\n",
  "… of select nothing is")
like(waiting.out, "  clock_nanosleep%(CLOCK_REALTIME, 0, {tv_sec=2300, tv_nsec=0},  <unfinished %.%.%.>\n",
  "… what is left of a sleep")
is(target.shell([[
  sleep 2300 & three=$!
  await 'grep -q nanosleep /proc/$three/wchan' $three
  ./uplua --duration 0.5 systrace.lua -Z -- $three >"$D/out" 2>"$D/err"; kill $three]]).out, "", "none has failed")

target.done()
tap.done_testing()
