-- A target that executes another program: what that brings along is probed when it comes, or told.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local CALLS = 101

-- What the cases run: copies of a program and of its C library, which nothing probes before they are mapped, and a
-- folder for chroot.
local PREPARE = [[
  trap 'rm -rf "$D/files"' EXIT
  mkdir -p "$D/files/lib" "$D/files/bin" "$D/files/jail/bin"
  libraries=$(LD_TRACE_LOADED_OBJECTS=1 build/targets/allocs | grep -o '/[^ ]*')
  libc=$(printf '%s\n' $libraries | grep '/libc\.') || exit 96
  cp -L $libc "$D/files/lib/"
  cp build/targets/allocs build/targets/usdt "$D/files/bin/"
  cp build/targets/allocs "$D/files/jail/bin/"
  for library in $libraries; do mkdir -p "$D/files/jail${library%/*}"; cp -L $library "$D/files/jail$library"; done
]]

-- ./uplua OPTIONS -- COMMAND; once it tells N times that something is probed, COMMAND gets its byte on standard input;
-- it ends when it has said SAYS.
local function waited(options, command, n, says)
  return target.shell(PREPARE .. ([[
    mkfifo "$D/in"
    %s -- %s <"$D/in" >"$D/out" 2>"$D/err" &
    uplua=$!
    exec 7>"$D/in"
    await '[ $(grep -c "probed from now on" "$D/err") -ge %d ]' $uplua
    printf x >&7
    await 'grep -q "%s" "$D/out"' $uplua
    exec 7>&-
    wait $uplua]]):format(options, command, n, says))
end

local COUNT = [[PATH=build/targets:$PATH ./uplua -e '
  local n = count()
  %s
  at_exit(function() print("seen", n.allocs or 0) end)']]

local function counted(probe) return COUNT:format(probe) end

local MALLOC = counted [[uprobe("libc:malloc", function(e) n[e.comm]:inc() end)]]

local function is_seen(run, want, what)
  is(run.out:match "seen\t([^\n]*)", want, what)
  is(run.status, 0, what .. ": the command's status")
end

-- Nothing is missed, and nothing told.
for _, command in ipairs { "build/targets/allocs 101", "env X=1 build/targets/allocs 101",
  "sh -c 'exec build/targets/allocs 101'" } do
  local run = target.uplua(MALLOC:gsub("^.-uplua ", "") .. " -- " .. command)
  is_seen(run, tostring(CALLS), command)
  is(run.err, "", command .. ": of which nothing has to be told")
end

local run = waited(MALLOC, 'env LD_LIBRARY_PATH="$D/files/lib" ALLOCS_WAIT=1 build/targets/allocs 101', 1, "per pair")
is_seen(run, tostring(CALLS), "another file of the library's name: each call from when uplua says so")
like(run.err,
  "^uplua: uprobe libc:malloc: process %d+ has loaded %S+/files/lib/libc%S+: probed from now on, %S+ ?[mu]?s later\n$",
  "which is told")

run = waited(MALLOC, 'env ALLOCS_WAIT=1 chroot "$D/files/jail" /bin/allocs 101', 1, "per pair")
is_seen(run, tostring(CALLS), "the library of another root")
like(run.err,
  "^uplua: uprobe libc:malloc: process %d+ has loaded /%S+/libc%S+: probed from now on, %S+ ?[mu]?s later\n$",
  "which is told")

run = waited(counted [[uprobe("allocs:allocate", function(e) n[e.comm]:inc() end)
  uretprobe("allocs:allocate", function(e) n[e.comm]:inc() end)]],
             'env PATH="$D/files/bin" ALLOCS_WAIT=1 allocs 101', 2, "per pair")
is_seen(run, tostring(2 * CALLS), "another program of that name")

run = waited([[PATH=build/targets:$PATH ./uplua -e '
  local n = count()
  usdt("usdt:app:guarded", function(e) n:inc() end)
  at_exit(function() print("seen", n:get()) end)']], 'env PATH="$D/files/bin" usdt 1 wait', 1, "guarded")
is_seen(run, tostring(CALLS), "its USDT probes")
like(run.out, "guarded 101\n", "… with their semaphore")

-- By PID: a shell that becomes the program when it is told to.
run = target.shell(PREPARE .. ([[
  mkfifo "$D/in"
  sh -c 'echo ready; read line; LD_LIBRARY_PATH="$1" ALLOCS_WAIT=1 exec build/targets/allocs 101' \
    sh "$D/files/lib" <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  %s -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null &
  uplua=$!
  until_traces
  echo >&7
  await 'grep -q "probed from now on" "$D/err"' $uplua
  printf x >&7
  until_said "per pair"
  exec 7>&-
  wait $uplua]]):format(counted [[uprobe("libc:malloc", function(e) n[e.comm]:inc() end)
    after(0, function() io.stderr:write "tracing\n" end)]]))
is_seen(run, tostring(CALLS), "a process that executes a program with another library")

-- One that is over before uplua, which it stops, gets to it.
run = target.shell(PREPARE .. ([[
  %s -- sh -c 'echo $$ >"$2"; kill -STOP $PPID; LD_LIBRARY_PATH="$1" exec build/targets/allocs 101' sh \
    "$D/files/lib" "$D/pid" >"$D/out" 2>"$D/err" &
  uplua=$!
  await 'grep -q "per pair" "$D/out"' $uplua
  await_end $(cat "$D/pid")
  kill -CONT $uplua
  wait $uplua]]):format(MALLOC))
is_seen(run, "0", "what is over by then is not counted")
like(run.err,
  "not everything was seen:\n  %d+ × uprobe libc:malloc: processes that had exited before their libc could be probed\n",
  "which is told")

-- mallocleak.lua: an allocator that only the program has.
run = waited("./uplua scripts/mallocleak.lua --top 0",
  "env LD_PRELOAD=build/targets/libshim.so build/targets/nested wait", 1, "allocations")
local bytes, blocks = 0, 0
for b, n, stack in run.out:gmatch "%f[^\n]   ([%d,]+) bytes in (%d+) blocks[^\n]*\n(.-\n)\n" do
  if stack:find "leak_nested" then bytes, blocks = bytes + b:gsub(",", ""), blocks + n end
end
is(bytes .. " " .. blocks, "23000 23", "mallocleak: the blocks of an allocator that the new program brings along")
like(run.err, "process %d+ has loaded %S+/libshim.so, which defines malloc: probed from now on, %S+ ?[mu]?s later\n",
  "which is told")
run = target.uplua "mallocleak.lua --top 0 -- env X=1 build/targets/leak"
is(run.err:match "[^\n]*has loaded[^\n]*" or run.err:match "[^\n]*could be probed", nil,
  "where there is none, nothing is told")

target.done()
tap.done_testing()
