/* Notices files that the target maps later and that somebody waits for. */
#include "probe/target/late_modules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/library.h"
#include "probe/module/module.h"
#include "sys/mmap_events.h"

struct arrivals {
    struct mmap_events *events;
    char **names;
    size_t count;
    /* during a take */
    void (*visit)(const struct arrival *arrival, void *context);
    void *context;
};

int late_modules_open(struct arrivals **result)
{
    struct arrivals *arrivals = calloc(1, sizeof *arrivals);
    *result = NULL;
    if (!arrivals)
        return -ENOMEM;
    int code = mmap_events_open(false, &arrivals->events);
    if (code) {
        free(arrivals);
        return code;
    }
    *result = arrivals;
    return 0;
}

void late_modules_free(struct arrivals *arrivals)
{
    if (!arrivals)
        return;
    mmap_events_close(arrivals->events);
    array_free_strings(arrivals->names, arrivals->count);
    free(arrivals);
}

int late_modules_want(struct arrivals *arrivals, const char *name)
{
    return array_has_string(arrivals->names, arrivals->count, name)
               ? 0
               : array_add_string(&arrivals->names, &arrivals->count, name);
}

int late_modules_fd(const struct arrivals *arrivals)
{
    return mmap_events_fd(arrivals->events);
}

static void write_identity(const struct mmap_event *event, char *identity)
{
    snprintf(identity, ARRIVAL_IDENTITY_SIZE, "%" PRIx64 ":%" PRIx64 ":%" PRIx64, event->device, event->inode,
             event->generation);
}

int late_module_identify(const char *path, char *identity)
{
    struct mmap_event file;
    int code = mmap_events_identify(path, &file);
    if (!code)
        write_identity(&file, identity);
    return code;
}

static bool is_wanted(const char *file, const char *name)
{
    return !strcmp(name, ARRIVAL_ANY) || !strcmp(file, name) || library_matches(file, name);
}

static void on_event(void *context, const struct mmap_event *event)
{
    const struct arrivals *arrivals = context;
    if (event->kind != MMAP_EVENT_MAP || event->path[0] != '/' || !event->inode)
        return;
    const char *file = path_basename(event->path);
    for (size_t i = 0; i < arrivals->count; i++) {
        if (!is_wanted(file, arrivals->names[i]))
            continue;
        struct arrival arrival = {
            .pid = event->pid,
            .name = arrivals->names[i],
            .path = event->path,
            .time = event->time,
        };
        write_identity(event, arrival.identity);
        arrivals->visit(&arrival, arrivals->context);
    }
}

void late_modules_take(struct arrivals *arrivals, void (*visit)(const struct arrival *arrival, void *context),
                       void *context)
{
    arrivals->visit = visit;
    arrivals->context = context;
    mmap_events_drain(arrivals->events, on_event, arrivals);
}

uint64_t late_modules_lost(const struct arrivals *arrivals)
{
    return mmap_events_lost(arrivals->events);
}
