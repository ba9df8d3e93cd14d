/* Finds out whether all targets of a function's indirect jumps are known: by what the registers hold that they go by.
 */
#include "probe/spec/indirect_jumps.h"

#include <stdlib.h>

enum { MOST_ROUNDS = 16 };

/* What a register holds. */
struct held {
    enum held_kind {
        HELD_INITIAL, /* what it held where the code comes together with other code, … */
        HELD_POINTER, /* … a word of memory, a parameter, or what a callee has returned, … */
        HELD_STACKED, /* … a word of the stack, … */
        HELD_PLACE,   /* … an address of the file, … */
        HELD_HALF,    /* … a distance in its lower half, … */
        HELD_DISTANCE,
        HELD_TARGET, /* … a place with a distance from there, … */
        HELD_OTHER,  /* … or nobody knows */
    } kind;
    uint64_t number; /* that tells it from others: of a PLACE its address; of a distance that of its table, … */
    enum held_kind table_kind; /* … as what that is held, … */
    int64_t plus;              /* … and how far behind it the distances begin */
};

/* Sets of registers have a bit for each. A register is lost where it may hold what is no address that is known. */
struct jump_scan {
    const struct arch_code *arch;
    const struct slide_code *code;
    jump_table_visit *visit;
    void *context;
    uint8_t *joins;         /* a bit for each byte of the function: a jump leads there, … */
    uint64_t *lost_at;      /* … with so many registers lost, for each byte */
    uint64_t lost_anywhere; /* in the whole function, … */
    uint64_t lost_at_jumps; /* … and at its indirect jumps, which may lead to any place in it */
    bool changed;           /* something is known now that was not when the round began */
    bool known;
    uint64_t count;               /* values so far */
    uint64_t lost;                /* where the scan is, of those that are INITIAL */
    struct held held[ARCH_WORDS]; /* where the scan is */
};

static void hold(struct jump_scan *scan, unsigned word, struct held value)
{
    if (!value.number)
        value.number = ++scan->count;
    scan->held[word] = value;
}

static void hold_all(struct jump_scan *scan, enum held_kind kind, uint64_t words)
{
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        if (words >> i & 1)
            hold(scan, i, (struct held){.kind = kind});
}

static void add_to(uint64_t *set, uint64_t words, struct jump_scan *scan)
{
    scan->changed |= (words & ~*set) != 0;
    *set |= words;
}

/* What WORD holds, if it is a register. What it held before is an address or not. */
static struct held value_of(const struct jump_scan *scan, unsigned word)
{
    struct held value = word < ARCH_WORDS ? scan->held[word] : (struct held){.kind = HELD_OTHER};
    if (value.kind == HELD_INITIAL)
        value.kind = scan->lost >> word & 1 ? HELD_OTHER : HELD_POINTER;
    return value;
}

/* Whether what is HELD is an address that the file has somewhere, or may have been given. */
static bool is_address(const struct held *held)
{
    return held->kind == HELD_POINTER || held->kind == HELD_PLACE || held->kind == HELD_TARGET;
}

static uint64_t lost_here(const struct jump_scan *scan)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < ARCH_WORDS; i++) {
        struct held value = value_of(scan, i);
        lost |= (uint64_t)!is_address(&value) << i;
    }
    return lost;
}

/* The distance that FLOW loads: from which table? */
static struct held load_distance(const struct jump_scan *scan, const struct arch_flow *flow)
{
    struct held base = value_of(scan, flow->from), index = value_of(scan, flow->index);
    int64_t plus = flow->plus;
    if (!flow->scaled && index.kind == HELD_PLACE) {
        base = index;
    } else if (flow->from == ARCH_WORDS && flow->scaled) { /* at a fixed address */
        base = (struct held){.kind = HELD_PLACE, .number = (uint64_t)plus};
        plus = 0;
    }
    return (struct held){
        .kind = flow->half ? HELD_HALF : HELD_DISTANCE, .number = base.number, .table_kind = base.kind, .plus = plus};
}

/* The sum of DISTANCE and BASE. */
static struct held sum(const struct jump_scan *scan, const struct held *distance, const struct held *base)
{
    struct held target = {.kind = HELD_TARGET}, other = {.kind = HELD_OTHER};
    if (distance->table_kind == HELD_PLACE && base->kind == HELD_PLACE) {
        scan->visit(distance->number + (uint64_t)distance->plus, base->number, scan->context);
        return target;
    }
    /* Some instruction mentions the table where its address comes from. */
    bool is_table = distance->table_kind == HELD_POINTER || distance->table_kind == HELD_STACKED;
    return is_table && distance->table_kind == base->kind && distance->number == base->number && !distance->plus
               ? target
               : other;
}

