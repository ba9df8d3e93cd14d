/* Stacks as one line of names, for flame graphs. */
#include "sym/fold.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bpf/stack.h"
#include "sym/kernel.h"

enum { KNOWN_BITS = 14 };

#define GUESSED " (guessed)" /* as in lua/uplua/stack/frame.lua */

/* A frame whose function is known: stacks share most of theirs. */
struct known {
    const struct symbols *symbols;
    uint64_t address, program, generation; /* 0: nothing */
    pid_t pid;
    uint32_t length;
    const char *function;
};

/* The address that FRAME stands for. */
static uint64_t address_of(uint64_t frame)
{
    return kernel_has(frame) ? frame : frame & ~STACK_MARKS;
}

/* 1 where frame NUMBER is a return address, so that its call lies before it. */
static uint64_t back_of(const uint64_t *frames, size_t number)
{
    if (!number)
        return !kernel_has(frames[0]) && frames[0] & STACK_RETURNED;
    if (!frames[number] || (!kernel_has(frames[number]) && frames[number] & STACK_INTERRUPTED))
        return 0;
    return kernel_has(frames[number]) || !kernel_has(frames[number - 1]);
}

uint64_t symbols_lookup_frame(struct symbols *symbols, pid_t pid, uint64_t program, const uint64_t *frames,
                              size_t number, struct symbol *result)
{
    uint64_t back = back_of(frames, number), address = address_of(frames[number]);
    symbols_lookup(symbols, pid, program, address - back, result);
    if (back && !result->function) {
        symbols_lookup(symbols, pid, program, address, result);
        back = 0;
    }
    result->offset += back;
    return address - back;
}

/* A text that grows. */
struct text {
    char *bytes;
    size_t used, capacity;
};

static bool text_reserve(struct text *text, size_t more)
{
    if (text->capacity - text->used >= more)
        return true;
    size_t capacity = (text->used + more) * 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

/* Adds NAME; a semicolon, which separates frames, as \x3b. */
static void text_add(struct text *text, const char *name)
{
    size_t length = strlen(name);
    if (!text_reserve(text, 4 * length))
        return;
    if (!memchr(name, ';', length)) {
        memcpy(text->bytes + text->used, name, length);
        text->used += length;
        return;
    }
    for (; *name; name++) {
        if (*name == ';') {
            memcpy(text->bytes + text->used, "\\x3b", 4);
            text->used += 4;
        } else {
            text->bytes[text->used++] = *name;
        }
    }
}

static void text_add_frame(struct text *text, const struct symbol *symbol, uint64_t address)
{
    char number[40];
    if (symbol->function) {
        text_add(text, symbol->function);
    } else if (symbol->module) {
        const char *slash = strrchr(symbol->module, '/');
        snprintf(number, sizeof number, "+0x%" PRIx64, symbol->start != UINT64_MAX ? symbol->start : symbol->offset);
        text_add(text, slash && slash[1] ? slash + 1 : symbol->module);
        text_add(text, number);
    } else {
        snprintf(number, sizeof number, "[unknown] 0x%" PRIx64, address);
        text_add(text, number);
    }
}

static struct known *known_slot(pid_t pid, uint64_t address)
{
    static struct known *known; /* stays until the end */
    if (!known && !(known = calloc((size_t)1 << KNOWN_BITS, sizeof *known)))
        return NULL;
    uint64_t hash = (address ^ (uint64_t)(uint32_t)pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &known[hash >> (64 - KNOWN_BITS)];
}

/* True if frame NUMBER is what the code of the frame before leads to, of which there is no call frame information. */
static bool is_guessed(const uint64_t *frames, size_t number)
{
    return number && !kernel_has(frames[number - 1]) && frames[number - 1] & STACK_GUESSED;
}

/* Adds frame NUMBER. */
static void fold_frame(struct text *text, struct symbols *symbols, pid_t pid, uint64_t program, const uint64_t *frames,
                       size_t number)
{
    uint64_t address = address_of(frames[number]), place = address - back_of(frames, number);
    bool in_file = !kernel_has(place) && place & STACK_IN_FILE; /* whose functions are of no process, and stay */
    pid_t owner = in_file ? 0 : pid;
    uint64_t owned = in_file ? 0 : program, generation = in_file ? 0 : symbols_generation(symbols);
    struct known *known = known_slot(owner, place);
    if (known && known->address == place && known->pid == owner && known->program == owned &&
        known->generation == generation && known->symbols == symbols) {
        if (text_reserve(text, known->length)) {
            memcpy(text->bytes + text->used, known->function, known->length);
            text->used += known->length;
        }
        return;
    }
    struct symbol symbol;
    uint64_t named = symbols_lookup_frame(symbols, pid, program, frames, number, &symbol);
    text_add_frame(text, &symbol, in_file ? STACK_OFFSET(address) : address);
    if (known && symbol.function && !symbol.kernel && named == place && !strchr(symbol.function, ';'))
        *known = (struct known){
            .symbols = symbols,
            .address = place,
            .program = owned,
            .generation = generation,
            .pid = owner,
            .length = (uint32_t)strlen(symbol.function),
            .function = symbol.function,
        };
}

const char *symbols_fold(struct symbols *symbols, pid_t pid, uint64_t program, const uint64_t *frames, size_t count,
                         size_t *length)
{
    static struct text text; /* stacks are folded by the million */
    text.used = 0;
    for (size_t i = count; i-- > 0;) {
        fold_frame(&text, symbols, pid, program, frames, i);
        if (is_guessed(frames, i))
            text_add(&text, GUESSED);
        if (i && text_reserve(&text, 1))
            text.bytes[text.used++] = ';';
    }
    *length = text.used;
    return text.bytes ? text.bytes : "";
}
