#include "sys/perf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/bpf.h"

#define UPROBE_DEVICE "/sys/bus/event_source/devices/uprobe/"

/* The number that FORMAT finds in the file PATH; -ENODEV without such a file. */
static int number_in(const char *path, const char *format)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return -ENODEV;
    int number;
    int found = fscanf(in, format, &number);
    fclose(in);
    return found == 1 && number >= 0 ? number : -ENODEV;
}

/* Opens the event of ATTR and runs PROGRAM at it, with COOKIE unless that is 0: a descriptor to be closed, or -errno. */
static int run_at_event(struct perf_event_attr *attr, pid_t pid, int cpu, int program, uint64_t cookie)
{
    int event = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return -errno;
    int link = event;
    if (cookie)
        link = bpf_perf_link(program, event, cookie);
    else if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0)
        link = -errno;
    int result = link < 0 ? link : ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
    if (link != event)
        close(event); /* the link keeps it */
    if (!result)
        return link;
    if (link >= 0)
        close(link);
    return result;
}

int perf_uprobe_attach(int program, const struct perf_uprobe *probe)
{
    static int type = -1, return_bit = -1;
    if (type < 0)
        type = number_in(UPROBE_DEVICE "type", "%d");
    if (return_bit < 0)
        return_bit = number_in(UPROBE_DEVICE "format/retprobe", "config:%d");
    if (type < 0 || return_bit < 0 || return_bit > 63)
        return -ENODEV;

    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = (uint32_t)type;
    attr.config = probe->at_return ? UINT64_C(1) << return_bit : 0;
    attr.config1 = (uintptr_t)probe->path;
    attr.config2 = probe->offset;
    /*
     * With a pid the event belongs to the process's first thread, but the probe and the program are filtered by its
     * memory (kernel/trace/trace_uprobe.c, uprobe_perf_filter), before the event's own task is looked at.
     */
    return run_at_event(&attr, probe->pid ? probe->pid : -1, probe->pid ? -1 : 0, program, probe->cookie);
}

int perf_event_attach(int program, const struct perf_event_attr *event, pid_t pid, int cpu)
{
    struct perf_event_attr attr = *event;
    attr.size = sizeof attr;
    attr.disabled = 1;
    return run_at_event(&attr, pid, cpu, program, 0);
}

int perf_event_try(const struct perf_event_attr *event)
{
    struct perf_event_attr attr = *event;
    attr.size = sizeof attr;
    attr.disabled = 1;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

unsigned perf_max_rate(void)
{
    int rate = number_in("/proc/sys/kernel/perf_event_max_sample_rate", "%d");
    return rate > 0 ? (unsigned)rate : 0;
}

int perf_paranoia(void)
{
    FILE *in = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (!in)
        return -2;
    int level;
    int found = fscanf(in, "%d", &level);
    fclose(in);
    return found == 1 ? level : -2;
}
