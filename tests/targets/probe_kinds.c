/*
 * Threads, and a child that executes the same program, which pass probes of every kind a known, prime number of times.
 *
 *   probe_kinds NAME          4 threads, T from 0 on, called "NAME-T", do the deeds below 101 times; then main starts
 *                             the child `probe_kinds NAME child`, which does the same, waits for it and prints "done"
 *   probe_kinds NAME wait     the threads are there when it prints "ready" and waits for a byte; after "done" it waits
 *                             for the end of its input
 *   probe_kinds NAME sealed   the same, but the page with the semaphore cannot be written to any more
 *
 * The deed I, from 1 on, of thread T:
 *   deed(I, T) is called, and returns I + T
 *   the USDT probes app:deed (I, T) and, only while its semaphore is above 0, app:guarded (I, T) are passed
 *   `watched` is written
 *   lseek(-1, I, 7) fails
 *   SIGURG is sent to the thread, which ignores it (signal:signal_generate)
 *   a page from 0x230000000000 on is touched that nobody has touched before
 * Behind them each thread computes for 40 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"

enum { THREADS = 4, TIMES = 101, PAGE = 4096, COMPUTE_MS = 40 };
#define REGION ((char *)0x230000000000)

__attribute__((section(".probes"), used, aligned(PAGE))) struct {
    volatile unsigned short count;
    char rest[PAGE - sizeof(unsigned short)];
} app_guarded_semaphore;
volatile long watched;
static pthread_barrier_t there, start;
static const char *name;

NOINLINE long deed(long i, long thread)
{
    __asm__ volatile(USDT("app", "deed", "-8@%0 -8@%1")::"nor"(i), "nor"(thread));
    if (app_guarded_semaphore.count)
        __asm__ volatile(USDT_GUARDED("app", "guarded", "app_guarded_semaphore", "-8@%0 -8@%1")::"nor"(i),
                         "nor"(thread));
    return i + thread;
}

static void compute(void)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < COMPUTE_MS * 1000000L);
}

static void *work(void *argument)
{
    long thread = (long)(intptr_t)argument;
    char own[16];
    snprintf(own, sizeof own, "%.13s-%d", name, (int)thread);
    prctl(PR_SET_NAME, own);
    pthread_barrier_wait(&there);
    pthread_barrier_wait(&start);
    for (long i = 1; i <= TIMES; i++) {
        if (deed(i, thread) != i + thread)
            _exit(3);
        watched = i;
        lseek(-1, i, 7);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGURG);
        *(volatile char *)(REGION + (thread * TIMES + i) * PAGE) = 1;
    }
    compute();
    return NULL;
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    const char *word = argc > 2 ? argv[2] : "";
    char byte;
    size_t size = (THREADS * TIMES + 1) * PAGE;
    if (argc < 2)
        return 2;
    name = argv[1];
    if (mmap(REGION, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != REGION)
        return 1;
    madvise(REGION, size, MADV_NOHUGEPAGE);
    pthread_barrier_init(&there, NULL, THREADS + 1);
    pthread_barrier_init(&start, NULL, THREADS + 1);
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 1;
    pthread_barrier_wait(&there);
    bool sealed = !strcmp(word, "sealed"), waits = sealed || !strcmp(word, "wait");
    if (sealed && mprotect(&app_guarded_semaphore, PAGE, PROT_READ))
        return 1;
    if (waits) {
        say("ready");
        if (read(0, &byte, 1) != 1)
            return 1;
    }
    pthread_barrier_wait(&start);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!strcmp(word, "child"))
        return 0;
    if (fork() == 0) {
        execl("/proc/self/exe", "probe_kinds", name, "child", (char *)NULL);
        _exit(1);
    }
    int status;
    if (wait(&status) < 0 || status)
        return 1;
    say("done");
    while (waits && read(0, &byte, 1) > 0)
        continue;
    return 0;
}
