/*
 * Calls data(p, size, n) 23 times for each n, as in `enum buffer`: bytes of a known length, with NULs, at the end of
 * a page, in pages that this process has not touched, and lengths that are none. "absent N" on standard output says
 * that the page table had no page for the end of buffer N in any of the 23 calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "noinline.h"

enum { ROUNDS = 23, PAGE = 4096, LARGE = 10007 };

enum buffer {
    NOTHING,    /* NULL and 0 */
    REQUEST,    /* "GET / HTTP/1.1\r\n\r\n" */
    ALL,        /* the bytes 0 … 255 */
    HUGE_SIZE,  /* NUMBERS, 2^40 by its size */
    NEGATIVE,   /* the same, -1 by its size */
    PAGE_END,   /* "end of page" where nothing is mapped behind */
    BEYOND,     /* the same and a byte more */
    UNMAPPED,   /* 5 bytes that are not there */
    NONE_THERE, /* 0 bytes there */
    NULS,       /* "a\0b\0\0c" */
    UNTOUCHED,  /* "from one page to another" in two pages that are not there yet */
    NUMBERS,    /* LARGE bytes: i % 251 */
    COUNT,
};

NOINLINE long data(const void *p, long size, long n)
{
    __asm__ volatile("" : : "r"(p), "r"(size) : "memory");
    return n;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static const char *page_end(const char *words, size_t bytes)
{
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || munmap(page + PAGE, PAGE))
        fail("mmap");
    return memcpy(page + PAGE - bytes, words, bytes);
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

/* Two pages of a file, which this process has not touched, with WORDS across their border. */
static const char *untouched(const char *words, bool *absent)
{
    static char content[3 * PAGE];
    FILE *file = tmpfile();
    if (!file)
        fail("tmpfile");
    /* The second page lies third in the file: the kernel does not join the mappings. */
    memcpy(content + PAGE - 8, words, 8);
    memcpy(content + 2 * PAGE, words + 8, strlen(words) - 8);
    char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || write(fileno(file), content, sizeof content) != sizeof content ||
        mmap(pages, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0) == MAP_FAILED ||
        mmap(pages + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 2 * PAGE) == MAP_FAILED)
        fail("mmap");
    fclose(file);
    if (is_present(pages) || is_present(pages + PAGE))
        *absent = false;
    return pages + PAGE - 8;
}

int main(void)
{
    static unsigned char all[256], numbers[LARGE];
    static const char request[] = "GET / HTTP/1.1\r\n\r\n", nuls[] = "a\0b\0\0c", words[] = "from one page to another";
    bool absent = true;
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    for (int i = 0; i < LARGE; i++)
        numbers[i] = (unsigned char)(i % 251);
    const char *end = page_end("end of page", 11);
    for (int round = 0; round < ROUNDS; round++) {
        data(NULL, 0, NOTHING);
        data(request, sizeof request - 1, REQUEST);
        data(all, 256, ALL);
        data(numbers, 1L << 40, HUGE_SIZE);
        data(numbers, -1, NEGATIVE);
        data(end, 11, PAGE_END);
        data(end, 12, BEYOND);
        data((char *)16, 5, UNMAPPED);
        data((char *)16, 0, NONE_THERE);
        data(nuls, 6, NULS);
        data(untouched(words, &absent), 24, UNTOUCHED);
        data(numbers, LARGE, NUMBERS);
    }
    if (absent)
        printf("absent %d\n", UNTOUCHED);
    return 0;
}
