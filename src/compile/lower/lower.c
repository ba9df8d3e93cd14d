/*
 * IR → machine operations. An optional value is two operands: itself and whether it is present; numbers are 0 where
 * absent, so that comparisons need no branch. Blocks that only count a loss stand behind the rest.
 */
#include "compile/lower/lower.h"

#include <signal.h>
#include <string.h>

#include "compile/ir/fold.h"
#include "compile/lower/entry.h"
#include "compile/lower/user_memory.h"
#include "sys/feature.h"

struct place *lower_place(struct lower *lower, struct value *value)
{
    value = ir_value(value);
    struct place *place = &lower->places[value->id];
    if (value->op != IR_CONSTANT || place->value.kind)
        return place;
    const struct captured *constant = &value->constant;
    switch (constant->kind) {
    case CAPTURED_NIL:
        place->value = operand_immediate(0);
        place->present = operand_immediate(0);
        break;
    case CAPTURED_BOOLEAN:
        place->value = operand_immediate(constant->boolean);
        break;
    case CAPTURED_NUMBER ... CAPTURED_U64:
        place->value = operand_immediate(fold_integer(lower->function, value, lower->program->position));
        break;
    default: /* strings go to memory where they are needed */
        break;
    }
    return place;
}

unsigned lower_ledger(struct lower *lower, const char *cause)
{
    const struct position *at = lower->program->position;
    /* A line of uplua's own modules (uplua.base.failure) tells the user nothing. */
    if (!at || !strncmp(at->file, "uplua/", strlen("uplua/")))
        return ledger_add(lower->compiler, cause);
    return ledger_add(lower->compiler, arena_format(lower->program->arena, "%s, %s:%d", cause, at->file, at->line));
}

struct machine_block *lower_loss(struct lower *lower, unsigned entry, struct machine_block *to, int64_t result)
{
    struct program *program = lower->program;
    struct fatal_losses *fatal = &lower->fatal[result][program->has_scratch];
    struct operand counter = operand_data(LEDGER_COUNTERS, 8 * (int64_t)entry);
    for (size_t i = 0; i < fatal->count && !to; i++)
        if (fatal->counters[i].number == counter.number)
            return fatal->end->predecessors[i];
    struct machine_block *here = program->block, *block = machine_block(program);
    block->cold = true;
    machine_place(program, block);
    if (to) {
        machine_add_atomic(program, BPF_DW, machine_copy(program, counter), 0, operand_immediate(1));
        machine_jump(program, to);
    } else {
        if (!fatal->end)
            fatal->end = machine_block(program);
        machine_jump(program, fatal->end);
        fatal->counters = arena_grow(program->arena, fatal->counters, fatal->count, sizeof *fatal->counters);
        fatal->counters[fatal->count++] = counter;
    }
    program->block = here;
    return block;
}

struct machine_block *lower_way(struct lower *lower, struct machine_block *to)
{
    struct machine_block *here = lower->program->block, *block = machine_block(lower->program);
    machine_place(lower->program, block);
    machine_jump(lower->program, to);
    lower->program->block = here;
    return block;
}

void lower_fatal_losses(struct lower *lower)
{
    struct program *program = lower->program;
    bool has_scratch = program->has_scratch;
    for (int result = 0; result < 2; result++)
        for (int scratch = 0; scratch < 2; scratch++) {
            struct fatal_losses *fatal = &lower->fatal[result][scratch];
            if (!fatal->end)
                continue;
            fatal->end->cold = true;
            machine_place(program, fatal->end);
            struct machine_instruction *counter = machine_phi(program, fatal->end);
            memcpy(counter->args, fatal->counters, fatal->count * sizeof *counter->args);
            machine_add_atomic(program, BPF_DW, operand_register(counter->result), 0, operand_immediate(1));
            program->has_scratch = scratch;
            machine_exit(program, result);
            *fatal = (struct fatal_losses){0};
        }
    program->has_scratch = has_scratch;
}

void lower_continue_if(struct lower *lower, uint8_t code, struct operand a, struct operand b,
                       struct machine_block *otherwise)
{
    struct machine_block *next = machine_block(lower->program);
    machine_branch(lower->program, code, a, b, next, otherwise);
    machine_place(lower->program, next);
}

