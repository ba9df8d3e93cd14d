/*
 * Writes marks to the file that it is given, as programs write to trace_marker: 101 spans, each with one of 20 us in
 * it; 23 that begin before and end after one of these; a counter's value after each; one that does not end, one that
 * has not begun, and a text. Prints by its own clock how long the inner spans were in all, in ns.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SPANS = 101, JOBS = 23, INNER_NS = 20000 };

static int marker;

static uint64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void mark(const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (write(marker, text, (size_t)size) != size)
        _exit(1);
}

int main(int argc, char **argv)
{
    marker = open(argc > 1 ? argv[1] : "trace_marker", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int pid = getpid();
    uint64_t inner = 0;
    mark("E|%d\n", pid);
    for (int i = 0; i < SPANS; i++) {
        if (i < JOBS)
            mark("S|%d|job|%d\n", pid, i);
        mark("B|%d|outer\n", pid);
        mark("B|%d|inner \"%d\"\n", pid, i % 2);
        uint64_t since = now();
        while (now() - since < INNER_NS)
            ;
        inner += now() - since;
        mark("E|%d\n", pid);
        mark("E|%d\n", pid);
        mark("C|%d|round|%d\n", pid, i);
        if (i < JOBS)
            mark("F|%d|job|%d\n", pid, i);
    }
    mark("Everything is done\n");
    mark("B|%d|for ever\n", pid);
    printf("inner %llu\n", (unsigned long long)inner);
    return 0;
}
