/* Tells calls of functions from the rounds of loops that begin at their first instructions (probe/reentry.h). */
#pragma once

#include "compile/lower/lower.h"

/* Ends the program with IGNORED where the hit is no call, of a handler with such functions. */
void reentry_expect_call(struct lower *lower, int64_t ignored);
/* Ends it where a return has been seen: the kernel, where it follows each hit of the entry, tells of one for each. */
void reentry_expect_first_return(struct lower *lower);
/* Declares what the two keep. */
int reentry_declare(struct lower *lower, struct object *result);
