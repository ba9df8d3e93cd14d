/*
 * User stacks: walked by unwind tables, where those are missing by frame pointers, kept once each in `stacks`, and
 * named by a 64-bit hash of their process and frames. A handler gets the id; the script side reads the frames when it
 * prints.
 *
 * Speed: the stack's memory is read in one piece, up to where the last walk ended (window_size), where reading every
 * frame by itself costs 60 ns a frame. The rules of code addresses are kept in a cache, and so are the ids of stacks
 * that are known. Nearly all frames are taken by a loop without calls (take_plain_frame): with one in it, whatever
 * the loop changes would have to go through memory. A frame takes 6 ns. Most of that is waiting for two words of
 * memory, its rule and its return address, since each says where the next is.
 *
 * The verifier: uplua_ustack needs the context and is therefore hidden, which means verified again for each call, and
 * short. The walk is a global function of numbers, which is verified once in a program. It begins with numbers from a map's
 * value, where every number is unknown to the verifier, so that it goes through one round of the loop for all; with known
 * ones the same costs 330,000 instructions.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "stack.h"
#include "walk.h"

enum {
    WINDOW = 8192,
    USUAL_WINDOW = 2048, /* of a stack whose top is not known */
    LARGEST_STACK = 1 << 18, /* whose top is believed to be known */
    PAGE = 4096, /* the smallest unit that a read can fail in */
    WORD = 8,
    SLOTS = 4,       /* probes that can be under way at once on one CPU */
    LARGEST_FRAME = 1 << 24,
    LOWEST_CODE = 4096,
    ROUND = 8, /* frames per callback of bpf_loop, which costs as much as two */
    AT_ENTRY = 1 << 16, /* beside a depth */
    EXISTS = -17, /* EEXIST */
};

