/* The intermediate representation: its values, blocks and text form. */
#include "compile/ir/ir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/context/compiler.h"

struct value *ir_value(struct value *value)
{
    while (value && value->same)
        value = value->same;
    return value;
}

static struct value *new_value(struct function *function, enum ir_op op, const struct position *position,
                               struct value *const *args, size_t count)
{
    struct value *value = arena_allocate(function->arena, sizeof *value);
    value->op = op;
    value->id = function->value_count++;
    value->position = position;
    value->arg_count = count;
    value->args = count ? arena_allocate(function->arena, count * sizeof *args) : NULL;
    for (size_t i = 0; i < count; i++)
        value->args[i] = ir_value(args[i]);
    return value;
}

struct value *ir_append(struct function *function, struct block *block, enum ir_op op, const struct position *position,
                        struct value *const *args, size_t count)
{
    struct value *value = new_value(function, op, position, args, count);
    if (!block)
        return value;
    value->block = block;
    value->previous = block->last;
    *(block->last ? &block->last->next : &block->first) = value;
    block->last = value;
    return value;
}

struct value *ir_insert(struct function *function, struct value *next, enum ir_op op, const struct position *position,
                        struct value *const *args, size_t count)
{
    struct value *value = new_value(function, op, position, args, count);
    value->block = next->block;
    value->next = next;
    value->previous = next->previous;
    *(next->previous ? &next->previous->next : &next->block->first) = value;
    next->previous = value;
    return value;
}

struct value *ir_phi(struct function *function, struct block *block, const struct position *position)
{
    struct value *phi = new_value(function, IR_PHI, position, NULL, 0);
    /* Grown like an array, since the phis of a loop's header get more. */
    for (size_t i = 0; i < block->predecessor_count; i++)
        phi->args = arena_grow(function->arena, phi->args, i, sizeof *phi->args);
    phi->arg_count = block->predecessor_count;
    phi->block = block;
    phi->next = block->first;
    *(block->first ? &block->first->previous : &block->last) = phi;
    block->first = phi;
    return phi;
}

static bool same_constant(const struct captured *a, const struct captured *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CAPTURED_NIL:
        return true;
    case CAPTURED_BOOLEAN:
        return a->boolean == b->boolean;
    case CAPTURED_NUMBER:
        return !memcmp(&a->number, &b->number, sizeof a->number); /* 0 and -0 stay two */
    case CAPTURED_I64:
    case CAPTURED_U64:
        return a->u64 == b->u64;
    case CAPTURED_FUNCTION ... CAPTURED_CTYPE:
        return a->handle == b->handle;
    case CAPTURED_STRING:
    case CAPTURED_BUILTIN:
    case CAPTURED_OTHER:
        return a->string.length == b->string.length && !memcmp(a->string.bytes, b->string.bytes, a->string.length);
    }
    return false;
}

static struct type constant_type(const struct captured *constant)
{
    switch (constant->kind) {
    case CAPTURED_NIL:
        return (struct type){.kind = TYPE_NIL};
    case CAPTURED_BOOLEAN:
        return (struct type){.kind = TYPE_BOOLEAN};
    case CAPTURED_NUMBER: /* one that is no integer is refused where it is used */
        return (struct type){.kind = TYPE_NUM,
                             .bits = fabs(constant->number) <= 0x1p53 ? type_bits((int64_t)constant->number) : 0};
    case CAPTURED_I64:
        return (struct type){.kind = TYPE_I64, .bits = type_bits(constant->i64)};
    case CAPTURED_U64:
        return (struct type){.kind = TYPE_U64, .bits = constant->u64 >> 62 ? 0 : type_bits(constant->i64)};
    case CAPTURED_STRING: /* with its NUL, in whole words */
        return (struct type){.kind = TYPE_STRING, .capacity = (uint32_t)(constant->string.length + 8) & ~7u};
    default:
        return (struct type){.kind = TYPE_STATIC};
    }
}

struct value *ir_constant(struct function *function, const struct captured *constant)
{
    for (size_t i = 0; i < function->constant_count; i++)
        if (same_constant(&function->constants[i]->constant, constant))
            return function->constants[i];
    struct value *value = new_value(function, IR_CONSTANT, NULL, NULL, 0);
    value->constant = *constant;
    value->type = constant_type(constant);
    function->constants =
        arena_grow(function->arena, function->constants, function->constant_count, sizeof *function->constants);
    return function->constants[function->constant_count++] = value;
}

struct value *ir_number(struct function *function, double number)
{
    return ir_constant(function, &(struct captured){.kind = CAPTURED_NUMBER, .number = number});
}

