-- e.regs: every register of the CPU, in each kind of probe whose context has them, beside the numbers that
-- tests/targets/registers.c loads and prints.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM, TIMES = "./build/targets/registers", 23
local X64 = jit.arch == "x64"

local names = {}
if X64 then
  for name in ("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip flags"):gmatch "%S+" do
    names[#names + 1] = name
  end
else
  for i = 0, 30 do names[#names + 1] = "x" .. i end
  for _, name in ipairs { "sp", "pc", "pstate" } do names[#names + 1] = name end
end

-- Statements that print STATE and all registers, 0 for those of the set WITHOUT.
local function shown(state, without)
  local parts = {}
  for i, name in ipairs(names) do
    parts[i] = without[name] and "0" or "e.regs." .. name
    -- Of the processor's state only the flags; a fault sets RF, so that the instruction is repeated.
    if name == "pstate" and not without[name] then parts[i] = "bit.band(e.regs.pstate, 0xf0000000)" end
    if name == "flags" and without.resume then parts[i] = "bit.band(e.regs.flags, 0xfffeffff)" end
  end
  return ("printf(%q, %s)"):format(state .. (" %d"):rep(#names) .. "\n", table.concat(parts, ", "))
end

-- The kernel sees a return by having the register that a function returns through lead to code of its own.
local RETURN = { x30 = true }
local INSIDE = { rip = true, pc = true, x30 = true }
local FAULT = { rip = true, pc = true, x30 = true, resume = true }
local SAMPLE = { rip = true, flags = true, pc = true, pstate = true, x30 = true }
-- { kind, constructor, state, what is left out, hits }
local kinds = {
  { "uprobe", 'uprobe("PROGRAM:known"', "entry", {}, TIMES },
  { "uprobe of what slides", 'uprobe("PROGRAM:late"', "entry", {}, TIMES },
  { "uprobe of both", 'uprobe({ "PROGRAM:known", "PROGRAM:late" }', "entry", {}, 2 * TIMES },
  { "uretprobe", 'uretprobe("PROGRAM:known"', "return", RETURN, TIMES },
  { "uretprobe of what slides", 'uretprobe("PROGRAM:late"', "return", RETURN, TIMES },
  { "uretprobe at return instructions", 'uretprobe("PROGRAM:known", { returns = "instructions" }', "inside", INSIDE,
    TIMES },
  { "usdt", 'usdt("PROGRAM:app:known"', "inside", INSIDE, 2 * TIMES },
  { "watch", 'watch("PROGRAM:watched", { "w", size = 8 }', "inside", INSIDE, 2 * TIMES },
  { "perf page-faults", 'perf("page-faults", 1', "inside", FAULT, 1 },
  { "profile", ('profile(%d'):format(target.hertz(499)), "sample", SAMPLE },
}

for _, kind in ipairs(kinds) do
  if tap.fewer(true, not kind[1]:find "uprobe of both") and (kind[1] ~= "watch" or target.watches()) then
    local run = target.uplua("-e " .. target.quote(kind[2]:gsub("PROGRAM", PROGRAM) .. ", function(e) " ..
      shown("seen", kind[4]) .. " end)") .. " -- " .. PROGRAM)
    is(run.status .. run.err, "0", kind[1] .. ": handlers that read all registers")
    local expected, hits = {}, 0
    for line in run.out:gmatch("%f[^\n%z]" .. kind[3] .. "( [^\n]*)") do expected[line] = true end
    local other = {}
    for line in run.out:gmatch "%f[^\n%z]seen( [^\n]*)" do
      if expected[line] then hits = hits + 1 else other[#other + 1] = line end
    end
    if kind[5] and hits ~= kind[5] then
      io.stderr:write("# others: ", table.concat(other, "\n# ", 1, math.min(#other, 3)), "\n")
    end
    if kind[5] then
      is(hits, kind[5], kind[1] .. ": each is as the program has loaded it, at each hit")
    else
      ok(hits > 0, ("%s: each is as the program has loaded it, in %d samples"):format(kind[1], hits))
    end
  end
end

-- --- names ---

local FIRST = names[1]
local function refused(code, want, what)
  like(target.uplua("--explain -e " .. target.quote("n, m = count(), hash() " .. code)).err, want, what)
end
local function at(code) return ('uprobe("%s:known", function(e) %s end)'):format(PROGRAM, code) end
if X64 then
  local parts = {
    eax = "up.u32(e.regs.rax)", r9d = "up.u32(e.regs.r9)", di = "up.u16(e.regs.rdi)", bl = "up.u8(e.regs.rbx)",
    sil = "up.u8(e.regs.rsi)", r15b = "up.u8(e.regs.r15)", ch = "up.u8(bit.rshift(e.regs.rcx, 8))",
    eip = "up.u32(e.regs.rip)",
  }
  for part, whole in pairs(parts) do
    refused(at("n[e.regs." .. part .. "]:inc()"),
      ("%%-e:1: '%s' is a part of the register %%w+: write %s\n$"):format(part, (whole:gsub("%p", "%%%0"))),
      part .. " is a part")
  end
  refused(at "n[e.regs.rxa]:inc()", "this CPU has no register 'rxa' that a handler could read; did you mean rax.*%? " ..
    "It has rax, rbx, .*, r15, rip, flags\n$", "another name")
  is(target.uplua("--explain -e " .. target.quote("n = count() " .. at [[
    n[e.regs.ip == e.regs.rip and e.regs.sp == e.regs.rsp and e.regs.rflags == e.regs.eflags]:inc()]])).status, 0,
    "other names that people know")
else
  refused(at "n[e.regs.w19]:inc()", "'w19' is a part of the register x19: write up.u32%(e%.regs%.x19%)",
    "w19 is a part")
  refused(at "n[e.regs.wsp]:inc()", "'wsp' is a part of the register sp: write up.u32%(e%.regs%.sp%)", "wsp, too")
  refused(at "n[e.regs.x31]:inc()", "this CPU has no register 'x31' that a handler could read; did you mean x.*%? " ..
    "It has x0, x1, .*, x30, sp, pc, pstate\n$", "another name")
end
if not X64 then
  refused(('uretprobe("%s:known", function(e) n[e.regs.lr]:inc() end)'):format(PROGRAM),
    "e.regs.lr is of no use where a function returns: .*; it returns to e.regs.ip",
    "the register that returns go through")
end
refused(at "n[e.regs[e.arg0]]:inc()", "a register has a name that is known when the handler is compiled: e%.regs%." ..
  FIRST, "a name that is computed")
refused(at "m[1] = e.regs", "all of the event's registers cannot be stored", "all together")
refused(at(("e.regs.%s = 1"):format(FIRST)), "the event's fields cannot be assigned to", "an assignment")
refused('tracepoint("sched:sched_switch", function(e) n[e.regs.ip]:inc() end)',
  "the event of a tracepoint has no registers; e%.regs is there in handlers of uprobe, uretprobe, .*, watch%. " ..
  "Its fields are e%.args%.NAME\n$", "a kind without them")
refused('interval("1s", function(e) n[e.regs.ip]:inc() end)',
  "the event of an interval has no registers; e%.regs is there in handlers of uprobe", "a timer")
for _, event in ipairs { "context-switches", "cs:u", "cpu-migrations" } do
  refused(('perf("%s", 1, function(e) n[e.regs.ip]:inc() end)'):format(event),
    "perf " .. event:gsub("%p", "%%%0") .. " has no registers: the kernel counts this event itself", event)
end

-- --- where the probe stands ---

local function standing(code)
  return target.uplua("--explain -e " .. target.quote("n = count() " .. code)).out:match "\n  at ([^\n]*\n[^\n]*)"
end
local late = ('uprobe("%s:late", function(e) n[%%s]:inc() end)'):format(PROGRAM)
like(standing(late:format("e.regs." .. (X64 and "rdi" or "x19"))), "late%+0x%x+,",
  "a register that no instruction before changes is read where the hit is cheap")
like(standing(late:format("e.regs." .. (X64 and "rax" or "flags"))), "late,.*\n +its first instruction is stepped",
  "one that may change is read at the entry")

local run = target.script(([[
local up = require "uplua"
local n = up.count()
local function where(e) n[e.func == "late" and e.ip == e.regs.ip and e.regs.rip == e.regs.ip]:inc() end
local a = up.uprobe("%s:late", where)
local b = up.uprobe("%s:known", where)
up.at_exit(function() print(n[true], n[false]) end)
up.at_start(function()
  print(pcall(a.replace, a, function(e) n[e.regs.rax == e.regs.rax]:inc() end))
  a:replace(function(e) n[e.regs.rip - e.ip == 0]:inc() end)
end)
]]):format(PROGRAM, PROGRAM), "-- " .. PROGRAM)
if X64 then
  like(run.out, "^true\t", "a handler that reads a register that is gone replaces one at a place behind the entry")
  like(run.out, "\n23\t23\n", "which goes on with another that does not need that")
  like(run.err, "1 × uprobe [^\n]*late: handler replaced by one that has to stand at the function's entry",
    "and the report says that the place has changed")
end

-- --- functions of the kernel ---

if not target.has "kprobe" then
  tap.skip "the kernel has no kprobes here"
else
  local SAVED = X64 and { "rbx", "rbp", "r12", "r13", "r14", "r15" }
    or { "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28" }
  local keep, same = {}, {}
  for i, name in ipairs(SAVED) do
    keep[i] = ("%s = e.regs.%s"):format(name, name)
    same[i] = ("b.%s == e.regs.%s"):format(name, name)
  end
  local run = target.script(([[
local up = require "uplua"
local before, same, other, first = up.hash(), up.count(), up.count(), up.count()
up.kprobe("do_send_sig_inf[o]", function(e)
  if e.arg0 ~= 23 then return end
  before[e.tid] = { %s }
  first[e.regs.%s == e.arg0 and e.regs.%s == e.arg1 and e.regs.ip >= e.ip and e.regs.ip <= e.ip + 8 and
        e.regs.sp > 0x7fffffffffffffffULL]:inc()
end)
up.kretprobe("do_send_sig_info", function(e)
  local b = before[e.tid]
  if e.arg0 ~= 23 or not b then return end
  if %s and e.regs.%s == e.ret then same:inc() else other:inc() end
end)
up.at_exit(function() print(same:get(), other:get(), first[true], first[false]) end)
]]):format(table.concat(keep, ", "), X64 and "rdi" or "x0", X64 and "rsi" or "x1", table.concat(same, " and "),
           X64 and "rax" or "x0"), "-- ./build/targets/probe_kinds regs")
  is(run.status .. run.err, "0", "kprobe and kretprobe")
  like(run.out, "404\t0\t404\t0\n",
    "what a function leaves as it was is the same at its return; arguments are registers")
end

-- --- interrupts off: in samples by the CPU's counters ---

if not X64 or not target.has "pmu" then
  tap.skip "the CPU has no counters here, whose samples could interrupt code with interrupts off"
else
  local run = target.uplua [[--duration 2s -e 'n = count()
    perf("cycles:k", 100000, function(e) n[bit.band(e.regs.flags, 0x200) == 0]:inc() end)']]
  like(run.out, "true +%d+\n", "some samples of the kernel are taken with interrupts off")
end
target.done()
tap.done_testing()
