/*
 * Strings: buffers of a fixed capacity, in whole words. Behind the text all bytes are zero, so that equal strings are
 * equal byte by byte, as keys too. The last byte is no text: it is 1 where the text was cut. A cut string therefore
 * equals no whole one, and the script side can tell; when it comes into a larger buffer, the mark moves to that one's
 * end.
 *
 * The last byte of a word is its highest: the CPUs that uplua knows are little-endian.
 */
#include "compile/lower/lower.h"

#include <string.h>

enum { MARK_BITS = 8, TEXT_BITS = 64 - MARK_BITS };

/* WORD, the last of a buffer, without the mark; and the mark alone, where it is. */
static struct operand text_of(struct program *program, struct operand word)
{
    struct operand bits = operand_immediate(MARK_BITS);
    return machine_alu(program, BPF_RSH, machine_alu(program, BPF_LSH, word, bits), bits);
}

static struct operand mark_of(struct program *program, struct operand word)
{
    struct operand bits = operand_immediate(TEXT_BITS);
    return machine_alu(program, BPF_LSH, machine_alu(program, BPF_RSH, word, bits), bits);
}

/* The eight bytes of CONSTANT from OFFSET on, zeros behind its end. */
static struct operand constant_word(const struct captured *constant, uint32_t offset)
{
    uint64_t word = 0;
    if (offset < constant->string.length)
        memcpy(&word, constant->string.bytes + offset,
               constant->string.length - offset < 8 ? constant->string.length - offset : 8);
    return operand_immediate((int64_t)word);
}

static const struct captured *constant_of(struct value *value)
{
    value = ir_value(value);
    return value->op == IR_CONSTANT ? &value->constant : NULL;
}

/* --- from place to place --- */

static void store_constant(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity,
                           const struct captured *constant)
{
    for (uint32_t i = 0; i < capacity; i += 8) {
        struct operand word = constant_word(constant, i);
        if (i + 8 == capacity && constant->string.length >= capacity)
            word.number = (int64_t)(((uint64_t)word.number << MARK_BITS >> MARK_BITS) | UINT64_C(1) << TEXT_BITS);
        memory_put(lower, BPF_DW, to, offset + i, word);
    }
}

/* Copies the string at FROM into a smaller buffer, which only declared memory has. The string is cut if it has a byte
 * at the mark's place, or if it was cut before. */
static void store_cut(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity,
                      const struct place *from)
{
    struct program *program = lower->program;
    struct operand word = machine_load(program, BPF_DW, from->value, capacity - 8);
    struct operand end = machine_load(program, BPF_B, from->value, from->capacity - 1);
    struct operand more =
        machine_alu(program, BPF_OR, machine_alu(program, BPF_RSH, word, operand_immediate(TEXT_BITS)), end);
    /* 1 to 255 → 1, 0 → 0 */
    struct operand cut = machine_alu(program, BPF_RSH, machine_alu(program, BPF_ADD, more, operand_immediate(255)),
                                     operand_immediate(8));
    struct operand mark = machine_alu(program, BPF_LSH, cut, operand_immediate(TEXT_BITS));
    memory_put(lower, BPF_DW, to, offset + capacity - 8, machine_alu(program, BPF_OR, text_of(program, word), mark));
}

void string_store(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity, struct value *value)
{
    struct program *program = lower->program;
    const struct captured *constant = constant_of(value);
    if (constant) {
        store_constant(lower, to, offset, capacity, constant);
        return;
    }
    const struct place *from = lower_place(lower, value);
    if (ir_value(value)->type.bytes) {
        buffer_store(lower, to, offset, capacity, from);
        return;
    }
    if (from->capacity == capacity) {
        memory_copy(lower, to, offset, from->value, 0, capacity);
        return;
    }
    if (from->capacity > capacity) {
        memory_copy(lower, to, offset, from->value, 0, capacity - 8);
        store_cut(lower, to, offset, capacity, from);
        return;
    }
    uint32_t last = from->capacity - 8;
    memory_copy(lower, to, offset, from->value, 0, last);
    struct operand word = machine_load(program, BPF_DW, from->value, last);
    memory_put(lower, BPF_DW, to, offset + last, text_of(program, word));
    memory_zero(lower, to, offset + from->capacity, capacity - 8 - from->capacity);
    memory_put(lower, BPF_DW, to, offset + capacity - 8, mark_of(program, word));
}

