/*
 * Names of code that a process makes as it runs: compilers such as node's, Java's or Python's write them to the file
 * /tmp/perf-PID.map, "START SIZE NAME" per line, numbers in hexadecimal. The file is the process's own word: it is read
 * only if it belongs to the process's user (or root) and was written since the process began.
 */
#pragma once

#include "sym/processes.h"

void perfmap_free(struct perfmap *perfmap); /* NULL is fine */

/* True if MAPPING holds code that no file has: .NET keeps it in a memfd. */
bool perfmap_may_name(const struct mapping *mapping);

/*
 * The name of the code at ADDRESS of PROCESS, one of PROCESSES, with its distance from the start in *OFFSET: the one
 * written last counts. NULL where there is none; the file is looked at again then if it was not looked at a moment ago.
 * Valid until the next call.
 */
const char *perfmap_lookup(struct processes *processes, struct process *process, uint64_t address, uint64_t *offset);

/* What PERFMAP, which may be NULL, takes of memory, in bytes. */
size_t perfmap_bytes(const struct perfmap *perfmap);

/*
 * Reads files of which names are known again, if they have changed and that was not done a moment ago: then the new
 * names count, for addresses that had names, too. True if one was read since the last call, here or by perfmap_lookup.
 */
bool perfmap_refresh(struct processes *processes);
