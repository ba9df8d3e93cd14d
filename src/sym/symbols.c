/*
 * The cache: processes with their mappings, and images, which processes share.
 *
 * A process may exit before anybody asks for a name. So its mappings are read and the files of the executable ones
 * opened when it is first seen; a descriptor costs little, and the file is parsed only when an address falls into it.
 * What a followed process maps later comes as records. Without them an address that no mapping has may belong to a
 * library that was loaded since: the mappings are then read again. This takes no more than a twentieth of the time,
 * because a walk along broken frame pointers yields such addresses by the thousand.
 *
 * A stack says which program its process executed: what was mapped by an earlier one, or by an earlier process of the
 * same number, is kept by itself. It does not say when it was taken. So of one program the newest mapping of an address
 * counts, and one that is gone stays until another takes its place: through dlclose. Frames have their file already;
 * for mere addresses, that they were several files' is counted.
 */
#include "sym/symbols.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../bpf/stack.h"
#include "base/array.h"
#include "sym/files.h"
#include "sym/frame_files.h"
#include "sym/kernel.h"
#include "sym/perfmap.h"
#include "sym/reading.h"
#include "sym/texts.h"
#include "sys/clock.h"
#include "sys/mmap_events.h"

struct symbols {
    struct files files;
    struct processes processes;
    uint64_t generation; /* changes whenever any process's mappings do */
    struct texts texts;  /* the modules' names */
    struct frame_files frame_files;
    struct kernel *kernel; /* made when first needed */
    struct mmap_events *events;
    bool everybody; /* all processes are followed, not only the known ones and their children */
    bool unread;    /* the mappings that they had before have not been read */
    bool any_made;  /* code that a process made has been named */
    bool over;      /* nothing is recorded any more */
    uint64_t renamings;
    struct symbols_lost lost;
    uint64_t lost_before; /* records of EVENTS that concern nobody */
    symbols_watcher *watch;
    void *watch_context;
    uint64_t drained; /* ns: all records that were made before have been taken in */
    pid_t *changed;   /* processes of which whoever watches is still to be told */
    size_t changed_count, changed_capacity;
};

struct symbols *symbols_new(void)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols || files_init(&symbols->files)) {
        free(symbols);
        return NULL;
    }
    static uint64_t caches; /* one cache may be at the place of an earlier one */
    symbols->generation = ++caches << 32;
    return symbols;
}

int symbols_set_debug_root(struct symbols *symbols, const char *directory)
{
    return files_set_debug_root(&symbols->files, directory);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    mmap_events_close(symbols->events);
    kernel_free(symbols->kernel);
    processes_free(&symbols->processes);
    files_free(&symbols->files);
    texts_free(&symbols->texts);
    frame_files_free(&symbols->frame_files);
    free(symbols->changed);
    free(symbols);
}

/* Opens the file of MAPPING, which the process PID has now, or, 0, one had whose root directory was ROOT. */
static void mapping_open(struct symbols *symbols, pid_t pid, const struct root *root, struct mapping *mapping)
{
    char copy[PATH_MAX];
    struct file_owner owner = {.pid = pid, .root = root ? root->fd : -1};
    files_open(&symbols->files, &owner, mapping, mapping->path ? processes_path(root, mapping, copy) : NULL);
}

static void tell(struct symbols *symbols, struct process *process)
{
    process->changed = false;
    for (size_t i = 0; i < process->earlier_count; i++) {
        struct earlier *earlier = &process->earlier[i];
        if (symbols->watch && !earlier->told)
            symbols->watch(symbols->watch_context, process->pid, &earlier->maps, SYMBOLS_EXECUTED);
        earlier->told = true;
    }
    if (symbols->watch)
        symbols->watch(symbols->watch_context, process->pid, &process->maps,
                       process->exited ? SYMBOLS_EXITED : SYMBOLS_MAPPED);
}

/* To be told once all that has happened is known. */
static void tell_later(struct symbols *symbols, struct process *process)
{
    symbols->generation++;
    if (!symbols->watch || process->changed)
        return;
    if (!array_room(&symbols->changed, symbols->changed_count, &symbols->changed_capacity, sizeof *symbols->changed))
        return;
    process->changed = true;
    symbols->changed[symbols->changed_count++] = process->pid;
}

