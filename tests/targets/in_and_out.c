/*
 * in_and_out ROUNDS: a thread that is called "in" and "out" by turns, and changes its name between entries and returns.
 * Of the calls of work() in a round the 1st, twice, the 3rd and the 5th begin while it is "in"; the 3rd leaves as
 * "out", and the 5th is left by longjmp: the 6th begins in its place, as "out". outer() begins and ends as "in". So do
 * four prctl(PR_SET_NAME) of a round begin, all for "out". At the end of a round it sleeps for 2 ms as "in" and for 9
 * as "out".
 */
#include <setjmp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static jmp_buf left;

static void call(const char *name)
{
    prctl(PR_SET_NAME, name);
}

__attribute__((noinline)) long work(long number, const char *name)
{
    if (name)
        call(name);
    if (number == 5)
        longjmp(left, 1);
    return number;
}

__attribute__((noinline)) long outer(long number)
{
    call("out");
    long sum = work(8, NULL);
    call("in");
    return number + sum + work(1, NULL);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 23;
    for (volatile int i = 0; i < rounds; i++) {
        call("in");
        work(1, NULL);
        work(3, "out");
        work(2, NULL);
        work(4, "in");
        if (!setjmp(left))
            work(5, "out");
        work(6, "in");
        outer(7);
        usleep(2000);
        call("out");
        usleep(9000);
    }
    return 0;
}
