/* Reads /etc/ld.so.cache, the index from library names to paths. */
#include "probe/module/ld_so_cache.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/elf_file.h"
#include "probe/module/module.h"

/* sysdeps/generic/dl-cache.h of glibc: struct cache_file_new and struct file_entry_new. */
static const char magic_new[] = "glibc-ld.so.cache1.1"; /* 20 bytes without the NUL */
static const char magic_old[] = "ld.so-1.7.0";          /* an older cache may stand before the new one */

struct ld_so_header {
    char magic[20];
    uint32_t count;
    uint32_t strings_length;
    uint32_t flags[5]; /* byte order, offset of the extensions, and what is unused */
};

struct ld_so_entry {
    int32_t flags;
    uint32_t name, path; /* offsets from the header */
    uint32_t os_version;
    uint64_t hwcap;
};

struct old_header {
    char magic[12];
    uint32_t count;
};

enum {
    MAX_CACHE = 16 << 20, /* a desktop's is 200 KB */
    OLD_ENTRY_SIZE = 12,
    FLAG_X86_64 = 0x0303,
    FLAG_AARCH64 = 0x0a03,
};

/* The cache's SIZE bytes; NULL where there is none, with errno ENOMEM where there is no memory for them. */
static char *read_cache(const char *root, size_t *size)
{
    char *inside = path_resolve(root, "/etc/ld.so.cache"), path[PATH_MAX + 64], *bytes = NULL;
    struct stat st;
    int fd = -1;
    errno = inside ? 0 : errno;
    if (inside && (size_t)snprintf(path, sizeof path, "%s%s", root, inside) < sizeof path)
        fd = elf_file_open_path(-1, path);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= MAX_CACHE &&
        (bytes = malloc((size_t)st.st_size + 1))) {
        ssize_t n = pread(fd, bytes, (size_t)st.st_size, 0);
        *size = n > 0 ? (size_t)n : 0;
        bytes[*size] = '\0'; /* so that every string that starts inside ends */
    }
    if (fd >= 0)
        close(fd);
    free(inside);
    return bytes;
}

/* Offset of the new format's header in the cache, or -1. */
static ptrdiff_t find_header(const char *bytes, size_t size)
{
    struct old_header old;
    size_t at = 0;
    if (size >= sizeof old && memcmp(bytes, magic_old, sizeof magic_old - 1) == 0) {
        memcpy(&old, bytes, sizeof old);
        at = (sizeof old + (size_t)old.count * OLD_ENTRY_SIZE + 7) & ~(size_t)7;
    }
    if (at > size || size - at < sizeof(struct ld_so_header) ||
        memcmp(bytes + at, magic_new, sizeof magic_new - 1) != 0)
        return -1;
    return (ptrdiff_t)at;
}

int ld_so_cache_each(const char *root, ld_so_cache_visit *visit, void *context)
{
    size_t size = 0;
    char *bytes = read_cache(root, &size);
    ptrdiff_t start = bytes ? find_header(bytes, size) : -1;
    int result = !bytes && errno == ENOMEM ? -ENOMEM : 0;
    if (start >= 0) {
        const char *cache = bytes + start;
        struct ld_so_header header;
        size -= (size_t)start;
        memcpy(&header, cache, sizeof header);
        size_t count = (size - sizeof header) / sizeof(struct ld_so_entry);
        int32_t wanted = arch_cpu.elf_machine == EM_X86_64 ? FLAG_X86_64 : FLAG_AARCH64;
        for (size_t i = 0; i < header.count && i < count && !result; i++) {
            struct ld_so_entry entry;
            memcpy(&entry, cache + sizeof header + i * sizeof entry, sizeof entry);
            /* Entries of glibc-hwcaps folders are found in those folders instead. */
            if (entry.flags == wanted && entry.hwcap == 0 && entry.name < size && entry.path < size)
                result = visit(cache + entry.name, cache + entry.path, context);
        }
    }
    free(bytes);
    return result;
}
