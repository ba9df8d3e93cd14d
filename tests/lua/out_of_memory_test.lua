-- Out of memory is an error: whichever allocation of uplua's own code fails, the run is right or ends with a message,
-- and leaves nothing behind. Spared is what libraries allocate for themselves: libelf and libbpf crash there, and
-- LuaJIT, which has an error of its own ("not enough memory"), maps its memory without malloc.
local tap    = require "tap"
local target = require "target"

-- Allocations that fail, one in each run; with UPLUA_LONG in the environment each does.
local SAMPLES = tap.fewer(41, 7)
local CASES = {
  { "entries, in a program and a library", "build/targets/calls 23",
    'n = count() uprobe("calls:add3", function(e) n[e.comm]:inc() end) '
    .. 'uprobe("libc:malloc", function(e) n[e.comm]:inc() end)' },
  -- That a return probe may do harm must not be overlooked.
  { "a return, in a program with exceptions", "build/targets/cxx_exceptions",
    'n = count() uretprobe("cxx_exceptions:calm", function(e) n[e.comm]:inc() end)' },
  -- Without memory nobody knows what a process has chosen: that is not the same as that it has chosen nothing.
  { "an indirect function", "setarch -R build/targets/sites",
    'n = count() uprobe("libc:memcpy", function(e) if e.arg2 == 2311 then n[e.func]:inc() end end)' },
  { "a USDT probe", "build/targets/usdt 1", 'n = count() usdt("usdt:app:counter", function(e) n[e.comm]:inc() end)' },
}

-- uplua with SCRIPT on COMMAND as allocation N fails (0: none). The pipe that cat reads ends when uplua and its command
-- have: links, programs and maps are theirs by descriptors, and end with them.
local function run(script, command, n)
  return target.shell(([[
    set -o pipefail
    { FAILING_ALLOCATION=%d LD_PRELOAD=build/targets/libexhausted.so ./uplua -e %s -- %s \
        9>&1 >"$D/out" 2>"$D/err" </dev/null; } | timeout 60 cat]]):format(n, target.quote(script), command))
end

-- What is wrong with a run R, or nil; WHOLE: the undisturbed one, which has told TOLD.
local function fault(r, whole, told)
  if r.status == 0 then
    if r.out ~= whole.out then return "it succeeds with another result" end
    return r.err ~= told and not r.err:find "out of memory" and "it succeeds with another message" or nil
  end
  if r.status ~= 1 and r.status ~= 2 then return "it ends with status " .. r.status end
  return not r.err:find "out of memory" and "it fails with another message" or nil
end

for _, case in ipairs(CASES) do
  local name, command, script = unpack(case)
  local whole = run(script, command, 0)
  local told, count = whole.err:match "^(.-)(%d+) allocations\n$"
  count = tonumber(count)
  tap.is(whole.status, 0, name .. ": with all the memory that there is, the run succeeds")
  tap.like(whole.out, "  %d+\n", "… and its handlers count")
  if tap.ok(count and count > 100, "… the allocations of uplua's own code are counted") then
    local faults, failed, runs = {}, 0, 0
    for i = 1, count, os.getenv "UPLUA_LONG" and 1 or math.floor(count / SAMPLES) do
      local r = run(script, command, i)
      local what = fault(r, whole, told)
      runs, failed = runs + 1, failed + (r.status == 0 and 0 or 1)
      if what then faults[#faults + 1] = ("allocation %d: %s: %s%s"):format(i, what, r.out, r.err) end
    end
    tap.is(table.concat(faults, "\n"), "",
      ("… %d runs with one allocation that fails are right or say so"):format(runs))
    tap.ok(failed > runs / 4, ("… %d of them fail"):format(failed))
  end
end
target.done()
tap.done_testing()
