/* Code that processes make as they run, and what they say of it (perfmap.h). */
#pragma once

#include "sym/processes.h"

/* True if MAPPING holds code that no file has: .NET keeps it in a memfd. */
bool made_is(const struct mapping *mapping);

/* The name of the code at ADDRESS of PROCESS as the process tells it, with its offset; NULL where it does not. Valid
 * until the next call. */
const char *made_lookup(struct processes *processes, struct process *process, uint64_t address, uint64_t *offset);

/*
 * Looks whether processes of which such names are known have written others since: then they count, for addresses
 * that had names, too. True if any has.
 */
bool made_refresh(struct processes *processes);
