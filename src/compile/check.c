/*
 * Where a record in a handler would mean something else than in Lua, it is refused. A record that was read from a map is a
 * reference: once the handler assigns to that map or deletes from it, another CPU may be given the entry, so it dies there. A record
 * that was stored has been copied: writing to the local afterwards would not change what was stored.
 */
#include <string.h>

#include "compile/compiler.h"

/* One run of the checks over a function. */
struct check {
    struct function *function;
    unsigned *outermost;     /* by block id: the first block of the outermost loop around it; itself outside of loops */
    unsigned *visited;       /* by block id: the last search that came by */
    unsigned search;
    struct value **writes;   /* to maps */
    size_t write_count;
    struct value **names;    /* of the record looked at: itself, and what it is called else */
    size_t name_count;
};

/* --- what may run behind what --- */

/* Finds the outermost loops: in the blocks' order they lie one behind the other. */
static void find_loops(struct check *check)
{
    unsigned start = 0, end = 0;
    for (const struct block *block = check->function->entry; block; block = block->following) {
        for (size_t i = 1; block->is_header && i < block->predecessor_count; i++)
            if (block->predecessors[i]->order >= end) {
                start = block->order >= end ? block->order : start;
                end = block->predecessors[i]->order + 1;
            }
        check->outermost[block->id] = block->order < end ? start : block->order;
    }
}

/* False if there is surely no way from the end of block FROM to block TO. */
static bool may_lead(const struct check *check, const struct block *from, const struct block *to)
{
    return from->order < to->order || (check->outermost[from->id] == check->outermost[to->id] &&
                                       (from != to || from->loop));
}

/* True if control may come from the end of block FROM to VALUE without passing AGAIN (NULL: any way). */
static bool leads_to(struct check *check, const struct block *from, const struct value *value, const struct value *again)
{
    for (unsigned i = 0; i < from->next_count; i++) {
        const struct block *next = from->next[i];
        bool passes = again && next == again->block;
        if (check->visited[next->id] == check->search)
            continue;
        check->visited[next->id] = check->search;
        if (next == value->block && !(passes && again->at < value->at))
            return true;
        if (!passes && may_lead(check, next, value->block) && leads_to(check, next, value, again))
            return true;
    }
    return false;
}

/* True if LATER may run after EARLIER in one run of the handler, with no AGAIN between. */
static bool follows(struct check *check, const struct value *earlier, const struct value *later, const struct value *again)
{
    if (earlier->block == later->block && earlier->at < later->at)
        return true;
    check->search++;
    return may_lead(check, earlier->block, later->block) && leads_to(check, earlier->block, later, again);
}

/* --- records and their names --- */

/* True if USE of a record is that record itself, by another name. */
static bool is_name(const struct value *use)
{
    return use->type.kind == TYPE_RECORD && (use->op == IR_PRESENT || use->op == IR_ABSENT || use->op == IR_GET_FIELD || use->op == IR_PHI);
}

static void add_name(struct check *check, struct value *name)
{
    if (name->marked)
        return;
    name->marked = true;
    check->names = arena_grow(check->function->arena, check->names, check->name_count, sizeof *check->names);
    check->names[check->name_count++] = name;
}

/* Whatever RECORD is called, and part of it. */
static void find_names(struct check *check, struct value *record)
{
    for (size_t i = 0; i < check->name_count; i++)
        check->names[i]->marked = false;
    check->name_count = 0;
    check->names = NULL;
    add_name(check, record);
    for (size_t i = 0; i < check->name_count; i++)
        for (size_t n = 0; n < check->names[i]->user_count; n++)
            if (is_name(check->names[i]->users[n]))
                add_name(check, check->names[i]->users[n]);
}

/* True if USE looks into the record or hands it on; tests for nil and other names for it do not. */
static bool uses_record(const struct value *use)
{
    return use->op != IR_PRESENT && use->op != IR_ABSENT && use->op != IR_PHI && use->op != IR_TRUTH && use->op != IR_EQ &&
           use->op != IR_NOT && use->op != IR_BRANCH;
}

