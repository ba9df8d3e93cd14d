/* Commands wait until they are released, keep the user's signals, and never outlive an uplua that did not release
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/target.h"
#include "probe/target/threads.h"
#include "tap.h"

static char dir[] = "/tmp/uplua-target-XXXXXX";

static char *in_dir(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static bool exists(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_dir(name), "w");
    if (!file || fputs(text, file) < 0 || fclose(file) || chmod(in_dir(name), mode))
        exit(99);
}

static bool exited_within(int pidfd, int milliseconds)
{
    struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
    return poll(&poll_fd, 1, milliseconds) == 1;
}

static void refuses_pid(pid_t pid, int code, const char *part)
{
    struct target target;
    struct error err = {0};
    is_int(target_attach(&target, &pid, 1, &err), code, "process %d is refused", (int)pid);
    ok(strstr(err.text, part) != NULL, "and the message says '%s': %s", part, err.text);
    target_close(&target);
}

static volatile pid_t thread_id;

static void *sleeper(void *unused)
{
    (void)unused;
    thread_id = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

static void test_attach(void)
{
    struct target target;
    struct error err = {0};
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    const pid_t pids[] = {child, getpid(), child};
    is_int(target_attach(&target, pids, 3, &err), 0, "running processes are attached to: %s", err.text);
    is_int((int64_t)target.count, 2, "each once");
    ok(!target.command && target.pids[0] == child && target.pids[1] == getpid(), "in the given order");
    ok(!exited_within(target_pidfd(&target, 0), 0), "its pidfd is silent while it runs");
    kill(child, SIGKILL);
    ok(exited_within(target_pidfd(&target, 0), 5000), "and readable when it has exited");
    refuses_pid(child, -ESRCH, "has already exited");
    waitpid(child, NULL, 0);
    is_int(target_status(&target), -1, "only a command has a status");
    target_close(&target);

    refuses_pid(child, -ESRCH, "no process");
    refuses_pid(0, -ESRCH, "no process 0");
    refuses_pid(-1, -ESRCH, "no process -1");
    refuses_pid(2, -ENOENT, "kernel thread");
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    while (!thread_id)
        usleep(1000);
    refuses_pid(thread_id, -EINVAL, "is a thread of process");
}

static void refuses_command(const char *name, const char *part)
{
    struct target target;
    struct error err = {0};
    char *argv[] = {(char *)name, NULL};
    ok(target_start(&target, argv, &err) < 0, "command '%s' is refused", name);
    ok(strstr(err.text, part) != NULL, "and the message says '%s': %s", part, err.text);
    target_close(&target);
}

/* Starts, releases and waits: the status. */
static int status_of(char *const argv[])
{
    struct target target;
    struct error err = {0};
    if (target_start(&target, argv, &err) < 0 || target_release(&target, &err) < 0 ||
        !exited_within(target_pidfd(&target, 0), 10000)) {
        fprintf(stderr, "# %s\n", err.text);
        return -2;
    }
    int status = target_status(&target);
    ok(target_status(&target) == status, "the status is kept");
    target_close(&target);
    return status;
}

