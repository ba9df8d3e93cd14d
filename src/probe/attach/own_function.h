/* uplua's own functions that do nothing (arch_empty), on which is measured what probes take. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/link.h"

/* The offset in our file of the function NUMBER of arch_empty, and of its return instruction in *EXIT. */
uint64_t own_function_offset(unsigned number, uint64_t *exit);

/*
 * Runs PROGRAM, loaded with ATTACH_TYPE (0: the kernel has no uprobe_multi), at COUNT places of our file for calls of
 * this process, as handlers' programs are run: LINK takes over what that makes. 0 or more, or -errno.
 */
int own_function_attach(struct probe_link *link, int program, uint32_t attach_type, const uint64_t *offsets,
                        uint32_t count, bool at_return);
