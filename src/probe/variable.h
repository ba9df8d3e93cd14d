/* Where a variable is in a running process. */
#ifndef UPLUA_PROBE_VARIABLE_H
#define UPLUA_PROBE_VARIABLE_H

#include <stdint.h>

#include "probe/target.h"
#include "sym/maps.h"

/*
 * The address in the process of TARGET, its only one, of the variable that the spec TEXT names ("libc:stdout", "./app:counters+0x10"), in
 * *ADDRESS; MAPS are the process's. Where the program has a variable of that name, too, it is the program's, as the
 * loader decides it for all. 0, or -errno: -ENOENT with an empty ERR where there is no such variable.
 */
int variable_address(const char *text, const struct target *target, const struct maps *maps, uint64_t *address,
                     struct error *err);

#endif
