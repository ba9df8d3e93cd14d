/* count.lua in C. */
#include "handler.h"

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 65536);
    __type(key, __s64);
    __type(value, __s64);
} n SEC(".maps");

SEC("raw_tp/sys_enter")
int handler(void *ctx)
{
    __s64 key = SYSTEM_CALL(ctx), one = 1;
    __s64 *count = bpf_map_lookup_elem(&n, &key);
    if (!count) {
        if (!bpf_map_update_elem(&n, &key, &one, BPF_NOEXIST))
            return 0;
        count = bpf_map_lookup_elem(&n, &key);
        if (!count) {
            LOSE(0);
            return 0;
        }
    }
    __sync_fetch_and_add(count, 1);
    return 0;
}
