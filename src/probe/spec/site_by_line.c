/* Sites by source line: DWARF tells where its code begins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/module/debug.h"
#include "probe/spec/site_list.h"
#include "sym/debuglines.h"

/* What there is instead of the line of SPEC; UNREAD: units of debug information that are not read. */
static int no_line(const struct binary *binary, const struct spec *spec, unsigned nearest, size_t unread,
                   struct error *err)
{
    const char *file = binary_module(binary)->name;
    char but[96] = "";
    if (unread)
        snprintf(but, sizeof but, ", but %zu of its units of debug information %s not read, damaged or too large",
                 unread, unread == 1 ? "is" : "are");
    if (nearest)
        return error_set(err, -ENOENT, "%s: no code of %s comes from that line%s; line %u has some", spec->text, file,
                         but, nearest);
    return error_set(err, -ENOENT, "%s: no code of %s comes from a file '%s'%s", spec->text, file, spec->file, but);
}

int site_by_line(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err)
{
    struct debuginfo *debuginfo;
    uint64_t *addresses;
    size_t count;
    unsigned nearest;
    int result = debug_open(binary, spec->text, "which source lines are found by", &debuginfo, err);
    if (result < 0)
        return result;
    if (!debuglines_find(debuginfo, spec->file, spec->line, &addresses, &count, &nearest))
        result = error_set(err, -ENOMEM, "out of memory");
    size_t unread = debuginfo_unread(debuginfo);
    debuginfo_free(debuginfo);
    if (!result && !count)
        result = no_line(binary, spec, nearest, unread, err);
    size_t kept = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct spec place = *spec;
        if (!binary_has_place(binary, addresses[i]))
            continue;
        kept++;
        place.address = addresses[i];
        result = site_by_address(binary, &place, list, err);
        if (!result)
            list->items[list->count - 1].of_line = true;
    }
    if (!result && !kept)
        result = error_set(err, -ENOENT, "%s: the linker has left the code of that line out of %s", spec->text,
                           binary_module(binary)->name);
    free(addresses);
    return result;
}
