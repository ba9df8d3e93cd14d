/* The end of the run that a handler asks for. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/*
 * The first of all handlers makes *WORD, which is 0, its STATUS (not 0), and wakes up who reads RING: a record that is
 * given up again does, and is no event. Where the reader has not caught up with the ring, it comes soon.
 */
__hidden long uplua_exit(void *word, void *ring, long status)
{
    if (__sync_val_compare_and_swap((__u64 *)word, 0, (__u64)status))
        return 0;
    void *record = bpf_ringbuf_reserve(ring, 8, 0);
    if (record)
        bpf_ringbuf_discard(record, 0);
    return 0;
}
