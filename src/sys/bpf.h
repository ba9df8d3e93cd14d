/* What uplua asks of bpf() itself: the links that libbpf 1.1 does not know. Programs and maps are libbpf's business. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* enum bpf_attach_type of Linux 5.18, 6.6 and 6.13; mostly newer than the headers that we build with. */
enum { ATTACH_TYPE_KPROBE_MULTI = 42, ATTACH_TYPE_UPROBE_MULTI = 48, ATTACH_TYPE_UPROBE_SESSION = 57 };

/* A program of type kprobe and ATTACH_TYPE that does nothing, to try the kernel with. A descriptor or -errno. */
int bpf_probe_program(uint32_t attach_type);
/* The same of BPF_PROG_TYPE_PERF_EVENT, for perf events. */
int bpf_event_program(void);

/*
 * The descriptor, or what the kernel says to a link of ATTACH_TYPE for PID on "/", which cannot be made, since that is
 * no regular file: a kernel that knows the type gets as far as finding that out (-EBADF), one that does not says
 * -EINVAL before it looks at the path.
 */
int bpf_try_uprobe_link(uint32_t attach_type, pid_t pid);

/* Whether the kernel bounds loops itself: 0 if an endless one with may_goto (Linux 6.9) loads, else -errno. */
int bpf_try_may_goto(void);

/* Whether each function of a probe's program has 512 bytes of stack, and not all that call each other together
 * (Linux 6.13, x86). */
int bpf_try_private_stack(void);

/* Whether programs of probes may sleep until memory is there (Linux 6.0). */
int bpf_try_sleepable(void);

/* Whether a program can be put on a kernel function by a trampoline: 0 if it could on one that exists for such
 * tests. */
int bpf_try_trampoline(void);

enum { TEST_RUN_WORDS = 12 };

/*
 * Runs the raw tracepoint PROGRAM once, in this thread, with WORDS as its context (BPF_PROG_TEST_RUN, Linux 5.10). What
 * it returned into *RESULT; 0 or -errno.
 */
int bpf_test_run(int program, const uint64_t words[TEST_RUN_WORDS], uint32_t *result);

/* When the program of bpf_clock_program ran: so often, and the first times of these, CLOCK_MONOTONIC in ns. */
enum { CLOCK_LOG_TIMES = 511 };
struct clock_log {
    uint64_t count;
    uint64_t times[CLOCK_LOG_TIMES];
};

/*
 * A program of type kprobe and ATTACH_TYPE that notes in *LOG when it runs for process PID, its first look being at the
 * clock: a descriptor, or -errno. *LOG is mapped, and undone by clock_log_free.
 */
int bpf_clock_program(uint32_t attach_type, pid_t pid, struct clock_log **log);
void clock_log_free(struct clock_log *log);

struct uprobe_multi {
    uint32_t attach_type; /* the program's */
    const char *path;
    const uint64_t *offsets; /* file offsets */
    const uint64_t *cookies; /* what bpf_get_attach_cookie gives at each; NULL: 0 */
    /* file offsets of counters that are above 0 while the link is there, 0: none; NULL: none at all */
    const uint64_t *semaphores;
    uint32_t count;
    bool at_return;
    pid_t pid; /* only this process; 0: all */
};

/* Attaches PROGRAM at all offsets at once: the link's descriptor, or -errno. Closing it detaches. */
int uprobe_multi_link(int program, const struct uprobe_multi *probe);

struct kprobe_multi {
    const char *const *functions; /* their names … */
    const uint64_t *addresses;    /* … or where they are */
    const uint64_t *cookies;      /* as above */
    uint32_t count;
};

/*
 * Attaches PROGRAM (loaded with ATTACH_TYPE_KPROBE_MULTI) at the entries of all these functions of the kernel
 * (Linux 5.18, CONFIG_FPROBE): the link's descriptor, or -errno. -ESRCH: one of the names is none.
 */
int kprobe_multi_link(int program, const struct kprobe_multi *probe);

/*
 * How often the kernel did not run PROGRAM since another one was running on that CPU (Linux 5.12; at tracepoints with a
 * record 6.7); 0 where it does not say.
 */
uint64_t bpf_program_misses(int program);

/*
 * Has the kernel count the runs of all programs and their time, until the descriptor is closed: it costs each run two
 * looks at the clock. The descriptor, or -errno (Linux 5.8, CAP_SYS_ADMIN).
 */
int bpf_stats_enable(void);

/* How often PROGRAM has run while the kernel counted, and for how many ns. 0 or -errno. */
int bpf_program_runs(int program, uint64_t *runs, uint64_t *ns);

/*
 * Runs PROGRAM (BPF_PROG_TYPE_RAW_TRACEPOINT) at each hit of the tracepoint NAME, or without a name PROGRAM
 * (BPF_PROG_TYPE_TRACING) at the function of the kernel that it was loaded for: the link's descriptor, or -errno.
 * Closing it detaches.
 */
int raw_tracepoint_link(int program, const char *name);

/*
 * Attaches PROGRAM to the perf event EVENT, where bpf_get_attach_cookie gives it COOKIE (Linux 5.15): the link's
 * descriptor, which keeps the event, or -errno. Closing it detaches.
 */
int bpf_perf_link(int program, int event, uint64_t cookie);

/*
 * True where the pid of uprobe_multi means a process. Before 6.10 it meant one thread, so that a filtered link
 * would miss the others.
 */
bool uprobe_multi_filters_process(void);
