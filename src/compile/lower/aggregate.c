/*
 * Aggregations: what the kernel keeps of them, and how a handler adds to them. Values are per CPU, and every update of
 * a word is one atomic operation, so that handlers that interrupt each other lose nothing.
 *
 * count and sum are a word that is added to, with another one for what passes its end. The other kinds keep extremes,
 * which, unlike a sum, do not tell afterwards what they have been raised by since a certain moment. They are kept
 * twice, under keys that end in a suffix: a turn, 0 or 1, that the script changes when it takes what there is. Handlers
 * find the turn in the object's counters `uplua_turns`. The suffix also says which stretch of its buckets a large
 * histogram's value lies in: suffix = 2 * stretch + turn.
 */
#include <stdio.h>

#include "../bpf/aggregate.h"
#include "compile/lower/lower.h"

enum {
    SUM_WORDS = sizeof(struct sum) / 8,
    DISTRIBUTION_WORDS = sizeof(struct distribution) / 8,
    OVERFLOW_WORDS = sizeof(struct overflow) / 8,
    SUFFIX_BYTES = 8,
};

_Static_assert(DISTRIBUTION_WORDS + STRETCH <= ZERO_WORDS, "a new element is made from zeros");

/* What is only added to; all else is a struct distribution. */
static bool is_sum(const struct shared *object)
{
    return object->kind == OBJECT_COUNT || object->kind == OBJECT_SUM;
}

/* --- what the kernel is asked to make --- */

static uint64_t bucket_count(const struct shared *object)
{
    switch (object->kind) {
    case OBJECT_HIST:
        return LOG2_BUCKETS;
    case OBJECT_LHIST:
        return object->buckets.count + 2; /* below and above */
    case OBJECT_HDR:                      /* of HdrHistogram, and one for negative values */
        return ((uint64_t)(65 - object->buckets.bits) << object->buckets.bits) + 1;
    default:
        return 1;
    }
}

/* The elements that the buckets of an aggregation are spread over; 1 for those without buckets. */
static uint64_t aggregate_stretches(const struct shared *object)
{
    return (bucket_count(object) + STRETCH - 1) >> STRETCH_BITS;
}

static uint32_t value_words(const struct shared *object)
{
    if (is_sum(object))
        return SUM_WORDS;
    uint64_t count = bucket_count(object);
    return DISTRIBUTION_WORDS + (uint32_t)(count > STRETCH ? STRETCH : count);
}

static uint32_t key_bytes(const struct shared *object)
{
    uint32_t key = object->keyed ? type_size(object->key) : 0;
    return is_sum(object) ? key : ((key + 7) & ~7u) + SUFFIX_BYTES;
}

void aggregate_describe(struct compiler *compiler, struct shared *object, size_t number)
{
    object->turn = is_sum(object) ? -1 : (int)compiler->turns++;
    if (object->fd >= 0)
        return;
    if (!key_bytes(object)) {
        object->map_type = BPF_MAP_TYPE_PERCPU_ARRAY;
        return;
    }
    /* Allocating every per-CPU element ahead would take 10 ms for the default 65,536. */
    object->map_type = BPF_MAP_TYPE_PERCPU_HASH;
    object->map_flags = BPF_F_NO_PREALLOC;
    snprintf(object->spill_name, sizeof object->spill_name, "uplua_spill%u", (unsigned)number % 10000);
    if (object->exported && object->keyed)
        snprintf(object->overflow_name, sizeof object->overflow_name, "uplua_over%u", (unsigned)number % 10000);
}

