/*
 * Saves values at the entry of a system call for the handler at its exit, in task storage, which ends with the thread.
 * A thread is in one call at a time. A thread has no storage before its first entry. An exit without storage belongs to
 * a call that began before tracing, or to a thread that was just born; it is not reported. With one that says that no
 * call is on, an entry was not seen.
 */
#include <string.h>

#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

/* The storage: whether a call is on, then the saved values. */
enum { IN_CALL = 0, VALUES = 8 };

/* The thread's storage, made where there is none if FLAGS say so; 0 where it could not. */
static struct operand storage(struct lower *lower, int64_t flags)
{
    struct program *program = lower->program;
    struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
    struct operand args[] = {operand_map(probe_calls_map(lower)), task, operand_immediate(0), operand_immediate(flags)};
    return machine_call(program, BPF_FUNC_task_storage_get, args, 4);
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
    struct operand args[] = {operand_slot(slot, 0), operand_immediate(4), word};
    machine_call(program, BPF_FUNC_probe_read_kernel, args, 3);
    return machine_alu(program, BPF_AND, machine_load(program, BPF_DW, operand_slot(slot, 0), 0),
                       operand_immediate(arch_cpu.compat_flag));
}

void syscall_expect_native(struct lower *lower)
{
    const char *cause =
        arena_format(lower->program->arena, "%s: call of a 32-bit program: not seen", lower->function->handler->probe);
    lower_continue_if(lower, BPF_JEQ, is_compat(lower), operand_immediate(0),
                      lower_loss(lower, ledger_add(lower->compiler, cause), NULL, 0));
}

/* A block that counts a return without an entry; not those of the calls that syscall_expect_native has counted. */
static struct machine_block *without_entry(struct lower *lower)
{
    struct program *program = lower->program;
    const char *cause =
        arena_format(program->arena, "%s: return of a call whose entry was not seen", lower->function->handler->probe);
    unsigned entry = ledger_add(lower->compiler, cause);
    if (!lower->function->handler->raw)
        return lower_loss(lower, entry, NULL, 0);
    struct machine_block *here = program->block, *test = machine_block(program);
    test->cold = true;
    machine_place(program, test);
    struct operand compat = is_compat(lower);
    machine_branch(program, BPF_JEQ, compat, operand_immediate(0), lower_loss(lower, entry, NULL, 0),
                   filter_ignore(lower, 0));
    program->block = here;
    return test;
}

static void save(struct lower *lower, int64_t failed)
{
    if (lower->function->handler->raw)
        syscall_expect_native(lower);
    struct program *program = lower->program;
    struct operand *values = arena_allocate(program->arena, (lower->saved_count + 1) * sizeof *values);
    for (size_t i = 0; i < lower->saved_count; i++)
        if (lower->saved[i].event->source != EVENT_ELAPSED)
            values[i] = probe_entry_value(lower, lower->saved[i].event);
    struct operand kept = storage(lower, BPF_LOCAL_STORAGE_GET_F_CREATE);
    const char *cause =
        arena_format(program->arena, "%s: no memory for a call: not seen", lower->function->handler->probe);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0),
                      lower_loss(lower, ledger_add(lower->compiler, cause), NULL, failed));
    machine_store(program, BPF_DW, kept, IN_CALL, operand_immediate(1));
    for (size_t i = 0; i < lower->saved_count; i++)
        if (lower->saved[i].event->source != EVENT_ELAPSED)
            machine_store(program, BPF_DW, kept, VALUES + 8 * (int64_t)i, values[i]);
    elapsed_begin(lower, kept, VALUES);
    machine_exit(program, 0);
}

static void recover(struct lower *lower)
{
    struct program *program = lower->program;
    struct operand kept = storage(lower, 0);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0), filter_ignore(lower, 0));
    lower_continue_if(lower, BPF_JNE, machine_load(program, BPF_DW, kept, IN_CALL), operand_immediate(0),
                      without_entry(lower));
    machine_store(program, BPF_DW, kept, IN_CALL, operand_immediate(0));
    for (size_t i = 0; i < lower->saved_count; i++)
        lower->saved[i].value = machine_load(program, BPF_DW, kept, VALUES + 8 * (int64_t)i);
}

static int declare(struct lower *lower, struct object *result)
{
    return object_add_map(result, &(struct object_map){
                                      .name = probe_calls_map(lower),
                                      .type = BPF_MAP_TYPE_TASK_STORAGE,
                                      .key_size = 4,
                                      .value_size = (uint32_t)(VALUES + 8 * lower->saved_count),
                                      .flags = BPF_F_NO_PREALLOC,
                                      .reuse_fd = -1,
                                  });
}

const struct pairing pairing_of_syscall = {.declare = declare, .save = save, .recover = recover};
