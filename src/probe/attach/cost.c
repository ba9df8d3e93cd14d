/* Measures what probes of functions take. */
#include "probe/attach/cost.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "probe/attach/own_function.h"
#include "sys/bpf.h"
#include "sys/clock.h"
#include "sys/feature.h"

enum {
    CALLS = 101,
    CALLS_AGAIN = 31, /* of which the median counts */
    FIRST_CALLS = 7,  /* that do not count: the kernel has yet to get memory for the thread's probes */
    STACK_SIZE = 64 << 10,
    KINDS = COST_WAYS * ENTRIES, /* of what is measured: as the bits of COST_BIT */
};
_Static_assert(2 * (CALLS + FIRST_CALLS) <= CLOCK_LOG_TIMES, "all times of one kind find room");

struct cost_run {
    unsigned wanted;
    bool multi, session;
    struct clock_log *logs[COST_WAYS];
    struct probe_link *link;
    int code;
    pthread_t thread;
    bool in_thread;
};

/*
 * What is known, and where the probes note their times. It is the process's: where several runs measured the same
 * functions, each would count the others' probes, too.
 */
static struct known {
    struct cost cost, around;
    struct clock_log *log; /* NULL: it is not known */
} kinds[KINDS];

/* --- the probes --- */

/* Whether one program is called at the entry and at the return. */
static bool is_session(const struct cost_run *run, enum cost_way way)
{
    return way == COST_OF_RETURN && run->session;
}

static uint32_t attach_type(const struct cost_run *run, enum cost_way way)
{
    return is_session(run, way) ? ATTACH_TYPE_UPROBE_SESSION : run->multi ? ATTACH_TYPE_UPROBE_MULTI : 0;
}

/* The function (arch_empty) on which probes of the WAY are measured at an entry of the kind ENTRY: each has its own,
 * for those of both ways on one function would be in each other's times. trap.c has the functions in between. */
static unsigned function_of(enum cost_way way, enum entry entry)
{
    return way == COST_OF_EXIT ? 2 * ENTRIES + entry : entry;
}

/* Runs PROGRAM, of the WAY, at the functions that it is wanted of. */
static int attach_functions(struct cost_run *run, enum cost_way way, int program)
{
    uint64_t offsets[2 * ENTRIES], exit;
    uint32_t count = 0;
    for (unsigned entry = 0; entry < ENTRIES; entry++) {
        if (!(run->wanted & COST_BIT(way, entry)))
            continue;
        offsets[count++] = own_function_offset(function_of(way, (enum entry)entry), &exit);
        if (way == COST_OF_EXIT)
            offsets[count++] = exit;
    }
    if (!count)
        return 0;
    uint32_t type = attach_type(run, way);
    int code = own_function_attach(run->link, program, type, offsets, count, false);
    bool apart = way == COST_OF_RETURN && !run->session;
    return !code && apart ? own_function_attach(run->link, program, type, offsets, count, true) : code;
}

static void *attach_all(void *context)
{
    struct cost_run *run = context;
    for (unsigned way = 0; way < COST_WAYS && !run->code; way++) {
        int program = bpf_clock_program(attach_type(run, way), getpid(), &run->logs[way]);
        run->code = program < 0 ? program : attach_functions(run, way, program);
        if (program >= 0)
            close(program); /* the links keep it */
    }
    return NULL;
}

/* --- measuring --- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/*
 * Calls FUNCTION COUNT times and some, and with TOOK notes what each call of the COUNT last took. Without, the kernel
 * does other work before each call, as in traced programs. In a loop of nothing but these calls, its code would be in
 * the CPU's caches more than it ever is there.
 */
static void call(unsigned function, size_t count, uint64_t *took)
{
    char text[512];
    int file = took ? -1 : open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < FIRST_CALLS + count; i++) {
        ssize_t ignored = file < 0 ? 0 : pread(file, text, sizeof text, 0);
        (void)ignored;
        uint64_t began = took ? clock_now() : 0;
        arch_call_empty(function);
        if (took && i >= FIRST_CALLS)
            took[i - FIRST_CALLS] = clock_now() - began;
    }
    if (file >= 0)
        close(file);
}

/* Puts what COUNT times in TOOK say into *COST. */
static void conclude(uint64_t *took, size_t count, struct cost *cost)
{
    qsort(took, count, sizeof *took, by_number);
    uint64_t low = took[count / 10], high = took[count - 1 - count / 10];
    bool first = !cost->high;
    cost->ns = took[count / 2];
    cost->low = first || low < cost->low ? low : cost->low;
    cost->high = high > cost->high ? high : cost->high;
}

