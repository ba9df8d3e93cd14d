/*
 * Where the pieces of the stack frame lie. Pieces with disjoint live ranges share their bytes. A piece is live from the
 * first to the last instruction that names it, or that uses an address in it from a register. If it is live at the
 * start of a loop, it is live to the loop's end. One whose address goes through a phi or into memory is alive
 * everywhere; so is one that rounds find by (bpf_loop.c).
 */
#include "compile/machine/machine.h"

#include <stdlib.h>
#include <string.h>

#include "sys/feature.h"

enum {
    ALL_BYTES = 512, /* of a program and the functions that it calls, each rounded up to a multiple of … */
    FRAME_UNIT = 32,
    FRAME_BYTES = 496, /* of a program alone: the kernel adds the count and time of may_goto */
    JOINT_BYTES = 32,  /* the program that joins handlers (merge.c), all but those with rounds */
};

static void extend(struct slot *slot, int start, int end)
{
    if (start < slot->start)
        slot->start = start;
    if (end > slot->end)
        slot->end = end;
}

static void mention(const struct operand *operand, int at, bool escapes)
{
    struct slot *slot = operand->kind == OPERAND_FRAME                 ? operand->slot
                        : operand->kind == OPERAND_REGISTER && escapes ? operand->reg->points_into
                                                                       : NULL;
    if (!slot)
        return;
    bool everywhere = escapes || slot->pointer || slot->lasting;
    extend(slot, everywhere ? 0 : at, everywhere ? INT32_MAX : at);
}

/* A copied or computed address points into the slot that its first operand does. */
static void follow_address(struct machine_instruction *i)
{
    if (i->op != M_COPY && i->op != M_ALU)
        return;
    mention(&i->b, i->at, true);
    i->result->points_into = i->a.kind == OPERAND_FRAME      ? i->a.slot
                             : i->a.kind == OPERAND_REGISTER ? i->a.reg->points_into
                                                             : NULL;
}

static void find_lives(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next) {
            follow_address(i);
            mention(&i->a, i->at, false);
            mention(&i->b, i->at, true);
            for (size_t n = 0; n < i->arg_count; n++) /* helpers keep no pointers */
                mention(&i->args[n], i->at, i->op != M_CALL);
        }
    for (const struct reg *reg = program->registers; reg; reg = reg->next)
        if (reg->points_into)
            extend(reg->points_into, reg->start, reg->end);
}

/* A piece that is live at HEADER, to which BLOCK jumps back, and is named in the loop stays live for the next round. */
static bool extend_over_loop(struct slot *slots, const struct machine_block *block, const struct machine_block *header)
{
    bool changed = false;
    if (header->start > block->start)
        return false;
    for (struct slot *slot = slots; slot; slot = slot->next)
        if (slot->start < header->start && slot->end >= header->start && slot->end < block->end) {
            slot->end = block->end;
            changed = true;
        }
    return changed;
}

static void extend_over_loops(const struct program *program, struct slot *slots)
{
    bool changed;
    do {
        changed = false;
        for (struct machine_block *block = program->entry; block; block = block->following) {
            for (unsigned n = 0; n < block->next_count; n++)
                changed |= extend_over_loop(slots, block, block->next[n]);
            if (block->resumes)
                changed |= extend_over_loop(slots, block, block->resumes);
        }
    } while (changed);
}

/* Pointers come first, which puts them at the top. */
static int by_start(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
    if (x->pointer != y->pointer)
        return x->pointer ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size;
}

/* The least depth at which SLOT fits between the COUNT slots PLACED that are alive together with it. */
static uint32_t find_depth(struct slot *const *placed, size_t count, const struct slot *slot)
{
    uint32_t depth = slot->size;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const struct slot *other = placed[i];
            bool together = other->start <= slot->end && slot->start <= other->end;
            if (together && other->depth - other->size < depth && other->depth > depth - slot->size) {
                depth = other->depth + slot->size;
                moved = true;
            }
        }
    }
    return depth;
}

