/*
 * `local d = depth[e.tid]; if d then … end`: the map's value is loaded on the edge on which it is known to be there, if
 * nothing else uses it and nothing happens in between. Otherwise it is loaded at once. That needs a test whether it is
 * there, and a second test where the handler has its own.
 */
#include "compile/optimise/optimise.h"

/* The users of each MAP_GET, by value id. */
struct users {
    unsigned tests;        /* that only ask whether the entry is there */
    struct value *present; /* the first IR_PRESENT of it */
    bool several;          /* … but there are more */
};

static bool is_test(const struct value *user, size_t arg)
{
    switch (user->op) {
    case IR_NOT:
    case IR_TRUTH:
    case IR_BRANCH:
        return true;
    case IR_ABSENT:
        return user->type.kind == TYPE_NIL;
    case IR_EQ:
        return ir_value(user->args[!arg])->type.kind == TYPE_NIL;
    case IR_MAP_ADD:
        return arg == 2;
    default:
        return false;
    }
}

static void note_user(struct users *users, struct value *user)
{
    for (size_t i = 0; i < user->arg_count; i++) {
        struct value *read = ir_value(user->args[i]);
        if (read->op != IR_MAP_GET)
            continue;
        struct users *of = &users[read->id];
        if (user->op == IR_PRESENT) {
            of->several |= of->present != NULL;
            of->present = user;
        } else if (is_test(user, i)) {
            of->tests++;
        }
    }
}

void pass_sink_loads(struct function *function)
{
    struct users *users = arena_allocate(function->arena, function->value_count * sizeof *users);
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            note_user(users, value);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            const struct users *of = &users[value->id];
            /* A test of a boolean or a pointer needs its value too; a record is a reference anyway. */
            if (value->op != IR_MAP_GET || value->type.kind < TYPE_NUM || value->type.kind > TYPE_STACK ||
                of->several || value->uses != of->tests + (of->present != NULL))
                continue;
            value->deferred = !of->present || ir_is_soon(value, of->present);
        }
}