void lower_require(struct lower *lower, const struct place *place, const char *what)
{
    if (place->present.kind == OPERAND_NONE)
        return;
    unsigned entry = lower_ledger(lower, arena_format(lower->program->arena, "handler ended by an error: %s", what));
    lower_continue_if(lower, BPF_JNE, place->present, operand_immediate(0), lower_loss(lower, entry, NULL, 0));
}

struct operand lower_number(struct lower *lower, struct value *value)
{
    const struct place *place = lower_place(lower, value);
    if (ir_value(value)->type.kind != TYPE_POINTER) /* a nil pointer's address is 0 */
        lower_require(lower, place, "arithmetic or comparison on nil");
    return place->value;
}

struct operand lower_is_not_negative(struct lower *lower, struct operand result)
{
    struct operand sign = machine_alu32(lower->program, BPF_RSH, result, operand_immediate(31));
    return machine_alu(lower->program, BPF_XOR, sign, operand_immediate(1));
}

struct operand lower_not_nil(struct lower *lower, struct operand reference)
{
    bool copied = lower->program->by_rounds && reference.kind == OPERAND_REGISTER;
    return copied ? machine_copy(lower->program, reference) : reference;
}

/* --- arithmetic --- */

/* |x| and the sign (0 or −1) of X in *SIGN. */
static struct operand magnitude(struct program *program, struct operand x, struct operand *sign)
{
    *sign = machine_alu(program, BPF_ARSH, x, operand_immediate(63));
    return machine_alu(program, BPF_SUB, machine_alu(program, BPF_XOR, x, *sign), *sign);
}

/* BPF's own signed division came with Linux 6.6: divide the magnitudes, then give the sign back. */
static struct operand divide(struct lower *lower, const struct value *value, struct operand a, struct operand b)
{
    struct program *program = lower->program;
    uint8_t code = value->op == IR_DIV ? BPF_DIV : BPF_MOD;
    if (value->type.kind == TYPE_U64)
        return machine_alu(program, code, a, b);
    struct operand a_sign, b_sign = operand_immediate(0);
    struct operand dividend = magnitude(program, a, &a_sign), divisor = b;
    if (b.kind != OPERAND_IMMEDIATE)
        divisor = magnitude(program, b, &b_sign);
    else if (b.number < 0) {
        divisor = operand_immediate((int64_t) - (uint64_t)b.number);
        b_sign = operand_immediate(-1);
    }
    struct operand result = machine_alu(program, code, dividend, divisor), sign = a_sign;
    if (value->op == IR_DIV && !(b_sign.kind == OPERAND_IMMEDIATE && !b_sign.number))
        sign = machine_alu(program, BPF_XOR, a_sign, b_sign);
    return machine_alu(program, BPF_SUB, machine_alu(program, BPF_XOR, result, sign), sign);
}

static struct operand divide_checked(struct lower *lower, const struct value *value, struct operand a, struct operand b)
{
    struct program *program = lower->program;
    if (b.kind == OPERAND_IMMEDIATE && b.number)
        return divide(lower, value, a, b);
    struct machine_block *join = machine_block(program);
    unsigned entry = lower_ledger(lower, value->op == IR_DIV ? "division by zero gave 0" : "remainder by zero gave 0");
    struct machine_block *zero = lower_loss(lower, entry, join, 0);
    lower_continue_if(lower, BPF_JNE, b, operand_immediate(0), zero);
    struct operand quotient = divide(lower, value, a, b);
    machine_continue(program, join);
    return machine_choose(program, join, zero, operand_immediate(0), quotient);
}

struct operand lower_cast(struct program *program, struct operand a, int64_t bits)
{
    int64_t width = bits < 0 ? -bits : bits;
    if (width == 64)
        return a;
    if (bits == 32)
        return machine_alu32(program, BPF_MOV, a, a);
    if (bits > 0)
        return machine_alu(program, BPF_AND, a, operand_immediate((INT64_C(1) << bits) - 1));
    struct operand shift = operand_immediate(64 - width);
    return machine_alu(program, BPF_ARSH, machine_alu(program, BPF_LSH, a, shift), shift);
}

