/* The merge of rings, on files that look like the kernel's ring buffers: the order of records, which ones wait, what is
 * given back, and times of which the head has the lower bits only. */
#include "map/merge.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../bpf/timed.h"
#include "tap.h"

enum { SIZE = 65536 };

/* A ring of which the test is the kernel. */
struct written {
    struct ring *ring;
    uint8_t *pages; /* the reader's position, the writer's, and the data */
    size_t page;
    uint64_t position;
};

static uint64_t *writer_position(const struct written *written)
{
    return (uint64_t *)(written->pages + written->page);
}

static struct written make_ring(void)
{
    struct written written = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    size_t bytes = 2 * written.page + 2 * SIZE;
    int fd = memfd_create("ring", 0);
    if (fd < 0 || ftruncate(fd, (off_t)bytes))
        return written;
    written.pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    written.ring = ring_open(fd, SIZE);
    close(fd);
    return written;
}

static void close_ring(struct written *written)
{
    ring_close(written->ring);
    munmap(written->pages, 2 * written->page + 2 * SIZE);
}

static void put(struct written *written, uint64_t time, uint32_t tag, uint32_t bits)
{
    uint8_t *at = written->pages + 2 * written->page + written->position;
    uint32_t length = 16 | bits;
    uint64_t words[2] = {time << RING_TAG_BITS | tag, time};

    memcpy(at, &length, sizeof length);
    memcpy(at + BPF_RINGBUF_HDR_SZ, words, sizeof words);
    written->position += BPF_RINGBUF_HDR_SZ + sizeof words;
    __atomic_store_n(writer_position(written), written->position, __ATOMIC_RELEASE);
}

/* What merge_find has found, as text: the ring and the time of each, less BASE. */
static const char *found(struct merge *merge, uint64_t until, uint64_t now, uint64_t base)
{
    static char text[256];
    const struct merged *records;
    size_t count = merge_find(merge, until, now, &records), used = 0;

    *text = '\0';
    for (size_t i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c%llu", i ? " " : "", 'a' + (int)records[i].ring,
                                 (unsigned long long)(records[i].time - base));
    merge_release(merge);
    return text;
}

static void is_found(const char *got, const char *want, const char *name)
{
    ok(!strcmp(got, want), "%s: got '%s', want '%s'", name, got, want);
}

static void test_order(void)
{
    struct written a = make_ring(), b = make_ring();
    struct merge *merge = merge_new();
    if (!ok(a.ring && b.ring && merge, "two rings"))
        return;
    is_int(merge_add(merge, a.ring, SIZE), 0, "the first is 0");
    is_int(merge_add(merge, b.ring, SIZE), 1, "the second is 1");
    is_found(found(merge, 1000, 1000, 0), "", "nothing is there");
    put(&a, 10, 0, 0);
    put(&a, 30, 1, 0);
    put(&b, 20, 0, 0);
    put(&b, 15, 0, 0);
    put(&b, 40, 0, 0);
    is_found(found(merge, 35, 1000, 0), "a10 b15 b20 a30", "records up to a time, in its order");
    is_int((int64_t)ring_filled(b.ring), 24, "the others are still there");
    put(&b, 38, 0, 0);
    put(&a, 37, 0, BPF_RINGBUF_BUSY_BIT);
    put(&a, 36, 0, 0);
    is_found(found(merge, 39, 1000, 0), "", "one behind a later one waits for it, and with it all that are later");
    is_found(found(merge, 40, 1000, 0), "b38 b40", "until that is old enough; one that is being written ends its ring");
    is_int((int64_t)merge_disorder(merge), 0, "all was in order");
    a.position -= 48;
    put(&a, 37, 0, 0);
    put(&a, 36, 0, 0);
    put(&a, 99, 0, BPF_RINGBUF_DISCARD_BIT);
    is_found(found(merge, 50, 1000, 0), "a36 a37", "what comes too late is read all the same");
    is_int((int64_t)merge_disorder(merge), 2, "and is counted");
    is_int((int64_t)ring_filled(a.ring), 0, "what was discarded is given back");
    merge_free(merge);
    close_ring(&a);
    close_ring(&b);
}

static void test_long_times(void)
{
    struct written a = make_ring(), b = make_ring();
    struct merge *merge = merge_new();
    uint64_t base = (5ull << (64 - RING_TAG_BITS)) - 10; /* the lower bits begin anew 10 ns later */
    if (!ok(a.ring && b.ring && merge, "two rings"))
        return;
    merge_add(merge, a.ring, SIZE);
    merge_add(merge, b.ring, SIZE);
    put(&a, base + 5, 0, 0);
    put(&b, base + 15, 0, 0);
    put(&a, base + 20, 0, 0);
    is_found(found(merge, base + 100, base + 200, base), "a5 b15 a20", "times are whole again");
    for (uint64_t i = 0; i < 1500; i++)
        put(&b, base + 300 + i, 0, 0);
    is_int(merge_is_full(merge), 1, "a ring of which more than half is filled is full");
    is_int((int64_t)merge_disorder(merge), 0, "all was in order");
    merge_free(merge);
    close_ring(&a);
    close_ring(&b);
}

int main(void)
{
    test_order();
    test_long_times();
    return done_testing();
}
