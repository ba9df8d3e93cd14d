/*
 * User stacks: walked by the chain of frame pointers, kept once each in `stacks`, and named by a 64-bit hash of their
 * process and frames. A handler gets the id; the script side reads the frames when it prints.
 *
 * Speed: the stack's memory is read in windows of up to 2 KiB (100 ns each, where reading every frame by itself costs
 * 60 ns a frame), and a stack that is known costs one lookup.
 *
 * The verifier: uplua_ustack needs the context and is therefore hidden, which means verified again for each call, and
 * short. The walk is a global function of numbers, which is verified once. Its loop counts from an unknown number and
 * its state is unknown numbers too, so that one iteration is verified like another.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "stack.h"

enum {
    WINDOW = 2048,
    PAGE = 4096, /* the smallest unit that a read can fail in */
    FRAME = 16,      /* {caller's frame pointer, return address}, on x86_64 as on aarch64 */
    SLOTS = 4,       /* probes that can be under way at once on one CPU */
    LOWEST_CODE = 4096,
};

struct scratch {
    __u64 busy;
    struct stack stack;
    __u64 window[WINDOW / 8];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, STACK_ENTRIES);
    __type(key, __u64);
    __type(value, struct stack);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SLOTS);
    __type(key, __u32);
    __type(value, struct scratch);
} stack_scratch SEC(".maps");

__u64 stack_lost[STACK_LOST_COUNT];

/* Always 0, unknown to the verifier. */
volatile __u64 stack_zero;

#define OPAQUE(x) asm volatile("" : "+r"(x))

static __always_inline void lose(int cause)
{
    __sync_fetch_and_add(&stack_lost[cause], 1);
}

/* A slot of this CPU that no interrupted probe holds. */
static __always_inline struct scratch *acquire(void)
{
#pragma unroll
    for (__u32 i = 0; i < SLOTS; i++) {
        __u32 key = i;
        struct scratch *scratch = bpf_map_lookup_elem(&stack_scratch, &key);
        if (scratch && !__sync_val_compare_and_swap(&scratch->busy, 0, 1))
            return scratch;
    }
    return 0;
}

static __always_inline void release(struct scratch *scratch)
{
    asm volatile("" ::: "memory");
    *(volatile __u64 *)&scratch->busy = 0;
}

/* Murmur3's finalizer, as a step: every bit of WORD changes half of the bits. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    return hash ^ hash >> 32;
}

/*
 * Reads the window at ADDRESS: the number of bytes that could be read, 0 or at least FRAME. It ends with the page, since
 * a read that fails costs as much as ten that succeed, and beyond the page may lie nothing.
 */
static __always_inline __u64 fill(struct scratch *scratch, __u64 address)
{
    __u64 size = PAGE - (address & (PAGE - 1));
    if (size > WINDOW)
        size = WINDOW;
    if (size < FRAME)
        size = FRAME;
    OPAQUE(size);
    if (size > WINDOW) /* for the verifier */
        return 0;
    return bpf_probe_read_user(scratch->window, size, (void *)address) ? 0 : size;
}

/* Stores the stack unless it is there. */
static __always_inline void store(struct stack *stack, __u64 id)
{
    if (bpf_map_lookup_elem(&stacks, &id))
        return;
    long code = bpf_map_update_elem(&stacks, &id, stack, BPF_NOEXIST);
    if (code && code != -17) /* EEXIST: another CPU was faster */
        lose(STACK_LOST_FULL);
}

/*
 * The stack of the current thread at IP with stack pointer SP and frame pointer FP. LINK: the return address of a function
 * that has made no frame of its own, else 0.
 */
long uplua_stack_walk(long ip, long sp, long fp, long link, long depth)
{
    struct scratch *scratch = acquire();
    if (!scratch) {
        lose(STACK_LOST_BUSY);
        return STACK_UNKNOWN;
    }
    __u64 limit = depth <= 0 || depth > STACK_FRAMES ? STACK_FRAMES : depth;
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    __u64 frame = fp, lowest = sp, start = stack_zero, size = stack_zero, count = stack_zero;
    __u64 address = ip, pending = link, hash = mix(tgid, 0);

    while (count < STACK_FRAMES) {
        if (count >= limit)
            goto done;
        scratch->stack.frames[count++] = address;
        hash = mix(hash, address);
        if (pending) { /* comes before the chain */
            address = pending;
            pending = 0;
        } else {
            /* The chain leads up, into the callers' part of the stack. */
            if (frame < lowest || frame & 7 || frame >= USER_ADDRESSES)
                goto done;
            __u64 offset = frame - start;
            OPAQUE(offset);
            if (offset > WINDOW - FRAME || offset + FRAME > size) {
                start = frame;
                size = fill(scratch, frame);
                offset = stack_zero;
                if (!size)
                    goto done;
            }
            OPAQUE(offset);
            if (offset > WINDOW - FRAME) /* for the verifier */
                goto done;
            lowest = frame + FRAME;
            frame = scratch->window[offset / 8];
            address = CODE_ADDRESS(scratch->window[offset / 8 + 1]);
        }
        if (address < LOWEST_CODE || address >= USER_ADDRESSES)
            goto done;
        if (IS_TRAMPOLINE(address))
            lose(STACK_LOST_RETURN);
    }
    lose(STACK_LOST_DEPTH);

done:
    scratch->stack.tgid = tgid;
    scratch->stack.count = count;
    hash = mix(hash, count);
    __u64 id = hash <= STACK_UNKNOWN ? hash + 2 : hash;
    store(&scratch->stack, id);
    release(scratch);
    return id;
}

/*
 * The id of the user's stack. CTX is the context of a uprobe (the user's registers). DEPTH: at most so many frames; 0 or
 * less: as many as the store holds. AT_ENTRY: the probe stands on a function's first instruction, where the return
 * address is not yet below a frame of its own. Never 0.
 */
__hidden long uplua_ustack(void *ctx, long depth, long at_entry)
{
    __u64 ip = CONTEXT_INSTRUCTION(ctx), sp = CONTEXT_STACK_POINTER(ctx), fp = CONTEXT_FRAME_POINTER(ctx);
    OPAQUE(ip);
    OPAQUE(sp);
    OPAQUE(fp);
    __u64 link = 0;
    if (at_entry) {
#if RETURN_ADDRESS_ON_STACK
        bpf_probe_read_user(&link, sizeof link, (void *)sp);
#else
        link = CODE_ADDRESS(CONTEXT_LINK(ctx));
#endif
    }
    return uplua_stack_walk(ip, sp, fp, link, depth);
}
