/* The reading side of a BPF ring buffer: C looks at positions and busy bits with the right memory order, Lua walks the
 * records between. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ring;

/* Maps the ring buffer FD (borrowed) of SIZE data bytes. NULL with errno set on failure. */
struct ring *ring_open(int fd, size_t size);
void ring_close(struct ring *ring);

/*
 * One batch: *BEGIN … *END are positions of complete records (headers of 8 bytes: u32 length with flag bits, then the
 * record, padded to 8), up to the one that ends at or behind *BEGIN + MOST; the data of position P lies at
 * ring_data(ring) + (P & (size - 1)), contiguous by double mapping. Returns the number of records, discarded ones
 * included; 0 where none is complete.
 */
size_t ring_batch(struct ring *ring, uint64_t most, uint64_t *begin, uint64_t *end);
const uint8_t *ring_data(const struct ring *ring);
/* Bytes of the records that are there to be read, or are being written. */
uint64_t ring_filled(const struct ring *ring);
/* Gives everything before END back to the kernel. */
void ring_release(struct ring *ring, uint64_t end);
