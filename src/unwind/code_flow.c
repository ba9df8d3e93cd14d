/*
 * At each instruction it is known, for each way that leads there, where the stack pointer and the frame pointer are and
 * where the caller's registers are kept (stack_state.h); where ways meet, what differs is not known. A function whose
 * return does not find the stack as its call has left it was misunderstood.
 */
#include "unwind/code_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
    FIRST_BUCKETS = 1 << 8,
    MAX_STATES = UINT16_MAX,
    MAX_LOOKS = 1 << 22, /* a quarter of a second of a CPU */
    ROUNDS = 3,
};

static size_t hash_of(const struct stack_state *state)
{
    uint32_t words[sizeof *state / sizeof(uint32_t)];
    uint64_t hash = 0;
    memcpy(words, state, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static bool is_same(const struct stack_state *a, const struct stack_state *b)
{
    return !memcmp(a, b, sizeof *a);
}

static uint32_t *find_bucket(struct code_flow *flow, const struct stack_state *state)
{
    size_t at = hash_of(state) & (flow->bucket_count - 1);
    while (flow->buckets[at] && !is_same(&flow->states[flow->buckets[at]], state))
        at = (at + 1) & (flow->bucket_count - 1);
    return &flow->buckets[at];
}

static bool grow(struct code_flow *flow)
{
    size_t count = flow->bucket_count ? 2 * flow->bucket_count : FIRST_BUCKETS;
    uint32_t *buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return false;
    free(flow->buckets);
    flow->buckets = buckets;
    flow->bucket_count = count;
    for (size_t i = 1; i < flow->state_count; i++)
        *find_bucket(flow, &flow->states[i]) = (uint32_t)i;
    return true;
}

/* The number of STATE; that of the unknown one where there is no other left. */
static uint16_t number_of(struct code_flow *flow, const struct stack_state *state)
{
    uint32_t *bucket = find_bucket(flow, state);
    if (*bucket)
        return (uint16_t)*bucket;
    if (flow->state_count == MAX_STATES)
        return flow->unknown;
    if (!array_room(&flow->states, flow->state_count, &flow->state_capacity, sizeof *flow->states) ||
        (2 * flow->state_count >= flow->bucket_count && !grow(flow))) {
        flow->failed = true;
        return flow->unknown;
    }
    bucket = find_bucket(flow, state);
    flow->states[flow->state_count] = *state;
    *bucket = (uint32_t)flow->state_count++;
    return (uint16_t)*bucket;
}

struct code_region *code_flow_region(const struct code_flow *flow, uint64_t address)
{
    size_t at = array_up_to(flow->regions, flow->region_count, sizeof *flow->regions, address);
    struct code_region *region = at ? &flow->regions[at - 1] : NULL;
    return region && address < region->end ? region : NULL;
}

static void push(struct code_flow *flow, uint64_t address)
{
    if (array_room(&flow->work, flow->work_count, &flow->work_capacity, sizeof *flow->work))
        flow->work[flow->work_count++] = address;
    else
        flow->failed = true;
}

/* ADDRESS, in REGION, is reached with STATE, by another way maybe than before. */
static void reach(struct code_flow *flow, struct code_region *region, uint64_t address, uint16_t state)
{
    uint16_t *known = &region->states[address - region->start], result = state;
    if (*known == state)
        return;
    if (*known) {
        struct stack_state both = stack_state_meet(&flow->states[*known], &flow->states[state]);
        result = number_of(flow, &both);
    }
    if (result != *known) {
        *known = result;
        push(flow, address);
    }
}

void code_flow_begin(struct code_flow *flow, uint64_t address)
{
    struct code_region *region = code_flow_region(flow, address);
    if (!region || (flow->code->step > 1 && address % flow->code->step))
        return;
    uint64_t at = address - region->start;
    if (region->marks[at] & FLOW_STARTS)
        return;
    flow->late |= region->states[at] != 0;
    region->marks[at] |= FLOW_STARTS;
    region->states[at] = flow->entry;
    push(flow, address);
}

/* The instruction at FROM leads to ADDRESS with STATE: to a function that begins there only if it leaves it all that
 * its own caller has passed. */
static void go(struct code_flow *flow, uint64_t from, uint64_t address, uint16_t state)
{
    struct code_region *region = code_flow_region(flow, address), *own = code_flow_region(flow, from);
    const struct stack_state *at = &flow->states[state];
    if (region && !(region->marks[address - region->start] & FLOW_STARTS))
        reach(flow, region, address, state);
    else if (region && !stack_state_may_leave(at, flow->arch))
        own->marks[from - own->start] |= FLOW_CONTRADICTS;
}

/* True if a direct jump in the code at [FROM, TO) of REGION leads to ADDRESS. */
static bool is_led_to(struct code_flow *flow, const struct code_region *region, uint64_t from, uint64_t to,
                      uint64_t address)
{
    struct arch_stack_effect effect;
    for (uint64_t at = from; at < to; at += effect.length) {
        flow->looks++;
        if (!flow->code->stack_effect(region->bytes + (at - region->start), region->end - at, &effect))
            return false;
        if (effect.jumps && effect.direct && at + (uint64_t)effect.target == address)
            return true;
    }
    return false;
}

/* Where the function at ADDRESS of REGION begins, and ends; no farther than is worth a look. */
static struct code_extent around(const struct code_region *region, uint64_t address)
{
    enum { FARTHEST = 1 << 14 };
    struct code_extent extent = {address, address + 1};
    while (extent.start > region->start && address - extent.start < FARTHEST &&
           !(region->marks[extent.start - region->start] & FLOW_STARTS))
        extent.start--;
    while (extent.end < region->end && extent.end - address < FARTHEST &&
           !(region->marks[extent.end - region->start] & FLOW_STARTS))
        extent.end++;
    return extent;
}

/* The end of the function that a symbol says FROM is in; 0 where none does. */
static uint64_t symbol_end(const struct code_flow *flow, uint64_t from)
{
    size_t at = array_up_to(flow->extents, flow->extent_count, sizeof *flow->extents, from);
    return at && flow->extents[at - 1].end > from ? flow->extents[at - 1].end : 0;
}

/* Behind the padding at ADDRESS, where a function may begin; 0 where there is none. */
static uint64_t behind_padding(const struct code_flow *flow, const struct code_region *region, uint64_t address)
{
    enum { ALIGNMENT = 16 };
    struct arch_stack_effect effect;
    uint64_t at = address;
    while (at < region->end && at % ALIGNMENT &&
           flow->code->stack_effect(region->bytes + (at - region->start), region->end - at, &effect) && effect.nop)
        at += effect.length;
    return at > address && at < region->end && at % ALIGNMENT == 0 ? at : 0;
}

/*
 * The call at FROM comes back to ADDRESS with STATE; but there are some that never do: abort, exit. Where no symbol
 * tells what is another function, padding does: others lead to what stands behind it, or it is a function. Compilers
 * pad before loops, too, which only lead to themselves.
 */
static void come_back(struct code_flow *flow, uint64_t from, uint64_t address, uint16_t state)
{
    const struct code_region *region = code_flow_region(flow, address);
    if (!region || (region->marks[address - region->start] & FLOW_STARTS))
        return;
    uint64_t end = symbol_end(flow, from), at = 0;
    if (!end && flow->looks < MAX_LOOKS) /* files may have any code */
        at = behind_padding(flow, region, address);
    if (end && address >= end)
        return;
    if (at && is_led_to(flow, region, around(region, from).start, from, at))
        return;
    if (!at || is_led_to(flow, region, at, around(region, at).end, at))
        go(flow, from, address, state);
    else
        code_flow_begin(flow, at);
}

void code_flow_refer(struct code_flow *flow, uint64_t from, const struct arch_stack_effect *effect)
{
    uint64_t address = effect->absolute ? effect->absolute : from + (uint64_t)effect->target;
    bool is_number = effect->absolute && !flow->elf->fixed; /* such code has no addresses in it */
    if (!effect->refers || is_number || !code_flow_region(flow, address))
        return;
    if (array_room(&flow->references, flow->reference_count, &flow->reference_capacity, sizeof *flow->references))
        flow->references[flow->reference_count++] = address;
    else
        flow->failed = true;
}

/* Looks at the instruction at ADDRESS, and goes on to what may run behind it. */
static void step(struct code_flow *flow, uint64_t address)
{
    struct code_region *region = code_flow_region(flow, address);
    uint64_t at = address - region->start;
    uint16_t number = region->states[at];
    struct arch_stack_effect effect;
    if (!flow->code->stack_effect(region->bytes + at, region->end - address, &effect)) {
        region->marks[at] |= FLOW_CONTRADICTS;
        return;
    }
    region->marks[at] =
        (uint8_t)((region->marks[at] & ((1 << FLOW_LENGTH_SHIFT) - 1)) | effect.length << FLOW_LENGTH_SHIFT);
    const struct stack_state before = flow->states[number];
    if (effect.returns && !stack_state_may_return(&before, flow->arch))
        region->marks[at] |= FLOW_CONTRADICTS;
    uint64_t target = address + (uint64_t)effect.target;
    code_flow_refer(flow, address, &effect);
    if (effect.calls && effect.direct && target != address + effect.length)
        code_flow_begin(flow, target);
    struct stack_state taken = stack_state_after(&before, &effect, true), after = taken;
    if (effect.conditional)
        after = stack_state_after(&before, &effect, false);
    uint16_t next = is_same(&after, &before) ? number : number_of(flow, &after);
    if (effect.jumps && effect.direct)
        go(flow, address, target, is_same(&taken, &after) ? next : number_of(flow, &taken));
    if (effect.calls)
        come_back(flow, address, address + effect.length, next);
    else if (!effect.returns && !effect.ends && !(effect.jumps && !effect.conditional))
        go(flow, address, address + effect.length, next);
}

static void run(struct code_flow *flow)
{
    while (flow->work_count && !flow->failed)
        step(flow, flow->work[--flow->work_count]);
}

/* Takes what the code computes the address of, and nothing has led to, for functions. */
static void add_references(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->reference_count && !flow->failed; i++) {
        struct code_region *region = code_flow_region(flow, flow->references[i]);
        if (!region->states[flow->references[i] - region->start]) {
            code_flow_begin(flow, flow->references[i]);
            run(flow); /* which may find more of them */
        }
    }
}

unsigned code_flow_length(const struct code_region *region, uint64_t at)
{
    unsigned length = region->marks[at] >> FLOW_LENGTH_SHIFT;
    return length ? length : 1;
}

/* Where the function ends that begins at START, in REGION: where the next one begins, or by its symbol. */
static uint64_t end_of(const struct code_flow *flow, const struct code_region *region, uint64_t start)
{
    uint64_t end = start + 1;
    while (end < region->end && !(region->marks[end - region->start] & FLOW_STARTS))
        end++;
    size_t at = array_up_to(flow->extents, flow->extent_count, sizeof *flow->extents, start);
    const struct code_extent *extent = at ? &flow->extents[at - 1] : NULL;
    return extent && extent->start == start && extent->end > start && extent->end < end ? extent->end : end;
}

/* The state of all jumps of the code at [START, END) that go by a table; 0 where there are none, or of several. */
static uint16_t table_state(const struct code_flow *flow, const struct code_region *region, uint64_t start,
                            uint64_t end)
{
    uint16_t found = 0;
    for (uint64_t address = start; address < end;) {
        uint64_t at = address - region->start;
        struct arch_stack_effect effect;
        bool jumps = region->states[at] &&
                     flow->code->stack_effect(region->bytes + at, region->end - address, &effect) && effect.jumps &&
                     !effect.direct;
        if (jumps && found && found != region->states[at])
            return 0;
        if (jumps)
            found = region->states[at];
        address += region->states[at] ? code_flow_length(region, at) : flow->code->step;
    }
    return found;
}

/* What a jump by a table alone leads to has the state of that jump: the code of the function at [START, END) to which
 * nothing else leads. */
static void add_table_targets(struct code_flow *flow, struct code_region *region, uint64_t start, uint64_t end)
{
    uint16_t state = table_state(flow, region, start, end);
    for (uint64_t address = start; state && address < end && !flow->failed;) {
        uint64_t at = address - region->start;
        struct arch_stack_effect effect;
        if (region->states[at]) {
            address += code_flow_length(region, at);
        } else if (!flow->code->stack_effect(region->bytes + at, region->end - address, &effect)) {
            return; /* no code */
        } else if (effect.nop) {
            address += effect.length;
        } else {
            reach(flow, region, address, state);
            run(flow);
        }
    }
}

static void add_all_table_targets(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->region_count; i++) {
        struct code_region *region = &flow->regions[i];
        for (uint64_t address = region->start, end; address < region->end; address = end) {
            end = end_of(flow, region, address);
            if (region->marks[address - region->start] & FLOW_STARTS)
                add_table_targets(flow, region, address, end);
        }
    }
}

