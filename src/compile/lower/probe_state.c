/*
 * The state of a probe, as its programs read it, and the counts of its hits. A program of another version than the
 * probe's is asleep: it ends at once. So the script attaches a new handler beside the old one, and then changes both by
 * one store. A return whose entry was kept runs under the handler of that entry, whatever the version is by then.
 */
#include "compile/context/probe_state.h"

#include <stddef.h>

#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"

/* The word at OFFSET into the handler's struct probe_state. */
static struct operand state_word(struct lower *lower, size_t offset)
{
    int64_t at = (int64_t)(lower->function->handler->state * sizeof(struct probe_state) + offset);
    struct operand address = machine_copy(lower->program, operand_data(PROBE_STATES, at));
    return machine_load(lower->program, BPF_W, address, 0);
}

void state_expect_awake(struct lower *lower, int64_t ignored)
{
    if (lower->function->handler->version)
        lower_continue_if(lower, BPF_JEQ, state_word(lower, offsetof(struct probe_state, version)),
                          operand_immediate(lower->function->handler->version), filter_ignore(lower, ignored));
}

/* Goes on with the counts of handler HANDLER on this CPU, at NEXT if there are none. Returns them. */
static struct operand counts_of(struct program *program, size_t handler, struct machine_block *next)
{
    struct slot *key = program_slot(program, 8);
    machine_store(program, BPF_W, operand_slot(key, 0), 0, operand_immediate((int64_t)handler));
    struct operand counts =
        machine_call(program, BPF_FUNC_map_lookup_elem, OPERANDS(operand_map(PROBE_COUNTS), operand_slot(key, 0)));
    struct machine_block *there = machine_block(program);
    machine_branch(program, BPF_JNE, counts, operand_immediate(0), there, next);
    machine_place(program, there);
    return counts;
}

/* Adds NUMBER to the COUNT words at OFFSETS of the counts of handler HANDLER. */
static void add(struct program *program, size_t handler, struct operand number, const size_t *offsets, size_t count)
{
    struct machine_block *next = machine_block(program);
    struct operand counts = counts_of(program, handler, next);
    for (size_t i = 0; i < count; i++)
        machine_add_atomic(program, BPF_DW, counts, (int64_t)offsets[i], number);
    machine_continue(program, next);
}

void state_count_hit(struct lower *lower)
{
    static const size_t hits[] = {offsetof(struct probe_counts, hits)};
    if (lower->function->handler->version)
        add(lower->program, lower->function->handler_number, operand_immediate(1), hits, 1);
}

void state_count_entry(struct lower *lower)
{
    static const size_t entered[] = {offsetof(struct probe_counts, entered)};
    if (lower->function->handler->version)
        add(lower->program, lower->function->handler_number, operand_immediate(1), entered, 1);
}

void state_count_other(struct lower *lower)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    if (!handler->version || !handler->provider->kernel_memory)
        return;
    struct machine_block *next = machine_block(program), *first = machine_block(program);
    struct operand counts = counts_of(program, lower->function->handler_number, next);
    struct operand hits = machine_load(program, BPF_DW, counts, offsetof(struct probe_counts, hits));
    machine_branch(program, BPF_JEQ, hits, operand_immediate(0), first, next);
    machine_place(program, first);
    machine_add_atomic(program, BPF_DW, counts, offsetof(struct probe_counts, others), operand_immediate(1));
    machine_continue(program, next);
}

void state_count_ended(struct program *program, size_t handler, struct operand number)
{
    static const size_t ended[] = {offsetof(struct probe_counts, hits), offsetof(struct probe_counts, skipped)};
    add(program, handler, number, ended, 2);
}

void state_expect_returns(struct lower *lower)
{
    static const size_t skipped[] = {offsetof(struct probe_counts, skipped)};
    struct program *program = lower->program;
    if (!lower->function->handler->version)
        return;
    struct machine_block *off = machine_block(program), *on = machine_block(program);
    off->cold = true;
    machine_branch(program, BPF_JNE, state_word(lower, offsetof(struct probe_state, returns)), operand_immediate(0), on,
                   off);
    machine_place(program, off);
    add(program, lower->function->handler_number, operand_immediate(1), skipped, 1);
    machine_exit(program, 0);
    machine_place(program, on);
}

struct operand state_settled(struct lower *lower)
{
    return lower->function->handler->version ? state_word(lower, offsetof(struct probe_state, settled))
                                             : operand_immediate(1);
}

struct operand state_before(struct lower *lower)
{
    return lower->function->handler->version ? state_word(lower, offsetof(struct probe_state, before))
                                             : operand_immediate(0);
}

struct machine_block *state_if_settled(struct lower *lower, struct machine_block *loss)
{
    struct program *program = lower->program;
    if (!lower->function->handler->version)
        return loss;
    struct machine_block *here = program->block, *test = machine_block(program);
    test->cold = true;
    machine_place(program, test);
    machine_branch(program, BPF_JNE, state_settled(lower), operand_immediate(0), loss, filter_ignore(lower, 0));
    program->block = here;
    return test;
}

int state_declare(const struct compile_options *options, size_t handlers, struct object *result)
{
    if (!options->states)
        return 0;
    int status = object_add_variable(result, PROBE_STATES, (uint32_t)(options->states * sizeof(struct probe_state)),
                                     options->states_fd);
    return status ? status
                  : object_add_map(result, &(struct object_map){
                                               .name = PROBE_COUNTS,
                                               .type = BPF_MAP_TYPE_PERCPU_ARRAY,
                                               .key_size = 4,
                                               .value_size = sizeof(struct probe_counts),
                                               .max_entries = (uint32_t)handlers,
                                               .reuse_fd = -1,
                                           });
}
