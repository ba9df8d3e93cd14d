/*
 * Does what it is told, a line at a time, and says when it is done: a script that traces it may wait for that.
 *
 *   steps IN OUT      reads commands from the FIFO IN, answers each by a line in the FIFO OUT
 *
 * "NUMBER" calls step() so many times, and answers the number. "hold" enters hold(), answers "held", and returns from
 * it with the next line, whatever that is: the answer is "returned". "run" has THREADS threads call step() until the
 * next line, and answers "running"; the answer to the next line is how often they did.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noinline.h"

enum { THREADS = 2 };

static FILE *in, *out;
static char line[64];
static atomic_bool is_over;

NOINLINE unsigned long step(unsigned long thread, unsigned long i)
{
    __asm__ volatile("" : "+r"(i) : : "memory");
    return thread + i;
}

static void answer(const char *text)
{
    fprintf(out, "%s\n", text);
    fflush(out);
}

static int next(void)
{
    if (!fgets(line, sizeof line, in))
        return 0;
    line[strcspn(line, "\n")] = '\0';
    return 1;
}

NOINLINE int hold(int number)
{
    answer("held");
    next();
    __asm__ volatile("" : "+r"(number) : : "memory");
    return number;
}

static void *work(void *number)
{
    unsigned long i = 0;

    while (!is_over)
        step((unsigned long)(size_t)number, i++);
    return (void *)i;
}

static void run(void)
{
    pthread_t threads[THREADS];
    unsigned long sum = 0;
    void *count;

    is_over = 0;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    answer("running");
    next();
    is_over = 1;
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &count);
        sum += (unsigned long)count;
    }
    snprintf(line, sizeof line, "%lu", sum);
    answer(line);
}

int main(int argc, char **argv)
{
    in = argc > 2 ? fopen(argv[1], "r") : NULL;
    out = in ? fopen(argv[2], "w") : NULL;
    if (!out)
        return 1;
    while (next()) {
        if (!strcmp(line, "hold")) {
            hold(23);
            answer("returned");
        } else if (!strcmp(line, "run")) {
            run();
        } else {
            unsigned long count = strtoul(line, NULL, 10);

            for (unsigned long i = 0; i < count; i++)
                step(0, i);
            answer(line);
        }
    }
    return 0;
}