struct operand string_address(struct lower *lower, struct value *value, uint32_t capacity)
{
    const struct place *place = lower_place(lower, value);
    if (!constant_of(value) && place->capacity == capacity)
        return place->value;
    struct slot *slot = program_slot(lower->program, capacity);
    string_store(lower, operand_slot(slot, 0), 0, capacity, value);
    return operand_slot(slot, 0);
}

/* --- comparison --- */

static void continue_if_equal(struct lower *lower, struct operand a, struct operand b, struct machine_block *no)
{
    lower_continue_if(lower, BPF_JEQ, a, b, no);
}

/* Goes on where PLACE holds CONSTANT: up to its end, where the zeros begin, and without the mark. */
static void equal_constant(struct lower *lower, const struct place *place, const struct captured *constant,
                           struct machine_block *no)
{
    struct program *program = lower->program;
    uint32_t end = (uint32_t)(constant->string.length + 8) & ~7u;
    if (end > place->capacity) {
        machine_jump(program, no);
        machine_place(program, machine_block(program)); /* which nothing leads to */
        return;
    }
    for (uint32_t i = 0; i < end; i += 8)
        continue_if_equal(lower, machine_load(program, BPF_DW, place->value, i), constant_word(constant, i), no);
    if (end < place->capacity)
        continue_if_equal(lower, machine_load(program, BPF_DW, place->value, place->capacity - 8), operand_immediate(0),
                          no);
}

void string_equal(struct lower *lower, struct value *a, struct value *b, struct machine_block *yes,
                  struct machine_block *no)
{
    struct program *program = lower->program;
    if (constant_of(a)) {
        struct value *swap = a;
        a = b;
        b = swap;
    }
    const struct place *x = lower_place(lower, a), *y = lower_place(lower, b);
    if (ir_value(a)->type.bytes) {
        buffer_equal(lower, x, y, yes, no);
        return;
    }
    if (constant_of(b)) {
        equal_constant(lower, x, constant_of(b), no);
        machine_jump(program, yes);
        return;
    }
    if (x->capacity > y->capacity) {
        const struct place *swap = x;
        x = y;
        y = swap;
    }
    uint32_t last = x->capacity - 8;
    for (uint32_t i = 0; i < last; i += 8)
        continue_if_equal(lower, machine_load(program, BPF_DW, x->value, i), machine_load(program, BPF_DW, y->value, i),
                          no);
    struct operand word = machine_load(program, BPF_DW, x->value, last),
                   other = machine_load(program, BPF_DW, y->value, last);
    if (x->capacity == y->capacity) {
        continue_if_equal(lower, word, other, no);
    } else {
        continue_if_equal(lower, text_of(program, word), other, no);
        for (uint32_t i = x->capacity; i < y->capacity - 8; i += 8)
            continue_if_equal(lower, machine_load(program, BPF_DW, y->value, i), operand_immediate(0), no);
        continue_if_equal(lower, machine_load(program, BPF_DW, y->value, y->capacity - 8), mark_of(program, word), no);
    }
    machine_jump(program, yes);
}

/* Goes on where PLACE begins with CONSTANT. */
static void starts_with_constant(struct lower *lower, const struct place *place, const struct captured *constant,
                                 struct machine_block *no)
{
    struct program *program = lower->program;
    uint32_t length = (uint32_t)constant->string.length, rest = length % 8;
    if (length >= place->capacity) {
        machine_jump(program, no);
        machine_place(program, machine_block(program));
        return;
    }
    for (uint32_t i = 0; i + 8 <= length; i += 8)
        continue_if_equal(lower, machine_load(program, BPF_DW, place->value, i), constant_word(constant, i), no);
    if (!rest)
        return;
    /* Only the first REST bytes count: the others are shifted out. */
    int64_t shift = 64 - 8 * (int64_t)rest;
    struct operand word = machine_load(program, BPF_DW, place->value, length - rest);
    struct operand wanted =
        operand_immediate((int64_t)((uint64_t)constant_word(constant, length - rest).number << shift));
    continue_if_equal(lower, machine_alu(program, BPF_LSH, word, operand_immediate(shift)), wanted, no);
}

