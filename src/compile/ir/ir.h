/*
 * A handler in SSA form, in Lua's terms: a value is what a Lua expression has, typed after infer.c; an operation with
 * an effect stands in its block's list in program order. Invariants (checked by ir_check in test builds):
 *  - every argument is defined in a block that dominates its use (for a phi: that dominates the matching predecessor);
 *  - a phi has one argument for each predecessor, in their order, and stands before all other values of its block;
 *  - each block but the entry has a predecessor and ends in exactly one of jump, branch, return;
 *  - the blocks' order is topological but for the jumps back to a loop's header, which come behind its one way in;
 *  - constants and the event stand in no block.
 */
#pragma once

#include "compile/context/compiler.h"

enum ir_op {
#define OP(name, text) IR_##name,
#include "compile/ir/ir_ops.h"
#undef OP
};

struct value {
    enum ir_op op;
    unsigned id;
    struct type type;
    struct block *block; /* NULL for constants and the event */
    struct value *previous, *next;
    struct value **args;
    size_t arg_count;
    const struct position *position;
    const char *name; /* of a field or method; a tuple's field has NULL and .number */
    int64_t number;
    unsigned object;
    struct captured constant;
    const struct event_field *event;
    /* of the IR_PHI that counts a for loop: where it ends, and the step; an integer there makes the counter one */
    struct value *bounds[2];
    struct print *print;   /* of an IR_EMIT that printf stands for, else NULL */
    struct access *access; /* what a pointer is asked for (typed_memory.h), once its type is known */
    /* IR_MAP_GET: its value is loaded by the one IR_PRESENT of it; everybody else only asks whether it is there */
    bool deferred;
    bool goes_on;     /* IR_TRUTH: what is tested is the result on one way, as in `a or b` */
    bool initialises; /* IR_SET_FIELD: the first to set a field of a fresh record that nothing has seen yet */
    unsigned uses;    /* counted by ir_count_uses */
    /* ir_find_users: its place in the function; and the values that take it as an argument, each as often */
    unsigned at;
    struct value **users;
    size_t user_count;
    bool marked;        /* wanted, while ir_drop_unused looks */
    struct value *same; /* replaced by this one: use ir_value() */
};

struct block {
    unsigned id;
    struct value *first, *last;
    struct block **predecessors;
    size_t predecessor_count;
    struct block *next[2];
    unsigned next_count;
    struct block *following; /* in the function's order */
    const struct loop *loop; /* the innermost loop that it is part of, or NULL */
    bool is_header;          /* the first predecessor is the way in, the others come back */
    /* While building: what each slot of the Lua frame holds at the end. */
    struct frame *frame;
    struct value **slots;
    struct block *inherits; /* slots not set here are those of this block (after an inlined call) */
    /* Dominator tree (ir_dominators). */
    struct block *dominator;
    unsigned order;
    /* the blocks that it dominates, itself included, have numbers in a row */
    unsigned first_below, count_below, placed_below;
    bool reachable;
};

/* One handler while it is compiled. */
struct function {
    struct compiler *compiler;
    struct arena *arena;
    struct handler *handler;
    const struct position *position; /* where the handler begins */
    const struct compile_options *options;
    struct block *entry, *last;
    unsigned block_count, value_count;
    struct value *event, *arguments, *variables;
    struct event_field *given;     /* the handler's arguments, as fields of its event */
    struct event_field **variable; /* the same of e.vars, those that it has asked for */
    size_t variable_count;
    struct value **constants; /* one value per distinct constant */
    size_t constant_count;
    size_t handler_number; /* in the setup */
};

/* The value that stands for VALUE after replacements. */
struct value *ir_value(struct value *value);
/* A value of operation OP with COUNT ARGS at the end of BLOCK (NULL: in no block). */
struct value *ir_append(struct function *function, struct block *block, enum ir_op op, const struct position *position,
                        struct value *const *args, size_t count);
/* The same, standing before NEXT in its block. */
struct value *ir_insert(struct function *function, struct value *next, enum ir_op op, const struct position *position,
                        struct value *const *args, size_t count);
/* A phi at the head of BLOCK, with one (not yet set) argument per predecessor. */
struct value *ir_phi(struct function *function, struct block *block, const struct position *position);
/* The one value of CONSTANT. */
struct value *ir_constant(struct function *function, const struct captured *constant);
struct value *ir_number(struct function *function, double number);
struct value *ir_nil(struct function *function);
struct value *ir_boolean(struct function *function, bool boolean);
struct block *ir_block(struct function *function);
void ir_connect(struct block *from, struct block *to, struct function *function);
/* Forgets predecessor number I of BLOCK, with the matching argument of each phi. */
void ir_drop_predecessor(struct block *block, size_t i);
/* Takes VALUE out of its block. */
void ir_remove(struct value *value);
/* LuaJIT gives a shift the type of what is shifted; all other operations are unsigned where one operand is. */
bool ir_is_shift(enum ir_op op);
/* True if VALUE is a Lua number that can be shown to be whole and not negative (nonnegative.c). */
bool ir_is_nonnegative(const struct value *value);
/* True if a handler surely sets FIELD of the fresh record RECORD before it looks at it; its users are known. */
bool ir_initialises(const struct value *record, const struct field *field);
/* A division that may be by zero has an effect: each time it is counted in the ledger. */
bool ir_may_divide_by_zero(const struct value *value);
bool ir_has_effect(const struct value *value);
void ir_count_uses(struct function *function);
/* Fills the values' users and places, which hold until something is changed; and counts uses. */
void ir_find_users(struct function *function);
/*
 * Takes out what no root needs, directly or not. A write to a fresh record is needed where the record is; with FIELDS,
 * only where its field may be read, so that what nobody reads of a record costs nothing. Returns whether there was
 * anything.
 */
bool ir_drop_unused(struct function *function, bool (*is_root)(const struct value *value), bool fields);
/* Fills the blocks' dominators and order; drops unreachable blocks. */
void ir_dominators(struct function *function);
bool ir_dominates(const struct block *a, const struct block *b);
/* A listing for --explain and for debugging, on stderr. */
void ir_print(struct function *function);
/* What VALUE is, for messages, in ARENA: "an integer", "a table of the script". */
const char *ir_describe(struct arena *arena, const struct value *value);
/* Aborts where an invariant does not hold. */
void ir_check(struct function *function);
