/*
 * Removes work from the generated code: second reads of the event's fields, unused values, branches around nothing, and
 * read-modify-write sequences, which become one atomic add. That also makes them lossless, as handlers.md promises.
 */
#include <string.h>

#include "compile/infer/typed_memory.h"
#include "compile/ir/fold.h"
#include "compile/optimise/optimise.h"

static void replace(struct value *value, struct value *by)
{
    ir_remove(value);
    value->same = by;
}

/* --- the same value computed twice --- */

static bool is_pure(const struct value *value)
{
    switch (value->op) {
    case IR_PRESENT ... IR_STACK:
    case IR_ADD ... IR_MUL:
    case IR_NEG ... IR_TRUTH:
    case IR_LENGTH ... IR_POINTER:
        return true;
    case IR_GET_FIELD:
    case IR_GET_ELEMENT:
        return value->access;
    case IR_DIV:
    case IR_MOD:
        return !ir_may_divide_by_zero(value);
    default:
        return false;
    }
}

static struct value *strip(struct value *value)
{
    value = ir_value(value);
    while (value->op == IR_PRESENT)
        value = ir_value(value->args[0]);
    return value;
}

/* The only value set in the fresh record RECORD for SET's field; NULL if there is none. */
static struct value *field_value(const struct value *record, const struct value *set)
{
    struct value *found = NULL;
    for (size_t i = 0; i < record->user_count; i++) {
        const struct value *use = record->users[i];
        if (use->op == IR_SET_FIELD && ir_value(use->args[0]) == record && use->number == set->number &&
            (use->name && set->name ? !strcmp(use->name, set->name) : use->name == set->name)) {
            if (found)
                return NULL;
            found = ir_value(use->args[1]);
        }
    }
    return found;
}

static size_t count_sets(const struct value *record)
{
    size_t count = 0;
    for (size_t i = 0; i < record->user_count; i++)
        count += (record->users[i]->op == IR_SET_FIELD || record->users[i]->op == IR_SET_ELEMENT) &&
                 ir_value(record->users[i]->args[0]) == record;
    return count;
}

/* True if the keys A and B are surely equal: the same value, or fresh tuples of the same values. */
static bool same_key(struct value *a, struct value *b)
{
    a = ir_value(a);
    b = ir_value(b);
    if (a == b)
        return true;
    if (a->op != IR_RECORD || b->op != IR_RECORD || record_of(a->type.record) != record_of(b->type.record))
        return false;
    for (size_t i = 0; i < a->user_count; i++) {
        const struct value *use = a->users[i];
        if (use->op == IR_SET_ELEMENT)
            return false;
        if (use->op == IR_SET_FIELD && ir_value(use->args[0]) == a &&
            (!use->initialises || field_value(b, use) != ir_value(use->args[1])))
            return false;
    }
    return count_sets(a) == count_sets(b);
}

static bool writes_object(const struct value *value, unsigned object)
{
    switch (value->op) {
    case IR_MAP_SET ... IR_MAP_ADD:
        return value->object == object;
    case IR_FIELD_ADD:
    case IR_SET_FIELD:
    case IR_SET_ELEMENT:
        return strip(value->args[0])->op != IR_RECORD;
    default:
        return false;
    }
}

/* True if nothing between the values FROM and TO (FROM's block dominates TO's) may have written to OBJECT. */
static bool untouched(const struct value *from, const struct value *to, unsigned object)
{
    if (from->block->loop != to->block->loop)
        return false; /* another round may come between */
    for (const struct block *block = from->block; block; block = block->following) {
        const struct value *value = block == from->block ? from->next : block->first;
        for (; value; value = value->next) {
            if (value == to)
                return true;
            if (writes_object(value, object))
                return false;
        }
    }
    return true;
}

static bool same_operation(const struct value *a, const struct value *b)
{
    if (a->op == IR_MAP_GET && b->op == IR_MAP_GET)
        return a->object == b->object && same_key(a->args[0], b->args[0]) && untouched(a, b, b->object);
    if (a->op != b->op || a->arg_count != b->arg_count || a->event != b->event || a->number != b->number ||
        a->type.ctype != b->type.ctype)
        return false;
    /* A handler cannot write to the memory that it reads; but a round of a loop looks at it anew. */
    if (a->access && (!access_equal(a->access, b->access) || a->block->loop != b->block->loop))
        return false;
    for (size_t i = 0; i < a->arg_count; i++)
        if (ir_value(a->args[i]) != ir_value(b->args[i]))
            return false;
    return true;
}

/* Values with different results here are never the same operation. */
static size_t hash_operation(const struct value *value)
{
    size_t hash = value->op * 31 + (size_t)value->number;
    hash = (hash * 31 + (size_t)value->event) * 31 + value->object;
    for (size_t i = 0; i < value->arg_count; i++) {
        const struct value *arg = ir_value(value->args[i]); /* the same key may be another tuple */
        hash = hash * 31 + (arg->op == IR_RECORD ? 0 : arg->id);
    }
    return hash * 0x9e3779b97f4a7c15u >> 32;
}

