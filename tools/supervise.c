/*
 * supervise SECONDS COMMAND…   runs a test, and leaves nothing of it behind
 *
 * Ends with the command's exit status. After SECONDS it says which processes the command has, in which state and where
 * each waits, ends all of them, and itself with 124. What is left when the command has ended is named, and ended, too;
 * then a status of 0 becomes 125. A second counts in full while each process that wants a CPU can have one: where more
 * want one than there are, it counts for their share, for no test is slow because others run.
 *
 * Everything that the command starts is found, also what has left its session: this process adopts orphans
 * (PR_SET_CHILD_SUBREAPER, prctl(2)).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMED_OUT = 124, /* as timeout(1) has it */
    LEFT_BEHIND = 125,
    TICK_MS = 100,
    GRACE_TICKS = 20, /* for what has been told to end, and does */
    LEAST_SHARE = 8,  /* a second counts for an eighth at least */
};

struct process {
    pid_t pid, parent;
    char state, name[64];
    bool ours;
};

static struct process *processes;
static size_t count, room;

/* What FILE of process PID has, at most SIZE - 1 bytes, NUL behind them; "" where it cannot be read. */
static size_t read_of(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "r");
    size_t length = f ? fread(text, 1, size - 1, f) : 0;
    text[length] = '\0';
    if (f)
        fclose(f);
    return length;
}

/* "PID (NAME) STATE PARENT …" of proc_pid_stat(5); a name may have parentheses. */
static bool parse(pid_t pid, struct process *process)
{
    char text[512];
    read_of(pid, "stat", text, sizeof text);
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    int parent;
    if (!open || !close || sscanf(close + 1, " %c %d", &process->state, &parent) != 2)
        return false;
    process->pid = pid;
    process->parent = parent;
    process->ours = false;
    snprintf(process->name, sizeof process->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

/* Reads all processes, and marks those that descend from this one. Returns how many these are, without zombies. */
static size_t find_ours(void)
{
    DIR *dir = opendir("/proc");
    if (!dir) {
        perror("supervise: /proc");
        exit(126);
    }
    count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (count == room) {
            room = room ? 2 * room : 256;
            processes = realloc(processes, room * sizeof *processes);
            if (!processes)
                abort();
        }
        count += parse((pid_t)atoi(entry->d_name), &processes[count]);
    }
    closedir(dir);

    size_t found = 0;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++) {
            struct process *process = &processes[i];
            bool is_child = process->parent == getpid();
            for (size_t k = 0; k < count && !is_child; k++)
                is_child = processes[k].ours && processes[k].pid == process->parent;
            if (process->ours || !is_child)
                continue;
            process->ours = more = true;
            found += process->state != 'Z';
        }
    }
    return found;
}

/* A line for each process that is ours: "#   uplua (pid 123), S, waits in futex_wait_queue: ./uplua x.lua". */
static void say_ours(void)
{
    for (size_t i = 0; i < count; i++) {
        const struct process *process = &processes[i];
        if (!process->ours || process->state == 'Z')
            continue;
        char channel[128], command[256];
        read_of(process->pid, "wchan", channel, sizeof channel);
        size_t length = read_of(process->pid, "cmdline", command, sizeof command);
        for (size_t k = 0; k + 1 < length; k++)
            if (iscntrl((unsigned char)command[k]))
                command[k] = ' ';
        printf("#   %s (pid %d), %c%s%s: %s\n", process->name, (int)process->pid, process->state,
               strcmp(channel, "0") && *channel ? ", waits in " : "", strcmp(channel, "0") ? channel : "", command);
    }
    fflush(stdout);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Ends all that is ours, and what that starts meanwhile. */
static void end_ours(void)
{
    for (int round = 0; round < 50 && find_ours(); round++) {
        for (size_t i = 0; i < count; i++)
            if (processes[i].ours)
                kill(processes[i].pid, SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        wait_ms(10);
    }
}

/* The part of a second that counts: 1 where no more processes want a CPU than there are. */
static double share_of_cpus(long cpus)
{
    double loads[3];
    int wanted = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (!f || fscanf(f, "%lf %lf %lf %d", &loads[0], &loads[1], &loads[2], &wanted) != 4 || wanted < 1)
        wanted = 1;
    if (f)
        fclose(f);
    double share = (double)cpus / wanted;
    return share > 1 ? 1 : share < 1.0 / LEAST_SHARE ? 1.0 / LEAST_SHARE : share;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

int main(int argc, char **argv)
{
    double limit = argc > 2 ? atof(argv[1]) : 0;
    if (limit <= 0) {
        fprintf(stderr, "usage: supervise SECONDS COMMAND…\n");
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t child_ended, inherited;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, &inherited);
    pid_t self = getpid(), child = fork();
    if (child < 0) {
        perror("supervise: fork");
        return 126;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(126);
        sigprocmask(SIG_SETMASK, &inherited, NULL);
        execvp(argv[2], argv + 2);
        fprintf(stderr, "supervise: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal}, NULL);

    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double passed = 0, before = seconds();
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended == child)
            break;
        if (ended > 0) /* an orphan: there may be more */
            continue;
        if (interrupted) {
            end_ours();
            return 128 + interrupted;
        }
        if (passed >= limit) {
            find_ours();
            printf("# ended after %g s; its processes:\n", limit);
            say_ours();
            end_ours();
            return TIMED_OUT;
        }
        sigtimedwait(&child_ended, NULL, &(struct timespec){.tv_nsec = TICK_MS * 1000000L});
        double now = seconds();
        passed += (now - before) * share_of_cpus(cpus);
        before = now;
    }

    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status))
        printf("# ended by signal %d, %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    size_t left = 0;
    for (int tick = 0; tick < GRACE_TICKS; tick++) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        left = find_ours();
        if (!left)
            break;
        wait_ms(TICK_MS);
    }
    if (left) {
        printf("# the test has ended, and left behind:\n");
        say_ours();
        end_ours();
        code = code ? code : LEFT_BEHIND;
    }
    return code;
}
