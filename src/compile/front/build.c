/*
 * Bytecode → SSA. Each basic block of the bytecode becomes a block, in an order that is topological apart from the
 * jumps back to a loop's header. Calls of Lua functions are inlined (inline.c): their blocks stand between the
 * caller's.
 */
#include "compile/front/build.h"

#include <string.h>

#include "compile/infer/infer.h"
#include "compile/ir/fold.h"

struct value *build_value(struct build *build, enum ir_op op, struct value *const *args, size_t count)
{
    if (build->function->value_count > MAX_VALUES)
        build_fail(build, "the handler is too large with all its functions inlined (%d operations)", MAX_VALUES);
    return ir_append(build->function, build->block, op, build->position, args, count);
}

static uint32_t jump_target(const struct build *build, const struct instruction *instruction)
{
    return build->pc + 1 + instruction->d - 0x8000u;
}

static struct value *constant(struct build *build, const struct constant *from)
{
    struct captured captured = {.kind = CAPTURED_NIL};
    switch (from->kind) {
    case CONSTANT_NIL:
        break;
    case CONSTANT_FALSE:
    case CONSTANT_TRUE:
        captured = (struct captured){.kind = CAPTURED_BOOLEAN, .boolean = from->kind == CONSTANT_TRUE};
        break;
    case CONSTANT_NUMBER:
        captured = (struct captured){.kind = CAPTURED_NUMBER, .number = from->number};
        break;
    case CONSTANT_I64:
    case CONSTANT_U64:
        captured.kind = from->kind == CONSTANT_I64 ? CAPTURED_I64 : CAPTURED_U64;
        captured.u64 = from->u64;
        break;
    case CONSTANT_STRING:
        captured = (struct captured){.kind = CAPTURED_STRING, .string = {from->string.bytes, from->string.length}};
        break;
    case CONSTANT_COMPLEX:
        build_fail(build, "a handler cannot compute with imaginary numbers");
    case CONSTANT_CHILD:
    case CONSTANT_TABLE:
        build_fail(build, "corrupt bytecode: a function or table as operand");
    }
    return ir_constant(build->function, &captured);
}

static struct value *constant_at(struct build *build, unsigned index)
{
    if (index >= build->frame->bytecode->constant_count)
        build_fail(build, "corrupt bytecode: no such constant");
    return constant(build, &build->frame->bytecode->constants[index]);
}

static struct value *number_at(struct build *build, unsigned index)
{
    if (index >= build->frame->bytecode->number_count)
        build_fail(build, "corrupt bytecode: no such number");
    return constant(build, &build->frame->bytecode->numbers[index]);
}

static struct value *primitive(struct build *build, unsigned number)
{
    return number ? ir_boolean(build->function, number == 2) : ir_nil(build->function);
}

static void arithmetic(struct build *build, unsigned slot, enum ir_op op, struct value *a, struct value *b)
{
    struct value *folded = fold_arithmetic(build->function, op, 0, a, b, build->position);
    build_write(build, slot, folded ? folded : build_value(build, op, (struct value *[]){a, b}, b ? 2 : 1));
}

/* The operator of ADDVN … MODVV: three groups of five. */
static enum ir_op operator_of(enum bytecode_op op, enum bytecode_op first)
{
    static const enum ir_op operators[] = {IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MOD};
    return operators[op - first];
}

static void return_values(struct build *build, struct value **values, size_t count)
{
    struct frame *frame = build->frame;
    if (!frame->caller) {
        build_value(build, IR_RETURN, NULL, 0);
        build->block = NULL;
        return;
    }
    frame->results = arena_grow(build->arena, frame->results, frame->result_count, sizeof *frame->results);
    struct result *result = &frame->results[frame->result_count++];
    result->count = count;
    result->values = arena_allocate(build->arena, (count + 1) * sizeof *values);
    if (count)
        memcpy(result->values, values, count * sizeof *values);
    build_jump_to(build, frame->continuation);
}

