/*
 * A program that hangs, for doc/tutorial.md: two threads transfer money between two accounts, each in the other
 * direction. A transfer locks the account that pays, then the one that gets, so that each thread comes to wait for the
 * lock that the other one holds: a deadlock.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define TRACED __attribute__((noinline))

struct account {
    pthread_mutex_t lock;
    long cents;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100000}, daily = {PTHREAD_MUTEX_INITIALIZER, 20000};

/* Moves CENTS from one account to the other. */
TRACED void transfer(struct account *from, struct account *to, long cents);

void transfer(struct account *from, struct account *to, long cents)
{
    struct timespec work = {.tv_nsec = 10000000};
    pthread_mutex_lock(&from->lock);
    nanosleep(&work, NULL); /* what is written into the books meanwhile */
    pthread_mutex_lock(&to->lock);
    from->cents -= cents;
    to->cents += cents;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *pay_in(void *unused)
{
    for (int i = 0; i < 10; i++)
        transfer(&daily, &savings, 500);
    return unused;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, pay_in, NULL))
        return 1;
    for (int i = 0; i < 10; i++)
        transfer(&savings, &daily, 1000);
    pthread_join(other, NULL);
    printf("savings %ld, daily %ld\n", savings.cents, daily.cents);
    return 0;
}
