/*
 * e.elapsed: the time at the return less that at the entry, less what the probes themselves take between. So the entry
 * half looks at the clock last, the return half first, and what is left between is the kernel's, which is measured
 * (probe/attach/cost.h).
 */
#include "compile/lower/lower.h"
#include "sys/cookie.h"

static struct operand now(struct lower *lower)
{
    return machine_call_pure(lower->program, BPF_FUNC_ktime_get_ns, NULL, 0);
}

void elapsed_begin(struct lower *lower, struct operand base, int64_t offset)
{
    for (size_t i = 0; i < lower->saved_count; i++)
        if (lower->saved[i].event->source == EVENT_ELAPSED)
            machine_store(lower->program, BPF_DW, base, offset + 8 * (int64_t)i, now(lower));
}

void elapsed_end(struct lower *lower)
{
    lower->returned = now(lower);
}

/* The probes' own time between entry and return, or with AT_EXIT the return instruction. */
static struct operand cost(struct lower *lower, bool at_exit)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    struct operand costs = machine_copy(program, operand_data(COST_COUNTERS, at_exit ? 8 * COST_ENTRIES : 0));
    if (handler->stand.entry >= 0)
        return machine_load(program, BPF_DW, costs, 8 * (int64_t)handler->stand.entry);
    struct operand cookie = machine_call_pure(program, BPF_FUNC_get_attach_cookie, &lower->context, 1);
    struct operand entry = machine_alu(program, BPF_RSH, cookie, operand_immediate(COOKIE_ENTRY_SHIFT));
    entry = machine_alu(program, BPF_AND, entry, operand_immediate(COOKIE_ENTRY_MASK));
    entry = machine_alu(program, BPF_LSH, entry, operand_immediate(3));
    return machine_load(program, BPF_DW, machine_alu(program, BPF_ADD, costs, entry), 0);
}

struct operand elapsed_value(struct lower *lower, struct operand began, bool at_exit)
{
    struct program *program = lower->program;
    struct operand took = machine_alu(program, BPF_SUB, lower->returned, began);
    if (!lower->function->handler->provider->measured)
        return took; /* what kprobes and tracepoints take is not measured; it is much less */
    lower->compiler->net = lower->function->handler->net = true;
    took = machine_alu(program, BPF_SUB, took, cost(lower, at_exit));
    struct operand negative = machine_alu(program, BPF_ARSH, took, operand_immediate(63)); /* all ones, or none */
    return machine_alu(program, BPF_AND, took, machine_alu(program, BPF_XOR, negative, operand_immediate(-1)));
}
