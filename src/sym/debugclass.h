/*
 * How C++ passes and returns objects of a class: as C does a struct, or by the address of one, where copying, moving or
 * destroying one runs code
 * ("Itanium C++ ABI", 1.1 "non-trivial for the purposes of calls", 3.1.2.3, 3.1.3.1). clang writes it down
 * (DW_AT_calling_convention); of gcc, which does not, it follows from the class's bases, members and functions.
 */
#pragma once

#include <stdint.h>

enum class_passing {
    CLASS_BY_VALUE,
    CLASS_BY_ADDRESS,
    CLASS_DOUBTFUL, /* the debug information does not say which */
};
/* How the struct, union or class NUMBER (sym/debugtypes.h) is passed. */
enum class_passing debugclass_passing(uint32_t number);
