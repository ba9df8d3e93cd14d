/*
 * Constructors and destructors of C++. Compilers make several functions of one, all of which people read as D::~D():
 * for a complete object, for the base of another one, and for `delete` (Itanium C++ ABI, 5.1.4.3,
 * https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling-special-ctor-dtor). One may do its work by calling
 * another: that is one destruction, and one call of what the source has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/module/binary.h"

struct structor {
    const char *name; /* as the symbol has it */
    uint64_t address, size;
};

/*
 * Of COUNT functions of BINARY, clears in WANTED those that do their work by another one that is wanted: those that
 * call it whatever happens, before their first branch, also by a slot that the loader fills. (What did so to another
 * object of its own kind would never end.) 0 or -ENOMEM.
 */
int structor_leave_out_callers(const struct binary *binary, const struct structor *functions, size_t count,
                               bool *wanted);
