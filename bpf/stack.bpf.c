/*
 * User stacks: walked by unwind tables, where those are missing by frame pointers, kept once each in `stacks`, and
 * named by a 64-bit hash of their process and frames. A handler gets the id; the script side reads the frames when it
 * prints.
 *
 * Speed: the stack's memory is read in windows of 2 KiB (100 ns each, where reading every frame by itself costs 60 ns
 * a frame), the rules of code addresses are kept in a cache, and a stack that is known costs one lookup.
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
#include "walk.h"

enum {
    WINDOW = 2048,
    PAGE = 4096, /* the smallest unit that a read can fail in */
    WORD = 8,
    SLOTS = 4,       /* probes that can be under way at once on one CPU */
    LARGEST_FRAME = 1 << 24,
    LOWEST_CODE = 4096,
    ROUND = 8, /* frames per callback of bpf_loop, which costs as much as two */
    RULES = 4096, /* kept: 64 KiB */
    AT_ENTRY = 1 << 16, /* beside a depth */
};

/* One walk. */
struct scratch {
    __u64 busy;
    __u64 ip, sp, fp; /* of the frame at work */
    __u64 back;       /* 1: IP is a return address: the call before it counts; 0: it is where the frame stands */
    __u64 slot;       /* where on the stack IP was found, if it is a return address */
    __u64 link;       /* the link register, where that may hold a return address */
    __u64 start, last; /* the window holds the user's memory from START to the word at START + LAST */
    __u64 tag;         /* of the process's mappings; 0: they are unknown; -1: there are no tables at all */
    __u64 guessed;     /* IP was found by a frame pointer that may be none */
    __u64 count, limit, hash, hash_before;
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

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SLOTS);
    __type(key, __u32);
    __type(value, struct scratch);
} stack_scratch SEC(".maps");

/*
 * The rules found last. CHECK is the key, a hash of address and process, combined with the rule: an entry that
 * another CPU is just writing is thereby none, and needs no lock.
 */
struct rule_cache {
    struct {
        __u64 rule, check;
    } entries[RULES];
};

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

/* Murmur3's finalizer, as a step: every bit of WORD changes half of the bits. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    return hash ^ hash >> 32;
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

/*
 * Reads the window from ADDRESS on; false if nothing can be read. It may reach beyond the end of the stack, where
 * nothing is: then it ends with the page. (Above main and above a thread's first frame lie more than 2 KiB, mostly.)
 */
long uplua_stack_fill(struct scratch *scratch, long address)
{
    if (!scratch)
        return 0;
    scratch->start = address;
    scratch->last = WINDOW - WORD;
    if (!bpf_probe_read_user(scratch->window, WINDOW, (void *)address))
        return 1;
    __u64 size = PAGE - (address & (PAGE - 1));
    OPAQUE(size);
    if (size >= WINDOW) /* it lies in one page */
        return 0;
    scratch->last = size - WORD;
    return !bpf_probe_read_user(scratch->window, size & (WINDOW - 1), (void *)address);
}

static __always_inline __u64 peek(__u64 address)
{
    __u64 word = 0;
    bpf_probe_read_user(&word, sizeof word, (void *)address);
    return word;
}

