/*
 * Blocks by all forms of C++'s operators new and delete, and by what the allocator that the program runs with has
 * besides: functions of jemalloc, mimalloc and tcmalloc. keep_… hold their blocks to the end, pass_… free theirs.
 *
 *   allocators wait     prints "ready", waits for a byte, works, prints what it has done, and waits for another one
 *   allocators          works
 */
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "noinline.h"

static const unsigned KEPT = 101, PASSED = 1003;
static const size_t BYTES = 1000;
static const std::align_val_t ALIGNED{64};

static void *volatile kept[256];
static unsigned made, freed, kept_count;
static size_t kept_bytes;

static void keep(void *block, size_t bytes)
{
    if (!block || kept_count == sizeof kept / sizeof *kept)
        abort();
    kept[kept_count++] = block;
    kept_bytes += bytes;
    made++;
}

static void *use(void *block)
{
    if (!block)
        abort();
    __asm__ volatile("" : "+r"(block) : : "memory");
    made++;
    freed++;
    return block;
}

NOINLINE void keep_new()
{
    for (unsigned i = 0; i < KEPT; i++)
        keep(new char[BYTES], BYTES);
}

NOINLINE void pass_new(unsigned form, size_t n)
{
    switch (form) {
    case 0: return operator delete(use(operator new(n)));
    case 1: return operator delete[](use(operator new[](n)));
    case 2: return operator delete(use(operator new(n, std::nothrow)), std::nothrow);
    case 3: return operator delete[](use(operator new[](n, std::nothrow)), std::nothrow);
    case 4: return operator delete(use(operator new(n, ALIGNED)), ALIGNED);
    case 5: return operator delete[](use(operator new[](n, ALIGNED)), ALIGNED);
    case 6: return operator delete(use(operator new(n, ALIGNED, std::nothrow)), ALIGNED, std::nothrow);
    case 7: return operator delete[](use(operator new[](n, ALIGNED, std::nothrow)), ALIGNED, std::nothrow);
    case 8: return operator delete(use(operator new(n)), n);
    case 9: return operator delete[](use(operator new[](n)), n);
    case 10: return operator delete(use(operator new(n, ALIGNED)), n, ALIGNED);
    default: return operator delete[](use(operator new[](n, ALIGNED)), n, ALIGNED);
    }
}

/* Reallocations that succeed are an allocation and a free. */
static void *again(void *block)
{
    made++;
    freed++;
    return block;
}

#define OWN __attribute__((weak)) /* NULL where the allocator has no such function */

extern "C" {
OWN void *mallocx(size_t, int), *rallocx(void *, size_t, int);
OWN size_t xallocx(void *, size_t, size_t, int);
OWN void dallocx(void *, int), sdallocx(void *, size_t, int);

OWN void *mi_malloc(size_t), *mi_zalloc(size_t), *mi_new(size_t), *mi_heap_get_default(void);
OWN void *mi_calloc(size_t, size_t), *mi_mallocn(size_t, size_t), *mi_malloc_aligned(size_t, size_t);
OWN void *mi_memalign(size_t, size_t);
OWN void *mi_new_n(size_t, size_t), *mi_realloc(void *, size_t), *mi_recalloc(void *, size_t, size_t);
OWN void *mi_expand(void *, size_t);
OWN void *mi_heap_malloc(void *, size_t), *mi_heap_calloc(void *, size_t, size_t);
OWN void *mi_heap_realloc(void *, void *, size_t);
OWN char *mi_strdup(const char *), *mi_strndup(const char *, size_t);
OWN int mi_posix_memalign(void **, size_t, size_t);
OWN void mi_free(void *), mi_free_size(void *, size_t), mi_free_aligned(void *, size_t);

OWN void *tc_malloc(size_t), *tc_malloc_skip_new_handler(size_t), *tc_new(size_t);
OWN void *tc_memalign(size_t, size_t), *tc_calloc(size_t, size_t);
OWN void *tc_realloc(void *, size_t);
OWN void tc_free(void *), tc_cfree(void *), tc_free_sized(void *, size_t), tc_delete(void *);
}

