/* C types that the debug information of the traced program knows: another source behind struct ctype. */
#pragma once

#include "compile/infer/ctype.h"

/* Its handles begin here and end where those of ctype_btf.h begin. */
enum { DEBUG_CTYPES = 1 << 27 };

/* Takes the compiler as context. */
extern const struct ctype_source debug_ctypes;

/* The handle of the type NUMBER of sym/debugtypes.h; 0 where it has none. */
int debug_ctype_of(uint32_t number);
/* The same of a pointer to it. */
int debug_ctype_to(uint32_t number);
