/* Counts events without handlers, as perf stat does. */
#include "probe/attach/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/target/threads.h"

struct counter {
    const struct event *events; /* only while they are opened */
    size_t count;
    bool threads, children, command;
    bool alone; /* just these threads, not those that they create */
    int *places;
    int *fds; /* COUNT for each place */
    size_t place_count, capacity;
    size_t failed; /* the event that could not be opened */
};

static int grow(struct counter *counter)
{
    if (counter->place_count < counter->capacity)
        return 0;
    size_t capacity = counter->capacity ? counter->capacity * 2 : 8;
    int *places = realloc(counter->places, capacity * sizeof *places);
    if (places)
        counter->places = places;
    int *fds = realloc(counter->fds, capacity * counter->count * sizeof *fds);
    if (fds)
        counter->fds = fds;
    if (!places || !fds)
        return -ENOMEM;
    counter->capacity = capacity;
    return 0;
}

/* Whether what cannot be counted in a cgroup can be counted at all. */
static bool is_counted(const struct event *event)
{
    struct perf_event_attr attr = event->attr;
    attr.disabled = 1;
    int fd = perf_count_open(&attr, 0, -1, -1, false);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Opens all events in one place, which is PID (a thread or a cgroup's descriptor, or -1) on CPU. */
static int open_place(struct counter *counter, int place, pid_t pid, int cpu, bool in_cgroup)
{
    int result = grow(counter);
    if (result)
        return result;
    int *fds = counter->fds + counter->place_count * counter->count;
    for (size_t i = 0; i < counter->count; i++) {
        struct perf_event_attr attr = counter->events[i].attr;
        attr.exclude_idle = 0; /* a clock that is counted is wall time */
        attr.inherit = counter->threads && !counter->alone;
        attr.inherit_thread = attr.inherit && !counter->children;
        attr.enable_on_exec = counter->command;
        attr.disabled = counter->command || (i == 0 && counter->count > 1);
        fds[i] = perf_count_open(&attr, pid, cpu, i > 0 ? fds[0] : -1, in_cgroup);
        if (fds[i] < 0) {
            result = fds[i];
            counter->failed = i;
            while (i-- > 0)
                close(fds[i]);
            return result;
        }
    }
    /*
     * A group begins as a whole: what joins one that counts already is not counted before the kernel takes up the group
     * anew, which on a CPU may never be (seen with clocks, 6.18). So perf does it.
     */
    result = counter->count > 1 && !counter->command ? perf_count_enable(fds[0]) : 0;
    if (result) {
        counter->failed = 0;
        for (size_t i = 0; i < counter->count; i++)
            close(fds[i]);
        return result;
    }
    counter->places[counter->place_count++] = place;
    return 0;
}

static int open_thread(pid_t thread, void *context)
{
    return open_place(context, thread, thread, -1, false);
}

static void close_all(void *context)
{
    struct counter *counter = context;
    for (size_t i = 0; i < counter->place_count * counter->count; i++)
        close(counter->fds[i]);
    counter->place_count = 0;
}

static int open_cpus(struct counter *counter, int cgroup)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int result = 0;
    for (int cpu = 0; cpu < cpus && result == 0; cpu++) {
        result = event_on_cpu(counter->events, cpu) ? open_place(counter, cpu, cgroup, cpu, cgroup >= 0) : 0;
        if (result == -ENODEV) /* it is offline */
            result = 0;
    }
    return result || counter->place_count ? result : -ENODEV;
}

int counter_open(const struct event *events, size_t count, const struct target *target,
                 const struct counter_options *options, struct counter **result, struct error *err)
{
    struct counter *counter = calloc(1, sizeof *counter);
    *result = NULL;
    if (!counter)
        return error_set(err, -ENOMEM, "out of memory");
    counter->events = events;
    counter->count = count;
    counter->children = options->children;
    counter->threads = target->count && !options->cpus && !options->cgroup && !events->some;
    counter->alone = target->tid_count > 0;
    counter->command = counter->threads && target->command && target->release_fd >= 0;
    int cgroup = options->cgroup ? open(options->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, code;
    if (options->cgroup && cgroup < 0)
        code = error_set(err, -errno, "no cgroup %s: %s", options->cgroup, error_reason(errno));
    else if (counter->threads)
        code = threads_open(target, counter->children, open_thread, close_all, counter);
    else
        code = open_cpus(counter, cgroup);
    if (cgroup >= 0)
        close(cgroup);
    if (!code && !counter->place_count)
        code = error_set(err, -ESRCH, "the process has exited");
    else if (code == -EAGAIN)
        error_set(err, code, "%s all the time, so that it cannot be said which are counted",
                  counter->children ? "processes or threads are created" : "the process creates threads");
    else if (code == -EBADF || (code == -EINVAL && options->cgroup))
        error_set(err, code, "%s is no cgroup that this kernel counts by", options->cgroup ? options->cgroup : "it");
    else if (code == -ENOENT && cgroup >= 0 &&
             is_counted(&events[counter->failed])) /* cgroup_propagate_control() was never called */
        error_set(err, code,
                  "this kernel counts in no cgroup as long as no controller has been switched on; "
                  "`echo +pids >/sys/fs/cgroup/cgroup.subtree_control` does that, as systemd does");
    else if (code && !(options->cgroup && cgroup < 0))
        event_failed(code, &events[counter->failed], err);
    if (code) {
        counter_free(counter);
        return code;
    }
    counter->events = NULL;
    *result = counter;
    return 0;
}

void counter_free(struct counter *counter)
{
    if (!counter)
        return;
    close_all(counter);
    free(counter->places);
    free(counter->fds);
    free(counter);
}

size_t counter_places(const struct counter *counter)
{
    return counter->place_count;
}

int counter_place(const struct counter *counter, size_t i)
{
    return counter->places[i];
}

bool counter_in_threads(const struct counter *counter)
{
    return counter->threads;
}

int counter_read(const struct counter *counter, size_t i, size_t number, struct perf_count *count)
{
    return perf_count_read(counter->fds[i * counter->count + number], count);
}
