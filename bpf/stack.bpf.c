/*
 * User stacks: walked by the chain of frame pointers, kept once each in `stacks`, and named by a 64-bit hash of their
 * process and frames. A handler gets the id; the script side reads the frames when it prints.
 *
 * Speed: the stack's memory is read in windows of up to 2 KiB (100 ns each, where reading every frame by itself costs
 * 60 ns a frame), and a stack that is known costs one lookup.
 *
 * The verifier: uplua_ustack needs the context and is therefore hidden, which means verified again for each call, and
 * short. The walk is a global function of numbers, which is verified once. Its state lies in a map's value, where every
 * number is unknown to the verifier, so that it goes through one round of the loop for all; as local variables with
 * their bounds the same costs 330,000 instructions.
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
    ROUND = 8, /* frames per callback of bpf_loop, which costs as much as two */
};

/* One walk. */
struct scratch {
    __u64 busy;
    __u64 frame, lowest;    /* where the next frame is; it must not be below */
    __u64 start, size;      /* what the window holds: the user's memory there */
    __u64 address, pending; /* the next code address, and one to come before the chain's */
    __u64 count, limit, hash;
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
 * Reads the window at ADDRESS; false if nothing can be read. It ends with the page, since
 * a read that fails costs as much as ten that succeed, and beyond the page may lie nothing.
 */
static __always_inline int fill(struct scratch *scratch, __u64 address)
{
    __u64 size = PAGE - (address & (PAGE - 1));
    if (size > WINDOW)
        size = WINDOW;
    if (size < FRAME)
        size = FRAME;
    OPAQUE(size);
    if (size > WINDOW) /* for the verifier */
        return 0;
    scratch->start = address;
    scratch->size = size;
    return !bpf_probe_read_user(scratch->window, size, (void *)address);
}

/* Stores the stack unless it is there. */
static __always_inline void store(struct stack *stack, __u64 id)
{
    if (bpf_map_lookup_elem(&stacks, &id))
        return;
    /* int: 6.1 calls the map's own function, which leaves the upper half of the register undefined. */
    int code = (int)bpf_map_update_elem(&stacks, &id, stack, BPF_NOEXIST);
    if (code && code != -17) /* EEXIST: another CPU was faster */
        lose(STACK_LOST_FULL);
}

/* The frame pointed to by FRAME: its frame pointer and return address; false at the end of the chain. */
static __always_inline int climb(struct scratch *scratch)
{
    __u64 frame = scratch->frame;
    /* The chain leads up, into the callers' part of the stack. */
    if (frame < scratch->lowest || frame & 7 || frame >= USER_ADDRESSES)
        return 0;
    __u64 offset = frame - scratch->start;
    if (offset > WINDOW - FRAME || offset + FRAME > scratch->size) {
        if (!fill(scratch, frame))
            return 0;
        offset = frame - scratch->start; /* 0, but unknown to the verifier like the other case */
    }
    OPAQUE(offset);
    if (offset > WINDOW - FRAME) /* for the verifier */
        return 0;
    scratch->lowest = frame + FRAME;
    scratch->frame = scratch->window[offset / 8];
    scratch->address = CODE_ADDRESS(scratch->window[offset / 8 + 1]);
    return 1;
}

/* Takes up to ROUND frames. Returns 1 when the walk is over. */
static long walk_round(__u32 index __attribute__((unused)), struct scratch **context)
{
    struct scratch *scratch = *context;
    for (int i = 0; i < ROUND; i++) {
        __u64 count = scratch->count, address = scratch->address;
        if (count >= scratch->limit || count >= STACK_FRAMES) {
            if (count == STACK_FRAMES)
                lose(STACK_LOST_DEPTH);
            return 1;
        }
        scratch->stack.frames[count] = address;
        scratch->count = count + 1;
        scratch->hash = mix(scratch->hash, address);
        if (scratch->pending) {
            scratch->address = scratch->pending;
            scratch->pending = 0;
        } else if (!climb(scratch)) {
            return 1;
        }
        address = scratch->address;
        if (address < LOWEST_CODE || address >= USER_ADDRESSES)
            return 1;
        if (IS_TRAMPOLINE(address))
            lose(STACK_LOST_RETURN);
    }
    return 0;
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
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    scratch->frame = fp;
    scratch->lowest = sp;
    scratch->size = 0;
    scratch->address = ip;
    scratch->pending = link;
    scratch->count = 0;
    scratch->limit = depth <= 0 || depth > STACK_FRAMES ? STACK_FRAMES : depth;
    scratch->hash = mix(tgid, 0);
    bpf_loop(STACK_FRAMES / ROUND + 1, walk_round, &scratch, 0);

    scratch->stack.tgid = tgid;
    scratch->stack.count = scratch->count;
    __u64 hash = mix(scratch->hash, scratch->count);
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