/* Forgets what was reached, but not where functions begin. */
static void forget(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->region_count; i++) {
        struct code_region *region = &flow->regions[i];
        memset(region->states, 0, (region->end - region->start) * sizeof *region->states);
        for (uint64_t at = 0; at < region->end - region->start; at++)
            region->marks[at] &= FLOW_STARTS;
    }
}

/* Begins at all functions that are known by now. */
static void begin_again(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->region_count; i++) {
        struct code_region *region = &flow->regions[i];
        for (uint64_t at = 0; at < region->end - region->start; at++) {
            if (!(region->marks[at] & FLOW_STARTS))
                continue;
            region->states[at] = region->start + at == flow->elf->entry ? flow->outermost : flow->entry;
            push(flow, region->start + at);
        }
    }
}

static void follow_all(struct code_flow *flow)
{
    run(flow);
    add_references(flow);
    add_all_table_targets(flow);
    add_references(flow);
}

void code_flow_run(struct code_flow *flow)
{
    size_t given = flow->reference_count;
    follow_all(flow);
    for (int i = 1; i < ROUNDS && flow->late && !flow->failed; i++) {
        flow->late = false;
        flow->reference_count = given;
        forget(flow);
        begin_again(flow);
        follow_all(flow);
    }
}

bool code_flow_open(struct code_flow *flow, const struct elf_file *elf, const struct code_range *ranges, size_t count)
{
    *flow = (struct code_flow){
        .elf = elf,
        .code = elf->machine == EM_X86_64 ? &arch_code_x86_64 : &arch_code_aarch64,
        .arch = arch_unwind(elf->machine),
        .regions = calloc(count, sizeof *flow->regions),
    };
    struct stack_state unknown = stack_state_unknown(), outermost = unknown, entry = stack_state_entry(flow->arch);
    outermost.outermost = true;
    if (!flow->regions || !grow(flow) || !array_room(&flow->states, 0, &flow->state_capacity, sizeof *flow->states))
        return false;
    flow->states[flow->state_count++] = (struct stack_state){0};
    flow->unknown = number_of(flow, &unknown);
    flow->outermost = number_of(flow, &outermost);
    flow->entry = number_of(flow, &entry);
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *segment = elf_file_segment_at(elf, ranges[i].start, PF_X);
        uint64_t size = ranges[i].end - ranges[i].start;
        if (!segment || ranges[i].end - segment->p_vaddr > segment->p_filesz)
            continue;
        struct code_region *region = &flow->regions[flow->region_count++];
        *region = (struct code_region){ranges[i].start, ranges[i].end, malloc(size), calloc(size, 1),
                                       calloc(size, sizeof *region->states)};
        if (!region->bytes || !region->marks || !region->states)
            return false;
        uint64_t offset = segment->p_offset + (region->start - segment->p_vaddr);
        if (elf_file_read(elf, offset, region->bytes, size))
            region->end = region->start; /* not to be read: no code */
    }
    return !flow->failed;
}

void code_flow_close(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->region_count; i++) {
        free(flow->regions[i].bytes);
        free(flow->regions[i].marks);
        free(flow->regions[i].states);
    }
    free(flow->regions);
    free(flow->states);
    free(flow->buckets);
    free(flow->work);
    free(flow->references);
    free(flow->extents);
}