static void tell_changes(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->changed_count; i++) {
        struct process *process = processes_find(&symbols->processes, symbols->changed[i]);
        if (process && process->maps.known < symbols->drained)
            process->maps.known = symbols->drained;
        if (process && process->changed)
            tell(symbols, process);
        else if (!process && symbols->watch) /* forgotten already */
            symbols->watch(symbols->watch_context, symbols->changed[i], NULL, SYMBOLS_EXITED);
    }
    symbols->changed_count = 0;
}

static void on_event(void *context, const struct mmap_event *event);

/* Takes in all records that have been made before now. */
static void drain(struct symbols *symbols)
{
    uint64_t now = clock_now();
    if (symbols->events)
        mmap_events_drain(symbols->events, on_event, symbols);
    symbols->drained = now;
}

/*
 * Reads what PROCESS maps now, beginning at *BEGIN. If records tell that it has executed a program before or meanwhile,
 * what was known is that of the earlier one, and what was read may be of both: it is read again.
 */
static int maps_read_whole(struct symbols *symbols, struct process *process, struct maps *maps, uint64_t *begin)
{
    enum { TRIES = 4 };
    for (int i = 1;; i++) {
        *begin = clock_now();
        int rc = maps_read(maps, process->pid);
        uint32_t programs = process->programs;
        drain(symbols);
        if (rc || process->programs == programs || i == TRIES)
            return rc;
        maps_free(maps);
    }
}

/* Brings PROCESS's mappings up to date. 0 or -errno: then it keeps those it had. */
static int process_read(struct symbols *symbols, struct process *process)
{
    if (process->exited)
        return -ESRCH;
    uint64_t begin;
    struct maps maps;
    int rc = maps_read_whole(symbols, process, &maps, &begin);
    if (!rc) {
        processes_read_identity(&symbols->processes, process);
        rc = maps_merge(&maps, &process->maps);
        if (rc) {
            maps_free(&maps);
        } else {
            process->maps = maps;
            process->maps.known = begin;
            process->last = NULL;
            symbols->generation++;
            for (size_t i = 0; i < maps.count; i++) {
                perfmap_note(&symbols->processes, process, &maps.items[i]);
                if (maps.items[i].executable && !maps.items[i].tried)
                    mapping_open(symbols, process->exited ? 0 : process->pid, process->root, &maps.items[i]);
            }
            tell(symbols, process);
        }
    }
    process->next_reading = next_reading(begin);
    tell_changes(symbols);
    return rc;
}

/* The process PID, which somebody asks for. */
static struct process *process_keep(struct symbols *symbols, pid_t pid)
{
    struct process *process = processes_get(&symbols->processes, pid);
    if (process) {
        processes_revive(&symbols->processes, process);
        process->kept = true;
    }
    return process;
}

int symbols_add_process(struct symbols *symbols, pid_t pid)
{
    struct process *process = process_keep(symbols, pid);
    return process ? process_read(symbols, process) : -ENOMEM;
}

/* The processes that run already: their mappings are not reported. */
static void read_everybody(struct symbols *symbols)
{
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct process *process = pid > 0 ? processes_get(&symbols->processes, pid) : NULL;
        if (process && !process->maps.count)
            process_read(symbols, process);
    }
    if (proc)
        closedir(proc);
}

int symbols_follow(struct symbols *symbols, const pid_t *pids, size_t count, bool execute)
{
    /* First the records, then what there is: nothing falls between. */
    int rc = symbols->events ? 0 : mmap_events_open(true, &symbols->events);
    symbols->over = false;
    for (size_t i = 0; i < count; i++) {
        struct process *process = process_keep(symbols, pids[i]);
        if (process && !execute)
            process_read(symbols, process);
    }
    if (!rc && !count && !symbols->everybody)
        symbols->everybody = symbols->unread = true;
    return rc;
}

void symbols_begin(struct symbols *symbols)
{
    symbols_update(symbols);
    if (symbols->events)
        symbols->lost_before = mmap_events_lost(symbols->events);
}

void symbols_unfollow(struct symbols *symbols)
{
    symbols_update(symbols);
    symbols->lost.records = symbols_lost(symbols).records;
    mmap_events_close(symbols->events);
    symbols->events = NULL;
    symbols->over = true;
}

int symbols_follow_fd(const struct symbols *symbols)
{
    return symbols->events ? mmap_events_fd(symbols->events) : -1;
}

