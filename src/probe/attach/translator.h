/*
 * Programs that run a translation of other programs' code: valgrind, rr, qemu's emulation of user processes and their
 * like. They take a probe's instruction for one of the program's own, which ends that with SIGTRAP.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "probe/probe.h"
#include "probe/target.h"

/* What runs process PID so, as people know it: "valgrind"; NULL: nothing that is known, or PID is out of reach. */
const char *translator_of(pid_t pid);

/*
 * 0 if a probe can be put at SITE for the COUNT processes PIDS of TARGET (NULL: there is none), of which 0 stands for
 * all that there are; else an error that says which process it would end, and what to do.
 */
int translator_check(const struct site *site, const struct target *target, const pid_t *pids, size_t count,
                     struct error *err);