int aggregate_declare(const struct shared *object, struct object *result)
{
    uint64_t entries = object->keyed ? object->max : 1;
    if (!is_sum(object))
        entries = object->keyed ? 2 * object->max : 2 * aggregate_stretches(object);
    struct object_map map = {
        .name = object->map_name,
        .type = object->map_type,
        .flags = object->map_flags,
        .reuse_fd = object->fd,
        .key_size = key_bytes(object) ? key_bytes(object) : 4,
        .value_size = 8 * value_words(object),
        .max_entries = entries > UINT32_MAX ? UINT32_MAX : (uint32_t)entries,
    };
    int status = object_add_map(result, &map);
    if (status || !*object->spill_name)
        return status;
    map.name = object->spill_name;
    map.type = BPF_MAP_TYPE_HASH;
    map.reuse_fd = object->spill_fd;
    status = object_add_map(result, &map);
    if (status || !*object->overflow_name)
        return status;
    return object_add_map(result, &(struct object_map){
                                      .name = object->overflow_name,
                                      .type = BPF_MAP_TYPE_PERCPU_ARRAY,
                                      .reuse_fd = object->overflow_fd,
                                      .key_size = 4,
                                      .value_size = 8 * (OVERFLOW_WORDS + value_words(object)),
                                      .max_entries = (uint32_t)aggregate_stretches(object),
                                  });
}

/* --- updates --- */

/* Calls the function NAME of bpf/aggregate.bpf.c, or its twin for values of TYPE, where that is unsigned. */
static struct operand call_for(struct lower *lower, struct type type, const char *name, const struct operand *args,
                               size_t count)
{
    if (type.kind == TYPE_U64)
        name = arena_format(lower->program->arena, "%s_unsigned", name);
    return machine_call_library(lower->program, name, args, count);
}

/* The bucket that V lies in; a hist finds it when it is added to. */
static struct operand bucket_of(struct lower *lower, const struct shared *object, struct operand v)
{
    const struct buckets *buckets = &object->buckets;
    switch (object->kind) {
    case OBJECT_LHIST:
        return call_for(lower, object->value, "uplua_linear_bucket",
                        OPERANDS(v, operand_immediate(buckets->low), operand_immediate((int64_t)buckets->step),
                                 operand_immediate((int64_t)buckets->count)));
    case OBJECT_HDR:
        return call_for(lower, object->value, "uplua_hdr_bucket", OPERANDS(v, operand_immediate(buckets->bits)));
    default:
        return operand_immediate(0);
    }
}

/* The key of the map for the element KEY (NULL: there is but one) of OBJECT, and for the value's BUCKET. */
static struct operand key_address(struct lower *lower, const struct shared *object, struct value *key,
                                  struct operand bucket)
{
    struct program *program = lower->program;
    if (is_sum(object))
        return memory_address(lower, key, object->key);
    uint32_t size = key_bytes(object) - SUFFIX_BYTES;
    struct slot *slot = program_slot(program, size + SUFFIX_BYTES);
    if (key && type_size(object->key) < size)
        memory_zero(lower, operand_slot(slot, 0), 0, size);
    if (key)
        memory_store(lower, operand_slot(slot, 0), 0, object->key, key);
    struct operand turns = machine_copy(program, operand_data(TURN_COUNTERS, 8 * (int64_t)object->turn));
    struct operand suffix = machine_load(program, BPF_DW, turns, 0);
    if (aggregate_stretches(object) > 1) {
        struct operand stretch = machine_alu(program, BPF_RSH, bucket, operand_immediate(STRETCH_BITS));
        suffix = machine_alu(program, BPF_ADD, machine_alu(program, BPF_LSH, stretch, operand_immediate(1)), suffix);
    }
    machine_store(program, BPF_DW, operand_slot(slot, 0), size, suffix);
    return operand_slot(slot, 0);
}

/*
 * Goes on in a new block with the address of the element KEY, for a value in BUCKET. It is made where there is none; if
 * it cannot be, it is that of all keys together for which there is no room, or control goes to DONE.
 */
