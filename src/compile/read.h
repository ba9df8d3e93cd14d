/* Reading the memory that is traced: lowered to the kernel's helpers. */
#ifndef UPLUA_COMPILE_READ_H
#define UPLUA_COMPILE_READ_H

#include "compile/lower.h"

/* up.read_u32(address) and its kin. */
void read_address(struct lower *lower, struct value *value);
/* p.field, p[i]: VALUE has an access. */
void read_access(struct lower *lower, struct value *value);

#endif
