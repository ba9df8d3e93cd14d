/*
 * Executes itself again and again, from its first thread or from another one, and calls functions at the end.
 *
 *   executes first|thread TIMES CALLS [asked]
 *
 * It executes itself TIMES times, each time after one call of step(); the last one calls step(i) and libc's getppid
 * CALLS times, and passes the USDT probe app:guarded, whose semaphore has to be above 0, as often. With "asked" it
 * prints "ready PID" first and waits for a byte on stdin; the last one calls beat() each millisecond, until there is
 * another one. Prints "calls N, guarded N".
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"

__attribute__((section(".probes"), used)) volatile unsigned short app_guarded_semaphore;

static NOINLINE long step(long i)
{
    __asm__ volatile("" : "+r"(i) : : "memory");
    return i * 2;
}

static NOINLINE void beat(void)
{
    __asm__ volatile("" : : : "memory");
}

static NOINLINE int marker(int i)
{
    if (!__builtin_expect(app_guarded_semaphore, 0))
        return 0;
    __asm__ volatile(USDT_GUARDED("app", "guarded", "app_guarded_semaphore", "-4@%0")::"nor"(i));
    return 1;
}

static char **arguments;

static void *execute(void *unused)
{
    char times[16];

    snprintf(times, sizeof times, "%d", atoi(arguments[2]) - 1);
    arguments[2] = times;
    execv("/proc/self/exe", arguments);
    perror("execv");
    exit(1);
    return unused;
}

static void execute_in_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, execute, NULL) != 0)
        exit(1);
    for (;;)
        pause();
}

static void wait_for_byte(void)
{
    char byte;

    if (read(STDIN_FILENO, &byte, 1) != 1)
        exit(1);
}

static void call(int calls)
{
    int guarded = 0;

    for (int i = 0; i < calls; i++) {
        step(i);
        getppid();
        guarded += marker(i);
    }
    printf("calls %d, guarded %d\n", calls, guarded);
}

int main(int argc, char **argv)
{
    int times = argc > 3 ? atoi(argv[2]) : 0, asked = argc > 4;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    arguments = argv;
    if (argc < 4)
        return 2;
    if (times > 0) {
        if (asked && strcmp(argv[4], "asked") == 0) {
            printf("ready %d\n", (int)getpid());
            fflush(stdout);
            wait_for_byte();
            argv[4] = "beats";
        }
        step(-1);
        if (strcmp(argv[1], "thread") == 0)
            execute_in_thread();
        execute(NULL);
    }
    while (asked && poll(&input, 1, 1) == 0)
        beat();
    call(atoi(argv[3]));
    return 0;
}
