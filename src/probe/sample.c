#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/link.h"
#include "sys/capability.h"
#include "sys/perf.h"

static int failed(int code, unsigned hertz, struct error *err)
{
    unsigned most = perf_max_rate();
    switch (code) {
    case -EINVAL:
        if (most && hertz > most)
            return error_set(err, code, "cannot sample %u times a second: this kernel permits %u (sysctl kernel.perf_event_max_sample_rate)",
                             hertz, most);
        break;
    case -EPERM:
    case -EACCES:
        return error_set(err, code, "cannot sample the CPUs: this needs %s; run uplua as root",
                         capability_missing() ? capability_missing() : "CAP_PERFMON");
    case -EMFILE:
        return error_set(err, code, "cannot sample the CPUs: too many open files, and each CPU needs one: raise `ulimit -n`");
    default:
        break;
    }
    return error_set(err, code, "cannot sample the CPUs: %s", strerror(-code));
}

int probe_sample(int program_fd, unsigned hertz, struct probe_link **link, struct error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    *link = calloc(1, sizeof **link);
    if (!*link)
        return error_set(err, -ENOMEM, "out of memory");
    int result = 0;
    for (int cpu = 0; cpu < cpus && result == 0; cpu++) {
        int fd = perf_clock_attach(program_fd, cpu, hertz);
        if (fd != -ENODEV) /* this CPU is offline */
            result = fd < 0 ? fd : link_keep(*link, fd);
    }
    if (result == 0)
        return 0;
    probe_detach(*link);
    *link = NULL;
    return failed(result, hertz, err);
}
