/* The registers with which a function was entered, wherever behind that its probe stands (base/entry.h). */
#pragma once

#include "compile/lower/lower.h"

/* Decides where FUNCTION's probes stand, by what the handler reads of the entry. Before it is lowered. */
void entry_settle(struct function *function);
/* Register number WORD as it was at the entry; of a probe that does not slide, as it is. For handlers of entries, and
 * the entries of return handlers. */
struct operand entry_word(struct lower *lower, unsigned word);
/* Whether that is elsewhere than in the context at some of the probe's sites. */
bool entry_has_moved(const struct lower *lower, unsigned word);
/* A field of the probe's cookie (sys/cookie.h). */
struct operand entry_cookie(struct lower *lower, int64_t shift, int64_t mask);
/* Bytes between the entry and the probe. */
struct operand entry_slid(struct lower *lower);
/* True if the registers that a walk up the stack begins with are as they were. */
bool entry_is_whole(const struct lower *lower);