struct image *symbols_keep_file(struct symbols *symbols, const char *path)
{
    return files_keep(&symbols->files, path);
}

static int on_map(struct symbols *symbols, struct process *process, const struct mmap_event *event)
{
    struct mapping mapping = {
        .start = event->start,
        .end = event->end,
        .offset = event->offset,
        .device = event->device,
        .inode = event->inode,
        .generation = event->generation,
        .time = event->time,
        .executable = true,
        .path = strncmp(event->path, "//", 2) ? (char *)event->path : NULL, /* "//anon" */
    };
    struct mapping *added;
    process->last = NULL;
    if (symbols->watch && maps_replaces(&process->maps, &mapping)) { /* stacks may have the number of what was there */
        symbols->lost.replaced++;
        symbols->watch(symbols->watch_context, process->pid, &process->maps, SYMBOLS_ASKED);
    }
    perfmap_note(&symbols->processes, process, &mapping);
    int rc = maps_add(&process->maps, &mapping, &added);
    if (!rc && !added->tried)
        mapping_open(symbols, process->exited ? 0 : process->pid, process->root, added);
    tell_later(symbols, process);
    return rc;
}

static int on_fork(struct symbols *symbols, struct process *parent, pid_t pid, uint64_t time)
{
    struct process *child = processes_get(&symbols->processes, pid);
    if (!child)
        return -ENOMEM;
    if (!child->exited && child->maps.known > time) /* they were read since then */
        return 0;
    processes_revive(&symbols->processes, child);
    int rc = processes_execute(&symbols->processes, child, time); /* the end of an earlier process was not seen */
    child->root = parent ? parent->root : NULL;
    if (!rc && parent)
        rc = maps_copy(&child->maps, &parent->maps);
    tell_later(symbols, child);
    return rc;
}

/* The mappings stay known, for stacks that were taken before. */
static int on_exec(struct symbols *symbols, struct process *process, uint64_t time)
{
    int rc = processes_execute(&symbols->processes, process, time);
    process->inner_pid = 0;
    perfmap_forget(process);
    processes_read_identity(&symbols->processes, process); /* perhaps another one, as a container begins */
    tell_later(symbols, process);
    return rc;
}

static void on_event(void *context, const struct mmap_event *event)
{
    struct symbols *symbols = context;
    pid_t pid = event->kind == MMAP_EVENT_FORK ? event->parent : event->pid;
    struct process *process = processes_find(&symbols->processes, pid);
    int rc = 0;
    if (!process && !symbols->everybody)
        return;
    if (!process && (event->kind == MMAP_EVENT_MAP || event->kind == MMAP_EVENT_EXEC))
        process = processes_get(&symbols->processes, pid);
    switch (event->kind) {
    case MMAP_EVENT_MAP:
        rc = process ? on_map(symbols, process, event) : -ENOMEM;
        break;
    case MMAP_EVENT_EXEC:
        rc = process ? on_exec(symbols, process, event->time) : -ENOMEM;
        break;
    case MMAP_EVENT_FORK:
        rc = on_fork(symbols, process, event->pid, event->time);
        break;
    case MMAP_EVENT_EXIT:
        if (process) {
            tell_later(symbols, process);
            perfmap_settle(process);
            processes_exit(&symbols->processes, process, event->time);
        }
        break;
    }
    symbols->lost.records += rc != 0;
    processes_forget_old(&symbols->processes);
}

uint64_t symbols_renamings(struct symbols *symbols)
{
    bool changed = symbols->any_made && perfmap_refresh(&symbols->processes);
    symbols->renamings += changed;
    symbols->generation += changed;
    return symbols->renamings;
}

bool symbols_update(struct symbols *symbols)
{
    symbols_renamings(symbols);
    if (symbols->unread) {
        symbols->unread = false;
        read_everybody(symbols);
    }
    drain(symbols);
    tell_changes(symbols);
    return perfmap_keep(&symbols->processes);
}

void symbols_watch(struct symbols *symbols, symbols_watcher *changed, void *context)
{
    symbols->watch = changed;
    symbols->watch_context = context;
}

