/* The bpf() calls that libbpf 1.1 does not know. */
#include "sys/bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/btf.h"

/* attr.link_create of BPF_LINK_CREATE with its uprobe_multi member, as in include/uapi/linux/bpf.h of Linux 6.6. */
struct link_create_uprobe_multi {
    uint32_t prog_fd;
    uint32_t target_fd;
    uint32_t attach_type;
    uint32_t flags;
    uint64_t path;
    uint64_t offsets;
    uint64_t ref_ctr_offsets;
    uint64_t cookies;
    uint32_t cnt;
    uint32_t uprobe_flags;
    uint32_t pid;
    uint32_t padding;
};
_Static_assert(sizeof(struct link_create_uprobe_multi) == 64, "layout of the kernel's bpf_attr");

enum { UPROBE_FLAG_RETURN = 1 }; /* BPF_F_UPROBE_MULTI_RETURN */

static int bpf(int command, void *attr, unsigned size)
{
    long result = syscall(SYS_bpf, command, attr, size);
    return result < 0 ? -errno : (int)result;
}

static int load(union bpf_attr *attr, const struct bpf_insn *instructions, uint32_t count)
{
    attr->insns = (uintptr_t)instructions;
    attr->insn_cnt = count;
    attr->license = (uintptr_t) "GPL";
    return bpf(BPF_PROG_LOAD, attr, sizeof *attr);
}

static int load_kprobe(uint32_t attach_type, uint32_t flags, const struct bpf_insn *instructions, uint32_t count)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_KPROBE;
    attr.expected_attach_type = attach_type;
    attr.prog_flags = flags;
    return load(&attr, instructions, count);
}

/* 0 where FD is one, which is closed; else the error that it is. */
static int close_tried(int fd)
{
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

static const struct bpf_insn nothing[] = {
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
    {.code = BPF_JMP | BPF_EXIT},
};
enum { NOTHING_COUNT = sizeof nothing / sizeof *nothing };

int bpf_probe_program(uint32_t attach_type)
{
    return load_kprobe(attach_type, 0, nothing, NOTHING_COUNT);
}

int bpf_event_program(void)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
    return load(&attr, nothing, NOTHING_COUNT);
}

/* An array of one element of SIZE bytes, which is mapped at *MEMORY: a descriptor, or -errno. */
static int mapped_array(uint32_t size, void **memory)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = size;
    attr.max_entries = 1;
    attr.map_flags = BPF_F_MMAPABLE;
    int map = bpf(BPF_MAP_CREATE, &attr, sizeof attr);
    if (map < 0)
        return map;
    *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (*memory != MAP_FAILED)
        return map;
    int code = -errno;
    close(map);
    return code;
}

int bpf_clock_program(uint32_t attach_type, pid_t pid, struct clock_log **log)
{
    void *memory;
    int map = mapped_array(sizeof **log, &memory);
    if (map < 0)
        return map;
    const struct bpf_insn instructions[] = {
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
        {.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32},
        {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_0, .off = 10, .imm = pid},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map},
        {.code = 0},
        {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1}, /* count */
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_2},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = 1},
        {.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_3},
        {.code = BPF_JMP | BPF_JGE | BPF_K, .dst_reg = BPF_REG_2, .off = 3, .imm = CLOCK_LOG_TIMES},
        {.code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = BPF_REG_2, .imm = 3},
        {.code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2},
        {.code = BPF_STX | BPF_MEM | BPF_DW,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_REG_6,
         .off = offsetof(struct clock_log, times)},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int program = load_kprobe(attach_type, 0, instructions, sizeof instructions / sizeof *instructions);
    close(map); /* the program keeps it, and the mapping */
    if (program < 0)
        munmap(memory, sizeof **log);
    else
        *log = memory;
    return program;
}

void clock_log_free(struct clock_log *log)
{
    if (log)
        munmap(log, sizeof *log);
}

int bpf_try_sleepable(void)
{
    return close_tried(load_kprobe(0, BPF_F_SLEEPABLE, nothing, NOTHING_COUNT));
}

int bpf_try_trampoline(void)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    int function = kernel_btf_function("bpf_fentry_test1"); /* net/bpf/test_run.c */
    if (function < 0)
        return function;
    attr.prog_type = BPF_PROG_TYPE_TRACING;
    attr.expected_attach_type = BPF_TRACE_FENTRY;
    attr.attach_btf_id = (uint32_t)function;
    int program = load(&attr, nothing, NOTHING_COUNT);
    if (program < 0)
        return program;
    int code = close_tried(raw_tracepoint_link(program, NULL));
    close(program);
    return code;
}

