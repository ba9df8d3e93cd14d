/* Tries watchpoints on programs of uplua's own. */
#include "sys/watch_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/bpf.h"
#include "sys/feature.h"
#include "sys/perf.h"
#include "sys/state_folder.h"

enum {
    PROGRAMS = 4,
    ACCESSES = 25000,   /* of each: where 14 in 100,000 end a program, one in a million trials finds none of them */
    CPU_MS = 75,        /* of each, after which it ends */
    PATIENCE_MS = 3000, /* that it may take until then on a busy machine: an access that never ends takes longer */
    LOOKS_EVERY = 64,   /* accesses: at the clock */
    HARM_AFTER = 100,   /* accesses, of UPLUA_WATCH_TRIAL=harmful */
    LINE = 256,
    BOOT_ID = 36, /* characters */
};

/* What a trial program and uplua share. */
struct room {
    volatile uint64_t place; /* that is watched */
    volatile uint64_t elsewhere;
    volatile uint64_t made; /* accesses to it */
    uint64_t wanted;        /* how many it is to make */
};

/* What UPLUA_WATCH_TRIAL asks for. */
enum forced { NOT_FORCED, FORCED_HARMFUL, FORCED_BLIND };
static const char *const forced_names[] = {"real", "harmful", "blind"};

static enum forced forced(void)
{
    static bool known;
    static enum forced answer;
    const char *word = known ? NULL : getenv("UPLUA_WATCH_TRIAL");
    if (word && strcmp(word, forced_names[FORCED_HARMFUL]) == 0)
        answer = FORCED_HARMFUL;
    else if (word && strcmp(word, forced_names[FORCED_BLIND]) == 0)
        answer = FORCED_BLIND;
    else if (word && *word)
        fprintf(stderr, "uplua: UPLUA_WATCH_TRIAL is harmful or blind, not '%s'\n", word);
    known = true;
    return answer;
}

enum watch_verdict watch_trial_verdict(const struct watch_trial *trial)
{
    if (trial->ended)
        return WATCH_HARMFUL;
    return trial->programs && (!trial->made || trial->seen != trial->made) ? WATCH_BLIND : WATCH_TRUSTED;
}

/* --- a trial program: it may call nothing that takes a lock, which another thread of uplua's may have held --- */

__attribute__((noinline)) static void executed(void)
{
    __asm__ volatile("");
}

static uint64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void access_once(struct room *room, enum watch_access access, uint64_t i)
{
    if (access == WATCH_EXECUTE)
        executed();
    else if (access == WATCH_WRITE || i % 2)
        room->place = i;
    else
        (void)room->place;
}

/* Stands apart from uplua: no signal reaches it but the one that watchpoints may bring, it has no descriptor of
 * uplua's but GO, as 0, and it ends when uplua does. */
static void stand_apart(int go)
{
    sigset_t trap;
    signal(SIGTRAP, SIG_DFL);
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(go, STDIN_FILENO);
    syscall(SYS_close_range, 1, ~0u, 0);
}

__attribute__((noreturn)) static void run(struct room *room, enum watch_access access, int go, enum forced forced)
{
    char byte;
    stand_apart(go);
    if (read(STDIN_FILENO, &byte, 1) != 1) /* uplua has ended */
        _exit(1);
    prctl(PR_SET_DUMPABLE, 0); /* no core */
    for (uint64_t i = 0; i < room->wanted; i++) {
        if (i % LOOKS_EVERY == 0 && cpu_ms() >= CPU_MS)
            break;
        if (forced == FORCED_BLIND)
            room->elsewhere = i;
        else
            access_once(room, access, i);
        room->made = i + 1;
        if (forced == FORCED_HARMFUL && i == HARM_AFTER)
            kill(getpid(), SIGTRAP);
    }
    _exit(0);
}

/* --- uplua's side --- */

/* Starts a trial program, which waits for a byte at GO[1]: its PID, and in *PIDFD a descriptor of it; or -errno. Not by
 * fork(): no SIGCHLD comes, and its status is there even where that signal is ignored. */
static pid_t start(struct room *room, enum watch_access access, const int go[2], enum forced forced, int *pidfd)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, pidfd, NULL, NULL);
    if (pid == 0) {
        run(room, access, go[0], forced);
    }
    int code = pid < 0 ? -errno : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code ? code : (pid_t)pid;
}

/* Waits until PID has ended, and ends it where it takes too long: its status. STUCK: whether that was so. */
static int end(pid_t pid, int pidfd, bool *stuck)
{
    struct timespec now;
    struct pollfd poller = {.fd = pidfd, .events = POLLIN};
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t until = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 + PATIENCE_MS, left = PATIENCE_MS;
    int ready = 0, status = 0;
    while (left > 0 && (ready = poll(&poller, 1, (int)left)) < 0 && errno == EINTR) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = until - (now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000);
    }
    *stuck = ready <= 0;
    if (*stuck)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    return status;
}

/* Watches the place of the program PID: a descriptor, or -errno. As watchpoints do, the event runs a program, without
 * which some CPUs step over the access in another way; where this process may load none, it does without. */
