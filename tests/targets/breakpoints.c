/*
 * What the kernel's hardware breakpoints do on this machine, without uplua: 8 programs write 20,000 times each to a
 * place that is watched. Prints "8 programs, N ended, 160000 writes, N counted".
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS = 8, WRITES = 20000 };

static volatile long place;

static void write_there(int go)
{
    char byte;
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    for (long i = 0; i < WRITES; i++)
        place = i;
    _exit(0);
}

int main(void)
{
    unsigned ended = 0;
    long long counted = 0, hits = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        int go[2], status = 0;
        if (pipe(go))
            return 2;
        pid_t pid = fork();
        if (pid == 0)
            write_there(go[0]);
        struct perf_event_attr event = {
            .type = PERF_TYPE_BREAKPOINT,
            .size = sizeof event,
            .sample_period = 1,
            .bp_type = HW_BREAKPOINT_W,
            .bp_addr = (uintptr_t)&place,
            .bp_len = sizeof place,
            .exclude_kernel = 1,
        };
        int fd = (int)syscall(SYS_perf_event_open, &event, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            perror("perf_event_open");
            return 2;
        }
        if (write(go[1], "", 1) != 1 || waitpid(pid, &status, 0) != pid || read(fd, &hits, sizeof hits) != sizeof hits)
            return 2;
        ended += WIFSIGNALED(status);
        counted += hits;
        close(fd);
        close(go[0]);
        close(go[1]);
    }
    printf("%d programs, %u ended, %d writes, %lld counted\n", PROGRAMS, ended, PROGRAMS * WRITES, counted);
    return 0;
}
