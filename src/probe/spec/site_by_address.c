/* Sites by address, in functions that need no name: call frame information tells where they start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spec/site_check.h"
#include "probe/spec/site_list.h"
#include "unwind/call_frames.h"

/* The function that an address lies in. */
struct around {
    uint64_t address, start, end; /* START 0: none */
    char *name;                   /* malloc'd, or NULL */
};

static int note_function(const struct function_symbol *function, void *context)
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

int site_by_address(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err)
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
        error_set(err, result, "%s: %s", spec->text, error_reason(result));
    else if (!around.start)
        result =
            error_set(err, -EINVAL,
                      "%s: it is not known which function of %s that is in, so not whether an instruction starts there",
                      spec->text, file);
    else
        result = site_list_append(binary, spec->text, around.name ? around.name : spec->function, spec->address,
                                  spec->address - around.start, around.end - around.start, list, err);
    if (!result && spec->address == around.start)
        result = site_check_entry(binary, spec->text, &list->items[list->count - 1], list->at_return, err);
    binary_close(debug);
    free(around.name);
    return result;
}
