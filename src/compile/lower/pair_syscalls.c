/*
 * Saves values at the entry of a system call for the handler at its exit, in task storage, which ends with the thread.
 * What a return belongs to is decided by what the thread has done before (bpf/system_calls.bpf.c). The programs of one
 * call stand at that call's tracepoints; where signals are delivered and their handlers end, and where calls go on as
 * restart_syscall, the entry and the return half stand, too, which costs the other calls nothing. rt_sigreturn, whose
 * number is gone at its exit, has none of its own there: its programs stand at all calls, as those of all do. An exit
 * of a thread that has done nothing yet belongs to a call that began before tracing, or to a thread that was just born;
 * it is not reported. Another one without an entry is a call that seccomp has refused: the kernel tells of its return
 * alone.
 */
#include "arch/arch.h"
#include "compile/context/probe_state.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

#include "../bpf/system_calls.h"

enum { VALUES = sizeof(struct system_calls) };

/* The context's words of a raw tracepoint at the entry and the exit: registers, and number or result; at
 * signal_deliver: the signal's number, what is known of it, and what is done with it. */
enum { REGISTERS = 0, NUMBER = 8, RESULT = 8, SIGNAL = 0, ACTION = 16, SIGNALS = 65 };
/* Those of one call's tracepoints, behind the registers: its number, and its result; at signal_deliver the signal's
 * handler and its flags. Arguments are asked of the registers: rt_sigreturn's record has none, and a program that loads
 * them of another one cannot be attached there. */
enum { NAMED_NUMBER = 8, NAMED_RESULT = 16, NAMED_ACTION = 24 };

