/*
 * Calls functions with strings that handlers read: ordinary, long, hostile, in pages that this process has not touched.
 *
 *   strings [THREADS | blocked]
 *
 * text(s, n), 23 times each, n as in `enum text` below. "absent N" on standard output says that the page table had no
 *   page for the text N in any of the 23 calls.
 * blocked(s, i), with "blocked" and nothing else: 23 threads on one CPU, i = 0 … 22, each with a page of its own that
 *   stays absent until every thread either waits for it (somebody reads the page) or is back, or for 3 s nothing
 *   happens; it then holds "thread I".
 * many(s, t, i) by each of THREADS threads (0 if not given), i = 0 … 1008: s is "T:I:" and then the letter 'a' + I % 26
 *   up to 3,000 bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noinline.h"

enum {
    ROUNDS = 23,
    MANY = 1009,
    MANY_BYTES = 3000,
    PAGE = 4096,
    /* of 10 ms: before Linux 6.10, threads wait for a lock that the first one's uprobe holds while it sleeps */
    QUIET = 300,
};

enum text {
    EMPTY,               /* "" */
    SHORT,               /* "uplua-23" */
    LETTERS,             /* the n % 26th letters: "abc…xyzabc…", of 5,000 bytes */
    LAST = LETTERS + 12, /* LETTERS + i: of lengths[i] bytes */
    HOSTILE,             /* control characters, and what is no UTF-8 */
    NOWHERE,             /* NULL */
    UNMAPPED,            /* an address that nothing is mapped at */
    PAGE_END,            /* "end of page", whose NUL is the last byte of a page with none behind */
    NO_END,              /* the same without its NUL */
    UNTOUCHED,           /* "a page of a file" */
    CROSSING,            /* "from one page to another": the first is there, the other not */
    BOTH,                /* the same: neither is there */
    TEXT_COUNT,
};

static const size_t lengths[] = {5000, 7, 8, 9, 15, 16, 62, 63, 64, 65, 4094, 4095, 4096};

NOINLINE long text(const char *s, long n)
{
    __asm__ volatile("" : : "r"(s) : "memory");
    return n;
}

NOINLINE long many(const char *s, long thread, long i)
{
    __asm__ volatile("" : : "r"(s) : "memory");
    return thread + i;
}

NOINLINE long blocked(const char *s, long i)
{
    __asm__ volatile("" : : "r"(s) : "memory");
    return i;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* Two pages of a file, each a mapping of its own so that a fault in one brings in no other; TEXT at OFFSET. */
static char *map_file(const char *words, size_t offset)
{
    FILE *file = tmpfile();
    char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!file || pages == MAP_FAILED)
        fail("tmpfile");
    /* The second page lies third in the file: the kernel does not join the mappings. */
    char content[3 * PAGE] = {0}, both[2 * PAGE] = {0};
    strcpy(both + offset, words);
    memcpy(content, both, PAGE);
    memcpy(content + 2 * PAGE, both + PAGE, PAGE);
    if (write(fileno(file), content, sizeof content) != sizeof content ||
        mmap(pages, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) == MAP_FAILED ||
        mmap(pages + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 2 * PAGE) == MAP_FAILED)
        fail("mmap");
    fclose(file);
    return pages + offset;
}

static bool is_present(const char *address)
{
    static int pagemap = -1;
    uint64_t entry = 0;
    if (pagemap < 0)
        pagemap = open("/proc/self/pagemap", O_RDONLY);
    if (pread(pagemap, &entry, sizeof entry, (off_t)((uintptr_t)address / PAGE * sizeof entry)) != sizeof entry)
        fail("pagemap");
    return entry >> 63;
}

/* The text N of one round; *ABSENT becomes false where its last page is there. */
static const char *untouched(enum text n, bool *absent)
{
    static const char words[] = "from one page to another";
    char *s = n == UNTOUCHED ? map_file("a page of a file", 100) : map_file(words, PAGE - 8);
    if (n == CROSSING)
        (void)*(volatile char *)s;
    if (is_present(n == UNTOUCHED ? s : s + 8) || (n == BOTH && is_present(s)))
        *absent = false;
    return s;
}

