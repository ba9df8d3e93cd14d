/*
 * Phis of the IR → phis of the machine: one for the value, one for whether it is there; strings have a buffer of their
 * own, which each way fills. Arguments come last of all, when the blocks that they come from are there; what moves them
 * stands at the end of these.
 */
#include "compile/lower/lower.h"

struct pending_phi {
    struct value *value;
    struct machine_block *block;
    struct machine_instruction *values, *presence; /* PRESENCE: NULL if the value is never nil */
    struct slot *text;                             /* of a string: the phi's own buffer */
    /* by argument: a copy of what another string phi of the loop had in the round before, or NULL */
    struct slot **kept;
};

/* The instruction that ends BLOCK, taken out so that others can be put before it. */
static struct machine_instruction *reopen(struct lower *lower, struct machine_block *block)
{
    struct machine_instruction *end = block->last;
    block->last = end->previous;
    *(block->last ? &block->last->next : &block->first) = NULL;
    lower->program->block = block;
    lower->program->position = end->position;
    return end;
}

static void close_again(struct machine_block *block, struct machine_instruction *end)
{
    end->previous = block->last;
    *(block->last ? &block->last->next : &block->first) = end;
    block->last = end;
}

/* Strings go into the phi's own buffer at the end of each way to it. */
static void store_string(struct lower *lower, struct slot *text, uint32_t capacity, struct value *value)
{
    memory_store(lower, operand_slot(text, 0), 0, (struct type){.kind = TYPE_STRING, .capacity = capacity}, value);
}

void phi_lower(struct lower *lower, struct value *value)
{
    struct place *place = lower_place(lower, value);
    struct pending_phi pending = {.value = value, .block = lower->first[lower->block->id]};
    if (value->type.kind == TYPE_STRING) {
        pending.text = program_slot(lower->program, value->type.capacity);
        place->value = operand_slot(pending.text, 0);
        place->capacity = value->type.capacity;
    } else {
        pending.values = machine_phi(lower->program, pending.block);
        place->value = operand_register(pending.values->result);
    }
    if (value->type.kind == TYPE_POINTER) {
        place->present = value->type.optional ? place->value : (struct operand){0};
    } else if (value->type.optional) {
        pending.presence = machine_phi(lower->program, pending.block);
        place->present = operand_register(pending.presence->result);
    }
    lower->phis = arena_grow(lower->program->arena, lower->phis, lower->phi_count, sizeof *lower->phis);
    lower->phis[lower->phi_count++] = pending;
}

static void make_room(struct lower *lower, struct machine_instruction *phi)
{
    if (!phi)
        return;
    phi->arg_count = phi->block->predecessor_count;
    phi->args = arena_allocate(lower->program->arena, (phi->arg_count + 1) * sizeof *phi->args);
}

/* The block of the machine that enters PHI's with argument I; NULL if that way turned out to be impossible. */
static struct machine_block *way_of(const struct lower *lower, const struct pending_phi *phi, size_t i)
{
    struct machine_block *from = lower->last[phi->value->block->predecessors[i]->id];
    for (size_t j = 0; j < phi->block->predecessor_count; j++)
        if (phi->block->predecessors[j] == from)
            return from;
    return NULL;
}

/* True if TEXT is the buffer of another string that the rounds of PHI's loop change. */
static bool is_overwritten(const struct lower *lower, const struct pending_phi *phi, const struct slot *text)
{
    for (size_t i = 0; i < lower->phi_count; i++)
        if (lower->phis[i].text == text && lower->phis[i].block == phi->block && text != phi->text)
            return true;
    return false;
}

/* `a, b = b, a`: before any string of a loop gets the value for its next round, those are copied that another one is to
 * get. */
static void keep_strings(struct lower *lower, struct pending_phi *phi)
{
    struct machine_block *here = lower->program->block;
    phi->kept = arena_allocate(lower->program->arena, (phi->value->arg_count + 1) * sizeof *phi->kept);
    for (size_t i = 0; i < phi->value->arg_count && phi->text; i++) {
        struct value *arg = ir_value(phi->value->args[i]);
        struct machine_block *from = way_of(lower, phi, i);
        struct operand at = lower_place(lower, arg)->value;
        if (!from || at.kind != OPERAND_FRAME || !is_overwritten(lower, phi, at.slot))
            continue;
        phi->kept[i] = program_slot(lower->program, phi->value->type.capacity);
        struct machine_instruction *end = reopen(lower, from);
        store_string(lower, phi->kept[i], phi->value->type.capacity, arg);
        close_again(from, end);
    }
    lower->program->block = here;
}