static struct operand arithmetic(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct operand a = lower_number(lower, value->args[0]);
    struct operand b = value->arg_count > 1 ? lower_number(lower, value->args[1]) : operand_immediate(0);
    static const uint8_t codes[] = {
        [IR_ADD] = BPF_ADD, [IR_SUB] = BPF_SUB, [IR_MUL] = BPF_MUL, [IR_AND] = BPF_AND,  [IR_OR] = BPF_OR,
        [IR_XOR] = BPF_XOR, [IR_SHL] = BPF_LSH, [IR_SHR] = BPF_RSH, [IR_SAR] = BPF_ARSH,
    };
    switch (value->op) {
    case IR_DIV:
    case IR_MOD:
        return divide_checked(lower, value, a, b);
    case IR_NEG:
        return machine_alu(program, BPF_SUB, operand_immediate(0), a);
    case IR_BNOT:
        return machine_alu(program, BPF_XOR, a, operand_immediate(-1));
    case IR_CAST:
        return lower_cast(program, a, value->number);
    case IR_SHL ... IR_SAR:
        /* Shift counts are taken modulo 64, as LuaJIT does. */
        b = b.kind == OPERAND_IMMEDIATE ? operand_immediate(b.number & 63)
                                        : machine_alu(program, BPF_AND, b, operand_immediate(63));
        /* fall through */
    default:
        return machine_alu(program, codes[value->op], a, b);
    }
}

/* --- conditions --- */

/* To YES if A CODE B, which are numbers, else to NO. */
static void decide(struct lower *lower, uint8_t code, struct operand a, struct operand b, struct machine_block *yes,
                   struct machine_block *no)
{
    if (a.kind == OPERAND_REGISTER)
        a = widen_in_loop(lower, a);
    if (b.kind == OPERAND_REGISTER && code != BPF_JEQ && code != BPF_JNE)
        b = widen_in_loop(lower, b);
    machine_branch(lower->program, code, a, b, yes, no);
}

/*
 * Counts in the ledger where X, which is VALUE, is compared with WITH and would be another number as a C int: e.ret is
 * a register, whose lower half has a negative int and whose upper half is zero then. What is cast, or is known to be a
 * word, is what the script says that it is.
 */
static void note_int(struct lower *lower, const struct value *value, struct operand x, struct operand with, bool equal)
{
    struct program *program = lower->program;
    bool is_result = value->op == IR_EVENT_FIELD && value->event->source == EVENT_RETURN;
    if (!is_result || value->type.optional || lower->function->handler->provider->word_result ||
        x.kind != OPERAND_REGISTER || with.kind != OPERAND_IMMEDIATE || (equal && with.number >= 0))
        return;
    struct machine_block *go_on = machine_block(program);
    unsigned entry =
        lower_ledger(lower, "e.ret was compared as a whole register, and looks like a negative int: write i32(e.ret)");
    struct operand sign = machine_alu(program, BPF_RSH, x, operand_immediate(31));
    lower_continue_if(lower, BPF_JNE, sign, operand_immediate(1), lower_loss(lower, entry, go_on, 0));
    machine_continue(program, go_on);
}

/* To YES if the value at PLACE, of this TYPE, is not nil. */
static void decide_presence(struct lower *lower, const struct place *place, struct type type, struct machine_block *yes,
                            struct machine_block *no)
{
    if (type.kind == TYPE_RECORD)
        machine_branch(lower->program, BPF_JNE, place->present, operand_immediate(0), yes, no);
    else
        decide(lower, BPF_JNE, place->present, operand_immediate(0), yes, no);
}

static void condition(struct lower *lower, struct value *value, struct machine_block *yes, struct machine_block *no);

