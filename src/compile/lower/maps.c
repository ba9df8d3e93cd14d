/* Maps, vars and rings: the kernel objects behind them, and the operations of a handler on them. Aggregations are in
 * aggregate.c. */
#include "../bpf/timed.h"
#include "compile/lower/lower.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct shared *object_of(struct lower *lower, const struct value *value)
{
    return lower->compiler->objects[value->object];
}

/* What a message calls OBJECT. */
static const char *name_of(const struct shared *object)
{
    return object->name ? object->name : object->map_name;
}

/* --- what the kernel is asked to make --- */

/* True if a map may be called NAME. The object's other symbols, and those of the library that is linked to it, are
 * called uplua_…. */
static bool is_map_name(const struct compiler *compiler, const char *name)
{
    if (!strncmp(name, "uplua_", strlen("uplua_")))
        return false;
    for (size_t i = 0; i < compiler->object_count; i++)
        if (!strcmp(name, compiler->objects[i]->map_name))
            return false;
    for (const char *c = name; *c; c++)
        if (!isalpha((unsigned char)*c) && (c == name || (!isdigit((unsigned char)*c) && *c != '_')))
            return false;
    return *name && strlen(name) < sizeof compiler->objects[0]->map_name;
}

/* Names the kernel's map after the variable, for bpftool and --explain, where that can be. */
static void name_map(const struct compiler *compiler, struct shared *object, size_t number)
{
    if (*object->map_name)
        return;
    if (object->name && is_map_name(compiler, object->name))
        memcpy(object->map_name, object->name, strlen(object->name) + 1);
    else
        snprintf(object->map_name, sizeof object->map_name, "uplua_map%u", (unsigned)number % 1000000);
}

static void describe(struct compiler *compiler, struct shared *object, size_t number)
{
    static const uint32_t types[] = {
        [OBJECT_HASH] = BPF_MAP_TYPE_HASH,
        [OBJECT_LRU] = BPF_MAP_TYPE_LRU_HASH,
        [OBJECT_PERCPU_HASH] = BPF_MAP_TYPE_PERCPU_HASH,
        [OBJECT_ARRAY] = BPF_MAP_TYPE_ARRAY,
        [OBJECT_VAR] = BPF_MAP_TYPE_ARRAY,
        [OBJECT_RING] = BPF_MAP_TYPE_RINGBUF,
        [OBJECT_RECORDER] = BPF_MAP_TYPE_ARRAY,
        [OBJECT_OUTPUT] = BPF_MAP_TYPE_RINGBUF,
        [OBJECT_OTHER] = 0, /* refused where it is used */
    };
    if (object_is_aggregate(object))
        aggregate_describe(compiler, object, number);
    else
        object->map_type = types[object->kind];
}

/* No handler and no write of the script says what such a map holds: it stays empty, and is not made. */
static bool is_empty_map(const struct shared *object)
{
    return object->kind <= OBJECT_ARRAY && (object->key.kind == TYPE_NONE || object->value.kind == TYPE_NONE);
}

static bool is_ring(const struct shared *object)
{
    return object->kind == OBJECT_RING || object->kind == OBJECT_OUTPUT;
}

/* True for a ring that handlers emit to, in this setup or another: the script has made it for that. The one for what
 * handlers print is always there, and counts where any does. */
static bool is_emitted_to(const struct shared *object)
{
    return object->kind == OBJECT_RING || object->fd >= 0 || (object->used && object->variant_count);
}

/* Rings have the times of their records where there is more than one whose order counts, or the script asks for that.
 * One that is there stays as it is. */
static void find_timed(struct compiler *compiler)
{
    size_t count = 0;
    for (size_t i = 0; i < compiler->object_count; i++) {
        const struct shared *object = compiler->objects[i];
        count += is_ring(object) && object->ordered && is_emitted_to(object);
    }
    for (size_t i = 0; i < compiler->object_count; i++) {
        struct shared *object = compiler->objects[i];
        if (object->used && object->fd < 0)
            object->timed = is_ring(object) && object->ordered && (count > 1 || object->alone);
    }
}