static void set_arguments(struct lower *lower, struct pending_phi *phi)
{
    struct machine_block *block = phi->block, *here = lower->program->block;
    make_room(lower, phi->values);
    make_room(lower, phi->presence);
    for (size_t i = 0; i < phi->value->arg_count; i++) {
        struct machine_block *from = way_of(lower, phi, i);
        size_t j = 0;
        if (!from)
            continue;
        while (block->predecessors[j] != from)
            j++;
        struct value *arg = ir_value(phi->value->args[i]);
        const struct place *place = lower_place(lower, arg);
        struct operand present = place->present.kind ? place->present : operand_immediate(1), value = place->value;
        struct machine_instruction *end = reopen(lower, from);
        if (phi->kept[i])
            memory_copy(lower, operand_slot(phi->text, 0), 0, operand_slot(phi->kept[i], 0), 0, phi->text->size);
        else if (phi->text && arg->type.kind == TYPE_STRING && place->value.slot != phi->text)
            store_string(lower, phi->text, phi->value->type.capacity, arg);
        else if (phi->text && arg->type.kind == TYPE_NIL && lower->widened)
            /* It may read a nil's text where it is not told that it is one; before Linux 6.3 it wants that written. */
            memory_zero(lower, operand_slot(phi->text, 0), 0, phi->text->size);
        if (value.kind == OPERAND_FRAME && value.slot->moved)
            value = machine_address(lower->program, value);
        /*
         * The verifier must see what a round of a loop begins with as any number, related to no other. It would
         * otherwise follow the rounds one by one, each with ranges of its own, and never find that it has seen them
         * all. Others may be pointers; and a loop whose body is never entered has no rounds.
         */
        bool begins_round = phi->value->block->is_header && lower->rounds && phi->value->type.kind != TYPE_RECORD;
        if (begins_round && phi->values)
            value = widen_number(lower, value);
        if (begins_round && phi->presence && present.kind == OPERAND_IMMEDIATE)
            present = widen_number(lower, present);
        close_again(from, end);
        if (phi->values)
            phi->values->args[j] = value;
        if (phi->presence)
            phi->presence->args[j] = present;
    }
    lower->program->block = here;
}

/* --- one pointer, two phis --- */

/* True if the value and the presence of PHI are the same on all ways, if those marked so are. */
static bool is_one(const struct pending_phi *phi)
{
    for (size_t i = 0; i < phi->values->arg_count; i++) {
        const struct operand *value = &phi->values->args[i], *presence = &phi->presence->args[i];
        if (value->kind != presence->kind)
            return false;
        if (value->kind == OPERAND_REGISTER ? value->reg != presence->reg && value->reg != presence->reg->same
                                            : value->kind != OPERAND_IMMEDIATE || value->number != presence->number)
            return false;
    }
    return true;
}

static void use_same(struct operand *operand, void *context)
{
    (void)context;
    if (operand->kind == OPERAND_REGISTER && operand->reg->same)
        operand->reg = operand->reg->same;
}

/* A reference is present where it is not 0: one phi is enough for both, and tells the verifier which pointer was
 * tested. */
static void merge_presence(struct lower *lower)
{
    bool changed, any = false;
    for (size_t i = 0; i < lower->phi_count; i++) {
        const struct pending_phi *phi = &lower->phis[i];
        if (phi->values && phi->presence && phi->value->type.kind == TYPE_RECORD) {
            phi->presence->result->same = phi->values->result;
            any = true;
        }
    }
    do {
        changed = false;
        for (size_t i = 0; i < lower->phi_count; i++) {
            const struct pending_phi *phi = &lower->phis[i];
            if (phi->presence && phi->presence->result->same && !is_one(phi)) {
                phi->presence->result->same = NULL;
                changed = true;
            }
        }
    } while (changed);
    for (struct machine_block *block = lower->program->entry; block && any; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            machine_visit(i, use_same, NULL);
}

void phi_set_arguments(struct lower *lower)
{
    for (size_t i = 0; i < lower->phi_count; i++)
        keep_strings(lower, &lower->phis[i]);
    for (size_t i = 0; i < lower->phi_count; i++)
        set_arguments(lower, &lower->phis[i]);
    merge_presence(lower);
}
