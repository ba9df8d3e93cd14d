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
    int64_t sum;
    if (value.of == WAY_UNKNOWN || (value.of == WAY_OTHER && plus) || __builtin_add_overflow(value.plus, plus, &sum))
        return unknown;
    if (value.of != WAY_FILE && (plus < -MOST || plus > MOST || sum < -MOST || sum > MOST))
        return unknown;
    return (struct way_value){value.of, value.span, sum};
}

static struct way_value number(uint64_t most)
{
    return most <= MOST ? (struct way_value){WAY_NUMBER, (uint32_t)most, 0} : unknown;
}

/* The sum of A and B, where it is one of what is known. */
static struct way_value join(struct way_value a, struct way_value b)
{
    bool is_thread = (a.of == WAY_POINTER && b.of == WAY_DISTANCE) || (a.of == WAY_DISTANCE && b.of == WAY_POINTER);
    struct way_value base = a.of == WAY_NUMBER ? b : a;
    uint32_t span = a.span + b.span;
    if ((a.of != WAY_NUMBER && b.of != WAY_NUMBER && !is_thread) || span > MOST ||
        (span && (base.of < ARCH_WORDS || base.of == WAY_OTHER)))
        return unknown;
    base = add(base, a.of == WAY_NUMBER ? a.plus : b.plus);
    if (base.of == WAY_UNKNOWN)
        return unknown;
    return (struct way_value){is_thread ? WAY_THREAD : base.of, span, base.plus};
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
        return (struct way_value){.of = WAY_FILE, .plus = (int64_t)address + effect->offset};
    case MEMORY_THREAD:
        if (effect->base == ARCH_WORDS)
            return add((struct way_value){.of = WAY_POINTER}, effect->offset);
        struct way_value base = add(way->registers[effect->base], effect->offset);
        return base.of == WAY_OTHER ? base : join((struct way_value){.of = WAY_POINTER}, base);
    case MEMORY_NONE:
        break;
    }
    return unknown;
}

/* Whether EFFECT's memory, which lies AT that place, is there. */
static bool is_there(const struct arch_code *arch, const struct arch_effect *effect, struct way_value at,
                     const struct way_file *file)
{
    const uint64_t size = effect->size + (uint64_t)at.span; /* all that it may be */
    if (at.of == arch->stack_pointer)
        return !(effect->aligned && (arch->entry_misaligned + (uint64_t)at.plus) % effect->size) &&
               is_in_frame(at.plus, effect->size, effect->writes);
    if (effect->aligned && (at.of != WAY_FILE || at.span || (uint64_t)at.plus % effect->size))
        return false;
    switch (at.of) {
    case WAY_POINTER:
        return effect->memory == MEMORY_THREAD && !at.span && at.plus >= -THREAD_BELOW && at.plus <= THREAD_ABOVE;
    case WAY_OTHER:
        return effect->memory == MEMORY_THREAD;
    case WAY_THREAD:
        return file && at.plus >= 0 && size <= file->thread_size && (uint64_t)at.plus <= file->thread_size - size;
    case WAY_FILE:
        return file && file->mapped(file->context, (uint64_t)at.plus, size, effect->writes);
    default:
        return false;
    }
}

/* What is loaded as word number I from AT. */
static struct way_value loaded(const struct way *way, const struct arch_code *arch, struct way_value at, unsigned i,
                               const struct way_file *file)
{
    int64_t inside;
    if (at.of == arch->stack_pointer)
        return load(way, at.plus + 8 * (int64_t)i);
    if (at.of == WAY_POINTER && at.plus == 0 && i == 0 && arch->thread_pointer_first)
        return at;
    if (at.of != WAY_FILE || at.span || !file->thread_offset(file->context, (uint64_t)at.plus + 8 * i, &inside))
        return unknown;
    return (struct way_value){.of = inside < 0 ? WAY_OTHER : WAY_DISTANCE, .plus = inside < 0 ? 0 : inside};
}

/* What EFFECT puts into TO, from AT if it reads memory. */
static struct way_value put(const struct way *way, const struct arch_code *arch, const struct arch_effect *effect,
                            struct way_value at, uint64_t address, const struct way_file *file)
{
    if (effect->bounded)
        return number(effect->most);
    if (effect->adds)
        return join(way->registers[effect->to],
                    effect->from == ARCH_WORDS ? loaded(way, arch, at, 0, file) : way->registers[effect->from]);
    return add(effect->from == ARCH_HERE ? (struct way_value){.of = WAY_FILE, .plus = (int64_t)address}
                                         : way->registers[effect->from],
               effect->plus);
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
    struct way_value at = locate(way, effect, address), words[2] = {unknown, unknown}, value = unknown;
    bool puts = effect->follows || effect->adds || effect->bounded;
    struct way_value pointer = way->registers[arch->stack_pointer];
    if (effect->opaque || (effect->memory && !is_there(arch, effect, at, file)))
        return false;
    if (puts)
        value = put(way, arch, effect, at, address, file);
    bool loads = effect->memory && !effect->writes;
    for (unsigned i = 0; i < effect->word_count && loads; i++)
        words[i] = loaded(way, arch, at, i, file);
    if (effect->writes && at.of == arch->stack_pointer)
        store(way, at.plus, effect);
    way->wrote |= effect->writes && at.of != arch->stack_pointer;
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        if (effect->changes >> i & 1)
            way->registers[i] = unknown;
    for (unsigned i = 0; i < effect->word_count && loads; i++)
        if (effect->words[i] < ARCH_WORDS)
            way->registers[effect->words[i]] = words[i];
    if (puts)
        way->registers[effect->to] = value;
    if (!effect->pushes)
        return true;
    way->registers[arch->stack_pointer] = pointer;
    return push(way, arch);
}

void way_pass_opaque(struct way *way, const struct arch_effect *effect)
{
    way->wrote = true;
    way->slot_count = 0;
    for (unsigned i = 0; i < ARCH_WORDS; i++)
        if (effect->changes >> i & 1)
            way->registers[i] = unknown;
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
