/* Reads slots of which handlers may be writing some: a slot is copied, and counts if its word is the same behind that.
 */
#include "map/recorder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../bpf/recorder.h"

enum { PAUSE = 1000000 /* ns */, MAX_PAUSES = 20 /* of one read */ };

struct recorder {
    const uint8_t *elements;
    size_t mapped;
    uint32_t cpus, stride, slot_size, slots;
};

struct recorder *recorder_open(int fd, uint32_t cpus, uint32_t value_size, uint32_t slot_size)
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return NULL;
    recorder->cpus = cpus;
    recorder->stride = (value_size + 7) & ~7u;
    recorder->slot_size = slot_size;
    recorder->slots = (value_size - RECORDER_HEAD) / slot_size;
    recorder->mapped = ((size_t)cpus * recorder->stride + 4095) & ~(size_t)4095;
    void *elements = mmap(NULL, recorder->mapped, PROT_READ, MAP_SHARED, fd, 0);
    if (elements == MAP_FAILED) {
        int reason = errno;
        free(recorder);
        errno = reason;
        return NULL;
    }
    recorder->elements = elements;
    return recorder;
}

void recorder_close(struct recorder *recorder)
{
    if (!recorder)
        return;
    munmap((void *)recorder->elements, recorder->mapped);
    free(recorder);
}

uint32_t recorder_slots(const struct recorder *recorder)
{
    return recorder->slots;
}

static uint64_t load(const uint8_t *word)
{
    return __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
}

/* Copies the slot of record NUMBER, from 0 on, to TO. False if it holds another one, or is being written. */
static bool copy(const struct recorder *recorder, const uint8_t *element, uint64_t number, uint8_t *to)
{
    const uint8_t *slot = element + RECORDER_HEAD + number % recorder->slots * recorder->slot_size;
    uint64_t word = load(slot);
    if (word >> RECORDER_TAG_BITS != number + 1)
        return false;
    memcpy(to, slot, recorder->slot_size);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return load(slot) == word;
}

/*
 * The same, once it is written: a handler takes a microsecond for that, unless its CPU is taken away meanwhile, as a
 * virtual machine's may be. PAUSES: how often it may still be waited for.
 */
static bool copy_written(const struct recorder *recorder, const uint8_t *element, uint64_t number, uint8_t *to,
                         unsigned *pauses)
{
    const uint8_t *slot = element + RECORDER_HEAD + number % recorder->slots * recorder->slot_size;
    while (!copy(recorder, element, number, to)) {
        if (load(slot) >> RECORDER_TAG_BITS > number + 1 || !*pauses) /* a later record has its place */
            return false;
        --*pauses;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return true;
}

void recorder_read(const struct recorder *recorder, uint32_t cpu, uint64_t first, uint64_t last,
                   struct recorder_read *found)
{
    const uint8_t *element = recorder->elements + (size_t)cpu * recorder->stride;
    uint64_t begun = load(element), before = 0; /* the time of the record that was read before */
    uint64_t number = begun > recorder->slots ? begun - recorder->slots : 0;
    unsigned pauses = MAX_PAUSES;
    bool lacks = number > 0;
    *found = (struct recorder_read){.slots = found->slots, .begun = begun, .missing_first = UINT64_MAX};
    for (; number <= begun; number++) {
        uint8_t *to = found->slots + found->count * recorder->slot_size;
        uint64_t time = UINT64_MAX;
        if (number < begun && !copy_written(recorder, element, number, to, &pauses)) {
            lacks = true;
            continue;
        }
        if (number < begun)
            memcpy(&time, to + RECORDER_TIME, sizeof time);
        if (lacks && before < last && time > first) { /* between the two records, as far as it is asked for */
            uint64_t from = before > first ? before : first, until = time < last ? time : last;
            found->missing_first = from < found->missing_first ? from : found->missing_first;
            found->missing_last = until;
        }
        lacks = false;
        before = time;
        found->count += time >= first && time <= last;
    }
}
