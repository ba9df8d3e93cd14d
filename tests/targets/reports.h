/* What reports.c and reports_calls.c share. */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

enum { SOME = 23, MANY = 101 };

struct report_case {
    const char *name;
    void (*run)(void);
};

/* Runs the case of this name, of a table that ends with NULL: the exit status. */
static inline int run_case(const struct report_case *cases, const char *name)
{
    for (; cases->name; cases++) {
        if (strcmp(cases->name, name) == 0) {
            cases->run();
            return 0;
        }
    }
    fprintf(stderr, "no such case: %s\n", name);
    return 2;
}

/* Runs a function in N threads, at most four, and waits for them. */
static inline void in_threads(int n, void *(*function)(void *))
{
    pthread_t threads[4];

    for (int i = 0; i < n; i++) {
        if (pthread_create(&threads[i], NULL, function, NULL) != 0)
            abort();
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
