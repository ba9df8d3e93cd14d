-- No update is lost: four threads update one element of each kind of object a million times together, while another
-- handler interrupts them in hardware interrupts, 10,000 times a second on each CPU, and updates the same; the script
-- takes what there is meanwhile. The sums are exact.
local tap = require "tap"
local target = require "target"

local COUNT = tap.fewer(1000003, 100003)
local script = [[
local ffi = require "ffi"
local setup = require "uplua.probe.setup"
local up = require "uplua"

ffi.cdef "long syscall(long number, ...);"
ffi.cdef "int libbpf_num_possible_cpus(void); int bpf_raw_tracepoint_open(const char *name, int fd);"
local bpf = ffi.load "libbpf.so.1"

local n, s, lo, hi, st, h, l, d = up.count(), up.sum(), up.min(), up.max(), up.stats(),
    up.hist(), up.lhist(0, 1000000, 1000), up.hdr(3)
local kn, kst, kh = up.count(), up.stats(), up.hist()
local m, a, records, v, narrow = up.hash(), up.array { max = 2 }, up.hash(), up.var(0), up.var(0, "u32")
local cut = up.hash { value = { n = "u32" } }
local each, racy = up.percpu_hash(), up.percpu_hash()
local interrupts, taken, taken_sum, takes, least, most = up.count(), 0, 0, 0
records[1], cut[1] = { n = 0 }, { n = 0 }

-- What is read at the beginning and written at the end is lost where another handler comes between on the same CPU.
local function begin()
  local r = racy[1]
  if r then return bit.band(r.n, -1) end
  racy[1] = { n = 0 }
  return 0
end
local function finish(x)
  local r = racy[1]
  if r then r.n = x + 1 end
end

local function update(x)
  local before = begin()
  n:inc() s:add(x) lo:add(x) hi:add(x) st:add(x) h:add(x) l:add(x) d:add(x)
  kn.one:inc() kst.one:add(x) kh.one:add(x)
  m.one = (m.one or 0) + 1
  a[1] = a[1] + 1
  local r, c = records[1], cut[1]
  if r then r.n = r.n + 1 end
  if c then c.n = up.u32(c.n + 1) end
  v:add(1) narrow:add(1)
  each[1] = (each[1] or 0) + 1
  finish(before)
end
up.uprobe("./build/targets/updates:step", function(e) update(e.arg0) end)

-- A raw tracepoint's program, in the interrupts of a timer. The values that it adds are 0.
local link
require("uplua.probe.declare").probe {
  provider = require "uplua.probe.providers.testrun".providers.testrun,
  spec = "interrupt", places = { { ["function"] = "interrupt", inside = 0 } },
  handler = function(e) interrupts:inc() update(0) end,
  attach = function(_, program) link = bpf.bpf_raw_tracepoint_open("hrtimer_expire_entry", program.fd) end,
}
local attr = ffi.new("uint64_t[16]")
attr[0] = 1 + 2 ^ 32 * 128 -- PERF_TYPE_SOFTWARE, the structure's size
attr[1] = 0                -- PERF_COUNT_SW_CPU_CLOCK
attr[2] = 100000           -- ns between samples
local PERF_EVENT_OPEN = ({ x64 = 298, arm64 = 241 })[jit.arch]
for cpu = 0, bpf.libbpf_num_possible_cpus() - 1 do
  ffi.C.syscall(PERF_EVENT_OPEN, attr, ffi.cast("int", -1), ffi.cast("int", cpu),
      ffi.cast("int", -1), ffi.cast("long", 0))
end

local function take()
  local view = kst:take()
  local one = view.one
  taken, taken_sum, takes = taken + one.count, taken_sum + one.sum, takes + (one.count > 0 and 1 or 0)
  if one.min and (not least or one.min < least) then least = one.min end
  if one.max and (not most or one.max > most) then most = one.max end
  for name, value in pairs { n = n:take():get(), s = s:take():get(), h = h:take().count, l = l:take().count } do
    taken_of[name] = (taken_of[name] or 0) + value
  end
end
taken_of = {}
up.every("10ms", take)
up.at_exit(function()
  take()
  local i = interrupts:get()
  local total, kept = 0, 0
  for cpu = 0, #each[1] do total, kept = total + each[1][cpu], kept + racy[1][cpu].n end
  print("attached", link >= 0, i > 0)
  for _, row in ipairs {
    { "count", taken_of.n - i }, { "sum", taken_of.s }, { "min", lo:get() }, { "max", hi:get() },
    { "stats", st.count - i, st.sum, st.min, st.max }, { "hist", taken_of.h - i }, { "lhist", taken_of.l - i },
    { "hdr", d.count - i, d.sum, d.max }, { "keyed count", kn.one - i }, { "keyed hist", kh.one.count - i, kh.one.sum },
    { "takes", taken - i, taken_sum, least, most, takes > 1 }, { "hash", m.one - i }, { "array", a[1] - i },
    { "field", records[1].n - i }, { "narrow field", cut[1].n - i },
    { "var", v:get() - i }, { "narrow var", narrow:get() - i },
    { "percpu_hash", total - i }, { "racy", kept < COUNT + i },
  } do print(unpack(row)) end
  print("# interrupts, takes, lost without atomic updates", i, takes, COUNT + i - kept)
end)
]]

local SUM = COUNT * (COUNT - 1) / 2
local path = target.folder() .. "-lossless.lua"
local file = assert(io.open(path, "w"))
file:write("local COUNT = ", COUNT, "\n", script)
file:close()
local run = target.uplua(path .. " -- ./build/targets/updates 4 " .. COUNT)
os.remove(path)
tap.is(run.status, 0, "the run ends well")
io.write(run.out:match "# [^\n]*\n" or "")
local got = {}
for name, values in run.out:gmatch "([^\t\n]+)\t([^\n]*)" do got[name] = values:gsub("\t", " ") end
for _, case in ipairs {
  { "attached", "true true", "the interrupting handler has run" },
  { "count", COUNT, "a count, over takes" },
  { "sum", SUM, "a sum, over takes" },
  { "min", 0, "a minimum" },
  { "max", COUNT - 1, "a maximum" },
  { "stats", ("%d %d 0 %d"):format(COUNT, SUM, COUNT - 1), "stats" },
  { "hist", COUNT, "a histogram, over takes" },
  { "lhist", COUNT, "one of a thousand buckets, over takes" },
  { "hdr", ("%d %d %d"):format(COUNT, SUM, COUNT - 1), "one of significant digits" },
  { "keyed count", COUNT, "a count by key" },
  { "keyed hist", ("%d %d"):format(COUNT, SUM), "a histogram by key" },
  { "takes", ("%d %d 0 %d true"):format(COUNT, SUM, COUNT - 1), "stats by key, over takes" },
  { "hash", COUNT, "an entry of a map" },
  { "array", COUNT, "of an array" },
  { "field", COUNT, "a field of a record" },
  { "narrow field", COUNT, "of 32 bits" },
  { "var", COUNT, "a var" },
  { "narrow var", COUNT, "of 32 bits" },
  { "percpu_hash", COUNT, "the CPUs' own entries" },
  { "racy", true, "what is no single addition does lose some: the handlers interrupt each other" },
} do tap.is(got[case[1]], tostring(case[2]):gsub("%.0$", ""), case[3]) end
tap.ok(not run.err:find "not everything was seen", "the ledger is empty")
target.done()
tap.done_testing()
