/* perf_event_open, as far as probes need it. */
#include "sys/perf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/bpf.h"
#include "sys/watchpoint.h"

#define DEVICES "/sys/bus/event_source/devices/"

enum { SEMAPHORE_BIT = 32 }; /* PERF_UPROBE_REF_CTR_OFFSET_SHIFT, include/linux/perf_event.h of Linux 4.20 */

/* Reads *NUMBER by FORMAT from the file PATH: 0, or -errno, which is -ENOENT where the kernel has no such number. */
static int read_number(const char *path, const char *format, int *number)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return -errno;
    int found = fscanf(in, format, number);
    fclose(in);
    return found == 1 ? 0 : -ENOENT;
}

/* perf_event_open: a descriptor that is closed on exec, or -errno. */
static int event_open(const struct perf_event_attr *event, pid_t pid, int cpu, int group, unsigned long flags)
{
    struct perf_event_attr attr = *event;
    attr.size = sizeof attr;
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens the event of ATTR and runs PROGRAM at it, with COOKIE unless that is 0: a descriptor to be closed, or
 * -errno. */
static int run_at_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int program, uint64_t cookie)
{
    int event = event_open(attr, pid, cpu, -1, 0);
    if (event < 0)
        return event;
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

/* What perf makes probes with: the number of a type of events, and which bit asks for the return. */
struct device {
    int type, return_bit;
};

/* The device called NAME, read once into *DEVICE. 0, -ENODEV where the kernel has none, or why it was not read. */
static int find_device(const char *name, struct device *device)
{
    char path[96];
    int code = 0;
    snprintf(path, sizeof path, DEVICES "%s/type", name);
    if (device->type <= 0)
        code = read_number(path, "%d", &device->type);
    snprintf(path, sizeof path, DEVICES "%s/format/retprobe", name);
    if (!code && device->return_bit < 0)
        code = read_number(path, "config:%d", &device->return_bit);
    bool none = code == -ENOENT || (!code && (device->return_bit < 0 || device->return_bit > 63));
    return none ? -ENODEV : code;
}

/* Runs PROGRAM at the probe that ATTR says of the device called NAME, which is read into *DEVICE. */
static int run_at_probe(const char *name, struct device *device, struct perf_event_attr attr, bool at_return, pid_t pid,
                        int program, uint64_t cookie)
{
    int code = find_device(name, device);
    if (code)
        return code;
    attr.type = (uint32_t)device->type;
    attr.config |= at_return ? UINT64_C(1) << device->return_bit : 0;
    return run_at_event(&attr, pid ? pid : -1, pid ? -1 : 0, program, cookie);
}

int perf_uprobe_attach(int program, const struct perf_uprobe *probe)
{
    static struct device device = {.return_bit = -1};
    struct perf_event_attr attr = {
        .config = probe->semaphore << SEMAPHORE_BIT, .config1 = (uintptr_t)probe->path, .config2 = probe->offset};
    /*
     * With a pid the event belongs to the process's first thread, but the probe and the program are filtered by its
     * memory (kernel/trace/trace_uprobe.c, uprobe_perf_filter), before the event's own task is looked at.
     */
    return probe->semaphore > UINT32_MAX
               ? -EFBIG
               : run_at_probe("uprobe", &device, attr, probe->at_return, probe->pid, program, probe->cookie);
}

int perf_kprobe_attach(int program, const struct perf_kprobe *probe)
{
    static struct device device = {.return_bit = -1};
    /* An address stands where the offset does otherwise, when there is no name. */
    struct perf_event_attr attr = {.config1 = (uintptr_t)probe->function,
                                   .config2 = probe->function ? probe->offset : probe->address};
    return run_at_probe("kprobe", &device, attr, probe->at_return, 0, program, probe->cookie);
}

int perf_event_attach(int program, const struct perf_event_attr *event, pid_t pid, int cpu)
{
    struct perf_event_attr attr = *event;
    attr.disabled = 1;
    return run_at_event(&attr, pid, cpu, program, 0);
}

int perf_event_try(const struct perf_event_attr *event)
{
    struct perf_event_attr attr = *event;
    attr.disabled = 1;
    int fd = event_open(&attr, 0, -1, -1, 0);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

int perf_tracepoint_attach(int program, uint64_t id, uint64_t cookie)
{
    /* The event counts on one CPU; the program belongs to the tracepoint, which calls it on every CPU
     * (perf_trace_run_bpf_submit). */
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = id};
    return run_at_event(&attr, -1, 0, program, cookie);
}

int perf_count_open(const struct perf_event_attr *event, pid_t pid, int cpu, int group, bool in_cgroup)
{
    struct perf_event_attr attr = *event;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return event_open(&attr, pid, cpu, group, in_cgroup ? PERF_FLAG_PID_CGROUP : 0);
}

int perf_count_enable(int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

int perf_count_run(int fd, int program)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ? -errno : 0;
}

int perf_count_read(int fd, struct perf_count *count)
{
    ssize_t size = read(fd, count, sizeof *count);
    /* 0 bytes: the group could not be scheduled at all */
    return size < 0 ? -errno : size == (ssize_t)sizeof *count ? 0 : -EIO;
}

int perf_stop_at(pid_t pid, uint64_t address)
{
    struct perf_event_attr attr = watchpoint_event(WATCH_EXECUTE, address, 1);
    attr.exclude_kernel = 1;
    attr.remove_on_exec = 1; /* which sigtrap goes with */
    attr.sigtrap = 1;
    return event_open(&attr, pid, -1, -1, 0);
}

unsigned perf_max_rate(void)
{
    int rate;
    return !read_number("/proc/sys/kernel/perf_event_max_sample_rate", "%d", &rate) && rate > 0 ? (unsigned)rate : 0;
}

int perf_paranoia(void)
{
    int paranoia;
    return read_number("/proc/sys/kernel/perf_event_paranoid", "%d", &paranoia) ? -2 : paranoia;
}
