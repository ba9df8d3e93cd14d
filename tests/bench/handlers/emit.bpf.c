/* emit.lua in C. */
#include "handler.h"

struct event {
    __u64 tag;
    __s64 at, pid, tid, cpu;
    char comm[16];
    __s64 a, b, c, d;
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} calls SEC(".maps");

SEC("kprobe/traced")
int handler(void *ctx)
{
    __u64 pid_tgid = bpf_get_current_pid_tgid();
    if (pid_tgid >> 32 == UPLUA)
        return 0;
    struct event event = {
        .at = bpf_ktime_get_ns(),
        .pid = pid_tgid >> 32,
        .tid = (__u32)pid_tgid,
        .cpu = bpf_get_smp_processor_id(),
        .a = ARGUMENT0(ctx),
        .b = ARGUMENT1(ctx),
        .c = ARGUMENT2(ctx),
        .d = (__s32)ARGUMENT3(ctx),
    };
    bpf_get_current_comm(event.comm, sizeof event.comm);
    /* the reader is woken by the first record of each eighth */
    __u64 into = bpf_ringbuf_query(&calls, BPF_RB_PROD_POS) & ((1 << 20) / 8 - 1);
    __u64 flags = into < sizeof event + BPF_RINGBUF_HDR_SZ ? BPF_RB_FORCE_WAKEUP : 0;
    if (bpf_ringbuf_output(&calls, &event, sizeof event, flags))
        LOSE(0);
    return 0;
}
