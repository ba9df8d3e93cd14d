/*
 * A BPF ring buffer is mapped as one writable page (the consumer's position), one read-only page (the producer's) and
 * the data twice in a row, so that a record that wraps is contiguous (kernel/bpf/ringbuf.c). A record is reserved in
 * order and committed in any: the first busy one ends a batch.
 */
#include "map/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct ring {
    size_t size, page;
    uint64_t *consumer;       /* page of its own, written here */
    const uint8_t *positions; /* the producer's page, then the data twice */
};

struct ring *ring_open(int fd, size_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0 || size < (size_t)page || (size & (size - 1)) || size > SIZE_MAX / 4) {
        errno = EINVAL;
        return NULL;
    }
    struct ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return NULL;
    ring->size = size;
    ring->page = (size_t)page;
    void *consumer = mmap(NULL, ring->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (consumer == MAP_FAILED)
        goto fail;
    ring->consumer = consumer;
    void *producer = mmap(NULL, ring->page + 2 * size, PROT_READ, MAP_SHARED, fd, page);
    if (producer == MAP_FAILED)
        goto fail;
    ring->positions = producer;
    return ring;

fail:;
    int reason = errno;
    ring_close(ring);
    errno = reason;
    return NULL;
}

void ring_close(struct ring *ring)
{
    if (!ring)
        return;
    if (ring->positions)
        munmap((void *)ring->positions, ring->page + 2 * ring->size);
    if (ring->consumer)
        munmap(ring->consumer, ring->page);
    free(ring);
}

const uint8_t *ring_data(const struct ring *ring)
{
    return ring->positions + ring->page;
}

uint64_t ring_filled(const struct ring *ring)
{
    return __atomic_load_n((const uint64_t *)ring->positions, __ATOMIC_ACQUIRE) -
           __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
}

size_t ring_batch(struct ring *ring, uint64_t most, uint64_t *begin, uint64_t *end)
{
    const uint64_t mask = ring->size - 1;
    /* Only this side writes the consumer's position; the producer's orders the headers before it. */
    uint64_t position = __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
    const uint64_t limit = __atomic_load_n((const uint64_t *)ring->positions, __ATOMIC_ACQUIRE);
    size_t count = 0;
    *begin = position;
    while (position < limit && position - *begin < most) {
        const uint32_t *header = (const uint32_t *)(ring_data(ring) + (position & mask));
        uint32_t length = __atomic_load_n(header, __ATOMIC_ACQUIRE);
        if (length & BPF_RINGBUF_BUSY_BIT)
            break;
        length &= ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        position += ((uint64_t)length + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
        count++;
    }
    *end = position;
    return count;
}

void ring_release(struct ring *ring, uint64_t end)
{
    /*
     * The kernel wakes the reader when it commits the record at the consumer's position. A full barrier between this
     * store and the next look at the producer's position and the headers, as the kernel has between its two: else both
     * could miss each other.
     */
    __atomic_store_n(ring->consumer, end, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
