/*
 * Holds one block by a pointer in memory of one kind alone:
 *
 *   memory_keeper huge     private huge pages
 *   memory_keeper shared   shared huge pages
 *   memory_keeper aside    private pages that nobody may read meanwhile
 *   memory_keeper watched  private pages that a userfaultfd watches
 *   memory_keeper device   what the kernel shares with a process that counts events: on some a device's, on others its
 * own memory_keeper strict   private pages, in seccomp's strict mode
 *
 * It prints "ready" and reads a byte; allocates ten blocks, prints "made", and reads another one; then uses the block.
 * "no KIND: REASON" in the place of all that, where the machine has no such memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noinline.h"

enum { SIZE = 2 << 20, PAGE = 4096, BLOCK = 72 };

static uintptr_t *memory;
static int faults = -1;
static const char *kind;

static int no(void)
{
    printf("no %s: %s\n", kind, strerror(errno));
    return 0;
}

/* What lies behind the block, so that it does not end where the heap's free part begins, to which malloc has a pointer.
 */
static void *volatile others[9];

NOINLINE void keep(void)
{
    char *block = calloc(1, BLOCK);
    memcpy(block, "KEPT", 5);
    *memory = (uintptr_t)block;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        others[i] = malloc(BLOCK + 64 * i);
}

/* Nothing that the calls before have left on the stack leads to the block. */
NOINLINE void forget(void)
{
    volatile char stack[2 * PAGE];
    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = 0;
}

/* The second page is never touched: whoever does waits for ever. */
static bool watch(void)
{
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)memory, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) && !ioctl(faults, UFFDIO_REGISTER, &range);
}

/* A word that the kernel leaves as it is. */
static uintptr_t *map_counter(void)
{
    struct perf_event_attr attr = {.size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    struct perf_event_mmap_page *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? MAP_FAILED : (uintptr_t *)&page->data_tail;
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        syscall(SYS_exit, 1);
}

int main(int argc, char **argv)
{
    char byte;
    kind = argc > 1 ? argv[1] : "";
    bool huge = !strcmp(kind, "huge"), shared = !strcmp(kind, "shared"), aside = !strcmp(kind, "aside");
    int flags = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | (huge || shared ? MAP_HUGETLB : 0);
    memory = strcmp(kind, "device") ? mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) : (void *)map_counter();
    if (memory == MAP_FAILED)
        return no();
    *memory = 0;
    if (!strcmp(kind, "watched") && !watch())
        return no();
    say("ready\n");
    if (read(0, &byte, 1) != 1)
        return 1;
    keep();
    forget();
    if (aside)
        mprotect(memory, SIZE, PROT_NONE);
    if (!strcmp(kind, "strict") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        return 1;
    say("made\n");
    if (read(0, &byte, 1) != 1)
        syscall(SYS_exit, 1);
    if (aside)
        mprotect(memory, SIZE, PROT_READ);
    say("used ");
    say((char *)*memory);
    if (faults >= 0)
        say(poll(&(struct pollfd){.fd = faults, .events = POLLIN}, 1, 0) ? ", touched" : ", untouched");
    say("\n");
    syscall(SYS_exit, 0);
}