void maps_describe(struct compiler *compiler)
{
    compiler->turns = 0;
    find_timed(compiler);
    for (size_t i = 0; i < compiler->object_count; i++) {
        struct shared *object = compiler->objects[i];
        if (!object->used)
            continue;
        describe(compiler, object, i);
        if (object->kind == OBJECT_RECORDER)
            recorder_describe(compiler, object);
        name_map(compiler, object, i);
    }
}

static int declare(const struct shared *object, struct object *result)
{
    if (object_is_aggregate(object))
        return aggregate_declare(object, result);
    if (object->kind == OBJECT_VAR)
        return object_add_variable(result, object->map_name, type_size(object->value), object->fd);
    struct object_map map = {
        .name = object->map_name,
        .type = object->map_type,
        .flags = object->map_flags,
        .reuse_fd = object->fd,
        .max_entries = (uint32_t)object->max,
    };
    if (object->kind == OBJECT_RECORDER) {
        int status = recorder_declare(object, &map);
        if (status)
            return status;
    } else if (!is_ring(object)) {
        map.key_size = object->kind == OBJECT_ARRAY ? 4 : type_size(object->key);
        map.value_size = type_size(object->value);
    }
    return object_add_map(result, &map);
}

int maps_declare(struct compiler *compiler, struct object *result)
{
    for (size_t i = 0; i < compiler->object_count; i++) {
        const struct shared *object = compiler->objects[i];
        int status = object->used && !is_empty_map(object) ? declare(object, result) : 0;
        if (status)
            return status;
    }
    return 0;
}

/* --- operations --- */

struct operand maps_lookup(struct lower *lower, const char *map, struct operand key)
{
    return machine_call(lower->program, BPF_FUNC_map_lookup_elem, OPERANDS(operand_map(map), key));
}

/* The helper's result: 0, or negative where KEY is absent. */
static struct operand erase(struct lower *lower, const struct shared *object, struct operand key)
{
    return machine_call(lower->program, BPF_FUNC_map_delete_elem, OPERANDS(operand_map(object->map_name), key));
}

/* The helper's result: 0, or negative where OBJECT is full. */
static struct operand update(struct lower *lower, const struct shared *object, struct operand key, struct operand value,
                             int64_t flags)
{
    return machine_call(lower->program, BPF_FUNC_map_update_elem,
                        OPERANDS(operand_map(object->map_name), key, value, operand_immediate(flags)));
}

static struct operand lookup(struct lower *lower, const struct shared *object, struct operand key)
{
    return maps_lookup(lower, object->map_name, key);
}

unsigned maps_full(struct lower *lower, const struct shared *object)
{
    return lower_ledger(lower, arena_format(lower->program->arena, "'%s' is full (max = %llu): not inserted; %s",
                                            name_of(object), (unsigned long long)object->max, object->advice));
}

static struct operand key_address(struct lower *lower, struct value *key, const struct shared *object)
{
    lower_require(lower, lower_place(lower, key), "a map's key is nil");
    return memory_address(lower, key, object->key);
}

/* The address of KEY's entry in the array OBJECT, 0 where KEY is outside of it. */
static struct operand array_lookup(struct lower *lower, const struct shared *object, struct value *key)
{
    struct program *program = lower->program;
    struct machine_block *outside = machine_block(program), *join = machine_block(program);
    struct operand index = lower_place(lower, key)->value, address = key_address(lower, key, object);
    lower_continue_if(lower, BPF_JLT, index, operand_immediate((int64_t)object->max), outside);
    /* the kernel reads the index's lower half, which lies first */
    struct operand entry = lookup(lower, object, address);
    machine_jump(program, join);
    machine_place(program, outside);
    machine_continue(program, join);
    return machine_choose(program, join, outside, operand_immediate(0), entry);
}

