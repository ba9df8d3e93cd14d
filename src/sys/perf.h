/* perf_event_open, as far as probes need it: one uprobe per event, or samples of one CPU. */
#ifndef UPLUA_SYS_PERF_H
#define UPLUA_SYS_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_uprobe {
    const char *path;
    uint64_t offset; /* in the file */
    bool at_return;
    uint64_t cookie; /* what bpf_get_attach_cookie gives; 0: kernels before 5.15 can do it too */
    pid_t pid; /* only where this process maps the file; 0: everywhere */
};

/*
 * An event that runs the loaded program PROGRAM at the uprobe: its descriptor, or -errno. Closing it detaches. The
 * program runs for all threads that share the process's memory, and for the whole machine without a process.
 * -ENODEV: the kernel has no uprobe events.
 */
int perf_uprobe_attach(int program, const struct perf_uprobe *probe);
/*
 * An event that runs PROGRAM (BPF_PROG_TYPE_PERF_EVENT) HERTZ times a second of CPU's time that is not idle: its descriptor, or
 * -errno. -EINVAL: more often than the kernel permits (perf_max_rate()).
 */
int perf_clock_attach(int program, int cpu, unsigned hertz);
/* The samples a second that the kernel permits at most. */
unsigned perf_max_rate(void);

#endif