static struct operand storage(struct lower *lower)
{
    struct operand task = machine_call(lower->program, BPF_FUNC_get_current_task_btf, NULL, 0);
    return pairing_storage(lower->program, probe_calls_map(lower), task, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static struct operand word(struct lower *lower, int64_t offset)
{
    return machine_load(lower->program, BPF_DW, lower->context, offset);
}

static struct operand wanted(const struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    return operand_immediate(handler->raw ? handler->call : SYSTEM_CALL_NAMED);
}

/* The call's number in the record of one call's tracepoint. */
static struct operand number(struct lower *lower)
{
    return machine_load(lower->program, BPF_W, lower->context, NAMED_NUMBER);
}

/* Where the values of the call at PLACE are in the storage KEPT, less VALUES. */
static struct operand values_of(struct lower *lower, struct operand kept, struct operand place)
{
    struct program *program = lower->program;
    struct operand at = machine_alu(program, BPF_AND, place, operand_immediate(SYSTEM_CALLS_DEEPEST - 1));
    at = machine_alu(program, BPF_MUL, at, operand_immediate(8 * (int64_t)lower->saved_count));
    return machine_alu(program, BPF_ADD, kept, at);
}

/* Not 0 in a call by another interface than this CPU's 64-bit one. */
static struct operand is_compat(struct lower *lower)
{
    struct program *program = lower->program;
    struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
    /* the task begins with its thread_info */
    return machine_alu(program, BPF_AND, machine_load(program, BPF_W, task, arch_cpu.compat_word),
                       operand_immediate(arch_cpu.compat_flag));
}

void syscall_expect_native(struct lower *lower)
{
    int call = lower->function->handler->call;
    const char *cause = call == SYSTEM_CALL_COMPAT ? "made by the 32-bit interface, which may be one of them: not seen"
                        : call < 0                 ? "call of a 32-bit program: not seen"
                                   : "calls by the 32-bit interface, any of which may be this one: not seen";
    lower_continue_if(lower, BPF_JEQ, is_compat(lower), operand_immediate(0), probe_loss(lower, cause, 0));
}

void syscall_expect_compat(struct lower *lower)
{
    lower_continue_if(lower, BPF_JNE, is_compat(lower), operand_immediate(0), filter_ignore(lower, 0));
}

/* --- entry --- */

/* Counts NUMBER calls that have ended without a return; in entry LOSS of the ledger, unless that is NULL. */
static void count_ended(struct lower *lower, struct operand number, const unsigned *loss)
{
    struct program *program = lower->program;
    struct machine_block *some = machine_block(program), *next = machine_block(program);
    some->cold = true;
    machine_branch(program, BPF_JEQ, number, operand_immediate(0), next, some);
    machine_place(program, some);
    if (loss)
        machine_add_atomic(program, BPF_DW, machine_copy(program, operand_data(LEDGER_COUNTERS, 8 * (int64_t)*loss)), 0,
                           number);
    else
        state_count_ended(program, lower->function->handler_number, number);
    machine_continue(program, next);
}

/* Counts what RESULT, of uplua_system_call_begin, says of calls before. */
static void count_before(struct lower *lower, struct operand result)
{
    struct program *program = lower->program;
    struct machine_block *some = machine_block(program), *next = machine_block(program);
    unsigned loss = probe_ledger(lower, "calls that never returned: left by longjmp or the like");
    struct operand counts = machine_alu(program, BPF_RSH, result, operand_immediate(SYSTEM_CALL_PLACE_BITS));
    some->cold = true;
    machine_branch(program, BPF_JEQ, counts, operand_immediate(0), next, some);
    machine_place(program, some);
    count_ended(lower, machine_alu(program, BPF_AND, counts, operand_immediate((1 << SYSTEM_CALL_LEFT_BITS) - 1)),
                &loss);
    if (lower->function->handler->version)
        count_ended(lower, machine_alu(program, BPF_RSH, counts, operand_immediate(SYSTEM_CALL_LEFT_BITS)), NULL);
    machine_continue(program, next);
}

/* Calls uplua_system_call_begin; where there is no memory for the thread, goes to NONE. Returns its result; the storage
 * in *KEPT. */
static struct operand begin(struct lower *lower, bool passed_by, struct machine_block *none, struct operand *kept)
{
    struct operand called = lower->function->handler->raw ? word(lower, NUMBER) : number(lower);
    *kept = storage(lower);
    lower_continue_if(lower, BPF_JNE, *kept, operand_immediate(0), none);
    struct operand result = machine_call_library(lower->program, "uplua_system_call_begin",
                                                 OPERANDS(*kept, called, wanted(lower), operand_immediate(passed_by)));
    count_before(lower, result);
    return result;
}

/* A call of a thread that is not traced now, but may be when the call returns. */
static struct machine_block *pass_by(struct lower *lower)
{
    struct program *program = lower->program;
    if (!filter_turns(lower))
        return NULL;
    struct machine_block *here = program->block, *block = machine_block(program), *ignore = filter_ignore(lower, 0);
    struct operand kept;
    block->cold = true;
    machine_place(program, block);
    if (lower->function->handler->raw)
        lower_continue_if(lower, BPF_JEQ, is_compat(lower), operand_immediate(0), ignore);
    begin(lower, true, ignore, &kept);
    machine_exit(program, 0);
    program->block = here;
    return block;
}

static void save(struct lower *lower, int64_t failed)
{
    struct program *program = lower->program;
    struct operand kept;
    filter_now(lower, pass_by(lower));
    if (lower->function->handler->raw)
        syscall_expect_native(lower);
    struct operand result = begin(lower, false, probe_loss(lower, "no memory for a call: not seen", failed), &kept);
    struct operand place = machine_alu(program, BPF_AND, result, operand_immediate((1 << SYSTEM_CALL_PLACE_BITS) - 1));
    lower_continue_if(lower, BPF_JLT, place, operand_immediate(SYSTEM_CALLS_DEEPEST), filter_ignore(lower, failed));
    struct operand *values = pairing_values(lower);
    pairing_store(lower, values_of(lower, kept, place), VALUES, values);
}

/* --- return --- */

/* What EVENT, one of the entry, is at the return of a call that had none: nobody has changed the registers of a call
 * that was not made, but for its result, and for that argument x86_64 and aarch64 have others. */
static struct operand refused_value(struct lower *lower, struct operand kept, const struct event_field *event)
{
    if (event->source == EVENT_ELAPSED)
        return lower->returned; /* e.elapsed is 0 */
    if (event->source == EVENT_TAKEN_OFF)
        return operand_immediate(0);
    if (event->source == EVENT_CALL)
        return machine_load(lower->program, BPF_DW, kept, offsetof(struct system_calls, number));
    return probe_entry_value(lower, event);
}

/* A block that goes to JOINED with the values of a call that was refused, of which the storage KEPT tells. */
static struct machine_block *refused(struct lower *lower, struct operand kept, struct machine_block *joined)
{
    struct program *program = lower->program;
    struct machine_block *here = program->block, *native = machine_block(program), *on = machine_block(program);
    struct machine_block *ignore = filter_ignore(lower, 0);
    bool asks_time = false;
    native->cold = on->cold = true;
    machine_place(program, native);
    if (lower->function->handler->raw) /* the entry has counted it */
        machine_branch(program, BPF_JEQ, is_compat(lower), operand_immediate(0), on, ignore);
    else
        machine_jump(program, on);
    machine_place(program, on);
    struct operand place = machine_load(program, BPF_DW, kept, offsetof(struct system_calls, place));
    struct operand base = values_of(lower, kept, place);
    for (size_t i = 0; i < lower->saved_count; i++) {
        asks_time |= lower->saved[i].event->source == EVENT_ELAPSED;
        machine_store(program, BPF_DW, base, VALUES + 8 * (int64_t)i,
                      refused_value(lower, kept, lower->saved[i].event));
    }
    state_count_entry(lower);
    struct machine_block *to = joined;
    if (asks_time) {
        unsigned note = probe_ledger(lower, "return of a call that was not made, as by seccomp: e.elapsed is 0");
        to = lower_loss(lower, note, joined, 0);
    }
    machine_jump(program, to);
    program->block = here;
    return state_if_settled(lower, native);
}

/* A block that counts a return of which nobody knows what it is; not those of the calls that syscall_expect_native has
 * counted. */
static struct machine_block *unseen(struct lower *lower)
{
    struct program *program = lower->program;
    struct machine_block *here = program->block, *test = machine_block(program);
    struct machine_block *loss = probe_loss(lower, "return of a call whose entry was not seen", 0);
    struct machine_block *ignore = filter_ignore(lower, 0);
    test->cold = true;
    machine_place(program, test);
    if (lower->function->handler->raw)
        machine_branch(program, BPF_JEQ, is_compat(lower), operand_immediate(0), loss, ignore);
    else
        machine_jump(program, loss);
    program->block = here;
    return state_if_settled(lower, test);
}

/* At sys_exit: goes to JOINED where a call of the handler's has returned, else ends the program. */
static void at_exit(struct lower *lower, struct operand kept, struct machine_block *joined)
{
    struct program *program = lower->program;
    struct operand result;
    if (lower->function->handler->raw)
        result = machine_call_library(
            program, "uplua_system_call_end",
            OPERANDS(kept, word(lower, REGISTERS), word(lower, RESULT), wanted(lower), state_settled(lower)));
    else
        result = machine_call_library(
            program, "uplua_system_call_end_named",
            OPERANDS(kept, number(lower), word(lower, NAMED_RESULT), state_settled(lower), state_before(lower)));
    struct machine_block *other = machine_block(program), *last = machine_block(program);
    struct machine_block *no_entry = filter_if_now(lower, refused(lower, kept, joined));
    struct machine_block *unknown = filter_if_now(lower, unseen(lower));
    struct machine_block *ignore = filter_ignore(lower, 0);
    machine_branch(program, BPF_JLT, result, operand_immediate(SYSTEM_CALLS_DEEPEST), joined, other);
    machine_place(program, other);
    machine_branch(program, BPF_JEQ, result, operand_immediate(SYSTEM_CALL_REFUSED), no_entry, last);
    machine_place(program, last);
    machine_branch(program, BPF_JEQ, result, operand_immediate(SYSTEM_CALL_UNSEEN), unknown, ignore);
}

/* The same at signal_deliver. */
static void at_signal(struct lower *lower, struct operand kept, struct machine_block *joined)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 16);
    bool raw = lower->function->handler->raw;
    /* Read, not loaded: a program that loads these words cannot be attached to an exit, whose context is shorter. */
    struct operand at = machine_alu(program, BPF_ADD, lower->context, operand_immediate(raw ? ACTION : NAMED_ACTION));
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    machine_store(program, BPF_DW, operand_slot(slot, 0), 8, operand_immediate(0));
    machine_call(program, BPF_FUNC_probe_read_kernel,
                 OPERANDS(operand_slot(slot, 0), operand_immediate(raw ? 8 : 16), at));
    if (raw) /* a struct k_sigaction begins with the two */
        machine_call(program, BPF_FUNC_probe_read_kernel,
                     OPERANDS(operand_slot(slot, 0), operand_immediate(16),
                              machine_load(program, BPF_DW, operand_slot(slot, 0), 0)));
    struct operand handler = machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
    struct operand flags = machine_load(program, BPF_DW, operand_slot(slot, 0), 8);
    struct operand result = machine_call_library(program, "uplua_system_call_signal", OPERANDS(kept, handler, flags));
    machine_branch(program, BPF_JLT, result, operand_immediate(SYSTEM_CALLS_DEEPEST), joined, filter_ignore(lower, 0));
}

