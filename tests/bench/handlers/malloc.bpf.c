/* malloc.lua's return handler in C. */
#include "handler.h"

extern long uplua_ustack(void *ctx, long depth, long at_entry);

struct block {
    __u64 bytes, stack, at;
};

struct call {
    __u64 thread, stack_pointer;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1000000);
    __type(key, __u64);
    __type(value, struct block);
} live SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, __u64);
    __type(value, __u64);
} inside SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, struct call);
    __type(value, __u64);
} pending SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} under_way SEC(".maps"), counting SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} allocations SEC(".maps");

SEC("kprobe/traced")
int handler(void *ctx)
{
    __u64 pid_tgid = bpf_get_current_pid_tgid();
    if (pid_tgid >> 32 == UPLUA)
        return 0;
    struct call call = {.thread = pid_tgid, .stack_pointer = ENTRY_STACK_POINTER(ctx)};
    __u64 *bytes = bpf_map_lookup_elem(&pending, &call);
    if (!bytes) {
        LOSE(0);
        return 0;
    }
    struct block block = {.bytes = *bytes};
    bpf_map_delete_elem(&pending, &call);
    __u32 zero = 0;
    __u64 *on = bpf_map_lookup_elem(&counting, &zero);
    if (!on || !*on)
        return 0;
    __u64 *busy = bpf_map_lookup_elem(&under_way, &zero);
    if (busy && *busy) {
        __u64 thread = (__u32)pid_tgid;
        if (bpf_map_lookup_elem(&inside, &thread))
            return 0;
    }
    __u64 address = RETURNED(ctx);
    if (!address)
        return 0;
    __u64 *count = bpf_map_lookup_elem(&allocations, &zero);
    if (count)
        __sync_fetch_and_add(count, 1);
    block.stack = uplua_ustack(ctx, 0, 0);
    block.at = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&live, &address, &block, BPF_ANY))
        LOSE(1);
    return 0;
}
