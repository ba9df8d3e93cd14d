/* What programs and the script share of each probe: whether it is awake, and what it has seen. */
#pragma once

#include <stdint.h>

/*
 * A variable of an object: a struct probe_state for each probe, which the script sets. An object that is made for a
 * probe that another one has already, with a new handler or for a library that came later, uses the other's.
 */
#define PROBE_STATES "uplua_probes"

struct probe_state {
    /* of the handler that runs at entries and at all that has no return; 0: none. Programs of other versions are
     * asleep, so that one store puts one handler in another one's place */
    uint32_t version;
    uint32_t returns; /* 0: a return of a call whose entry was seen is taken note of, and runs no handler */
    /* 0: a return of a call whose entry was not seen is no loss: the entry was another handler's */
    uint32_t settled;
    uint32_t before; /* 1: it was attached before the command began */
};

/* A per-CPU array of an object: a struct probe_counts for each of its handlers. */
#define PROBE_COUNTS "uplua_hits"

struct probe_counts {
    uint64_t hits;    /* runs of the handler, and what is skipped */
    uint64_t entered; /* calls that were kept for their return: less the hits, those that are open */
    uint64_t skipped; /* counted as hits without a run: calls that never returned, and returns while they are off */
    uint64_t others;  /* runs for what is not traced, on CPUs that have no hit yet: where none has, it is all of them */
};