/* The address of KEY's entry, 0 where there is none. */
static struct operand entry_of(struct lower *lower, const struct shared *object, struct value *key)
{
    if (object->kind == OBJECT_ARRAY)
        return array_lookup(lower, object, key);
    return lookup(lower, object, key_address(lower, key, object));
}

bool maps_defer(const struct lower *lower, const struct value *read)
{
    return read->deferred && !widen_hides(lower, read);
}

/* Continues with the value's address, reading as nil where KEY is absent. */
static void map_get(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct shared *object = object_of(lower, value);
    struct place *place = lower_place(lower, value);
    if (is_empty_map(object)) {
        place->value = place->present = operand_immediate(0);
        return;
    }
    struct operand entry = entry_of(lower, object, value->args[0]);
    place->entry = entry;
    if (object->value.kind == TYPE_RECORD || maps_defer(lower, value)) {
        place->value = place->present = entry;
        return;
    }
    struct machine_block *absent = machine_block(program), *join = machine_block(program);
    lower_continue_if(lower, BPF_JNE, entry, operand_immediate(0), absent);
    *place = memory_load(lower, entry, 0, object->value);
    place->entry = entry;
    struct operand loaded = place->value;
    machine_jump(program, join);
    machine_place(program, absent);
    if (object->value.kind == TYPE_STRING)
        memory_zero(lower, loaded, 0, object->value.capacity);
    machine_continue(program, join);
    place->present = entry;
    if (widen_hides(lower, value))
        place->present = machine_choose(program, join, absent, operand_immediate(0), operand_immediate(1));
    if (object->value.kind == TYPE_STRING)
        return;
    place->value = machine_choose(program, join, absent, operand_immediate(0), loaded);
}

struct place maps_load(struct lower *lower, struct value *read)
{
    return memory_load(lower, lower_place(lower, read)->value, 0, object_of(lower, read)->value);
}

static void map_delete(struct lower *lower, struct value *value)
{
    struct shared *object = object_of(lower, value);
    struct place *place = lower_place(lower, value);
    place->value = operand_immediate(0);
    if (!is_empty_map(object)) /* deleting what is not there is no loss */
        place->value = lower_is_not_negative(lower, erase(lower, object, key_address(lower, value->args[0], object)));
}

static unsigned outside(struct lower *lower, const struct shared *object)
{
    return lower_ledger(lower, arena_format(lower->program->arena, "an index of '%s' is not in 0 … %llu: not stored",
                                            name_of(object), (unsigned long long)object->max - 1));
}

static void array_set(struct lower *lower, const struct value *value, const struct shared *object)
{
    struct program *program = lower->program;
    struct machine_block *join = machine_block(program);
    struct operand entry = entry_of(lower, object, value->args[0]);
    lower_continue_if(lower, BPF_JNE, entry, operand_immediate(0), lower_loss(lower, outside(lower, object), join, 0));
    memory_store(lower, entry, 0, object->value, value->args[1]);
    machine_continue(program, join);
}

static void map_set(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct shared *object = object_of(lower, value);
    struct place *from = lower_place(lower, value->args[1]);
    if (is_empty_map(object))
        return;
    if (object->kind == OBJECT_ARRAY)
        return array_set(lower, value, object);
    struct operand key = key_address(lower, value->args[0], object);
    struct machine_block *join = machine_block(program), *absent = machine_block(program);
    if (from->present.kind) /* m[k] = nil deletes */
        lower_continue_if(lower, BPF_JNE, from->present, operand_immediate(0), absent);
    cut_key_count(lower, object, value->args[0]);
    struct operand result = update(lower, object, key, memory_address(lower, value->args[1], object->value), BPF_ANY);
    machine_branch(program, BPF_JEQ, result, operand_immediate(0), join,
                   lower_loss(lower, maps_full(lower, object), join, 0));
    if (from->present.kind) {
        machine_place(program, absent);
        erase(lower, object, key);
        machine_jump(program, join);
    }
    machine_place(program, join);
}

