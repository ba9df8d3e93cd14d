/* Reads /proc/PID/stat: a process's number and when it began. */
#include "sys/procstat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool procstat_field(pid_t pid, int number, int64_t *value)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    /* The second field is the program's name in brackets, which may have any text. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    if (at)
        *value = strtoll(at, NULL, 10);
    return at;
}

/* What the kernel adds to the clock CLOCK_BOOTTIME in this process's time namespace, in ns (time_namespaces(7)). */
static int64_t clock_offset(void)
{
    char line[128];
    long long seconds, rest;
    int64_t offset = 0;
    FILE *file = fopen("/proc/self/timens_offsets", "re"); /* none: the kernel has no such namespaces */
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "boottime %lld %lld", &seconds, &rest) == 2)
            offset = seconds * 1000000000 + rest;
    if (file)
        fclose(file);
    return offset;
}

bool procstat_birth(pid_t pid, uint64_t *birth)
{
    int64_t ticks;
    if (!procstat_field(pid, PROCSTAT_START, &ticks))
        return false;
    int64_t time = ticks * (1000000000 / sysconf(_SC_CLK_TCK)) - clock_offset();
    *birth = (uint64_t)time & ~(uint64_t)127; /* which a number of Lua's holds exactly */
    return true;
}

pid_t procstat_tracer(pid_t pid)
{
    char path[32], line[128];
    int tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "TracerPid: %d", &tracer) != 1)
        continue;
    if (file)
        fclose(file);
    return tracer;
}

pid_t procstat_exited(const char *path)
{
    int pid;
    char root[64];
    if (sscanf(path, "/proc/%d/", &pid) != 1)
        return 0;
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    return access(root, F_OK) < 0 && errno == ENOENT ? pid : 0;
}