/* Operations seen so far, in lists by hash; by id the next of its list. */
struct seen_operations {
    struct value **first, **last, **next;
    size_t mask;
};

static struct value *find_earlier(const struct seen_operations *seen, const struct value *value, size_t hash)
{
    for (struct value *earlier = seen->first[hash & seen->mask]; earlier; earlier = seen->next[earlier->id])
        if (ir_dominates(earlier->block, value->block) && same_operation(earlier, value))
            return earlier;
    return NULL;
}

static void add_seen(struct seen_operations *seen, struct value *value, size_t hash)
{
    struct value **last = &seen->last[hash & seen->mask];
    *(*last ? &seen->next[(*last)->id] : &seen->first[hash & seen->mask]) = value;
    *last = value;
}

static void merge_equal_values(struct function *function)
{
    size_t size = 64;
    while (size < function->value_count)
        size *= 2;
    struct seen_operations seen = {.mask = size - 1};
    seen.first = arena_allocate(function->arena, size * sizeof *seen.first);
    seen.last = arena_allocate(function->arena, size * sizeof *seen.last);
    seen.next = arena_allocate(function->arena, function->value_count * sizeof *seen.next);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first, *next; value; value = next) {
            next = value->next;
            if (!is_pure(value) && value->op != IR_MAP_GET)
                continue;
            size_t hash = hash_operation(value);
            struct value *earlier = find_earlier(&seen, value, hash);
            if (earlier)
                replace(value, earlier);
            else
                add_seen(&seen, value, hash);
        }
}

/* --- additions in place --- */

static bool is_zero(const struct value *value)
{
    return fold_is_number(value) && value->constant.kind == CAPTURED_NUMBER && value->constant.number == 0;
}

/*
 * SUM is OPERAND + x or OPERAND − x for an operand that MATCHES accepts: returns x (negated: in NEGATED), and the
 * operand in *OPERAND.
 */
static struct value *addend(struct value *sum, bool (*matches)(struct value *operand), struct value **operand,
                            bool *negated)
{
    sum = ir_value(sum);
    if (sum->op != IR_ADD && sum->op != IR_SUB)
        return NULL;
    struct value *a = ir_value(sum->args[0]), *b = ir_value(sum->args[1]);
    *negated = sum->op == IR_SUB;
    if (matches(a)) {
        *operand = a;
        return b;
    }
    if (sum->op == IR_ADD && matches(b)) {
        *operand = b;
        return a;
    }
    return NULL;
}

/* m[k], or (m[k] or 0) */
static struct value *map_read(struct value *value, bool *or_zero)
{
    value = ir_value(value);
    *or_zero = value->op == IR_PHI;
    if (value->op != IR_PHI)
        return strip(value)->op == IR_MAP_GET ? strip(value) : NULL;
    if (value->arg_count != 2)
        return NULL;
    struct value *a = ir_value(value->args[0]), *b = ir_value(value->args[1]);
    struct value *read = is_zero(b) ? a : is_zero(a) ? b : NULL;
    /* The present value comes from the way on which m[k] was tested. */
    return read && read->op == IR_PRESENT && strip(read)->op == IR_MAP_GET ? strip(read) : NULL;
}

static bool is_map_read(struct value *value)
{
    bool or_zero;
    return map_read(value, &or_zero) != NULL;
}

static bool is_field_read(struct value *value)
{
    return ir_value(value)->op == IR_GET_FIELD && !ir_value(value)->access;
}

static struct value *delta_before(struct function *function, struct value *user, struct value *delta, bool negated)
{
    if (!negated)
        return delta;
    struct value *folded = fold_arithmetic(function, IR_NEG, 0, delta, NULL, user->position);
    if (folded)
        return folded;
    struct value *negation = ir_insert(function, user, IR_NEG, user->position, &delta, 1);
    negation->type = delta->type;
    negation->type.optional = false;
    return negation;
}

bool ir_is_soon(const struct value *from, const struct value *to)
{
    for (const struct block *block = from->block; block; block = block->following)
        for (const struct value *value = block == from->block ? from->next : block->first; value; value = value->next) {
            if (value == to)
                return true;
            bool quick = is_pure(value) || value->op == IR_PHI || value->op == IR_JUMP || value->op == IR_BRANCH ||
                         value->op == IR_VAR_ADD || value->op == IR_RECORD ||
                         (value->op == IR_SET_FIELD && strip(value->args[0])->op == IR_RECORD);
            if (!quick || value->op == IR_USTACK || value->op == IR_KSTACK || value->op == IR_STACK)
                return false;
        }
    return false;
}

/*
 * What SET stores into memory of TYPE before it is cut to the memory's width: an addition there is cut by itself. NULL:
 * there is no atomic addition of that width.
 */
static struct value *uncut(struct value *set, struct type type)
{
    struct value *value = ir_value(set->args[1]);
    if (!type.declared || !type.bits)
        return value;
    return type_size(type) == 4 && value->op == IR_CAST && value->number == type.bits ? ir_value(value->args[0]) : NULL;
}