struct value *ir_nil(struct function *function)
{
    return ir_constant(function, &(struct captured){.kind = CAPTURED_NIL});
}

struct value *ir_boolean(struct function *function, bool boolean)
{
    return ir_constant(function, &(struct captured){.kind = CAPTURED_BOOLEAN, .boolean = boolean});
}

struct block *ir_block(struct function *function)
{
    struct block *block = arena_allocate(function->arena, sizeof *block);
    block->id = function->block_count++;
    return block;
}

void ir_connect(struct block *from, struct block *to, struct function *function)
{
    from->next[from->next_count++] = to;
    to->predecessors = arena_grow(function->arena, to->predecessors, to->predecessor_count, sizeof *to->predecessors);
    to->predecessors[to->predecessor_count++] = from;
}

void ir_remove(struct value *value)
{
    struct block *block = value->block;
    *(value->previous ? &value->previous->next : &block->first) = value->next;
    *(value->next ? &value->next->previous : &block->last) = value->previous;
    value->block = NULL;
}

bool ir_may_divide_by_zero(const struct value *value)
{
    if (value->op != IR_DIV && value->op != IR_MOD)
        return false;
    const struct value *divisor = ir_value(value->args[1]);
    const struct captured *constant = &divisor->constant;
    if (divisor->op != IR_CONSTANT)
        return true;
    return constant->kind == CAPTURED_NUMBER ? constant->number == 0 : constant->u64 == 0;
}

bool ir_initialises(const struct value *record, const struct field *field)
{
    for (size_t i = 0; i < record->user_count; i++) {
        const struct value *set = record->users[i];
        if (set->op == IR_SET_FIELD && set->initialises && set->args[0] == record &&
            (field->name ? set->name && !strcmp(set->name, field->name) : !set->name && set->number == field->index))
            return true;
    }
    return false;
}

bool ir_is_shift(enum ir_op op)
{
    return op == IR_SHL || op == IR_SHR || op == IR_SAR;
}

bool ir_has_effect(const struct value *value)
{
    switch (value->op) {
    case IR_SET_FIELD:
    case IR_SET_ELEMENT:
    case IR_MAP_SET ... IR_AGGREGATE:
    case IR_VAR_SET ... IR_EXIT:
    case IR_READ: /* what cannot be read is counted */
    case IR_STRING:
    case IR_BUFFER:
    case IR_LOOP ... IR_RETURN:
        return true;
    /* Without an effect of their own, but they end the handler where an operand is nil, as Lua's error would. */
    case IR_ADD ... IR_CAST:
    case IR_LT:
    case IR_LE:
    case IR_LENGTH:
    case IR_STARTS:
    case IR_FIND:
        for (size_t i = 0; i < value->arg_count; i++)
            if (ir_value(value->args[i])->type.optional)
                return true;
        return ir_may_divide_by_zero(value);
    case IR_GET_FIELD:
    case IR_COPY:
        return ir_value(value->args[0])->type.optional && !value->access;
    case IR_GET_ELEMENT:
        return ir_value(value->args[1])->type.optional || (ir_value(value->args[0])->type.optional && !value->access);
    case IR_MAP_GET:
        return ir_value(value->args[0])->type.optional;
    default:
        return false;
    }
}

void ir_count_uses(struct function *function)
{
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            value->uses = 0;
            for (size_t i = 0; i < value->arg_count; i++) {
                value->args[i] = ir_value(value->args[i]);
                value->args[i]->uses = 0;
            }
        }
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            for (size_t i = 0; i < value->arg_count; i++)
                value->args[i]->uses++;
}

void ir_find_users(struct function *function)
{
    unsigned place = 0;
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            value->at = ++place;
            value->user_count = 0;
            for (size_t i = 0; i < value->arg_count; i++)
                value->args[i]->user_count = 0;
        }
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            for (size_t i = 0; i < value->arg_count; i++) {
                struct value *arg = value->args[i];
                if (!arg->user_count)
                    arg->users = arena_allocate(function->arena, arg->uses * sizeof *arg->users);
                arg->users[arg->user_count++] = value;
            }
}

static void mark_wanted(struct value *value)
{
    value = ir_value(value);
    if (value->marked)
        return;
    value->marked = true;
    for (size_t i = 0; i < value->arg_count; i++)
        mark_wanted(value->args[i]);
}

static bool writes_fresh_record(const struct value *value)
{
    return (value->op == IR_SET_FIELD || value->op == IR_SET_ELEMENT) && ir_value(value->args[0])->op == IR_RECORD;
}

