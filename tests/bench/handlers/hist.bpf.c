/* hist.lua in C; the update of a histogram is uplua's own (bpf/aggregate.bpf.c), which clang may inline here. */
#define __noinline
#include "handler.h"

#include "../../../bpf/aggregate.bpf.c"

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, __s64);
    __type(value, struct hist);
} h SEC(".maps");

struct hist zeros;

SEC("raw_tp/sys_enter")
int handler(void *ctx)
{
    __s64 key = (__u32)bpf_get_current_pid_tgid(), value = SYSTEM_CALL(ctx);
    struct hist *hist = bpf_map_lookup_elem(&h, &key);
    if (!hist) {
        bpf_map_update_elem(&h, &key, &zeros, BPF_NOEXIST);
        hist = bpf_map_lookup_elem(&h, &key);
        if (!hist) {
            LOSE(0);
            return 0;
        }
    }
    uplua_hist_add(hist, value);
    return 0;
}
