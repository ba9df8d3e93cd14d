-- Kernel maps and ring records for the tests of the script side, without the compiler.
local ffi = require "ffi"

ffi.cdef [[
struct test_map_opts {
  size_t sz; uint32_t btf_fd, btf_key, btf_value, btf_vmlinux_value, inner_map_fd,
      flags; uint64_t extra; uint32_t numa_node, ifindex;
};
struct test_insn { uint8_t code, registers; int16_t offset; int32_t immediate; };
struct test_run_opts {
  size_t sz; const void *data_in; void *data_out; uint32_t data_size_in,
      data_size_out; const void *ctx_in; void *ctx_out;
  uint32_t ctx_size_in, ctx_size_out, retval; int repeat; uint32_t duration, flags, cpu, batch_size;
};
int bpf_map_create(int type, const char *name, uint32_t key, uint32_t value,
    uint32_t max, const struct test_map_opts *opts);
int bpf_map_update_elem(int fd, const void *key, const void *value, uint64_t flags);
int bpf_map_lookup_elem(int fd, const void *key, void *value);
int bpf_map_update_batch(int fd, const void *keys, const void *values, uint32_t *count, const void *opts);
int bpf_prog_load(int type, const char *name, const char *license,
    const struct test_insn *insns, size_t count, const void *opts);
int bpf_prog_test_run_opts(int fd, struct test_run_opts *opts);
int libbpf_num_possible_cpus(void);
]]

local bpf = ffi.load "libbpf.so.1"
local kernel = { bpf = bpf, cpus = bpf.libbpf_num_possible_cpus() }

local TYPES = { hash = 1, array = 2, percpu_hash = 5, percpu_array = 6, lru_hash = 9, ringbuf = 27 }

-- A map's descriptor.
function kernel.map(type, key_size, value_size, max, flags)
  local opts = ffi.new("struct test_map_opts", { sz = ffi.sizeof "struct test_map_opts", flags = flags or 0 })
  local fd = bpf.bpf_map_create(TYPES[type], "test", key_size, value_size, max, opts)
  if fd < 0 then error(("cannot create a %s: errno %d"):format(type, -fd), 2) end
  return fd
end

-- Writes words (numbers or cdata) as key and value; VALUES is a list of words, for per-CPU maps that of all CPUs in a
-- row.
function kernel.update(fd, key, values)
  local k, v = ffi.new("uint64_t[8]"), ffi.new("uint64_t[?]", #values)
  for i, word in ipairs(type(key) == "table" and key or { key }) do k[i - 1] = ffi.cast("int64_t", word) end
  for i, word in ipairs(values) do v[i - 1] = ffi.cast("int64_t", word) end
  local code = bpf.bpf_map_update_elem(fd, k, v, 0)
  if code ~= 0 then error("cannot update: errno " .. -code, 2) end
end

-- A per-CPU value: COUNT words each, FIRST on CPU 0, OTHER (or zeros) on CPU 1 where there is one, zeros elsewhere.
function kernel.per_cpu(first, other)
  local words, count = {}, #first
  for cpu = 0, kernel.cpus - 1 do
    for i = 1, count do
      words[#words + 1] = cpu == 0 and first[i] or cpu == 1 and other and other[i] or 0
    end
  end
  return words
end

local function insn(code, destination, source, offset, immediate)
  return { code, source * 16 + destination, offset, immediate }
end

local RAW_TRACEPOINT = 17

-- A function that runs a BPF program on up to 12 words.
local function program(list)
  local insns = ffi.new("struct test_insn[?]", #list, list)
  local fd = bpf.bpf_prog_load(RAW_TRACEPOINT, "test", "GPL", insns, #list, nil)
  if fd < 0 then error("cannot load the test's program: errno " .. -fd, 3) end
  local context = ffi.new "uint64_t[12]"
  local opts = ffi.new("struct test_run_opts", { sz = ffi.sizeof "struct test_run_opts" })
  return function(...)
    for i = 1, select("#", ...) do context[i - 1] = ffi.cast("int64_t", (select(i, ...))) end
    opts.ctx_in, opts.ctx_size_in = context, 96
    local code = bpf.bpf_prog_test_run_opts(fd, opts)
    if code ~= 0 then error("cannot run the test's program: errno " .. -code, 2) end
    return tonumber(ffi.cast("int32_t", opts.retval))
  end
end

-- A function that emits COUNT words, its arguments, into the ring FD; it returns 0, or less if the ring is full.
function kernel.emitter(fd, count)
  local list = { insn(0xbf, 6, 1, 0, 0) } -- r6 = ctx
  for i = 0, count - 1 do
    list[#list + 1] = insn(0x79, 2, 6, 8 * i, 0)               -- r2 = ctx[i]
    list[#list + 1] = insn(0x7b, 10, 2, -8 * (count - i), 0)   -- stack[i] = r2
  end
  for _, i in ipairs {
    insn(0x18, 1, 1, 0, fd), insn(0, 0, 0, 0, 0),              -- r1 = ring
    insn(0xbf, 2, 10, 0, 0), insn(0x07, 2, 0, 0, -8 * count),  -- r2 = stack
    insn(0xb7, 3, 0, 0, 8 * count), insn(0xb7, 4, 0, 0, 0),
    insn(0x85, 0, 0, 0, 130), insn(0x95, 0, 0, 0, 0),          -- return bpf_ringbuf_output(…)
  } do list[#list + 1] = i end
  return program(list)
end

-- A function that reserves SIZE bytes in the ring FD and discards them.
function kernel.discarder(fd, size)
  return program {
    insn(0x18, 1, 1, 0, fd), insn(0, 0, 0, 0, 0), insn(0xb7, 2, 0, 0, size), insn(0xb7, 3, 0, 0, 0),
    insn(0x85, 0, 0, 0, 131),                                  -- bpf_ringbuf_reserve
    insn(0x15, 0, 0, 3, 0),
    insn(0xbf, 1, 0, 0, 0), insn(0xb7, 2, 0, 0, 0), insn(0x85, 0, 0, 0, 133), -- bpf_ringbuf_discard
    insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0),
  }
end

-- Layouts, short.
function kernel.scalar(kind, size)
  return { kind = kind, size = size or tonumber(kind:match "%d+") and tonumber(kind:match "%d+") / 8 or 8 }
end

-- A record of fields { name, layout, presence }, each aligned to its own size (8 at most).
function kernel.record(fields, presence)
  local record, at = { kind = "record", fields = {} }, 0
  for i, field in ipairs(fields) do
    local size = field[2].size
    local align = (field[2].kind == "string" or size > 8) and 8 or size
    at = math.ceil(at / align) * align
    record.fields[i] = { name = field[1], offset = at, layout = field[2], presence = field[3] }
    at = at + size
  end
  at = math.ceil(at / 8) * 8
  if presence then
    record.presence, at = at, at + 8
  end
  record.size = at
  return record
end

return kernel
