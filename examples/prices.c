/*
 * A program with a slow function, for doc/tutorial.md: it answers requests for prices from a list in memory, and asks
 * the warehouse, which takes 20 ms, where the list does not have the article. It answers 200 requests, or as many as
 * the argument says, and prints how long the slowest took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRACED __attribute__((noinline))

struct price {
    const char *article;
    int cents;
};

static const struct price list[] = {{"tea", 250}, {"coffee", 310}, {"cup", 425}, {"teapot", 1999}};

static void pause_for(long microseconds)
{
    struct timespec time = {.tv_nsec = microseconds * 1000};
    nanosleep(&time, NULL);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The price that the warehouse says. */
TRACED int ask_warehouse(const char *article);
/* What one piece of the article costs, in cents. */
TRACED int price_of(const char *article);
/* What so many pieces cost. */
TRACED int answer(const char *article, int pieces);

int ask_warehouse(const char *article)
{
    pause_for(20000);
    return article[0] == 'T' ? 1999 : 0;
}

int price_of(const char *article)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!strcmp(list[i].article, article))
            return list[i].cents;
    return ask_warehouse(article);
}

int answer(const char *article, int pieces)
{
    return pieces * price_of(article);
}

int main(int argc, char **argv)
{
    static const char *const articles[] = {"tea", "coffee", "cup", "teapot"};
    int requests = argc > 1 ? atoi(argv[1]) : 200;
    double slowest = 0;
    for (int i = 0; i < requests; i++) {
        double begin = now();
        answer(i % 25 == 12 ? "Teapot" : articles[i % 4], 1 + i % 3);
        double took = now() - begin;
        slowest = took > slowest ? took : slowest;
        pause_for(1000);
    }
    printf("%d requests, the slowest took %.1f ms\n", requests, slowest * 1000);
    return 0;
}
