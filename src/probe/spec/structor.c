/* C++'s constructors and destructors that do their work by others. */
#include "probe/spec/structor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "probe/module/loader_slots.h"
#include "sym/demangle.h"

enum {
    MOST_CODE = 1024, /* bytes of a function that are looked at: such a call comes early */
    STUB = 32,        /* of a stub of the procedure linkage table, and more */
};

/*
 * By which digits the one of NAME at DIGIT may be replaced: C1, of a complete object, C2, of a base, C4, which is told
 * whether it is of one or the other; D0, for delete, D1, D2, D4. CI1: a constructor that a class has from its base.
 */
static const char *others_at(const char *name, const char *digit)
{
    bool constructs = digit[-1] == 'C' || (digit[-1] == 'I' && digit - name > 2 && digit[-2] == 'C');
    bool destroys = digit[-1] == 'D';
    if (*digit == '0')
        return destroys ? "124" : "";
    return !constructs && !destroys ? "" : *digit == '1' ? "24" : "4";
}

/*
 * Into OTHER, which has room for NAME, the mangled name of the NUMBERth function (0, 1, …) that NAME, a mangled one
 * too, may do its work by. False: there are no more. What is called so may also be another class, or not be there.
 */
static bool other_name(const char *name, size_t number, char *other)
{
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    for (const char *at = name + 2; *at && (at = strpbrk(at, "012")); at++) {
        const char *others = others_at(name, at);
        if (number < strlen(others)) {
            strcpy(other, name);
            other[at - name] = others[number];
            return true;
        }
        number -= strlen(others);
    }
    return false;
}

/* Functions, and pointers to them by their names. */
struct functions {
    const struct binary *binary;
    const struct structor *items, **sorted;
    size_t count;
    struct loader_slots slots;
    bool has_slots; /* they have been read */
};

/* True if the loader fills the word at ADDRESS with where OTHER is. */
static bool is_slot_of(struct functions *functions, uint64_t address, const struct structor *other)
{
    const char *name;
    uint64_t target;
    if (!functions->has_slots)
        loader_slots_read(&functions->slots, binary_elf(functions->binary));
    functions->has_slots = true;
    return loader_slots_find(&functions->slots, address, &name, &target) &&
           (name ? !strcmp(name, other->name) : target == other->address);
}

/* True if a call or jump to TARGET is one to OTHER. */
static bool leads_to(struct functions *functions, uint64_t target, const struct structor *other)
{
    uint8_t stub[STUB];
    uint64_t offset, slot;
    uint32_t index;
    if (target == other->address)
        return true;
    if (binary_offset(functions->binary, target, &offset) < 0)
        return false;
    size_t size = binary_read(functions->binary, offset, stub, sizeof stub);
    return arch_stub(stub, size, target, &slot, &index) == ARCH_STUB_SLOT && is_slot_of(functions, slot, other);
}

/* True if FUNCTION calls OTHER whatever happens. */
static bool calls(struct functions *functions, const struct structor *function, const struct structor *other)
{
    const struct arch_code *arch = arch_code();
    uint8_t code[MOST_CODE + ARCH_LONGEST];
    uint64_t offset;
    size_t size = function->size < MOST_CODE ? function->size : MOST_CODE;
    if (binary_offset(functions->binary, function->address, &offset) < 0)
        return false;
    size_t got = binary_read(functions->binary, offset, code, sizeof code);
    for (size_t at = 0; at < size && at < got;) {
        struct arch_instruction instruction;
        if (!arch->decode(code + at, got - at, &instruction) || instruction.returns)
            return false;
        uint64_t target = function->address + at + (uint64_t)instruction.target;
        bool leads = instruction.direct        ? !instruction.conditional && leads_to(functions, target, other)
                     : instruction.by_variable ? is_slot_of(functions, target, other)
                                               : false;
        if (leads)
            return true;
        bool branches = (instruction.direct || instruction.goes_by || instruction.jumps_by) && !instruction.calls;
        if (branches || instruction.conditional)
            return false;
        at += instruction.length;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct structor *const *)a)->name, (*(const struct structor *const *)b)->name);
}

/* True if people read both names as the same: C1::f and C2::f look like a class's constructors, too. */
static bool is_same(const char *a, const char *b)
{
    char *x = demangle(a), *y = demangle(b);
    bool same = x && y && !strcmp(x, y);
    free(x);
    free(y);
    return same;
}

/* Whether a function that is called NAME, and is WANTED, is what FUNCTION does its work by. */
static bool is_done_by(struct functions *functions, const bool *wanted, const struct structor *function,
                       const char *name)
{
    size_t low = 0, high = functions->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(functions->sorted[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < functions->count && !strcmp(functions->sorted[low]->name, name); low++) {
        const struct structor *other = functions->sorted[low];
        if (wanted[other - functions->items] && other->address != function->address &&
            is_same(function->name, other->name) && calls(functions, function, other))
            return true;
    }
    return false;
}

int structor_leave_out_callers(const struct binary *binary, const struct structor *items, size_t count, bool *wanted)
{
    struct functions functions = {
        .binary = binary, .items = items, .sorted = calloc(count + 1, sizeof *functions.sorted), .count = count};
    bool *leaves = calloc(count + 1, sizeof *leaves);
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(items[i].name);
        longest = length > longest ? length : longest;
        if (functions.sorted)
            functions.sorted[i] = &items[i];
    }
    char *name = malloc(longest + 1);
    bool room = functions.sorted && leaves && name;
    if (room)
        qsort(functions.sorted, count, sizeof *functions.sorted, by_name);
    for (size_t i = 0; room && i < count; i++)
        for (size_t n = 0; wanted[i] && !leaves[i] && other_name(items[i].name, n, name); n++)
            leaves[i] = is_done_by(&functions, wanted, &items[i], name);
    for (size_t i = 0; room && i < count; i++)
        wanted[i] = wanted[i] && !leaves[i];
    loader_slots_free(&functions.slots);
    free(functions.sorted);
    free(leaves);
    free(name);
    return room ? 0 : -ENOMEM;
}