static struct held value_after(const struct jump_scan *scan, const struct arch_flow *flow, uint64_t address)
{
    struct held from = value_of(scan, flow->from), to = value_of(scan, flow->to), value = {.kind = HELD_OTHER};
    switch (flow->kind) {
    case FLOW_COPY:
        return from;
    case FLOW_PLACE:
        value.kind = HELD_PLACE;
        value.number = flow->absolute ? flow->absolute : address + (uint64_t)flow->plus;
        return value;
    case FLOW_SUM:
        if (to.kind == HELD_DISTANCE)
            return sum(scan, &to, &from);
        return from.kind == HELD_DISTANCE ? sum(scan, &from, &to) : value;
    case FLOW_EXTEND:
        if (from.kind != HELD_HALF)
            return value;
        from.kind = HELD_DISTANCE;
        return from;
    case FLOW_POINTER:
        value.kind = flow->from == scan->arch->stack_pointer ? HELD_STACKED : HELD_POINTER;
        return value;
    case FLOW_DISTANCE:
        return load_distance(scan, flow);
    case FLOW_CALL:
    case FLOW_OTHER:
        break;
    }
    return value;
}

/* Goes on past an instruction at ADDRESS. */
static void pass(struct jump_scan *scan, const struct arch_flow *flow, uint64_t address)
{
    struct held value = value_after(scan, flow, address);
    bool puts = flow->kind != FLOW_OTHER && flow->kind != FLOW_CALL && flow->to < ARCH_WORDS;
    hold_all(scan, flow->kind == FLOW_CALL ? HELD_POINTER : HELD_OTHER, flow->changes);
    if (puts)
        hold(scan, flow->to, value);
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        if (flow->changes >> i & 1 && !is_address(&scan->held[i]))
            add_to(&scan->lost_anywhere, UINT64_C(1) << i, scan);
}

/* The code at AT may come from elsewhere; FLOWS: also from the instruction before it. */
static void join(struct jump_scan *scan, size_t at, bool flows)
{
    bool is_join = scan->joins[at / 8] >> at % 8 & 1;
    if (!is_join && flows)
        return;
    if (is_join && flows)
        add_to(&scan->lost_at[at], lost_here(scan), scan);
    /* what nothing jumps to directly may be entered in any way */
    scan->lost = scan->lost_at_jumps | (is_join ? scan->lost_at[at] : scan->lost_anywhere);
    hold_all(scan, HELD_INITIAL, UINT64_MAX);
}

/* A jump leads from here to AT. */
static void note_join(struct jump_scan *scan, size_t at)
{
    uint8_t bit = (uint8_t)(1 << at % 8);
    scan->changed |= !(scan->joins[at / 8] & bit);
    scan->joins[at / 8] |= bit;
    add_to(&scan->lost_at[at], lost_here(scan), scan);
}

/* Goes through the function once. False where its code cannot be read. */
static bool run(struct jump_scan *scan)
{
    const struct slide_code *code = scan->code;
    const uint8_t *bytes = code->bytes + code->before;
    bool flows = true;
    scan->known = true;
    hold_all(scan, HELD_POINTER, UINT64_MAX); /* its parameters */
    for (size_t at = 0; at < code->size;) {
        struct arch_instruction instruction;
        struct arch_flow flow;
        if (!scan->arch->decode(bytes + at, code->size - at, &instruction) ||
            !scan->arch->flow(bytes + at, code->size - at, &flow))
            return false;
        join(scan, at, flows);
        if (flow.jumps) {
            struct held by = value_of(scan, flow.from);
            scan->known &= flow.from == ARCH_WORDS || is_address(&by); /* ARCH_WORDS: a word of memory */
            add_to(&scan->lost_at_jumps, lost_here(scan), scan);
        }
        bool jumps = instruction.direct && !instruction.calls;
        uint64_t target = at + (uint64_t)instruction.target;
        if (jumps && target < code->size)
            note_join(scan, target);
        pass(scan, &flow, code->address + at);
        flows = !flow.jumps && !instruction.returns && (!jumps || instruction.conditional);
        at += instruction.length;
    }
    return true;
}

bool indirect_jumps_known(const struct arch_code *arch, const struct slide_code *code, jump_table_visit *visit,
                          void *context)
{
    struct jump_scan scan = {.arch = arch, .code = code, .visit = visit, .context = context};
    scan.joins = calloc(code->size / 8 + 1, sizeof *scan.joins);
    scan.lost_at = calloc(code->size + 1, sizeof *scan.lost_at);
    bool read = scan.joins && scan.lost_at && code->file;
    unsigned rounds = 0;
    do {
        scan.changed = false;
        read = read && run(&scan);
    } while (read && scan.changed && ++rounds < MOST_ROUNDS);
    free(scan.joins);
    free(scan.lost_at);
    return read && !scan.changed && scan.known;
}
