/*
 * Where a record in a handler would mean something else than in Lua, it is refused. A record that was read from a map is a
 * reference: once the handler assigns to that map or deletes from it, another CPU may be given the entry, so it dies there. A record
 * that was stored has been copied: writing to the local afterwards would not change what was stored.
 */
#include <string.h>

#include "compile/compiler.h"

/* True if control may come from the end of block FROM to BLOCK. */
static bool leads_to(const struct block *from, const struct block *block, bool *seen)
{
    for (unsigned i = 0; i < from->next_count; i++) {
        const struct block *next = from->next[i];
        if (next == block)
            return true;
        if (next->order > block->order || seen[next->id])
            continue; /* the order is topological: BLOCK lies behind */
        seen[next->id] = true;
        if (leads_to(next, block, seen))
            return true;
    }
    return false;
}

/* True if LATER may run after EARLIER in one run of the handler. */
static bool follows(struct function *function, const struct value *earlier, const struct value *later)
{
    if (earlier->block == later->block) {
        for (const struct value *value = earlier->next; value; value = value->next)
            if (value == later)
                return true;
        return false;
    }
    if (earlier->block->order > later->block->order)
        return false;
    bool *seen = arena_allocate(function->arena, function->block_count * sizeof *seen);
    return leads_to(earlier->block, later->block, seen);
}

/* True if VALUE is RECORD itself, whatever way it has come. */
static bool is_same_record(struct value *value, const struct value *record)
{
    value = ir_value(value);
    if (value == record)
        return true;
    if (value->op == IR_PRESENT || value->op == IR_ABSENT)
        return is_same_record(value->args[0], record);
    if (value->op == IR_GET_FIELD && value->type.kind == TYPE_RECORD)
        return is_same_record(value->args[0], record);
    if (value->op == IR_PHI && value->type.kind == TYPE_RECORD)
        for (size_t i = 0; i < value->arg_count; i++)
            if (is_same_record(value->args[i], record))
                return true;
    return false;
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
    if (!follows(function, reference, write))
        return;
    for (const struct block *block = write->block; block; block = block->following)
        for (const struct value *use = block->first; use; use = use->next)
            if (uses_record(use, reference) && use != write && follows(function, write, use))
                compile_fail(function->compiler, use->position,
                             "this record was read from '%s' at line %d, and '%s' has been assigned to since, at line %d: take what "
                             "you need before that, or keep up.copy(record)",
                             name_of(function->compiler, reference->object), reference->position->line,
                             name_of(function->compiler, reference->object), write->position->line);
}

static void check_stored(struct function *function, const struct value *record, const struct value *store)
{
    for (const struct block *block = store->block; block; block = block->following)
        for (const struct value *use = block->first; use; use = use->next)
            if (use->op == IR_SET_FIELD && use != store && is_same_record(use->args[0], record) &&
                follows(function, store, use))
                compile_fail(function->compiler, use->position,
                             "this record was stored at line %d, which copied it: write to it before that, or to where it is stored",
                             store->position->line);
}

/* Looks for what ends the life of RECORD or copies it. */
static void check_record(struct function *function, const struct value *record)
{
    for (const struct block *block = record->block; block; block = block->following)
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
        for (const struct value *value = block->first; value; value = value->next)
            if (value->type.kind == TYPE_RECORD &&
                (value->op == IR_MAP_GET || value->op == IR_RECORD || value->op == IR_COPY))
                check_record(function, value);
}
