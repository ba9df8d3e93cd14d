/*
 * measure COMMAND [argument ...]: runs it with its output thrown away; prints "SECONDS KILOBYTES START": wall-clock
 * time, peak resident memory, and when it was started (CLOCK_MONOTONIC in seconds).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    double start = now();
    pid_t pid = vfork(); /* no copy of this process counts as the command's memory */
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    struct rusage usage;
    int status;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 1;
    printf("%.6f %ld %.6f\n", now() - start, usage.ru_maxrss, start);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
