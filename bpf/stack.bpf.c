/*
 * User stacks: walked by unwind tables, where those are missing by frame pointers, kept once each in `uplua_stacks`,
 * and named by a 64-bit hash of their frames. Those are places in files wherever the code is in one, so that equal code
 * is one stack in all processes. A handler gets the id; the script side reads the frames when it prints.
 *
 * Speed: the stack's memory is read in one piece, up to where the last walk ended (window_size), where reading every
 * frame by itself costs 60 ns a frame. The rules of code addresses are kept in a cache, and so are the ids of stacks
 * that are known. Nearly all frames are taken by a loop without calls (take_plain_frame): with one in it, whatever
 * the loop changes would have to go through memory. A frame takes 6 ns. Most of that is waiting for two words of
 * memory, its rule and its return address, since each says where the next is.
 *
 * The verifier: uplua_ustack needs the context and is therefore hidden, which means verified again for each call, and
 * short. The walk is a global function of numbers, which is verified once in a program. It begins with numbers from a
 * map's value, where every number is unknown to the verifier, so that it goes through one round of the loop for all;
 * with known ones the same costs 330,000 instructions.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "rule_cache.h"
#include "stack.h"
#include "stack_slow.h"

enum {
    SLOTS = 4,          /* probes that can be under way at once on one CPU */
    ROUND = 8,          /* frames per callback of bpf_loop, which costs as much as two */
    AT_ENTRY = 1 << 16, /* beside a depth */
    IN_KERNEL = 1 << 17,
    AT_RETURN = 1 << 18,
    EXISTS = -17, /* EEXIST */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, STACK_ENTRIES);
    __type(key, __u64);
    __type(value, struct stack);
} uplua_stacks SEC(".maps");