/*
 * Goes on in a new block with the address of the element KEY, of which FIRST is what a lookup found; where it is absent
 * it is inserted with the number INITIAL, and control goes to DONE.
 */
static struct operand element(struct lower *lower, const struct shared *object, struct operand key,
                              struct operand first, struct operand initial, struct machine_block *done)
{
    struct program *program = lower->program;
    struct slot *value = program_slot(program, 8);
    struct machine_block *found = machine_block(program), *missing = machine_block(program);
    struct machine_block *again = machine_block(program), *retried = machine_block(program);
    struct machine_block *hit = machine_block(program);
    machine_branch(program, BPF_JNE, first, operand_immediate(0), hit, missing);
    machine_place(program, hit);
    machine_jump(program, found);
    missing->cold = again->cold = retried->cold = true;
    machine_place(program, missing);
    machine_store(program, BPF_DW, operand_slot(value, 0), 0, initial);
    struct operand inserted = update(lower, object, key, operand_slot(value, 0), BPF_NOEXIST);
    machine_branch(program, BPF_JEQ, inserted, operand_immediate(0), done, again);
    machine_place(program, again);
    struct operand second = lookup(lower, object, key);
    machine_branch(program, BPF_JNE, second, operand_immediate(0), retried,
                   lower_loss(lower, maps_full(lower, object), done, 0));
    machine_place(program, retried);
    machine_continue(program, found);
    return machine_choose(program, found, hit, first, second);
}

static void map_add(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct shared *object = object_of(lower, value);
    struct operand delta = lower_number(lower, value->args[1]);
    struct value *read = value->arg_count > 2 ? ir_value(value->args[2]) : NULL;
    bool there = read && read->op == IR_PRESENT, is_array = object->kind == OBJECT_ARRAY;
    uint8_t size = memory_size(object->value);
    while (read && read->op == IR_PRESENT)
        read = ir_value(read->args[0]);
    struct operand first = read ? lower_place(lower, read)->entry : entry_of(lower, object, value->args[0]);
    if (!value->number || there) {
        if (!there)
            lower_require(lower, &(struct place){.present = first}, "arithmetic or comparison on nil");
        cut_key_count(lower, object, value->args[0]);
        machine_add_atomic(program, size, first, 0, delta);
        return;
    }
    cut_key_count(lower, object, value->args[0]);
    struct machine_block *done = machine_block(program);
    struct operand entry = first;
    if (is_array)
        lower_continue_if(lower, BPF_JNE, first, operand_immediate(0),
                          lower_loss(lower, outside(lower, object), done, 0));
    else
        entry = element(lower, object, key_address(lower, value->args[0], object), first, delta, done);
    machine_add_atomic(program, size, entry, 0, delta);
    machine_continue(program, done);
}

/* What the element KEY of OBJECT has been; it is made, with 0, where it is absent. */
static void map_fetch_add(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    const struct shared *object = object_of(lower, value);
    struct place *place = lower_place(lower, value);
    struct operand key = key_address(lower, value->args[0], object), delta = lower_number(lower, value->args[1]);
    cut_key_count(lower, object, value->args[0]);
    struct slot *zero = program_slot(program, 8);
    struct machine_block *hit = machine_block(program), *missing = machine_block(program);
    struct machine_block *found = machine_block(program), *join = machine_block(program);
    struct machine_block *full = lower_loss(lower, maps_full(lower, object), join, 0);
    missing->cold = true;
    struct operand first = lookup(lower, object, key);
    machine_branch(program, BPF_JNE, first, operand_immediate(0), hit, missing);
    machine_place(program, hit);
    machine_jump(program, found);
    machine_place(program, missing);
    machine_store(program, BPF_DW, operand_slot(zero, 0), 0, operand_immediate(0));
    update(lower, object, key, operand_slot(zero, 0), BPF_NOEXIST);
    struct operand second = lookup(lower, object, key);
    lower_continue_if(lower, BPF_JNE, second, operand_immediate(0), full);
    machine_continue(program, found);
    struct operand before = machine_fetch_add(program, machine_choose(program, found, hit, first, second), 0, delta);
    machine_continue(program, join);
    place->value = machine_choose(program, join, full, operand_immediate(0), before);
    place->present = machine_choose(program, join, full, operand_immediate(0), operand_immediate(1));
}

