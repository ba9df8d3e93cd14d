/* A few steps of the calling thread that no ordinary one is to come between (sched(7), SCHED_FIFO). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From here on it gets a CPU at once, and keeps it. False where it may not, which changes nothing. */
bool realtime_begin(void);
/* As it was before. */
void realtime_end(void);

struct word_store {
    uint32_t *word;
    uint32_t value;
};

/*
 * Stores each of the COUNT values at its word, in this order and as close to each other as can be. Returns the ns that
 * lay between the first and the last: some tens, but for an interrupt, or another virtual machine's turn on this CPU.
 */
uint64_t realtime_store(const struct word_store *stores, size_t count);
