/* A program of each kind that the kernel itself triggers, for the deeds of tests/targets/probe_kinds.c
 * (tests/lua/guest_kinds_test.lua). */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum {
    TRACEPOINT,
    RAW_TRACEPOINT,
    TP_BTF,
    PERF_EVENT,
    KPROBE,
    KRETPROBE,
    KPROBE_MULTI,
    FENTRY,
    FEXIT,
    KSYSCALL,
    KRETSYSCALL,
    KINDS
};
enum { URGENT = 23, HOLE = 7, BAD = -9 }; /* SIGURG, lseek's third argument, -EBADF */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, KINDS);
    __type(key, __u32);
    __type(value, __u64);
} hits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, KINDS);
    __type(key, __u32);
    __type(value, __u64);
} sums SEC(".maps");

const volatile char name[8]; /* what the threads' names begin with */
const volatile __s32 only;   /* the process, if it is not 0 */
char _license[] SEC("license") = "GPL";

static void add(void *map, __u32 kind, __u64 number)
{
    __u64 *value = bpf_map_lookup_elem(map, &kind);
    if (value)
        __sync_fetch_and_add(value, number);
}

static void count(__u32 kind, __u64 number)
{
    char comm[16] = "";
    bpf_get_current_comm(comm, sizeof comm);
    for (int i = 0; i < 8; i++)
        if (comm[i] != name[i])
            return;
    if (only && only != (__s32)(bpf_get_current_pid_tgid() >> 32))
        return;
    add(&hits, kind, 1);
    add(&sums, kind, number);
}

struct call { /* what syscalls:sys_enter_lseek records */
    __u64 head, nr, fd, offset, whence;
};

SEC("tp/syscalls/sys_enter_lseek")
int on_call(struct call *call)
{
    if (call->whence == HOLE)
        count(TRACEPOINT, call->offset);
    return 0;
}

SEC("raw_tp/signal_generate")
int on_raw_signal(struct bpf_raw_tracepoint_args *ctx)
{
    if (ctx->args[0] == URGENT)
        count(RAW_TRACEPOINT, ctx->args[0]);
    return 0;
}

SEC("tp_btf/signal_generate")
int on_signal(__u64 *ctx)
{
    if (ctx[0] == URGENT)
        count(TP_BTF, ctx[0]);
    return 0;
}

SEC("perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
    if (ctx->addr >= 0x230000000000 && ctx->addr < 0x230000000000 + 409 * 4096)
        count(PERF_EVENT, ctx->sample_period);
    return 0;
}

SEC("kprobe/ksys_lseek")
int on_seek(struct pt_regs *ctx)
{
    if (PT_REGS_PARM3(ctx) == HOLE)
        count(KPROBE, PT_REGS_PARM2(ctx));
    return 0;
}

SEC("kretprobe/ksys_lseek")
int on_sought(struct pt_regs *ctx)
{
    if ((long)PT_REGS_RC(ctx) == BAD)
        count(KRETPROBE, 1);
    return 0;
}

SEC("kprobe.multi/ksys_lsee[k]")
int on_seeks(struct pt_regs *ctx)
{
    if (PT_REGS_PARM3(ctx) == HOLE)
        count(KPROBE_MULTI, PT_REGS_PARM2(ctx));
    return 0;
}

SEC("fentry/ksys_lseek")
int on_entry(__u64 *ctx)
{
    if ((__u32)ctx[2] == HOLE)
        count(FENTRY, ctx[1]);
    return 0;
}

SEC("fexit/ksys_lseek")
int on_exit(__u64 *ctx)
{
    if ((__u32)ctx[2] == HOLE && (long)ctx[3] == BAD)
        count(FEXIT, ctx[1]);
    return 0;
}

SEC("ksyscall/lseek")
int on_ksyscall(struct pt_regs *ctx)
{
    struct pt_regs *inner = (struct pt_regs *)PT_REGS_PARM1(ctx);
    __u64 offset = 0, whence = 0;
    bpf_probe_read_kernel(&offset, sizeof offset, &PT_REGS_PARM2(inner));
    bpf_probe_read_kernel(&whence, sizeof whence, &PT_REGS_PARM3(inner));
    if ((__u32)whence == HOLE)
        count(KSYSCALL, offset);
    return 0;
}

SEC("kretsyscall/lseek")
int on_kretsyscall(struct pt_regs *ctx)
{
    if ((long)PT_REGS_RC(ctx) == BAD)
        count(KRETSYSCALL, 1);
    return 0;
}
