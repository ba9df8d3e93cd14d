/* Intervals that nest and overlap → for each address the innermost, by one binary search. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SPANS_NOBODY UINT32_MAX

struct interval {
    uint64_t start, end; /* end excluded */
    uint32_t owner;
};

struct spans {
    uint64_t *starts; /* ascending */
    uint32_t *owners; /* of the addresses from there to the next start */
    size_t count;
};

/*
 * Cuts the address space by the COUNT intervals ITEMS, which are sorted. Where several have an address, the one that
 * begins last counts; of those that begin together the shortest, and of equal ones that of the highest owner. 0 or
 * -ENOMEM.
 */
int spans_build(struct spans *spans, struct interval *items, size_t count);
/*
 * The same for intervals of which each takes the place of those before it in ITEMS. They keep their order; the owners
 * of the spans are indices into ITEMS.
 */
int spans_build_latest(struct spans *spans, const struct interval *items, size_t count);

void spans_free(struct spans *spans);

/* The owner of ADDRESS, or SPANS_NOBODY. */
uint32_t spans_find(const struct spans *spans, uint64_t address);
