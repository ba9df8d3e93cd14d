/* The threads of the target's processes, and of those that these have started. */
#include "probe/target/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "probe/target/process.h"
#include "sys/procstat.h"

enum { ATTEMPTS = 5 };

static int add(struct threads *threads, pid_t id)
{
    if (!array_room(&threads->ids, threads->count, &threads->capacity, sizeof *threads->ids))
        return -ENOMEM;
    threads->ids[threads->count++] = id;
    return 0;
}

/* The threads of process PID. */
static int add_process(struct threads *threads, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path); /* none: the process has exited */
    int result = 0;
    for (struct dirent *entry; tasks && result == 0 && (entry = readdir(tasks));) {
        long id = strtol(entry->d_name, NULL, 10);
        if (id > 0)
            result = add(threads, (pid_t)id);
    }
    if (tasks)
        closedir(tasks);
    return result;
}

/* False where the number ID of TARGET's process, or thread, I stands for another one by now. */
static bool is_still(const struct target *target, size_t i, pid_t id)
{
    uint64_t birth;
    return !target->births || (procstat_birth(id, &birth) && birth == target->births[i]);
}

struct family {
    struct threads members; /* processes */
    bool grown;
};

static int add_child(pid_t pid, pid_t parent, void *context)
{
    struct family *family = context;
    if (threads_has(&family->members, pid) || !threads_has(&family->members, parent))
        return 0;
    family->grown = true;
    return add(&family->members, pid);
}

/* Adds to FAMILY the processes that those in it have started, and so on. */
static int add_descendants(struct family *family)
{
    int result = 0;
    do {
        family->grown = false;
        result = processes_each(add_child, family);
    } while (result == 0 && family->grown);
    return result;
}

int threads_list(const struct target *target, bool children, struct threads *threads)
{
    struct family family = {0};
    *threads = (struct threads){0};
    int result = 0;
    for (size_t i = 0; i < target->tid_count && result == 0; i++)
        if (is_still(target, i, target->tids[i]))
            result = add(threads, target->tids[i]);
    for (size_t i = 0; i < target->count && !target->tid_count && result == 0; i++)
        if (is_still(target, i, target->pids[i]))
            result = add(&family.members, target->pids[i]);
    if (children && !target->tid_count && result == 0)
        result = add_descendants(&family);
    for (size_t i = 0; i < family.members.count && result == 0; i++)
        result = add_process(threads, family.members.ids[i]);
    threads_free(&family.members);
    if (result)
        threads_free(threads);
    return result;
}

struct others {
    struct threads *threads;
    pid_t except;
};

static int add_other(pid_t pid, pid_t parent, void *context)
{
    (void)parent;
    const struct others *others = context;
    return pid == others->except ? 0 : add_process(others->threads, pid);
}

int threads_list_all(pid_t except, struct threads *threads)
{
    *threads = (struct threads){0};
    int result = processes_each(add_other, &(struct others){threads, except});
    if (result)
        threads_free(threads);
    return result;
}

void threads_free(struct threads *threads)
{
    free(threads->ids);
    *threads = (struct threads){0};
}

bool threads_has(const struct threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->ids[i] == id)
            return true;
    return false;
}

static int open_all(const struct threads *threads, int (*open)(pid_t thread, void *context), void *context)
{
    int result = 0;
    for (size_t i = 0; i < threads->count && result == 0; i++) {
        result = open(threads->ids[i], context);
        if (result == -ESRCH)
            result = 0;
    }
    return result;
}

/* -EAGAIN if TARGET has a thread that is not among BEFORE. */
static int check_all(const struct target *target, bool children, const struct threads *before)
{
    struct threads after;
    int result = threads_list(target, children, &after);
    for (size_t i = 0; i < after.count && result == 0; i++)
        result = threads_has(before, after.ids[i]) ? 0 : -EAGAIN;
    threads_free(&after);
    return result;
}

int threads_open(const struct target *target, bool children, int (*open)(pid_t thread, void *context),
                 void (*undo)(void *context), void *context)
{
    int result = -EAGAIN;
    for (int attempt = 0; attempt < ATTEMPTS && result == -EAGAIN; attempt++) {
        struct threads threads;
        result = threads_list(target, children, &threads);
        if (result == 0)
            result = open_all(&threads, open, context);
        if (result == 0)
            result = check_all(target, children, &threads);
        threads_free(&threads);
        if (result)
            undo(context);
    }
    return result;
}
