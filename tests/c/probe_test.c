/*
 * Probes see every call: exact prime counts from one thread and from four, of threads that were there before the attach
 * and of later ones, of one process and of two, through uprobe_multi and through perf events.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/probe.h"
#include "sys/btf.h"
#include "sys/feature.h"
#include "tap.h"

/* --- the program under test: this one, forked --------------------------------------------------------------------- */

__attribute__((noinline)) int probe_test_hit(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static int go[2], done[2]; /* pipes of the child that is being started */

static void *worker(void *calls)
{
    char c;
    if (read(go[0], &c, 1) == 1)
        for (intptr_t i = 0; i < (intptr_t)calls; i++)
            probe_test_hit((int)i);
    return NULL;
}

struct child {
    pid_t pid;
    int go, done;
};

/* In the child: EARLY threads now and LATE ones when it is told to go; each makes CALLS calls. */
static void run_child(int early, int late, int calls)
{
    pthread_t threads[16];
    char c = 0;
    for (int i = 0; i < early; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)calls);
    if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
        _exit(1);
    for (int i = early; i < early + late; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)calls);
    for (int i = 0; i < early + late; i++)
        pthread_join(threads[i], NULL);
    if (early + late == 0)
        for (int i = 0; i < calls; i++)
            probe_test_hit(i);
    if (write(done[1], &c, 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static struct child start_child(int early, int late, int calls)
{
    struct child child;
    char c;
    if (pipe(go) < 0 || pipe(done) < 0 || (child.pid = fork()) < 0)
        exit(99);
    if (child.pid == 0)
        run_child(early, late, calls);
    if (read(done[0], &c, 1) != 1)
        exit(99);
    close(go[0]);
    close(done[1]);
    child.go = go[1];
    child.done = done[0];
    return child;
}

static void let_go(const struct child *child)
{
    char c[32] = "";
    if (write(child->go, c, sizeof c) != sizeof c || read(child->done, c, 1) != 1)
        exit(99);
}

static void end_child(const struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->go);
    close(child->done);
}

/* --- a program that counts
 * ------------------------------------------------------------------------------------------ */

static int map = -1;

static int load_counter(enum attach_kind kind)
{
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = probe_attach_type(kind));
    const struct bpf_insn code[] = {
        {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map},
        {0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1},
        {.code = BPF_STX | BPF_DW | BPF_ATOMIC, .dst_reg = 1, .src_reg = 2, .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "count", "GPL", code, sizeof code / sizeof *code, &options);
}

static int64_t take_count(void)
{
    uint32_t key = 0;
    uint64_t count = 0, zero = 0;
    bpf_map_lookup_elem(map, &key, &count);
    bpf_map_update_elem(map, &key, &zero, 0);
    return (int64_t)count;
}

/* --- tests
 * ---------------------------------------------------------------------------------------------------------- */

static const char *spec;
static const char *const kinds[] = {"entry", "return", "session"};

/* Attaches a counter of KIND to the processes PIDS (none: to the whole machine). */
static struct probe_link *attach(enum attach_kind kind, const pid_t *pids, size_t count)
{
    struct target target;
    struct error err = {0};
    struct site *sites = NULL;
    size_t site_count = 0;
    struct probe_link *link = NULL;
    int program = load_counter(kind);
    int result = target_attach(&target, pids, count, &err);
    if (result == 0)
        result = probe_resolve(spec, &target, &sites, &site_count, &err);
    if (result == 0)
        result = probe_attach(kind, program, 0, sites, site_count, &target, &link, &err);
    if (result < 0 || program < 0)
        fprintf(stderr, "# %s (program %d)\n", err.text, program);
    sites_free(sites, site_count);
    target_close(&target);
    close(program);
    return link;
}

static void count_threads(enum attach_kind kind, int early, int late, int calls, bool machine)
{
    struct child child = start_child(early, late, calls);
    struct probe_link *link = attach(kind, &child.pid, machine ? 0 : 1);
    if (ok(link != NULL, "a %s probe is attached", kinds[kind])) {
        let_go(&child);
        int threads = early + late ? early + late : 1;
        is_int(take_count(), (int64_t)calls * threads * (kind == ATTACH_SESSION ? 2 : 1),
               "%s of %d calls in %d earlier and %d later threads%s", kinds[kind], calls, early, late,
               machine ? ", whole machine" : "");
        probe_detach(link);
        for (int i = 0; i < 23; i++)
            probe_test_hit(i);
        is_int(take_count(), 0, "nothing is counted after the detach");
    }
    end_child(&child);
}

static void count_processes(enum attach_kind kind)
{
    struct child a = start_child(2, 0, 23), b = start_child(2, 2, 101), stranger = start_child(0, 0, 7);
    const pid_t pids[] = {a.pid, b.pid};
    struct probe_link *link = attach(kind, pids, 2);
    if (ok(link != NULL, "a %s probe is attached to two processes", kinds[kind])) {
        let_go(&a);
        let_go(&b);
        let_go(&stranger);
        /* A perf event for returns does not tell processes apart: the program has to, and this one does not. */
        bool of_all = kind == ATTACH_RETURN && !feature_available(FEATURE_UPROBE_MULTI);
        is_int(take_count(), (23 * 2 + 101 * 4 + (of_all ? 7 : 0)) * (kind == ATTACH_SESSION ? 2 : 1),
               "%s: each call of both once, %s", kinds[kind],
               of_all ? "and those of a third process" : "none of a third process");
        probe_detach(link);
    }
    end_child(&a);
    end_child(&b);
    end_child(&stranger);
}

static void test_counts(void)
{
    enum attach_kind last = feature_available(FEATURE_SESSION) ? ATTACH_SESSION : ATTACH_RETURN;
    for (enum attach_kind kind = ATTACH_ENTRY; kind <= last; kind++) {
        count_threads(kind, 0, 0, 23, false);
        count_threads(kind, 4, 0, 101, false);
        count_threads(kind, 2, 2, 101, false);
        count_threads(kind, 1, 3, 23, true);
        count_processes(kind);
    }
}

/* A command's first call is seen: the probe is there before it runs. */
static void test_command(void)
{
    char program[4096];
    snprintf(program, sizeof program, "%.*s", (int)(strrchr(spec, ':') - spec), spec);
    char *argv[] = {program, (char *)"23", NULL};
    struct target target;
    struct error err = {0};
    struct site *sites = NULL;
    size_t count = 0;
    struct probe_link *links[2] = {NULL, NULL};
    int entry = load_counter(ATTACH_ENTRY), leave = load_counter(ATTACH_RETURN);
    if (target_start(&target, argv, &err) < 0 || probe_resolve(spec, &target, &sites, &count, &err) < 0 ||
        probe_attach(ATTACH_ENTRY, entry, 0, sites, count, &target, &links[0], &err) < 0 ||
        probe_attach(ATTACH_RETURN, leave, 0, sites, count, &target, &links[1], &err) < 0 ||
        target_release(&target, &err) < 0)
        fprintf(stderr, "# %s\n", err.text);
    while (target.count && target_status(&target) < 0)
        usleep(1000);
    is_int(target_status(&target), 0, "a command runs");
    is_int(take_count(), 2 * 23, "each call and each return is seen from its start on");
    probe_detach_all(links, 2);
    probe_detach_all(NULL, 0);
    probe_detach(NULL);
    sites_free(sites, count);
    target_close(&target);
    close(entry);
    close(leave);
}

/* A tracer that is killed leaves no probe behind: the site's first byte is what the file has. */
static void test_killed(void)
{
    struct child child = start_child(0, 0, 23);
    int ready[2];
    char c = 0;
    if (pipe(ready) < 0)
        exit(99);
    pid_t tracer = fork();
    if (tracer == 0) {
        attach(ATTACH_ENTRY, &child.pid, 1);
        if (write(ready[1], &c, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(ready[0], &c, 1) != 1)
        exit(99);
    char path[64];
    uint8_t before, during = 0, after = 0;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child.pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    memcpy(&before, (const void *)(uintptr_t)probe_test_hit, 1);
    bool read_both = pread(memory, &during, 1, (off_t)(uintptr_t)probe_test_hit) == 1;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    read_both &= pread(memory, &after, 1, (off_t)(uintptr_t)probe_test_hit) == 1;
    ok(read_both && during != before, "an attached probe is a changed byte");
    ok(after == before, "which is restored when the tracer is killed");
    let_go(&child);
    take_count();
    close(memory);
    close(ready[0]);
    close(ready[1]);
    end_child(&child);
}

static void test_many_sites(void)
{
    struct child child = start_child(0, 0, 23);
    struct target target;
    struct error err = {0};
    struct site *sites;
    size_t count;
    target_attach(&target, &child.pid, 1, &err);
    is_int(probe_resolve("libc:str*", &target, &sites, &count, &err), 0, "a pattern is resolved: %s", err.text);
    ok(count > 20, "to many functions (%zu)", count);
    struct probe_link *link;
    int program = load_counter(ATTACH_ENTRY);
    is_int(probe_attach(ATTACH_ENTRY, program, 0, sites, count, &target, &link, &err), 0, "and they are attached");
    probe_detach(link);
    close(program);
    sites_free(sites, count);
    target_close(&target);
    end_child(&child);
}

static void test_refusals(void)
{
    struct target target;
    struct error err = {0};
    struct probe_link *link = (void *)1;
    target_init(&target);
    struct site site = {.path = (char *)"/proc/self/exe",
                        .module = (char *)"/bin/x",
                        .function = (char *)"f",
                        .offset = UINT64_C(1) << 40};
    struct stat self;
    ok(stat(site.path, &self) == 0, "a file");
    site.file = stamp_of(&self);
    int program = load_counter(ATTACH_ENTRY);
    ok(probe_attach(ATTACH_ENTRY, program, 0, &site, 1, &target, &link, &err) < 0, "a site beyond the file is refused");
    ok(link == NULL && strstr(err.text, "/bin/x"), "naming it: %s", err.text);
    site.path = (char *)"/nonexistent";
    is_int(probe_attach(ATTACH_ENTRY, program, 0, &site, 1, &target, &link, &err), -ENOENT, "a file that is gone");
    ok(strstr(err.text, "is gone") != NULL, "is said to be: %s", err.text);
    close(program);
    ok(kernel_btf_function("bpf_session_is_return") > 0 || !feature_available(FEATURE_SESSION),
       "the kernel's functions are found in its BTF");
    is_int(kernel_btf_function("no_such_function_anywhere"), -ENOENT, "and only they");
}

struct shared {
    int count, failures;
};

/* The features are asked for once in a process: each path is tested in its own. */
static void run(const char *without, struct shared *shared)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (without)
            setenv("UPLUA_WITHOUT", without, 1);
        ok(!without || !feature_available(FEATURE_UPROBE_MULTI), "UPLUA_WITHOUT=%s", without ? without : "");
        map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hits", 4, 8, 1, NULL);
        ok(map >= 0, "BPF can be used here");
        test_counts();
        test_command();
        test_killed();
        test_many_sites();
        test_refusals();
        *shared = (struct shared){tap_count, tap_failures};
        exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    tap_count = shared->count;
    tap_failures = shared->failures;
    ok(status == 0, "with%s%s it ran to the end", without ? "out " : " all features", without ? without : "");
}

/* Runs this program from a file of its own: who runs the other one on this machine, another test say, is not counted.
 * Its status. */
static int run_copy(void)
{
    char path[] = "/tmp/probe_test-XXXXXX";
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkostemp(path, O_CLOEXEC), status = -1;
    struct stat stat;
    bool copied = from >= 0 && to >= 0 && fstat(from, &stat) == 0 && fchmod(to, 0700) == 0;
    for (off_t at = 0; copied && at < stat.st_size;)
        copied = sendfile(to, from, &at, (size_t)(stat.st_size - at)) > 0;
    close(from);
    close(to);
    pid_t pid = copied ? fork() : -1;
    if (pid == 0) {
        setenv("PROBE_TEST_COPY", path, 1);
        execl(path, path, (char *)NULL);
        _exit(98);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

int main(int argc, char **argv)
{
    alarm(100); /* for waits that are in vain */
    if (argc == 1 && !getenv("PROBE_TEST_COPY"))
        return run_copy();
    if (argc > 1) { /* as the command of test_command */
        for (int i = 0; i < atoi(argv[1]); i++)
            probe_test_hit(i);
        return 0;
    }
    char text[4200], *path = realpath(argv[0], NULL);
    snprintf(text, sizeof text, "%s:probe_test_hit", path ? path : argv[0]);
    free(path);
    spec = text;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 99;
    run(NULL, shared);
    run("uprobe_multi,session", shared);
    return done_testing();
}
