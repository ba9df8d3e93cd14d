/*
 * Threads of one CPU under SCHED_FIFO, which wake each other at known times. The main thread has priority 20. 23 times
 * it wakes a thread of priority 30, which takes the CPU from it at once; then 101 times it wakes 7 threads of priority
 * 10, one after the other, which wait until the main thread waits for them. So a waking of the first kind makes the
 * kernel want another thread, and then 2 threads of real time can run there; one of the second kind does not, and then
 * 2 … 8 can. Meanwhile the main thread is called "wakes". Prints "23 101 7"; ends with 77 where the kernel does not
 * permit that.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { URGENT_TIMES = 23, PATIENT_TIMES = 101, PATIENT = 7, FORBIDDEN = 77 };

static sem_t wanted[PATIENT + 1], done;
static volatile pid_t threads[PATIENT + 1];

/* Waits until all others sleep, as the kernel sees it. */
static void await_sleep(void)
{
    for (int i = 0; i <= PATIENT; i++) {
        char path[64], state = 0;
        do {
            usleep(100);
            snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)threads[i]);
            FILE *file = threads[i] ? fopen(path, "r") : NULL;
            if (file) {
                if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
                    state = 0;
                fclose(file);
            }
        } while (state != 'S');
    }
}

static void *work(void *number)
{
    threads[(intptr_t)number] = gettid();
    for (;;) {
        sem_wait(&wanted[(intptr_t)number]);
        sem_post(&done);
    }
    return NULL;
}

static int start(intptr_t number, int priority)
{
    pthread_t thread;
    pthread_attr_t attributes;
    struct sched_param parameter = {.sched_priority = priority};
    sem_init(&wanted[number], 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameter);
    return pthread_create(&thread, &attributes, work, (void *)number);
}

int main(void)
{
    struct sched_param parameter = {.sched_priority = 20};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sem_init(&done, 0, 0);
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &parameter))
        return FORBIDDEN;
    for (int i = 0; i <= PATIENT; i++)
        if (start(i, i ? 10 : 30))
            return FORBIDDEN;
    await_sleep();
    prctl(PR_SET_NAME, "wakes");
    for (int i = 0; i < URGENT_TIMES; i++) {
        sem_post(&wanted[0]);
        sem_wait(&done);
        await_sleep();
    }
    for (int i = 0; i < PATIENT_TIMES; i++) {
        for (int n = 1; n <= PATIENT; n++)
            sem_post(&wanted[n]);
        for (int n = 1; n <= PATIENT; n++)
            sem_wait(&done);
        await_sleep();
    }
    prctl(PR_SET_NAME, "is done");
    printf("%d %d %d\n", URGENT_TIMES, PATIENT_TIMES, PATIENT);
    return 0;
}