struct operand maps_only_element(struct lower *lower, const struct shared *object, struct machine_block *done)
{
    if (!lower->zero_key)
        lower->zero_key = program_slot(lower->program, 8);
    if (!lower->zero_stored_in || !ir_dominates(lower->zero_stored_in, lower->block)) {
        machine_store(lower->program, BPF_DW, operand_slot(lower->zero_key, 0), 0, operand_immediate(0));
        lower->zero_stored_in = lower->block;
    }
    struct operand entry = lookup(lower, object, operand_slot(lower->zero_key, 0));
    lower_continue_if(lower, BPF_JNE, entry, operand_immediate(0), done);
    return entry;
}

static void variable(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    const struct shared *object = object_of(lower, value);
    struct place *given = value->arg_count ? lower_place(lower, value->args[0]) : NULL;
    if (given)
        lower_require(lower, given, "a var cannot be nil");
    struct operand address = machine_copy(program, operand_data(object->map_name, 0));
    if (value->op == IR_VAR_GET)
        *lower_place(lower, value) = memory_load(lower, address, 0, object->value);
    else if (value->op == IR_VAR_SET)
        memory_store(lower, address, 0, object->value, value->args[0]);
    else
        machine_add_atomic(program, memory_size(object->value), address, 0, given->value);
}

struct slot *maps_emitted(struct lower *lower, const struct value *value)
{
    struct value *source = ir_value(value->args[0]);
    struct place *record = lower_place(lower, source);
    uint32_t size = record_of(source->type.record)->size;
    if (record->header)
        return record->header;
    struct slot *slot = program_slot(lower->program, size + 8);
    memory_copy(lower, operand_slot(slot, 0), 8, record->value, 0, size);
    return slot;
}

static unsigned ring_full(struct lower *lower, const struct shared *object)
{
    if (object->kind == OBJECT_OUTPUT)
        return lower_ledger(lower, arena_format(lower->program->arena,
                                                "printf: its ring of %llu bytes is full: text lost; print less",
                                                (unsigned long long)object->max));
    return lower_ledger(lower,
                        arena_format(lower->program->arena, "the ring '%s' is full (size = %llu): event lost; %s",
                                     name_of(object), (unsigned long long)object->max, object->advice));
}

/*
 * The flags with which a record of SIZE bytes goes into RING. The kernel itself wakes the reader for a record that it
 * has caught up with. One that then waits before it reads is woken in that time by the first record of each part.
 */