/* Goes to SIGNALS at signal_deliver, else to EXITS. */
static void tell_signals(struct lower *lower, struct machine_block *signals, struct machine_block *exits)
{
    struct program *program = lower->program;
    signals->cold = true;
    if (lower->function->handler->raw)
        machine_branch(program, BPF_JLT, word(lower, SIGNAL), operand_immediate(SIGNALS), signals, exits);
    else
        machine_branch(program, BPF_JEQ, machine_call(program, BPF_FUNC_get_attach_cookie, &lower->context, 1),
                       operand_immediate(SYSTEM_CALL_AT_SIGNAL), signals, exits);
}

static void recover(struct lower *lower)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    struct machine_block *exits = machine_block(program), *signals = machine_block(program);
    struct machine_block *joined = machine_block(program);
    struct operand kept = storage(lower);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0),
                      probe_loss(lower, "no memory for a call: not seen", 0));
    if (handler->raw && handler->call == SYSTEM_CALL_ATTEMPTS) {
        at_exit(lower, kept, joined);
    } else {
        tell_signals(lower, signals, exits);
        machine_place(program, signals);
        at_signal(lower, kept, joined);
        machine_place(program, exits);
        at_exit(lower, kept, joined);
    }
    machine_place(program, joined);
    struct operand place = machine_load(program, BPF_DW, kept, offsetof(struct system_calls, place));
    lower->result = machine_load(program, BPF_DW, kept, offsetof(struct system_calls, result));
    pairing_load(lower, values_of(lower, kept, place), VALUES);
}

static int declare(struct lower *lower, struct object *result)
{
    return pairing_declare_storage(lower, result, VALUES + SYSTEM_CALLS_DEEPEST * 8 * lower->saved_count);
}

const struct pairing pairing_of_syscall = {.declare = declare, .save = save, .recover = recover};
