/*
 * Maps executable memory of a file with a long name, on one CPU, more often than what a tracer is told of a CPU has
 * room for (1 MB): 4,000 times. Others that trace meanwhile have time to read what they are told: it takes 0.6 s.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TIMES = 4000, PAGE = 65536, AT_ONCE = 100, PAUSE = 15000 /* us */ };

int main(void)
{
    char name[250];
    cpu_set_t cpus;

    memset(name, 'm', sizeof name);
    name[sizeof name - 1] = '\0';
    int file = memfd_create(name, 0);
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    if (file < 0 || sched_setaffinity(0, sizeof cpus, &cpus))
        return 1;
    for (int i = 0; i < TIMES; i++) {
        void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
        if (mapped == MAP_FAILED || munmap(mapped, PAGE))
            return 1;
        if (i % AT_ONCE == 0)
            usleep(PAUSE);
    }
    return 0;
}
