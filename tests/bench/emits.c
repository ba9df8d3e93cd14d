/*
 * emits THREADS CALLS [PER SECOND]: each thread makes CALLS calls of `mark`, as fast as it can or so many a second, and
 * ends. Prints the calls of all threads a second.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 64 };

/* Begins with an instruction that the kernel need not step over. */
void mark(void);
#if defined(__x86_64__)
__asm__(".text\n.globl mark\n.type mark, @function\nmark:\npush %rbp\npop %rbp\nret\n.size mark, .-mark\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl mark\n.type mark, @function\nmark:\nnop\nret\n.size mark, .-mark\n");
#endif

static long calls, per_second;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *call(void *unused)
{
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long i = 0; i < calls; i++) {
        mark();
        if (!per_second)
            continue;
        next.tv_nsec += 1000000000 / per_second;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        /* Who slept where it is late would fall behind. */
        if (now() < (double)next.tv_sec + (double)next.tv_nsec / 1e9)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[1]) : 0;
    calls = argc > 2 ? atol(argv[2]) : 0;
    per_second = argc > 3 ? atol(argv[3]) : 0;
    if (threads < 1 || threads > THREADS_MAX || calls < 1 || per_second < 0)
        return 2;
    pthread_t thread[THREADS_MAX];
    double start = now();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, call, NULL))
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%.0f calls/s\n", (double)threads * (double)calls / (now() - start));
    return 0;
}
