/* The state of the pass that turns bytecode into SSA; shared by build.c (instructions), branch.c, ssa.c (variables),
 * loops.c, index.c (t[k]) and inline.c (f(x)). */
#pragma once

#include "compile/front/bytecode.h"
#include "compile/ir/ir.h"

enum { MAX_INLINE_DEPTH = 64, MAX_VALUES = 100000, MAX_RESULTS = 250 };

/* A loop of the bytecode: what the jumps back to one place enclose. */
struct loop {
    uint32_t first, last;            /* pcs: the place that is jumped back to, and the last such jump */
    const struct loop *outer;        /* around it, perhaps in a caller */
    bool numeric;                    /* FORI stands before it … */
    const struct position *position; /* … there */
    bool marked;                     /* LOOP says where a round begins */
    bool written[256];               /* slots that a round may change */
    struct block *header;            /* NULL until it is built */
    struct value *phis[256];         /* of the header, by slot */
};

/* One activation of a Lua function: the handler, or a function inlined into it. */
struct frame {
    struct frame *caller;
    int function;
    const struct bytecode *bytecode;
    const struct position *called_from; /* NULL for the handler */
    struct block **starts;              /* by pc: the block that starts there, NULL where no jump leads */
    bool *leaders;                      /* by pc: a jump leads there */
    struct loop **loops;                /* by pc: the loop that starts there */
    const struct loop *outside;         /* of an inlined function: the loop that the call stands in */
    const char **names;                 /* by slot: what it was loaded from, for messages */
    struct block *continuation;         /* of an inlined function: where its returns lead */
    struct result {
        struct value **values;
        size_t count;
    } * results; /* of each return, in the order of the continuation's predecessors */
    size_t result_count;
    struct value **multiple; /* the last call's results where their number is open (CALLM, RETM, TSETM) */
    size_t multiple_count;
};

struct build {
    struct function *function;
    struct compiler *compiler;
    struct arena *arena;
    struct frame *frame;
    struct block *block;     /* where values are appended; NULL: unreachable */
    const struct loop *loop; /* the innermost one there */
    uint32_t pc;
    const struct position *position;
};

#define build_fail(build, ...) compile_fail((build)->compiler, (build)->position, __VA_ARGS__)

/* Appends to the current block; and the value of SLOT of the current frame there. */
struct value *build_value(struct build *build, enum ir_op op, struct value *const *args, size_t count);
struct value *build_read(struct build *build, unsigned slot);
void build_write(struct build *build, unsigned slot, struct value *value);
/* The value of SLOT at the end of BLOCK where it is known without making a phi; else NULL. */
struct value *build_peek(const struct block *block, unsigned slot);
/* A block of the current frame, which stands nowhere yet. */
struct block *build_new_block(struct build *build);
/* Ends the current block by the way into LOOP and goes on in its header. */
void build_start_loop(struct build *build, struct loop *loop);
/* Ends the current block by a jump back to LOOP's header. */
void build_jump_back(struct build *build, struct loop *loop);
/* Ends the current block by a jump to BLOCK: what follows is not reached. */
void build_jump_to(struct build *build, struct block *block);
/* Puts BLOCK behind the blocks built so far and appends to it from now on. */
void build_continue(struct build *build, struct block *block);
/* Finds where the current frame's jumps lead: its leaders and loops. */
void build_find_jumps(struct build *build);
/* True if INSTRUCTION sets SLOT. */
bool build_writes(const struct instruction *instruction, unsigned slot);
/* The innermost loop around PC of those that have been started. */
const struct loop *build_loop_around(const struct build *build, uint32_t pc);
/* The block that starts at PC of the current frame, made where there is none yet. */
struct block *build_block_at(struct build *build, uint32_t pc);
/* Ends the current block by a jump to TARGET, forth or back to a loop's header. */
void build_jump(struct build *build, uint32_t target);
/* A OP B (IR_EQ, IR_LT, IR_LE): a constant where it is known. */
struct value *build_comparison(struct build *build, enum ir_op op, struct value *a, struct value *b);
/* Ends the current block by a branch on CONDITION to the bytecode at IF_TRUE or IF_FALSE. */
void build_branch(struct build *build, struct value *condition, uint32_t if_true, uint32_t if_false);
/* Ends it by a comparison (IR_EQ, IR_LT, IR_LE), whose JMP is the next instruction: taken where it holds, or does not
 * if NEGATED. */
