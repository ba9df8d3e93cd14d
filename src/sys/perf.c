#include "sys/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/bpf.h"

#define UPROBE_DEVICE "/sys/bus/event_source/devices/uprobe/"

/* The number that FORMAT finds in FILE of the uprobe device; -ENODEV without such a file. */
static int device_number(const char *file, const char *format)
{
    char path[128];
    snprintf(path, sizeof path, UPROBE_DEVICE "%s", file);
    FILE *in = fopen(path, "re");
    if (!in)
        return -ENODEV;
    int number;
    int found = fscanf(in, format, &number);
    fclose(in);
    return found == 1 && number >= 0 ? number : -ENODEV;
}

int perf_uprobe_attach(int program, const struct perf_uprobe *probe)
{
    static int type = -1, return_bit = -1;
    if (type < 0)
        type = device_number("type", "%d");
    if (return_bit < 0)
        return_bit = device_number("format/retprobe", "config:%d");
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
    int event = (int)syscall(SYS_perf_event_open, &attr, probe->pid ? probe->pid : -1, probe->pid ? -1 : 0, -1,
                             PERF_FLAG_FD_CLOEXEC);
    if (event < 0)
        return -errno;
    int link = event;
    if (probe->cookie)
        link = bpf_perf_link(program, event, probe->cookie);
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
