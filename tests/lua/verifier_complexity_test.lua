-- How many instructions the kernel's verifier looks at, over all ways through a handler, before it takes it: of a
-- million that it would, a few thousand. Each of these handlers is short, and was far above its bound when what it
-- shows was followed way by way.
local ffi = require "ffi"
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

ffi.cdef "long syscall(long number, ...);"
local SYS_BPF = ffi.arch == "x64" and 321 or 280
-- bytes of struct bpf_prog_info (Linux 5.16), and where it says so
local BPF_OBJ_GET_INFO_BY_FD, INFO_SIZE, VERIFIED_INSNS = 15, 228, 216

local function verified(fd)
  local info, attribute = ffi.new("uint8_t[?]", INFO_SIZE), ffi.new "uint64_t[2]"
  attribute[0] = bit.bor(bit.lshift(ffi.cast("uint64_t", INFO_SIZE), 32), fd)
  attribute[1] = ffi.cast("uintptr_t", info)
  assert(ffi.C.syscall(SYS_BPF, ffi.cast("int", BPF_OBJ_GET_INFO_BY_FD), attribute, ffi.cast("int", 16)) == 0)
  return ffi.cast("uint32_t *", info + VERIFIED_INSNS)[0]
end

local n, numbers, texts = up.count { max = 64 }, up.hash { max = 64 }, up.hash { max = 64 }
local h, l, d, st, lo, hi = up.hist(), up.lhist(-20, 100, 15), up.hdr(2), up.stats { max = 64 }, up.min(),
  up.max { max = 64 }

-- { name, handler, instructions at most }
local cases = {
  { "24 aggregations that keep extremes", function(e)
    h:add(e.arg0) l:add(e.arg1) d:add(e.arg2) st[e.arg3]:add(e.arg4) lo:add(e.arg5) hi[e.arg6]:add(e.arg7)
    h:add(e.arg1) l:add(e.arg2) d:add(e.arg3) st[e.arg4]:add(e.arg5) lo:add(e.arg6) hi[e.arg7]:add(e.arg8)
    h:add(e.arg2) l:add(e.arg3) d:add(e.arg4) st[e.arg5]:add(e.arg6) lo:add(e.arg7) hi[e.arg8]:add(e.arg9)
    h:add(e.arg3) l:add(e.arg4) d:add(e.arg5) st[e.arg6]:add(e.arg7) lo:add(e.arg8) hi[e.arg9]:add(e.arg10)
  end, 10000 },
  { "numbers that meet in a loop, and are compared there", function(e)
    local a, b, c, d = 0LL, 0LL, 0LL, 0LL
    for i = 1, e.arg1 do
      local p, q, r, s = 1LL, 2LL, 3LL, 4LL
      if e.arg2 < i then p = a end
      if e.arg3 < i then q = b end
      if e.arg4 < i then r = c end
      if e.arg5 < i then s = d end
      if p < q then n[1]:inc() end
      if q < r then n[2]:inc() end
      if r < s then n[3]:inc() end
      if s < p then n[4]:inc() end
      if e.arg6 < i then n[5]:inc() end
      if e.arg7 < i then n[6]:inc() end
      a, b, c, d = a + s, b + r, c + q, d + p
      if a > e.arg2 + e.arg3 + e.arg4 + e.arg5 + e.arg6 + e.arg7 then n[7]:inc() end
    end
    numbers[a] = b + c + d
  end, 10000 },
  { "strings that change in a loop", function(e)
    local a, b, c, d, f, g = "a", "b", "c", "d", "f", "g"
    for i = 1, e.arg1 do
      if e.arg2 == i then a = "x" end
      if e.arg3 == i then b = "x" end
      if e.arg4 == i then c = "x" end
      if e.arg5 == i then d = "x" end
      if e.arg6 == i then f = "x" end
      if e.arg7 == i then g = "x" end
      if e.arg8 == i then n[1]:inc() end
      if e.arg9 == i then n[2]:inc() end
      if e.arg10 == i then n[3]:inc() end
    end
    texts[1] = a texts[2] = b texts[3] = c texts[4] = d texts[5] = f texts[6] = g
  end, 10000 },
  { "fields that are set in a loop", function(e)
    local r = { a = 1, b = 2, c = 3, d = 4, f = 5, g = 6 }
    for i = 1, e.arg1 do
      if e.arg2 == i then r.a = 10 end
      if e.arg3 == i then r.b = 11 end
      if e.arg4 == i then r.c = 12 end
      if e.arg5 == i then r.d = 13 end
      if e.arg6 == i then r.f = 14 end
      if e.arg7 == i then r.g = 15 end
      if e.arg8 == i then n[1]:inc() end
      if e.arg9 == i then n[2]:inc() end
      if e.arg10 == i then n[3]:inc() end
    end
    numbers[1] = r.a + r.b + r.c + r.d + r.f + r.g
  end, 10000 },
  { "sixteen words of memory in one printf, each of which may be nil", function(e)
    local p = e.arg0
    up.printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", up.read_u64(p), up.read_u64(p + 8),
      up.read_u64(p + 16), up.read_u64(p + 24), up.read_u64(p + 32), up.read_u64(p + 40), up.read_u64(p + 48),
      up.read_u64(p + 56), up.read_u64(p + 64), up.read_u64(p + 72), up.read_u64(p + 80), up.read_u64(p + 88),
      up.read_u64(p + 96), up.read_u64(p + 104), up.read_u64(p + 112), up.read_u64(p + 120))
  end, 5000 },
  { "sixteen values of a map that are added", function(e)
    numbers[e.arg0] = numbers[1] + numbers[2] + numbers[3] + numbers[4] + numbers[5] + numbers[6] + numbers[7]
      + numbers[8] + numbers[9] + numbers[10] + numbers[11] + numbers[12] + numbers[13] + numbers[14] + numbers[15]
      + numbers[16]
  end, 5000 },
}

for i, case in ipairs(cases) do
  local run, fd = test_run.handler("case" .. i, case[2])
  setup.commit()
  local count = verified(fd())
  tap.ok(count > 0 and count <= case[3], ("%s: %d instructions"):format(case[1], count))
end
setup.close()
tap.done_testing()