/* COUNT slots from FIRST on, then the open results of the last call if MULTIPLE. */
static struct value **gather(struct build *build, unsigned first, size_t count, bool multiple, size_t *total)
{
    struct frame *frame = build->frame;
    *total = count + (multiple ? frame->multiple_count : 0);
    struct value **values = arena_allocate(build->arena, (*total + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = build_read(build, first + (unsigned)i);
    for (size_t i = count; i < *total; i++)
        values[i] = frame->multiple[i - count];
    return values;
}

static void call(struct build *build, const struct instruction *instruction)
{
    bool multiple = instruction->op == BYTECODE_CALLM || instruction->op == BYTECODE_CALLMT;
    bool tail = instruction->op == BYTECODE_CALLT || instruction->op == BYTECODE_CALLMT;
    size_t fixed = tail ? instruction->d : instruction->c;
    if (!multiple)
        fixed--;
    size_t count, result_count;
    struct value *callee = build_read(build, instruction->a);
    struct value **args = gather(build, instruction->a + 2u, fixed, multiple, &count), **results;
    int wanted = tail || !instruction->b ? -1 : instruction->b - 1;
    build_call(build, callee, args, count, wanted, build->frame->names[instruction->a], &results, &result_count);
    if (!build->block)
        return; /* the function called never returns */
    if (tail) {
        return_values(build, results, result_count);
    } else if (wanted < 0) {
        build->frame->multiple = results;
        build->frame->multiple_count = result_count;
    } else {
        for (int i = 0; i < wanted; i++)
            build_write(build, instruction->a + (unsigned)i,
                        (size_t)i < result_count ? results[i] : ir_nil(build->function));
    }
}

static void set_tuple(struct build *build, struct value *record, int64_t index, struct value *value)
{
    build_assign(build, record, ir_number(build->function, (double)index), value, NULL);
}

struct value *build_record(struct build *build)
{
    struct value *record = build_value(build, IR_RECORD, NULL, 0);
    record->type = (struct type){.kind = TYPE_RECORD, .record = record_new(build->arena)};
    return record;
}

static void record_from_template(struct build *build, const struct instruction *instruction)
{
    const struct bytecode *bytecode = build->frame->bytecode;
    if (instruction->d >= bytecode->constant_count || bytecode->constants[instruction->d].kind != CONSTANT_TABLE)
        build_fail(build, "corrupt bytecode: no such table");
    const struct constant_table *table = bytecode->constants[instruction->d].table;
    struct value *record = build_record(build);
    for (size_t i = 0; i < table->array_size; i++)
        if (table->array[i].kind != CONSTANT_NIL)
            set_tuple(build, record, (int64_t)i, constant(build, &table->array[i]));
    for (size_t i = 0; i < table->pair_count; i++)
        if (table->pairs[i].value.kind != CONSTANT_NIL)
            build_assign(build, record, constant(build, &table->pairs[i].key), constant(build, &table->pairs[i].value),
                         NULL);
    build_write(build, instruction->a, record);
}

const char *build_field_name(struct build *build, const struct value *base, const struct value *key, const char *name)
{
    bool of_script = base->op == IR_CONSTANT && base->constant.kind == CAPTURED_TABLE && name;
    return of_script ? arena_format(build->arena, "%s.%s", name, key->constant.string.bytes)
                     : key->constant.string.bytes;
}

void build_use_captured(struct build *build, const char *name)
{
    const struct host *host = &build->compiler->host;
    if (host->used && name)
        host->used(host->context, name, build->position->file, build->position->line);
}

static void load_captured(struct build *build, const struct instruction *instruction)
{
    struct frame *frame = build->frame;
    const struct host *host = &build->compiler->host;
    struct captured captured;
    const char *name;
    if (instruction->op == BYTECODE_UGET) {
        if (instruction->d >= frame->bytecode->upvalue_count)
            build_fail(build, "corrupt bytecode: no such upvalue");
        name = frame->bytecode->upvalues[instruction->d].name;
        captured = host->upvalue(host->context, frame->function, instruction->d);
    } else {
        const struct value *key = constant_at(build, instruction->d);
        name = key->constant.string.bytes;
        captured = host->global(host->context, frame->function, name, key->constant.string.length);
    }
    struct value *value = ir_constant(build->function, &captured);
    build_use_captured(build, name);
    build_name_object(build, value, name);
    build_write(build, instruction->a, value);
    frame->names[instruction->a] = name;
}

/* Leads into the loop's body where the index has not passed STOP on its way UP or down. */
static void branch_for(struct build *build, bool up, struct value *index, struct value *stop, uint32_t after)
{
    struct value *more = up ? build_comparison(build, IR_LE, index, stop) : build_comparison(build, IR_LE, stop, index);
    build_branch(build, more, build->pc + 1, after);
}

/* The step's sign decides whether a numeric for goes up or down; as in LuaJIT a step of 0 goes up, and never comes to
 * the end. */
static void start_for(struct build *build, const struct instruction *instruction)
{
    unsigned base = instruction->a;
    uint32_t after = jump_target(build, instruction);
    struct loop *loop = build->frame->loops[build->pc + 1];
    if (!loop) /* the body never comes to its end */
        build_fail(build, "this loop never has a second round: write its body without the loop");
    loop->position = build->position;
    build_start_loop(build, loop);
    struct value *index = build_read(build, base), *stop = build_read(build, base + 1),
                 *step = build_read(build, base + 2);
    index->bounds[0] = stop;
    index->bounds[1] = step;
    build_write(build, base + 3, index);
    if (fold_is_number(step))
        fold_integer(build->function, step, build->position);
    struct value *goes_up = build_comparison(build, IR_LE, ir_number(build->function, 0), step);
    int known = fold_truth(goes_up);
    if (known >= 0)
        return branch_for(build, known, index, stop, after);
    struct block *ways[2];
    build_value(build, IR_BRANCH, &goes_up, 1);
    for (int i = 0; i < 2; i++) {
        ways[i] = build_new_block(build);
        ir_connect(build->block, ways[i], build->function);
    }
    for (int i = 0; i < 2; i++) {
        build_continue(build, ways[i]);
        branch_for(build, i == 0, index, stop, after);
    }
}

static void next_round(struct build *build, const struct instruction *instruction)
{
    unsigned base = instruction->a;
    struct loop *loop = build->frame->loops[jump_target(build, instruction)];
    arithmetic(build, base, IR_ADD, build_read(build, base), build_read(build, base + 2));
    build_jump_back(build, loop);
}

static _Noreturn void refuse_assignment(struct build *build, const struct instruction *instruction)
{
    const struct bytecode *bytecode = build->frame->bytecode;
    const char *name = "v";
    if (instruction->op == BYTECODE_GSET)
        name = constant_at(build, instruction->d)->constant.string.bytes;
    else if (instruction->a < bytecode->upvalue_count)
        name = bytecode->upvalues[instruction->a].name;
    build_fail(build,
               "a handler cannot assign to '%s', a variable outside of it; have %s = up.var(0) outside, and "
               "%s:set(value) or %s:add(n) here",
               name, name, name, name);
}

static _Noreturn void refuse(struct build *build, enum bytecode_op op)
{
    switch (op) {
    case BYTECODE_FNEW:
        build_fail(build, "a handler cannot create functions; define the function outside and call it: it is inlined");
    case BYTECODE_VARG:
        build_fail(build, "'...' is not available in a handler; name the parameters");
    case BYTECODE_POW:
        build_fail(build, "'^' on values of the kernel is not available in a handler; multiply");
    case BYTECODE_ITERC:
    case BYTECODE_ITERN:
    case BYTECODE_ISNEXT:
        build_fail(build, "a handler cannot use the generic for; iterate in user space, with m:pairs()");
    default:
        build_fail(build, "a handler cannot do this (bytecode %s)", bytecode_op_name(op));
    }
}

static void load(struct build *build, const struct instruction *instruction)
{
    struct value *value;
    switch (instruction->op) {
    case BYTECODE_KSTR:
    case BYTECODE_KCDATA:
        value = constant_at(build, instruction->d);
        break;
    case BYTECODE_KSHORT:
        value = ir_number(build->function, (int16_t)instruction->d);
        break;
    case BYTECODE_KNUM:
        value = number_at(build, instruction->d);
        break;
    case BYTECODE_KPRI:
        value = primitive(build, instruction->d);
        break;
    default: { /* MOV */
        const char *name = build->frame->names[instruction->d];
        build_write(build, instruction->a, build_read(build, instruction->d));
        if (!build->frame->names[instruction->a])
            build->frame->names[instruction->a] = name;
        return;
    }
    }
    build_write(build, instruction->a, value);
}

static void negate(struct build *build, const struct instruction *instruction)
{
    struct value *value = build_read(build, instruction->d);
    refuse_reading(build->compiler, build->position, value);
    int known = fold_truth(value);
    build_write(build, instruction->a,
                known >= 0 ? ir_boolean(build->function, !known) : build_value(build, IR_NOT, &value, 1));
}

/* Constants are joined when the handler is compiled; a string that is made at run time would have no bound. */
static void concatenate(struct build *build, unsigned slot, unsigned first, unsigned last)
{
    struct captured joined = {.kind = CAPTURED_STRING, .string = {"", 0}};
    for (unsigned i = first; i <= last; i++) {
        const struct value *part = build_read(build, i);
        if (part->op != IR_CONSTANT || part->constant.kind != CAPTURED_STRING)
            build_fail(build, "a handler cannot build strings; emit the parts and join them in the ring's callback, "
                              "or take them as a key: { \"name\", e.arg0 }");
        size_t length = joined.string.length + part->constant.string.length;
        if (length >= MAX_STRING) /* or a few lines would ask for gigabytes */
            build_fail(build, "a string of %zu bytes is too long for a handler, where up to %d fit", length,
                       MAX_STRING - 1);
        char *bytes = arena_allocate(build->arena, length + 1);
        memcpy(bytes, joined.string.bytes, joined.string.length);
        memcpy(bytes + joined.string.length, part->constant.string.bytes, part->constant.string.length);
        joined.string.bytes = bytes;
        joined.string.length = length;
    }
    build_write(build, slot, ir_constant(build->function, &joined));
}

static void length(struct build *build, unsigned slot, struct value *value)
{
    bool constant = value->op == IR_CONSTANT && value->constant.kind == CAPTURED_STRING;
    if (!constant && !value->block)
        build_fail(build, "in a handler only strings have a length");
    build_write(build, slot,
                constant ? ir_number(build->function, (double)value->constant.string.length)
                         : build_value(build, IR_LENGTH, &value, 1));
}

static void index_or_assign(struct build *build, const struct instruction *instruction)
{
    bool assigns =
        instruction->op == BYTECODE_TSETV || instruction->op == BYTECODE_TSETS || instruction->op == BYTECODE_TSETB;
    struct value *key;
    if (instruction->op == BYTECODE_TGETS || instruction->op == BYTECODE_TSETS)
        key = constant_at(build, instruction->c);
    else if (instruction->op == BYTECODE_TGETB || instruction->op == BYTECODE_TSETB)
        key = ir_number(build->function, instruction->c);
    else
        key = build_read(build, instruction->c);
    struct value *base = build_read(build, instruction->b);
    const char *name = build->frame->names[instruction->b];
    if (assigns)
        build_assign(build, base, key, build_read(build, instruction->a), name);
    else
        build_write(build, instruction->a, build_index(build, base, key, instruction->op == BYTECODE_TGETS, name));
    if (!assigns && !build->frame->names[instruction->a] && key->constant.kind == CAPTURED_STRING)
        build->frame->names[instruction->a] = build_field_name(build, base, key, name);
}

/* One instruction. Comparisons take the JMP behind them along: that is skipped by the caller, as nothing reaches it. */
static void translate(struct build *build, const struct instruction *instruction)
{
    enum bytecode_op op = instruction->op;
    unsigned a = instruction->a, b = instruction->b, c = instruction->c, d = instruction->d;
    size_t count;
    switch (op) {
    case BYTECODE_ISLT:
        return build_compare(build, IR_LT, build_read(build, a), build_read(build, d), false);
    case BYTECODE_ISGE:
        return build_compare(build, IR_LT, build_read(build, a), build_read(build, d), true);
    case BYTECODE_ISLE:
        return build_compare(build, IR_LE, build_read(build, a), build_read(build, d), false);
    case BYTECODE_ISGT:
        return build_compare(build, IR_LE, build_read(build, a), build_read(build, d), true);
    case BYTECODE_ISEQV:
    case BYTECODE_ISNEV:
        return build_compare(build, IR_EQ, build_read(build, a), build_read(build, d), op == BYTECODE_ISNEV);
    case BYTECODE_ISEQS:
    case BYTECODE_ISNES:
        return build_compare(build, IR_EQ, build_read(build, a), constant_at(build, d), op == BYTECODE_ISNES);
    case BYTECODE_ISEQN:
    case BYTECODE_ISNEN:
        return build_compare(build, IR_EQ, build_read(build, a), number_at(build, d), op == BYTECODE_ISNEN);
    case BYTECODE_ISEQP:
    case BYTECODE_ISNEP:
        return build_compare(build, IR_EQ, build_read(build, a), primitive(build, d), op == BYTECODE_ISNEP);
    case BYTECODE_ISTC:
    case BYTECODE_ISFC:
        return build_test(build, instruction, op == BYTECODE_ISTC, true);
    case BYTECODE_IST:
    case BYTECODE_ISF:
        return build_test(build, instruction, op == BYTECODE_IST, false);
    case BYTECODE_MOV:
    case BYTECODE_KSTR ... BYTECODE_KPRI:
        return load(build, instruction);
    case BYTECODE_KNIL:
        for (unsigned slot = a; slot <= d; slot++)
            build_write(build, slot, ir_nil(build->function));
        return;
    case BYTECODE_NOT:
        return negate(build, instruction);
    case BYTECODE_CAT:
        return concatenate(build, a, b, c);
    case BYTECODE_LEN:
        return length(build, a, build_read(build, d));
    case BYTECODE_UNM:
        return arithmetic(build, a, IR_NEG, build_read(build, d), NULL);
    case BYTECODE_ADDVN ... BYTECODE_MODVN:
        return arithmetic(build, a, operator_of(op, BYTECODE_ADDVN), build_read(build, b), number_at(build, c));
    case BYTECODE_ADDNV ... BYTECODE_MODNV:
        return arithmetic(build, a, operator_of(op, BYTECODE_ADDNV), number_at(build, c), build_read(build, b));
    case BYTECODE_ADDVV ... BYTECODE_MODVV:
        return arithmetic(build, a, operator_of(op, BYTECODE_ADDVV), build_read(build, b), build_read(build, c));
    case BYTECODE_BNOT:
        return arithmetic(build, a, IR_BNOT, build_read(build, d), NULL);
    case BYTECODE_BAND ... BYTECODE_BSAR:
        return arithmetic(build, a, IR_AND + (op - BYTECODE_BAND), build_read(build, b), build_read(build, c));
    case BYTECODE_UGET:
    case BYTECODE_GGET:
        return load_captured(build, instruction);
    case BYTECODE_TNEW:
        return build_write(build, a, build_record(build));
    case BYTECODE_TDUP:
        return record_from_template(build, instruction);
    case BYTECODE_TGETV ... BYTECODE_TGETB:
    case BYTECODE_TSETV ... BYTECODE_TSETB:
        return index_or_assign(build, instruction);
    case BYTECODE_TSETM: {
        /* The table is at A - 1; D is a number whose low 32 bits are the first index. */
        const struct value *first = number_at(build, d);
        uint64_t bits;
        memcpy(&bits, &first->constant.number, sizeof bits);
        for (size_t i = 0; i < build->frame->multiple_count; i++)
            set_tuple(build, build_read(build, a - 1), (int64_t)((uint32_t)bits + i), build->frame->multiple[i]);
        return;
    }
    case BYTECODE_CALL:
    case BYTECODE_CALLM:
    case BYTECODE_CALLT:
    case BYTECODE_CALLMT:
        return call(build, instruction);
    case BYTECODE_RET0:
        return return_values(build, NULL, 0);
    case BYTECODE_RET1:
    case BYTECODE_RET:
    case BYTECODE_RETM: {
        struct value **values = gather(build, a, op == BYTECODE_RETM ? d : d - 1, op == BYTECODE_RETM, &count);
        return return_values(build, values, count);
    }
    case BYTECODE_FORI:
        return start_for(build, instruction);
    case BYTECODE_FORL:
        return next_round(build, instruction);
    case BYTECODE_LOOP: /* marks for the JIT where a round begins: behind the condition of `while` */
        build_value(build, IR_LOOP, NULL, 0);
        return;
    case BYTECODE_JMP:
    case BYTECODE_UCLO:
        return build_jump(build, jump_target(build, instruction));
    case BYTECODE_USETV ... BYTECODE_USETP:
    case BYTECODE_GSET:
        refuse_assignment(build, instruction);
    default:
        refuse(build, op);
    }
}

void build_frame(struct build *build)
{
    struct frame *frame = build->frame;
    const struct bytecode *bytecode = frame->bytecode;
    const char *file = bytecode->file;
    build_find_jumps(build);
    for (build->pc = 0; build->pc < bytecode->instruction_count; build->pc++) {
        const struct instruction *instruction = &bytecode->instructions[build->pc];
        if (!build->position || build->position->line != instruction->line || build->position->file != file ||
            build->position->caller != frame->called_from) {
            struct position *position = arena_allocate(build->arena, sizeof *position);
            *position = (struct position){file, instruction->line, frame->called_from};
            build->position = position;
        }
        if (frame->leaders[build->pc]) {
            if (build->block)
                build_jump_to(build, build_block_at(build, build->pc));
            struct loop *loop = frame->loops[build->pc];
            build->loop = build_loop_around(build, build->pc);
            if (frame->starts[build->pc])
                build_continue(build, frame->starts[build->pc]);
            if (build->block && loop && loop->numeric) /* its header is the FORI before */
                build_value(build, IR_LOOP, NULL, 0)->position = loop->position;
            else if (build->block && loop)
                build_start_loop(build, loop);
        }
        if (build->block)
            translate(build, instruction);
    }
    if (build->block)
        build_fail(build, "corrupt bytecode: the function does not end");
}

struct frame *build_new_frame(struct build *build, int function, struct frame *caller, struct error *err)
{
    const struct host *host = &build->compiler->host;
    const struct bytecode *bytecode = host->bytecode(host->context, function, err);
    if (!bytecode)
        return NULL;
    struct frame *frame = arena_allocate(build->arena, sizeof *frame);
    size_t size = bytecode->instruction_count + 1;
    *frame = (struct frame){
        .caller = caller,
        .function = function,
        .bytecode = bytecode,
        .called_from = build->position,
        .outside = build->loop,
        .starts = arena_allocate(build->arena, size * sizeof *frame->starts),
        .leaders = arena_allocate(build->arena, size * sizeof *frame->leaders),
        .loops = arena_allocate(build->arena, size * sizeof *frame->loops),
        .names = arena_allocate(build->arena, 258 * sizeof *frame->names),
    };
    return frame;
}

void pass_build(struct function *function)
{
    struct compiler *compiler = function->compiler;
    struct build build = {.function = function, .compiler = compiler, .arena = function->arena};
    struct error err = {0};
    build.frame = build_new_frame(&build, function->handler->function, NULL, &err);
    if (!build.frame)
        compile_fail(compiler, NULL, "%s: %s", function->handler->probe, err.text);
    const struct bytecode *bytecode = build.frame->bytecode;
    struct position *position = arena_allocate(function->arena, sizeof *position);
    *position = (struct position){bytecode->file, bytecode->first_line, NULL};
    function->position = position;
    function->event = ir_append(function, NULL, IR_EVENT, NULL, NULL, 0);
    function->event->type.kind = TYPE_STATIC;
    argument_prepare(&build);
    build_continue(&build, build_new_block(&build));
    if (bytecode->parameters) {
        build.block->slots[0] = function->event;
        build.frame->names[0] = "e";
    }
    for (unsigned slot = 1; slot < bytecode->parameters; slot++)
        build.block->slots[slot] = ir_nil(function);
    build_frame(&build);
    ir_dominators(function);
    build_mark_initialisers(function);
}
