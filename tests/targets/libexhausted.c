/*
 * Memory that runs out, for LD_PRELOAD: of the allocations that the executable's own code asks for, the one that
 * $FAILING_ALLOCATION counts fails, from 1; 0: none does, and standard error is told at the end how many there were.
 * What libraries allocate for themselves is spared: some, libelf and libbpf among them, crash where memory is
 * exhausted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static uintptr_t begin, end;
static unsigned long allocations, failing;
static bool tells;

/* The executable is the first of them. */
static int find_code(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            begin = info->dlpi_addr + segment->p_vaddr;
            end = begin + segment->p_memsz;
        }
    }
    return 1;
}

/* What it executes runs with all the memory that there is. */
__attribute__((constructor)) static void start(void)
{
    const char *text = getenv("FAILING_ALLOCATION");
    if (!text)
        return;
    failing = strtoul(text, NULL, 10);
    tells = !failing;
    unsetenv("FAILING_ALLOCATION");
    unsetenv("LD_PRELOAD");
    dl_iterate_phdr(find_code, NULL);
}

__attribute__((destructor)) static void finish(void)
{
    if (tells)
        fprintf(stderr, "%lu allocations\n", allocations);
}

static bool fails(const void *caller)
{
    if ((uintptr_t)caller < begin || (uintptr_t)caller >= end ||
        __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) != failing)
        return false;
    errno = ENOMEM;
    return true;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return FAILS ? NULL : __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return FAILS ? NULL : __libc_realloc(block, bytes);
}

static char *copy(const char *text, size_t length)
{
    char *bytes = __libc_malloc(length + 1);
    if (bytes)
        *(char *)mempcpy(bytes, text, length) = '\0';
    return bytes;
}

char *strdup(const char *text)
{
    return FAILS ? NULL : copy(text, strlen(text));
}

char *strndup(const char *text, size_t size)
{
    return FAILS ? NULL : copy(text, strnlen(text, size));
}

int asprintf(char **text, const char *format, ...)
{
    if (FAILS)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}
