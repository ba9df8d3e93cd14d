/* The memory of another process. */
#include "sys/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "sys/clock.h"

enum { PAGE = 4096, MAX_REGIONS = 1 << 20 };

/* How much is looked through at a time: the kernel holds the lock of the process's mappings meanwhile. */
#define SCAN_AT_ONCE (1ull << 30)

/* struct pm_scan_arg and its categories, as in include/uapi/linux/fs.h of Linux 6.7. */
struct pagemap_scan {
    uint64_t size, flags, start, end, walk_end, ranges, room, max_pages;
    uint64_t inverted, mask, any_of, returned;
};
struct pagemap_range {
    uint64_t start, end, categories;
};
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct pagemap_scan)
enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_SWAPPED = 1 << 4, IS_ZERO = 1 << 5 };

/* --- opening --- */

static int open_file(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int process_memory_open(struct process_memory *memory, pid_t pid, struct error *err)
{
    *memory = (struct process_memory){.pid = pid, .memory = -1, .pages = -1, .file = -1, .scans = true};
    memory->memory = open_file(pid, "mem");
    memory->pages = memory->memory < 0 ? memory->memory : open_file(pid, "pagemap");
    int code = memory->pages < 0 ? memory->pages : 0;
    struct region *regions = NULL;
    size_t count = 0;
    if (!code)
        code = process_memory_regions(memory, &regions, &count);
    for (size_t i = 0; i < count && !memory->known; i++)
        if (regions[i].readable && !regions[i].device && !regions[i].watched)
            memory->known = regions[i].start;
    free(regions);
    if (!code)
        return 0;
    process_memory_close(memory);
    bool denied = code == -EACCES || code == -EPERM;
    return error_set(err, code, "the memory of process %d cannot be read: %s%s", (int)pid, error_reason(code),
                     denied ? " (CAP_SYS_PTRACE is needed)" : "");
}

bool process_memory_is_late(const struct process_memory *memory)
{
    return memory->until && clock_now() > memory->until;
}

static void close_shared(struct process_memory *memory)
{
    if (memory->file >= 0)
        close(memory->file);
    memory->file = -1;
}

void process_memory_close(struct process_memory *memory)
{
    close_shared(memory);
    if (memory->memory >= 0)
        close(memory->memory);
    if (memory->pages >= 0)
        close(memory->pages);
    memory->memory = memory->pages = -1;
}

bool process_memory_is_same(const struct process_memory *memory)
{
    char byte;
    /* Where the memory has gone with its program, nothing is read; where only this page has gone, it is an error. */
    return pread(memory->memory, &byte, 1, (off_t)memory->known) != 0;
}

/* --- regions --- */

/* "7f12c000-7f12d000 rw-p 00001000 fd:00 1234   /usr/lib/x.so" */
static bool parse_head(const char *line, const struct region *before, struct region *region)
{
    char mode[5];
    unsigned major, minor;
    uint64_t inode;
    *region = (struct region){0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &region->start, &region->end, mode,
               &region->offset, &major, &minor, &inode) != 7)
        return false;
    region->readable = mode[0] == 'r';
    region->writable = mode[1] == 'w';
    region->shared = mode[3] == 's';
    region->main_stack = strstr(line, "[stack]");
    region->heap = strstr(line, "[heap]");
    /* A program's zeroed variables are anonymous memory right behind its file. */
    bool named = strchr(line, '[') || strchr(line, '/');
    region->in_file = inode || (!named && before && before->in_file && before->end == region->start && !before->shared);
    return region->start < region->end;
}

static void parse_line(const char *line, struct region *region)
{
    /* None of these counts what another one does: huge pages that were set aside are not in Rss. */
    static const char *const resident[] = {"Rss:", "Swap:", "Private_Hugetlb:", "Shared_Hugetlb:"};
    for (size_t i = 0; i < sizeof resident / sizeof *resident; i++)
        if (!strncmp(line, resident[i], strlen(resident[i])))
            region->resident += strtoull(line + strlen(resident[i]), NULL, 10) << 10;
    if (strncmp(line, "VmFlags:", 8))
        return;
    region->device = strstr(line, " io") || strstr(line, " pf");
    region->watched = strstr(line, " um") || strstr(line, " uw") || strstr(line, " ui");
}

static int parse_regions(const struct process_memory *memory, FILE *file, struct region **regions, size_t *count)
{
    size_t capacity = 0, line_size = 0;
    char *line = NULL;
    int code = 0;
    while (!code && getline(&line, &line_size, file) > 0) {
        struct region region;
        bool head = (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
        if (!head) {
            if (*count)
                parse_line(line, &(*regions)[*count - 1]);
        } else if (process_memory_is_late(memory)) {
            code = -ETIMEDOUT;
        } else if (*count >= MAX_REGIONS || !array_room(regions, *count, &capacity, sizeof **regions)) {
            code = -ENOMEM;
        } else if (parse_head(line, *count ? &(*regions)[*count - 1] : NULL, &region)) {
            (*regions)[(*count)++] = region;
        }
    }
    free(line);
    return code;
}

int process_memory_regions(struct process_memory *memory, struct region **regions, size_t *count)
{
    *regions = NULL;
    *count = 0;
    int fd = open_file(memory->pid, "smaps");
    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return -ENOMEM;
    }
    setvbuf(file, NULL, _IOFBF, 1 << 18); /* fewer calls, between which the list may change */
    int code = parse_regions(memory, file, regions, count);
    fclose(file);
    if (!code && !*count)
        code = -ESRCH;
    if (code) {
        free(*regions);
        *regions = NULL;
        *count = 0;
    }
    return code;
}

