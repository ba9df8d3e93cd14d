/* No record of a mapping is lost while uplua attaches, loads or detaches, however long that takes; and one that is lost
 * is counted. */
#include "sys/mmap_events.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "probe/attach/detach.h"
#include "probe/attach/link.h"
#include "tap.h"

enum { RINGS_MAX = 1024, NAME = 249, RECORD = 360 /* bytes of one with that name */, PATIENCE = 30 /* seconds */ };

static long page_size;
static size_t ring_size; /* bytes of each CPU's ring, which has what this process maps */
static struct perf_event_mmap_page *rings[RINGS_MAX];
static size_t ring_count;

/* The rings that this process has mapped, by what the kernel says of them. */
static void find_rings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    ring_count = 0;
    while (maps && ring_count < RINGS_MAX && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (!strstr(line, "[perf_event]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        rings[ring_count++] = (struct perf_event_mmap_page *)start; /* NOLINT: an address of ours */
        ring_size = end - start - (size_t)page_size;
    }
    if (maps)
        fclose(maps);
}

static bool is_read(void)
{
    for (size_t i = 0; i < ring_count; i++)
        if (__atomic_load_n(&rings[i]->data_head, __ATOMIC_ACQUIRE) -
                __atomic_load_n(&rings[i]->data_tail, __ATOMIC_ACQUIRE) >
            ring_size / 2)
            return false;
    return true;
}

/* Waits until somebody else has read the rings; false if nobody does. */
static bool wait_until_read(void)
{
    time_t end = time(NULL) + PATIENCE;
    while (!is_read()) {
        if (time(NULL) > end)
            return false;
        usleep(1000);
    }
    return true;
}

static int file;      /* what is mapped: one page at each number */
static ino_t inode;   /* its */
static uint64_t made; /* how often it was */

/* Fills so many quarters of a ring. */
static void map_quarters(unsigned quarters)
{
    for (size_t left = quarters * (ring_size / 4 / RECORD); left; left--) {
        void *mapped = mmap(NULL, (size_t)page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)made * page_size);
        if (mapped == MAP_FAILED || munmap(mapped, (size_t)page_size))
            exit(99);
        made++;
    }
}

struct seen {
    uint64_t count, next; /* mappings of the file; the number behind the last */
    bool in_order;
};

static void see(void *context, const struct mmap_event *event)
{
    struct seen *seen = context;
    uint64_t number = event->offset / (uint64_t)page_size;
    if (event->kind != MMAP_EVENT_MAP || event->pid != getpid() || event->inode != inode)
        return;
    seen->in_order &= number >= seen->next;
    seen->next = number + 1;
    seen->count++;
}

/* What EVENTS have of the file since it was mapped for the first time; they are closed. */
static void check(struct mmap_events *events, bool whole, const char *what)
{
    struct seen seen = {.in_order = true};
    mmap_events_drain(events, see, &seen);
    uint64_t lost = mmap_events_lost(events);
    if (whole) {
        is_int((int64_t)seen.count, (int64_t)made, "%s: each of %" PRIu64 " mappings is recorded", what, made);
        is_int((int64_t)lost, 0, "%s: nothing is lost", what);
    } else {
        ok(lost > 0 && seen.count < made && seen.count + lost >= made,
           "%s: %" PRIu64 " mappings are %" PRIu64 " and %" PRIu64 " lost ones", what, made, seen.count, lost);
    }
    ok(seen.in_order, "%s: in the order in which they were made", what);
    mmap_events_close(events);
}

static struct mmap_events *begin(void)
{
    struct mmap_events *events;
    if (mmap_events_open_own((size_t)page_size * 4, &events))
        exit(98);
    find_rings();
    made = 0;
    return events;
}

static int slow = -1; /* a descriptor whose close takes long */
static bool was_read = true;

/* In place of the C library's, for what is linked with this. While the slow one is closed, the machine maps more than a
 * ring has room for. */
int close(int fd)
{
    for (int i = 0; fd == slow && i < 8; i++) {
        map_quarters(1);
        was_read = was_read && wait_until_read();
    }
    return (int)syscall(SYS_close, fd);
}

static void test_detaching(void)
{
    struct mmap_events *events = begin();
    slow = dup(file);
    descriptors_close(&slow, 1);
    ok(was_read, "while a descriptor is closed, records are read");
    check(events, true, "a descriptor that takes long to close");
    events = begin();
    int fds[] = {dup(file), dup(file), dup(file)};
    slow = fds[2];
    descriptors_close(fds, 3);
    ok(was_read, "while several descriptors are closed, records are read");
    check(events, true, "one of several");
    slow = -1;
}

static void test_attaching(void)
{
    struct mmap_events *events = begin();
    struct probe_link *link = calloc(1, sizeof *link);
    for (int i = 0; i < 8; i++) {
        map_quarters(1);
        if (!link || link_keep(link, dup(file)))
            exit(97);
    }
    check(events, true, "between attachments");
    probe_detach(link);
}

static void test_two(void)
{
    struct mmap_events *one = begin(), *two = begin();
    for (int i = 0; i < 8; i++) {
        map_quarters(1);
        mmap_events_keep();
    }
    check(one, true, "the first of two readers");
    check(two, true, "the second");
    mmap_events_keep(); /* of none */
}

static void test_loss(void)
{
    struct mmap_events *events = begin();
    map_quarters(8);
    check(events, false, "where nobody reads");
    events = begin();
    for (int i = 0; i < 19; i++) {
        map_quarters(4);
        mmap_events_keep();
    }
    check(events, false, "beyond what is kept");
}

int main(void)
{
    char name[NAME + 1];
    cpu_set_t cpus;
    struct stat status;
    page_size = sysconf(_SC_PAGESIZE);
    memset(name, 'm', NAME);
    name[NAME] = '\0';
    file = memfd_create(name, MFD_CLOEXEC);
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus); /* one ring has to have room for all */
    if (file < 0 || fstat(file, &status) || sched_setaffinity(0, sizeof cpus, &cpus))
        return 96;
    inode = status.st_ino;
    test_detaching();
    test_attaching();
    test_two();
    test_loss();
    return done_testing();
}
