/*
 * Where a record in a handler would mean something else than in Lua, it is refused. A record that was read from a map
 * is a reference: once the handler assigns to that map or deletes from it, another CPU may be given the entry, so it
 * dies there. A record that was stored has been copied: writing to the local afterwards would not change what was
 * stored.
 *
 * Both are followed along all ways through the handler, as facts about names: a record has several where it goes
 * through branches and into the next round of a loop, and so have its parts. Reading or making a record makes its name
 * a new one, with neither fact; other names have the facts of what they name. So a loop may carry what one round has
 * read into the next, as long as that lives.
 */
#include <string.h>

#include "compile/infer/infer.h"

/* One run of the checks over a function. Sets of names are bits by their numbers. */
struct check {
    struct function *function;
    struct value **names; /* all values that are records */
    size_t name_count;
    size_t words;         /* of a set of names */
    unsigned *numbers;    /* by value id: of the name, from 1 on */
    struct value **found; /* what find_names has found: */
    size_t found_count;
    struct value **endings; /* what a reference or the right to write to a record ends with */
    size_t ending_count;
    uint64_t **of_map;       /* by object: all names of references into that map */
    uint64_t **of_store;     /* by value id: all names of the record that it stores */
    uint64_t *dead, *stored; /* the facts at the place that is looked at, one behind the other … */
    uint64_t **after;        /* … and by block id: at its end */
};

static uint64_t *new_set(const struct check *check)
{
    return arena_allocate(check->function->arena, check->words * sizeof(uint64_t));
}

static bool has(const struct check *check, const uint64_t *set, const struct value *name)
{
    unsigned number = check->numbers[name->id];
    return number && set[(number - 1) / 64] >> (number - 1) % 64 & 1;
}

static void put(const struct check *check, uint64_t *set, const struct value *name, bool in)
{
    unsigned number = check->numbers[name->id] - 1;
    set[number / 64] = (set[number / 64] & ~(UINT64_C(1) << number % 64)) | (uint64_t)in << number % 64;
}

static void add_all(uint64_t *set, const uint64_t *more, size_t words)
{
    for (size_t i = 0; i < words; i++)
        set[i] |= more[i];
}

/* --- records and their names --- */

static bool is_record(const struct value *value)
{
    return value->type.kind == TYPE_RECORD &&
           (value->op == IR_MAP_GET || value->op == IR_RECORD || value->op == IR_COPY || value->op == IR_PHI ||
            value->op == IR_PRESENT || value->op == IR_ABSENT || value->op == IR_GET_FIELD);
}

/* True if NAME names, in whole or in part, what its arguments name. */
static bool is_other_name(const struct value *name)
{
    return name->op == IR_PRESENT || name->op == IR_ABSENT || name->op == IR_GET_FIELD || name->op == IR_PHI;
}

static void find_name(struct check *check, uint64_t *set, struct value *name)
{
    if (has(check, set, name))
        return;
    put(check, set, name, true);
    check->found[check->found_count++] = name;
}

/* Puts whatever RECORD, or part of it, is called into SET, and what was not there into check->found. */
static void find_names(struct check *check, uint64_t *set, struct value *record)
{
    check->found_count = 0;
    find_name(check, set, record);
    for (size_t i = 0; i < check->found_count; i++)
        for (size_t n = 0; n < check->found[i]->user_count; n++) {
            struct value *use = check->found[i]->users[n];
            if (is_record(use) && is_other_name(use))
                find_name(check, set, use);
        }
}

/* True if USE looks into the record or hands it on; tests for nil and other names for it do not. */
static bool uses_record(const struct value *use)
{
    return use->op != IR_PRESENT && use->op != IR_ABSENT && use->op != IR_TRUTH && use->op != IR_EQ &&
           use->op != IR_NOT && use->op != IR_BRANCH;
}

/* --- what ends what --- */

static bool writes_map(const struct value *value)
{
    return value->op == IR_MAP_SET || value->op == IR_MAP_DELETE;
}

