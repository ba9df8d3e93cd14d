/* The processes that the symbol cache knows, those that have exited included. */
#include "sym/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "sym/perfmap.h"
#include "sys/procstat.h"

enum {
    MAX_KEPT = 8 << 20, /* bytes, of processes that have exited and of programs that others have replaced */
    MAX_ROOTS = 256,    /* descriptors */
    MAX_EARLIER = 64,   /* programs of one process */
};

static void process_free(struct process *process)
{
    maps_free(&process->maps);
    for (size_t i = 0; i < process->earlier_count; i++)
        maps_free(&process->earlier[i].maps);
    free(process->earlier);
    perfmap_free(process->perfmap);
    free(process);
}

void processes_free(struct processes *processes)
{
    for (size_t i = 0; i < processes->count; i++)
        process_free(processes->items[i]);
    for (size_t i = 0; i < processes->root_count; i++) {
        close(processes->roots[i]->fd);
        free(processes->roots[i]->path);
        free(processes->roots[i]);
    }
    free(processes->items);
    free(processes->roots);
}

/* The index of the first process that is not below PID. */
static size_t position(const struct processes *processes, pid_t pid)
{
    size_t low = 0, high = processes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (processes->items[middle]->pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct process *processes_find(struct processes *processes, pid_t pid)
{
    if (processes->last && processes->last->pid == pid)
        return processes->last;
    size_t at = position(processes, pid);
    if (at == processes->count || processes->items[at]->pid != pid)
        return NULL;
    return processes->last = processes->items[at];
}

struct process *processes_get(struct processes *processes, pid_t pid)
{
    struct process *process = processes_find(processes, pid);
    if (process)
        return process;
    struct process **items = realloc(processes->items, (processes->count + 1) * sizeof *items);
    if (!items)
        return NULL;
    processes->items = items;
    process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->pid = pid;
    size_t at = position(processes, pid);
    memmove(items + at + 1, items + at, (processes->count - at) * sizeof *items);
    items[at] = process;
    processes->count++;
    return processes->last = process;
}

/* To be called when what is kept of PROCESS has changed. */
static void account(struct processes *processes, struct process *process)
{
    size_t bytes = 0;
    for (size_t i = 0; i < process->earlier_count; i++)
        bytes += sizeof *process->earlier + maps_bytes(&process->earlier[i].maps);
    if (process->exited && !process->kept)
        bytes += sizeof *process + maps_bytes(&process->maps) + perfmap_bytes(process->perfmap);
    processes->kept_bytes += bytes - process->bytes;
    process->bytes = bytes;
}

/* Forgets about the oldest quarter of those that have exited. */
static void forget_exited(struct processes *processes)
{
    uint64_t first = processes->exits;
    for (size_t i = 0; i < processes->count; i++) {
        const struct process *process = processes->items[i];
        if (process->exited && !process->kept && process->exit_number < first)
            first = process->exit_number;
    }
    uint64_t end = first + (processes->exits - first) / 4 + 1;
    size_t count = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct process *process = processes->items[i];
        if (process->exited && !process->kept && process->exit_number < end) {
            processes->kept_bytes -= process->bytes;
            processes->exited_count--;
            process_free(process);
        } else {
            processes->items[count++] = process;
        }
    }
    processes->count = count;
    processes->last = NULL;
}

static void forget_earliest(struct process *process)
{
    process->forgotten = process->earlier[0].ended;
    maps_free(&process->earlier[0].maps);
    process->earlier_count--;
    memmove(process->earlier, process->earlier + 1, process->earlier_count * sizeof *process->earlier);
}

void processes_forget_old(struct processes *processes)
{
    if (processes->kept_bytes <= MAX_KEPT)
        return;
    while (processes->exited_count && processes->kept_bytes > MAX_KEPT / 4 * 3)
        forget_exited(processes);
    for (size_t i = 0; i < processes->count && processes->kept_bytes > MAX_KEPT / 4 * 3; i++) {
        while (processes->items[i]->earlier_count > 1)
            forget_earliest(processes->items[i]);
        account(processes, processes->items[i]);
    }
}

void processes_exit(struct processes *processes, struct process *process, uint64_t time)
{
    if (process->exited)
        return;
    process->exited = true;
    process->exit_time = time;
    process->exit_number = processes->exits++;
    processes->exited_count += !process->kept;
    account(processes, process);
}

void processes_revive(struct processes *processes, struct process *process)
{
    if (!process->exited)
        return;
    process->exited = false;
    process->inner_pid = 0;
    perfmap_forget(process);
    processes->exited_count -= !process->kept;
    processes_execute(processes, process, process->exit_time);
}

/* What PROCESS maps is an earlier program's, which ended at TIME. */
static int set_aside(struct process *process, uint64_t time)
{
    struct maps maps = process->maps;
    process->maps = (struct maps){0};
    if (process->earlier_count == MAX_EARLIER)
        forget_earliest(process);
    struct earlier *earlier = array_add(&process->earlier, &process->earlier_count, sizeof *earlier);
    if (!earlier) {
        process->forgotten = time;
        maps_free(&maps);
        return -ENOMEM;
    }
    *earlier = (struct earlier){.ended = time, .maps = maps, .root = process->root};
    return 0;
}

int processes_execute(struct processes *processes, struct process *process, uint64_t time)
{
    process->programs++;
    process->last = NULL;
    int rc = process->maps.count ? set_aside(process, time) : 0;
    account(processes, process);
    return rc;
}

struct maps *processes_maps(struct process *process, uint64_t program, const struct root **root)
{
    *root = process->root;
    if (!program)
        return &process->maps;
    if (program < process->forgotten)
        return NULL;
    for (size_t i = 0; i < process->earlier_count; i++)
        if (program < process->earlier[i].ended) {
            *root = process->earlier[i].root;
            return &process->earlier[i].maps;
        }
    return &process->maps;
}

const char *processes_path(const struct root *root, const struct mapping *mapping, char *copy)
{
    static const char deleted[] = " (deleted)";
    const char *path = mapping->path, *above = root && !mapping->time ? root->path : "";
    size_t length = strlen(path), outside = strlen(above), tail = sizeof deleted - 1;
    if (path[0] != '/' || length >= PATH_MAX)
        return path;
    if (outside && !strncmp(path, above, outside) && path[outside] == '/') {
        path += outside;
        length -= outside;
    }
    memcpy(copy, path, length + 1);
    if (length > tail && !strcmp(copy + length - tail, deleted))
        copy[length - tail] = '\0';
    return copy;
}

static bool same_root(const struct root *a, const struct root *b)
{
    return a->device == b->device && a->inode == b->inode && a->namespace == b->namespace;
}

/* What is known of the root directory of the process /proc/WHO; false where it is out of reach. */
static bool read_root(const char *who, struct root *root)
{
    char name[64];
    struct stat directory, mounts;
    snprintf(name, sizeof name, "/proc/%s/root", who);
    if (stat(name, &directory))
        return false;
    snprintf(name, sizeof name, "/proc/%s/ns/mnt", who);
    *root = (struct root){
        .device = directory.st_dev,
        .inode = directory.st_ino,
        .namespace = stat(name, &mounts) ? 0 : mounts.st_ino,
    };
    return true;
}

static const struct root *root_of(struct processes *processes, const char *name, const struct root *wanted)
{
    for (size_t i = 0; i < processes->root_count; i++)
        if (same_root(processes->roots[i], wanted))
            return processes->roots[i];
    struct root **roots = processes->root_count == MAX_ROOTS
                              ? NULL
                              : realloc(processes->roots, (processes->root_count + 1) * sizeof *roots);
    if (!roots)
        return NULL;
    processes->roots = roots;
    struct root *root = calloc(1, sizeof *root);
    if (!root)
        return NULL;
    *root = *wanted;
    char path[PATH_MAX];
    ssize_t length = readlink(name, path, sizeof path - 1);
    /* "/" is the root of another mount namespace: paths in maps are relative to it already. */
    path[length > 1 ? length : 0] = '\0';
    root->path = strdup(path);
    root->fd = root->path ? open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root->fd < 0) {
        free(root->path);
        free(root);
        return NULL;
    }
    return processes->roots[processes->root_count++] = root;
}