/* Finds depths for the slots that were MOVED to scratch memory or not. Returns how many bytes they take. */
static uint32_t place(struct program *program, bool moved)
{
    size_t count = 0, placed = 0;
    uint32_t used = 0;
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        count++;
    struct slot **slots = arena_allocate(program->arena, (count + 1) * sizeof *slots);
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        if (slot->end >= 0 && slot->moved == moved)
            slots[placed++] = slot;
    qsort(slots, placed, sizeof *slots, by_start);
    for (size_t i = 0; i < placed; i++) {
        slots[i]->depth = find_depth(slots, i, slots[i]);
        used = slots[i]->depth > used ? slots[i]->depth : used;
    }
    return used;
}

/* What the function NAME of bpf/ takes of the stack, with those that it calls: measured by bpf/stack_bytes.c. */
static uint32_t function_bytes(const char *name)
{
#define FUNCTION(function, bytes, frames) {#function, bytes},
    static const struct {
        const char *name;
        uint32_t bytes;
    } functions[] = {
#include "library_stack.h"
    };
#undef FUNCTION
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name))
            return functions[i].bytes;
    return 0; /* there is none: object_types says so */
}

/* The stack bytes of the functions of bpf/ that PROGRAM calls. */
static uint32_t library_bytes(const struct program *program)
{
    uint32_t most = 0;
    for (const struct machine_block *block = program->entry; block; block = block->following)
        for (const struct machine_instruction *i = block->first; i; i = i->next) {
            uint32_t bytes = i->op == M_CALL && i->callee == CALL_LIBRARY ? function_bytes(i->symbol) : 0;
            most = bytes > most ? bytes : most;
        }
    return most;
}

static void forget_lives(const struct program *program)
{
    for (struct slot *slot = program->slots; slot; slot = slot->next) {
        slot->start = INT32_MAX;
        slot->end = -1;
    }
}

/* Places what is on PROGRAM's stack. Returns how many bytes that takes. */
static uint32_t settle(struct program *program)
{
    uint32_t used = program->stack_size = place(program, false);
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        if (!slot->moved)
            slot->offset = -(int)slot->depth;
    /* One word for moves in a circle (emit.c). */
    program->spare = -(int)(used += 8);
    return used;
}

static uint32_t round_up(uint32_t bytes, uint32_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What helpers may do to the frame between rounds: all but the pointers at its top. */
static void bound_numbers(struct program *program, uint32_t used)
{
    uint32_t pointers = 0;
    for (const struct slot *slot = program->slots; slot; slot = slot->next)
        pointers += slot->pointer && slot->end >= 0 ? slot->size : 0;
    program->numbers->offset = -(int)used;
    program->clears_frame->args[1].number = program->bounds_size->b.number = used - pointers;
}

bool frame_refuses_private_stack(const struct program *program)
{
    enum { ROUNDS_WITHOUT_CLOCK = 65534, SHARED_STACK = 48 };
    return !program->by_rounds && program->budget > ROUNDS_WITHOUT_CLOCK && program->stack_size >= SHARED_STACK;
}

uint32_t frame_lay_out(struct program *program)
{
    struct program *rounds = program->rounds;
    forget_lives(program);
    find_lives(program);
    extend_over_loops(program, program->slots);
    uint32_t below = 0;
    if (rounds) {
        forget_lives(rounds);
        find_lives(rounds);
        extend_over_loops(rounds, program->slots);
        extend_over_loops(rounds, rounds->slots);
        below = round_up(settle(rounds), FRAME_UNIT);
    }
    uint32_t library = library_bytes(rounds ? rounds : program), used = settle(program);
    uint32_t limit = least(FRAME_BYTES, ALL_BYTES - below);
    if (library && !rounds)
        library += JOINT_BYTES;
    program->private_stack = library && used > least(limit, ALL_BYTES - below - library);
    if (program->private_stack && (frame_refuses_private_stack(program) || !feature_available(FEATURE_PRIVATE_STACK))) {
        program->private_stack = false;
        limit = least(limit, ALL_BYTES - below - library);
    }
    if (rounds)
        bound_numbers(program, used);
    return used > limit ? used - limit : 0;
}

uint32_t frame_lay_out_moved(struct program *program, uint32_t start)
{
    uint32_t used = place(program, true);
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        if (slot->moved && slot->end >= 0)
            slot->offset = (int)(start + slot->depth - slot->size);
    return start + used;
}
