/*
 * Saves values at the entry of a program's function for the handler at its return, in task storage, which ends with the
 * thread. It keeps a stack of the thread's calls (bpf/call_pairs.bpf.c). It has those calls whose return the kernel
 * follows, no others, so that the innermost is the one that returns. Calls that never return are counted: calls that
 * the kernel does not follow because there are too many already; calls that longjmp leaves, once the next call or
 * return in the thread shows it; and calls in which a thread ends. For a handler that wants nothing of the entry
 * nothing is kept: the entry only counts the first.
 */
#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

#include "../bpf/call_pairs.h"

enum { NUMBER_MASK = (1 << CALLS_NUMBER_BITS) - 1 };

static struct operand this_task(struct program *program)
{
    return machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
}

/* Counts NUMBER calls of handler HANDLER that have ended without a return, if it is not 0, as entry ENTRY of the
 * ledger. */
static void count_ended(struct program *program, const struct compile_options *options, size_t handler,
                        struct operand number, unsigned entry)
{
    struct machine_block *any = machine_block(program), *next = machine_block(program);
    any->cold = true;
    machine_branch(program, BPF_JEQ, number, operand_immediate(0), next, any);
    machine_place(program, any);
    machine_add_atomic(program, BPF_DW, machine_copy(program, operand_data(LEDGER_COUNTERS, 8 * (int64_t)entry)), 0,
                       number);
    if (options->states)
        state_count_ended(program, handler, number);
    machine_continue(program, next);
}

/* Counts the calls that RESULT, of uplua_call_begin or _end, says are forgotten. */
static void count_forgotten(struct lower *lower, struct operand result)
{
    count_ended(lower->program, lower->function->options, lower->function->handler_number,
                machine_alu(lower->program, BPF_RSH, result, operand_immediate(CALLS_NUMBER_BITS)),
                probe_ledger(lower, "calls that never returned: left by longjmp or the like"));
}

/* Where the values of call NUMBER are in the storage KEPT. */
static struct operand values_of(struct lower *lower, struct operand kept, struct operand number)
{
    struct program *program = lower->program;
    struct operand at = machine_alu(program, BPF_AND, number, operand_immediate(CALLS_DEEPEST - 1));
    at = machine_alu(program, BPF_MUL, at, operand_immediate(8 * (int64_t)lower->saved_count));
    return machine_alu(program, BPF_ADD, kept, at);
}

/*
 * Goes to TOO_DEEP where the kernel is in as many calls as it follows: it decides by the same number as soon as all
 * programs have run (kernel/events/uprobes.c, prepare_uretprobe).
 */
static void expect_return(struct lower *lower, struct operand task, struct machine_block *too_deep)
{
    const struct kernel_returns *returns = lower->function->options->returns();
    struct program *program = lower->program;
    if (!returns->task_uprobes)
        return;
    struct operand uprobes = machine_load(program, BPF_DW, task, returns->task_uprobes);
    struct operand depth = machine_load(program, BPF_W, uprobes, returns->uprobes_depth);
    lower_continue_if(lower, BPF_JLT, depth, operand_immediate(CALLS_DEEPEST), too_deep);
}

/* Calls uplua_call_begin, or as FUNCTION says, for the call that begins; counts what it forgets. Returns its result. */
static struct operand begin(struct lower *lower, const char *function, struct operand kept)
{
    struct program *program = lower->program;
    struct operand pointer = machine_load(program, BPF_DW, lower->context, arch_cpu.stack_pointer);
    struct operand link = operand_immediate(0);
    if (arch_cpu.return_address >= 0)
        link = machine_load(program, BPF_DW, lower->context, arch_cpu.return_address);
    struct operand fields = operand_immediate((int64_t)lower->function->options->returns()->trampoline_fields);
    fields = machine_alu(program, BPF_MOV, fields, fields);
    struct operand result = machine_call_library(program, function, OPERANDS(kept, pointer, link, fields));
    count_forgotten(lower, result);
    return result;
}

/*
 * A call of a thread that is not traced now, but may have been, or be when it returns: if it has calls that are, the
 * pairing knows of this one, too. In a session the kernel does not follow it.
 */
static struct machine_block *pass_by(struct lower *lower)
{
    struct program *program = lower->program;
    if (!filter_turns(lower) || lower->function->handler->session)
        return NULL;
    struct machine_block *here = program->block, *block = machine_block(program), *ignore = filter_ignore(lower, 0);
    block->cold = true;
    machine_place(program, block);
    if (lower->saved_count) {
        struct operand task = this_task(program);
        expect_return(lower, task, ignore);
        struct operand kept = pairing_storage(program, probe_calls_map(lower), task, 0);
        lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0), ignore);
        begin(lower, "uplua_call_pass_by", kept);
    }
    machine_exit(program, 0);
    program->block = here;
    return block;
}