NOINLINE void keep_jemalloc()
{
    keep(mallocx(1001, 0), 1001);
    keep(rallocx(again(mallocx(10, 0)), 2003, 0), 2003);
    void *block = mallocx(500, 0);
    if (xallocx(block, 490, 0, 0) < 490) /* fits where it is */
        abort();
    keep(again(block), 490);
    block = mallocx(700, 0);
    if (xallocx(block, 1 << 20, 0, 0) >= 1 << 20) /* does not */
        abort();
    keep(block, 700);
}

NOINLINE void pass_jemalloc()
{
    dallocx(use(mallocx(77, 0)), 0);
    sdallocx(use(mallocx(78, 0)), 78, 0);
}

NOINLINE void keep_mimalloc()
{
    char text[] = "a text of 25 bytes at all";
    void *heap = mi_heap_get_default(), *to = NULL;

    keep(mi_malloc(1001), 1001);
    keep(mi_zalloc(1002), 1002);
    keep(mi_calloc(7, 11), 77);
    keep(mi_mallocn(5, 13), 65);
    keep(mi_malloc_aligned(999, 64), 999);
    keep(mi_memalign(64, 998), 998);
    keep(mi_new(31), 31);
    keep(mi_new_n(3, 11), 33);
    keep(mi_strdup(text), sizeof text);
    keep(mi_strndup(text, 9), 10);
    keep(mi_realloc(again(malloc(10)), 2003), 2003);
    keep(mi_recalloc(again(calloc(1, 5)), 7, 13), 91);
    keep(mi_heap_malloc(heap, 1003), 1003);
    keep(mi_heap_calloc(heap, 3, 17), 51);
    keep(mi_heap_realloc(heap, again(malloc(10)), 3001), 3001);
    keep(mi_expand(again(malloc(100)), 90), 90);
    if (mi_posix_memalign(&to, 64, 997))
        abort();
    keep(to, 997);
}

NOINLINE void pass_mimalloc()
{
    mi_free(use(mi_malloc(77)));
    mi_free_size(use(mi_malloc(78)), 78);
    mi_free_aligned(use(mi_malloc(79)), 16);
}

NOINLINE void keep_tcmalloc()
{
    keep(tc_malloc(1001), 1001);
    keep(tc_malloc_skip_new_handler(1002), 1002);
    keep(tc_new(1003), 1003);
    keep(tc_memalign(64, 998), 998);
    keep(tc_calloc(7, 11), 77);
    keep(tc_realloc(again(malloc(10)), 2003), 2003);
}

NOINLINE void pass_tcmalloc()
{
    tc_free(use(tc_malloc(77)));
    tc_cfree(use(tc_malloc(78)));
    tc_free_sized(use(tc_malloc(79)), 79);
    tc_delete(use(tc_new(80)));
}

NOINLINE void work()
{
    keep_new();
    for (unsigned i = 0; i < PASSED; i++)
        pass_new(i % 12, 1 + i);
    if (mallocx)
        keep_jemalloc(), pass_jemalloc();
    if (mi_malloc)
        keep_mimalloc(), pass_mimalloc();
    if (tc_malloc)
        keep_tcmalloc(), pass_tcmalloc();
}

static void wait_byte()
{
    char byte;
    if (read(0, &byte, 1) < 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    static char output[4096];
    bool waits = argc > 1 && !strcmp(argv[1], "wait");

    setvbuf(stdout, output, _IOLBF, sizeof output);
    if (waits) {
        printf("ready %d\n", (int)getpid());
        wait_byte();
    }
    work();
    printf("allocations %u frees %u leaked %u bytes %zu\n", made, freed, kept_count, kept_bytes);
    if (waits)
        wait_byte();
    _exit(0);
}
