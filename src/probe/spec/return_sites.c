/* Finds the return instructions of functions. */
#include "probe/spec/return_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/instruction.h"

enum { MAX_SIZE = 4 << 20 }; /* of a function; no compiler's is larger */

static const char unsized[] = "the function's length is not known, so not where it returns";
static const char unreadable[] = "its code cannot be decoded, so it is not known where it returns";
static const char elsewhere[] =
    "it may jump to code outside of it, and return there: not all its returns would be seen";
static const char never[] = "it has no return instruction: it ends the program or jumps to another function";

bool return_sites_wanted(const struct binary *binary, const struct site_list *list)
{
    return list->by_instruction || binary_is_go(binary);
}

/* Whether INSTRUCTION, AT bytes into a function of SIZE bytes, jumps out of it. */
static bool leaves(const struct arch_instruction *instruction, uint64_t at, uint64_t size)
{
    uint64_t target = at + (uint64_t)instruction->target;
    return instruction->direct && !instruction->calls && target >= size;
}

/* Appends a site for each return instruction in CODE, that of ENTRY. */
static int append_all(struct site_list *list, const struct site *entry, const uint8_t *code, const char **why)
{
    const struct arch_code *arch = arch_code();
    bool any = false;
    for (uint64_t at = 0; at < entry->size;) {
        struct arch_instruction instruction;
        if (!arch->decode(code + at, entry->size - at, &instruction)) {
            *why = unreadable;
            return 0;
        }
        struct site exit = *entry;
        exit.offset += at;
        exit.address += at;
        exit.inside = at;
        exit.is_exit = true;
        exit.refused = 0; /* the kernel takes return instructions */
        if (instruction.returns && site_list_add(list, &exit) < 0)
            return -ENOMEM;
        if (!entry->of_go && leaves(&instruction, at, entry->size)) {
            *why = elsewhere;
            return 0;
        }
        any |= instruction.returns;
        at += instruction.length;
    }
    *why = any ? NULL : never;
    return 0;
}

int return_sites_append(const struct binary *binary, struct site_list *list, const char **why)
{
    size_t first = list->count - 1;
    struct site entry = list->items[first]; /* whose strings stay where they are */
    uint8_t *code = entry.size && entry.size <= MAX_SIZE ? malloc(entry.size) : NULL;
    int result = 0;
    *why = unsized;
    if (code)
        *why = unreadable;
    if (code && binary_read(binary, entry.offset, code, entry.size) == entry.size)
        result = append_all(list, &entry, code, why);
    free(code);
    if (result == 0 && *why)
        site_list_cut(list, first);
    return result;
}
