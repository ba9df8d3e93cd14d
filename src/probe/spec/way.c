/* Follows the values of a function's entry past instructions. */
#include "probe/spec/way.h"

#include <string.h>

enum {
    FRAME = 4096, /* bytes below the stack pointer that a function uses without a look at the guard page */
    ABOVE = 1024, /* bytes above it that are its caller's */
    THREAD_BELOW = 64 << 10,
    THREAD_ABOVE = 4096, /* bytes from the thread pointer to the ends of its data */
    MOST = 1 << 28,      /* of a distance that is followed */
};

static const struct way_value unknown = {.of = WAY_UNKNOWN};

static struct way_value add(struct way_value value, int64_t plus)
{
    int64_t sum = value.plus + plus;
    if (value.of == WAY_UNKNOWN || (value.of == WAY_THREAD && plus))
        return unknown;
    if (value.of < ARCH_WORDS && (plus < -MOST || plus > MOST || sum < -MOST || sum > MOST))
        return unknown;
    return (struct way_value){value.of, sum};
}

void way_begin(struct way *way)
{
    memset(way, 0, sizeof *way);
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        way->registers[i].of = (uint8_t)i;
}

/*
 * The frame is taken to be there, as every compiler does: what a program dies of here is a stack without room, or one
 * that its caller has not aligned as the ABI demands. That one call is seen at the entry, and not behind it.
 *
 * Whether SIZE bytes that lie AT bytes from where the stack pointer was at the entry are there, and the function's own
 * if it writes them.
 */
static bool is_in_frame(int64_t at, uint64_t size, bool writes)
{
    return at >= -FRAME && at <= ABOVE && at + (int64_t)size <= (writes ? 0 : ABOVE);
}

/* What is known of the word AT. */
static struct way_value load(const struct way *way, int64_t at)
{
    for (unsigned i = 0; i < way->slot_count; i++)
        if (way->slots[i].at == at)
            return way->slots[i].value;
    return unknown;
}

/* SIZE bytes at AT are written: words there are known no more. */
static void overwrite(struct way *way, int64_t at, unsigned size)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < way->slot_count; i++)
        if (way->slots[i].at + 8 <= at || way->slots[i].at >= at + size)
            way->slots[kept++] = way->slots[i];
    way->slot_count = kept;
}

static void store(struct way *way, int64_t at, const struct arch_effect *effect)
{
    overwrite(way, at, effect->size);
    for (unsigned i = 0; i < effect->word_count; i++) {
        struct way_value value = effect->words[i] < ARCH_WORDS ? way->registers[effect->words[i]] : unknown;
        if (value.of >= ARCH_WORDS || way->slot_count == WAY_SLOTS)
            continue;
        way->slots[way->slot_count].at = at + 8 * (int64_t)i;
        way->slots[way->slot_count++].value = value;
    }
}

/* Where the memory of an instruction lies: like a register's value. */
static struct way_value locate(const struct way *way, const struct arch_effect *effect, uint64_t address)
{
    switch (effect->memory) {
    case MEMORY_BASED:
        return add(way->registers[effect->base], effect->offset);
    case MEMORY_HERE:
        return (struct way_value){WAY_FILE, (int64_t)address + effect->offset};
    case MEMORY_THREAD:
        if (effect->base == ARCH_WORDS)
            return (struct way_value){WAY_THREAD, effect->offset};
        return way->registers[effect->base].of == WAY_THREAD && !effect->offset ? way->registers[effect->base]
                                                                                : unknown;
    case MEMORY_NONE:
        break;
    }
    return unknown;
}

/* Whether EFFECT's memory, which lies AT that place, is there. */
static bool is_there(const struct arch_code *arch, const struct arch_effect *effect, struct way_value at,
                     const struct way_file *file)
{
    if (at.of == arch->stack_pointer)
        return !(effect->aligned && (arch->entry_misaligned + (uint64_t)at.plus) % effect->size) &&
               is_in_frame(at.plus, effect->size, effect->writes);
    if (at.of == WAY_THREAD)
        return !effect->aligned && effect->memory == MEMORY_THREAD && at.plus >= -THREAD_BELOW &&
               at.plus <= THREAD_ABOVE;
    return at.of == WAY_FILE && file && !(effect->aligned && (uint64_t)at.plus % effect->size) &&
           file->mapped(file->context, (uint64_t)at.plus, effect->size, effect->writes);
}