/* True if WRITE, into a fresh record, may be read: the record is used otherwise than by its fields, or the field is. */
static bool is_read(const struct value *write)
{
    const struct value *record = ir_value(write->args[0]);
    for (size_t i = 0; i < record->user_count; i++) {
        const struct value *user = record->users[i];
        if (!user->marked ||
            (user->op == IR_SET_FIELD && ir_value(user->args[0]) == record && ir_value(user->args[1]) != record))
            continue;
        if (user->op != IR_GET_FIELD || write->op != IR_SET_FIELD || user->access)
            return true;
        if (user->number == write->number &&
            (user->name && write->name ? !strcmp(user->name, write->name) : user->name == write->name))
            return true;
    }
    return false;
}

bool ir_drop_unused(struct function *function, bool (*is_root)(const struct value *value), bool fields)
{
    if (fields)
        ir_find_users(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            value->marked = false;
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            if (is_root(value) && !writes_fresh_record(value))
                mark_wanted(value);
    bool changed;
    do {
        changed = false;
        for (struct block *block = function->entry; block; block = block->following)
            for (struct value *value = block->first; value; value = value->next)
                if (writes_fresh_record(value) && !value->marked && ir_value(value->args[0])->marked &&
                    (!fields || is_read(value))) {
                    mark_wanted(value);
                    changed = true;
                }
    } while (changed);
    bool dropped = false;
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first, *next; value; value = next) {
            next = value->next;
            if (value->marked)
                continue;
            ir_remove(value);
            dropped = true;
        }
    return dropped;
}

static struct block *common_dominator(struct block *a, struct block *b)
{
    while (a != b) {
        while (a->order > b->order)
            a = a->dominator;
        while (b->order > a->order)
            b = b->dominator;
    }
    return a;
}

void ir_drop_predecessor(struct block *block, size_t i)
{
    for (size_t j = i + 1; j < block->predecessor_count; j++)
        block->predecessors[j - 1] = block->predecessors[j];
    block->predecessor_count--;
    for (struct value *phi = block->first; phi && phi->op == IR_PHI; phi = phi->next) {
        for (size_t j = i + 1; j < phi->arg_count; j++)
            phi->args[j - 1] = phi->args[j];
        phi->arg_count--;
    }
}

static void mark_reachable(struct block *block)
{
    for (; !block->reachable; block = block->next[block->next_count - 1]) {
        block->reachable = true;
        if (!block->next_count)
            return;
        if (block->next_count == 2)
            mark_reachable(block->next[0]);
    }
}

/* Numbers the dominator tree of COUNT blocks from the root down, so that each block's tree has numbers in a row. */
static void number_tree(struct function *function, unsigned count)
{
    struct block **blocks = arena_allocate(function->arena, count * sizeof *blocks);
    for (struct block *block = function->entry; block; block = block->following) {
        blocks[block->order] = block;
        block->count_below = 1;
        block->placed_below = 0;
    }
    for (unsigned i = count; i-- > 1;)
        blocks[i]->dominator->count_below += blocks[i]->count_below;
    for (unsigned i = 1; i < count; i++) {
        struct block *above = blocks[i]->dominator;
        blocks[i]->first_below = above->first_below + 1 + above->placed_below;
        above->placed_below += blocks[i]->count_below;
    }
}

void ir_dominators(struct function *function)
{
    for (struct block *block = function->entry; block; block = block->following)
        block->reachable = false;
    mark_reachable(function->entry);
    unsigned order = 0;
    for (struct block **link = &function->entry, *block; (block = *link);) {
        if (!block->reachable) {
            *link = block->following;
            continue;
        }
        for (size_t i = block->predecessor_count; i-- > 0;)
            if (!block->predecessors[i]->reachable)
                ir_drop_predecessor(block, i);
        block->order = order++;
        function->last = block;
        link = &block->following;
    }
    /* In this order one pass is enough: what jumps back to a header is dominated by it. */
    for (struct block *block = function->entry; block; block = block->following) {
        block->dominator = NULL;
        /* the last first: from there it is one way up to all others */
        for (size_t i = block->predecessor_count; i-- > 0;) {
            struct block *from = block->predecessors[i];
            if (from->order < block->order)
                block->dominator = block->dominator ? common_dominator(block->dominator, from) : from;
        }
    }
    number_tree(function, order);
}

bool ir_dominates(const struct block *a, const struct block *b)
{
    return b->first_below - a->first_below < a->count_below;
}