static void truth(struct lower *lower, struct value *value, struct machine_block *yes, struct machine_block *no)
{
    value = ir_value(value);
    const struct place *place = lower_place(lower, value);
    if (value->op == IR_NOT)
        return truth(lower, value->args[0], no, yes);
    if (value->type.kind == TYPE_BOOLEAN || value->type.kind == TYPE_NIL || value->type.kind == TYPE_NONE)
        decide(lower, BPF_JNE, place->value, operand_immediate(0), yes, no);
    else if (place->present.kind == OPERAND_NONE)
        machine_jump(lower->program, yes);
    else
        decide_presence(lower, place, value->type, yes, no);
}

static void equal(struct lower *lower, struct value *value, struct machine_block *yes, struct machine_block *no)
{
    struct value *a = ir_value(value->args[0]), *b = ir_value(value->args[1]);
    const struct place *x = lower_place(lower, a), *y = lower_place(lower, b);
    struct program *program = lower->program;
    if (a->type.kind == TYPE_NIL || b->type.kind == TYPE_NIL) {
        const struct value *tested = a->type.kind == TYPE_NIL ? b : a;
        const struct place *place = a->type.kind == TYPE_NIL ? y : x;
        if (place->present.kind == OPERAND_NONE)
            machine_jump(program, no);
        else
            decide_presence(lower, place, tested->type, no, yes);
        return;
    }
    /* Two values that may both be nil are equal then; one that is nil is not equal to one that is not. */
    bool x_optional = x->present.kind != OPERAND_NONE, y_optional = y->present.kind != OPERAND_NONE;
    if (x_optional && y_optional) {
        struct machine_block *x_nil = machine_block(program);
        lower_continue_if(lower, BPF_JNE, x->present, operand_immediate(0), x_nil);
        struct machine_block *here = program->block;
        machine_place(program, x_nil);
        machine_branch(program, BPF_JEQ, y->present, operand_immediate(0), yes, no);
        program->block = here;
    } else if (x_optional) {
        lower_continue_if(lower, BPF_JNE, x->present, operand_immediate(0), no);
    }
    if (y_optional)
        lower_continue_if(lower, BPF_JNE, y->present, operand_immediate(0), no);
    note_int(lower, a, x->value, y->value, true);
    note_int(lower, b, y->value, x->value, true);
    if (a->type.kind == TYPE_STRING)
        string_equal(lower, a, b, yes, no);
    else
        decide(lower, BPF_JEQ, x->value, y->value, yes, no);
}

static void ordered(struct lower *lower, struct value *value, struct machine_block *yes, struct machine_block *no)
{
    struct value *a = ir_value(value->args[0]), *b = ir_value(value->args[1]);
    struct operand x = lower_number(lower, a), y = lower_number(lower, b);
    bool is_unsigned = a->type.kind == TYPE_U64 || b->type.kind == TYPE_U64;
    note_int(lower, a, x, y, false);
    note_int(lower, b, y, x, false);
    uint8_t code = value->op == IR_LT ? (is_unsigned ? BPF_JLT : BPF_JSLT) : (is_unsigned ? BPF_JLE : BPF_JSLE);
    decide(lower, code, x, y, yes, no);
}

static void condition(struct lower *lower, struct value *value, struct machine_block *yes, struct machine_block *no)
{
    value = ir_value(value);
    switch (value->op) {
    case IR_EQ:
        return equal(lower, value, yes, no);
    case IR_LT:
    case IR_LE:
        return ordered(lower, value, yes, no);
    case IR_TRUTH:
        return truth(lower, value->args[0], yes, no);
    default:
        return truth(lower, value, yes, no);
    }
}

/* Conditions are computed where they are branched on; this is for `not` as a value. */
static void negation(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct machine_block *yes = machine_block(program), *no = machine_block(program), *join = machine_block(program);
    truth(lower, value->args[0], no, yes);
    machine_place(program, yes);
    machine_jump(program, join);
    machine_place(program, no);
    machine_continue(program, join);
    lower_place(lower, value)->value = machine_choose(program, join, yes, operand_immediate(1), operand_immediate(0));
}

/* --- loops --- */

/*
 * One budget for all loops of a run (handlers.md), a round counted where it begins; the count starts from memory, so
 * that the verifier takes it for any number. The kernel's own bound (may_goto) is larger; where it has none, see
 * bpf_loop.c.
 */
