-- How many instructions the kernel's verifier looks at, over all ways through a handler, before it takes it: of a million that it
-- would, a few thousand. Each of these handlers is short, and was far above its bound when what it shows was followed way by way.
local ffi = require "ffi"
local setup = require "uplua.setup"
local tap = require "tap"
local testrun = require "uplua.testrun"
local up = require "uplua"

ffi.cdef "long syscall(long number, ...);"
local SYS_BPF = ffi.arch == "x64" and 321 or 280
local BPF_OBJ_GET_INFO_BY_FD, INFO_SIZE, VERIFIED_INSNS = 15, 228, 216 -- bytes of struct bpf_prog_info (Linux 5.16), and where it says so

local function verified(fd)
  local info, attribute = ffi.new("uint8_t[?]", INFO_SIZE), ffi.new "uint64_t[2]"
  attribute[0] = bit.bor(bit.lshift(ffi.cast("uint64_t", INFO_SIZE), 32), fd)
  attribute[1] = ffi.cast("uintptr_t", info)
  assert(ffi.C.syscall(SYS_BPF, ffi.cast("int", BPF_OBJ_GET_INFO_BY_FD), attribute, ffi.cast("int", 16)) == 0)
  return ffi.cast("uint32_t *", info + VERIFIED_INSNS)[0]
end

local h, l, d, st, lo, hi = up.hist(), up.lhist(-20, 100, 15), up.hdr(2), up.stats { max = 64 }, up.min(), up.max { max = 64 }

-- { name, handler, instructions at most }
local cases = {
  { "24 aggregations that keep extremes", function(e)
    h:add(e.arg0) l:add(e.arg1) d:add(e.arg2) st[e.arg3]:add(e.arg4) lo:add(e.arg5) hi[e.arg6]:add(e.arg7)
    h:add(e.arg1) l:add(e.arg2) d:add(e.arg3) st[e.arg4]:add(e.arg5) lo:add(e.arg6) hi[e.arg7]:add(e.arg8)
    h:add(e.arg2) l:add(e.arg3) d:add(e.arg4) st[e.arg5]:add(e.arg6) lo:add(e.arg7) hi[e.arg8]:add(e.arg9)
    h:add(e.arg3) l:add(e.arg4) d:add(e.arg5) st[e.arg6]:add(e.arg7) lo:add(e.arg8) hi[e.arg9]:add(e.arg10)
  end, 20000 },
}

for i, case in ipairs(cases) do
  local run, fd = testrun.handler("case" .. i, case[2])
  setup.commit()
  local count = verified(fd())
  tap.ok(count > 0 and count <= case[3], ("%s: %d instructions"):format(case[1], count))
end
setup.close()
tap.done_testing()
