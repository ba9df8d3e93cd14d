/* span.lua in C. */
#include "handler.h"

struct side {
    __s64 time, pid, tid, cpu;
    char comm[16];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, __s64);
    __type(value, struct side);
} open SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 5);
    __type(key, __u32);
    __type(value, __u64);
} counts SEC(".maps");

enum { BEGUN, ENDED, UNBEGUN, BACKWARDS, TOOK };

static void add(__u32 which, __u64 value)
{
    __u64 *count = bpf_map_lookup_elem(&counts, &which);
    if (count)
        __sync_fetch_and_add(count, value);
}

static void begin(__u64 pid_tgid)
{
    __s64 key = (__u32)pid_tgid;
    struct side side = {
        .pid = pid_tgid >> 32,
        .tid = key,
        .cpu = bpf_get_smp_processor_id(),
    };
    bpf_get_current_comm(side.comm, sizeof side.comm);
    side.time = bpf_ktime_get_ns();
    add(BEGUN, 1);
    if (bpf_map_update_elem(&open, &key, &side, BPF_ANY))
        LOSE(0);
}

static void finish(__u64 pid_tgid)
{
    __s64 key = (__u32)pid_tgid, now = bpf_ktime_get_ns();
    struct side *found = bpf_map_lookup_elem(&open, &key);
    if (!found) {
        add(UNBEGUN, 1);
        return;
    }
    struct side from = *found;
    if (bpf_map_delete_elem(&open, &key)) {
        add(UNBEGUN, 1);
        return;
    }
    if (now < from.time) {
        add(BACKWARDS, 1);
        return;
    }
    add(ENDED, 1);
    add(TOOK, now - from.time);
}

SEC("raw_tp/sys_enter")
int handler(void *ctx)
{
    __u64 pid_tgid = bpf_get_current_pid_tgid();
    if (SYSTEM_CALL(ctx) == GETPID)
        begin(pid_tgid);
    else
        finish(pid_tgid);
    return 0;
}
