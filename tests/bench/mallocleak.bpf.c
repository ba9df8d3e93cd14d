/*
 * What examples/mallocleak_minimal.lua does in the kernel, written by hand: the measure for the compiler. The stack
 * store is uplua's own (bpf/stack.bpf.c), linked in.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

/* bpf_tracing.h's PT_REGS macros without a kernel header: words of the saved registers. */
#if defined(__TARGET_ARCH_x86)
#define ARGUMENT0(ctx) (((const __u64 *)(ctx))[14]) /* rdi */
#define RETURNED(ctx) (((const __u64 *)(ctx))[10])  /* rax */
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT0(ctx) (((const __u64 *)(ctx))[0])
#define RETURNED(ctx) (((const __u64 *)(ctx))[0])
#endif

extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;
extern long uplua_ustack(void *ctx, long depth, long at_entry);

struct block {
    __u64 bytes, stack, at;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1000000);
    __type(key, __u64);
    __type(value, struct block);
} live SEC(".maps");

SEC("kprobe/malloc")
int leak_malloc(void *ctx)
{
    __u64 *cookie = bpf_session_cookie();

    if (!bpf_session_is_return()) {
        *cookie = ARGUMENT0(ctx);
        return 0;
    }
    __u64 address = RETURNED(ctx);
    if (address) {
        struct block block = {.bytes = *cookie, .stack = uplua_ustack(ctx, 0, 0), .at = bpf_ktime_get_ns()};
        bpf_map_update_elem(&live, &address, &block, BPF_ANY);
    }
    return 0;
}

SEC("kprobe/free")
int leak_free(void *ctx)
{
    __u64 address = ARGUMENT0(ctx);

    bpf_map_delete_elem(&live, &address);
    return 0;
}

/* With the kernel's own stacks, which are complete where there are frame pointers. */
struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 65536);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 127 * sizeof(__u64));
} frame_pointers SEC(".maps");

SEC("kprobe/malloc_kernel")
int kernel_malloc(void *ctx)
{
    __u64 *cookie = bpf_session_cookie();

    if (!bpf_session_is_return()) {
        *cookie = ARGUMENT0(ctx);
        return 0;
    }
    __u64 address = RETURNED(ctx);
    if (address) {
        struct block block = {.bytes = *cookie, .at = bpf_ktime_get_ns()};
        block.stack = bpf_get_stackid(ctx, &frame_pointers, BPF_F_USER_STACK);
        bpf_map_update_elem(&live, &address, &block, BPF_ANY);
    }
    return 0;
}

SEC("kprobe/free_kernel")
int kernel_free(void *ctx)
{
    __u64 address = ARGUMENT0(ctx);

    bpf_map_delete_elem(&live, &address);
    return 0;
}

/* The same probes with nothing to do. */
SEC("kprobe/malloc_empty")
int empty_malloc(void *ctx)
{
    return 0;
}

SEC("kprobe/free_empty")
int empty_free(void *ctx)
{
    return 0;
}
