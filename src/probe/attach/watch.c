/* Attaches to watchpoints: accesses to a place in a process's memory. */
#include "probe/attach/watch.h"

#include <errno.h>

#include "probe/args/address.h"
#include "probe/args/variable.h"
#include "probe/attach/link.h"
#include "probe/attach/perf_event.h"
#include "sym/maps.h"

/* Where WATCH's place is in the process of TARGET, its only one, whose mappings are MAPS. */
static int find(const struct watch *watch, const struct target *target, const struct maps *maps, uint64_t *address,
                struct error *err)
{
    int result = 0;
    *address = watch->address;
    if (watch->spec && watch->access == WATCH_EXECUTE)
        result = probe_address(watch->spec, target->pids[0], address, err);
    else if (watch->spec)
        result = variable_address(watch->spec, target, maps, address, err);
    if (result)
        return result;
    if (*address % watch->length)
        return error_set(err, -EINVAL,
                         "%#llx is not a multiple of %u: the CPU watches 1, 2, 4 or 8 bytes that are aligned",
                         (unsigned long long)*address, watch->length);
    const struct mapping *mapping = maps_find(maps, *address);
    if (!mapping || watch->length > mapping->end - *address)
        return error_set(err, -EFAULT, "nothing is mapped at %#llx in process %d", (unsigned long long)*address,
                         (int)target->pids[0]);
    return 0;
}

static int find_in_process(const struct watch *watch, const struct target *target, uint64_t *address, struct error *err)
{
    struct maps maps = {0};
    int result = maps_read(&maps, target->pids[0]);
    if (result)
        return error_set(err, result, "mappings of process %d: %s", (int)target->pids[0], error_reason(result));
    result = find(watch, target, &maps, address, err);
    maps_free(&maps);
    return result;
}

/* The event that accesses to ADDRESS are. */
static struct event event_of(const struct watch *watch, uint64_t address)
{
    struct event event = {.attr = watchpoint_event(watch->access, address, watch->length)};
    event.attr.sample_type = PERF_SAMPLE_ADDR;
    return event;
}

static int add(int program_fd, const struct watch *watch, pid_t pid, bool only, struct probe_link *link,
               struct error *err)
{
    struct target target = {.pids = &pid, .count = 1};
    uint64_t address;
    int result = find_in_process(watch, &target, &address, err);
    if (result)
        return result;
    struct event event = event_of(watch, address);
    /* On all CPUs the address would be watched in the other processes as well. */
    if (!only && !event_in_threads(&event, &target))
        return error_set(err, -E2BIG, "process %d has too many threads to be watched beside another process", (int)pid);
    return event_add(program_fd, &event, &target, link, err);
}

int watch_attach(int program_fd, const struct watch *watch, const struct target *target, struct probe_link **link,
                 struct error *err)
{
    if (link_new(link, err) < 0)
        return -ENOMEM;
    if (watch->everywhere) {
        struct event event = event_of(watch, watch->address);
        static const struct target everybody;
        return link_settle(link, event_add(program_fd, &event, &everybody, *link, err));
    }
    int result = target->count ? 0 : error_set(err, -ESRCH, "a watchpoint needs a process or a command");
    for (size_t i = 0; i < target->count && result == 0; i++)
        result = add(program_fd, watch, target->pids[i], target->count == 1, *link, err);
    return link_settle(link, result);
}
