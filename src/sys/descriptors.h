/* Whether there are file descriptors enough: libbpf takes the lack of one for a lack of the kernel's, and goes on. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* 0 if COUNT more descriptors can be had; -EMFILE if not, with a message that says WHAT needs them, and what to do. */
int descriptors_expect(size_t count, const char *what, struct error *err);
