-- uplua killed with SIGKILL while it traces leaves nothing in the kernel: no program, map or link, and the program's
-- code is as it was. With UPLUA_LONG in the environment 101 times, else 7.
local ffi = require "ffi"
local tap = require "tap"
local target = require "target"

ffi.cdef [[
  int close(int);
  int bpf_prog_get_fd_by_id(uint32_t); int bpf_map_get_fd_by_id(uint32_t); int bpf_link_get_fd_by_id(uint32_t);
]]
local bpf = ffi.load "libbpf.so.1"
local times = os.getenv "UPLUA_LONG" and 101 or 7

-- What each uplua had in the kernel, from the /proc/PID/fdinfo of its descriptors, and the first bytes of the probed
-- function.
local r = target.shell(([[
  ./build/targets/ticker >"$D/ready" &
  program=$!
  await 'read -r _ pid site <"$D/ready"' $program
  code() { dd if=/proc/$pid/mem bs=1 skip="$site" count=8 status=none | tr '\\0' 0; }
  code >"$D/before"
  for i in $(seq %d); do
    : >"$D/err" # before uplua starts: the line of the last one would be taken for its own
    ./uplua -e 'after(0, function() io.stderr:write "tracing\n" end) n = hash()
    uprobe("ticker:step", function(e) n[1] = e.time end) uretprobe("ticker:step", function(e) n[e.arg0] = e.ret end)
      profile(99, function(e) n[2] = e.ip end)' -- $pid >"$D/noise" 2>"$D/err" &
    uplua=$!
    until_traces_or_ends
    cat /proc/$uplua/fdinfo/* 2>/dev/null | grep -E '^(prog|map|link)_id' >>"$D/out"
    kill -KILL $uplua
    wait $uplua 2>/dev/null
  done
  await '[ "$(code)" = "$(cat "$D/before")" ]' $program
  code >"$D/target"
  cat "$D/before" >"$D/err"
  kill $program
]]):format(times))
tap.is(r.target, r.err, "the probed function's code is as it was")
local seen, count = {}, { prog = 0, map = 0, link = 0 }
for kind, id in r.out:gmatch "(%l+)_id:%s*(%d+)" do
  local key = kind .. id
  if not seen[key] then
    seen[key] = { bpf["bpf_" .. kind .. "_get_fd_by_id"], tonumber(id), key }
    count[kind] = count[kind] + 1
  end
end
-- The kernel lets go of the last of them behind the end of the process, when no CPU can be in them: waits for each.
local left = 0
for key, one in pairs(seen) do
  local gone = pcall(target.await, "the end of " .. key, function()
    local fd = one[1](one[2])
    if fd >= 0 then ffi.C.close(fd) end
    return fd < 0
  end)
  if not gone then left = left + 1 print("# still there: " .. key) end
end
tap.ok(count.prog >= 4 * times and count.map >= times and (not target.has "uprobe_multi" or count.link >= 2 * times),
  ("%d times, with %d programs, %d maps and %d links in all"):format(times, count.prog, count.map, count.link))
tap.is(left, 0, "none of them is left")
target.done()
tap.done_testing()