/* What two looks at the clock, one right after the other, are apart. */
static uint64_t look(void)
{
    uint64_t took[CALLS_AGAIN];
    for (size_t i = 0; i < CALLS_AGAIN; i++) {
        uint64_t began = clock_now();
        took[i] = clock_now() - began;
    }
    qsort(took, CALLS_AGAIN, sizeof *took, by_number);
    return took[CALLS_AGAIN / 2];
}

/*
 * Measures what COUNT calls of the kind KIND take, by what their probes note in LOG and by the clock around them, for
 * *KNOWN. 0, or -ENODATA: the probes note something else.
 */
static int measure(unsigned kind, struct clock_log *log, size_t count, struct known *known)
{
    uint64_t took[CALLS];
    unsigned function = function_of((enum cost_way)(kind / ENTRIES), (enum entry)(kind % ENTRIES));
    log->count = 0;
    call(function, count, NULL);
    if (log->count != 2 * (FIRST_CALLS + count))
        return -ENODATA;
    const uint64_t *times = log->times + (size_t)2 * FIRST_CALLS;
    for (size_t i = 0; i < count; i++)
        took[i] = times[2 * i + 1] - times[2 * i];
    conclude(took, count, &known->cost);
    if (kind / ENTRIES != COST_OF_RETURN)
        return 0; /* nobody asks for what lies around probes on return instructions */
    call(function, count, took);
    uint64_t clock = look();
    for (size_t i = 0; i < count; i++)
        took[i] -= took[i] < clock ? took[i] : clock;
    conclude(took, count, &known->around);
    return 0;
}

void cost_again(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (kinds[kind].log)
            measure(kind, kinds[kind].log, CALLS_AGAIN, &kinds[kind]);
}

/* Has a thread attach, to which no signal goes; without one it is done here. */
static void start(struct cost_run *run)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_setstacksize(&attributes, STACK_SIZE);
        run->in_thread = pthread_create(&run->thread, &attributes, attach_all, run) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!run->in_thread)
        attach_all(run);
}

struct cost_run *cost_begin(unsigned wanted)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (kinds[kind].log)
            wanted &= ~(1u << kind);
    struct cost_run *run = wanted ? calloc(1, sizeof *run) : NULL;
    if (run)
        run->link = calloc(1, sizeof *run->link);
    if (!run || !run->link) {
        free(run);
        return NULL;
    }
    run->wanted = wanted;
    run->multi = feature_available(FEATURE_UPROBE_MULTI);
    run->session = feature_available(FEATURE_SESSION);
    start(run);
    return run;
}

int cost_finish(struct cost_run *run, struct probe_link **link, struct error *err)
{
    struct known measured[KINDS] = {0};
    *link = NULL;
    if (!run)
        return 0;
    if (run->in_thread)
        pthread_join(run->thread, NULL);
    int code = run->code;
    for (unsigned kind = 0; kind < KINDS && !code; kind++)
        if (run->wanted & 1u << kind)
            code = measure(kind, run->logs[kind / ENTRIES], CALLS, &measured[kind]);
    bool used[COST_WAYS] = {false};
    for (unsigned kind = 0; kind < KINDS && !code; kind++)
        if (run->wanted & 1u << kind) {
            kinds[kind] = measured[kind];
            kinds[kind].log = run->logs[kind / ENTRIES]; /* which stays */
            used[kind / ENTRIES] = true;
        }
    for (unsigned way = 0; way < COST_WAYS; way++)
        if (!used[way])
            clock_log_free(run->logs[way]);
    if (code)
        probe_detach(run->link);
    else
        *link = run->link;
    free(run);
    return code ? error_set(err, code, "%s", error_reason(code)) : 0;
}

void cost_forget(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct clock_log *log = kinds[kind].log;
        for (unsigned other = 0; other < KINDS; other++) /* which may have the same */
            if (kinds[other].log == log)
                kinds[other].log = NULL;
        clock_log_free(log);
    }
    memset(kinds, 0, sizeof kinds);
}

const struct cost *cost_of(enum cost_way way, enum entry entry)
{
    unsigned kind = ENTRIES * way + entry;
    return kinds[kind].log ? &kinds[kind].cost : NULL;
}

const struct cost *cost_around(enum entry entry)
{
    unsigned kind = ENTRIES * COST_OF_RETURN + entry;
    return kinds[kind].log ? &kinds[kind].around : NULL;
}