static struct operand element(struct lower *lower, const struct shared *object, struct operand key,
                              struct operand bucket, struct machine_block *done)
{
    struct program *program = lower->program;
    struct operand first = maps_lookup(lower, object->map_name, key);
    struct machine_block *hit = machine_block(program), *missing = machine_block(program);
    struct machine_block *made = machine_block(program), *found = machine_block(program);
    machine_branch(program, BPF_JNE, first, operand_immediate(0), hit, missing);
    machine_place(program, hit);
    machine_jump(program, found);
    missing->cold = made->cold = true;
    machine_place(program, missing);
    struct operand second = machine_call_library(
        program, is_sum(object) ? "uplua_insert_sum" : "uplua_insert",
        OPERANDS(operand_map(object->map_name), operand_map(object->spill_name), key, operand_data(ZERO_COUNTERS, 0)));
    if (*object->overflow_name) {
        struct machine_block *alone = machine_block(program), *full = machine_block(program);
        struct machine_block *together = machine_block(program);
        alone->cold = full->cold = together->cold = true;
        machine_branch(program, BPF_JNE, second, operand_immediate(0), alone, full);
        machine_place(program, alone);
        machine_jump(program, made);
        machine_place(program, full);
        struct operand stretch = operand_immediate(0);
        if (aggregate_stretches(object) > 1)
            stretch = machine_alu(program, BPF_RSH, bucket, operand_immediate(STRETCH_BITS));
        struct operand third =
            machine_call_library(program, "uplua_overflow", OPERANDS(operand_map(object->overflow_name), stretch));
        machine_branch(program, BPF_JNE, third, operand_immediate(0), together, done);
        machine_place(program, together);
        machine_jump(program, made);
        machine_place(program, made);
        second = machine_choose(program, made, alone, second, third);
    } else {
        machine_branch(program, BPF_JNE, second, operand_immediate(0), made,
                       lower_loss(lower, maps_full(lower, object), done, 0));
        machine_place(program, made);
    }
    machine_continue(program, found);
    return machine_choose(program, found, hit, first, second);
}

/* Counts a value in BUCKET of the element ENTRY. The verifier is shown that it is there. */
static void count_in_bucket(struct lower *lower, const struct shared *object, struct operand entry,
                            struct operand bucket, struct machine_block *done)
{
    struct program *program = lower->program;
    struct operand one = operand_immediate(1);
    if (bucket.kind == OPERAND_IMMEDIATE)
        return machine_add_atomic(program, BPF_DW, entry, 8 * (DISTRIBUTION_WORDS + bucket.number), one);
    if (aggregate_stretches(object) > 1)
        bucket = machine_alu(program, BPF_AND, bucket, operand_immediate(STRETCH - 1));
    else
        lower_continue_if(lower, BPF_JLT, bucket, operand_immediate((int64_t)bucket_count(object)), done);
    struct operand at =
        machine_alu(program, BPF_ADD, entry, machine_alu(program, BPF_LSH, bucket, operand_immediate(3)));
    machine_add_atomic(program, BPF_DW, at, 8 * DISTRIBUTION_WORDS, one);
}

void aggregate_lower(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    const struct shared *object = lower->compiler->objects[value->object];
    struct operand v = lower_number(lower, value->args[0]), bucket = bucket_of(lower, object, v);
    struct value *key = value->arg_count > 1 ? value->args[1] : NULL;
    struct machine_block *done = machine_block(program);
    if (key) {
        lower_require(lower, lower_place(lower, key), "an aggregation's key is nil");
        cut_key_count(lower, object, key);
    }
    struct operand entry = key_bytes(object)
                               ? element(lower, object, key_address(lower, object, key, bucket), bucket, done)
                               : maps_only_element(lower, object, done);
    if (is_sum(object) && !object->amounts) {
        machine_add_atomic(program, BPF_DW, entry, 0, v);
    } else if (is_sum(object)) {
        call_for(lower, ir_value(value->args[0])->type, "uplua_sum_add", OPERANDS(entry, v));
    } else if (object->kind == OBJECT_HIST) {
        call_for(lower, object->value, "uplua_hist_add", OPERANDS(entry, v));
    } else {
        count_in_bucket(lower, object, entry, bucket, done);
        call_for(lower, object->value, "uplua_distribute", OPERANDS(entry, v));
    }
    machine_continue(program, done);
}
