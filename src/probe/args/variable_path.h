/* Parts of variables, as C writes them: ".limits[2].high" of a struct, by debug information. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Where the part is: bytes from the variable's beginning, and how many bytes it has; and its type (sym/debugtypes.h).
 */
struct variable_field {
    uint64_t offset, bytes;
    uint32_t type;
};

/*
 * Follows PATH, which begins with '.' or '[', from a variable of the type TYPE (sym/debugtypes.h), called NAME in
 * messages. 0, or -errno with the reason in ERR: no such field with close matches, an index behind the end, what a
 * pointer leads to, a bitfield.
 */
int variable_path_find(uint32_t type, const char *name, const char *path, struct variable_field *field,
                       struct error *err);
