/* Reading the memory that is traced: lowered to the kernel's helpers. */
#pragma once

#include "compile/lower/lower.h"

struct access;

/*
 * Copies SIZE bytes at ADDRESS to TO; the result is 0 if they could be read, and TO is zero otherwise. Where the probe
 * may sleep (uprobes: Linux 6.0), pages that the process has not touched yet are brought in.
 */
struct operand read_bytes(struct lower *lower, struct operand to, struct operand size, struct operand address,
                          bool kernel);
/* VALUE is the number of so many BITS, negative if signed, at ADDRESS in the KERNEL's memory or the process's; nil if
 * unreadable. */
void read_at(struct lower *lower, struct value *value, struct operand address, int bits, bool kernel);
/* The number that ACCESS finds in the bytes at BASE + OFFSET, which a load reaches; of an odd count of bytes, zeros are
 * behind them. */
struct operand read_loaded(struct lower *lower, const struct access *access, struct operand base, int64_t offset);
/* up.read_u32(address) and its kin. */
void read_address(struct lower *lower, struct value *value);
/* VALUE is what the steps of its argument leave, nil where they read memory that is unreadable. */
void read_computed(struct lower *lower, struct value *value);
/* p.field, p[i]: VALUE has an access. */
void read_access(struct lower *lower, struct value *value);