/* --- pages --- */

/* Appends the pages from START to END; false: there is no room. */
static bool append(struct page_range *ranges, size_t room, size_t *count, uint64_t start, uint64_t end)
{
    if (*count && ranges[*count - 1].end == start) {
        ranges[*count - 1].end = end;
        return true;
    }
    if (*count == room)
        return false;
    ranges[(*count)++] = (struct page_range){start, end};
    return true;
}

static int scan_pagemap(struct process_memory *memory, const struct region *region, uint64_t from, uint64_t to,
                        struct page_range *ranges, size_t room, uint64_t *reached)
{
    struct pagemap_range found[256];
    uint64_t none_of = IS_ZERO | (region->shared ? 0 : IS_FILE);
    struct pagemap_scan scan = {
        .size = sizeof scan,
        .start = from,
        .end = to,
        .ranges = (uintptr_t)found,
        .room = room < 256 ? room : 256,
        .inverted = none_of,
        .mask = none_of,
        .any_of = IS_PRESENT | IS_SWAPPED,
        .returned = IS_PRESENT,
    };
    int n = ioctl(memory->pages, PAGEMAP_SCAN_CALL, &scan);
    if (n < 0)
        return -errno;
    size_t count = 0;
    for (int i = 0; i < n; i++)
        append(ranges, room, &count, found[i].start, found[i].end);
    *reached = scan.walk_end > from ? scan.walk_end : to;
    return (int)count;
}

/* The same where the kernel has only the words of pagemap (Documentation/admin-guide/mm/pagemap.rst). */
static int read_pagemap(struct process_memory *memory, const struct region *region, uint64_t from, uint64_t to,
                        struct page_range *ranges, size_t room, uint64_t *reached)
{
    const uint64_t there = 3ull << 62, of_file = 1ull << 61;
    uint64_t words[2048];
    size_t wanted = (to - from) / PAGE, count = 0;
    if (wanted > sizeof words / sizeof *words)
        wanted = sizeof words / sizeof *words;
    ssize_t size = pread(memory->pages, words, wanted * sizeof *words, (off_t)(from / PAGE * sizeof *words));
    if (size < 0)
        return -errno;
    size_t got = (size_t)size / sizeof *words;
    *reached = got ? from + got * PAGE : to;
    for (size_t i = 0; i < got; i++) {
        bool wants = (words[i] & there) && (region->shared || !(words[i] & of_file));
        if (wants && !append(ranges, room, &count, from + i * PAGE, from + (i + 1) * PAGE)) {
            *reached = from + i * PAGE;
            break;
        }
    }
    return (int)count;
}

/* The file of the shared REGION, or -1: the kernel does not give it, as for those that are no files. */
static int shared_file(struct process_memory *memory, const struct region *region)
{
    if (memory->file >= 0 && memory->file_start == region->start)
        return memory->file;
    close_shared(memory);
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)memory->pid, region->start,
             region->end);
    struct stat stat_of; /* a device may do something when it is opened */
    if (!stat(path, &stat_of) && S_ISREG(stat_of.st_mode))
        memory->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    memory->file_start = region->start;
    return memory->file;
}

/* What the file of the shared REGION has; -ENXIO where the file cannot tell. */
static int shared_pages(struct process_memory *memory, const struct region *region, uint64_t from,
                        struct page_range *ranges, size_t room, uint64_t *reached)
{
    int fd = shared_file(memory, region);
    size_t count = 0;
    while (fd >= 0 && from < region->end) {
        off_t data = lseek(fd, (off_t)(from - region->start + region->offset), SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            return -ENXIO;
        uint64_t start = data < 0 ? region->end : (uint64_t)data - region->offset + region->start;
        if (start >= region->end) {
            from = region->end;
            break;
        }
        off_t hole = lseek(fd, data, SEEK_HOLE);
        uint64_t end = hole <= data ? region->end : (uint64_t)hole - region->offset + region->start;
        end = end > region->end ? region->end : end;
        if (!append(ranges, room, &count, start & ~7ull, end))
            break;
        from = end;
    }
    *reached = from;
    return fd < 0 ? -ENXIO : (int)count;
}

int process_memory_pages(struct process_memory *memory, const struct region *region, uint64_t from,
                         struct page_range *ranges, size_t room, uint64_t *reached)
{
    if (region->shared) {
        int found = shared_pages(memory, region, from, ranges, room, reached);
        if (found != -ENXIO)
            return found;
        close_shared(memory);
    }
    uint64_t to = region->end - from > SCAN_AT_ONCE ? from + SCAN_AT_ONCE : region->end;
    int found = memory->scans ? scan_pagemap(memory, region, from, to, ranges, room, reached) : -ENOTTY;
    if (found != -ENOTTY)
        return found;
    memory->scans = false;
    return read_pagemap(memory, region, from, to, ranges, room, reached);
}

/* --- contents --- */

ssize_t process_memory_read(struct process_memory *memory, const struct region *region, uint64_t address, void *buffer,
                            size_t size)
{
    ssize_t done;
    if (region && region->shared && memory->file >= 0 && memory->file_start == region->start)
        done = pread(memory->file, buffer, size, (off_t)(address - region->start + region->offset));
    else if (region && !region->readable) /* which its owner has put aside; the kernel may read it all the same */
        done = pread(memory->memory, buffer, size, (off_t)address);
    else
        done = process_vm_readv(memory->pid, &(struct iovec){buffer, size}, 1,
                                &(struct iovec){(void *)(uintptr_t)address, size}, 1, 0);
    return done < 0 ? -errno : done;
}
