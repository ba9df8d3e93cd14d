/* Sites by address, in functions that need no name: call frame information tells where they start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spec/site_list.h"
#include "unwind/cfa.h"
#include "unwind/rules.h"

/* The function that an address lies in. */
struct around {
    uint64_t address, start, end; /* START 0: none */
    char *name;                   /* malloc'd, or NULL */
};

static int note_function(const struct function *function, void *context)
{
    struct around *around = context;
    uint64_t inside = around->address - function->address;
    if (!function->typed || function->address > around->address || inside >= (function->size ? function->size : 1))
        return 0;
    if (around->name && around->start >= function->address)
        return 0;
    free(around->name);
    around->name = strndup(function->name, function->name_length);
    around->start = function->address;
    around->end = function->address + function->size;
    return around->name ? 0 : -ENOMEM;
}

/* The innermost record that has the address; without one, what the symbols say stays. */
static int note_record(const struct binary *binary, struct around *around)
{
    struct call_frames frames;
    struct error ignored;
    int result = call_frames_read(&frames, binary_elf(binary), NULL, &ignored);
    if (result < 0)
        return result == -ENOMEM ? result : 0;
    for (size_t i = 0; i < frames.fde_count && frames.fdes[i].start <= around->address; i++)
        if (around->address < frames.fdes[i].end && frames.fdes[i].start > around->start) {
            around->start = frames.fdes[i].start;
            around->end = frames.fdes[i].end;
        }
    call_frames_free(&frames);
    return 0;
}

/* The rule at the first address of an FDE. */
struct first {
    uint64_t address, rule;
};

static void note_rule(void *context, uint64_t address, uint64_t rule)
{
    struct first *first = context;
    if (address == first->address)
        first->rule = rule;
}

/* True if what begins at ADDRESS is known to begin with a frame that is under way. */
static bool is_jumped_to(const struct binary *binary, uint64_t address)
{
    struct call_frames frames;
    struct error ignored;
    struct first first = {.address = address, .rule = RULE_UNKNOWN};
    if (call_frames_read(&frames, binary_elf(binary), NULL, &ignored) < 0)
        return false;
    const struct arch_unwind *arch = frames.arch;
    int64_t pushed = arch->return_address_saved ? -8 : 0; /* by a call */
    uint64_t called = unwind_rule(RULE_REGISTER, arch->stack_pointer, -pushed, 0, pushed);
    for (size_t i = 0; i < frames.fde_count && frames.fdes[i].start <= address; i++) {
        const struct fde *fde = &frames.fdes[i];
        const struct cie *cie = &frames.cies[fde->cie];
        struct cfa_state initial;
        if (fde->start == address && cfa_start(cie, &initial))
            cfa_run(cie, fde, &initial, note_rule, &first);
    }
    call_frames_free(&frames);
    return first.rule != RULE_UNKNOWN && first.rule != called;
}

int lookup_check_entry(const struct binary *binary, const char *text, struct site_list *list, struct error *err)
{
    struct site *site = &list->items[list->count - 1];
    site->jumped_to = is_jumped_to(binary, site->address);
    if (!site->jumped_to || !list->at_return)
        return 0;
    return error_set(
        err, -EINVAL,
        "%s: a return probe there would crash the program: what begins there is jumped to, not called; use uprobe",
        text);
}

int lookup_address(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err)
{
    struct around around = {.address = spec->address};
    struct binary *debug = NULL;
    uint64_t offset;
    const char *file = binary_module(binary)->name;
    if (binary_offset(binary, spec->address, &offset) < 0)
        return error_set(err, -EINVAL, "%s: no code of %s lies there; an address is the file's own, as nm prints it",
                         spec->text, file);
    int result = binary_functions(binary, note_function, &around);
    if (!result && !around.name && binary_open_debug(binary, &debug) == 0)
        result = binary_functions(debug, note_function, &around);
    if (!result && !around.name)
        result = note_record(binary, &around);
    if (result < 0)
        error_set(err, result, "%s: %s", spec->text, strerror(-result));
    else if (!around.start)
        result =
            error_set(err, -EINVAL,
                      "%s: it is not known which function of %s that is in, so not whether an instruction starts there",
                      spec->text, file);
    else
        result = lookup_append(binary, spec->text, around.name ? around.name : spec->function, spec->address,
                               spec->address - around.start, around.end - around.start, list, err);
    if (!result && spec->address == around.start)
        result = lookup_check_entry(binary, spec->text, list, err);
    binary_close(debug);
    free(around.name);
    return result;
}