static void save(struct lower *lower, int64_t failed)
{
    struct program *program = lower->program;
    if (!lower->function->handler->session) /* which has asked before */
        filter_now(lower, pass_by(lower));
    struct operand *values = pairing_values(lower);
    struct operand task = this_task(program);
    struct machine_block *too_deep =
        probe_loss(lower, "return not seen: nested deeper than the 64 calls that the kernel follows", failed);
    expect_return(lower, task, too_deep);
    if (!lower->saved_count) {
        machine_exit(program, 0);
        return;
    }
    struct operand kept = pairing_storage(program, probe_calls_map(lower), task, BPF_LOCAL_STORAGE_GET_F_CREATE);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0),
                      probe_loss(lower, "no memory for a call: not seen", failed));
    elapsed_prepare(lower, failed);
    struct operand result = begin(lower, "uplua_call_begin", kept);
    struct operand number = machine_alu(program, BPF_AND, result, operand_immediate(NUMBER_MASK));
    lower_continue_if(lower, BPF_JLT, number, operand_immediate(CALLS_DEEPEST), too_deep);
    pairing_store(lower, values_of(lower, kept, number), sizeof(struct calls), values);
}

/* A block that goes on to UNKNOWN unless NUMBER says that the entry is not attached any more, or was passed by. */
static struct machine_block *unknown_unless_left_out(struct program *program, struct operand number,
                                                     struct machine_block *unknown)
{
    struct machine_block *none = machine_block(program), *left_out = machine_block(program), *before = program->block;
    none->cold = left_out->cold = true;
    machine_place(program, none);
    machine_branch(program, BPF_JGE, number, operand_immediate(CALLS_DETACHED), left_out, unknown);
    machine_place(program, left_out);
    machine_exit(program, 0);
    program->block = before;
    return none;
}

static void recover(struct lower *lower)
{
    struct program *program = lower->program;
    if (!lower->saved_count)
        return;
    struct operand pointer = machine_load(program, BPF_DW, lower->context, arch_cpu.stack_pointer);
    pointer = machine_alu(program, BPF_SUB, pointer, operand_immediate(arch_cpu.return_pops));
    /* Of a call that was passed by before its thread had one that was not, nothing is kept. */
    struct machine_block *unknown =
        filter_turns(lower)
            ? filter_ignore(lower, 0)
            : state_if_settled(lower, probe_loss(lower, "return of a call whose entry was not seen", 0));
    struct operand kept = pairing_storage(program, probe_calls_map(lower), this_task(program), 0);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0), unknown);
    struct operand result = machine_call_library(program, "uplua_call_end", OPERANDS(kept, pointer));
    count_forgotten(lower, result);
    struct operand number = machine_alu(program, BPF_AND, result, operand_immediate(NUMBER_MASK));
    lower_continue_if(lower, BPF_JLT, number, operand_immediate(CALLS_DEEPEST),
                      unknown_unless_left_out(program, number, unknown));
    pairing_load(lower, values_of(lower, kept, number), sizeof(struct calls));
    elapsed_recover(lower, unknown);
}

static int declare(struct lower *lower, struct object *result)
{
    struct compiler *compiler = lower->compiler;
    if (!lower->saved_count)
        return 0;
    compiler->calls = arena_grow(&compiler->arena, compiler->calls, compiler->calls_count, sizeof *compiler->calls);
    compiler->calls[compiler->calls_count++] = (struct kept_calls){
        .storage = probe_calls_map(lower),
        .handler = lower->function->handler_number,
        .position = lower->function->position,
        .ended = probe_ledger(lower, "calls that never returned: their threads ended in them"),
    };
    return pairing_declare_storage(lower, result, sizeof(struct calls) + CALLS_DEEPEST * 8 * lower->saved_count);
}

const struct pairing pairing_by_storage = {.declare = declare, .save = save, .recover = recover, .sessions = true};

void calls_end_threads(struct compiler *compiler, const struct compile_options *options)
{
    if (!compiler->calls_count)
        return;
    struct program *program = program_new(compiler, CALLS_END_PROGRAM, BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
    program->position = compiler->calls->position;
    struct operand task = this_task(program);
    for (size_t i = 0; i < compiler->calls_count; i++) {
        struct operand kept = pairing_storage(program, compiler->calls[i].storage, task, 0);
        struct machine_block *some = machine_block(program), *next = machine_block(program);
        machine_branch(program, BPF_JNE, kept, operand_immediate(0), some, next);
        machine_place(program, some);
        count_ended(program, options, compiler->calls[i].handler,
                    machine_call_library(program, "uplua_calls_left", &kept, 1), compiler->calls[i].ended);
        machine_continue(program, next);
    }
    machine_exit(program, 0);
    if (pass_allocate_registers(program) == 0)
        pass_emit(program, compiler->result, options, "handler/" CALLS_END_PROGRAM);
}
