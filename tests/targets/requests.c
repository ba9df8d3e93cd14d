/*
 * Requests that one thread queues, a second one works on and a third one answers, one at a time, with known durations.
 *
 *   requests [REQUESTS [wait]]     1,009 without an argument; with "wait" it prints "ready PID" first and waits for a
 *                                  byte on stdin
 *
 *   app:queued      (i, its name "request i") in the first thread, right after note(i)
 *   app:started     (i) in the second, which then calls step(i, 0) … step(i, 4) and sleeps 12 ms of each tenth request
 *   app:answered    (i, its name) in the third, but for 23 requests: 3, 43, 83 … 883
 *   app:twice       (i) in the third, twice for each request that is answered, behind app:answered
 * A fourth thread calls noise() each millisecond.
 *
 * It then prints a line for each request, "i INNER OUTER": the nanoseconds from behind app:queued to before
 * app:answered, and from before to behind, by its own clock; or "i unanswered".
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"

#define PROBE(name, arguments, ...) __asm__ volatile(USDT("app", name, arguments)::__VA_ARGS__)

enum { MANY = 1009, EACH_SLOW = 10, UNANSWERED = 23, STEPS = 5, MOST = 100000 };

struct request {
    char name[24];
    long before, queued, reached, behind;
    int answered;
};

static struct request requests[MOST];
static sem_t to_work, to_answer, done;
static int count = MANY;
static volatile int stopping;
static volatile long work_done;

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

NOINLINE void note(int i)
{
    work_done += i;
}

NOINLINE void step(int i, int k)
{
    work_done += i * k;
}

NOINLINE void noise(void)
{
    work_done++;
}

static void *queue(void *context)
{
    for (int i = 0; i < count; i++) {
        struct request *request = &requests[i];

        snprintf(request->name, sizeof request->name, "request %d", i);
        note(i);
        request->before = now();
        PROBE("queued", "-4@%0 8@%1", "r"(i), "r"(request->name));
        request->queued = now();
        sem_post(&to_work);
        sem_wait(&done);
    }
    return context;
}

static void *work(void *context)
{
    static const struct timespec pause = {.tv_nsec = 12000000};

    for (int i = 0; i < count; i++) {
        while (sem_wait(&to_work))
            ;
        PROBE("started", "-4@%0", "r"(i));
        for (int k = 0; k < STEPS; k++)
            step(i, k);
        if (i % EACH_SLOW == 0)
            nanosleep(&pause, NULL);
        sem_post(&to_answer);
    }
    return context;
}

static void *answer(void *context)
{
    for (int i = 0; i < count; i++) {
        struct request *request = &requests[i];

        while (sem_wait(&to_answer))
            ;
        request->answered = !(i % 40 == 3 && i / 40 < UNANSWERED);
        if (request->answered) {
            request->reached = now();
            PROBE("answered", "-4@%0 8@%1", "r"(i), "r"(request->name));
            request->behind = now();
            PROBE("twice", "-4@%0", "r"(i));
            PROBE("twice", "-4@%0", "r"(i));
        }
        sem_post(&done);
    }
    return context;
}

static void *make_noise(void *context)
{
    static const struct timespec pause = {.tv_nsec = 1000000};

    while (!stopping) {
        noise();
        nanosleep(&pause, NULL);
    }
    return context;
}

int main(int argc, char **argv)
{
    void *(*const parts[])(void *) = {answer, work, queue};
    pthread_t threads[3], noisy;

    if (argc > 1)
        count = atoi(argv[1]) < MOST ? atoi(argv[1]) : MOST;
    if (argc > 2) {
        char byte;

        printf("ready %d\n", getpid());
        fflush(stdout);
        if (read(0, &byte, 1) < 0)
            return 1;
    }
    sem_init(&to_work, 0, 0);
    sem_init(&to_answer, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&noisy, NULL, make_noise, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, parts[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    stopping = 1;
    pthread_join(noisy, NULL);
    for (int i = 0; i < count; i++) {
        const struct request *r = &requests[i];

        if (r->answered)
            printf("%d %ld %ld\n", i, r->reached - r->queued, r->behind - r->before);
        else
            printf("%d unanswered\n", i);
    }
    return 0;
}