/* 0x80 in each byte of WORD that is not 0: a byte carries into its highest bit, never beyond. */
static struct operand nonzero_bytes(struct program *program, struct operand word, struct operand low,
                                    struct operand high)
{
    struct operand carried = machine_alu(program, BPF_ADD, machine_alu(program, BPF_AND, word, low), low);
    return machine_alu(program, BPF_AND, machine_alu(program, BPF_OR, carried, word), high);
}

/* Word OFFSET of the text at PLACE, 0 behind its end. */
static struct operand text_word(struct program *program, const struct place *place, uint32_t offset)
{
    struct operand word = machine_load(program, BPF_DW, place->value, offset);
    return offset + 8 < place->capacity ? word : text_of(program, word);
}

/* Goes on where the text at PLACE begins with that at PREFIX: where no byte of the prefix differs, as long as it
 * lasts. */
static void starts_with(struct lower *lower, const struct place *place, const struct place *prefix,
                        struct machine_block *no)
{
    struct program *program = lower->program;
    struct operand low = machine_copy(program, operand_immediate(0x7f7f7f7f7f7f7f7f));
    struct operand high = machine_alu(program, BPF_XOR, low, operand_immediate(-1));
    for (uint32_t i = 0; i < prefix->capacity; i += 8) {
        struct operand wanted = text_word(program, prefix, i);
        if (i >= place->capacity) {
            continue_if_equal(lower, wanted, operand_immediate(0), no);
            continue;
        }
        struct operand different = machine_alu(program, BPF_XOR, text_word(program, place, i), wanted);
        struct operand wrong = machine_alu(program, BPF_AND, nonzero_bytes(program, wanted, low, high),
                                           nonzero_bytes(program, different, low, high));
        continue_if_equal(lower, wrong, operand_immediate(0), no);
    }
}

void string_starts(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct value *text = ir_value(value->args[0]), *prefix = ir_value(value->args[1]);
    lower_require(lower, lower_place(lower, text), "indexing nil");
    lower_require(lower, lower_place(lower, prefix), "a prefix that is nil");
    struct machine_block *no = machine_block(program), *join = machine_block(program);
    struct place place = buffer_text(lower, text);
    if (constant_of(text)) {
        place.capacity = text->type.capacity;
        place.value = string_address(lower, text, place.capacity);
    }
    if (constant_of(prefix))
        starts_with_constant(lower, &place, constant_of(prefix), no);
    else
        starts_with(lower, &place, lower_place(lower, prefix), no);
    machine_jump(program, join);
    machine_place(program, no);
    machine_continue(program, join);
    lower_place(lower, value)->value = machine_choose(program, join, no, operand_immediate(0), operand_immediate(1));
}

/* --- length --- */

/* 1 where the byte at BASE + OFFSET is not 0, else 0. */
static struct operand is_text(struct program *program, struct operand base, int64_t offset)
{
    struct operand byte = machine_load(program, BPF_B, base, offset);
    return machine_alu(program, BPF_RSH, machine_alu(program, BPF_ADD, byte, operand_immediate(255)),
                       operand_immediate(8));
}

/* Text, then zeros: the place where they meet is halved in, without branches, which the verifier would follow each by
 * itself. */
void string_length(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    lower_require(lower, lower_place(lower, value->args[0]), "the length of nil");
    const struct place *place = lower_place(lower, value->args[0]);
    struct operand at = place->value, length = operand_immediate(0);
    if (ir_value(value->args[0])->type.bytes) {
        lower_place(lower, value)->value = buffer_length(lower, place);
        return;
    }
    for (uint32_t left = place->capacity - 1; left; left -= left > 1 ? left / 2 : 1) {
        uint32_t half = left > 1 ? left / 2 : 1;
        struct operand step = machine_alu(program, BPF_MUL, is_text(program, at, half - 1), operand_immediate(half));
        length = machine_alu(program, BPF_ADD, step, length);
        if (left > 1)
            at = machine_alu(program, BPF_ADD, at, step);
    }
    lower_place(lower, value)->value = length;
}

/* --- memory --- */