/* A record made in a loop lies where that of the round before lay. SET: the names of RECORD. */
static void check_carried(const struct check *check, const struct value *record, const uint64_t *set)
{
    for (size_t n = 0; n < check->found_count; n++) {
        const struct value *phi = check->found[n];
        if (phi->op != IR_PHI || !phi->block->is_header || record->block->order < phi->block->order)
            continue;
        for (size_t i = 1; i < phi->arg_count; i++)
            if (has(check, set, phi->args[i]))
                compile_fail(check->function->compiler, record->position,
                             "a record made in a loop cannot be kept for its next round; keep its fields in locals");
    }
}

/* RECORD, which the handler has made, may be copied by what stores one of its names. */
static void find_stores(struct check *check, struct value *record)
{
    uint64_t *set = new_set(check);
    find_names(check, set, record);
    check_carried(check, record, set);
    for (size_t n = 0; n < check->found_count; n++)
        for (size_t i = 0; i < check->found[n]->user_count; i++) {
            const struct value *use = check->found[n]->users[i];
            if ((use->op != IR_MAP_SET && use->op != IR_SET_FIELD) || use->args[1] != check->found[n])
                continue;
            if (!check->of_store[use->id])
                check->of_store[use->id] = new_set(check);
            add_all(check->of_store[use->id], set, check->words);
        }
}

