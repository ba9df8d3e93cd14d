/*
 * interrupted: one call after the other that signals interrupt, each where the call waits. Descriptor 100 is waited on
 * all the time, 101 has a byte for each handler of SIGUSR1.
 *
 *   read of 100     SIGUSR1 23 times, whose handler reads 101; then a byte: the kernel makes it again each time
 *   read of 100     SIGUSR2, without SA_RESTART: EINTR
 *   nanosleep       stopped, and continued: it goes on as restart_syscall; then SIGUSR2: EINTR
 *   rt_sigsuspend   SIGUSR2: EINTR, whatever its flags
 *   read of 100     SIGALRM 5 times, whose handler jumps back to before the call, where another one, of SIGHUP, comes
 *                   to its end before the call is made again from the same place; then a byte
 *
 * The sender is a child. Status 0 if all has come so.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OUTER = 100, INNER = 101, TIMES = 23, JUMPS = 5 };

static volatile int *handled, *first_over; /* shared with the sender */
static sigjmp_buf before;

static void read_inner(int signal)
{
    char byte;
    (void)signal;
    if (read(INNER, &byte, 1) != 1)
        _exit(3);
    ++*handled;
}

static void note(int signal)
{
    (void)signal;
    ++*handled;
}

static void jump(int signal)
{
    (void)signal;
    ++*handled;
    siglongjmp(before, 1);
}

static void nothing(int signal)
{
    (void)signal;
}

/* --- the sender --- */

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Waits until the parent is in the call NUMBER, of which the kernel writes no number while it runs. */
static void await(pid_t parent, long number)
{
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)parent);
    for (;;) {
        FILE *in = fopen(path, "r");
        char *end = NULL;
        long found = in && fgets(line, sizeof line, in) ? strtol(line, &end, 10) : -1;
        if (in)
            fclose(in);
        if (getppid() != parent)
            _exit(4);
        if (end && end != line && found == number)
            return;
        pause_shortly();
    }
}

static void await_state(pid_t parent, char state)
{
    char path[64], found = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)parent);
    while (found != state) {
        FILE *in = fopen(path, "r");
        if (in && fscanf(in, "%*d (%*[^)]) %c", &found) != 1)
            found = 0;
        if (in)
            fclose(in);
        pause_shortly();
    }
}

static void send(pid_t parent, long number, int signal)
{
    int count = *handled;
    await(parent, number);
    kill(parent, signal);
    while (*handled == count && getppid() == parent)
        pause_shortly();
}

static void interrupt_all(pid_t parent, int outer, int inner)
{
    int good = 1;
    for (int i = 0; i < TIMES; i++) {
        good &= write(inner, "i", 1) == 1;
        send(parent, SYS_read, SIGUSR1);
    }
    await(parent, SYS_read);
    good &= write(outer, "o", 1) == 1;
    while (!*first_over && getppid() == parent) /* a thread that is being woken still seems to wait in that call */
        pause_shortly();
    send(parent, SYS_read, SIGUSR2);
    await(parent, SYS_nanosleep);
    kill(parent, SIGSTOP);
    await_state(parent, 'T');
    kill(parent, SIGCONT);
    send(parent, SYS_restart_syscall, SIGUSR2);
    send(parent, SYS_rt_sigsuspend, SIGUSR2);
    for (int i = 0; i < JUMPS; i++)
        send(parent, SYS_read, SIGALRM);
    await(parent, SYS_read);
    good &= write(outer, "o", 1) == 1;
    _exit(!good);
}

static void set(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

int main(void)
{
    int outer[2], inner[2], wrong = 0;
    char byte;
    handled = mmap(NULL, 2 * sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handled == MAP_FAILED || pipe(outer) || pipe(inner) || dup2(outer[0], OUTER) < 0 || dup2(inner[0], INNER) < 0)
        return 2;
    first_over = handled + 1;
    set(SIGUSR1, read_inner, SA_RESTART);
    set(SIGUSR2, note, 0);
    set(SIGALRM, jump, SA_RESTART);
    set(SIGHUP, nothing, SA_RESTART);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        interrupt_all(parent, outer[1], inner[1]);

    wrong += read(OUTER, &byte, 1) != 1;
    *first_over = 1;
    wrong += read(OUTER, &byte, 1) != -1 || errno != EINTR;
    wrong += syscall(SYS_nanosleep, &(struct timespec){600, 0}, NULL) != -1 || errno != EINTR;
    sigset_t none;
    sigemptyset(&none);
    wrong += sigsuspend(&none) != -1 || errno != EINTR;
    if (sigsetjmp(before, 1))
        raise(SIGHUP);
    wrong += read(OUTER, &byte, 1) != 1;
    int status;
    wrong += waitpid(child, &status, 0) != child || status;
    return wrong != 0;
}
