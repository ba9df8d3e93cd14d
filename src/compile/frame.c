/*
 * Where the pieces of the stack frame lie. Pieces that are never alive together share their bytes: a piece is alive from the first to
 * the last instruction that names it, or uses an address in it that a register holds, and to the end of each loop that it comes into
 * alive. One whose address goes through a phi or into memory is alive everywhere.
 */
#include "compile/machine.h"

#include <stdlib.h>

enum {
    FRAME_BYTES = 496,   /* the kernel's 512, less what it adds for the count and time of may_goto */
    LIBRARY_BYTES = 128, /* of which the functions of bpf/ take so much: uplua_ustack 32, uplua_stack_walk 64, its loop 32 */
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
    struct slot *slot = operand->kind == OPERAND_FRAME ? operand->slot
                        : operand->kind == OPERAND_REGISTER && escapes ? operand->reg->points_into : NULL;
    if (slot)
        extend(slot, escapes ? 0 : at, escapes ? INT32_MAX : at);
}

/* A copied or computed address points into the slot that its first operand does. */
static void follow_address(struct machine_instruction *i)
{
    if (i->op != M_COPY && i->op != M_ALU)
        return;
    mention(&i->b, i->at, true);
    i->result->points_into = i->a.kind == OPERAND_FRAME ? i->a.slot
                             : i->a.kind == OPERAND_REGISTER ? i->a.reg->points_into : NULL;
}

static void find_lives(struct program *program)
{
    for (struct slot *slot = program->slots; slot; slot = slot->next) {
        slot->start = INT32_MAX;
        slot->end = -1;
    }
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

/* What is alive when a loop is entered and named in it is wanted by its next round too. */
static void extend_over_loops(struct program *program)
{
    bool changed;
    do {
        changed = false;
        for (struct machine_block *block = program->entry; block; block = block->following)
            for (unsigned n = 0; n < block->next_count; n++) {
                const struct machine_block *header = block->next[n];
                if (header->start > block->start)
                    continue;
                for (struct slot *slot = program->slots; slot; slot = slot->next)
                    if (slot->start < header->start && slot->end >= header->start && slot->end < block->end) {
                        slot->end = block->end;
                        changed = true;
                    }
            }
    } while (changed);
}

static int by_start(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;
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

static bool calls_library(const struct program *program)
{
    for (const struct machine_block *block = program->entry; block; block = block->following)
        for (const struct machine_instruction *i = block->first; i; i = i->next)
            if (i->op == M_CALL && i->callee == CALL_LIBRARY)
                return true;
    return false;
}

uint32_t frame_lay_out(struct program *program)
{
    uint32_t limit = FRAME_BYTES - (calls_library(program) ? LIBRARY_BYTES : 0);
    find_lives(program);
    extend_over_loops(program);
    uint32_t used = program->stack_size = place(program, false);
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        if (!slot->moved)
            slot->offset = -(int)slot->depth;
    /* One word for moves in a circle (emit.c). */
    program->spare = -(int)(used += 8);
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
