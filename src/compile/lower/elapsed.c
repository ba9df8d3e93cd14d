/*
 * e.elapsed: the time at the return less that at the entry, less what probes take between. What the call's own probes
 * take is kept small: the entry half looks at the clock last, the return half first, and what is left between is the
 * kernel's, which is measured (probe/attach/cost.h).
 *
 * What the probes of functions take that this one calls is summed up in each thread: from when a program begins until
 * it ends by its own looks at the clock, and the traps as they are measured. A call's time is that between its looks
 * less what the sum has grown by. So the entry keeps when it began less the sum, and the return takes that off when it
 * began less the sum: the clock runs on from the entry's beginning to its end as the sum does. Of programs that end in
 * a loss, only the traps are known; that is in the ledger.
 */
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"
#include "sys/cookie.h"

#define SUM_MAP "uplua_taken"

static struct operand now(struct lower *lower)
{
    return machine_call_pure(lower->program, BPF_FUNC_ktime_get_ns, NULL, 0);
}

bool elapsed_is_of_time(const struct event_field *event)
{
    return event->source == EVENT_ELAPSED || event->source == EVENT_TAKEN_OFF;
}

/* Whether the probes of functions that are called in between are to be known. By the kernel's way alone is a call
 * certain to return in its thread. */
static bool knows_inner(const struct lower *lower)
{
    if (lower->pairing != &pairing_by_storage || !lower->function->handler->provider->measured)
        return false;
    for (size_t i = 0; i < lower->saved_count; i++)
        if (elapsed_is_of_time(lower->saved[i].event))
            return true;
    return false;
}

/* The address of this thread's sum; 0 where there is none, or, with CREATE, no memory for it. */
static struct operand sum_of_thread(struct lower *lower, bool create)
{
    struct program *program = lower->program;
    struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
    return pairing_storage(program, SUM_MAP, task, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* --- at the entry --- */

void elapsed_enter(struct lower *lower)
{
    if (knows_inner(lower))
        lower->entered = now(lower);
}

void elapsed_prepare(struct lower *lower, int64_t failed)
{
    if (!knows_inner(lower))
        return;
    lower->compiler->sums = true;
    lower->sum = sum_of_thread(lower, true);
    lower_continue_if(lower, BPF_JNE, lower->sum, operand_immediate(0),
                      probe_loss(lower, "no memory for a call: not seen", failed));
}

void elapsed_begin(struct lower *lower, struct operand base, int64_t offset)
{
    struct program *program = lower->program;
    bool inner = knows_inner(lower);
    struct operand began = {0}, sum = {0};
    if (inner)
        began = machine_alu(program, BPF_SUB, lower->entered, machine_load(program, BPF_DW, lower->sum, 0));
    for (size_t i = 0; i < lower->saved_count; i++)
        if (lower->saved[i].event->source == EVENT_ELAPSED)
            machine_store(program, BPF_DW, base, offset + 8 * (int64_t)i, inner ? began : now(lower));
    if (inner) {
        sum = machine_alu(program, BPF_SUB, now(lower), began);
        machine_store(program, BPF_DW, lower->sum, 0, sum);
    }
    for (size_t i = 0; i < lower->saved_count; i++)
        if (lower->saved[i].event->source == EVENT_TAKEN_OFF)
            machine_store(program, BPF_DW, base, offset + 8 * (int64_t)i, inner ? sum : operand_immediate(0));
}

/* --- at the return --- */

void elapsed_end(struct lower *lower)
{
    lower->returned = now(lower);
}

/* A word of COST_COUNTERS for the call's entry, COUNTERS being the ways before it. */
static struct operand cost(struct lower *lower, int64_t ways)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    struct operand costs = machine_copy(program, operand_data(COST_COUNTERS, 8 * COST_ENTRIES * ways));
    lower->compiler->net = lower->function->handler->net = true;
    if (handler->stand.entry >= 0)
        return machine_load(program, BPF_DW, costs, 8 * (int64_t)handler->stand.entry);
    struct operand cookie = machine_call_pure(program, BPF_FUNC_get_attach_cookie, &lower->context, 1);
    struct operand entry = machine_alu(program, BPF_RSH, cookie, operand_immediate(COOKIE_ENTRY_SHIFT));
    entry = machine_alu(program, BPF_AND, entry, operand_immediate(COOKIE_ENTRY_MASK));
    entry = machine_alu(program, BPF_LSH, entry, operand_immediate(3));
    return machine_load(program, BPF_DW, machine_alu(program, BPF_ADD, costs, entry), 0);
}

void elapsed_recover(struct lower *lower, struct machine_block *unknown)
{
    struct program *program = lower->program;
    if (!knows_inner(lower))
        return;
    struct operand sum = sum_of_thread(lower, false);
    lower_continue_if(lower, BPF_JNE, sum, operand_immediate(0), unknown);
    lower->taken = machine_load(program, BPF_DW, sum, 0);
    machine_store(program, BPF_DW, sum, 0, machine_alu(program, BPF_ADD, lower->taken, cost(lower, COST_AROUND)));
}

void elapsed_leave(struct lower *lower)
{
    struct program *program = lower->program;
    if (lower->taken.kind == OPERAND_NONE)
        return;
    struct machine_block *some = machine_block(program), *next = machine_block(program);
    struct operand sum = sum_of_thread(lower, false);
    machine_branch(program, BPF_JNE, sum, operand_immediate(0), some, next);
    machine_place(program, some);
    struct operand before = machine_alu(program, BPF_SUB, machine_load(program, BPF_DW, sum, 0), lower->returned);
    machine_store(program, BPF_DW, sum, 0, machine_alu(program, BPF_ADD, before, now(lower)));
    machine_continue(program, next);
}

struct operand elapsed_value(struct lower *lower, struct operand began, bool at_exit)
{
    struct program *program = lower->program;
    struct operand took = machine_alu(program, BPF_SUB, lower->returned, began);
    if (!lower->function->handler->provider->measured)
        return took; /* what kprobes and tracepoints take is not measured; it is much less */
    if (lower->taken.kind != OPERAND_NONE)
        took = machine_alu(program, BPF_SUB, took, lower->taken);
    took = machine_alu(program, BPF_SUB, took, cost(lower, at_exit ? COST_AT_EXIT : COST_AT_RETURN));
    struct operand negative = machine_alu(program, BPF_ARSH, took, operand_immediate(63)); /* all ones, or none */
    return machine_alu(program, BPF_AND, took, machine_alu(program, BPF_XOR, negative, operand_immediate(-1)));
}

struct operand elapsed_taken_off(struct lower *lower, struct operand before)
{
    return lower->taken.kind == OPERAND_NONE ? operand_immediate(0)
                                             : machine_alu(lower->program, BPF_SUB, lower->taken, before);
}

int elapsed_declare(const struct compiler *compiler, struct object *result)
{
    if (!compiler->sums)
        return 0;
    return object_add_map(result, &(struct object_map){
                                      .name = SUM_MAP,
                                      .type = BPF_MAP_TYPE_TASK_STORAGE,
                                      .key_size = 4,
                                      .value_size = sizeof(uint64_t),
                                      .flags = BPF_F_NO_PREALLOC,
                                      .reuse_fd = -1,
                                  });
}