void build_compare(struct build *build, enum ir_op op, struct value *a, struct value *b, bool negated);
/* Ends it by a test of Lua's truth, with the JMP behind it; COPY: the value tested is stored on the way that jumps. */
void build_test(struct build *build, const struct instruction *instruction, bool jump_if_true, bool copy);
/* A frame of the host's FUNCTION, called by CALLER; NULL and ERR where that has no bytecode. */
struct frame *build_new_frame(struct build *build, int function, struct frame *caller, struct error *err);
/* Translates FRAME's bytecode into the blocks from BUILD's block on. */
void build_frame(struct build *build);

/* A new record without fields. */
struct value *build_record(struct build *build);
/* base[key], where key is a value. BY_NAME: it stands there as a name, base.key, and may mean a method. NAME: what base
 * was loaded from, for messages. */
struct value *build_index(struct build *build, struct value *base, struct value *key, bool by_name, const char *name);
/* base[key] = value */
void build_assign(struct build *build, struct value *base, struct value *key, struct value *value, const char *name);
/* base[key], a constant string, as messages call it: "config.limit" in a table of the script, else "limit". */
const char *build_field_name(struct build *build, const struct value *base, const struct value *key, const char *name);
/* Tells the host that what has just been captured is used here, under NAME. */
void build_use_captured(struct build *build, const char *name);
/* Notes what the script calls a shared object. */
void build_name_object(struct build *build, const struct value *object, const char *name);

/* The handler's arguments, as fields of its event (argument.c). */
void argument_prepare(struct build *build);
/* e.args.NAME; refuses a NAME that the probe lacks, or NULL. */
struct value *argument_index(struct build *build, const char *name);
/* BASE[KEY], where BASE is e.vars, or one of its structs whose fields have places of their own. */
struct value *argument_variable(struct build *build, const struct value *base, const struct value *key);
/* The argument that e.NAME, such as "arg0", numbers; NULL if there is none. */
const struct event_field *argument_numbered(struct build *build, const char *name);
/* Refuses e.NAME where that is the number of an argument which the probe does not have. */
void argument_refuse(struct build *build, const char *name);
/* The value of one of the arguments. */
struct value *argument_value(struct build *build, const struct event_field *field);

/* e.regs, and e.regs.NAME (registers.c); refuse a kind of probe without registers, and a NAME that the CPU lacks, or
 * NULL. */
struct value *registers_value(struct build *build);
struct value *registers_index(struct build *build, const char *name);

/* printf(format, …): checks the format and emits the arguments. ARGS begins with the format. */
void build_printf(struct build *build, struct value **args, size_t count);
/* exit([code]): ends the run, and the handler here: nothing follows in the current block. */
void build_exit(struct build *build, struct value **args, size_t count);

/* Refuses the call of the function that Lua or uplua calls NAME ("math.max", "up.every"), with what to write
 * instead. */
_Noreturn void build_refuse_call(struct build *build, const char *name);
/* Refuses the call of a string's method NAME; ARGS begins with the string. */
_Noreturn void build_refuse_method(struct build *build, const char *name, struct value *const *args, size_t count);

/* callee(args…): the results, COUNT of them in *RESULTS (arena). WANTED: how many the caller takes, -1 if open. */
void build_call(struct build *build, struct value *callee, struct value **args, size_t arg_count, int wanted,
                const char *name, struct value ***results, size_t *count);

/* Marks the fields that a fresh record surely has before anything looks at it: IR_SET_FIELD's INITIALISES. */
void build_mark_initialisers(struct function *function);
/* The pass: the bytecode of FUNCTION's handler → its values and blocks. Fails by compile_fail. */
void pass_build(struct function *function);
/* Refuses what the formats of printf do not go with, and a status that is no integer, once the types are known. */
void output_check(struct function *function);
