/* From what users write to the files that it means for a target. */
#pragma once

#include "probe/module/module.h"
#include "probe/spec/spec.h"
#include "probe/target.h"

/*
 * Appends to FOUND the files that SPEC's binary means for TARGET (as probe_resolve has it), without doubles. Only its
 * text and binary count. -ENXIO, with the reason in ERR, where it is a library that none of the target's processes has
 * loaded, and that is found nowhere else.
 */
int resolve_binaries(const struct spec *spec, const struct target *target, struct modules *found, struct error *err);
/*
 * Appends to MODULES all that TARGET has mapped, or for a command will; the C library where it is the whole machine.
 * With LINKED, also those that its processes are linked with and have not mapped yet.
 */
int resolve_all(const struct target *target, bool linked, struct modules *modules, struct error *err);
