/* perf_event_open, as far as probes need it: one probe per event, or an event of one CPU or thread. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_uprobe {
    const char *path;
    uint64_t offset; /* in the file */
    bool at_return;
    uint64_t semaphore; /* file offset of a counter that is above 0 while the event is there, below 2^32; 0: none */
    uint64_t cookie;    /* what bpf_get_attach_cookie gives; 0: kernels before 5.15 can do it too */
    pid_t pid;          /* only where this process maps the file; 0: everywhere */
};

/*
 * An event that runs the loaded program PROGRAM at the uprobe: its descriptor, or -errno. Closing it detaches. The
 * program runs for all threads that share the process's memory, and for the whole machine without a process.
 * -ENODEV: the kernel has no uprobe events.
 */
int perf_uprobe_attach(int program, const struct perf_uprobe *probe);

struct perf_kprobe {
    const char *function; /* "vfs_read", or "ext4:ext4_sync_fs" of a module; NULL: at ADDRESS */
    uint64_t offset;      /* bytes behind the start of FUNCTION */
    uint64_t address;
    bool at_return;
    uint64_t cookie; /* as above */
};

/*
 * The same at an instruction of the kernel. -ENODEV: the kernel has no kprobe events; -ENOENT: no such function;
 * -EADDRNOTAVAIL: several functions have that name (Linux 6.7); -EINVAL, -EILSEQ: the kernel permits no probe there.
 */
int perf_kprobe_attach(int program, const struct perf_kprobe *probe);

/*
 * EVENT, which runs PROGRAM (BPF_PROG_TYPE_PERF_EVENT) at its samples: its descriptor, or -errno (perf_event_open(2)).
 * PID: a thread, and CPU -1; or CPU, and PID -1.
 */
int perf_event_attach(int program, const struct perf_event_attr *event, pid_t pid, int cpu);
/* An event that runs PROGRAM (BPF_PROG_TYPE_TRACEPOINT) at each hit of the tracepoint ID, on all CPUs: its descriptor,
 * or -errno. */
int perf_tracepoint_attach(int program, uint64_t id, uint64_t cookie);
/* Whether EVENT can be opened for this process: 0, or -errno; -ENOENT, -ENODEV or -EOPNOTSUPP where this machine does
 * not count it. */
int perf_event_try(const struct perf_event_attr *event);
/*
 * Has thread PID get a SIGTRAP when it is about to execute the instruction at ADDRESS (Linux 5.13), as long as the
 * descriptor that this returns is open; or -errno.
 */
int perf_stop_at(pid_t pid, uint64_t address);
/* What perf_event_open says of a count. */
struct perf_count {
    uint64_t value;
    uint64_t enabled, running; /* ns that it was wanted, and of these that a counter was free for it */
};
/*
 * Counts EVENT, which runs no program, in thread or cgroup PID (a descriptor of the cgroup's folder, if IN_CGROUP; then
 * CPU is to be given) or, with PID -1, on CPU; in one group with the descriptor GROUP unless that is -1. A descriptor,
 * or -errno.
 */
int perf_count_open(const struct perf_event_attr *event, pid_t pid, int cpu, int group, bool in_cgroup);
/* Has FD count, which was opened disabled, and those that are in a group with it: 0 or -errno. */
int perf_count_enable(int fd);
/* Runs PROGRAM (BPF_PROG_TYPE_PERF_EVENT) at the samples of FD: 0 or -errno. */
int perf_count_run(int fd, int program);
/* What FD has counted so far: 0 or -errno. */
int perf_count_read(int fd, struct perf_count *count);
/* The samples a second that the kernel permits at most; 0 where it does not say. */
unsigned perf_max_rate(void);
/* kernel.perf_event_paranoid; -2 where it does not say. */
int perf_paranoia(void);