static void find_endings(struct check *check)
{
    struct function *function = check->function;
    for (size_t i = 0; i < check->name_count; i++) {
        struct value *record = check->names[i];
        if (record->op == IR_RECORD || record->op == IR_COPY)
            find_stores(check, record);
        if (record->op != IR_MAP_GET)
            continue;
        if (!check->of_map[record->object])
            check->of_map[record->object] = new_set(check);
        find_names(check, check->of_map[record->object], record);
    }
    for (const struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            if (check->of_store[value->id] || (writes_map(value) && check->of_map[value->object])) {
                check->endings =
                    arena_grow(function->arena, check->endings, check->ending_count, sizeof *check->endings);
                check->endings[check->ending_count++] = value;
            }
}

/* --- facts along the ways --- */

/* The facts at the beginning of BLOCK: those of all ways to it; a phi's are those of what it is on each. */
static void enter(struct check *check, const struct block *block)
{
    memset(check->dead, 0, 2 * check->words * sizeof *check->dead);
    for (size_t i = 0; i < block->predecessor_count; i++)
        add_all(check->dead, check->after[block->predecessors[i]->id], 2 * check->words);
    for (const struct value *phi = block->first; phi && phi->op == IR_PHI; phi = phi->next) {
        bool dead = false, stored = false;
        if (!check->numbers[phi->id])
            continue;
        for (size_t i = 0; i < phi->arg_count; i++) {
            const uint64_t *after = check->after[block->predecessors[i]->id];
            dead |= has(check, after, phi->args[i]);
            stored |= has(check, after + check->words, phi->args[i]);
        }
        put(check, check->dead, phi, dead);
        put(check, check->stored, phi, stored);
    }
}

static bool is_misused(const struct check *check, const struct value *use)
{
    for (size_t i = 0; i < use->arg_count; i++)
        if (uses_record(use) && has(check, check->dead, use->args[i]))
            return true;
    return (use->op == IR_SET_FIELD || use->op == IR_SET_ELEMENT) && has(check, check->stored, use->args[0]);
}

/* Goes through BLOCK, where ONLY ends something (NULL: all endings do). Returns what uses a record as it must not be
 * used, or NULL. */
static const struct value *go_through(struct check *check, const struct block *block, const struct value *only)
{
    for (const struct value *value = block->first; value; value = value->next) {
        if (value->op == IR_PHI)
            continue;
        if (is_misused(check, value))
            return value;
        bool ends = !only || only == value;
        if (ends && writes_map(value) && check->of_map[value->object])
            add_all(check->dead, check->of_map[value->object], check->words);
        if (ends && check->of_store[value->id])
            add_all(check->stored, check->of_store[value->id], check->words);
        if (!check->numbers[value->id])
            continue;
        put(check, check->dead, value, is_other_name(value) && has(check, check->dead, value->args[0]));
        put(check, check->stored, value, is_other_name(value) && has(check, check->stored, value->args[0]));
    }
    return NULL;
}

/* Goes all ways through the function. The facts only grow, so that this ends. */
static const struct value *find_misuse(struct check *check, const struct value *only)
{
    size_t size = 2 * check->words * sizeof *check->dead;
    for (unsigned i = 0; i < check->function->block_count; i++)
        memset(check->after[i], 0, size);
    bool changed;
    do {
        changed = false;
        for (const struct block *block = check->function->entry; block; block = block->following) {
            enter(check, block);
            const struct value *misuse = go_through(check, block, only);
            if (misuse)
                return misuse;
            changed |= memcmp(check->after[block->id], check->dead, size) != 0;
            memcpy(check->after[block->id], check->dead, size);
        }
    } while (changed);
    return NULL;
}

/* --- messages --- */

/* What NAME names of what was read from the map OBJECT, or NULL. */
static const struct value *find_reference(struct check *check, struct value *name, unsigned object)
{
    if (!check->numbers[name->id] || name->marked)
        return NULL;
    name->marked = true;
    if (name->op == IR_MAP_GET)
        return name->object == object ? name : NULL;
    const struct value *reference = NULL;
    for (size_t i = 0; i < name->arg_count && !reference; i++)
        reference = find_reference(check, name->args[i], object);
    return reference;
}

static _Noreturn void refuse(struct check *check, const struct value *use, const struct value *ending)
{
    struct compiler *compiler = check->function->compiler;
    const struct value *reference = NULL;
    for (size_t i = 0; i < check->name_count; i++)
        check->names[i]->marked = false;
    for (size_t i = 0; i < use->arg_count && writes_map(ending) && !reference; i++)
        if (has(check, check->dead, use->args[i]))
            reference = find_reference(check, use->args[i], ending->object);
    if (!reference)
        compile_fail(
            compiler, use->position,
            "this record was stored at line %d, which copied it: write to it before that, or to where it is stored",
            ending->position->line);
    const char *map = compiler->objects[ending->object]->name ? compiler->objects[ending->object]->name : "the map";
    compile_fail(
        compiler, use->position,
        "this record was read from '%s' at line %d, and '%s' has been assigned to since, at line %d: take what "
        "you need before that, or keep up.copy(record)",
        map, reference->position->line, map, ending->position->line);
}

static void number_names(struct check *check)
{
    struct function *function = check->function;
    check->numbers = arena_allocate(function->arena, function->value_count * sizeof *check->numbers);
    for (const struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (!is_record(value))
                continue;
            check->names = arena_grow(function->arena, check->names, check->name_count, sizeof *check->names);
            check->names[check->name_count++] = value;
            check->numbers[value->id] = (unsigned)check->name_count;
        }
    check->words = (check->name_count + 63) / 64;
}

void pass_check(struct function *function)
{
    struct check check = {.function = function};
    ir_dominators(function);
    ir_find_users(function);
    number_names(&check);
    if (!check.name_count)
        return;
    check.found = arena_allocate(function->arena, check.name_count * sizeof(struct value *));
    check.of_map = arena_allocate(function->arena, function->compiler->object_count * sizeof(uint64_t *));
    check.of_store = arena_allocate(function->arena, function->value_count * sizeof(uint64_t *));
    find_endings(&check);
    if (!check.ending_count)
        return;
    check.after = arena_allocate(function->arena, function->block_count * sizeof(uint64_t *));
    for (unsigned i = 0; i < function->block_count; i++)
        check.after[i] = arena_allocate(function->arena, 2 * check.words * sizeof(uint64_t));
    check.dead = arena_allocate(function->arena, 2 * check.words * sizeof(uint64_t));
    check.stored = check.dead + check.words;
    if (!find_misuse(&check, NULL))
        return;
    for (size_t i = 0; i < check.ending_count; i++) {
        const struct value *use = find_misuse(&check, check.endings[i]);
        if (use)
            refuse(&check, use, check.endings[i]);
    }
}
