/* Reading the memory that is traced: lowered to the kernel's helpers. */
#pragma once

#include "compile/lower/lower.h"

struct access;

/* VALUE is the number of so many BITS, negative if signed, at ADDRESS in the KERNEL's memory or the process's; nil if
 * unreadable. */
void read_at(struct lower *lower, struct value *value, struct operand address, int bits, bool kernel);
/* The number that ACCESS finds in the bytes at BASE + OFFSET, which a load reaches; of an odd count of bytes, zeros are
 * behind them. */
struct operand read_loaded(struct lower *lower, const struct access *access, struct operand base, int64_t offset);
/* up.read_u32(address) and its kin. */
void read_address(struct lower *lower, struct value *value);
/* p.field, p[i]: VALUE has an access. */
void read_access(struct lower *lower, struct value *value);