/* What EFFECT loads into register number I of those it does, from AT. */
static struct way_value loaded(const struct way *way, const struct arch_code *arch, const struct arch_effect *effect,
                               struct way_value at, unsigned i, const struct way_file *file)
{
    if (at.of == arch->stack_pointer)
        return load(way, at.plus + 8 * (int64_t)i);
    if (at.of == WAY_FILE && file->thread_offset(file->context, (uint64_t)at.plus + 8 * i) && effect->word_count)
        return (struct way_value){.of = WAY_THREAD};
    return unknown;
}

/* Puts 8 bytes that nobody knows onto the stack. */
static bool push(struct way *way, const struct arch_code *arch)
{
    struct way_value *pointer = &way->registers[arch->stack_pointer];
    *pointer = add(*pointer, -8);
    if (pointer->of != arch->stack_pointer || !is_in_frame(pointer->plus, 8, true))
        return false;
    overwrite(way, pointer->plus, 8);
    return true;
}

bool way_pass(struct way *way, const struct arch_code *arch, const struct arch_effect *effect, uint64_t address,
              const struct way_file *file)
{
    struct way_value at = locate(way, effect, address), words[2] = {unknown, unknown}, followed = unknown;
    struct way_value pointer = way->registers[arch->stack_pointer];
    if (effect->memory && !is_there(arch, effect, at, file))
        return false;
    if (effect->follows)
        followed = add(effect->from == ARCH_HERE ? (struct way_value){WAY_FILE, (int64_t)address}
                                                 : way->registers[effect->from],
                       effect->plus);
    bool loads = effect->memory && !effect->writes;
    for (unsigned i = 0; i < effect->word_count && loads; i++)
        words[i] = loaded(way, arch, effect, at, i, file);
    if (effect->writes && at.of == arch->stack_pointer)
        store(way, at.plus, effect);
    way->wrote |= effect->writes && at.of != arch->stack_pointer;
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        if (effect->changes >> i & 1)
            way->registers[i] = unknown;
    for (unsigned i = 0; i < effect->word_count && loads; i++)
        if (effect->words[i] < ARCH_WORDS)
            way->registers[effect->words[i]] = words[i];
    if (effect->follows)
        way->registers[effect->to] = followed;
    if (!effect->pushes)
        return true;
    way->registers[arch->stack_pointer] = pointer;
    return push(way, arch);
}

/* The register that holds an address in the stack, that of the stack itself if it does; ARCH_WORDS: none does. */
static unsigned find_base(const struct way *way, const struct arch_code *arch)
{
    unsigned base = arch->stack_pointer;
    if (way->registers[base].of == base)
        return base;
    for (base = 0; base < ARCH_WORDS && way->registers[base].of != arch->stack_pointer; base++)
        continue;
    return base;
}

/* Where the value of the register WORD is now. */
static struct entry_value find(const struct way *way, const struct arch_code *arch, unsigned word)
{
    struct entry_value found = {.word = (uint8_t)word, .kind = ENTRY_VALUE_GONE};
    for (unsigned i = 0; i <= ARCH_WORDS; i++) {
        unsigned holder = i ? i - 1 : word; /* itself first */
        if (way->registers[holder].of != word)
            continue;
        found.kind = ENTRY_VALUE_REGISTER;
        found.base = (uint8_t)holder;
        found.plus = (int32_t)way->registers[holder].plus;
        return found;
    }
    unsigned base = find_base(way, arch);
    for (unsigned i = 0; i < way->slot_count && base < ARCH_WORDS; i++) {
        if (way->slots[i].value.of != word)
            continue;
        found.kind = ENTRY_VALUE_MEMORY;
        found.base = (uint8_t)base;
        found.offset = (int32_t)(way->slots[i].at - way->registers[base].plus);
        found.plus = (int32_t)way->slots[i].value.plus;
        return found;
    }
    return found;
}

size_t way_values(const struct way *way, const struct arch_code *arch, struct entry_value values[ARCH_WORDS])
{
    size_t count = 0;
    for (unsigned i = 0; i < ARCH_WORDS; i++) {
        struct entry_value found = find(way, arch, i);
        if (found.kind != ENTRY_VALUE_REGISTER || found.base != i || found.plus)
            values[count++] = found;
    }
    return count;
}
