/* C types that the kernel's BTF knows, beside those that the script has declared: another source behind struct
 * ctype. */
#pragma once

#include "compile/infer/ctype.h"

/* Its handles begin here: the FFI's are small numbers. */
enum { KERNEL_CTYPES = 1 << 28 };

/* Takes the compiler as context. */
extern const struct ctype_source kernel_ctypes;

/* The handle of the type ID of the kernel's BTF; 0 where it has none. */
int kernel_ctype_of(uint32_t id);
