/* Parses perf maps, /tmp/perf-PID.map. */
#include "sym/perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "sym/demangle.h"
#include "sym/reading.h"
#include "sym/spans.h"
#include "sys/clock.h"

enum {
    MAX_TEXT = 1 << 28, /* bytes that are read; a large Java process writes 10 MB */
    MAX_LINES = 1 << 22,
    MAX_CODE = 1 << 30, /* bytes of one piece of code */
    /* ns; files have the time of the last tick, of which there are 100 a second at least */
    CLOCK_STEP = 20 * 1000 * 1000,
    LOOK_PAUSE = 10 * 1000 * 1000, /* ns between two looks at all processes */
};

struct perfmap {
    /* The file, which stays open, as it may be removed before it is read. fd -1: there is none yet. Only fd and stat.
     */
    struct elf_file file;
    uint64_t next_look, pause; /* ns; no file was found, and when to look for one again */
    char *text;
    size_t size;
    struct stat stat;       /* of the file when it was read */
    struct interval *items; /* in the file's order; the owner is the place of the name in the text */
    size_t count;
    struct spans spans; /* of items */
    uint64_t next_reading;
    bool changed; /* and perfmap_refresh has not told */
    char *name;   /* the one handed out last */
};

void perfmap_free(struct perfmap *perfmap)
{
    if (!perfmap)
        return;
    if (perfmap->file.fd >= 0)
        close(perfmap->file.fd);
    free(perfmap->text);
    free(perfmap->items);
    spans_free(&perfmap->spans);
    free(perfmap->name);
    free(perfmap);
}

/* The line at AT up to END in *ITEM, and where its name begins in *NAME: false if it is of another form. */
static bool parse(char *at, char *end, struct interval *item, char **name)
{
    char *rest;
    *end = '\0';
    errno = 0;
    item->start = strtoull(at, &rest, 16);
    if (rest == at || *rest != ' ')
        return false;
    uint64_t size = strtoull(rest, &at, 16);
    if (at == rest || *at != ' ' || errno || !size || size > MAX_CODE ||
        __builtin_add_overflow(item->start, size, &item->end))
        return false;
    *name = at + strspn(at, " ");
    return **name;
}

static void parse_all(struct perfmap *perfmap)
{
    size_t lines = 0;
    char *text = perfmap->text, *last = text + perfmap->size;
    for (char *at = text; lines < MAX_LINES && (at = memchr(at, '\n', (size_t)(last - at))); at++)
        lines++;
    free(perfmap->items);
    perfmap->count = 0;
    perfmap->items = malloc((lines + 1) * sizeof *perfmap->items);
    /* What is not ended by a newline is still being written. */
    for (char *at = text, *end;
         perfmap->items && perfmap->count < lines && (end = memchr(at, '\n', (size_t)(last - at))); at = end + 1) {
        struct interval *item = &perfmap->items[perfmap->count];
        char *name;
        if (!parse(at, end, item, &name))
            continue;
        item->owner = (uint32_t)(name - text);
        perfmap->count++;
    }
    spans_free(&perfmap->spans);
    if (perfmap->items)
        spans_build_latest(&perfmap->spans, perfmap->items, perfmap->count);
}

static bool is_trusted(const struct process *process, const struct stat *stat)
{
    return (stat->st_uid == process->uid || stat->st_uid == 0) && stat->st_mtim.tv_sec >= process->started &&
           stat->st_size <= MAX_TEXT;
}

/* Opens the file that PROCESS has under the name now, unless that is open. */
static void open_file(const struct process *process)
{
    struct elf_file *file = &process->perfmap->file;
    struct stat stat;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)process->inner_pid);
    int fd = elf_file_open_path(process->root ? process->root->fd : -1, path);
    if (fd < 0)
        return;
    bool open = file->fd >= 0;
    if (fstat(fd, &stat) || !is_trusted(process, &stat) ||
        (open && stat.st_ino == file->stat.st_ino && stat.st_dev == file->stat.st_dev)) {
        close(fd);
        return;
    }
    if (open)
        close(file->fd);
    *file = (struct elf_file){.fd = fd, .stat = stat};
}

/* Opens the file, if there is one now, or finds the one that is open; false where there is none that may be trusted. */
static bool find_file(const struct process *process)
{
    struct elf_file *file = &process->perfmap->file;
    open_file(process);
    return file->fd >= 0 && !fstat(file->fd, &file->stat) && is_trusted(process, &file->stat) && file->stat.st_size > 0;
}

static char *read_text(const struct elf_file *file)
{
    size_t size = (size_t)file->stat.st_size;
    char *text = malloc(size + 1);
    if (text && elf_file_read(file, 0, text, size)) {
        free(text);
        text = NULL;
    }
    return text;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_recent(const struct timespec *time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - time->tv_sec) * INT64_C(1000000000) + now.tv_nsec - time->tv_nsec < CLOCK_STEP;
}

