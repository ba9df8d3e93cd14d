/*
 * Saves values at the entry for the handler at the return, in a map. It serves functions of the kernel and of Go, and
 * functions of programs whose return instructions are probed. The key is the thread or goroutine and the stack pointer.
 * So nested and recursive calls differ, and calls in interrupts, which have stacks of their own.
 */
#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

/* Calls that may be between entry and return at one time: threads times nesting. */
enum { MAX_PENDING_CALLS = 65536 };

/* Of the map of them. */
enum { KERNEL_KEY_SIZE = 16, GOROUTINE_KEY_SIZE = 24 };

/*
 * The key of a Go call: the goroutine, which several threads run in turn, and the distance of its stack pointer from
 * the end of its stack. Both are the same at the entry and at the return instruction, even if the stack was moved in
 * between. Each nested call has another distance.
 */
static struct operand goroutine_key(struct lower *lower)
{
    enum { STACK_HIGH = 8 }; /* struct g begins with struct stack { lo, hi } */
    struct program *program = lower->program;
    struct slot *key = program_slot(program, GOROUTINE_KEY_SIZE), *high = program_slot(program, 8);
    struct operand goroutine = probe_context_word(lower, arch_cpu.goroutine, "the goroutine");
    struct operand pointer = probe_context_word(lower, arch_cpu.stack_pointer, "the stack pointer");
    machine_store(program, BPF_DW, operand_slot(high, 0), 0, operand_immediate(0));
    probe_read_user(lower, high, 8, machine_alu(program, BPF_ADD, goroutine, operand_immediate(STACK_HIGH)));
    struct operand left =
        machine_alu(program, BPF_SUB, machine_load(program, BPF_DW, operand_slot(high, 0), 0), pointer);
    machine_store(program, BPF_DW, operand_slot(key, 0), 0, lower->tgid);
    machine_store(program, BPF_DW, operand_slot(key, 0), 8, goroutine);
    machine_store(program, BPF_DW, operand_slot(key, 0), 16, left);
    return operand_slot(key, 0);
}

/* The key of a pending call of the kernel or of Go: for the kernel's, thread and stack pointer at the entry, POPPED
 * bytes ago. */
static struct operand call_key(struct lower *lower, int64_t popped)
{
    if (lower->function->handler->of_go)
        return goroutine_key(lower);
    struct program *program = lower->program;
    struct slot *key = program_slot(program, KERNEL_KEY_SIZE);
    struct operand pointer = probe_context_word(lower, arch_cpu.stack_pointer, "the stack pointer");
    if (popped)
        pointer = machine_alu(program, BPF_SUB, pointer, operand_immediate(popped));
    /* On stacks that a program switches between, another thread may go on with a call. */
    machine_store(program, BPF_DW, operand_slot(key, 0), 0, probe_is_at_exit(lower) ? lower->tgid : lower->pid_tgid);
    machine_store(program, BPF_DW, operand_slot(key, 0), 8, pointer);
    return operand_slot(key, 0);
}

/* Bytes that the entry leaves. */
static uint32_t saved_size(const struct lower *lower)
{
    return lower->saved_count ? (uint32_t)(8 * lower->saved_count) : 8;
}

/*
 * At the entry of a function of the kernel: if the kernel follows no more calls, it has not replaced the return address
 * by its trampoline. Then this ends the program, and counts the loss. It has by now where it would: of several probes
 * at one place the last that was attached comes first (kernel/kprobes.c, add_new_kprobe), and the return half is
 * attached after this one.
 */
static void expect_return(struct lower *lower, int64_t failed)
{
    struct program *program = lower->program;
    uint64_t trampoline = lower->function->options->return_trampoline;
    if (!trampoline)
        return;
    struct operand back;
    if (arch_cpu.return_address >= 0) {
        back = probe_context_word(lower, arch_cpu.return_address, "the return address");
    } else {
        struct slot *slot = program_slot(program, 8);
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
        machine_call(program, BPF_FUNC_probe_read_kernel,
                     OPERANDS(operand_slot(slot, 0), operand_immediate(8),
                              probe_context_word(lower, arch_cpu.stack_pointer, "the stack pointer")));
        back = machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
    }
    struct operand expected =
        machine_alu(program, BPF_MOV, operand_immediate((int64_t)trampoline), operand_immediate((int64_t)trampoline));
    lower_continue_if(lower, BPF_JEQ, back, expected,
                      probe_loss(lower, "return not seen: more calls at one time than the kernel follows", failed));
}

