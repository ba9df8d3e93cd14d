/* Closing what is attached. */
#pragma once

#include <stddef.h>

/* Closes the COUNT descriptors, all at once; returns when the last is closed. Meanwhile no record of a mapping is
 * lost. */
void descriptors_close(const int *fds, size_t count);
