/* Finds the separate debug file of a binary. */
#include "elf/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "elf/notes.h"
#include "elf/section.h"

enum {
    MAX_LINK = PATH_MAX + 8, /* bytes of .gnu_debuglink: a file name, padding, the CRC */
    CRC_BUFFER = 1 << 16,
};
#define MAX_CRC_FILE (INT64_C(4) << 30) /* a CRC is not computed over more: it takes a second per GiB */

/* What a debug file of ELF must have. */
struct expected_file {
    const struct elf_file *elf;
    uint8_t id[BUILD_ID_MAX];
    int id_length;
    char name[MAX_LINK]; /* "": no debuglink */
    uint32_t crc;
};

static bool read_link(const struct elf_file *elf, struct expected_file *wanted)
{
    const Elf64_Shdr *section = section_find(elf, SHT_PROGBITS, ".gnu_debuglink");
    wanted->name[0] = '\0';
    if (!section || section->sh_size < 8 || section->sh_size > sizeof wanted->name)
        return false;
    size_t size = (size_t)section->sh_size;
    char link[MAX_LINK];
    if (elf_file_read(elf, section->sh_offset, link, size))
        return false;
    size_t length = strnlen(link, size), crc = (length + 4) & ~(size_t)3; /* the CRC stands at a multiple of 4 */
    if (crc + 4 > size || !length || strchr(link, '/') || !strcmp(link, ".") || !strcmp(link, ".."))
        return false;
    memcpy(wanted->name, link, length + 1);
    memcpy(&wanted->crc, link + crc, 4);
    return true;
}

/* 0 where FILE has the CRC wanted, else -ENOENT or -ENOMEM. */
static int check_crc(const struct elf_file *file, uint32_t wanted)
{
    if (file->stat.st_size > MAX_CRC_FILE)
        return -ENOENT;
    unsigned char *buffer = malloc(CRC_BUFFER);
    if (!buffer)
        return -ENOMEM;
    uLong crc = crc32(0, NULL, 0);
    uint64_t left = (uint64_t)file->stat.st_size, at = 0;
    while (left) {
        size_t size = left < CRC_BUFFER ? (size_t)left : CRC_BUFFER;
        if (elf_file_read(file, at, buffer, size))
            break;
        crc = crc32(crc, buffer, (uInt)size);
        at += size;
        left -= size;
    }
    free(buffer);
    return !left && crc == wanted ? 0 : -ENOENT;
}

/* 0 where FILE is the wanted one: equal build ids prove it; where one side has none, the debuglink's CRC has to. */
static int check(const struct elf_file *file, const struct expected_file *wanted, bool by_link)
{
    const struct stat *a = &file->stat, *b = &wanted->elf->stat;
    if (a->st_dev == b->st_dev && a->st_ino == b->st_ino) /* a debuglink to the binary itself */
        return -ENOENT;
    uint8_t id[BUILD_ID_MAX];
    int length = notes_build_id(file, id);
    if (length < 0)
        return length;
    if (length && wanted->id_length)
        return length == wanted->id_length && !memcmp(id, wanted->id, (size_t)length) ? 0 : -ENOENT;
    return by_link ? check_crc(file, wanted->crc) : -ENOENT;
}

/* A descriptor of PATH below ROOT if it is the wanted file, else -errno. */
static int try(int root, const char *path, const struct expected_file *wanted, bool by_link)
{
    int fd = elf_file_open_path(root, path);
    if (fd < 0)
        return fd;
    struct elf_file file;
    int rc = elf_file_open(&file, fd);
    if (!rc)
        rc = check(&file, wanted, by_link);
    elf_file_close(&file);
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

/* True if the file was not found where FD comes from: it may be elsewhere. */
static bool may_try(int fd)
{
    return fd < 0 && fd != -ENOMEM;
}

static int by_build_id(int root, const char *debug_root, const struct expected_file *wanted)
{
    char hex[BUILD_ID_MAX * 2 + 1], path[PATH_MAX];
    for (int i = 0; i < wanted->id_length; i++)
        snprintf(hex + 2 * i, 3, "%02x", wanted->id[i]);
    int length = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", debug_root, hex, hex + 2);
    return (size_t)length < sizeof path ? try(root, path, wanted, false) : -ENAMETOOLONG;
}

static int by_link(int root, const char *debug_root, const char *module, const struct expected_file *wanted)
{
    const char *slash = strrchr(module, '/');
    if (module[0] != '/' || !slash)
        return -ENOENT;
    int directory = (int)(slash - module);
    const struct {
        const char *before, *after;
    } places[] = {{"", "/"}, {"", "/.debug/"}, {debug_root, "/"}};
    int fd = -ENOENT;
    for (size_t i = 0; i < sizeof places / sizeof *places && may_try(fd); i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s%.*s%s%s", places[i].before, directory, module, places[i].after,
                              wanted->name);
        if ((size_t)length < sizeof path)
            fd = try(root, path, wanted, true);
    }
    return fd;
}

int debug_file_open(const struct elf_file *elf, const struct debug_file_search *search)
{
    struct expected_file wanted;
    wanted.elf = elf;
    wanted.id_length = notes_build_id(elf, wanted.id);
    int fd = wanted.id_length < 0 ? wanted.id_length : -ENOENT;
    if (wanted.id_length > 0) {
        if (search->root >= 0)
            fd = by_build_id(search->root, DEBUG_FILE_ROOT, &wanted);
        if (may_try(fd))
            fd = by_build_id(-1, search->debug_root, &wanted);
    }
    if (may_try(fd) && read_link(elf, &wanted)) {
        if (search->root >= 0)
            fd = by_link(search->root, DEBUG_FILE_ROOT, search->module, &wanted);
        else
            fd = by_link(-1, search->debug_root, search->module, &wanted);
    }
    return fd;
}

/* Opens PATH, or the file of its name in the folder for such files, below ROOT. */
static int open_common(int root, const char *debug_root, const char *path, const struct expected_file *wanted)
{
    char other[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int fd = by_build_id(root, debug_root, wanted);
    if (may_try(fd) && path[0] == '/')
        fd = try(root, path, wanted, false);
    int length = snprintf(other, sizeof other, "%s/.dwz/%s", debug_root, slash ? slash + 1 : path);
    if (may_try(fd) && (size_t)length < sizeof other)
        fd = try(root, other, wanted, false);
    return fd;
}

int debug_file_open_common(const struct elf_file *elf, const struct debug_file_search *search)
{
    const Elf64_Shdr *section = section_find(elf, SHT_PROGBITS, ".gnu_debugaltlink");
    char link[PATH_MAX + BUILD_ID_MAX];
    if (!section || section->sh_size > sizeof link)
        return -ENOENT;
    size_t size = (size_t)section->sh_size;
    int fd = elf_file_read(elf, section->sh_offset, link, size);
    if (fd)
        return fd;
    size_t length = strnlen(link, size); /* the path, then the build id */
    struct expected_file wanted = {.elf = elf};
    if (!length || length + 1 >= size || size - length - 1 > sizeof wanted.id)
        return -ENOENT;
    wanted.id_length = (int)(size - length - 1);
    memcpy(wanted.id, link + length + 1, size - length - 1);
    fd = -ENOENT;
    if (search->root >= 0)
        fd = open_common(search->root, DEBUG_FILE_ROOT, link, &wanted);
    if (may_try(fd))
        fd = open_common(-1, search->debug_root, link, &wanted);
    return fd;
}