/*
 * Counts a call that began where the one with KEY begins, and is still waited for: it was left by another way than its
 * return instructions, or that one would not be there.
 */
static void count_left(struct lower *lower, struct operand key)
{
    struct program *program = lower->program;
    struct operand found = maps_lookup(lower, probe_calls_map(lower), key);
    unsigned entry = probe_ledger(
        lower, "calls left by longjmp, an exception, a jump to another function or the like: return not seen");
    struct machine_block *next = machine_block(program), *left = lower_loss(lower, entry, next, 0);
    machine_branch(program, BPF_JEQ, found, operand_immediate(0), next, left);
    machine_place(program, next);
}

/* A call of a thread that is not traced now: what has been left where it begins must not be taken for its entry. */
static struct machine_block *pass_by(struct lower *lower)
{
    struct program *program = lower->program;
    if (!filter_turns(lower))
        return NULL;
    struct machine_block *here = program->block, *block = machine_block(program);
    block->cold = true;
    machine_place(program, block);
    struct operand key = call_key(lower, 0);
    if (lower->function->handler->by_instruction)
        count_left(lower, key);
    machine_call(program, BPF_FUNC_map_delete_elem, OPERANDS(operand_map(probe_calls_map(lower)), key));
    machine_exit(program, 0);
    program->block = here;
    return block;
}

static void save(struct lower *lower, int64_t failed)
{
    struct program *program = lower->program;
    filter_now(lower, pass_by(lower));
    if (lower->function->handler->provider->of_kernel)
        expect_return(lower, failed);
    struct operand key = call_key(lower, 0);
    if (lower->function->handler->by_instruction)
        count_left(lower, key);
    struct slot *values = program_slot(program, saved_size(lower));
    if (!lower->saved_count)
        machine_store(program, BPF_DW, operand_slot(values, 0), 0, operand_immediate(0));
    bool timed = false;
    for (size_t i = 0; i < lower->saved_count; i++) {
        bool of_time = elapsed_is_of_time(lower->saved[i].event);
        timed |= of_time;
        machine_store(program, BPF_DW, operand_slot(values, 0), 8 * (int64_t)i,
                      of_time ? operand_immediate(0) : probe_entry_value(lower, lower->saved[i].event));
    }
    const char *map = probe_calls_map(lower);
    struct operand result =
        machine_call(program, BPF_FUNC_map_update_elem,
                     OPERANDS(operand_map(map), key, operand_slot(values, 0), operand_immediate(BPF_ANY)));
    const char *full = arena_format(
        program->arena, "more than %d calls at one time: return not seen; trace fewer threads", MAX_PENDING_CALLS);
    lower_continue_if(lower, BPF_JEQ, result, operand_immediate(0), probe_loss(lower, full, failed));
    state_count_entry(lower);
    if (timed) { /* last of all, since what comes behind counts for the function */
        struct operand found = maps_lookup(lower, map, key);
        lower_continue_if(lower, BPF_JNE, found, operand_immediate(0), filter_ignore(lower, 0));
        elapsed_begin(lower, found, 0);
    }
    machine_exit(program, 0);
}

static void recover(struct lower *lower)
{
    struct operand key = call_key(lower, probe_is_at_exit(lower) ? 0 : arch_cpu.return_pops);
    const char *map = probe_calls_map(lower);
    struct operand found = maps_lookup(lower, map, key);
    struct machine_block *unknown = probe_loss(lower, "return of a call whose entry was not seen", 0);
    lower_continue_if(lower, BPF_JNE, found, operand_immediate(0),
                      filter_if_now(lower, state_if_settled(lower, unknown)));
    pairing_load(lower, found, 0);
    machine_call(lower->program, BPF_FUNC_map_delete_elem, OPERANDS(operand_map(map), key));
}

static int declare(struct lower *lower, struct object *result)
{
    return object_add_map(result,
                          &(struct object_map){
                              .name = probe_calls_map(lower),
                              .type = BPF_MAP_TYPE_HASH,
                              .key_size = lower->function->handler->of_go ? GOROUTINE_KEY_SIZE : KERNEL_KEY_SIZE,
                              .value_size = saved_size(lower),
                              .max_entries = MAX_PENDING_CALLS,
                              .flags = BPF_F_NO_PREALLOC,
                              .reuse_fd = -1,
                          });
}

const struct pairing pairing_by_map = {.declare = declare, .save = save, .recover = recover};