void symbols_tell(struct symbols *symbols, pid_t pid)
{
    struct process *process = processes_get(&symbols->processes, pid);
    for (size_t i = 0; process && i < process->earlier_count; i++)
        process->earlier[i].told = false;
    if (process && !process->maps.count)
        process_read(symbols, process);
    else if (process)
        tell(symbols, process);
}

void symbols_read(struct symbols *symbols, pid_t pid)
{
    struct process *process = processes_get(&symbols->processes, pid);
    if (process && clock_now() >= process->next_reading)
        process_read(symbols, process);
}

struct symbols_lost symbols_lost(const struct symbols *symbols)
{
    struct symbols_lost lost = symbols->lost;
    if (symbols->events)
        lost.records += mmap_events_lost(symbols->events) - symbols->lost_before;
    return lost;
}

void symbols_unread(const struct symbols *symbols, void (*visit)(void *context, const char *module, size_t units),
                    void *context)
{
    files_unread(&symbols->files, visit, context);
}

uint64_t symbols_generation(const struct symbols *symbols)
{
    return symbols->generation;
}

/* The mapping of ADDRESS; read again where there is none, or one that holds no code and may be out of date. */
static struct mapping *find_now(struct symbols *symbols, struct process *process, uint64_t program, uint64_t address)
{
    struct mapping *mapping = process->last;
    if (mapping && address >= mapping->start && address < mapping->end)
        return mapping;
    mapping = maps_find(&process->maps, address);
    bool whole = program && symbols->over && process->maps.count; /* what it maps now may be yet another program's */
    if ((!mapping || !mapping->executable) && !whole && clock_now() >= process->next_reading) {
        process_read(symbols, process);
        mapping = maps_find(&process->maps, address);
    }
    process->last = mapping && mapping->executable ? mapping : NULL;
    return mapping;
}

/* Where an address was looked for: the mappings, and the process's root directory then. */
struct located {
    struct mapping *mapping; /* NULL: nothing was mapped there */
    const struct root *root;
    bool now;     /* it still is, as far as is known */
    bool nothing; /* is known of the program that was meant */
};

/* Finds ADDRESS in PROCESS, which may be NULL, while it executed PROGRAM; 0: in the last one that had something
 * there. */
static struct located find(struct symbols *symbols, struct process *process, uint64_t program, uint64_t address)
{
    struct located found = {.now = true, .nothing = true};
    struct maps *maps = process ? processes_maps(process, program, &found.root) : NULL;
    uint32_t programs = process ? process->programs : 0;
    if (maps == &process->maps) {
        found.mapping = find_now(symbols, process, program, address);
        if (process->programs != programs) /* mappings were read again, and it executes another one now */
            maps = processes_maps(process, program, &found.root);
    }
    if (maps && maps != &process->maps) {
        found.mapping = maps_find(maps, address);
        found.now = false;
    }
    found.nothing = !maps || !maps->count;
    for (size_t i = maps && !program ? process->earlier_count : 0; !found.mapping && i-- > 0;)
        found = (struct located){.mapping = maps_find(&process->earlier[i].maps, address),
                                 .root = process->earlier[i].root};
    if (found.mapping && !found.mapping->tried)
        mapping_open(symbols, found.now && !process->exited ? process->pid : 0, found.root, found.mapping);
    return found;
}

static int lookup_kernel(struct symbols *symbols, uint64_t address, struct symbol *result)
{
    result->kernel = true;
    if (!symbols->kernel && !(symbols->kernel = kernel_new("/proc/kallsyms")))
        return -ENOENT;
    const char *module;
    result->function = kernel_lookup(symbols->kernel, address, &result->offset, &module);
    result->module = result->function ? module : NULL;
    return result->function ? 0 : -ENOENT;
}

/* Names code that the process made as it ran, if it tells. */
static void lookup_made(struct symbols *symbols, struct process *process, uint64_t address, struct symbol *result)
{
    uint64_t offset;
    const char *name = perfmap_lookup(&symbols->processes, process, address, &offset);
    if (!name)
        return;
    symbols->any_made = true;
    result->function = texts_intern(&symbols->texts, name);
    result->offset = offset;
}

void symbols_number(struct symbols *symbols, uint32_t number, struct image *image, const char *path)
{
    struct frame_file *file = frame_files_get(&symbols->frame_files, number);
    if (!file || (file->module && !image))
        return;
    file->image = image;
    file->module = texts_intern(&symbols->texts, image ? image_module(image) : path);
}

