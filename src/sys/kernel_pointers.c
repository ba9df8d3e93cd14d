/* Words of a program that the kernel keeps for it, as proc(5) shows them. */
#include "sys/kernel_pointers.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/clock.h"

typedef void visitor(void *context, enum kernel_pointer kind, unsigned number, uint64_t word);

/* "tfd:        5 events:       19 data:     7f0000001234 pos:0 ino:…", one for each descriptor that it watches */
static int read_epoll(pid_t pid, unsigned number, visitor *visit, void *context)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%u", (int)pid, number);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? 0 : -errno; /* it is closed by now */
    while (fgets(line, sizeof line, file)) {
        uint64_t word;
        char *data = strncmp(line, "tfd:", 4) ? NULL : strstr(line, "data:");
        if (data && sscanf(data, "data: %" SCNx64, &word) == 1)
            visit(context, KERNEL_POINTER_EPOLL, number, word);
    }
    fclose(file);
    return 0;
}

static int read_descriptors(pid_t pid, uint64_t until, visitor *visit, void *context)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? -ESRCH : -errno;
    int code = 0;
    for (struct dirent *entry; !code && (entry = readdir(folder));) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (!strcmp(target, "anon_inode:[eventpoll]"))
            code = read_epoll(pid, (unsigned)atoi(entry->d_name), visit, context);
        if (!code && until && clock_now() > until)
            code = -ETIMEDOUT;
    }
    closedir(folder);
    return code;
}

/* "ID: 1", then "signal: 60/00007fff86e452a8" */
static void read_timers(pid_t pid, visitor *visit, void *context)
{
    char path[64], line[256];
    unsigned number = 0;
    snprintf(path, sizeof path, "/proc/%d/timers", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t word;
        if (sscanf(line, "ID: %u", &number) != 1 && sscanf(line, "signal: %*d/%" SCNx64, &word) == 1)
            visit(context, KERNEL_POINTER_TIMER, number, word);
    }
    if (file)
        fclose(file);
}

int kernel_pointers_visit(pid_t pid, uint64_t until, visitor *visit, void *context)
{
    int code = read_descriptors(pid, until, visit, context);
    if (!code)
        read_timers(pid, visit, context);
    return code;
}
