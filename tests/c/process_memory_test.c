/* What a process has in its memory, and what the kernel keeps for it: this one, which knows. */
#include "sys/process_memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sys/kernel_pointers.h"
#include "tap.h"

enum { PAGE = 4096, PAGES = 23 };

static struct process_memory memory;

/* The region that begins at START, zeroed where there is none. */
static struct region region_at(const void *start)
{
    struct region *regions, found = {0};
    size_t count;
    if (process_memory_regions(&memory, &regions, &count))
        return found;
    for (size_t i = 0; i < count; i++)
        if (regions[i].start == (uintptr_t)start)
            found = regions[i];
    free(regions);
    return found;
}

/* Pages of REGION that have contents, as '1', and others, as '0'. */
static const char *pages_of(const struct region *region)
{
    static char text[PAGES + 1];
    memset(text, '0', PAGES);
    for (uint64_t at = region->start; at < region->end;) {
        struct page_range ranges[2]; /* which is too little for all */
        int count = process_memory_pages(&memory, region, at, ranges, 2, &at);
        if (count < 0)
            return "";
        for (int i = 0; i < count; i++)
            for (uint64_t page = ranges[i].start; page < ranges[i].end; page += PAGE)
                text[(page - region->start) / PAGE] = '1';
    }
    return text;
}

/* A mapping of PAGES pages with FLAGS, each third of which has been written to. */
static char *map(int flags, int fd)
{
    char *start = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start = mmap(start + PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    for (int i = 0; i < PAGES; i += 3)
        start[i * PAGE] = (char)(i + 1);
    return start;
}

static void test_pages(void)
{
    int file = memfd_create("shared", MFD_CLOEXEC);
    char *own = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (ftruncate(file, PAGES * PAGE))
        exit(1);
    char *shared = map(MAP_SHARED, file);
    static const char third[] = "10010010010010010010010";
    for (int scans = 1; scans >= 0; scans--) { /* the kernel's PAGEMAP_SCAN, or the words of pagemap */
        struct region region = region_at(own);
        memory.scans = memory.scans && scans;
        const char *how = memory.scans ? "PAGEMAP_SCAN" : "pagemap";
        is_int(region.resident, (PAGES + 2) / 3 * PAGE, "%s: so much is in memory", how);
        is_str(pages_of(&region), third, "%s: private pages", how);
        region = region_at(shared);
        ok(region.shared && region.writable && !region.device && !region.watched, "%s: a shared mapping", how);
        is_str(pages_of(&region), third, "%s: shared pages", how);
    }
    struct region region = region_at(own);
    char bytes[PAGE];
    ok(process_memory_read(&memory, &region, (uintptr_t)own + 3 * PAGE, bytes, PAGE) == PAGE && bytes[0] == 4,
       "what is in one");
    mprotect(own, PAGES * PAGE, PROT_NONE);
    region = region_at(own - PAGE); /* with its neighbours it is one mapping, or still its own */
    region = region.end > (uintptr_t)own ? region : region_at(own);
    ok(!region.readable && process_memory_read(&memory, &region, (uintptr_t)own + 3 * PAGE, bytes, PAGE) == PAGE &&
           bytes[0] == 4,
       "what is in one that its owner may not read");
    close(file);
}

static void test_until(void)
{
    struct region *regions;
    size_t count;
    memory.until = 1;
    ok(process_memory_is_late(&memory), "it is late");
    is_int(process_memory_regions(&memory, &regions, &count), -ETIMEDOUT, "then regions are given up");
    memory.until = 0;
    is_int(process_memory_regions(&memory, &regions, &count), 0, "and are there without a bound");
    free(regions);
}

static uint64_t words[2];
static unsigned numbers[2];
static int visits;

static void visit(void *context, enum kernel_pointer kind, unsigned number, uint64_t word)
{
    (void)context;
    words[kind] = word;
    numbers[kind] = number;
    visits++;
}

static void test_kernel_pointers(void)
{
    int watch = epoll_create1(EPOLL_CLOEXEC), pipes[2];
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = 0x123456789abcdef0}};
    if (pipe(pipes) || epoll_ctl(watch, EPOLL_CTL_ADD, pipes[0], &event))
        exit(1);
    is_int(kernel_pointers_visit(getpid(), 0, visit, NULL), 0, "what the kernel keeps");
    is_int(words[KERNEL_POINTER_EPOLL], (int64_t)0x123456789abcdef0, "of an epoll");
    is_int(numbers[KERNEL_POINTER_EPOLL], watch, "which it is");
    timer_t timer;
    struct sigevent event_of = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    event_of.sigev_value.sival_ptr = &timer;
    if (access("/proc/self/timers", R_OK) || timer_create(CLOCK_MONOTONIC, &event_of, &timer)) {
        skip("the kernel shows no timers");
    } else {
        visits = 0;
        kernel_pointers_visit(getpid(), 0, visit, NULL);
        is_int(visits, 2, "and of a timer");
        is_int(words[KERNEL_POINTER_TIMER], (int64_t)(uintptr_t)&timer, "its word");
        timer_delete(timer);
    }
    is_int(kernel_pointers_visit(getpid(), 1, visit, NULL), -ETIMEDOUT, "it is late: not all were seen");
    is_int(kernel_pointers_visit(0x7fffffff, 0, visit, NULL), -ESRCH, "of no process");
}

int main(void)
{
    struct error err = {0};
    if (!is_int(process_memory_open(&memory, getpid(), &err), 0, "its own memory can be read"))
        return done_testing();
    ok(process_memory_is_same(&memory), "it is the same");
    test_pages();
    test_until();
    test_kernel_pointers();
    process_memory_close(&memory);
    ok(process_memory_open(&memory, 0x7fffffff, &err) && *err.text, "a process that is not there: %s", err.text);
    return done_testing();
}
