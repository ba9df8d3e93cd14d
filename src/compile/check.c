/*
 * Where a record in a handler would mean something else than in Lua, it is refused. A record that was read from a map is a
 * reference: once the handler assigns to that map or deletes from it, another CPU may be given the entry, so it dies there. A record
 * that was stored has been copied: writing to the local afterwards would not change what was stored.
 */
#include <string.h>

#include "compile/compiler.h"

static bool precedes(const struct value *a, const struct value *b)
{
    for (const struct value *value = a->next; value; value = value->next)
        if (value == b)
            return true;
    return false;
}

/* True if control may come from the end of block FROM to VALUE without passing AGAIN (NULL: any way). */
static bool leads_to(const struct block *from, const struct value *value, const struct value *again, bool *seen)
{
    for (unsigned i = 0; i < from->next_count; i++) {
        const struct block *next = from->next[i];
        if (seen[next->id])
            continue;
        seen[next->id] = true;
        bool passes = again && next == again->block;
        if (next == value->block && !(passes && precedes(again, value)))
            return true;
        if (!passes && leads_to(next, value, again, seen))
            return true;
    }
    return false;
}

/* True if LATER may run after EARLIER in one run of the handler, with no AGAIN between. */
static bool follows(struct function *function, const struct value *earlier, const struct value *later,
                    const struct value *again)
{
    if (earlier->block == later->block && precedes(earlier, later))
        return true;
    bool *seen = arena_allocate(function->arena, function->block_count * sizeof *seen);
    return leads_to(earlier->block, later, again, seen);
}

/* True if VALUE is RECORD itself, whatever way it has come. */
static bool is_same_record(struct value *value, const struct value *record)
{
    value = ir_value(value);
    if (value == record)
        return true;
    if (value->type.kind != TYPE_RECORD)
        return false;
    if (value->op == IR_PRESENT || value->op == IR_ABSENT)
        return is_same_record(value->args[0], record);
    if (value->op == IR_GET_FIELD && value->type.kind == TYPE_RECORD)
        return is_same_record(value->args[0], record);
    if (value->op == IR_PHI && !value->marked) {
        bool same = false;
        value->marked = true; /* phis of loops may name each other */
        for (size_t i = 0; i < value->arg_count && !same; i++)
            same = is_same_record(value->args[i], record);
        value->marked = false;
        return same;
    }
    return false;
}

/* A record made in a loop lies where that of the round before lay. */
static void check_carried(struct function *function, const struct value *phi)
{
    for (size_t i = 1; i < phi->arg_count; i++) {
        for (const struct block *block = phi->block; block && phi->type.kind == TYPE_RECORD; block = block->following)
            for (const struct value *value = block->first; value; value = value->next)
                if ((value->op == IR_RECORD || value->op == IR_COPY) && is_same_record(phi->args[i], value))
                    compile_fail(function->compiler, value->position,
                                 "a record made in a loop cannot be kept for its next round; keep its fields in locals");
    }
}

/* True if USE looks into RECORD or hands it on; tests for nil and other names for it do not. */
static bool uses_record(const struct value *use, const struct value *record)
{
    bool other_name = use->op == IR_PRESENT || use->op == IR_ABSENT || use->op == IR_PHI || use->op == IR_TRUTH ||
                      use->op == IR_EQ || use->op == IR_NOT || use->op == IR_BRANCH;
    for (size_t i = 0; i < use->arg_count && !other_name; i++)
        if (is_same_record(use->args[i], record))
            return true;
    return false;
}

/* True if VALUE stores RECORD somewhere, as a copy. */
static bool stores_record(const struct value *value, const struct value *record)
{
    return (value->op == IR_MAP_SET || value->op == IR_SET_FIELD) && is_same_record(value->args[1], record);
}

static const char *name_of(const struct compiler *compiler, unsigned object)
{
    return compiler->objects[object]->name ? compiler->objects[object]->name : "the map";
}

/* WRITE ends the life of the references into its map: REFERENCE must not be used behind it. */
static void check_reference(struct function *function, const struct value *reference, const struct value *write)
{
    if (!follows(function, reference, write, NULL))
        return;
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *use = block->first; use; use = use->next)
            if (uses_record(use, reference) && use != write && follows(function, write, use, reference))
                compile_fail(function->compiler, use->position,
                             "this record was read from '%s' at line %d, and '%s' has been assigned to since, at line %d: take what "
                             "you need before that, or keep up.copy(record)",
                             name_of(function->compiler, reference->object), reference->position->line,
                             name_of(function->compiler, reference->object), write->position->line);
}

static void check_stored(struct function *function, const struct value *record, const struct value *store)
{
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *use = block->first; use; use = use->next)
            if (use->op == IR_SET_FIELD && use != store && is_same_record(use->args[0], record) &&
                follows(function, store, use, record))
                compile_fail(function->compiler, use->position,
                             "this record was stored at line %d, which copied it: write to it before that, or to where it is stored",
                             store->position->line);
}

/* Looks for what ends the life of RECORD or copies it. */
static void check_record(struct function *function, const struct value *record)
{
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *value = block->first; value; value = value->next) {
            bool writes = (value->op == IR_MAP_SET || value->op == IR_MAP_DELETE) && value->object == record->object;
            if (record->op == IR_MAP_GET && writes)
                check_reference(function, record, value);
            if (record->op != IR_MAP_GET && stores_record(value, record))
                check_stored(function, record, value);
        }
}

void pass_check(struct function *function)
{
    ir_dominators(function);
    for (const struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            value->marked = false;
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *value = block->first; value; value = value->next) {
            if (value->op == IR_PHI && block->is_header)
                check_carried(function, value);
            if (value->type.kind == TYPE_RECORD &&
                (value->op == IR_MAP_GET || value->op == IR_RECORD || value->op == IR_COPY))
                check_record(function, value);
        }
}
