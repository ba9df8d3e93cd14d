/* What this kernel offers, found out by trying. */
#include "sys/feature.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/bpf.h"
#include "sys/btf.h"
#include "sys/perf.h"
#include "sys/watchpoint.h"

/* 0 where CODE is what a kernel says that knows the thing tried; what was tried cannot succeed. */
static int expect(int code, int expected)
{
    if (code >= 0)
        close(code);
    return code == expected ? 0 : code < 0 ? code : -EINVAL;
}

static int try_uprobe_multi(void)
{
    return expect(bpf_try_uprobe_link(ATTACH_TYPE_UPROBE_MULTI, 0), -EBADF);
}

/* A session is a kind of uprobe_multi link: without the one, there is no way to the other. */
static int try_session(void)
{
    int code = feature_code(FEATURE_UPROBE_MULTI);
    return code ? code : expect(bpf_try_uprobe_link(ATTACH_TYPE_UPROBE_SESSION, 0), -EBADF);
}

static int try_uprobe(void)
{
    struct perf_uprobe probe = {.path = "/"};
    return expect(perf_uprobe_attach(-1, &probe), -EINVAL);
}

/* No kernel has a function of this name. */
#define NO_FUNCTION "uplua's own"

static int try_kprobe(void)
{
    struct perf_kprobe probe = {.function = NO_FUNCTION};
    return expect(perf_kprobe_attach(-1, &probe), -ENOENT);
}

static int try_kprobe_multi(void)
{
    int program = bpf_probe_program(ATTACH_TYPE_KPROBE_MULTI);
    if (program < 0)
        return program;
    const char *name = NO_FUNCTION;
    struct kprobe_multi probe = {.functions = &name, .count = 1};
    int code = expect(kprobe_multi_link(program, &probe), -ESRCH);
    close(program);
    return code;
}

static int try_btf(void)
{
    int id = kernel_btf_function("bpf_get_current_comm");
    return id > 0 ? 0 : id;
}

static int try_cpu_clock(void)
{
    return perf_event_try(&(struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK});
}

static int try_pmu(void)
{
    return perf_event_try(&(struct perf_event_attr){.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES});
}

static int try_watchpoint(void)
{
    static uint64_t watched;
    struct perf_event_attr event = watchpoint_event(WATCH_WRITE, (uintptr_t)&watched, sizeof watched);
    event.exclude_kernel = 1;
    return perf_event_try(&event);
}

static const struct {
    const char *name, *text;
    int (*try)(void);
} features[FEATURE_COUNT] = {
    [FEATURE_UPROBE_MULTI] = {"uprobe_multi", "thousands of uprobes in one link (Linux 6.6)", try_uprobe_multi},
    [FEATURE_SESSION] = {"session", "entry and return in one uprobe (Linux 6.13)", try_session},
    [FEATURE_MAY_GOTO] = {"may_goto", "loops that the kernel bounds (Linux 6.9)", bpf_try_may_goto},
    [FEATURE_PRIVATE_STACK] = {"private_stack", "a stack for each function of a handler (Linux 6.13, x86)",
                               bpf_try_private_stack},
    [FEATURE_KPROBE_MULTI] = {"kprobe_multi", "thousands of kprobes in one link (Linux 5.18, CONFIG_FPROBE)",
                              try_kprobe_multi},
    [FEATURE_UPROBE] = {"uprobe", "uprobes as perf events (CONFIG_UPROBE_EVENTS)", try_uprobe},
    [FEATURE_SLEEPABLE] = {"sleepable", "handlers that wait until memory is there (Linux 6.0)", bpf_try_sleepable},
    [FEATURE_KPROBE] = {"kprobe", "kprobes as perf events (CONFIG_KPROBE_EVENTS)", try_kprobe},
    [FEATURE_TRAMPOLINE] = {"trampoline", "calls from the kernel's functions: fentry, fexit (CONFIG_FUNCTION_TRACER)",
                            bpf_try_trampoline},
    [FEATURE_BTF] = {"btf", "the kernel's own types (CONFIG_DEBUG_INFO_BTF)", try_btf},
    [FEATURE_CPU_CLOCK] = {"cpu_clock", "samples by time (CONFIG_PERF_EVENTS)", try_cpu_clock},
    [FEATURE_PMU] = {"pmu", "the CPU's own counters, such as cycles", try_pmu},
    [FEATURE_WATCHPOINT] = {"watchpoint", "the CPU's debug registers (CONFIG_HAVE_HW_BREAKPOINT)", try_watchpoint},
};

const char *feature_name(enum feature feature)
{
    return features[feature].name;
}

const char *feature_text(enum feature feature)
{
    return features[feature].text;
}

static void warn_unknown(const char *variable, const char *name, size_t length)
{
    fprintf(stderr, "uplua: %s names an unknown feature '%.*s'; known are all", variable, (int)length, name);
    for (int i = 0; i < FEATURE_COUNT; i++)
        fprintf(stderr, ", %s", features[i].name);
    fputc('\n', stderr);
}

/* The features that the environment's VARIABLE names, as bits. */
static unsigned features_in(const char *variable)
{
    const char *list = getenv(variable);
    unsigned bits = 0;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        int i = 0;
        while (i < FEATURE_COUNT && (strlen(features[i].name) != length || memcmp(features[i].name, list, length) != 0))
            i++;
        if (i < FEATURE_COUNT)
            bits |= 1u << i;
        else if (length == 3 && !memcmp(list, "all", 3))
            bits |= (1u << FEATURES_OF_CODE) - 1;
        else if (length)
            warn_unknown(variable, list, length);
        list += length + (list[length] == ',');
    }
    return bits;
}

/* The features that the environment switches off, and those that are not to be tried, as bits. */
static struct {
    bool known;
    unsigned off, on;
} environment;

static void read_environment(void)
{
    if (environment.known)
        return;
    environment.off = features_in("UPLUA_WITHOUT");
    environment.on = features_in("UPLUA_WITH");
    environment.known = true;
}

bool feature_untried(enum feature feature)
{
    read_environment();
    return (environment.on & ~environment.off) & 1u << feature;
}

int feature_code(enum feature feature)
{
    static bool known[FEATURE_COUNT];
    static int codes[FEATURE_COUNT];
    read_environment();
    if (!known[feature]) {
        unsigned bit = 1u << feature;
        codes[feature] = environment.off & bit ? -ECANCELED : environment.on & bit ? 0 : features[feature].try();
        known[feature] = true;
    }
    return codes[feature];
}

bool feature_available(enum feature feature)
{
    return feature < FEATURE_COUNT && feature_code(feature) == 0;
}
