/* Makes signals of each kind of cause come, one after the other, and goes on behind each: for the lines of systrace. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static sigjmp_buf back;
static volatile sig_atomic_t come;

static void handle(int signal)
{
    (void)signal;
    come = 1;
}

static void leave(int signal)
{
    siglongjmp(back, signal);
}

static void wait_for_it(void)
{
    while (!come)
        pause();
    come = 0;
}

static void fault(int signal, void (*cause)(void))
{
    struct sigaction action = {.sa_handler = leave};
    sigaction(signal, &action, NULL);
    if (!sigsetjmp(back, 1))
        cause();
}

static volatile int zero;
static char *volatile nowhere = (char *)0x10;

static void divide(void)
{
    zero = 5 / zero;
}

static void write_nowhere(void)
{
    *nowhere = 1;
}

static void write_to_text(void)
{
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[5] = 1;
}

static void read_behind_the_file(void)
{
    char path[] = "/tmp/signal-causes-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    zero = page[0];
}

static void illegal(void)
{
    __builtin_trap();
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle};
    const int plain[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE, SIGPROF, SIGRTMIN, SIGSYS};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        sigaction(plain[i], &action, NULL);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR2);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 4711});
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_ptr = NULL});
    come = 0;
    ualarm(1000, 0);
    wait_for_it();
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 23};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 1000000}, NULL);
    wait_for_it();
    for (int ends = 0; ends < 2; ends++) {
        pid_t child = fork();
        if (!child) {
            if (ends)
                kill(getpid(), SIGKILL);
            _exit(3);
        }
        while (waitpid(child, NULL, 0) < 0)
            continue;
        come = 0;
    }
    int ends[2];
    if (pipe(ends))
        return 1;
    close(ends[0]);
    if (write(ends[1], "x", 1) != -1)
        return 1;
    fault(SIGSEGV, write_nowhere);
    fault(SIGSEGV, write_to_text);
    fault(SIGBUS, read_behind_the_file);
    fault(SIGFPE, divide);
    fault(SIGILL, illegal);
    struct sock_filter traps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 7),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof traps / sizeof *traps, traps};
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        getppid();
    return 0;
}