const char *ir_describe(struct arena *arena, const struct value *value)
{
    if (value->op == IR_CONSTANT) {
        switch (value->constant.kind) {
        case CAPTURED_TABLE:
            return "a table of the script";
        case CAPTURED_OBJECT:
            return "a shared object";
        case CAPTURED_FUNCTION:
        case CAPTURED_BUILTIN:
            return "a function";
        case CAPTURED_OTHER:
            return value->constant.string.bytes;
        default:
            break;
        }
    }
    if (value->op == IR_EVENT)
        return "the event";
    if (value->op == IR_ARGUMENTS)
        return value->name     ? "a struct that is not in memory here, of which single fields can be read"
               : value->number ? "the program's variables"
                               : "the event's arguments";
    if (value->op == IR_REGISTERS)
        return "all of the event's registers";
    if (value->op == IR_CELL)
        return "an aggregation's element";
    if (value->op == IR_METHOD)
        return "a method";
    struct type type = value->type;
    type.optional = false;
    return type_name(arena, type);
}

static const char *const op_names[] = {
#define OP(name, text) [IR_##name] = text,
#include "compile/ir/ir_ops.h"
#undef OP
};

static void print_operand(const struct value *value)
{
    const struct captured *constant = &value->constant;
    if (value->op == IR_EVENT)
        fputs(" e", stderr);
    else if (value->op != IR_CONSTANT)
        fprintf(stderr, " %%%u", value->id);
    else if (constant->kind == CAPTURED_NUMBER)
        fprintf(stderr, " %.17g", constant->number);
    else if (constant->kind == CAPTURED_I64 || constant->kind == CAPTURED_U64)
        fprintf(stderr, " %lld", (long long)constant->i64);
    else if (constant->kind == CAPTURED_BOOLEAN)
        fputs(constant->boolean ? " true" : " false", stderr);
    else if (constant->kind == CAPTURED_STRING || constant->kind == CAPTURED_BUILTIN)
        fprintf(stderr, " '%.*s'", (int)constant->string.length, constant->string.bytes);
    else
        fputs(constant->kind == CAPTURED_NIL ? " nil" : " static", stderr);
}

void ir_print(struct function *function)
{
    for (struct block *block = function->entry; block; block = block->following) {
        fprintf(stderr, "block %u", block->id);
        for (size_t i = 0; i < block->predecessor_count; i++)
            fprintf(stderr, "%s %u", i ? "," : " from", block->predecessors[i]->id);
        fputc('\n', stderr);
        for (struct value *value = block->first; value; value = value->next) {
            fprintf(stderr, "  %4d %%%u = %s", value->position ? value->position->line : 0, value->id,
                    op_names[value->op]);
            if (value->name)
                fprintf(stderr, " .%s", value->name);
            for (size_t i = 0; i < value->arg_count; i++)
                print_operand(ir_value(value->args[i]));
            for (unsigned i = 0; i < block->next_count && value == block->last; i++)
                fprintf(stderr, " → %u", block->next[i]->id);
            fprintf(stderr, " : %s\n", type_name(function->arena, value->type));
        }
    }
}

static void violated(struct function *function, const struct value *value, const char *invariant)
{
    ir_print(function);
    fprintf(stderr, "uplua: compiler invariant violated at %%%u: %s\n", value->id, invariant);
    abort();
}

static void check_arguments(struct function *function, const struct value *value)
{
    for (size_t i = 0; i < value->arg_count; i++) {
        const struct value *arg = ir_value(value->args[i]);
        if (!arg)
            violated(function, value, "an argument is missing");
        if (!arg->block)
            continue;
        const struct block *user = value->op == IR_PHI ? value->block->predecessors[i] : value->block;
        if (!ir_dominates(arg->block, user))
            violated(function, value, "an argument does not dominate its use");
        bool before = arg->block != user || value->op == IR_PHI;
        for (const struct value *other = value->previous; other && !before; other = other->previous)
            before = other == arg;
        if (!before)
            violated(function, value, "an argument comes after its use");
    }
}

void ir_check(struct function *function)
{
    ir_dominators(function);
    for (struct block *block = function->entry; block; block = block->following) {
        for (struct value *value = block->first; value; value = value->next) {
            bool ends = value->op == IR_JUMP || value->op == IR_BRANCH || value->op == IR_RETURN;
            if (value->block != block)
                violated(function, value, "a value stands in another block's list");
            if (ends != (value == block->last))
                violated(function, value, "a block ends in exactly one jump, branch or return");
            if (value->op == IR_PHI && value->arg_count != block->predecessor_count)
                violated(function, value, "a phi has one argument for each predecessor");
            if (value->op == IR_PHI && value->previous && value->previous->op != IR_PHI)
                violated(function, value, "phis come first");
            check_arguments(function, value);
        }
        if (!block->last)
            violated(function, function->event, "a block is empty");
    }
}