static void start_budget(struct lower *lower)
{
    struct program *program = lower->program;
    for (struct block *block = lower->function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            if (value->op == IR_LOOP && !lower->rounds) {
                widen_start(lower);
                lower->rounds = program_slot(program, 8);
                machine_store(program, BPF_DW, operand_slot(lower->rounds, 0), 0,
                              machine_load(program, BPF_DW, operand_slot(program->any_zero, 0), 0));
                program->by_rounds = !feature_available(FEATURE_MAY_GOTO);
                program->budget = lower->function->handler->provider->rounds;
            }
}

static void count_round(struct lower *lower)
{
    struct program *program = lower->program;
    struct operand rounds = operand_slot(lower->rounds, 0);
    struct operand count =
        machine_alu(program, BPF_ADD, machine_load(program, BPF_DW, rounds, 0), operand_immediate(1));
    machine_store(program, BPF_DW, rounds, 0, count);
    const char *cause = arena_format(program->arena, "handler ended: its loops ran %u,%03u rounds",
                                     program->budget / 1000, program->budget % 1000);
    struct machine_block *enough = lower_loss(lower, lower_ledger(lower, cause), NULL, 0);
    lower_continue_if(lower, BPF_JLE, widen_in_loop(lower, count), operand_immediate(program->budget), enough);
    if (program->by_rounds)
        return;
    struct machine_block *next = machine_block(program);
    machine_may_goto(program, next, enough);
    machine_place(program, next);
}

/* Once a handler has ended the run, those that begin later do nothing: what they share stays as it was then. */
static void stop_after_exit(struct lower *lower)
{
    struct program *program = lower->program;
    struct machine_block *ended = filter_ignore(lower, 0);
    struct operand word = machine_copy(program, operand_data(EXITED_COUNTERS, 0));
    lower_continue_if(lower, BPF_JEQ, machine_load(program, BPF_DW, word, 0), operand_immediate(0), ended);
}

static struct machine_block *block_of(struct lower *lower, struct block *block)
{
    if (!lower->first[block->id])
        lower->first[block->id] = machine_block(lower->program);
    return lower->first[block->id];
}

static void value_lower(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct place *place = lower_place(lower, value);
    if (value->position)
        program->position = value->position;
    switch (value->op) {
    case IR_PHI:
        return phi_lower(lower, value);
    case IR_PRESENT: {
        struct value *source = ir_value(value->args[0]);
        *place = maps_defer(lower, source) ? maps_load(lower, source) : *lower_place(lower, source);
        place->present = (struct operand){0};
        if (value->type.kind == TYPE_RECORD)
            place->value = lower_not_nil(lower, place->value);
        return;
    }
    case IR_ABSENT:
        *place = *lower_place(lower, value->args[0]);
        if (value->type.kind == TYPE_NIL)
            place->value = place->present = operand_immediate(0);
        return;
    case IR_EVENT_FIELD:
        return probe_event_field(lower, value);
    case IR_USTACK:
    case IR_KSTACK:
        return probe_stack(lower, value);
    case IR_STACK:
        return probe_joined_stack(lower, value);
    case IR_READ:
        return read_address(lower, value);
    case IR_STRING:
        return string_read(lower, value);
    case IR_BUFFER:
        return buffer_read(lower, value);
    case IR_LENGTH:
        return string_length(lower, value);
    case IR_STARTS:
        return string_starts(lower, value);
    case IR_FIND:
        return string_find(lower, value);
    case IR_FIND_END:
        return string_find_end(lower, value);
    case IR_POINTER:
        place->value = place->present = lower_place(lower, value->args[0])->value;
        return;
    case IR_ADD ... IR_CAST:
        place->value = arithmetic(lower, value);
        return;
    case IR_EQ ... IR_LE:
    case IR_TRUTH:
        return; /* where they are branched on */
    case IR_NOT:
        return negation(lower, value);
    case IR_RECORD:
        return memory_record(lower, value);
    case IR_GET_FIELD:
    case IR_GET_ELEMENT:
        return value->access                 ? read_access(lower, value)
               : value->op == IR_GET_ELEMENT ? element_load(lower, value)
                                             : memory_get_field(lower, value);
    case IR_SET_ELEMENT:
        return element_store(lower, value);
    case IR_SET_FIELD:
        return memory_set_field(lower, value);
    case IR_FIELD_ADD:
        return memory_add_field(lower, value);
    case IR_COPY:
        return memory_copy_record(lower, value);
    case IR_LOOP:
        return count_round(lower);
    case IR_JUMP:
        lower->last[value->block->id] = program->block;
        program->block->leads_back =
            value->block->next[0]->is_header && value->block->next[0]->predecessors[0] != value->block;
        return machine_jump(program, block_of(lower, value->block->next[0]));
    case IR_BRANCH:
        return condition(lower, value->args[0], block_of(lower, value->block->next[0]),
                         block_of(lower, value->block->next[1]));
    case IR_STOP:
        machine_call(program, BPF_FUNC_send_signal, OPERANDS(operand_immediate(SIGSTOP)));
        return;
    case IR_RETURN:
        elapsed_leave(lower);
        return machine_exit(program, 0);
    default:
        return maps_lower(lower, value);
    }
}

static void blocks(struct lower *lower)
{
    lower->program->body = block_of(lower, lower->function->entry);
    machine_jump(lower->program, lower->program->body);
    if (lower->program->by_rounds) /* the function for the rounds ends in its own places */
        lower_fatal_losses(lower);
    for (struct block *block = lower->function->entry; block; block = block->following) {
        struct machine_block *start = block_of(lower, block);
        if (!start->predecessor_count)
            continue;
        lower->block = block;
        lower->in_loop = lower->widens_loops && block->loop;
        machine_place(lower->program, start);
        for (struct value *value = block->first; value; value = value->next) {
            value_lower(lower, value);
            widen_value(lower, value);
        }
    }
    phi_set_arguments(lower);
}

/* Where a program at a tracepoint returns 0, the kernel keeps the event from everybody else who counts or records it,
 * such as perf. */
static void let_others_see(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following)
        if (block->last && block->last->op == M_EXIT)
            block->last->a = operand_immediate(1);
}

