/*
 * One event and one ring per CPU. Events of single processes would have to be inherited by their threads, and the
 * kernel switches such events in and out with each thread; those of a CPU cost nothing but the records.
 *
 * Order: records carry a time, and the rings are merged by it. A record may become visible in one ring after the ring
 * was looked at, and one that it caused (the mappings of a child that was forked there) in another ring before that is.
 * So the clock is read first, and only what is older than that is handed out: what caused it is then visible too.
 *
 * The kernel's rings are small, and nobody may have the time to deal with what is in them. So records go from there to
 * memory of ours first, also while probes are attached or detached, and are handed out from there.
 */
#include "sys/mmap_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"

enum {
    /*
     * Bytes per CPU, a power of two and of pages. A CPU that only compiles writes 200 KB a second, one that starts
     * short programs 600 KB. On an overloaded machine uplua may have to wait for CPU time.
     */
    RING_MAX = 1024 * 1024,
    RING_MIN = 64 * 1024,
    RINGS_MAX = 16 * 1024 * 1024, /* of all CPUs, where RING_MIN allows it */
    KEPT_MAX = 16,                /* times as much may wait in memory: then records stay in the ring */
    WAKEUP = 1,                   /* bytes: at once, since a library may be called as soon as it is mapped */
    MOVES_MAX = 100,              /* to another CPU, between two system calls: even one is rare */
    TRAILER = 16,                 /* what sample_id_all appends: u32 pid, tid; u64 time */
};

struct mmap_ring {
    int fd;
    struct perf_event_mmap_page *page;
    const unsigned char *data;
    size_t size;
    /* records that were in the ring before those that are there now: bytes BEGIN to END, room for CAPACITY */
    unsigned char *kept;
    size_t begin, end, capacity;
    uint64_t lost; /* by the records that say so */
};

struct mmap_events {
    int epoll;
    size_t page_size, ring_size;
    bool processes;   /* their beginnings and ends, too */
    bool own;         /* of this process alone */
    bool counts_lost; /* PERF_FORMAT_LOST */
    size_t count;
    struct mmap_ring *rings;
    struct mmap_events *next; /* of OPENED */
};

static _Thread_local struct mmap_events *opened; /* all that this thread has opened */

static int event_open(struct mmap_events *events, int cpu)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.sample_id_all = 1;
    attr.mmap = attr.mmap2 = 1;
    attr.comm = attr.comm_exec = events->processes;
    attr.task = events->processes;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = WAKEUP;
    attr.read_format = events->counts_lost ? PERF_FORMAT_LOST : 0;
    attr.inherit = events->own; /* by threads that come later */
    pid_t pid = events->own ? 0 : -1;
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && errno == EINVAL && events->counts_lost) { /* before Linux 6.0 */
        events->counts_lost = false;
        attr.read_format = 0;
        fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd < 0 ? -errno : fd;
}

static int ring_open(struct mmap_events *events, int cpu)
{
    int fd = event_open(events, cpu);
    if (fd < 0)
        return fd;
    struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
    void *page = mmap(NULL, events->page_size + events->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *kept = malloc(events->ring_size);
    if (page == MAP_FAILED || !kept || epoll_ctl(events->epoll, EPOLL_CTL_ADD, fd, &wanted)) {
        int rc = -errno;
        if (page != MAP_FAILED)
            munmap(page, events->page_size + events->ring_size);
        free(kept);
        close(fd);
        return rc;
    }
    struct mmap_ring *ring = &events->rings[events->count++];
    *ring = (struct mmap_ring){
        .fd = fd,
        .page = page,
        .data = (unsigned char *)page + events->page_size,
        .size = events->ring_size,
        .kept = kept,
        .capacity = events->ring_size,
    };
    return 0;
}

/* EVENTS without an event, with room for COUNT of them whose rings have SIZE bytes. 0 or -errno. */
static int events_new(bool processes, size_t count, size_t size, struct mmap_events **result)
{
    struct mmap_events *events = calloc(1, sizeof *events);
    struct mmap_ring *rings = calloc(count, sizeof *rings);
    int epoll = epoll_create1(EPOLL_CLOEXEC), code = -errno;
    if (!events || !rings || epoll < 0) {
        free(events);
        free(rings);
        if (epoll >= 0)
            close(epoll);
        return epoll < 0 ? code : -ENOMEM;
    }
    *events = (struct mmap_events){
        .epoll = epoll,
        .page_size = (size_t)sysconf(_SC_PAGESIZE),
        .ring_size = size,
        .processes = processes,
        .counts_lost = true,
        .rings = rings,
    };
    *result = events;
    return 0;
}

static int cpu_count(void)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    return configured > 0 ? (int)configured : 1;
}

