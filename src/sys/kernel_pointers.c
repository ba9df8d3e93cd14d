/* Words of a program that the kernel keeps for it, as proc(5) shows them. */
#include "sys/kernel_pointers.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void visitor(void *context, enum kernel_pointer kind, unsigned number, uint64_t word);

/* "tfd:        5 events:       19 data:     7f0000001234 pos:0 ino:…", one for each descriptor that it watches */
static void read_epoll(pid_t pid, unsigned number, visitor *visit, void *context)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%u", (int)pid, number);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t word;
        char *data = strncmp(line, "tfd:", 4) ? NULL : strstr(line, "data:");
        if (data && sscanf(data, "data: %" SCNx64, &word) == 1)
            visit(context, KERNEL_POINTER_EPOLL, number, word);
    }
    if (file)
        fclose(file);
}

static void read_descriptors(pid_t pid, visitor *visit, void *context)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (!strcmp(target, "anon_inode:[eventpoll]"))
            read_epoll(pid, (unsigned)atoi(entry->d_name), visit, context);
    }
    if (folder)
        closedir(folder);
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

void kernel_pointers_visit(pid_t pid, visitor *visit, void *context)
{
    read_descriptors(pid, visit, context);
    read_timers(pid, visit, context);
}