/* One way of reading, of the program's memory or the kernel's. */
struct reading {
    struct lower *lower;
    struct operand buffer; /* of the frame */
    uint32_t size, capacity;
    struct operand address;
    bool is_array;                     /* of SIZE bytes, of which all may be text */
    int32_t read_text, read_bytes;     /* helpers */
    struct machine_block *read, *lost; /* where it goes on when the text is there, and when it cannot be read */
};

static struct operand buffer_at(const struct reading *reading, uint32_t offset)
{
    return operand_slot(reading->buffer.slot, reading->buffer.number + offset);
}

static struct operand read_call(const struct reading *reading, int32_t helper, uint32_t to, uint32_t size,
                                struct operand address)
{
    return machine_call(reading->lower->program, helper,
                        OPERANDS(buffer_at(reading, to), operand_immediate(size), address));
}

/* Reads the text; where that fails, goes on in a cold block. Returns the bytes with the NUL, for the way to .read. */
static struct operand try_to_read(const struct reading *reading)
{
    struct program *program = reading->lower->program;
    struct machine_block *succeeded = machine_block(program), *failed = machine_block(program);
    struct operand length = read_call(reading, reading->read_text, 0, reading->size, reading->address);
    succeeded->cold = program->block->cold;
    failed->cold = true;
    machine_branch(program, BPF_JSLT, length, operand_immediate(0), failed, succeeded);
    machine_place(program, succeeded);
    machine_jump(program, reading->read);
    machine_place(program, failed);
    return length;
}

/* The address of the last byte that may be wanted: a string of up to 4,096 bytes lies in two pages at most. */
static struct operand last_byte(const struct reading *reading)
{
    return machine_alu(reading->lower->program, BPF_ADD, reading->address, operand_immediate(reading->size - 1));
}

/*
 * The helper that reads a text does not bring in pages, and the helper that brings in pages reads no texts. So the
 * second one reads a byte of the first page, then a byte of the second page, which need not exist if the text ends
 * before it.
 */
static size_t read_absent_pages(const struct reading *reading, struct operand *lengths)
{
    struct lower *lower = reading->lower;
    size_t count = 0;
    lower->program->sleepable = true;
    struct operand first = read_call(reading, BPF_FUNC_copy_from_user, 0, 1, reading->address);
    lower_continue_if(lower, BPF_JEQ, first, operand_immediate(0), reading->lost);
    lower->program->block->cold = true;
    lengths[count++] = try_to_read(reading);
    if (reading->size > 1) {
        read_call(reading, BPF_FUNC_copy_from_user, 0, 1, last_byte(reading));
        lengths[count++] = try_to_read(reading);
    }
    return count;
}

/* A text that fills the buffer may have ended just there: the byte behind it tells. It becomes the mark. */
static void mark_cut(const struct reading *reading)
{
    struct program *program = reading->lower->program;
    uint32_t mark = reading->capacity - 1;
    struct operand result = read_call(reading, reading->read_bytes, mark, 1, last_byte(reading));
    struct operand failed = machine_alu(program, BPF_RSH, result, operand_immediate(63));
    struct operand cut = is_text(program, buffer_at(reading, mark), 0);
    machine_store(program, BPF_B, buffer_at(reading, mark), 0, machine_alu(program, BPF_OR, cut, failed));
}

/* Reads as READING says, of which the last three members are still open, into the zero buffer; then goes on in DONE. */
static void read_text(struct value *value, struct reading *reading, struct machine_block *done)
{
    struct lower *lower = reading->lower;
    struct program *program = lower->program;
    struct machine_block *full = machine_block(program), *whole = machine_block(program);
    reading->read = machine_block(program);
    reading->lost = lower_loss(lower, lower_ledger(lower, "unreadable memory read as nil"), done, 0);
    struct operand lengths[3];
    size_t count = 1;
    lengths[0] = try_to_read(reading);
    if (reading->read_bytes == BPF_FUNC_probe_read_user && lower->function->handler->provider->sleeps)
        count += read_absent_pages(reading, lengths + 1);
    machine_jump(program, reading->lost);

    machine_place(program, reading->read);
    struct machine_instruction *length = machine_phi(program, reading->read);
    for (size_t i = 0; i < count; i++)
        length->args[i] = lengths[i];
    machine_branch(program, BPF_JEQ, operand_register(length->result), operand_immediate(reading->size), full, whole);
    full->cold = true;
    machine_place(program, full);
    if (reading->is_array) /* its last byte, which the helper has made the NUL */
        read_call(reading, reading->read_bytes, reading->size - 1, 1, last_byte(reading));
    else
        mark_cut(reading);
    machine_continue(program, whole);
    machine_continue(program, done);
    struct place *place = lower_place(lower, value);
    place->value = reading->buffer;
    place->capacity = reading->capacity;
    place->present = machine_choose(program, done, whole, operand_immediate(1), operand_immediate(0));
}