int bpf_try_may_goto(void)
{
    enum { BPF_JCOND = 0xe0 };
    static const struct bpf_insn endless[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_JCOND, .off = 1},
        {.code = BPF_JMP | BPF_JA, .off = -2},
        {.code = BPF_JMP | BPF_EXIT},
    };
    return close_tried(load_kprobe(0, 0, endless, sizeof endless / sizeof *endless));
}

int bpf_try_private_stack(void)
{
    enum { BYTES = 400 }; /* two of these are more than the 512 that all functions share otherwise */
    static const struct bpf_insn nested[] = {
        {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -BYTES},
        {.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
        {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -BYTES},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    return close_tried(load_kprobe(0, 0, nested, sizeof nested / sizeof *nested));
}

int bpf_test_run(int program, const uint64_t words[TEST_RUN_WORDS], uint32_t *result)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.test.prog_fd = (uint32_t)program;
    attr.test.ctx_in = (uintptr_t)words;
    attr.test.ctx_size_in = TEST_RUN_WORDS * sizeof *words;
    int code = bpf(BPF_PROG_TEST_RUN, &attr, sizeof attr);
    *result = attr.test.retval;
    return code;
}

int uprobe_multi_link(int program, const struct uprobe_multi *probe)
{
    struct link_create_uprobe_multi attr = {
        .prog_fd = (uint32_t)program,
        .attach_type = probe->attach_type,
        .path = (uintptr_t)probe->path,
        .offsets = (uintptr_t)probe->offsets,
        .ref_ctr_offsets = (uintptr_t)probe->semaphores,
        .cookies = (uintptr_t)probe->cookies,
        .cnt = probe->count,
        .uprobe_flags = probe->at_return ? UPROBE_FLAG_RETURN : 0,
        .pid = (uint32_t)probe->pid,
    };
    return bpf(BPF_LINK_CREATE, &attr, sizeof attr);
}

int kprobe_multi_link(int program, const struct kprobe_multi *probe)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.attach_type = ATTACH_TYPE_KPROBE_MULTI;
    attr.link_create.kprobe_multi.cnt = probe->count;
    attr.link_create.kprobe_multi.syms = (uintptr_t)probe->functions;
    attr.link_create.kprobe_multi.addrs = (uintptr_t)probe->addresses;
    attr.link_create.kprobe_multi.cookies = (uintptr_t)probe->cookies;
    return bpf(BPF_LINK_CREATE, &attr, sizeof attr);
}

static int program_info(int program, struct bpf_prog_info *info)
{
    union bpf_attr attr;
    memset(info, 0, sizeof *info);
    memset(&attr, 0, sizeof attr);
    attr.info.bpf_fd = (uint32_t)program;
    attr.info.info_len = sizeof *info;
    attr.info.info = (uintptr_t)info;
    return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr);
}

uint64_t bpf_program_misses(int program)
{
    struct bpf_prog_info info;
    return program_info(program, &info) < 0 ? 0 : info.recursion_misses;
}

int bpf_stats_enable(void)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.enable_stats.type = BPF_STATS_RUN_TIME;
    return bpf(BPF_ENABLE_STATS, &attr, sizeof attr);
}

int bpf_program_runs(int program, uint64_t *runs, uint64_t *ns)
{
    struct bpf_prog_info info;
    int code = program_info(program, &info);
    *runs = info.run_cnt;
    *ns = info.run_time_ns;
    return code < 0 ? code : 0;
}

int raw_tracepoint_link(int program, const char *name)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.raw_tracepoint.name = (uintptr_t)name;
    attr.raw_tracepoint.prog_fd = (uint32_t)program;
    return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof attr);
}

int bpf_perf_link(int program, int event, uint64_t cookie)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_fd = (uint32_t)event;
    attr.link_create.attach_type = BPF_PERF_EVENT;
    attr.link_create.perf_event.bpf_cookie = cookie;
    return bpf(BPF_LINK_CREATE, &attr, sizeof attr);
}

int bpf_try_uprobe_link(uint32_t attach_type, pid_t pid)
{
    int program = bpf_probe_program(attach_type);
    if (program < 0)
        return program;
    uint64_t offset = 0;
    struct uprobe_multi probe = {.attach_type = attach_type, .path = "/", .offsets = &offset, .count = 1, .pid = pid};
    int link = uprobe_multi_link(program, &probe);
    close(program);
    return link;
}

bool uprobe_multi_filters_process(void)
{
    static int answer = -1;
    /* The kernel change that made it processes also began to refuse negative pids, before it looks at the path. */
    if (answer < 0)
        answer = close_tried(bpf_try_uprobe_link(ATTACH_TYPE_UPROBE_MULTI, -1)) == -EINVAL;
    return answer;
}