static struct operand wake_flags(struct lower *lower, const struct shared *ring, uint32_t size)
{
    struct program *program = lower->program;
    int64_t part = (int64_t)ring->max / RING_PARTS, length = (size + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
    if (!ring->paced)
        return operand_immediate(0);
    if (length >= part)
        return operand_immediate(BPF_RB_FORCE_WAKEUP);
    struct operand position = machine_call(program, BPF_FUNC_ringbuf_query,
                                           OPERANDS(operand_map(ring->map_name), operand_immediate(BPF_RB_PROD_POS)));
    struct operand into = machine_alu(program, BPF_AND, position, operand_immediate(part - 1));
    /* 1 where INTO is less than LENGTH: a branch would double the paths that the verifier walks */
    struct operand first = machine_alu(program, BPF_RSH, machine_alu(program, BPF_SUB, into, operand_immediate(length)),
                                       operand_immediate(63));
    return machine_alu(program, BPF_MUL, first, operand_immediate(BPF_RB_FORCE_WAKEUP));
}

/* The time of what VALUE emits: e.time, where the handler has it by then. */
static struct operand time_of(struct lower *lower, const struct value *value)
{
    for (struct block *block = lower->function->entry; block; block = block->following)
        for (struct value *earlier = block->first; earlier && earlier != value; earlier = earlier->next) {
            const struct place *place = lower_place(lower, earlier);
            if (earlier->op == IR_EVENT_FIELD && earlier->event->source == EVENT_TIME && place->value.kind &&
                ir_dominates(block, lower->block))
                return place->value;
        }
    return machine_call(lower->program, BPF_FUNC_ktime_get_ns, NULL, 0);
}

static void emit(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct shared *object = object_of(lower, value);
    struct value *source = ir_value(value->args[0]);
    lower_require(lower, lower_place(lower, source), "emitting nil");
    if (object->kind == OBJECT_RECORDER)
        return recorder_emit(lower, value, object);
    for (size_t i = 1; i < value->arg_count; i++)
        lower_require(lower, lower_place(lower, value->args[i]), "printf of nil, which only %s prints");
    uint32_t size = record_of(source->type.record)->size;
    struct slot *slot = maps_emitted(lower, value);
    struct operand head = operand_immediate(value->number);
    if (object->timed) {
        struct operand time = machine_alu(program, BPF_LSH, time_of(lower, value), operand_immediate(RING_TAG_BITS));
        head = machine_alu(program, BPF_OR, time, head);
    }
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, head);
    struct operand flags = wake_flags(lower, object, size + 8);
    struct operand result = machine_call(
        program, BPF_FUNC_ringbuf_output,
        OPERANDS(operand_map(object->map_name), operand_slot(slot, 0), operand_immediate(size + 8), flags));
    struct machine_block *done = machine_block(program);
    machine_branch(program, BPF_JEQ, result, operand_immediate(0), done,
                   lower_loss(lower, ring_full(lower, object), done, 0));
    machine_place(program, done);
    lower_place(lower, value)->value = lower_is_not_negative(lower, result);
}

/* The status of an exit, 0 where it is nil; one that no process can have becomes 1, and is counted. */
static struct operand exit_status(struct lower *lower, const struct value *value)
{
    struct program *program = lower->program;
    if (!value->arg_count)
        return operand_immediate(0);
    struct operand status = lower_place(lower, value->args[0])->value;
    if (status.kind == OPERAND_IMMEDIATE)
        return status;
    struct machine_block *join = machine_block(program);
    struct machine_block *wrong =
        lower_loss(lower, lower_ledger(lower, "exit: the status was not from 0 to 255, the run ended with 1"), join, 0);
    lower_continue_if(lower, BPF_JLE, status, operand_immediate(255), wrong);
    machine_continue(program, join);
    return machine_choose(program, join, wrong, operand_immediate(1), status);
}

/* The word `exit` is 0 until the first exit makes it its status + 1 (bpf/exit.bpf.c). */
static void end_run(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct operand word = machine_alu(program, BPF_ADD, exit_status(lower, value), operand_immediate(1));
    machine_call_library(
        program, "uplua_exit",
        OPERANDS(operand_data(EXITED_COUNTERS, 0), operand_map(object_of(lower, value)->map_name), word));
}

void maps_lower(struct lower *lower, struct value *value)
{
    switch (value->op) {
    case IR_MAP_GET:
        return map_get(lower, value);
    case IR_MAP_SET:
        return map_set(lower, value);
    case IR_MAP_DELETE:
        return map_delete(lower, value);
    case IR_MAP_FETCH_ADD:
        return map_fetch_add(lower, value);
    case IR_MAP_ADD:
        return map_add(lower, value);
    case IR_AGGREGATE:
        return aggregate_lower(lower, value);
    case IR_VAR_GET ... IR_VAR_ADD:
        return variable(lower, value);
    case IR_EMIT:
        return emit(lower, value);
    case IR_EXIT:
        return end_run(lower, value);
    default:
        return;
    }
}