/* Frames that are not plain: 1 where the walk goes on. */
long uplua_stack_special(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    int kind = RULE_KIND(rule);
    if (rule == RULE_UNMAPPED) {
        scratch->end = STACK_UNMAPPED;
        if (scratch->guessed) { /* the frame pointer was none */
            scratch->end = STACK_NO_TABLE;
            scratch->count--;
            scratch->hash = scratch->hash_before;
        }
        return 0;
    }
    if (kind == RULE_END)
        scratch->end = STACK_WHOLE;
    if (kind == RULE_SIGNAL) { /* of code that was interrupted anywhere */
        __u64 sp = scratch->sp;
        scratch->ip = peek(sp + SIGNAL_INSTRUCTION);
        scratch->fp = peek(sp + SIGNAL_FRAME_POINTER);
        scratch->sp = peek(sp + SIGNAL_STACK_POINTER);
        scratch->back = 0;
        scratch->start = -1;
        scratch->guessed = 0;
        return 1;
    }
    if (kind != RULE_DEREF && kind != RULE_DEREF_PLUS_8 && kind != RULE_DEREF_OWN)
        return 0;
    __u64 base = RULE_BASE(rule) == DWARF_FRAME_POINTER ? scratch->fp : scratch->sp;
    __u64 cfa = peek(base + RULE_OFFSET(rule)) + (kind == RULE_DEREF_PLUS_8 ? 8 : 0);
    if (cfa - scratch->sp > LARGEST_FRAME)
        return 0;
    if (kind == RULE_DEREF_OWN)
        scratch->fp = peek(scratch->fp);
    else if (RULE_FRAME(rule))
        scratch->fp = peek(cfa + RULE_FRAME(rule));
    scratch->slot = RETURN_ADDRESS_ON_STACK ? cfa + RULE_LINK(rule) : cfa;
    scratch->ip = CODE_ADDRESS(peek(cfa + RULE_LINK(rule)));
    scratch->sp = cfa;
    scratch->back = 1;
    scratch->guessed = 0;
    return 1;
}

/* The rule for the frame at work, from the cache or put there. */
static __always_inline __u64 rule_of(struct scratch *scratch, struct rule_cache *cache)
{
    if (IS_TRAMPOLINE(scratch->ip) || scratch->tag == -1ull)
        return RULE_BY_FRAME_POINTER;
    __u64 pc = scratch->ip - scratch->back, key = mix(scratch->tag, pc), at = key >> 8;
    if (!scratch->tag)
        return uplua_unwind_rule(pc);
    OPAQUE(at);
    at &= RULES - 2;
    __u64 rule = cache->entries[at].rule;
    if (cache->entries[at].check == (key ^ rule))
        return rule;
    rule = cache->entries[at + 1].rule;
    if (cache->entries[at + 1].check == (key ^ rule))
        return rule;
    rule = uplua_unwind_rule(pc);
    if (rule != RULE_UNMAPPED) {
        cache->entries[at + 1].rule = cache->entries[at].rule;
        cache->entries[at + 1].check = cache->entries[at].check;
        cache->entries[at].rule = rule;
        cache->entries[at].check = key ^ rule;
    }
    return rule;
}

/* From the frame at work to its caller's; 0 where that is not known, or there is none. */
long uplua_stack_climb(struct scratch *scratch)
{
    __u32 none = 0;
    struct rule_cache *cache = bpf_map_lookup_elem(&stack_rules, &none);
    if (!scratch || !cache)
        return 0;
    __u64 rule = rule_of(scratch, cache);
    if (RULE_KIND(rule) != RULE_REGISTER && rule != RULE_BY_FRAME_POINTER)
        return uplua_stack_special(scratch, rule);
    __u64 cfa = (RULE_BASE(rule) == DWARF_FRAME_POINTER ? scratch->fp : scratch->sp) + RULE_OFFSET(rule);
    scratch->end = RULE_KIND(rule) == RULE_UNKNOWN ? STACK_NO_TABLE : STACK_UNREADABLE; /* if it ends here */
    /* The stack grows downwards. */
    if (cfa - scratch->sp > LARGEST_FRAME || cfa & 7 || cfa >= USER_ADDRESSES)
        return 0;
    __u64 link = cfa + RULE_LINK(rule), frame = RULE_FRAME(rule) ? cfa + RULE_FRAME(rule) : link;
    __u64 link_at = link - scratch->start, frame_at = frame - scratch->start;
    if (link_at > scratch->last || frame_at > scratch->last) {
        if (!uplua_stack_fill(scratch, link < frame ? link : frame))
            return 0;
        link_at = link - scratch->start;
        frame_at = frame - scratch->start;
        if (link_at > scratch->last || frame_at > scratch->last)
            return 0;
    }
    OPAQUE(link_at);
    OPAQUE(frame_at);
    if (link_at > WINDOW - WORD || frame_at > WINDOW - WORD) /* for the verifier */
        return 0;
    if (RULE_FRAME(rule))
        scratch->fp = scratch->window[frame_at / 8];
    if (RETURN_ADDRESS_ON_STACK || RULE_LINK(rule)) {
        scratch->ip = CODE_ADDRESS(scratch->window[link_at / 8]);
    } else {
        scratch->ip = scratch->link;
        scratch->link = 0;
    }
    scratch->slot = RETURN_ADDRESS_ON_STACK ? link : cfa;
    scratch->sp = cfa;
    scratch->back = 1;
    scratch->guessed = RULE_KIND(rule) == RULE_UNKNOWN;
    return 1;
}

