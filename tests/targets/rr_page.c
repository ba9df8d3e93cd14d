/*
 * A process that looks like one that rr records: it maps a page where rr has its own, without a file. Prints "ready
 * PID" and calls turn() 23 times for each byte on stdin; with the argument "elsewhere" the page lies elsewhere.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "noinline.h"

static char output[4096];

NOINLINE void turn(void)
{
    __asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
    int elsewhere = argc > 1 && !strcmp(argv[1], "elsewhere");
    void *wanted = (void *)(elsewhere ? 0x72000000L : 0x70000000L);
    void *page = mmap(wanted, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    char byte;

    setvbuf(stdout, output, _IOLBF, sizeof(output));
    if (page != wanted)
        return 1;
    printf("ready %d\n", (int)getpid());
    while (read(0, &byte, 1) == 1) {
        for (int i = 0; i < 23; i++)
            turn();
        printf("turned\n");
    }
    return 0;
}
