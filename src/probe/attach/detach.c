/* Closes what is attached, with several threads where that is slow. */
#include "probe/attach/detach.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "sys/mmap_events.h"

/*
 * Each close of a link sleeps in the kernel until no CPU can be running its program any more (RCU grace periods, 20 to
 * 70 ms). Threads that wait at the same time share them: 20 links take 44 ms instead of 1.2 s (6.18). Perf events wait
 * one after the other, under a lock: 33 take 3 s, in which the caller keeps what is recorded of mappings.
 */
enum { MAX_THREADS = 64, STACK_SIZE = 64 << 10, PAUSE = 10 * 1000 * 1000 /* ns */ };

struct queue {
    const int *fds;
    size_t count;
    atomic_size_t next;
};

static void *work(void *context)
{
    struct queue *queue = context;
    size_t i;
    while ((i = atomic_fetch_add(&queue->next, 1)) < queue->count)
        close(queue->fds[i]);
    return NULL;
}

static void join(pthread_t thread)
{
    struct timespec until;
    do {
        mmap_events_keep();
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PAUSE;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
}

void descriptors_close(const int *fds, size_t count)
{
    struct queue queue = {.fds = fds, .count = count};
    pthread_t threads[MAX_THREADS];
    pthread_attr_t attributes;
    size_t started = 0;
    if (count && pthread_attr_init(&attributes) == 0) {
        /* Signals are for the thread that has the handlers' state. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        while (started < MAX_THREADS && started < count &&
               pthread_create(&threads[started], &attributes, work, &queue) == 0)
            started++;
        pthread_attr_destroy(&attributes);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (!started)
        work(&queue);
    for (size_t i = 0; i < started; i++)
        join(threads[i]);
}