struct walk {
    struct scratch *scratch;
    struct rule_cache *cache;
};

/*
 * Takes up to ROUND frames. Returns 1 when the walk is over.
 *
 * Nearly all frames take the fast path: an ordinary rule that the cache has, and memory that the window has. It works
 * on copies of the walk's state, and calls nothing.
 */
static long walk_round(__u32 index __attribute__((unused)), struct walk *walk)
{
    struct scratch *scratch = walk->scratch;
    struct rule_cache *cache = walk->cache;
    /* From 0 to ROUND. Not known to be 0, so that the second pass is to the verifier a case of the first. */
    __u64 i = scratch->zero, ip = scratch->ip, sp = scratch->sp, fp = scratch->fp, hash = scratch->hash;
    OPAQUE(i);
    for (i &= ROUND - 1; i < ROUND; i++) {
        __u64 count = scratch->count;
        if (IS_TRAMPOLINE(ip)) {
            __u64 original = uplua_unwind_return(scratch->slot);
            if (original)
                ip = original;
            else
                lose(STACK_LOST_RETURN);
        }
        if (ip < LOWEST_CODE || ip >= USER_ADDRESSES) {
            if (!ip)
                scratch->end = STACK_WHOLE;
            scratch->hash = hash;
            return 1;
        }
        if (count >= scratch->limit || count >= STACK_FRAMES) {
            scratch->end = count == STACK_FRAMES ? STACK_CUT : STACK_WHOLE;
            scratch->hash = hash;
            return 1;
        }
        scratch->stack.frames[count] = ip;
        scratch->count = count + 1;
        __u64 before = hash;
        hash = mix(hash, ip);

        __u64 key = mix(scratch->tag, ip - scratch->back), at = key >> 8;
        OPAQUE(at);
        at &= RULES - 2;
        __u64 rule = cache->entries[at].rule, check = cache->entries[at].check;
        if (check != (key ^ rule)) {
            rule = cache->entries[at + 1].rule;
            check = cache->entries[at + 1].check;
        }
        __u64 cfa = (RULE_BASE(rule) == DWARF_FRAME_POINTER ? fp : sp) + RULE_OFFSET(rule);
        __u64 link_at = cfa + RULE_LINK(rule) - scratch->start, frame_at = link_at - RULE_LINK(rule) + RULE_FRAME(rule);
        OPAQUE(link_at);
        OPAQUE(frame_at);
        if (check == (key ^ rule) && RULE_KIND(rule) == RULE_REGISTER && RULE_LINK(rule) &&
            cfa - sp <= LARGEST_FRAME && !(cfa & 7) && link_at <= scratch->last && link_at <= WINDOW - WORD) {
            if (!RULE_FRAME(rule) || (frame_at <= scratch->last && frame_at <= WINDOW - WORD)) {
                if (RULE_FRAME(rule))
                    fp = scratch->window[frame_at / 8];
                ip = CODE_ADDRESS(scratch->window[link_at / 8]);
                sp = cfa;
                scratch->slot = RETURN_ADDRESS_ON_STACK ? cfa - WORD : cfa;
                scratch->back = 1;
                scratch->guessed = 0;
                continue;
            }
        }
        scratch->ip = ip;
        scratch->sp = sp;
        scratch->fp = fp;
        scratch->hash = hash;
        scratch->hash_before = before;
        if (!uplua_stack_climb(scratch))
            return 1;
        ip = scratch->ip;
        sp = scratch->sp;
        fp = scratch->fp;
    }
    scratch->ip = ip;
    scratch->sp = sp;
    scratch->fp = fp;
    scratch->hash = hash;
    return 0;
}

