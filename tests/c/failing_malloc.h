/* Allocations of the whole program, some libraries apart, which the test counts and lets fail. */
#pragma once

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Allocations since allocations_fail, the first one that fails (0: none does), and whether all behind it do, too. */
static size_t allocations, failing;
static bool failing_on;
/* Blocks and bytes: not counted right under the sanitizers, which look for leaks themselves. */
static long live, live_bytes;

#ifdef __SANITIZE_ADDRESS__
#define REAL(name) __interceptor_##name
static const bool counts_live = false;
#else
#define REAL(name) __libc_##name
static const bool counts_live = true;
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *block, size_t size);
void REAL(free)(void *block);

/* Where the code of libraries lies that cannot go on where memory is exhausted: libelf, and with it libbpf's linker. */
static struct range {
    uintptr_t begin, end;
} spared[8];
static size_t spared_count;

static int spare(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    bool is_spared = strstr(info->dlpi_name, "/libelf") || strstr(info->dlpi_name, "/libbpf") ||
                     strstr(info->dlpi_name, "/libdw") || strstr(info->dlpi_name, "/liblzma");
    for (size_t i = 0; is_spared && i < info->dlpi_phnum && spared_count < sizeof spared / sizeof *spared; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            spared[spared_count++] = (struct range){begin, begin + segment->p_memsz};
    }
    return 0;
}

static bool fails(const void *caller)
{
    if (!failing)
        return false;
    for (size_t i = 0; i < spared_count; i++)
        if ((uintptr_t)caller >= spared[i].begin && (uintptr_t)caller < spared[i].end)
            return false;
    allocations++;
    if (failing_on ? allocations < failing : allocations != failing)
        return false;
    errno = ENOMEM;
    return true;
}

static void *count_block(void *block, int sign)
{
    if (counts_live && block) {
        live += sign;
        live_bytes += sign * (long)malloc_usable_size(block);
    }
    return block;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_block(REAL(malloc)(size), 1);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : count_block(REAL(calloc)(count, size), 1);
}

void *realloc(void *block, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    count_block(block, -1);
    void *larger = REAL(realloc)(block, size);
    count_block(larger ? larger : block, 1);
    return larger;
}

void free(void *block)
{
    count_block(block, -1);
    REAL(free)(block);
}

/* From now on allocation FIRST fails, counted from 1, and, if ON, all behind it; 0: none does. */
static inline void allocations_fail(size_t first, bool on)
{
    if (!spared_count)
        dl_iterate_phdr(spare, NULL);
    allocations = 0;
    failing = first;
    failing_on = on;
}