/* One walk. */
struct scratch {
    __u64 busy;
    __u64 ip, sp, fp; /* of the frame at work; SP lies behind the return address that IP is */
    __u64 back;       /* 1: IP is a return address: the call before it counts; 0: it is where the frame stands */
    __u64 link;       /* the link register, where that may hold a return address */
    __u64 start, size; /* the window holds SIZE bytes of the user's memory from START on */
    __u64 top;         /* where the last walk ended, which mostly was the same stack's */
    __u64 tag;         /* of the process's mappings; 0: they are unknown; -1: there are no tables at all; kept for the next walk … */
    __u64 changes;     /* … as long as this is uplua_unwind_changes */
    __u64 guessed;     /* the number of the frame that was found by a frame pointer that may be none; 0 stands for none */
    __u64 count, limit, hash;
    __u64 end; /* enum stack_end */
    __u64 zero;
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

/* Where `stacks` finds no memory at once, as in an interrupt: these entries have theirs. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, STACK_RESERVE);
    __type(key, __u64);
    __type(value, struct stack);
} stacks_reserve SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SLOTS);
    __type(key, __u32);
    __type(value, struct scratch);
} stack_scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct rule_cache);
} stack_rules SEC(".maps");

__u64 stack_lost[STACK_LOST_COUNT];

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

/* Stores the stack unless it is there. False where there is no room. */
static __always_inline int put(struct stack *stack, __u64 id)
{
    if (bpf_map_lookup_elem(&stacks, &id))
        return 1;
    /* int: 6.1 calls the map's own function, which leaves the upper half of the register undefined. */
    int code = (int)bpf_map_update_elem(&stacks, &id, stack, BPF_NOEXIST);
    if (!code || code == EXISTS) /* another CPU was faster */
        return 1;
    code = (int)bpf_map_update_elem(&stacks_reserve, &id, stack, BPF_NOEXIST);
    if (!code || code == EXISTS)
        return 1;
    lose(STACK_LOST_FULL);
    return 0;
}

/* The same, for a stack that is probably known. */
static __always_inline void put_again(struct stack *stack, __u64 id, struct rule_cache *cache)
{
    __u64 at = id;
    OPAQUE(at);
    at &= KNOWN - 1;
    if (cache->known[at] != id && put(stack, id))
        cache->known[at] = id;
}

/*
 * How much of the stack from ADDRESS on to read at once: all of it, if its top is known, since beginning a read
 * costs as much as 6 KiB of it. Where the top is not known, the window may reach beyond it, where nothing is, and a
 * read that fails costs ten others. (Above main and above a thread's first frame lie more than 2 KiB, mostly.)
 */
static __always_inline __u64 window_size(const struct scratch *scratch, __u64 address, __u64 least)
{
    __u64 size = scratch->top - address, most = (scratch->limit + 2) * (WINDOW / 64);
    if (size - 1 >= LARGEST_STACK)
        size = USUAL_WINDOW;
    if (size > most)
        size = most;
    if (size < least) /* the other walk's top was not this stack's */
        size = least;
    OPAQUE(size);
    return size < WINDOW ? size : WINDOW;
}

/*
 * Reads the window from ADDRESS on, LEAST bytes or more; false if nothing can be read. It ends with the page if the next
 * one is missing.
 */
long uplua_stack_fill(struct scratch *scratch, long address, long least)
{
    if (!scratch)
        return 0;
    __u64 size = window_size(scratch, address, least), left = PAGE - (address & (PAGE - 1));
    scratch->start = address;
    scratch->size = size;
    if (!bpf_probe_read_user(scratch->window, size, (void *)address))
        return 1;
    OPAQUE(left);
    if (left >= size || left > PAGE) /* it lies in one page */
        return 0;
    scratch->size = left;
    return !bpf_probe_read_user(scratch->window, left, (void *)address);
}

/* The word at AT of the window; the mask is for the verifier. */
#define WINDOW_WORD(scratch, at)                                                                                       \
    ({                                                                                                                 \
        __u64 at_ = (at);                                                                                              \
        OPAQUE(at_);                                                                                                   \
        (scratch)->window[(at_ & (WINDOW - 1)) / WORD];                                                                \
    })

static __always_inline __u64 peek(__u64 address)
{
    __u64 word = 0;
    bpf_probe_read_user(&word, sizeof word, (void *)address);
    return word;
}

/* Frames that are neither plain nor found by the frame pointer: 1 where the walk goes on. */
long uplua_stack_special(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    int kind = RULE_KIND(rule);
    if (kind == RULE_SIGNAL) { /* of code that was interrupted anywhere */
        __u64 sp = scratch->sp;
        scratch->ip = peek(sp + SIGNAL_INSTRUCTION);
        scratch->fp = peek(sp + SIGNAL_FRAME_POINTER);
        scratch->sp = peek(sp + SIGNAL_STACK_POINTER);
#if !RETURN_ADDRESS_ON_STACK
        scratch->link = CODE_ADDRESS(peek(sp + SIGNAL_LINK)); /* a leaf function may have been interrupted */
#endif
        scratch->back = 0;
        scratch->size = 0;
        return 1;
    }
    if (kind != RULE_DEREF && kind != RULE_DEREF_BASE)
        return 0;
    __u64 base = RULE_BASE(rule) == DWARF_FRAME_POINTER ? scratch->fp : scratch->sp;
    __u64 cfa = peek(base + RULE_PLACE(rule)) + RULE_ADDEND(rule);
    if (cfa - scratch->sp > LARGEST_FRAME)
        return 0;
    if (kind == RULE_DEREF_BASE)
        scratch->fp = peek(base + RULE_FRAME(rule));
    else if (RULE_FRAME(rule))
        scratch->fp = peek(cfa + RULE_FRAME(rule));
    scratch->ip = CODE_ADDRESS(peek(cfa + RULE_LINK(rule)));
    scratch->sp = cfa;
    scratch->back = 1;
    return 1;
}

/*
 * From the frame at work, whose rule is NUMBER, to its caller's. 0 where that is not known, or there is none; -1 where
 * the frame itself is none.
 */
long uplua_stack_climb(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    if (rule == RULE_UNMAPPED) {
        int wrong = scratch->guessed && scratch->guessed == scratch->count; /* the frame pointer was none */
        scratch->end = wrong ? STACK_NO_TABLE : STACK_UNMAPPED;
        return -wrong;
    }
    if (RULE_KIND(rule) == RULE_END) {
        scratch->end = STACK_WHOLE;
        return 0;
    }
    scratch->end = RULE_KIND(rule) == RULE_UNKNOWN ? STACK_NO_TABLE : STACK_UNREADABLE; /* if it ends here */
    if (RULE_KIND(rule) != RULE_REGISTER && rule != RULE_BY_FRAME_POINTER)
        return uplua_stack_special(scratch, rule);
    __u64 cfa = (RULE_BASE(rule) == DWARF_FRAME_POINTER ? scratch->fp : scratch->sp) + RULE_OFFSET(rule);
    /* The stack grows downwards. */
    if (cfa - scratch->sp > LARGEST_FRAME || cfa & 7 || cfa >= USER_ADDRESSES)
        return 0;
    __u64 link = cfa + RULE_LINK(rule), frame = RULE_FRAME(rule) ? cfa + RULE_FRAME(rule) : link;
    __u64 link_at = link - scratch->start, frame_at = frame - scratch->start;
    if (link_at >= scratch->size || frame_at >= scratch->size) {
        if (!uplua_stack_fill(scratch, link < frame ? link : frame, WORD + (link < frame ? frame - link : link - frame)))
            return 0;
        link_at = link - scratch->start;
        frame_at = frame - scratch->start;
        if (link_at >= scratch->size || frame_at >= scratch->size)
            return 0;
    }
    if (RULE_FRAME(rule))
        scratch->fp = WINDOW_WORD(scratch, frame_at);
    if (RETURN_ADDRESS_ON_STACK || RULE_LINK(rule)) {
        scratch->ip = CODE_ADDRESS(WINDOW_WORD(scratch, link_at));
    } else {
        scratch->ip = scratch->link;
        scratch->link = 0;
    }
    scratch->sp = cfa;
    scratch->back = 1;
    scratch->guessed = RULE_KIND(rule) == RULE_UNKNOWN ? scratch->count + 1 : 0;
    return 1;
}

/* What the frame's address ADDRESS stands for, which is mostly itself; 0: for the end of the walk. */
long uplua_stack_odd(struct scratch *scratch, long address)
{
    __u64 ip = address;
    if (!scratch)
        return 0;
    if (IS_TRAMPOLINE(ip)) {
        __u64 original = uplua_unwind_return(RETURN_ADDRESS_ON_STACK ? scratch->sp - WORD : scratch->sp);
        if (!original)
            lose(STACK_LOST_RETURN);
        return original ? original : ip;
    }
    if (ip >= LOWEST_CODE && ip < USER_ADDRESSES)
        return ip;
    int guessed = scratch->guessed && scratch->guessed == scratch->count + 1; /* by what was no frame pointer */
    scratch->end = guessed ? STACK_NO_TABLE : ip ? STACK_UNREADABLE : STACK_WHOLE;
    return 0;
}

/* What the walk changes at each frame, as local variables. SP: from the window's start. */
struct climber {
    __u64 ip, sp, fp, count, hash;
};

static __always_inline struct climber begin_climb(const struct scratch *scratch)
{
    return (struct climber){scratch->ip, scratch->sp - scratch->start, scratch->fp, scratch->count, scratch->hash};
}

static __always_inline void end_climb(struct scratch *scratch, struct climber at)
{
    scratch->ip = at.ip;
    scratch->sp = at.sp + scratch->start;
    scratch->fp = at.fp;
    scratch->count = at.count;
    scratch->hash = at.hash;
}

/* The cache's rule for the return address LINK, 0 where it has none. */
static __always_inline __u64 cached_rule(const struct rule_cache *cache, __u64 tag, __u64 link)
{
    __u64 key = rule_key(tag, link), i = rule_index(tag, link), rule = cache->entries[i].rule;
    if (cache->entries[i].check == (key ^ rule))
        return rule;
    rule = cache->entries[i + 1].rule;
    return cache->entries[i + 1].check == (key ^ rule) ? rule : 0;
}

/* The hash of frames, of which IP is the last; the id is a better mix of it. */
static __always_inline __u64 hash_frame(__u64 hash, __u64 ip)
{
    return (hash ^ ip) * 0xff51afd7ed558ccdull;
}

static __always_inline void keep_frame(struct scratch *scratch, struct climber *at)
{
    OPAQUE(at->count);
    scratch->stack.frames[at->count & STACK_FRAMES] = at->ip; /* the mask is for the verifier */
    at->count++;
    at->hash = hash_frame(at->hash, at->ip);
}

/* The return address that RULE finds below the CFA, which lies at AT in the window. */
#if RETURN_ADDRESS_ON_STACK
#define SAVED_LINK(scratch, at, rule)                                                                                  \
    (*(const __u64 *)((const char *)(scratch) + (at) + __builtin_offsetof(struct scratch, window) - WORD))
#else
#define SAVED_LINK(scratch, at, rule) CODE_ADDRESS(WINDOW_WORD(scratch, (at) + PLAIN_LINK(rule)))
#endif

/*
 * Takes the frame AT, which is a call's, and goes on to its caller's, if it is as nearly all are: with a plain rule,
 * which the cache has, and in the window. Otherwise nothing has happened. It calls nothing, so that a loop of it has
 * its variables in registers; and what the next frame waits for is kept short: the checks are of what it does not
 * wait for.
 */
static __always_inline int take_plain_frame(struct scratch *scratch, const struct rule_cache *cache, struct climber *at)
{
    __u64 rule = cached_rule(cache, scratch->tag, at->ip), cfa;
    if ((__s64)rule > 0) {
        cfa = at->sp + (rule >> 40);
    } else if (IS_BY_FRAME_POINTER(rule)) {
        cfa = at->fp - scratch->start + RULE_OFFSET(rule);
        if (cfa - at->sp > LARGEST_FRAME || cfa & 7 || cfa + RULE_FRAME(rule) > scratch->size ||
            cfa + PLAIN_LINK(rule) > scratch->size)
            return 0;
    } else {
        return 0;
    }
    if (at->count >= scratch->limit || cfa > scratch->size)
        return 0;
    OPAQUE(cfa);
    if (cfa > WINDOW)
        return 0;
    keep_frame(scratch, at);
    if (RULE_FRAME(rule))
        at->fp = WINDOW_WORD(scratch, cfa + RULE_FRAME(rule));
    at->ip = SAVED_LINK(scratch, cfa, rule);
    at->sp = cfa;
    return 1;
}

/* The same for any frame. False when the walk is over. */
static __always_inline int take_frame(struct scratch *scratch, struct rule_cache *cache, struct climber *at)
{
    end_climb(scratch, *at);
    at->ip = uplua_stack_odd(scratch, at->ip);
    if (!at->ip)
        return 0;
    if (at->count >= scratch->limit) {
        scratch->end = at->count == STACK_FRAMES ? STACK_CUT : STACK_WHOLE;
        return 0;
    }
    __u64 tag = scratch->tag, link = at->ip + 1 - scratch->back, rule = cached_rule(cache, tag, link);
    if (!rule)
        rule = uplua_unwind_rule(cache, tag, link);
    __u64 before = at->hash;
    keep_frame(scratch, at);
    scratch->count = at->count;
    long more = uplua_stack_climb(scratch, rule);
    __u64 count = at->count, hash = at->hash;
    *at = begin_climb(scratch);
    at->count = more < 0 ? count - 1 : count; /* the last frame is none */
    at->hash = more < 0 ? before : hash;
    return more > 0;
}

/* A slot for a walk that is about to begin, NULL where there is none. The parameters are uplua_stack_walk's. */
static __always_inline struct scratch *prepare(long ip, long sp, long fp, long link, long depth)
{
    struct scratch *scratch = acquire();
    if (!scratch) {
        lose(STACK_LOST_BUSY);
        return 0;
    }
    scratch->ip = ip;
    scratch->sp = sp;
    scratch->fp = fp;
    scratch->link = CODE_ADDRESS(link);
    scratch->limit = (depth & ~AT_ENTRY) == 0 ? STACK_FRAMES : depth & ~AT_ENTRY;
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    __u64 changes = uplua_unwind_changes();
    if (!ip || scratch->tag + 1 <= 1 || scratch->stack.tgid != tgid || scratch->changes != changes) {
        __u64 generation = ip ? uplua_unwind_generation() : -1; /* 0: a thread of the kernel's */
        scratch->tag = generation + 1 <= 1 ? generation : mix(generation, 0);
        scratch->changes = changes;
    }
    scratch->back = scratch->guessed = scratch->count = 0;
    scratch->end = STACK_UNREADABLE;
    scratch->stack.tgid = tgid;
    scratch->hash = mix(tgid, 0);
    __u64 filled = uplua_stack_fill(scratch, sp, WORD);
    if (depth & AT_ENTRY) { /* needs no table */
        scratch->stack.frames[0] = ip;
        scratch->count = 1;
        scratch->hash = hash_frame(scratch->hash, ip);
        scratch->ip = !RETURN_ADDRESS_ON_STACK ? scratch->link : filled ? scratch->window[0] : 0;
        scratch->sp = sp + 8 * RETURN_ADDRESS_ON_STACK;
        scratch->back = 1;
        scratch->link = 0;
    }
    return scratch;
}

static __always_inline __u64 id_of(__u64 hash)
{
    return hash <= STACK_UNKNOWN ? hash + 2 : hash;
}

/* The id of the stack that has been walked, which is kept. */
static __always_inline long finish(struct scratch *scratch, struct rule_cache *cache)
{
    __u64 end = scratch->end;
    if (end == STACK_NO_TABLE)
        lose(STACK_LOST_NO_TABLE);
    else if (end == STACK_UNMAPPED)
        lose(STACK_LOST_UNMAPPED);
    else if (end == STACK_UNREADABLE)
        lose(STACK_LOST_UNREADABLE);
    else if (end == STACK_CUT)
        lose(STACK_LOST_DEPTH);
    scratch->stack.count = scratch->count;
    scratch->stack.end = end;
    scratch->top = scratch->sp;
    __u64 id = id_of(mix(scratch->hash, scratch->count << 8 | end));
    put_again(&scratch->stack, id, cache);
    release(scratch);
    return id;
}

/*
 * The stack of the current thread at IP with stack pointer SP and frame pointer FP. LINK: the link register, where the
 * CPU has one. DEPTH: at most so many frames, 0: all; AT_ENTRY is added where IP is a function's first instruction.
 */
long uplua_stack_walk(long ip, long sp, long fp, long link, long depth)
{
    __u32 none = 0;
    struct scratch *scratch = prepare(ip, sp, fp, link, depth);
    struct rule_cache *cache = bpf_map_lookup_elem(&stack_rules, &none);
    if (!scratch || !cache)
        return STACK_UNKNOWN;
    struct climber at = begin_climb(scratch);
    do {
        if (scratch->back) {
            do
                MAY_GOTO(over);
            while (take_plain_frame(scratch, cache, &at));
        }
        MAY_GOTO(over);
    } while (take_frame(scratch, cache, &at));
over:
    end_climb(scratch, at);
    return finish(scratch, cache);
}

struct walk {
    struct scratch *scratch;
    struct rule_cache *cache;
};

/* Takes up to ROUND frames. Returns 1 when the walk is over. */
static long walk_round(__u32 index __attribute__((unused)), struct walk *walk)
{
    struct scratch *scratch = walk->scratch;
    struct climber at = begin_climb(scratch);
    /* From 0 to ROUND. Not known to be 0, so that the second pass is to the verifier a case of the first. */
    __u64 i = scratch->zero;
    OPAQUE(i);
    for (i &= ROUND - 1; i < ROUND; i++)
        if (!(scratch->back && take_plain_frame(scratch, walk->cache, &at)) && !take_frame(scratch, walk->cache, &at))
            break;
    end_climb(scratch, at);
    return i < ROUND;
}

/* uplua_stack_walk for kernels without may_goto. */
long uplua_stack_walk_older(long ip, long sp, long fp, long link, long depth)
{
    __u32 none = 0;
    struct walk walk = {.scratch = prepare(ip, sp, fp, link, depth), .cache = bpf_map_lookup_elem(&stack_rules, &none)};
    if (!walk.scratch || !walk.cache)
        return STACK_UNKNOWN;
    bpf_loop(STACK_FRAMES / ROUND + 1, walk_round, &walk, 0);
    return finish(walk.scratch, walk.cache);
}

/* Where a walk begins. */
struct registers {
    __u64 ip, sp, fp, link;
};

/* The registers that a context begins with. */
static __always_inline struct registers registers_of(void *ctx)
{
    struct registers at = {CONTEXT_INSTRUCTION(ctx), CONTEXT_STACK_POINTER(ctx), CONTEXT_FRAME_POINTER(ctx), CONTEXT_LINK(ctx)};
    OPAQUE(at.ip);
    OPAQUE(at.sp);
    OPAQUE(at.fp);
    return at;
}

/* The user's registers, as the thread had them when it entered the kernel; a thread of the kernel's own has zeros there. */
static __always_inline struct registers saved_registers(void)
{
    struct registers at = {0};
    void *saved = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(&at.ip, sizeof at.ip, &CONTEXT_INSTRUCTION(saved));
    bpf_probe_read_kernel(&at.sp, sizeof at.sp, &CONTEXT_STACK_POINTER(saved));
    bpf_probe_read_kernel(&at.fp, sizeof at.fp, &CONTEXT_FRAME_POINTER(saved));
#if !RETURN_ADDRESS_ON_STACK
    bpf_probe_read_kernel(&at.link, sizeof at.link, &CONTEXT_LINK(saved));
#endif
    return at;
}

/*
 * The user's registers, where CTX begins with those of what was interrupted; if that is the kernel, those with which the thread
 * has entered it.
 */
static __always_inline struct registers user_registers_of(void *ctx)
{
    struct registers at = registers_of(ctx);
    return at.ip < USER_ADDRESSES ? at : saved_registers();
}

#define WALK(walk, at, depth, at_entry)                                                                                \
    walk((at).ip - ((at_entry) ? (at_entry) - 1 : 0), (at).sp, (at).fp, (at).link,                                                                         \
         ((depth) < 0 || (depth) > STACK_FRAMES ? 0 : (depth)) | ((at_entry) ? AT_ENTRY : 0))

/*
 * The id of the user's stack. CTX is the context of a uprobe (the user's registers). DEPTH: at most so many frames; 0
 * or less: as many as the store holds. AT_ENTRY: the probe stands for a function's entry, where the return address is not yet
 * below a frame of its own, and AT_ENTRY - 1 bytes behind it (src/probe/slide.h); 0: elsewhere. Never 0.
 */
__hidden long uplua_ustack(void *ctx, long depth, long at_entry)
{
    struct registers at = registers_of(ctx);
    return WALK(uplua_stack_walk, at, depth, at_entry);
}

/* The same, where CTX is the context of a sample. */
__hidden long uplua_ustack_sampled(void *ctx, long depth)
{
    struct registers at = user_registers_of(ctx);
    return WALK(uplua_stack_walk, at, depth, 0);
}

/* The same where the context has no registers: a tracepoint's. */
__hidden long uplua_ustack_thread(void *ctx, long depth)
{
    (void)ctx;
    struct registers at = saved_registers();
    return WALK(uplua_stack_walk, at, depth, 0);
}

/* All three for kernels without may_goto. */
__hidden long uplua_ustack_older(void *ctx, long depth, long at_entry)
{
    struct registers at = registers_of(ctx);
    return WALK(uplua_stack_walk_older, at, depth, at_entry);
}

__hidden long uplua_ustack_sampled_older(void *ctx, long depth)
{
    struct registers at = user_registers_of(ctx);
    return WALK(uplua_stack_walk_older, at, depth, 0);
}

__hidden long uplua_ustack_thread_older(void *ctx, long depth)
{
    (void)ctx;
    struct registers at = saved_registers();
    return WALK(uplua_stack_walk_older, at, depth, 0);
}

#define KERNEL_HASH(count) mix(-1ull, (count)) /* before its frames */

/* The hash of the COUNT frames of the kernel in SCRATCH. */
long uplua_stack_hash(struct scratch *scratch, long count)
{
    __u64 hash = KERNEL_HASH(count);
    if (!scratch)
        return 0;
    for (__u64 i = scratch->zero; i < STACK_FRAMES && i < (__u64)count; i++)
        hash = mix(hash, scratch->stack.frames[i]);
    return hash;
}

/*
 * The id of the kernel's stack; one without frames where the probe stands in user space. CTX: of any kind that
 * bpf_get_stack takes. DEPTH as above.
 */
__hidden long uplua_kstack(void *ctx, long depth)
{
    struct scratch *scratch = acquire();
    if (!scratch) {
        lose(STACK_LOST_BUSY);
        return STACK_UNKNOWN;
    }
    if (depth <= 0 || depth > STACK_FRAMES)
        depth = STACK_FRAMES;
    long bytes = bpf_get_stack(ctx, scratch->stack.frames, depth * 8, 0);
    __u64 count = bytes < 0 ? 0 : (__u64)bytes / 8, hash = uplua_stack_hash(scratch, count);
    scratch->stack.tgid = 0;
    scratch->stack.count = count;
    scratch->stack.end = STACK_WHOLE;
    __u64 id = id_of(hash);
    put(&scratch->stack, id);
    release(scratch);
    return id;
}

/*
 * The id of the stack that is the kernel's, KERNEL, and below it the user's, USER: ids both. The user's own where the kernel's has no
 * frames or could not be taken.
 */
long uplua_stack_join(long kernel, long user)
{
    __u32 none = 0;
    struct rule_cache *cache = bpf_map_lookup_elem(&stack_rules, &none);
    if (kernel == STACK_UNKNOWN || (__u64)kernel == id_of(KERNEL_HASH(0)) || !cache)
        return user;
    struct scratch *scratch = acquire();
    if (!scratch) {
        lose(STACK_LOST_BUSY);
        return STACK_UNKNOWN;
    }
    scratch->tag = 0; /* no walk was made for this process */
    scratch->stack.tgid = bpf_get_current_pid_tgid() >> 32;
    scratch->stack.count = 2;
    scratch->stack.end = STACK_JOINED;
    scratch->stack.frames[0] = kernel;
    scratch->stack.frames[1] = user;
    __u64 id = id_of(mix(mix(mix(scratch->stack.tgid, STACK_JOINED), kernel), user));
    put_again(&scratch->stack, id, cache);
    release(scratch);
    return id;
}
