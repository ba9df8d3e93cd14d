#include "probe/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int add(struct threads *threads, pid_t id)
{
    if (threads->count == threads->capacity) {
        size_t capacity = threads->capacity ? threads->capacity * 2 : 16;
        pid_t *ids = realloc(threads->ids, capacity * sizeof *ids);
        if (!ids)
            return -ENOMEM;
        threads->ids = ids;
        threads->capacity = capacity;
    }
    threads->ids[threads->count++] = id;
    return 0;
}

int threads_list(const struct target *target, struct threads *threads)
{
    *threads = (struct threads){0};
    int result = 0;
    for (size_t i = 0; i < target->count && result == 0; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)target->pids[i]);
        DIR *tasks = opendir(path); /* none: the process has exited */
        for (struct dirent *entry; tasks && result == 0 && (entry = readdir(tasks));) {
            long id = strtol(entry->d_name, NULL, 10);
            if (id > 0)
                result = add(threads, (pid_t)id);
        }
        if (tasks)
            closedir(tasks);
    }
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