/*
 * The stack of the current thread at IP with stack pointer SP and frame pointer FP. LINK: the link register, where the
 * CPU has one. DEPTH: at most so many frames, 0: all; AT_ENTRY is added where IP is a function's first instruction.
 */
long uplua_stack_walk(long ip, long sp, long fp, long link, long depth)
{
    __u32 none = 0;
    struct walk walk = {.scratch = acquire(), .cache = bpf_map_lookup_elem(&stack_rules, &none)};
    struct scratch *scratch = walk.scratch;
    if (!scratch || !walk.cache) {
        lose(STACK_LOST_BUSY);
        return STACK_UNKNOWN;
    }
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    __u64 generation = uplua_unwind_generation();
    scratch->tag = generation + 1 <= 1 ? generation : mix(generation, 0);
    scratch->ip = ip;
    scratch->sp = sp;
    scratch->fp = fp;
    scratch->link = CODE_ADDRESS(link);
    scratch->back = scratch->guessed = 0;
    scratch->count = 0;
    scratch->limit = (depth & ~AT_ENTRY) == 0 ? STACK_FRAMES : depth & ~AT_ENTRY;
    scratch->hash = mix(tgid, 0);
    scratch->end = STACK_UNREADABLE;
    __u64 filled = uplua_stack_fill(scratch, sp);
    if (depth & AT_ENTRY) { /* needs no table */
        scratch->stack.frames[0] = ip;
        scratch->count = 1;
        scratch->hash = mix(scratch->hash, ip);
        scratch->ip = !RETURN_ADDRESS_ON_STACK ? scratch->link : filled ? scratch->window[0] : 0;
        scratch->slot = sp;
        scratch->sp = sp + 8 * RETURN_ADDRESS_ON_STACK;
        scratch->back = 1;
        scratch->link = 0;
    }
    bpf_loop(STACK_FRAMES / ROUND + 1, walk_round, &walk, 0);

    __u64 end = scratch->end;
    if (end == STACK_NO_TABLE)
        lose(STACK_LOST_NO_TABLE);
    else if (end == STACK_UNMAPPED)
        lose(STACK_LOST_UNMAPPED);
    else if (end == STACK_UNREADABLE)
        lose(STACK_LOST_UNREADABLE);
    else if (end == STACK_CUT)
        lose(STACK_LOST_DEPTH);
    scratch->stack.tgid = tgid;
    scratch->stack.count = scratch->count;
    scratch->stack.end = end;
    __u64 hash = mix(scratch->hash, scratch->count << 8 | end);
    __u64 id = hash <= STACK_UNKNOWN ? hash + 2 : hash;
    store(&scratch->stack, id);
    release(scratch);
    return id;
}

/*
 * The id of the user's stack. CTX is the context of a uprobe (the user's registers). DEPTH: at most so many frames; 0
 * or less: as many as the store holds. AT_ENTRY: the probe stands on a function's first instruction, where the return
 * address is not yet below a frame of its own. Never 0.
 */
__hidden long uplua_ustack(void *ctx, long depth, long at_entry)
{
    __u64 ip = CONTEXT_INSTRUCTION(ctx), sp = CONTEXT_STACK_POINTER(ctx), fp = CONTEXT_FRAME_POINTER(ctx), link = 0;
    OPAQUE(ip);
    OPAQUE(sp);
    OPAQUE(fp);
#if !RETURN_ADDRESS_ON_STACK
    link = CONTEXT_LINK(ctx);
#endif
    if (depth < 0 || depth > STACK_FRAMES)
        depth = 0;
    return uplua_stack_walk(ip, sp, fp, link, depth | (at_entry ? AT_ENTRY : 0));
}
