/*
 * Two threads that do the same at the same time, on two CPUs where there are as many: ROUNDS (1009) times the first one
 * calls begin(i), then both call end(i); then both call enter(7), and both call leave(7).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "noinline.h"

static int rounds = 1009;
static volatile int arrived[2];
static volatile long work_done;

NOINLINE void begin(int i)
{
    __asm__ volatile("nop");
    work_done += i;
}

NOINLINE void end(int i)
{
    __asm__ volatile("nop");
    work_done -= i;
}

NOINLINE void enter(int key)
{
    __asm__ volatile("nop");
    work_done += key;
}

NOINLINE void leave(int key)
{
    __asm__ volatile("nop");
    work_done -= key;
}

static void meet(int self)
{
    int turn = ++arrived[self];

    for (long spins = 0; arrived[!self] < turn; spins++)
        if (spins > 1000) /* the other one has no CPU */
            sched_yield();
}

static void *run(void *context)
{
    int self = context != NULL;

    for (int i = 0; i < rounds; i++) {
        if (!self)
            begin(i);
        meet(self);
        end(i);
        meet(self);
        enter(7);
        meet(self);
        leave(7);
        meet(self);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t other;

    if (argc > 1)
        rounds = atoi(argv[1]);
    pthread_create(&other, NULL, run, "other");
    run(NULL);
    pthread_join(other, NULL);
    return 0;
}
