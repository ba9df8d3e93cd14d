/*
 * The cache: processes with their mappings, and images, which processes share.
 *
 * A process may exit before anybody asks for a name. So its mappings are read and the files of the executable ones
 * opened when it is first seen; a descriptor costs little, and the file is parsed only when an address falls into it.
 * An address that no mapping has may belong to a library loaded since: the mappings are then read again, but not
 * more often than costs a twentieth of the time, because a walk along broken frame pointers yields such addresses
 * by the thousand.
 */
#include "sym/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sym/demangle.h"
#include "sym/image.h"
#include "sym/maps.h"

enum {
    REREAD_SHARE = 20,          /* at most 1/20 of the time goes into reading mappings again */
    REREAD_PAUSE = 1000 * 1000, /* and 1 ms passes in any case, in ns */
    MAX_VDSO = 1 << 20,         /* bytes; it has 8 KiB */
};

struct process {
    pid_t pid;
    struct maps maps;
    struct mapping *last;  /* where the last address was found */
    char root[PATH_MAX];   /* the process's root directory as we see it; "" where it is ours */
    int root_fd;           /* the same, or -1 */
    uint64_t next_reading; /* ns; not before then */
};

struct symbols {
    char *debug_root;
    struct process **processes; /* by ascending pid */
    size_t process_count;
    struct process *last;
    struct image **images;
    size_t image_count;
    void *texts; /* tsearch tree of strings: the modules' names */
    struct {
        unsigned char *bytes;
        size_t size;
        struct image *image;
    } vdso; /* the one last seen; a machine has one, two with 32-bit processes */
};

struct symbols *symbols_new(void)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols && !(symbols->debug_root = strdup(DEBUGFILE_ROOT))) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

int symbols_set_debug_root(struct symbols *symbols, const char *directory)
{
    char *copy = strdup(directory);
    if (!copy)
        return -ENOMEM;
    free(symbols->debug_root);
    symbols->debug_root = copy;
    return 0;
}

static void process_free(struct process *process)
{
    maps_free(&process->maps);
    if (process->root_fd >= 0)
        close(process->root_fd);
    free(process);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->process_count; i++)
        process_free(symbols->processes[i]);
    for (size_t i = 0; i < symbols->image_count; i++)
        image_free(symbols->images[i]);
    tdestroy(symbols->texts, free);
    free(symbols->processes);
    free(symbols->images);
    free(symbols->vdso.bytes);
    free(symbols->debug_root);
    free(symbols);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* TEXT made printable, as the one string with this content that lives as long as SYMBOLS; "?" without memory. */
static const char *intern(struct symbols *symbols, const char *text)
{
    char *safe = text_escape(text);
    char **found = safe ? tsearch(safe, &symbols->texts, compare_texts) : NULL;
    if (!found || *found != safe)
        free(safe);
    return found ? *found : "?";
}

/* PATH of a mapping as the process sees it: without its root and without " (deleted)". COPY has PATH_MAX bytes. */
static const char *path_inside(const struct process *process, const char *path, char *copy)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(path), root = strlen(process->root), tail = sizeof deleted - 1;
    if (path[0] != '/' || length >= PATH_MAX)
        return path;
    if (root && !strncmp(path, process->root, root) && path[root] == '/') {
        path += root;
        length -= root;
    }
    memcpy(copy, path, length + 1);
    if (length > tail && !strcmp(copy + length - tail, deleted))
        copy[length - tail] = '\0';
    return copy;
}

/* The image of FD, which it takes over; shared with every process that maps the same file. NULL without memory. */
static struct image *image_of(struct symbols *symbols, const struct process *process, int fd, const char *module)
{
    struct stat stat;
    if (fstat(fd, &stat)) {
        close(fd);
        return NULL;
    }
    for (size_t i = 0; i < symbols->image_count; i++) {
        if (image_is(symbols->images[i], &stat)) {
            close(fd);
            return symbols->images[i];
        }
    }
    struct image **images = realloc(symbols->images, (symbols->image_count + 1) * sizeof *images);
    if (!images) {
        close(fd);
        return NULL;
    }
    symbols->images = images;
    struct debugfile_search search = {.root = process->root_fd, .debug_root = symbols->debug_root, .module = module};
    struct image *image = image_new(fd, &stat, &search);
    if (image)
        symbols->images[symbols->image_count++] = image;
    return image;
}

/*
 * The file of MAPPING. map_files gives the mapped inode itself, be the path deleted, replaced or in another mount
 * namespace, but only to the privileged; a file found by path must have the inode number that maps tells.
 */
static int open_file(const struct process *process, const struct mapping *mapping, const char *inside)
{
    char name[96];
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process->pid, mapping->start,
             mapping->end);
    int fd = elffile_open_path(-1, name);
    if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || inside[0] != '/')
        return fd;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)process->pid, inside);
    fd = elffile_open_path(-1, path);
    struct stat stat;
    if (fd >= 0 && (fstat(fd, &stat) || stat.st_ino != mapping->inode)) {
        close(fd);
        fd = -ESTALE;
    }
    return fd;
}

