/* What the ways have in common in which values travel from a call's entry to its return. */
#include "compile/lower/pairing.h"

#include "compile/lower/lower.h"

struct operand *pairing_values(struct lower *lower)
{
    struct operand *values = arena_allocate(lower->program->arena, (lower->saved_count + 1) * sizeof *values);
    for (size_t i = 0; i < lower->saved_count; i++)
        if (!elapsed_is_of_time(lower->saved[i].event))
            values[i] = probe_entry_value(lower, lower->saved[i].event);
    return values;
}

void pairing_store(struct lower *lower, struct operand base, int64_t offset, const struct operand *values)
{
    for (size_t i = 0; i < lower->saved_count; i++)
        if (!elapsed_is_of_time(lower->saved[i].event))
            machine_store(lower->program, BPF_DW, base, offset + 8 * (int64_t)i, values[i]);
    state_count_entry(lower);
    elapsed_begin(lower, base, offset);
    machine_exit(lower->program, 0);
}

void pairing_load(struct lower *lower, struct operand base, int64_t offset)
{
    for (size_t i = 0; i < lower->saved_count; i++)
        lower->saved[i].value = machine_load(lower->program, BPF_DW, base, offset + 8 * (int64_t)i);
}

struct operand pairing_storage(struct program *program, const char *map, struct operand task, int64_t flags)
{
    return machine_call(program, BPF_FUNC_task_storage_get,
                        OPERANDS(operand_map(map), task, operand_immediate(0), operand_immediate(flags)));
}

int pairing_declare_storage(struct lower *lower, struct object *result, size_t size)
{
    return object_add_map(result, &(struct object_map){
                                      .name = probe_calls_map(lower),
                                      .type = BPF_MAP_TYPE_TASK_STORAGE,
                                      .key_size = 4,
                                      .value_size = (uint32_t)size,
                                      .flags = BPF_F_NO_PREALLOC,
                                      .reuse_fd = -1,
                                  });
}
