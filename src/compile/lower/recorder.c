/*
 * Recorders: handlers keep what has happened last, each CPU in a circle of its own, and wake nobody. bpf/recorder.h
 * says how it lies there. A handler takes a number, marks the slot of that number as being written, writes, and marks
 * it as written: one that interrupts it, or runs while it is preempted, takes the next.
 */
#include <bpf/libbpf.h>

#include "../bpf/recorder.h"
#include "arch/arch.h"
#include "compile/lower/lower.h"

void recorder_describe(struct compiler *compiler, struct shared *object)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < object->variant_count; i++) {
        uint32_t size = record_of(object->variants[i].record)->size;
        largest = size > largest ? size : largest;
    }
    largest = RECORDER_SLOT_HEAD + ((largest + 7) & ~7u);
    if (object->fd >= 0) { /* it is there, as large as it is */
        if (largest > object->slot_size)
            compile_fail(compiler, NULL,
                         "a record of %u bytes does not fit into the recorder '%s', which has %u for each", largest,
                         object->name, object->slot_size);
        return;
    }
    object->slot_size = largest;
    for (object->slots = 2; (uint64_t)object->slots * 2 * largest <= object->max; object->slots *= 2)
        ;
}

int recorder_declare(const struct shared *object, struct object_map *map)
{
    int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return cpus;
    map->key_size = 4;
    map->value_size = RECORDER_HEAD + object->slots * object->slot_size;
    map->max_entries = (uint32_t)cpus;
    map->flags |= BPF_F_MMAPABLE;
    return 0;
}

/* Stores WORD as others see it: after all stores before it, and before all behind it. An exchange is a barrier. */
static void store_in_order(struct program *program, struct operand slot, struct operand word)
{
    if (arch_cpu.ordered_stores)
        machine_store(program, BPF_DW, slot, 0, word);
    else
        machine_exchange(program, slot, 0, word);
}

void recorder_emit(struct lower *lower, struct value *value, const struct shared *object)
{
    struct program *program = lower->program;
    struct slot *record = maps_emitted(lower, value), *cpu = program_slot(program, 8);
    uint32_t size = record_of(ir_value(value->args[0])->type.record)->size;
    struct machine_block *done = machine_block(program);
    machine_store(program, BPF_DW, operand_slot(cpu, 0), 0,
                  machine_call_pure(program, BPF_FUNC_get_smp_processor_id, NULL, 0));
    struct operand element = maps_lookup(lower, object->map_name, operand_slot(cpu, 0));
    lower_continue_if(lower, BPF_JNE, element, operand_immediate(0), done);
    struct operand number = machine_fetch_add(program, element, 0, operand_immediate(1));
    struct operand time = machine_call(program, BPF_FUNC_ktime_get_ns, NULL, 0);
    struct operand index = machine_alu(program, BPF_AND, number, operand_immediate(object->slots - 1));
    struct operand offset = machine_alu(program, BPF_MUL, index, operand_immediate(object->slot_size));
    struct operand slot = machine_alu(program, BPF_ADD, element, offset);
    slot = machine_alu(program, BPF_ADD, slot, operand_immediate(RECORDER_HEAD));
    store_in_order(program, slot, operand_immediate(0));
    machine_store(program, BPF_DW, slot, RECORDER_TIME, time);
    memory_copy(lower, slot, RECORDER_SLOT_HEAD, operand_slot(record, 8), 0, size);
    struct operand next = machine_alu(program, BPF_ADD, number, operand_immediate(1));
    struct operand word = machine_alu(program, BPF_LSH, next, operand_immediate(RECORDER_TAG_BITS));
    store_in_order(program, slot, machine_alu(program, BPF_OR, word, operand_immediate(value->number)));
    machine_continue(program, done);
    lower_place(lower, value)->value = operand_immediate(1);
}
