/* The kernel's own walk of a user stack, by frame pointers: the measure for the unwinder. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum { FRAMES = 127 };

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64[FRAMES]);
} frames SEC(".maps");

char _license[] SEC("license") = "GPL";

__u64 taken; /* frames of the last stack */

SEC("kprobe/walk")
int walk(void *ctx)
{
    __u32 none = 0;
    void *found = bpf_map_lookup_elem(&frames, &none);

    if (found)
        taken = bpf_get_stack(ctx, found, FRAMES * sizeof(__u64), BPF_F_USER_STACK) / sizeof(__u64);
    return 0;
}

SEC("kprobe/empty")
int empty(void *ctx)
{
    return 0;
}