/* When PROCESS began, in seconds of the wall clock. */
static bool read_start(pid_t pid, int64_t *started)
{
    int64_t ticks;
    if (!procstat_field(pid, PROCSTAT_START, &ticks))
        return false;
    struct timespec real, boot;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    *started = real.tv_sec - boot.tv_sec + ticks / sysconf(_SC_CLK_TCK) - 1;
    return true;
}

/* Its number in the innermost of its PID namespaces, and its user. */
static void read_status(struct process *process)
{
    char name[32], line[256];
    snprintf(name, sizeof name, "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(name, "re");
    process->inner_pid = process->pid;
    while (file && fgets(line, sizeof line, file)) {
        unsigned real, uid;
        if (sscanf(line, "Uid: %u %u", &real, &uid) == 2)
            process->uid = uid;
        const char *last = strrchr(line, '\t');
        if (!strncmp(line, "NSpid:", 6) && last)
            process->inner_pid = (pid_t)strtol(last, NULL, 10);
    }
    if (file)
        fclose(file);
}

void processes_read_identity(struct processes *processes, struct process *process)
{
    char who[16], name[32];
    struct root theirs, ours;
    snprintf(who, sizeof who, "%d", (int)process->pid);
    if (process->exited || !read_root(who, &theirs) || !read_root("self", &ours))
        return;
    if (!theirs.namespace)
        theirs.namespace = ours.namespace;
    snprintf(name, sizeof name, "/proc/%s/root", who);
    process->root = same_root(&theirs, &ours) ? NULL : root_of(processes, name, &theirs);
    if (!process->inner_pid && read_start(process->pid, &process->started))
        read_status(process);
}
