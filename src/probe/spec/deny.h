/* Functions that do not survive a probe. */
#pragma once

#include <stdbool.h>

/* Why FUNCTION must not be probed at its entry, or, with AT_RETURN, at its return: a sentence's part, static; NULL: it
 * may. */
const char *probe_denied(const char *function, bool at_return);
