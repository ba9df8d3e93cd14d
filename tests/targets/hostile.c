/*
 * A program whose name, arguments and files are chosen to drive the terminal of whoever prints them: 23 times it opens
 * a file that is not there and calls touch() with its name, then it computes for a while and becomes /bin/true with
 * such an argument.
 *
 *     hostile [MILLISECONDS]    of computing (default 0)
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

#define NASTY "\033[7m\xff<&\"'\x9b;\n"

int touch(const char *path);
long compute(long milliseconds);

NOINLINE int touch(const char *path)
{
    return open(path, O_RDONLY);
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

NOINLINE long compute(long milliseconds)
{
    volatile long sum = 0;
    for (long end = now_ms() + milliseconds; now_ms() < end;)
        for (int i = 0; i < 10000; i++)
            sum += i;
    return sum;
}

int main(int argc, char *argv[])
{
    prctl(PR_SET_NAME, NASTY);
    for (int i = 0; i < 23; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        touch("/nowhere/" NASTY);
    }
    compute(argc > 1 ? atol(argv[1]) : 0);
    execv("/bin/true", (char *[]){"true", NASTY, NULL});
    return 1;
}