static int open_all(bool processes, bool own, size_t size, struct mmap_events **result)
{
    int cpus = cpu_count();
    struct mmap_events *events;
    *result = NULL;
    int rc = events_new(processes, (size_t)cpus, size, &events);
    if (rc)
        return rc;
    events->own = own;
    for (int cpu = 0; cpu < cpus && !rc; cpu++) {
        rc = ring_open(events, cpu);
        if (rc == -ENODEV) /* this CPU is offline */
            rc = 0;
    }
    if (rc || !events->count) {
        mmap_events_close(events);
        return rc ? rc : -ENODEV;
    }
    events->next = opened;
    opened = events;
    *result = events;
    return 0;
}

int mmap_events_open(bool processes, struct mmap_events **result)
{
    size_t size = RING_MAX;
    while (size > RING_MIN && size * (size_t)cpu_count() > RINGS_MAX)
        size /= 2;
    return open_all(processes, false, size, result);
}

int mmap_events_open_own(size_t size, struct mmap_events **result)
{
    return open_all(true, true, size, result);
}

void mmap_events_close(struct mmap_events *events)
{
    if (!events)
        return;
    for (struct mmap_events **at = &opened; *at; at = &(*at)->next) {
        if (*at == events) {
            *at = events->next;
            break;
        }
    }
    for (size_t i = 0; i < events->count; i++) {
        munmap(events->rings[i].page, events->page_size + events->ring_size);
        free(events->rings[i].kept);
        close(events->rings[i].fd);
    }
    if (events->epoll >= 0)
        close(events->epoll);
    free(events->rings);
    free(events);
}

int mmap_events_fd(const struct mmap_events *events)
{
    return events->epoll;
}

uint64_t mmap_events_lost(const struct mmap_events *events)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < events->count; i++) {
        uint64_t values[2]; /* the event's value, and what was lost */
        /* A record of a loss is written only with the next record that finds room: the count is up to date. */
        if (events->counts_lost && read(events->rings[i].fd, values, sizeof values) == (ssize_t)sizeof values)
            lost += values[1];
        else
            lost += events->rings[i].lost;
    }
    return lost;
}

/* Room for SIZE bytes more behind what RING has kept; false if that cannot be had. */
static bool make_room(struct mmap_ring *ring, size_t size)
{
    if (ring->begin) {
        memmove(ring->kept, ring->kept + ring->begin, ring->end - ring->begin);
        ring->end -= ring->begin;
        ring->begin = 0;
    }
    size_t capacity = ring->capacity;
    while (capacity - ring->end < size)
        capacity *= 2;
    if (capacity == ring->capacity)
        return true;
    unsigned char *kept = capacity > KEPT_MAX * ring->size ? NULL : realloc(ring->kept, capacity);
    if (!kept)
        return false;
    ring->kept = kept;
    ring->capacity = capacity;
    return true;
}