static void add_in_map(struct function *function, struct value *set)
{
    struct value *operand, *sum = uncut(set, function->compiler->objects[set->object]->value);
    bool negated, or_zero;
    struct value *delta = sum ? addend(sum, is_map_read, &operand, &negated) : NULL;
    if (!delta)
        return;
    struct value *read = map_read(operand, &or_zero);
    if (read->object != set->object || !type_is_number(read->type) || !same_key(read->args[0], set->args[0]) ||
        !untouched(read, set, set->object))
        return;
    ir_value(set->args[1])->uses--;
    set->args[1] = delta_before(function, set, delta, negated);
    set->args[1]->uses++;
    set->op = IR_MAP_ADD;
    set->number = or_zero;
    if (ir_is_soon(read, set)) {
        struct value *args[] = {read->args[0], set->args[1], ir_value(operand)->op == IR_PRESENT ? operand : read};
        set->args = arena_allocate(function->arena, sizeof args);
        memcpy(set->args, args, sizeof args);
        set->arg_count = 3;
    }
}

static void add_in_field(struct function *function, struct value *set)
{
    struct value *base = ir_value(set->args[0]), *operand;
    const struct field *field =
        base->type.kind == TYPE_RECORD ? record_field(base->type.record, set->name, (int)set->number) : NULL;
    struct value *sum = field ? uncut(set, field->type) : NULL;
    bool negated;
    struct value *delta = sum ? addend(sum, is_field_read, &operand, &negated) : NULL;
    if (!delta || operand->number != set->number || !operand->name != !set->name ||
        (set->name && strcmp(operand->name, set->name)))
        return;
    struct value *to = strip(set->args[0]), *from = strip(operand->args[0]);
    if (to->op != IR_MAP_GET || from->op != IR_MAP_GET || to->object != from->object ||
        !same_key(to->args[0], from->args[0]) || !untouched(operand, set, to->object))
        return;
    if (field->type.optional || !type_is_number(field->type))
        return;
    set->args[1] = delta_before(function, set, delta, negated);
    set->args[1]->uses++;
    set->op = IR_FIELD_ADD;
    if (--sum->uses || !sum->block)
        return;
    ir_remove(sum);
    ir_value(sum->args[0])->uses--;
    ir_value(sum->args[1])->uses--;
    if (!operand->uses && operand->block) /* its nil check is the addition's */
        ir_remove(operand);
}

static void add_in_place(struct function *function)
{
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (value->op == IR_MAP_SET)
                add_in_map(function, value);
            else if (value->op == IR_SET_FIELD)
                add_in_field(function, value);
        }
}

/* --- copies --- */

/* m[a] = up.copy(m[b]): the kernel copies what it is given, so that it can be given the entry itself. */
static void copy_directly(struct function *function)
{
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *set = block->first; set; set = set->next) {
            struct value *copy = set->op == IR_MAP_SET ? ir_value(set->args[1]) : NULL;
            if (!copy || copy->op != IR_COPY || copy->uses != 1 || !ir_is_soon(copy, set))
                continue;
            struct value *source = ir_value(copy->args[0]);
            const struct shared *object = function->compiler->objects[set->object];
            struct type stored = object->value;
            if (object->kind == OBJECT_LRU) /* might make room by giving up the very entry */
                continue;
            if (source->type.kind == TYPE_RECORD && !source->type.optional && stored.kind == TYPE_RECORD &&
                record_of(source->type.record) == record_of(stored.record))
                set->args[1] = source;
        }
}

/* --- what nobody needs --- */

/* Where control goes when it enters BLOCK, which does nothing: its successor, if that has no phis to tell ways
 * apart. */
static struct block *beyond(struct block *block)
{
    while (block->first->op == IR_JUMP && block->next[0]->first->op != IR_PHI)
        block = block->next[0];
    return block;
}

/* Branches whose both ways meet again without having done anything. */
static bool drop_branches(struct function *function)
{
    bool any = false;
    for (struct block *block = function->entry; block; block = block->following) {
        struct value *branch = block->last;
        if (branch->op != IR_BRANCH || beyond(block->next[0]) != beyond(block->next[1]) ||
            ir_has_effect(ir_value(branch->args[0])))
            continue;
        /* One way stays: what it leads through jumps only. */
        size_t i = 0;
        while (block->next[1]->predecessors[i] != block)
            i++;
        ir_drop_predecessor(block->next[1], i);
        branch->op = IR_JUMP;
        branch->arg_count = 0;
        block->next_count = 1;
        any = true;
    }
    if (any)
        ir_dominators(function);
    return any;
}

void pass_optimise(struct function *function)
{
    access_fold(function);
    ir_find_users(function);
    merge_equal_values(function);
    add_in_place(function);
    copy_directly(function);
    bool smaller;
    do {
        smaller = ir_drop_unused(function, ir_has_effect, true);
        smaller |= drop_branches(function);
        smaller |= pass_jump_threading(function);
    } while (smaller);
    pass_sink_loads(function);
}
