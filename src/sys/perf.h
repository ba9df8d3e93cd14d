/* perf_event_open, as far as probes need it: one uprobe per event. */
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

#endif