/* The image of the vDSO: a copy of the process's, so that it is read like any other file. */
static struct image *vdso_image(struct symbols *symbols, const struct process *process, const struct mapping *mapping)
{
    uint64_t size = mapping->end - mapping->start;
    if (size > MAX_VDSO)
        return NULL;
    unsigned char *bytes = malloc((size_t)size);
    if (!bytes)
        return NULL;
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/mem", (int)process->pid);
    int mem = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = mem < 0 ? -1 : pread(mem, bytes, (size_t)size, (off_t)mapping->start);
    if (mem >= 0)
        close(mem);
    bool known =
        got == (ssize_t)size && symbols->vdso.size == size && !memcmp(symbols->vdso.bytes, bytes, (size_t)size);
    if (got != (ssize_t)size || known) {
        free(bytes);
        return known ? symbols->vdso.image : NULL;
    }
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    struct image *image = NULL;
    if (fd >= 0 && write(fd, bytes, (size_t)size) == (ssize_t)size)
        image = image_of(symbols, process, fd, "[vdso]");
    else if (fd >= 0)
        close(fd);
    free(symbols->vdso.bytes);
    symbols->vdso.bytes = bytes;
    symbols->vdso.size = (size_t)size;
    symbols->vdso.image = image;
    return image;
}

static void mapping_open(struct symbols *symbols, const struct process *process, struct mapping *mapping)
{
    char copy[PATH_MAX];
    mapping->tried = true;
    if (!mapping->path)
        return;
    if (!strcmp(mapping->path, "[vdso]")) {
        mapping->image = vdso_image(symbols, process, mapping);
        return;
    }
    if (!mapping->inode)
        return;
    const char *inside = path_inside(process, mapping->path, copy);
    int fd = open_file(process, mapping, inside);
    if (fd >= 0)
        mapping->image = image_of(symbols, process, fd, inside);
    else if (fd == -EMFILE || fd == -ENFILE)
        mapping->tried = false; /* once more when an address falls into it: parsed files free descriptors */
}

static void process_read_root(struct process *process)
{
    char name[32], root[PATH_MAX];
    struct stat theirs, ours;
    snprintf(name, sizeof name, "/proc/%d/root", (int)process->pid);
    if (process->root_fd >= 0 || stat(name, &theirs) || stat("/", &ours) ||
        (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino))
        return;
    process->root_fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ssize_t length = readlink(name, root, sizeof root - 1);
    if (length > 1) { /* "/" is the root of another mount namespace: paths in maps are relative to it already */
        root[length] = '\0';
        memcpy(process->root, root, (size_t)length + 1);
    }
}

/* Brings PROCESS's mappings up to date. 0 or -errno: then it keeps those it had. */
static int process_read(struct symbols *symbols, struct process *process)
{
    uint64_t begin = now_ns();
    struct maps maps;
    int rc = maps_read(&maps, process->pid);
    if (!rc) {
        process_read_root(process);
        rc = maps_merge(&maps, &process->maps);
        if (rc) {
            maps_free(&maps);
        } else {
            process->maps = maps;
            process->last = NULL;
            for (size_t i = 0; i < maps.count; i++)
                if (maps.items[i].executable && !maps.items[i].tried)
                    mapping_open(symbols, process, &maps.items[i]);
        }
    }
    uint64_t end = now_ns(), pause = (end - begin) * REREAD_SHARE;
    process->next_reading = end + (pause > REREAD_PAUSE ? pause : REREAD_PAUSE);
    return rc;
}

/* The process PID, created (without mappings) where it is not known; NULL without memory. */
static struct process *process_of(struct symbols *symbols, pid_t pid)
{
    if (symbols->last && symbols->last->pid == pid)
        return symbols->last;
    size_t low = 0, high = symbols->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->processes[middle]->pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < symbols->process_count && symbols->processes[low]->pid == pid)
        return symbols->last = symbols->processes[low];
    struct process **processes = realloc(symbols->processes, (symbols->process_count + 1) * sizeof *processes);
    if (!processes)
        return NULL;
    symbols->processes = processes;
    struct process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->pid = pid;
    process->root_fd = -1;
    memmove(processes + low + 1, processes + low, (symbols->process_count - low) * sizeof *processes);
    processes[low] = process;
    symbols->process_count++;
    return symbols->last = process;
}

int symbols_add_process(struct symbols *symbols, pid_t pid)
{
    struct process *process = process_of(symbols, pid);
    return process ? process_read(symbols, process) : -ENOMEM;
}

/* The mapping of ADDRESS; read again where there is none, or one that holds no code and may be out of date. */
static struct mapping *find(struct symbols *symbols, struct process *process, uint64_t address)
{
    struct mapping *mapping = process->last;
    if (mapping && address >= mapping->start && address < mapping->end)
        return mapping;
    mapping = maps_find(&process->maps, address);
    if ((!mapping || !mapping->executable) && now_ns() >= process->next_reading) {
        process_read(symbols, process);
        mapping = maps_find(&process->maps, address);
    }
    process->last = mapping && mapping->executable ? mapping : NULL;
    return mapping;
}

int symbols_lookup(struct symbols *symbols, pid_t pid, uint64_t address, struct symbol *result)
{
    *result = (struct symbol){.offset = address};
    struct process *process = process_of(symbols, pid);
    struct mapping *mapping = process ? find(symbols, process, address) : NULL;
    if (!mapping)
        return -ENOENT;
    if (!mapping->tried)
        mapping_open(symbols, process, mapping);
    if (!mapping->module) {
        char copy[PATH_MAX];
        mapping->module = mapping->path ? intern(symbols, path_inside(process, mapping->path, copy)) : "[anon]";
    }
    result->module = mapping->module;
    result->offset = address - mapping->start;
    if (mapping->inode)
        result->offset += mapping->offset;
    if (mapping->image)
        result->function = image_lookup(mapping->image, result->offset, mapping->executable, &result->offset);
    return 0;
}