static void emit(struct program *program, const struct function *function, struct object *result)
{
    if (program->type == BPF_PROG_TYPE_TRACEPOINT)
        let_others_see(program);
    pass_emit(program, result, function->options, arena_format(program->arena, "handler/%s", program->name));
    if (program->rounds)
        pass_emit(program->rounds, result, function->options, NULL);
}

/* FUNCTION's program, with what SCRATCH says outside of the stack (NULL: nothing). */
static struct program *lower_function(struct lower *lower, struct function *function, const struct scratch *scratch)
{
    *lower = (struct lower){
        .function = function,
        .compiler = function->compiler,
        .places = arena_allocate(function->arena, function->value_count * sizeof *lower->places),
        .first = arena_allocate(function->arena, function->block_count * sizeof *lower->first),
        .last = arena_allocate(function->arena, function->block_count * sizeof *lower->last),
    };
    probe_pair(lower);
    probe_prologue(lower);
    struct program *program = lower->program;
    if (lower->compiler->exits)
        stop_after_exit(lower);
    program->scratch = scratch;
    start_budget(lower);
    scratch_claim(lower);
    widen_find(lower);
    if (lower->widened)
        widen_start(lower);
    blocks(lower);
    lower_fatal_losses(lower);
    return program;
}

void pass_lower(struct function *function, struct object *result)
{
    struct lower lower;
    struct scratch scratch = {0};
    ir_find_users(function);
    entry_settle(function);
    struct program *program = lower_function(&lower, function, NULL);
    for (uint32_t excess; (excess = pass_allocate_registers(program)) > 0;) {
        scratch_move(program, &scratch, excess);
        program = lower_function(&lower, function, &scratch);
    }
    probe_declare(&lower, result);
    emit(program, function, result);
    struct program *entry = probe_entry_half(&lower);
    if (entry && pass_allocate_registers(entry))
        compile_fail(entry->compiler, entry->position, "the entry of %s saves more than the stack holds",
                     function->handler->probe);
    if (entry)
        emit(entry, function, result);
}
