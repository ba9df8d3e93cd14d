/* Attaches to events that the kernel's perf counts. */
#include "probe/attach/perf_event.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "probe/attach/detach.h"
#include "probe/attach/link.h"
#include "probe/target/threads.h"
#include "sys/capability.h"
#include "sys/perf.h"

enum { MAX_THREADS = 64 }; /* of a target; each has a descriptor, which takes 20 ms to close */

static bool is_clock(const struct event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE &&
           (event->attr.config == PERF_COUNT_SW_CPU_CLOCK || event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_on_cpu(const struct event *event, int cpu)
{
    return !event->some || (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &event->cpus));
}

bool event_in_threads(const struct event *event, const struct target *target)
{
    if (event->once || event->some || is_clock(event) || !target->count || target->follow)
        return false;
    struct threads threads;
    if (threads_list(target, false, &threads))
        return false;
    size_t count = threads.count;
    threads_free(&threads);
    return count > 0 && count <= MAX_THREADS;
}

int event_failed(int code, const struct event *event, struct error *err)
{
    unsigned most = perf_max_rate();
    uint64_t rate = event->attr.freq ? event->attr.sample_freq : 0;
    int paranoia = perf_paranoia();
    switch (code) {
    case -EINVAL:
        if (most && rate > most)
            return error_set(
                err, code,
                "cannot sample %llu times a second: this kernel permits %u (sysctl kernel.perf_event_max_sample_rate)",
                (unsigned long long)rate, most);
        if (event->attr.type > PERF_TYPE_BREAKPOINT && event->attr.sample_period)
            return error_set(err, code, "its PMU counts it, which up.counter shows, but runs no handler at it");
        break;
    case -ENODEV:
        if (event->some)
            return error_set(err, code, "none of the CPUs of --cpu is there and online");
        /* fall through */
    case -ENOENT:
    case -EOPNOTSUPP:
        return error_set(err, code, "this machine does not count it");
    case -EPERM:
    case -EACCES:
        return error_set(
            err, code, "this needs %s; run uplua as root%s",
            capability_missing() ? capability_missing() : "CAP_PERFMON",
            paranoia > 2 ? " (sysctl kernel.perf_event_paranoid is above 2: no other user may count anything)" : "");
    case -ENOSPC:
        if (event->attr.type == PERF_TYPE_BREAKPOINT)
            return error_set(
                err, code,
                "no debug register is free: the CPU has only %d, and other watchpoints, gdb or perf may have some too",
                arch_cpu.watchpoints);
        break;
    case -EMFILE:
        return error_set(err, code, "each CPU or thread needs a file of its own: %s", error_reason(code));
    default:
        break;
    }
    return error_set(err, code, "the kernel refuses the event: %s", error_reason(code));
}

int event_check(const struct event *event, struct error *err)
{
    int code = perf_event_try(&event->attr);
    return code == -ENOENT || code == -ENODEV || code == -EOPNOTSUPP ? event_failed(code, event, err) : 0;
}

static int attach_cpus(int program, const struct event *event, struct probe_link *link)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    size_t first = link->count;
    int result = 0;
    for (int cpu = 0; cpu < cpus && result == 0 && !(event->once && link->count > first); cpu++) {
        int fd = event_on_cpu(event, cpu) ? perf_event_attach(program, &event->attr, -1, cpu) : -ENODEV;
        if (fd != -ENODEV) /* it is offline */
            result = link_keep(link, fd);
    }
    return result || link->count > first ? result : -ENODEV;
}

struct event_attach {
    int program;
    struct perf_event_attr attr;
    struct probe_link *link;
    size_t first; /* of the link's descriptors that are this event's */
};

static int attach_thread(pid_t thread, void *context)
{
    struct event_attach *attach = context;
    return link_keep(attach->link, perf_event_attach(attach->program, &attach->attr, thread, -1));
}

static void detach_threads(void *context)
{
    struct event_attach *attach = context;
    descriptors_close(attach->link->fds + attach->first, attach->link->count - attach->first);
    attach->link->count = attach->first;
}

static int attach_threads(int program, const struct event *event, const struct target *target, struct probe_link *link)
{
    struct event_attach attach = {.program = program, .attr = event->attr, .link = link, .first = link->count};
    attach.attr.inherit = attach.attr.inherit_thread = !target->tid_count; /* by threads that come later */
    return threads_open(target, false, attach_thread, detach_threads, &attach);
}

int event_add(int program_fd, const struct event *event, const struct target *target, struct probe_link *link,
              struct error *err)
{
    int result = -EAGAIN;
    if (event_in_threads(event, target))
        result = attach_threads(program_fd, event, target, link);
    if (result == -EAGAIN)
        result = attach_cpus(program_fd, event, link);
    return result ? event_failed(result, event, err) : 0;
}

int event_attach(int program_fd, const struct event *event, const struct target *target, struct probe_link **link,
                 struct error *err)
{
    if (link_new(link, err) < 0)
        return -ENOMEM;
    return link_settle(link, event_add(program_fd, event, target, *link, err));
}
