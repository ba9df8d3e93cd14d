/* The kernel's code between a tracepoint and the programs that it calls. */
#pragma once

#include "../bpf/tracer_frames.h"

/*
 * Fills in OWN by the functions in PATH, which has the form of /proc/kallsyms; with no range where addresses are
 * hidden. 0 or a negative errno: -E2BIG where there are more than OWN_RANGES.
 */
int own_code_read(const char *path, struct own_code *own);
