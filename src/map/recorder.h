/* The reading side of a recorder, in which handlers keep what has happened last (bpf/recorder.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct recorder;

/* Maps the array FD (borrowed) of CPUS elements of VALUE_SIZE bytes, with slots of SLOT_SIZE. NULL with errno set on
 * failure. */
struct recorder *recorder_open(int fd, uint32_t cpus, uint32_t value_size, uint32_t slot_size);
void recorder_close(struct recorder *recorder);
/* The slots of a CPU. */
uint32_t recorder_slots(const struct recorder *recorder);

struct recorder_read {
    uint8_t *slots;         /* the caller's, with room for a CPU's slots: those that were found, as they lie there */
    uint64_t count;         /* … so many */
    uint64_t begun;         /* records that the CPU has begun so far */
    uint64_t missing_first; /* what has happened between these times may be missing: it was overwritten, … */
    uint64_t missing_last;  /* … or is being written; the second is 0: nothing is missing */
};

/* Copies the slots of CPU whose time is from FIRST to LAST. What is written meanwhile is not taken for anything else.
 */
void recorder_read(const struct recorder *recorder, uint32_t cpu, uint64_t first, uint64_t last,
                   struct recorder_read *found);