/* Takes over what the file of PROCESS has, if it has changed, unless it was looked at a moment ago. */
static void read_again(const struct process *process)
{
    struct perfmap *perfmap = process->perfmap;
    const struct elf_file *file = &perfmap->file;
    uint64_t start = clock_now();
    if (start < perfmap->next_reading)
        return;
    if (find_file(process)) {
        char *text = same_file(&file->stat, &perfmap->stat) ? NULL : read_text(file);
        if (text) {
            perfmap->changed = true;
            free(perfmap->text);
            perfmap->text = text;
            perfmap->size = (size_t)file->stat.st_size;
            perfmap->stat = file->stat;
            if (is_recent(&file->stat.st_mtim)) /* what is written next may leave its time as it is */
                perfmap->stat.st_ino = 0;
            parse_all(perfmap);
        }
    }
    perfmap->next_reading = next_reading(start);
}

/* The names of PROCESS, one of PROCESSES, made if there are none; NULL where nothing is known of it, or no memory. */
static struct perfmap *perfmap_of(struct processes *processes, struct process *process)
{
    if (!process->inner_pid)
        processes_read_identity(processes, process);
    if (!process->inner_pid)
        return NULL;
    if (!process->perfmap && (process->perfmap = calloc(1, sizeof *process->perfmap)))
        process->perfmap->file.fd = -1;
    return process->perfmap;
}

/* Opens the file of PROCESS, if there is one by now. True if it is open. */
static bool keep_file(struct processes *processes, struct process *process)
{
    enum {
        FIRST_PAUSE = 10 * 1000 * 1000,
        LAST_PAUSE = 640 * 1000 * 1000
    }; /* most that make code write no such file */
    struct perfmap *perfmap = perfmap_of(processes, process);
    uint64_t now = clock_now();
    if (!perfmap || perfmap->file.fd >= 0 || now < perfmap->next_look)
        return perfmap && perfmap->file.fd >= 0;
    open_file(process);
    perfmap->pause = !perfmap->pause ? FIRST_PAUSE : perfmap->pause < LAST_PAUSE ? perfmap->pause * 2 : LAST_PAUSE;
    perfmap->next_look = now + perfmap->pause;
    return perfmap->file.fd >= 0;
}

bool perfmap_keep(struct processes *processes)
{
    bool all = true;
    if (!processes->any_makes_code)
        return false;
    if (clock_now() < processes->next_keeping)
        return true;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->items[i]->makes_code && !processes->items[i]->exited)
            all &= keep_file(processes, processes->items[i]);
    processes->next_keeping = clock_now() + LOOK_PAUSE;
    return !all;
}

void perfmap_forget(struct process *process)
{
    process->makes_code = false;
    perfmap_free(process->perfmap);
    process->perfmap = NULL;
}

void perfmap_settle(struct process *process)
{
    struct perfmap *perfmap = process->perfmap;
    if (!perfmap || perfmap->file.fd < 0)
        return;
    if (!fstat(perfmap->file.fd, &perfmap->file.stat) && !perfmap->file.stat.st_nlink) {
        perfmap->next_reading = 0;
        read_again(process);
    }
    if (perfmap->file.fd >= 0)
        close(perfmap->file.fd);
    perfmap->file.fd = -1;
}

bool perfmap_may_name(const struct mapping *mapping)
{
    return mapping->executable && (!mapping->inode || (mapping->path && !strncmp(mapping->path, "/memfd:", 7)));
}

void perfmap_note(struct processes *processes, struct process *process, const struct mapping *mapping)
{
    /* Others that no file has are the kernel's, such as [vdso]. */
    bool own = !mapping->path || mapping->path[0] != '[' || !strncmp(mapping->path, "[anon", 5);
    if (own && perfmap_may_name(mapping))
        processes->any_makes_code = process->makes_code = true;
}

size_t perfmap_bytes(const struct perfmap *perfmap)
{
    if (!perfmap)
        return 0;
    return sizeof *perfmap + perfmap->size + perfmap->count * sizeof *perfmap->items +
           perfmap->spans.count * (sizeof *perfmap->spans.starts + sizeof *perfmap->spans.owners);
}

bool perfmap_refresh(struct processes *processes)
{
    bool changed = false;
    if (clock_now() < processes->next_refreshing)
        return false;
    for (size_t i = 0; i < processes->count; i++) {
        struct process *process = processes->items[i];
        if (!process->perfmap || process->exited)
            continue;
        read_again(process);
        changed |= process->perfmap->changed;
        process->perfmap->changed = false;
    }
    processes->next_refreshing = clock_now() + LOOK_PAUSE;
    return changed;
}

const char *perfmap_lookup(struct processes *processes, struct process *process, uint64_t address, uint64_t *offset)
{
    struct perfmap *perfmap = perfmap_of(processes, process);
    if (!perfmap)
        return NULL;
    uint32_t at = spans_find(&perfmap->spans, address);
    if (at == SPANS_NOBODY) {
        read_again(process);
        at = spans_find(&perfmap->spans, address);
    }
    if (at == SPANS_NOBODY)
        return NULL;
    const struct interval *item = &perfmap->items[at];
    free(perfmap->name);
    perfmap->name = text_escape(perfmap->text + item->owner);
    *offset = address - item->start;
    return perfmap->name;
}
