/* src/sys/exit_hold.c: a process is held when it ends, its memory still there, and ends whatever happens to who holds
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/exit_hold.h"
#include "sys/procstat.h"
#include "tap.h"

enum { KILLS = 30, STATUS = 23, PATIENCE = 200000 };

static struct {
    volatile int phase;
} * shared;

/* A process that ends once a byte is written to *GATE: with STATUS, or as SCRIPT says. */
static pid_t start(int *gate, const char *script)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t pid = fork();
    if (!pid) {
        dup2(ends[0], 0);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    close(ends[0]);
    *gate = ends[1];
    return pid;
}

static void open_gate(int gate)
{
    ok(write(gate, "\n", 1) == 1, "it may end");
    close(gate);
}

/* Waits until HOLD is in STATE. */
static bool comes_to(struct exit_hold *hold, int state)
{
    for (int i = 0; i < PATIENCE && exit_hold_state(hold) != state; i++)
        usleep(100);
    return exit_hold_state(hold) == state;
}

static void wait_until_traced(pid_t pid)
{
    for (int i = 0; i < PATIENCE && !procstat_tracer(pid); i++)
        usleep(100);
}

static int status_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_hold(void)
{
    int gate;
    pid_t pid = start(&gate, "read line; exit 23");
    struct exit_hold *hold = exit_hold_new(pid);
    wait_until_traced(pid);
    ok(exit_hold_state(hold) == EXIT_RUNS, "it runs");
    open_gate(gate);
    ok(comes_to(hold, EXIT_HELD), "it is held");
    const struct thread_words *words = exit_hold_words(hold);
    ok(words->tid == pid && words->stack_pointer && words->count > 17, "its registers are there");
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    ok(pread(memory, &byte, 1, (off_t)words->stack_pointer) == 1, "and its memory");
    close(memory);
    usleep(20000);
    siginfo_t info = {0};
    ok(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_code != CLD_EXITED,
       "it has not ended for others");
    exit_hold_free(hold);
    is_int(status_of(pid), STATUS, "it ends with its status");
}

static void test_free(void)
{
    int gate;
    pid_t pid = start(&gate, "read line; exit 23");
    struct exit_hold *hold = exit_hold_new(pid);
    wait_until_traced(pid);
    exit_hold_free(hold);
    ok(!procstat_tracer(pid), "it is let go while it runs");
    open_gate(gate);
    is_int(status_of(pid), STATUS, "and ends as it would");
    hold = exit_hold_new(pid);
    ok(comes_to(hold, EXIT_MISSED) && strstr(exit_hold_error(hold), "cannot be held at its end"),
       "one that is gone: %s", exit_hold_error(hold));
    exit_hold_free(hold);
}

static void test_signals(void)
{
    int gate;
    pid_t pid = start(&gate, "trap 'exit 42' USR1; read line; kill -USR1 $$; exit 23");
    struct exit_hold *hold = exit_hold_new(pid);
    wait_until_traced(pid);
    open_gate(gate);
    ok(comes_to(hold, EXIT_HELD), "it ends by a signal's handler");
    exit_hold_free(hold);
    is_int(status_of(pid), 42, "to which the signal was passed on");
    pid = start(&gate, "read line; exit 23");
    hold = exit_hold_new(pid);
    wait_until_traced(pid);
    kill(pid, SIGTERM);
    ok(comes_to(hold, EXIT_HELD), "one that ends it");
    exit_hold_free(hold);
    is_int(status_of(pid), 128 + SIGTERM, "ends it");
    close(gate);
}

/* Whoever holds it is killed: before it traces, while the process runs, while it is held. */
static void test_kills(void)
{
    int ended = 0;
    for (int i = 0; i < KILLS; i++) {
        int gate, phase = i % 3;
        pid_t pid = start(&gate, "read line; exit 23"), holder;
        shared->phase = 0;
        holder = fork();
        if (!holder) {
            struct exit_hold *hold = exit_hold_new(pid);
            while (!shared->phase || exit_hold_state(hold) != EXIT_HELD)
                usleep(100);
            shared->phase = 2;
            for (;;)
                pause();
        }
        if (phase > 0)
            wait_until_traced(pid);
        if (phase > 1) {
            shared->phase = 1;
            if (write(gate, "\n", 1) != 1)
                break;
            for (int n = 0; n < PATIENCE && shared->phase != 2; n++)
                usleep(100);
        }
        usleep((useconds_t)(i * 7 % 60));
        kill(holder, SIGKILL);
        waitpid(holder, NULL, 0);
        if (phase < 2 && write(gate, "\n", 1) != 1)
            break;
        close(gate);
        ended += status_of(pid) == STATUS;
    }
    ok(ended == KILLS, "it ended with its status after %d of %d kills", ended, KILLS);
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_hold();
    test_free();
    test_signals();
    test_kills();
    return done_testing();
}
