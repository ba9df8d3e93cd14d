#include "probe/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/detach.h"
#include "probe/link.h"
#include "probe/threads.h"
#include "sys/capability.h"
#include "sys/perf.h"

enum {
    MAX_THREADS = 64, /* of a target; each has a descriptor, which takes 20 ms to close */
    ATTEMPTS = 5,     /* to attach to all threads before another is created */
};

static bool is_clock(const struct event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE &&
           (event->attr.config == PERF_COUNT_SW_CPU_CLOCK || event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_in_threads(const struct event *event, const struct target *target)
{
    if (event->once || is_clock(event) || !target->count)
        return false;
    struct threads threads;
    if (threads_list(target, &threads))
        return false;
    size_t count = threads.count;
    threads_free(&threads);
    return count > 0 && count <= MAX_THREADS;
}

static int failed(int code, const struct event *event, struct error *err)
{
    unsigned most = perf_max_rate();
    uint64_t rate = event->attr.freq ? event->attr.sample_freq : 0;
    int paranoia = perf_paranoia();
    switch (code) {
    case -EINVAL:
        if (most && rate > most)
            return error_set(err, code,
                             "cannot sample %llu times a second: this kernel permits %u (sysctl kernel.perf_event_max_sample_rate)",
                             (unsigned long long)rate, most);
        break;
    case -ENOENT:
    case -ENODEV:
    case -EOPNOTSUPP:
        return error_set(err, code, "this machine does not count it");
    case -EPERM:
    case -EACCES:
        return error_set(err, code, "this needs %s; run uplua as root%s",
                         capability_missing() ? capability_missing() : "CAP_PERFMON",
                         paranoia > 2 ? " (sysctl kernel.perf_event_paranoid is above 2: nobody else may count anything)" : "");
    case -EMFILE:
        return error_set(err, code, "too many open files, and each CPU or thread needs one: raise `ulimit -n`");
    default:
        break;
    }
    return error_set(err, code, "the kernel refuses the event: %s", strerror(-code));
}

int event_check(const struct event *event, struct error *err)
{
    int code = perf_event_try(&event->attr);
    return code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP ? failed(code, event, err) : 0;
}

static int attach_cpus(int program, const struct event *event, struct probe_link *link)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int result = 0;
    for (int cpu = 0; cpu < cpus && result == 0 && !(event->once && link->count); cpu++) {
        int fd = perf_event_attach(program, &event->attr, -1, cpu);
        if (fd != -ENODEV || cpu == cpus - 1) /* this CPU is offline */
            result = fd < 0 ? fd : link_keep(link, fd);
    }
    return result == -ENODEV && link->count ? 0 : result;
}

/*
 * Whether a thread that was created meanwhile has inherited the event depends on whether its creator had it by then,
 * which nobody tells: so that it is neither counted twice nor missed, all are attached anew until none was created. -EAGAIN
 * where that does not happen.
 */
static int attach_threads(int program, const struct event *event, const struct target *target, struct probe_link *link)
{
    struct perf_event_attr attr = event->attr;
    attr.inherit = 1;
    attr.inherit_thread = 1;
    int result = -EAGAIN;
    for (int attempt = 0; attempt < ATTEMPTS && result == -EAGAIN; attempt++) {
        struct threads before, after;
        result = threads_list(target, &before);
        for (size_t i = 0; i < before.count && result == 0; i++) {
            int fd = perf_event_attach(program, &attr, before.ids[i], -1);
            if (fd != -ESRCH) /* it has exited */
                result = fd < 0 ? fd : link_keep(link, fd);
        }
        if (result == 0 && (result = threads_list(target, &after)) == 0) {
            for (size_t i = 0; i < after.count && result == 0; i++)
                result = threads_has(&before, after.ids[i]) ? 0 : -EAGAIN;
            threads_free(&after);
        }
        threads_free(&before);
        if (result) {
            descriptors_close(link->fds, link->count);
            link->count = 0;
        }
    }
    return result;
}

int event_attach(int program_fd, const struct event *event, const struct target *target, struct probe_link **link,
                 struct error *err)
{
    *link = calloc(1, sizeof **link);
    if (!*link)
        return error_set(err, -ENOMEM, "out of memory");
    int result = -EAGAIN;
    if (event_in_threads(event, target))
        result = attach_threads(program_fd, event, target, *link);
    if (result == -EAGAIN)
        result = attach_cpus(program_fd, event, *link);
    if (result == 0)
        return 0;
    probe_detach(*link);
    *link = NULL;
    return failed(result, event, err);
}