/* Where `uplua_stacks` finds no memory at once, as in an interrupt: these entries have theirs. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, STACK_RESERVE);
    __type(key, __u64);
    __type(value, struct stack);
} uplua_stacks_reserve SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SLOTS);
    __type(key, __u32);
    __type(value, struct scratch);
} uplua_stack_scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct rule_cache);
} uplua_stack_rules SEC(".maps");

__u64 uplua_stack_lost[STACK_LOST_COUNT];

STACK_NAMES(IS_NAME)

/* A slot of this CPU that no interrupted probe holds; NULL, and counted, where there is none. */
static __always_inline struct scratch *acquire(void)
{
#pragma unroll
    for (__u32 i = 0; i < SLOTS; i++) {
        __u32 key = i;
        struct scratch *scratch = bpf_map_lookup_elem(&uplua_stack_scratch, &key);
        if (scratch && !__sync_val_compare_and_swap(&scratch->busy, 0, 1))
            return scratch;
    }
    lose(STACK_LOST_BUSY);
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
    if (bpf_map_lookup_elem(&uplua_stacks, &id))
        return 1;
    /* int: 6.1 calls the map's own function, which leaves the upper half of the register undefined. */
    int code = (int)bpf_map_update_elem(&uplua_stacks, &id, stack, BPF_NOEXIST);
    if (!code || code == EXISTS) /* another CPU was faster */
        return 1;
    code = (int)bpf_map_update_elem(&uplua_stacks_reserve, &id, stack, BPF_NOEXIST);
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

/* What the cache has for the return address LINK; rule 0: nothing. */
static __always_inline struct code cached_code(const struct rule_cache *cache, __u64 tag, __u64 link)
{
    __u64 key = rule_key(tag, link), i = rule_index(tag, link);
    struct code code = cache->entries[i].code;
    if (cache->entries[i].check == (key ^ code.rule ^ code.to_file))
        return code;
    code = cache->entries[i + 1].code;
    if (cache->entries[i + 1].check != (key ^ code.rule ^ code.to_file))
        code.rule = 0;
    return code;
}

/* The same, looked for where the cache has nothing. */
static __always_inline struct code code_of(struct scratch *scratch, struct rule_cache *cache, __u64 link)
{
    struct code code = cached_code(cache, scratch->tag, link);
    if (code.rule)
        return code;
    uplua_unwind_code(cache, scratch, link);
    return scratch->code;
}

static __always_inline void keep_frame(struct scratch *scratch, struct climber *at, __u64 frame)
{
    OPAQUE(at->count);
    scratch->stack.frames[at->count & STACK_FRAMES] = frame; /* the mask is for the verifier */
    at->count++;
    at->hash = mix(at->hash, frame);
}

/* The return address that RULE finds below the CFA, which lies at AT in the window. */
#if RETURN_ADDRESS_ON_STACK
#define SAVED_LINK(scratch, at, rule)                                                                                  \
    (*(const __u64 *)((const char *)(scratch) + (at) + __builtin_offsetof(struct scratch, window) - WORD))
#else
#define SAVED_LINK(scratch, at, rule) CODE_ADDRESS(WINDOW_WORD(scratch, (at) + PLAIN_LINK(rule)), (scratch)->code_mask)
#endif

/*
 * Takes the frame AT, which is a call's, and goes on to its caller's, if it is as nearly all are: with a plain rule,
 * which the cache has, and in the window. Otherwise nothing has happened. It calls nothing, so that a loop of it has
 * its variables in registers; and what the next frame waits for is kept short: the checks are of what it does not
 * wait for.
 */
static __always_inline int take_plain_frame(struct scratch *scratch, const struct rule_cache *cache, struct climber *at)
{
    struct code code = cached_code(cache, scratch->tag, at->ip);
    __u64 rule = code.rule, cfa;
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
    keep_frame(scratch, at, at->ip + code.to_file);
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
    if (!uplua_stack_odd(scratch))
        return 0;
    at->ip = scratch->ip;
    if (at->count >= scratch->limit) {
        scratch->end = at->count == STACK_FRAMES ? STACK_CUT : STACK_WHOLE;
        return 0;
    }
    __u64 link = at->ip + 1 - scratch->back;
    struct code code = code_of(scratch, cache, link);
    __u64 rule = code.rule;
#if !RETURN_ADDRESS_ON_STACK
    if ((rule == RULE_BY_FRAME_POINTER || rule == (RULE_UNEXPRESSED | RULE_ODD)) && !uplua_unwind_is_trampoline(link)) {
        scratch->code.to_file = code.to_file;
        rule = uplua_stack_by_code(scratch, cache, link);
    }
#endif
    if ((rule == RULE_OF_UPROBES || scratch->trapped) && uplua_stack_move(scratch, rule)) {
        *at = begin_climb(scratch); /* the next step takes the frame from where it is now */
        return 1;
    }
    __u64 before = at->hash, frame = at->ip + code.to_file;
    if (!scratch->back && at->count)
        frame |= STACK_INTERRUPTED;
    keep_frame(scratch, at, frame);
    scratch->count = at->count;
    if (!code.to_file && !scratch->raw)
        scratch->raw = at->count;
    long more = uplua_stack_climb(scratch, rule);
    __u64 count = at->count, hash = at->hash;
    *at = begin_climb(scratch);
    at->count = more < 0 ? count - 1 : count; /* the last frame is none */
    at->hash = more < 0 ? before : hash;
    return more > 0;
}

/* Takes the first frame of a walk that begins at a function's first instruction, which needs no rule. */
static __always_inline void take_entry(struct scratch *scratch, struct rule_cache *cache)
{
    __u64 ip = scratch->ip, to_file = code_of(scratch, cache, ip + 1).to_file;
    __u64 frame = to_file ? (ip + to_file) & ~STACK_GUESSED : ip; /* its caller is no guess */
    scratch->stack.frames[0] = frame;
    scratch->hash = mix(scratch->hash, frame);
    scratch->count = 1;
    scratch->raw = !to_file;
    scratch->ip = !RETURN_ADDRESS_ON_STACK ? scratch->link : scratch->size ? scratch->window[0] : 0;
    scratch->sp += 8 * RETURN_ADDRESS_ON_STACK;
    scratch->back = 1;
    scratch->link = 0;
}

/* A slot for a walk that is about to begin, NULL where there is none. The others are uplua_stack_walk's. */
static __always_inline struct scratch *prepare(struct rule_cache *cache, long ip, long sp, long fp, long link,
                                               long depth)
{
    struct scratch *scratch = cache ? acquire() : 0;
    if (!scratch)
        return 0;
    scratch->ip = ip;
    scratch->sp = sp;
    scratch->fp = fp;
    if (SIGNS_RETURN_ADDRESSES)
        scratch->code_mask = uplua_unwind_code_mask();
    scratch->link = CODE_ADDRESS(link, scratch->code_mask);
    scratch->limit = (depth & 0xffff) == 0 ? STACK_FRAMES : depth & 0xffff;
    scratch->trapped = BREAKPOINT_SIZE && depth & IN_KERNEL;
    scratch->mark = depth & AT_RETURN ? STACK_RETURNED : 0;
    __u32 tgid = bpf_get_current_pid_tgid() >> 32;
    __u64 changes = uplua_unwind_changes();
    if (scratch->tag + 1 <= 1 || scratch->stack.tgid != tgid || scratch->changes != changes) {
        scratch->space = uplua_unwind_space();
        scratch->tag = 0;
    }
    __u64 state = uplua_unwind_state(scratch->space);
    if (scratch->state != state) {
        scratch->state = state;
        scratch->tag = 0;
    }
    if (!sp || scratch->tag + 1 <= 1) {
        __u64 program = uplua_unwind_program();
        __u64 generation = sp ? uplua_unwind_generation(program) : -1; /* 0: a thread of the kernel's */
        scratch->tag = generation + 1 <= 1 ? generation : mix(generation | scratch->state << 32, 0);
        scratch->changes = changes;
        scratch->stack.program = program;
    }
    scratch->back = scratch->guessed = scratch->count = scratch->raw = scratch->signalled = 0;
    scratch->hash = scratch->mark;
    scratch->end = STACK_UNREADABLE;
    scratch->stack.tgid = tgid;
    if (!uplua_stack_fill(scratch, sp, WORD))
        scratch->size = 0;
    if (depth & AT_ENTRY)
        take_entry(scratch, cache);
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
    scratch->stack.frames[0] |= scratch->mark;
    scratch->stack.count = scratch->count;
    scratch->stack.end = end;
    scratch->top = scratch->sp;
    __u64 hash = mix(scratch->hash, scratch->count << 8 | end);
    if (scratch->raw && scratch->raw <= scratch->count)
        hash = mix(mix(hash, scratch->stack.tgid), scratch->stack.program);
    __u64 id = id_of(hash);
    put_again(&scratch->stack, id, cache);
    release(scratch);
    return id;
}

/*
 * The stack of the current thread at IP with stack pointer SP and frame pointer FP. LINK: the link register, where the
 * CPU has one. DEPTH: at most so many frames, 0: all; AT_ENTRY is added where IP is a function's first instruction,
 * AT_RETURN where a call has just returned there, and IN_KERNEL where the kernel was interrupted, which may have moved
 * IP behind a breakpoint.
 */
long uplua_stack_walk(long ip, long sp, long fp, long link, long depth)
{
    __u32 none = 0;
    struct rule_cache *cache = bpf_map_lookup_elem(&uplua_stack_rules, &none);
    struct scratch *scratch = prepare(cache, ip, sp, fp, link, depth);
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
    struct rule_cache *cache = bpf_map_lookup_elem(&uplua_stack_rules, &none);
    struct scratch *scratch = prepare(cache, ip, sp, fp, link, depth);
    if (!scratch || !cache)
        return STACK_UNKNOWN;
    struct walk walk = {scratch, cache};
    bpf_loop(STACK_FRAMES / ROUND + 2, walk_round, &walk, 0); /* not every step takes a frame */
    return finish(scratch, cache);
}

/* Where a walk begins. */
struct registers {
    __u64 ip, sp, fp, link;
};

/* The registers that a context begins with. */
static __always_inline struct registers registers_of(void *ctx)
{
    struct registers at = {CONTEXT_INSTRUCTION(ctx), CONTEXT_STACK_POINTER(ctx), CONTEXT_FRAME_POINTER(ctx),
                           CONTEXT_LINK(ctx)};
    OPAQUE(at.ip);
    OPAQUE(at.sp);
    OPAQUE(at.fp);
    return at;
}

/* The user's registers, as the thread had them when it entered the kernel; a thread of the kernel's own has zeros
 * there. */
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
 * The user's registers, where CTX begins with those of what was interrupted; if that is the kernel, those with which
 * the thread has entered it.
 */
static __always_inline struct registers user_registers_of(void *ctx)
{
    struct registers at = registers_of(ctx);
    return at.ip < USER_ADDRESSES ? at : saved_registers();
}

/* Where a sample was taken, whose context is CTX: an address of the kernel's, or of the program, which never is code
 * that the kernel executes for uprobes in its place. */
__hidden long uplua_sampled_ip(void *ctx)
{
    struct registers at = registers_of(ctx);
    return at.ip < USER_ADDRESSES ? (__u64)uplua_unwind_place(at.ip, at.sp) : at.ip;
}

#define CHECKED_DEPTH(depth) ((depth) < 0 || (depth) > STACK_FRAMES ? 0 : (depth))
#define WALK(walk, at, depth, at_entry)                                                                                \
    walk((at).ip - ((at_entry) > 0 ? (at_entry)-1 : 0), (at).sp, (at).fp, (at).link,                                   \
         CHECKED_DEPTH(depth) | ((at_entry) > 0                  ? AT_ENTRY                                            \
                                 : (at_entry) == STACK_AT_RETURN ? AT_RETURN                                           \
                                                                 : 0))

/*
 * The id of the user's stack. CTX is the context of a uprobe (the user's registers). DEPTH: at most so many frames; 0
 * or less: as many as the store holds. AT_ENTRY: the probe stands for a function's entry, where the return address is
 * not yet below a frame of its own, and AT_ENTRY - 1 bytes behind it (src/probe/spec/slide.h); STACK_AT_RETURN: a call
 * has just returned there; 0: elsewhere. Never 0.
 *
 * _entry: the same of a function's entry that had these registers, wherever the probe stands.
 *
 * _sampled: the same, where CTX is the context of a sample; _thread: where the context has no registers: a
 * tracepoint's. All of them with OLDER behind their names go by the walk for kernels without may_goto.
 */
#define DEFINE_USTACKS(older)                                                                                          \
    __hidden long uplua_ustack##older(void *ctx, long depth, long at_entry)                                            \
    {                                                                                                                  \
        struct registers at = registers_of(ctx);                                                                       \
        return WALK(uplua_stack_walk##older, at, depth, at_entry);                                                     \
    }                                                                                                                  \
    __hidden long uplua_ustack_entry##older(__u64 ip, __u64 sp, __u64 fp, __u64 link, long depth)                      \
    {                                                                                                                  \
        struct registers at = {ip, sp, fp, link};                                                                      \
        return WALK(uplua_stack_walk##older, at, depth, 1);                                                            \
    }                                                                                                                  \
    __hidden long uplua_ustack_sampled##older(void *ctx, long depth)                                                   \
    {                                                                                                                  \
        struct registers at = user_registers_of(ctx);                                                                  \
        int in_kernel = CONTEXT_INSTRUCTION(ctx) >= USER_ADDRESSES;                                                    \
        return uplua_stack_walk##older(at.ip, at.sp, at.fp, at.link,                                                   \
                                       CHECKED_DEPTH(depth) | (in_kernel ? IN_KERNEL : 0));                            \
    }                                                                                                                  \
    __hidden long uplua_ustack_thread##older(void *ctx, long depth)                                                    \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        struct registers at = saved_registers();                                                                       \
        return WALK(uplua_stack_walk##older, at, depth, 0);                                                            \
    }

DEFINE_USTACKS()
DEFINE_USTACKS(_older)

#define KERNEL_HASH(count) mix(-1ull, (count)) /* before its frames */

/* Drops the first OWN frames of the kernel in SCRATCH, and keeps COUNT of those behind them: their hash. */
long uplua_stack_hash(struct scratch *scratch, long count, long own)
{
    __u64 hash = KERNEL_HASH(count);
    if (!scratch)
        return 0;
    for (__u64 i = scratch->zero; i < STACK_FRAMES && i < (__u64)count; i++) {
        __u64 ip = scratch->stack.frames[(i + own) & STACK_FRAMES]; /* the mask is for the verifier */
        scratch->stack.frames[i] = ip;
        hash = mix(hash, ip);
    }
    return hash;
}

/* Takes COUNT frames of the kernel into SCRATCH, or as many as there are: how many. */
static __always_inline __u64 take_kernel(void *ctx, struct scratch *scratch, long count)
{
    long bytes = bpf_get_stack(ctx, scratch->stack.frames, count * 8, 0);
    return bytes < 0 ? 0 : (__u64)bytes / 8;
}

/* The id of the COUNT frames in SCRATCH that are behind OWN others. */
static __always_inline long finish_kernel(struct scratch *scratch, __u64 count, __u64 own)
{
    __u64 hash = uplua_stack_hash(scratch, count, own);
    scratch->stack.tgid = 0;
    scratch->stack.program = 0;
    scratch->stack.count = count;
    scratch->stack.end = STACK_WHOLE;
    __u64 id = id_of(hash);
    put(&scratch->stack, id);
    release(scratch);
    return id;
}

/*
 * The id of the kernel's stack; one without frames where the probe stands in user space. CTX: of any kind that
 * bpf_get_stack takes. DEPTH as above.
 */
__hidden long uplua_kstack(void *ctx, long depth)
{
    struct scratch *scratch = acquire();
    if (!scratch)
        return STACK_UNKNOWN;
    if (depth <= 0 || depth > STACK_FRAMES)
        depth = STACK_FRAMES;
    return finish_kernel(scratch, take_kernel(ctx, scratch, depth), 0);
}

/* The same at a tracepoint, from where the kernel fired it. RAW: 1 where its frames stand behind those of the program,
 * else 0. */
__hidden long uplua_kstack_fired(void *ctx, long depth, long raw)
{
    struct scratch *scratch = acquire();
    if (!scratch)
        return STACK_UNKNOWN;
    if (depth <= 0 || depth > STACK_FRAMES)
        depth = STACK_FRAMES;
    __u64 count = take_kernel(ctx, scratch, STACK_FRAMES), own = uplua_stack_own(scratch, count, raw);
    count = own > count ? 0 : count - own;
    return finish_kernel(scratch, count > (__u64)depth ? (__u64)depth : count, own);
}

/*
 * The id of the stack that is the kernel's, KERNEL, and below it the user's, USER: ids both. The user's own where the
 * kernel's has no frames or could not be taken.
 */
long uplua_stack_join(long kernel, long user)
{
    __u32 none = 0;
    struct rule_cache *cache = bpf_map_lookup_elem(&uplua_stack_rules, &none);
    if (kernel == STACK_UNKNOWN || (__u64)kernel == id_of(KERNEL_HASH(0)) || !cache)
        return user;
    struct scratch *scratch = acquire();
    if (!scratch)
        return STACK_UNKNOWN;
    scratch->tag = scratch->stack.program = 0; /* no walk was made for this process */
    scratch->stack.tgid = bpf_get_current_pid_tgid() >> 32;
    scratch->stack.count = 2;
    scratch->stack.end = STACK_JOINED;
    scratch->stack.frames[0] = kernel;
    scratch->stack.frames[1] = user;
    __u64 id = id_of(mix(mix(mix(0, STACK_JOINED), kernel), user));
    put_again(&scratch->stack, id, cache);
    release(scratch);
    return id;
}