static void test_command(void)
{
    struct target target;
    struct error err = {0};
    char *touch[] = {(char *)"touch", in_dir("touched"), NULL};
    is_int(target_start(&target, touch, &err), 0, "a command is found in $PATH and started");
    ok(target.command && target.count == 1 && strstr(target.program, "/touch"), "as %s", target.program);
    usleep(50000);
    ok(!exists("touched") && target_status(&target) == -1, "it waits");
    is_int(target_release(&target, &err), 0, "it is released");
    ok(exited_within(target_pidfd(&target, 0), 5000), "it runs");
    is_int(target_status(&target), 0, "and succeeds");
    ok(exists("touched"), "and has done its work");
    target_close(&target);

    char *seven[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    is_int(status_of(seven), 7, "its exit status is known");
    char *killed[] = {(char *)"sh", (char *)"-c", (char *)"kill -TERM $$", NULL};
    is_int(status_of(killed), 128 + SIGTERM, "and the signal that ended it");
    write_file("plain", "exit 11\n", 0755);
    char *plain[] = {in_dir("plain"), NULL};
    is_int(status_of(plain), 11, "a script without #! is run by the shell");

    refuses_command("no-such-command-23", "command not found");
    refuses_command("/nonexistent/x", "No such file");
    refuses_command("/tmp", "directory");
    refuses_command("", "the command's name is empty");
    write_file("data", "x", 0644);
    refuses_command(in_dir("data"), "ermission denied");
    write_file("bad", "#!/nonexistent/interpreter\n", 0755);
    char *bad[] = {in_dir("bad"), NULL};
    is_int(target_start(&target, bad, &err), 0, "a script whose interpreter is missing");
    is_int(target_release(&target, &err), -ENOENT, "fails at its release");
    ok(strstr(err.text, "interpreter") != NULL, "and the message says so: %s", err.text);
    ok(exited_within(target_pidfd(&target, 0), 5000), "its process ends");
    is_int(target_status(&target), 127, "with 127");
    target_close(&target);
}

static bool maps_have(pid_t pid, const char *text)
{
    char line[512];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(line, "r");
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, text) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* On machines without debug registers, too, or where they never stop anybody. */
static void test_held(void)
{
    struct target target;
    struct error err = {0};
    char *touch[] = {(char *)"touch", in_dir("held"), NULL};
    target_start(&target, touch, &err);
    is_int(target_release_held(&target, true, &err), 0, "a command is released up to its first instruction: %s",
           err.text);
    ok(target.held && maps_have(target.pids[0], "/touch") && maps_have(target.pids[0], "/libc.so"),
       "where it and its libraries are mapped");
    ok(!exited_within(target_pidfd(&target, 0), 50) && !exists("held"), "and stands");
    target_continue(&target);
    ok(exited_within(target_pidfd(&target, 0), 10000), "it goes on");
    is_int(target_status(&target), 0, "and succeeds");
    ok(exists("held"), "and has done its work");
    target_close(&target);

    char *missing[] = {(char *)"cat", in_dir("not there"), NULL};
    target_start(&target, missing, &err);
    is_int(target_release_held(&target, false, &err), 0, "another one: %s", err.text);
    target_continue(&target);
    ok(exited_within(target_pidfd(&target, 0), 10000), "goes on");
    is_int(target_status(&target), 1, "and fails as it does alone");
    target_close(&target);
}

static void test_unreleased(void)
{
    struct target target;
    struct error err = {0};
    char *touch[] = {(char *)"touch", in_dir("never"), NULL};
    target_start(&target, touch, &err);
    pid_t pid = target.pids[0];
    target_close(&target);
    ok(kill(pid, 0) < 0 && errno == ESRCH, "a command that was not released ends with its target");
    ok(!exists("never"), "and has not run");

    int report[2];
    if (pipe(report) < 0)
        exit(99);
    pid_t uplua = fork();
    if (uplua == 0) {
        struct target inner;
        target_start(&inner, touch, &err);
        if (write(report[1], &inner.pids[0], sizeof pid) != sizeof pid)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(report[0], &pid, sizeof pid) != sizeof pid)
        exit(99);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    kill(uplua, SIGKILL);
    waitpid(uplua, NULL, 0);
    ok(exited_within(pidfd, 5000), "nor does it outlive an uplua that is killed");
    ok(!exists("never"), "or run then");
    close(pidfd);
    close(report[0]);
    close(report[1]);
}

/* The hexadecimal field NAME of the status that the command wrote to FILE. */
static unsigned long long status_field(const char *file, const char *name)
{
    char line[256];
    unsigned long long value = ~0ULL;
    FILE *in = fopen(in_dir(file), "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoull(line + strlen(name) + 1, NULL, 16);
    if (in)
        fclose(in);
    return value;
}

static void test_inheritance(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    unsigned long long ignored_before = 0, blocked_before = 0;
    char line[256];
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in)) {
        sscanf(line, "SigIgn: %llx", &ignored_before);
        sscanf(line, "SigBlk: %llx", &blocked_before);
    }
    if (in)
        fclose(in);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGPIPE, SIG_IGN);
    char command[256];
    snprintf(command, sizeof command, "cat /proc/self/status > %s; ls /proc/self/fd > %s", in_dir("status"),
             in_dir("fds"));
    int leak = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char *argv[] = {(char *)"sh", (char *)"-c", command, NULL};
    is_int(status_of(argv), 0, "a command that looks at itself");
    close(leak);
    ok(status_field("status", "SigBlk") == blocked_before, "has the signal mask of uplua's start");
    ok(status_field("status", "SigIgn") == ignored_before, "and its ignored signals");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);

    int highest = 0, fd;
    in = fopen(in_dir("fds"), "r");
    while (in && fscanf(in, "%d", &fd) == 1)
        highest = fd > highest ? fd : highest;
    if (in)
        fclose(in);
    ok(highest <= 3, "and no descriptor of uplua (the highest is %d, of the listed folder)", highest);
}

/* A number says whose threads are counted only together with when the process began. */
static void test_threads(void)
{
    struct target target;
    struct threads threads;
    struct error err = {0};
    pid_t own = getpid();
    is_int(target_attach(&target, &own, 1, &err), 0, "this process is the target: %s", err.text);
    is_int(threads_list(&target, false, &threads), 0, "its threads");
    ok(threads_has(&threads, own), "with the first");
    threads_free(&threads);
    target.births[0] += 10 * 1000 * 1000 * 128ull; /* 1.28 s later, by whole ticks */
    is_int(threads_list(&target, true, &threads), 0, "those of an earlier one with its number");
    is_int((int64_t)threads.count, 0, "are gone");
    threads_free(&threads);
    target_close(&target);
    is_int(target_attach_threads(&target, &own, 1, &err), 0, "its first thread is the target: %s", err.text);
    target.births[0] += 10 * 1000 * 1000 * 128ull;
    is_int(threads_list(&target, false, &threads), 0, "an earlier thread with its number");
    is_int((int64_t)threads.count, 0, "is gone");
    threads_free(&threads);
    target_close(&target);
}

int main(void)
{
    syscall(SYS_close_range, 3, ~0U, 0); /* what the test was started with */
    if (!mkdtemp(dir))
        return 99;
    test_command();
    test_held();
    test_unreleased();
    test_inheritance();
    test_attach();
    test_threads();
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    ok(system(command) == 0, "cleaned up");
    return done_testing();
}
