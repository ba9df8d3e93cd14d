/* Counts events without handlers, as perf stat does. */
#include "probe/attach/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/target/threads.h"

struct counter {
    const struct event *events; /* only while they are opened */
    size_t count;
    bool threads, children, command;
    bool alone; /* just these threads, not those that they create */
    int *rows;  /* of each place: its number, and behind that COUNT descriptors */
    size_t place_count, capacity;
    size_t failed; /* the event that could not be opened */
};

static int *row_of(const struct counter *counter, size_t place)
{
    return counter->rows + place * (1 + counter->count);
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
    if (!array_room(&counter->rows, counter->place_count, &counter->capacity, (1 + counter->count) * sizeof(int)))
        return -ENOMEM;
    int *row = row_of(counter, counter->place_count), *fds = row + 1, result = 0;
    size_t opened = 0;
    while (opened < counter->count && result == 0) {
        struct perf_event_attr attr = counter->events[opened].attr;
        attr.exclude_idle = 0; /* a clock that is counted is wall time */
        attr.inherit = counter->threads && !counter->alone;
        attr.inherit_thread = attr.inherit && !counter->children;
        attr.enable_on_exec = counter->command;
        attr.disabled = counter->command || (opened == 0 && counter->count > 1);
        int fd = perf_count_open(&attr, pid, cpu, opened > 0 ? fds[0] : -1, in_cgroup);
        if (fd >= 0)
            fds[opened++] = fd;
        else
            result = fd;
    }
    counter->failed = result ? opened : 0;
    /*
     * A group begins as a whole: what joins one that counts already is not counted before the kernel takes up the group
     * anew, which on a CPU may never be (seen with clocks, 6.18). So perf does it.
     */
    if (result == 0 && counter->count > 1 && !counter->command)
        result = perf_count_enable(fds[0]);
    while (result && opened > 0)
        close(fds[--opened]);
    row[0] = place;
    counter->place_count += result == 0;
    return result;
}

static int open_thread(pid_t thread, void *context)
{
    return open_place(context, thread, thread, -1, false);
}

static void close_all(void *context)
{
    struct counter *counter = context;
    for (size_t i = 0; i < counter->place_count; i++)
        for (size_t event = 1; event <= counter->count; event++)
            close(row_of(counter, i)[event]);
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
    free(counter->rows);
    free(counter);
}

size_t counter_places(const struct counter *counter)
{
    return counter->place_count;
}

int counter_place(const struct counter *counter, size_t i)
{
    return *row_of(counter, i);
}

bool counter_in_threads(const struct counter *counter)
{
    return counter->threads;
}

int counter_read(const struct counter *counter, size_t i, size_t number, struct perf_count *count)
{
    return perf_count_read(row_of(counter, i)[1 + number], count);
}
