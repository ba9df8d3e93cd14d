/* The files that a spec means. */
#ifndef UPLUA_PROBE_RESOLVE_H
#define UPLUA_PROBE_RESOLVE_H

#include "probe/module.h"
#include "probe/spec.h"
#include "probe/target.h"

/* Appends to FOUND the files that the binary of SPEC means in TARGET: one, or one for each process where they differ.
 * 0, or -errno with the reason in ERR. */
int resolve_binaries(const struct spec *spec, const struct target *target, struct modules *found, struct error *err);

#endif