/* Has whoever gives numbers look at all that process PID maps and has mapped, for the file NUMBER. */
static struct frame_file *ask(struct symbols *symbols, pid_t pid, uint32_t number)
{
    struct process *process = processes_find(&symbols->processes, pid);
    for (size_t i = 0; process && symbols->watch && i <= process->earlier_count; i++)
        symbols->watch(symbols->watch_context, pid,
                       i < process->earlier_count ? &process->earlier[i].maps : &process->maps, SYMBOLS_ASKED);
    struct frame_file *file = frame_files_get(&symbols->frame_files, number);
    file->asked = symbols->generation;
    return file;
}

/*
 * The file that FRAME of a stack of process PID is in; NULL where nobody knows its number. The kernel's half may have
 * seen it first; and before a command executes its program, its process is a copy of ours, of which no record tells.
 */
static const struct frame_file *file_of(struct symbols *symbols, pid_t pid, uint64_t frame)
{
    struct frame_file *file = frame_files_get(&symbols->frame_files, STACK_FILE(frame));
    bool asks = file && !file->module && file->asked != symbols->generation;
    if (asks)
        file = ask(symbols, pid, STACK_FILE(frame));
    if (asks && !file->module) {
        symbols_tell(symbols, getpid()); /* reads what it maps */
        file = ask(symbols, getpid(), STACK_FILE(frame));
    }
    return file && file->module ? file : NULL;
}

static int lookup_in_file(struct symbols *symbols, pid_t pid, uint64_t frame, struct symbol *result)
{
    const struct frame_file *file = file_of(symbols, pid, frame);
    result->offset = STACK_OFFSET(frame);
    symbols->lost.frames += !file;
    if (!file)
        return -ENOENT;
    result->module = file->module;
    if (file->image)
        result->function = image_lookup(file->image, result->offset, true, &result->offset, &result->start);
    return 0;
}

uint64_t symbols_address(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t frame)
{
    if (kernel_has(frame))
        return frame;
    frame &= ~STACK_MARKS;
    if (!(frame & STACK_IN_FILE))
        return frame;
    const struct frame_file *file = file_of(symbols, pid, frame);
    struct process *process = processes_find(&symbols->processes, pid);
    const struct root *root;
    uint64_t offset = STACK_OFFSET(frame), address = 0;
    if (file && process)
        address = frame_files_address(file, offset, processes_maps(process, program, &root));
    return address || !file || !file->image ? (address ? address : offset) : image_address(file->image, offset);
}

int symbols_lookup(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address, struct symbol *result)
{
    *result = (struct symbol){.offset = address, .start = UINT64_MAX};
    if (kernel_has(address))
        return lookup_kernel(symbols, address, result);
    if (address & STACK_IN_FILE)
        return lookup_in_file(symbols, pid, address, result);
    struct process *process = processes_get(&symbols->processes, pid);
    struct located found = find(symbols, process, program, address);
    struct mapping *mapping = found.mapping;
    if (!mapping) {
        symbols->lost.frames += found.nothing;
        return -ENOENT;
    }
    if (!mapping->module) {
        char copy[PATH_MAX];
        mapping->module =
            mapping->path ? texts_intern(&symbols->texts, processes_path(found.root, mapping, copy)) : "[anon]";
    }
    symbols->lost.places += mapping->replaces;
    result->module = mapping->module;
    result->offset = address - mapping->start + (mapping->inode ? mapping->offset : 0);
    if (mapping->image)
        result->function =
            image_lookup(mapping->image, result->offset, mapping->executable, &result->offset, &result->start);
    if (!result->function && found.now && perfmap_may_name(mapping))
        lookup_made(symbols, process, address, result);
    return 0;
}

struct in_file symbols_in_file(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address)
{
    if (kernel_has(address))
        return (struct in_file){0};
    if (address & STACK_IN_FILE) {
        const struct frame_file *file = file_of(symbols, pid, address);
        return (struct in_file){file ? file->image : NULL, STACK_OFFSET(address), true};
    }
    struct mapping *mapping = find(symbols, processes_get(&symbols->processes, pid), program, address).mapping;
    if (!mapping)
        return (struct in_file){0};
    return (struct in_file){mapping->image, address - mapping->start + (mapping->inode ? mapping->offset : 0),
                            mapping->executable};
}