static char *letters(size_t length)
{
    char *s = malloc(length + 1);
    for (size_t i = 0; i < length; i++)
        s[i] = (char)('a' + i % 26);
    s[length] = 0;
    return s;
}

static const char *page_end(const char *words, size_t bytes)
{
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || munmap(page + PAGE, PAGE))
        fail("mmap");
    return memcpy(page + PAGE - bytes, words, bytes);
}

static void call_all(void)
{
    const char *texts[TEXT_COUNT] = {
        [EMPTY] = "",
        [SHORT] = "uplua-23",
        [HOSTILE] = "\x1b[2J\x07\xff\x9b"
                    "31m\xc2\x9b\n\xe2\x82",
        [UNMAPPED] = (char *)16,
        [PAGE_END] = page_end("end of page", 12),
        [NO_END] = page_end("end of page", 11),
    };
    bool absent[TEXT_COUNT];
    for (int i = LETTERS; i <= LAST; i++)
        texts[i] = letters(lengths[i - LETTERS]);
    memset(absent, 1, sizeof absent);
    for (int round = 0; round < ROUNDS; round++)
        for (int n = 0; n < TEXT_COUNT; n++)
            text(n >= UNTOUCHED ? untouched((enum text)n, &absent[n]) : texts[n], n);
    for (int n = UNTOUCHED; n < TEXT_COUNT; n++)
        if (absent[n])
            printf("absent %d\n", n);
}

static void *call_many(void *thread)
{
    char s[MANY_BYTES + 1];
    for (int i = 0; i < MANY; i++) {
        memset(s, 'a' + i % 26, MANY_BYTES);
        s[MANY_BYTES] = 0;
        char head[32];
        int length = snprintf(head, sizeof head, "%ld:%d:", (long)(intptr_t)thread, i);
        memcpy(s, head, (size_t)length);
        many(s, (long)(intptr_t)thread, i);
    }
    return NULL;
}

static char *pages;
static atomic_int back;
static pthread_barrier_t together;

static void *call_blocked(void *number)
{
    long i = (long)(intptr_t)number;
    pthread_barrier_wait(&together);
    blocked(pages + i * PAGE, i);
    atomic_fetch_add(&back, 1);
    return NULL;
}

/* Faults in `pages` wait for us. */
static int watch_faults(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API};
    pages = mmap(NULL, ROUNDS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)pages, ROUNDS * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (fd < 0 || pages == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
        fail("userfaultfd");
    return fd;
}

static void call_all_blocked(void)
{
    pthread_t threads[ROUNDS];
    cpu_set_t first;
    int fd = watch_faults(), waiting = 0;
    sched_getaffinity(0, sizeof first, &first);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &first) && seen++)
            CPU_CLR(cpu, &first);
    sched_setaffinity(0, sizeof first, &first);
    pthread_barrier_init(&together, NULL, ROUNDS + 1);
    for (intptr_t i = 0; i < ROUNDS; i++)
        if (pthread_create(&threads[i], NULL, call_blocked, (void *)i))
            fail("pthread_create");
    pthread_barrier_wait(&together);
    for (int quiet = 0; waiting + atomic_load(&back) < ROUNDS && quiet < QUIET;) {
        struct uffd_msg message;
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 10);
        for (quiet++; read(fd, &message, sizeof message) == sizeof message; quiet = 0)
            waiting++;
    }
    for (int i = 0; i < ROUNDS; i++) {
        char page[PAGE] = {0};
        snprintf(page, sizeof page, "thread %d", i);
        struct uffdio_copy copy = {(uintptr_t)pages + (uintptr_t)i * PAGE, (uintptr_t)page, PAGE, 0, 0};
        if (ioctl(fd, UFFDIO_COPY, &copy))
            fail("UFFDIO_COPY");
    }
    for (int i = 0; i < ROUNDS; i++)
        pthread_join(threads[i], NULL);
    printf("waited %d\n", waiting);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "blocked")) {
        call_all_blocked();
        return 0;
    }
    int count = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t threads[64];
    if (count < 0 || count > 64)
        return 2;
    call_all();
    for (intptr_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, call_many, (void *)i))
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
