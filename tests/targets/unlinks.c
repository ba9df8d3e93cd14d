/*
 * Makes code as it runs and names it in /tmp/perf-PID.map, which it removes before it ends. The code calls `mark`: 23
 * times as "made_first" from the file's beginning on, and 101 times as "made_later", which it names once whoever traces
 * it, its parent, has the file open; or after five seconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "noinline.h"

enum { FIRST = 23, LATER = 101, SIZE = 4096, LOOKS = 500, PAUSE = 10000 };

#ifdef __x86_64__
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const unsigned framed[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

static volatile long sink;

NOINLINE void mark(void)
{
    sink++;
}

static void *make(void)
{
    void *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(1);
    memcpy(code, framed, sizeof framed);
    __builtin___clear_cache(code, (char *)code + sizeof framed);
    return code;
}

/* True if the parent has the file PATH open. */
static bool is_open(const char *path)
{
    char folder[64], name[PATH_MAX], target[PATH_MAX];
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)getppid());
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && !found && (entry = readdir(open));) {
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = !strcmp(target, path);
    }
    if (open)
        closedir(open);
    return found;
}

static void call(void *code, int times)
{
    void (*function)(void (*)(void));
    memcpy(&function, &code, sizeof function);
    for (int i = 0; i < times; i++)
        function(mark);
}

int main(void)
{
    char path[64];
    void *first = make(), *later = make();
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return 1;
    fprintf(file, "%lx %zx made_first\n", (unsigned long)first, sizeof framed);
    fflush(file);
    call(first, FIRST);
    for (int i = 0; i < LOOKS && !is_open(path); i++)
        usleep(PAUSE);
    fprintf(file, "%lx %zx made_later\n", (unsigned long)later, sizeof framed);
    fclose(file);
    call(later, LATER);
    unlink(path);
    printf("%d and %d calls\n", FIRST, LATER);
    return 0;
}