/* --- the checks --- */

/* A record made in a loop lies where that of the round before lay. */
static void check_carried(const struct check *check, const struct value *record)
{
    for (size_t n = 0; n < check->name_count; n++) {
        const struct value *phi = check->names[n];
        if (phi->op != IR_PHI || !phi->block->is_header || record->block->order < phi->block->order)
            continue;
        for (size_t i = 1; i < phi->arg_count; i++)
            if (phi->args[i]->marked)
                compile_fail(check->function->compiler, record->position,
                             "a record made in a loop cannot be kept for its next round; keep its fields in locals");
    }
}

static const char *name_of(const struct compiler *compiler, unsigned object)
{
    return compiler->objects[object]->name ? compiler->objects[object]->name : "the map";
}

/* WRITE ends the life of the references into its map: REFERENCE must not be used behind it. */
static void check_reference(struct check *check, const struct value *reference, const struct value *write)
{
    const struct compiler *compiler = check->function->compiler;
    if (!may_lead(check, reference->block, write->block) && reference->block != write->block)
        return;
    for (size_t n = 0; n < check->name_count; n++)
        for (size_t i = 0; i < check->names[n]->user_count; i++) {
            const struct value *use = check->names[n]->users[i];
            if (uses_record(use) && use != write && follows(check, write, use, reference) && follows(check, reference, write, NULL))
                compile_fail(check->function->compiler, use->position,
                             "this record was read from '%s' at line %d, and '%s' has been assigned to since, at line %d: take what "
                             "you need before that, or keep up.copy(record)",
                             name_of(compiler, reference->object), reference->position->line,
                             name_of(compiler, reference->object), write->position->line);
        }
}

static void check_stored(struct check *check, const struct value *record, const struct value *store)
{
    for (size_t n = 0; n < check->name_count; n++)
        for (size_t i = 0; i < check->names[n]->user_count; i++) {
            const struct value *use = check->names[n]->users[i];
            if (use->op == IR_SET_FIELD && use != store && use->args[0] == check->names[n] && follows(check, store, use, record))
                compile_fail(check->function->compiler, use->position,
                             "this record was stored at line %d, which copied it: write to it before that, or to where it is stored",
                             store->position->line);
        }
}

/* Looks for what copies RECORD, which the handler has made. */
static void check_made(struct check *check, const struct value *record)
{
    check_carried(check, record);
    for (size_t n = 0; n < check->name_count; n++)
        for (size_t i = 0; i < check->names[n]->user_count; i++) {
            const struct value *use = check->names[n]->users[i];
            if ((use->op == IR_MAP_SET || use->op == IR_SET_FIELD) && use->args[1] == check->names[n])
                check_stored(check, record, use);
        }
}

static void check_record(struct check *check, struct value *record)
{
    find_names(check, record);
    if (record->op != IR_MAP_GET)
        return check_made(check, record);
    for (size_t i = 0; i < check->write_count; i++)
        if (check->writes[i]->object == record->object)
            check_reference(check, record, check->writes[i]);
}

static void find_writes(struct check *check)
{
    for (const struct block *block = check->function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            value->marked = false;
            for (size_t i = 0; i < value->arg_count; i++)
                value->args[i]->marked = false;
            if (value->op != IR_MAP_SET && value->op != IR_MAP_DELETE)
                continue;
            check->writes = arena_grow(check->function->arena, check->writes, check->write_count, sizeof *check->writes);
            check->writes[check->write_count++] = value;
        }
}

void pass_check(struct function *function)
{
    struct check check = { .function = function };
    ir_dominators(function);
    ir_find_users(function);
    check.outermost = arena_allocate(function->arena, function->block_count * sizeof *check.outermost);
    check.visited = arena_allocate(function->arena, function->block_count * sizeof *check.visited);
    find_loops(&check);
    find_writes(&check);
    for (const struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            if (value->type.kind == TYPE_RECORD &&
                (value->op == IR_MAP_GET || value->op == IR_RECORD || value->op == IR_COPY))
                check_record(&check, value);
}
