/*
 * programs: what BPF programs on raw_syscalls:sys_enter cost, by commands on standard input:
 *
 *   measure ROUNDS CALLS NAME=OBJECT…   one object's program at a time, in turns; then, per object, a line
 *                                       "NAME PROGRAM WHOLE": medians of the program's own nanoseconds per run, as the
 *                                       kernel counts them, and of all that a system call takes while it is attached
 *                                       (with that counting off); "done" at the end
 *   time CALLS                          nanoseconds of one system call now
 *
 * The system calls are its own: getpid and getppid in turn. It says "ready" when it waits for the first command.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OBJECTS = 8, MOST_ROUNDS = 101 };

struct subject {
    char name[32];
    struct bpf_program *program;
    double own[MOST_ROUNDS], whole[MOST_ROUNDS];
};

static void die(const char *what, const char *name)
{
    fprintf(stderr, "programs: %s %s\n", what, name);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds per call. */
static double make_calls(int calls)
{
    double start = now();
    for (int i = 0; i < calls; i += 2) {
        syscall(SYS_getpid);
        syscall(SYS_getppid);
    }
    return (now() - start) / calls;
}

static void load(struct subject *subject, char *argument)
{
    char *path = strchr(argument, '=');
    if (!path)
        die("NAME=OBJECT is expected, not", argument);
    *path++ = '\0';
    snprintf(subject->name, sizeof subject->name, "%s", argument);
    struct bpf_object *object = bpf_object__open_file(path, NULL);
    subject->program = object ? bpf_object__next_program(object, NULL) : NULL;
    if (!subject->program)
        die("no program in", path);
    bpf_program__set_type(subject->program, BPF_PROG_TYPE_RAW_TRACEPOINT);
    if (bpf_object__load(object))
        die("cannot load", path);
}

static void run_statistics(const struct subject *subject, double *nanoseconds, double *runs)
{
    struct bpf_prog_info info = {0};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(subject->program), &info, &size))
        die("cannot ask for the statistics of", subject->name);
    *nanoseconds = (double)info.run_time_ns;
    *runs = (double)info.run_cnt;
}

static void measure_once(struct subject *subject, int round, int calls)
{
    double from_time, from_runs, to_time, to_runs;
    struct bpf_link *link = bpf_program__attach_raw_tracepoint(subject->program, "sys_enter");
    if (!link)
        die("cannot attach", subject->name);
    make_calls(calls / 10);
    subject->whole[round] = make_calls(calls);
    int enabled = bpf_enable_stats(BPF_STATS_RUN_TIME);
    run_statistics(subject, &from_time, &from_runs);
    make_calls(calls);
    run_statistics(subject, &to_time, &to_runs);
    close(enabled);
    if (enabled < 0 || to_runs - from_runs < calls)
        die("the kernel has not counted the runs of", subject->name);
    subject->own[round] = (to_time - from_time) / (to_runs - from_runs);
    bpf_link__destroy(link);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void measure(char *arguments)
{
    static struct subject subjects[MOST_OBJECTS];
    int rounds = 0, calls = 0, used = 0, count = 0;
    sscanf(arguments, "%d %d%n", &rounds, &calls, &used);
    if (rounds < 1 || rounds > MOST_ROUNDS || calls < 10)
        die("measure ROUNDS CALLS NAME=OBJECT… is expected, not", arguments);
    for (char *word = strtok(arguments + used, " "); word && count < MOST_OBJECTS; word = strtok(NULL, " "))
        load(&subjects[count++], word);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            measure_once(&subjects[(i + round) % count], round, calls);
    for (int i = 0; i < count; i++)
        printf("%s %.2f %.2f\n", subjects[i].name, median(subjects[i].own, rounds), median(subjects[i].whole, rounds));
    puts("done");
}

int main(void)
{
    char line[4096];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "measure ", 8))
            measure(line + 8);
        else if (!strncmp(line, "time ", 5))
            printf("%.2f\n", make_calls(atoi(line + 5)));
        else
            die("no such command:", line);
        fflush(stdout);
    }
    return 0;
}