static struct reading new_reading(struct lower *lower, struct operand buffer, uint32_t capacity, bool of_kernel)
{
    return (struct reading){
        .lower = lower,
        .buffer = buffer,
        .capacity = capacity,
        .read_text = of_kernel ? BPF_FUNC_probe_read_kernel_str : BPF_FUNC_probe_read_user_str,
        .read_bytes = of_kernel ? BPF_FUNC_probe_read_kernel : BPF_FUNC_probe_read_user,
    };
}

/* The one operation that uses VALUE; NULL if there are more or none. */
static struct value *only_use(const struct function *function, const struct value *value)
{
    struct value *found = NULL;
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *use = block->first; use; use = use->next)
            for (size_t i = 0; i < use->arg_count; i++)
                if (ir_value(use->args[i]) == value) {
                    if (found)
                        return NULL;
                    found = use;
                }
    return found;
}

/*
 * Where to read the string VALUE: into the field of a fresh record that it is read for, `r:emit{ path = up.str(e.arg0,
 * 4096) }`, which is zero by now, where it may stay nil, and which nothing looks at before it is set (.initialises);
 * otherwise into a buffer of its own.
 */
struct operand string_find_place(struct lower *lower, struct value *value)
{
    const struct value *set = only_use(lower->function, value);
    if (set && set->op == IR_SET_FIELD && set->initialises && set->block == value->block) {
        struct value *record = ir_value(set->args[0]);
        const struct place *to = lower_place(lower, record);
        const struct field *field = record_field(record->type.record, set->name, (int)set->number);
        if (record->op == IR_RECORD && record->block == value->block && to->value.kind == OPERAND_FRAME && field &&
            field->type.capacity == value->type.capacity) {
            if (!value->type.optional)
                memory_zero(lower, to->value, field->offset, field->type.capacity);
            return operand_slot(to->value.slot, to->value.number + field->offset);
        }
    }
    struct slot *buffer = program_slot(lower->program, value->type.capacity);
    memory_zero(lower, operand_slot(buffer, 0), 0, buffer->size);
    return operand_slot(buffer, 0);
}

void string_read(struct lower *lower, struct value *value)
{
    struct machine_block *done = machine_block(lower->program);
    bool of_kernel = value->number < 0 || ir_value(value->args[0])->type.kernel; /* a pointer knows where it leads */
    struct reading reading = new_reading(lower, string_find_place(lower, value), value->type.capacity, of_kernel);
    reading.size = (uint32_t)(value->number < 0 ? -value->number : value->number);
    const struct place *address = lower_place(lower, value->args[0]);
    reading.address = address->value;
    if (address->present.kind) /* nowhere is nothing, and no loss */
        lower_continue_if(lower, BPF_JNE, address->present, operand_immediate(0), lower_way(lower, done));
    read_text(value, &reading, done);
}

void string_read_array(struct lower *lower, struct value *value, struct slot *buffer, uint32_t size,
                       struct operand address, bool kernel, struct machine_block *done)
{
    struct reading reading = new_reading(lower, operand_slot(buffer, 0), buffer->size, kernel);
    reading.size = size;
    reading.address = address;
    reading.is_array = true;
    read_text(value, &reading, done);
}

void string_read_kernel(struct lower *lower, struct value *value, uint32_t size, bool is_array, struct operand address)
{
    struct reading reading = new_reading(lower, string_find_place(lower, value), value->type.capacity, true);
    reading.size = size;
    reading.is_array = is_array;
    reading.address = address;
    read_text(value, &reading, machine_block(lower->program));
    lower_place(lower, value)->present = (struct operand){0};
}