/* Moves what is in the ring to what is kept, which has room for all of it if it is empty. */
static void ring_take(struct mmap_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
    size_t size = (size_t)(head - tail), at = (size_t)(tail & (ring->size - 1)), first = ring->size - at;
    if (!size || size > ring->size || (ring->capacity - ring->end < size && !make_room(ring, size)))
        return;
    if (first > size)
        first = size;
    memcpy(ring->kept + ring->end, ring->data + at, first);
    memcpy(ring->kept + ring->end + first, ring->data, size - first);
    ring->end += size;
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void mmap_events_keep(void)
{
    for (struct mmap_events *events = opened; events; events = events->next)
        for (size_t i = 0; i < events->count; i++)
            ring_take(&events->rings[i]);
}

/* The header and time of the next record; false at the end. */
static bool ring_peek(struct mmap_ring *ring, struct perf_event_header *header, uint64_t *when)
{
    if (ring->begin == ring->end) {
        ring->begin = ring->end = 0;
        ring_take(ring);
    }
    size_t left = ring->end - ring->begin;
    const unsigned char *record = ring->kept + ring->begin;
    if (left < sizeof *header + TRAILER)
        return false;
    memcpy(header, record, sizeof *header);
    if (header->size < sizeof *header + TRAILER || header->size > left) {
        ring->begin = ring->end; /* no record of ours */
        return false;
    }
    memcpy(when, record + header->size - sizeof *when, sizeof *when);
    return true;
}

/* The bodies of the records (linux/perf_event.h, enum perf_event_type). */
struct mmap2_body {
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
};
struct task_body {
    uint32_t pid, parent, tid, parent_tid;
    uint64_t time;
};
struct comm_body {
    uint32_t pid, tid;
};
struct lost_body {
    uint64_t id, lost;
};

/* What RECORD says, in *EVENT; false if it is none of our matters. */
static bool decode(struct mmap_ring *ring, const struct perf_event_header *header, const void *body, size_t size,
                   struct mmap_event *event)
{
    const struct mmap2_body *mapping = body;
    const struct task_body *task = body;
    const struct comm_body *comm = body;
    const struct lost_body *lost = body;
    switch (header->type) {
    case PERF_RECORD_MMAP2:
        if (size < sizeof *mapping || !(mapping->protection & PROT_EXEC) || mapping->length > -mapping->address)
            return false;
        event->kind = MMAP_EVENT_MAP;
        event->pid = (pid_t)mapping->pid;
        event->start = mapping->address;
        event->end = mapping->address + mapping->length;
        event->offset = mapping->offset;
        event->device = makedev(mapping->major, mapping->minor);
        event->inode = mapping->inode;
        event->generation = mapping->generation;
        event->path = mapping->path;
        return event->start < event->end;
    case PERF_RECORD_COMM:
        event->kind = MMAP_EVENT_EXEC;
        event->pid = (pid_t)comm->pid;
        return size >= sizeof *comm && header->misc & PERF_RECORD_MISC_COMM_EXEC;
    case PERF_RECORD_FORK:
        event->kind = MMAP_EVENT_FORK;
        event->pid = (pid_t)task->pid;
        event->parent = (pid_t)task->parent;
        return size >= sizeof *task && task->pid != task->parent; /* else it is a thread */
    case PERF_RECORD_EXIT:
        event->kind = MMAP_EVENT_EXIT;
        event->pid = (pid_t)task->pid;
        return size >= sizeof *task && task->pid == task->tid;
    case PERF_RECORD_LOST:
        if (size >= sizeof *lost)
            ring->lost += lost->lost;
        return false;
    default:
        return false;
    }
}

size_t mmap_events_drain(struct mmap_events *events, void (*fn)(void *context, const struct mmap_event *event),
                         void *context)
{
    uint64_t now = clock_now();
    size_t count = 0;
    for (;;) {
        struct mmap_ring *next = NULL;
        struct perf_event_header header, first = {0};
        uint64_t when, earliest = now;
        for (size_t i = 0; i < events->count; i++) {
            struct mmap_ring *ring = &events->rings[i];
            if (ring_peek(ring, &header, &when) && when <= earliest) {
                next = ring;
                first = header;
                earliest = when;
            }
        }
        if (!next)
            return count;
        unsigned char *record = next->kept + next->begin;
        size_t size = first.size - sizeof first - TRAILER;
        record[first.size - TRAILER] = '\0'; /* ends the path, whatever it is */
        struct mmap_event event = {.time = earliest};
        bool ours = decode(next, &first, record + sizeof first, size, &event);
        if (ours)
            fn(context, &event);
        count += ours;
        next->begin += first.size;
    }
}

/* The record of our mapping that begins at .start; its path is not kept. */
static void keep_mapping(void *context, const struct mmap_event *event)
{
    struct mmap_event *wanted = context;
    if (event->kind == MMAP_EVENT_MAP && event->pid == getpid() && event->start == wanted->start) {
        *wanted = *event;
        wanted->path = NULL;
    }
}

/* Maps FD for a moment, recorded on one CPU. 0, -EAGAIN where it was mapped on another one, or -errno. */
static int identify_on_cpu(int fd, int cpu, struct mmap_event *file)
{
    struct mmap_events *events;
    *file = (struct mmap_event){0};
    int rc = events_new(false, 1, RING_MIN, &events);
    if (rc)
        return rc;
    rc = ring_open(events, cpu);
    void *mapped = rc ? MAP_FAILED : mmap(NULL, events->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (!rc && mapped == MAP_FAILED)
        rc = -errno;
    if (!rc) {
        file->start = (uint64_t)(uintptr_t)mapped;
        mmap_events_drain(events, keep_mapping, file);
        munmap(mapped, events->page_size);
        rc = file->pid ? 0 : -EAGAIN;
    }
    mmap_events_close(events);
    return rc;
}

/* By an event of the CPU that we are on: the first event of a thread makes the kernel wait for a grace period of RCU,
 * for 20 ms and more. */
int mmap_events_identify(const char *path, struct mmap_event *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc = fd < 0 ? -errno : -EAGAIN;
    for (int i = 0; i < MOVES_MAX && rc == -EAGAIN; i++)
        rc = identify_on_cpu(fd, sched_getcpu(), file);
    if (fd >= 0)
        close(fd);
    return rc;
}