static int watch(const struct room *room, enum watch_access access, pid_t pid)
{
    uintptr_t address = access == WATCH_EXECUTE ? (uintptr_t)executed : (uintptr_t)&room->place;
    struct perf_event_attr event = watchpoint_event(access, address, sizeof room->place);
    event.exclude_kernel = 1;
    int fd = perf_count_open(&event, pid, -1, -1, false), program = fd < 0 ? -1 : bpf_event_program();
    int code = program < 0 ? 0 : perf_count_run(fd, program);
    if (program >= 0)
        close(program); /* the event keeps it */
    if (!code)
        return fd;
    close(fd);
    return code;
}

/* One trial program, from its start to its end, whose room is ROOM, and which makes WANTED accesses. Adds what it tells
 * to *TRIAL: 0 or -errno. */
static int try_one(struct room *room, enum watch_access access, uint64_t wanted, enum forced forced,
                   struct watch_trial *trial)
{
    int go[2], pidfd = -1, status = 0;
    bool stuck = false;
    struct perf_count count = {0};
    *room = (struct room){.wanted = wanted};
    if (pipe2(go, O_CLOEXEC))
        return -errno;
    pid_t pid = start(room, access, go, forced, &pidfd);
    int event = pid < 0 ? pid : watch(room, access, pid), code = event < 0 ? event : 0;
    if (!code && write(go[1], "", 1) != 1)
        code = -errno;
    close(go[0]);
    close(go[1]); /* without the byte it ends, too */
    if (pid >= 0) {
        status = end(pid, pidfd, &stuck);
        close(pidfd);
    }
    if (event >= 0) {
        if (!code)
            code = perf_count_read(event, &count);
        close(event);
    }
    if (code)
        return code;
    trial->programs++;
    if (WIFSIGNALED(status) && !stuck) {
        trial->ended++;
        trial->signal = WTERMSIG(status);
    }
    trial->made += room->made + stuck; /* the one that never came back */
    trial->seen += count.value;
    return 0;
}

/* PROGRAMS programs, one after the other, each of which makes WANTED accesses: 0 or -errno. */
static int try_programs(unsigned programs, enum watch_access access, uint64_t wanted, struct watch_trial *trial)
{
    enum forced word = forced();
    struct room *room = mmap(NULL, sizeof *room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *trial = (struct watch_trial){0};
    if (room == MAP_FAILED)
        return -errno;
    int code = 0;
    for (unsigned i = 0; i < programs && !code; i++) /* forced harm spares the last */
        code = try_one(room, access, wanted, word == FORCED_HARMFUL && i == programs - 1 ? NOT_FORCED : word, trial);
    munmap(room, sizeof *room);
    return code;
}

/* --- what is kept for the boot --- */

static const char *file_of(enum watch_access access)
{
    static const char *const names[] = {"watchpoint.w", "watchpoint.rw", "watchpoint.x"};
    return names[access];
}

/* How the line begins that this boot keeps; false where the boot has no name. */
static bool begin_of(char begin[static LINE])
{
    char boot[BOOT_ID + 1];
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool read = in && fscanf(in, "%36s", boot) == 1;
    if (in)
        fclose(in);
    if (read)
        snprintf(begin, LINE, "uplua watchpoints 1, boot %s, %s trial:", boot, forced_names[forced()]);
    return read;
}

static int print_line(char line[static LINE], const char *begin, const struct watch_trial *trial)
{
    return snprintf(line, LINE, "%s %u programs, %u ended by signal %d, %" PRIu64 " accesses, %" PRIu64 " seen\n",
                    begin, trial->programs, trial->ended, trial->signal, trial->made, trial->seen);
}

/* What FOLDER keeps of ACCESS, in a line that begins with BEGIN: false where that is nothing, or no sound line. */
static bool load(int folder, const char *begin, enum watch_access access, struct watch_trial *trial)
{
    struct stat stat;
    char line[LINE] = "", again[LINE];
    int fd = state_folder_read(folder, file_of(access), &stat);
    ssize_t size = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    size_t length = strlen(begin);
    return size > 0 && strncmp(line, begin, length) == 0 &&
           sscanf(line + length, " %u programs, %u ended by signal %d, %" SCNu64 " accesses, %" SCNu64 " seen\n",
                  &trial->programs, &trial->ended, &trial->signal, &trial->made, &trial->seen) == 5 &&
           trial->programs == PROGRAMS && trial->ended <= PROGRAMS && trial->made <= PROGRAMS * ACCESSES &&
           print_line(again, begin, trial) == (int)size && strcmp(line, again) == 0;
}

int watch_trial(enum watch_access access, struct watch_trial *trial)
{
    static struct watch_trial known[WATCH_ACCESSES];
    if (feature_untried(FEATURE_WATCHPOINT)) {
        *trial = (struct watch_trial){0};
        return 0;
    }
    if (!known[access].programs) {
        char begin[LINE], line[LINE];
        struct watch_trial found;
        int folder = begin_of(begin) ? state_folder_open() : -1;
        bool kept = folder >= 0 && load(folder, begin, access, &found);
        int code = kept ? 0 : try_programs(PROGRAMS, access, ACCESSES, &found);
        if (folder >= 0 && !kept && !code) {
            struct iovec part = {line, (size_t)print_line(line, begin, &found)};
            state_folder_write(folder, file_of(access), &part, 1);
        }
        if (folder >= 0)
            close(folder);
        if (code)
            return code;
        known[access] = found;
    }
    *trial = known[access];
    return 0;
}
