/* hot THREADS CALLS: each thread calls `work` so often, without a pause; then the program waits for half a second, in
 * which reports come that have nothing of them. Prints how many calls there were. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "noinline.h"

enum { MAX_THREADS = 64 };

static volatile long sink;
static int calls;

NOINLINE void work(int i)
{
    sink += i;
}

static void *run(void *unused)
{
    for (int i = 0; i < calls; i++)
        work(i);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[MAX_THREADS];
    int thread_count = count > 1 ? atoi(arguments[1]) : 1;
    if (count < 3 || thread_count < 1 || thread_count > MAX_THREADS)
        return 2;
    calls = atoi(arguments[2]);
    for (int i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    usleep(500 * 1000);
    printf("%ld\n", (long)thread_count * calls);
    return 0;
}
