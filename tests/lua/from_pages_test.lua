-- The pages "coming from …": each of uplua's lines there is one that uplua takes. What they count is compared with the
-- other tools' lines by tests/neighbours; here they are only compiled (--check), with names of programs that are there.
-- Runs once: nothing is attached.
local up     = require "uplua"
local tap    = require "tap"
local target = require "target"

-- What stands for something of the reader's, and what this test has for it.
local STAND_INS = {
  { " PROGRAM", " ./build/targets/calls" }, { "%-%- PID", "-- $$" }, { "PID 0x", "$$ 0x" },
  { "FILE", "/usr/bin/python3.11" }, { "ADDRESS", "0x601040" }, { "cpu%.svg", "$D/cpu.svg" },
  { "%./app@app%.c:42 %-%-key e%.vars%.i", "./build/targets/calls:add3 --key e.args.a" }, { "SPEC", "libc:malloc" },
  { "%./balance@balance%.c:12", "./build/targets/calls:negative" }, { "e%.vars%.i", "e.args.n" },
  { "%./balance:withdraw", "./build/targets/calls:negative" }, { "e%.args%.amount", "e.args.n" },
  { "%./balance:balance", "./build/targets/watched:counter" },
  { "%./balance:deposit", "./build/targets/calls:negative" },
  { "%-%- %./balance", "-- ./build/targets/calls" }, { "%-%- %./throws", "-- ./build/targets/throws" },
  { "%./app:parse", "./build/targets/calls:negative" }, { "%-%- %./app", "-- ./build/targets/calls" },
  { "%./app:main", "./build/targets/calls:main" }, { "EVENT", "sched:sched_switch" }, { "FIELD", "prev_pid" },
}

-- Programs and kinds of probes that are not everywhere: lines with them are left out there.
local function lacks(line)
  if not target.has "kprobe" and line:find "kprobe" or not target.has "trampoline" and line:find "fentry" then
    return "the kernel has no such probes"
  end
  if line:find "cycles" and not io.open "/sys/bus/event_source/devices/cpu/type" then return "there are no counters" end
  for path in (line:gsub("list FILE", "/usr/bin/python3.11:")):gmatch "(/usr/[%w_./-]+):" do
    local file = io.open(path)
    if not file then return "there is no " .. path end
    file:close()
  end
  if line:find "libssl:" and not up.defines "libssl:SSL_read" then return "there is no libssl" end
  if line:find "libruby" and not up.defines "libruby-3.1:ruby_init" then return "there is no libruby" end
end

local function check(page, number, line)
  local name = ("%s:%d: %s"):format(page, number, line)
  local why = lacks(line)
  if why then return tap.skip(name .. ": " .. why) end
  for _, pair in ipairs(STAND_INS) do line = line:gsub(pair[1], (pair[2]:gsub("%%", "%%%%"))) end
  local only = line:find "%-%-list" or line:find "%-%-symbolize" or line:find "usdt.lua list"
  local run = target.shell(('./uplua %s %s >"$D/out" 2>&1 </dev/null'):format(only and "" or "--check",
    line:gsub("^uplua ", "")))
  tap.is(run.status == 0 and "" or run.out, "", name)
end

for _, page in ipairs { "doc/from-bpftrace.md", "doc/from-bcc.md", "doc/from-perf.md", "doc/from-strace-gdb.md" } do
  local number, language, count = 0, nil, 0
  for line in io.lines(page) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if fence then
      language = not language and fence or nil
    elseif language == "sh" and line:find "^uplua " then
      count = count + 1
      check(page, number, line)
    elseif line:find "^|" then
      local cell = line:gsub("\\|", "|"):match "`(uplua [^`]*)` |$"
      if cell then
        count = count + 1
        check(page, number, cell)
      end
    end
  end
  tap.ok(count > 11, ("%s has lines of uplua's: %d"):format(page, count))
end
target.done()
tap.done_testing()
