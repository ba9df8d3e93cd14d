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

/* Notes whether MAPPING of PROCESS, one of PROCESSES, holds code that it makes itself. */
void perfmap_note(struct processes *processes, struct process *process, const struct mapping *mapping);

/*
 * Opens the files of processes that make code, where there are such by now, and keeps them open: a process may remove
 * its own before anybody asks for a name. True if one is still to be looked for. Each is looked for less and less
 * often.
 */
bool perfmap_keep(struct processes *processes);
/* To be called when PROCESS exits: reads the file if it is removed already, and closes it. */
void perfmap_settle(struct process *process);
/* To be called when PROCESS executes another program, or is another one: what it made is gone. */
void perfmap_forget(struct process *process);

/* What PERFMAP, which may be NULL, takes of memory, in bytes. */
size_t perfmap_bytes(const struct perfmap *perfmap);

/*
 * Reads files of which names are known again, if they have changed and that was not done in the last 10 ms: then the
 * new names count, for addresses that had names, too. True if one was read since the last call, here or by
 * perfmap_lookup.
 */
bool perfmap_refresh(struct processes *processes);
