/*
 * Saves values at the entry of a system call for the handler at its exit, in task storage, which ends with the thread.
 * A thread is in one call at a time. A thread has no storage before its first entry. An exit without storage belongs to
 * a call that began before tracing, or to a thread that was just born; it is not reported. With one that says that no
 * call is on, an entry was not seen.
 */
#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

/* The storage: whether a call is on, then the saved values. */
enum { IN_CALL = 0, VALUES = 8 };

static struct operand storage(struct lower *lower, int64_t flags)
{
    struct operand task = machine_call(lower->program, BPF_FUNC_get_current_task_btf, NULL, 0);
    return pairing_storage(lower->program, probe_calls_map(lower), task, flags);
}

/* Not 0 in a call by another interface than this CPU's 64-bit one. */
static struct operand is_compat(struct lower *lower)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    struct operand task = machine_call(program, BPF_FUNC_get_current_task, NULL, 0);
    /* the task begins with its thread_info */
    struct operand word = machine_alu(program, BPF_ADD, task, operand_immediate(arch_cpu.compat_word));
    machine_call(program, BPF_FUNC_probe_read_kernel, OPERANDS(operand_slot(slot, 0), operand_immediate(4), word));
    return machine_alu(program, BPF_AND, machine_load(program, BPF_DW, operand_slot(slot, 0), 0),
                       operand_immediate(arch_cpu.compat_flag));
}

void syscall_expect_native(struct lower *lower)
{
    lower_continue_if(lower, BPF_JEQ, is_compat(lower), operand_immediate(0),
                      probe_loss(lower, "call of a 32-bit program: not seen", 0));
}

/* A block that counts a return without an entry; not those of the calls that syscall_expect_native has counted. */
static struct machine_block *without_entry(struct lower *lower)
{
    struct program *program = lower->program;
    static const char cause[] = "return of a call whose entry was not seen";
    if (!lower->function->handler->raw)
        return state_if_settled(lower, probe_loss(lower, cause, 0));
    struct machine_block *here = program->block, *test = machine_block(program);
    test->cold = true;
    machine_place(program, test);
    struct operand compat = is_compat(lower);
    machine_branch(program, BPF_JEQ, compat, operand_immediate(0), probe_loss(lower, cause, 0),
                   filter_ignore(lower, 0));
    program->block = here;
    return state_if_settled(lower, test);
}

/* A call that is on at the next one's entry has ended while the return half was not attached. */
static void forget_open(struct lower *lower, struct operand kept)
{
    struct program *program = lower->program;
    if (!lower->function->handler->version)
        return;
    struct machine_block *open = machine_block(program), *next = machine_block(program);
    open->cold = true;
    machine_branch(program, BPF_JEQ, machine_load(program, BPF_DW, kept, IN_CALL), operand_immediate(0), next, open);
    machine_place(program, open);
    state_count_ended(program, lower->function->handler_number, operand_immediate(1));
    machine_continue(program, next);
}

static void save(struct lower *lower, int64_t failed)
{
    if (lower->function->handler->raw)
        syscall_expect_native(lower);
    struct operand *values = pairing_values(lower);
    struct operand kept = storage(lower, BPF_LOCAL_STORAGE_GET_F_CREATE);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0),
                      probe_loss(lower, "no memory for a call: not seen", failed));
    forget_open(lower, kept);
    machine_store(lower->program, BPF_DW, kept, IN_CALL, operand_immediate(1));
    pairing_store(lower, kept, VALUES, values);
}

static void recover(struct lower *lower)
{
    struct program *program = lower->program;
    struct operand kept = storage(lower, 0);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0), filter_ignore(lower, 0));
    lower_continue_if(lower, BPF_JNE, machine_load(program, BPF_DW, kept, IN_CALL), operand_immediate(0),
                      without_entry(lower));
    machine_store(program, BPF_DW, kept, IN_CALL, operand_immediate(0));
    pairing_load(lower, kept, VALUES);
}

static int declare(struct lower *lower, struct object *result)
{
    return pairing_declare_storage(lower, result, VALUES + 8 * lower->saved_count);
}

const struct pairing pairing_of_syscall = {.declare = declare, .save = save, .recover = recover};
