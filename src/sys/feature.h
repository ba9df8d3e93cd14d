/*
 * What this kernel offers. A feature is decided by trying it, not by the version number, once per process and only
 * when somebody asks. $UPLUA_WITHOUT=uprobe_multi,session,… switches features off, so that the older paths are
 * tested; $UPLUA_WITH=… takes them as there without trying, so that code for other kernels can be looked at.
 */
#pragma once

#include <stdbool.h>

enum feature {
    /* These decide what a handler becomes; "all" means them. */
    FEATURE_UPROBE_MULTI, /* one link for thousands of uprobes; Linux 6.6 */
    FEATURE_SESSION,      /* entry and return in one uprobe link, with a cookie between them; Linux 6.13 */
    FEATURE_MAY_GOTO,     /* loops that the kernel bounds, not the verifier; Linux 6.9 */
    /* 512 bytes of stack for each function of a program, not for all together; Linux 6.13, x86 */
    FEATURE_PRIVATE_STACK,
    FEATURE_KPROBE_MULTI, /* one link for thousands of kprobes; Linux 5.18, CONFIG_FPROBE */
    FEATURES_OF_CODE,
    /* These, whether a probe can be set, and how. */
    FEATURE_UPROBE = FEATURES_OF_CODE, /* uprobes as perf events; CONFIG_UPROBE_EVENTS */
    FEATURE_SLEEPABLE,                 /* handlers that wait until memory is there; Linux 6.0 */
    FEATURE_KPROBE,                    /* kprobes as perf events; CONFIG_KPROBE_EVENTS */
    FEATURE_TRAMPOLINE,                /* programs called by the kernel's functions themselves: fentry; Linux 5.5 */
    FEATURE_BTF,                       /* the kernel's own types; CONFIG_DEBUG_INFO_BTF */
    FEATURE_CPU_CLOCK,                 /* samples by time */
    FEATURE_PMU,                       /* the CPU's own counters */
    FEATURE_WATCHPOINT,                /* the CPU's debug registers */
    FEATURE_COUNT,
};

/* The name used in UPLUA_WITHOUT and --info, such as "uprobe_multi". */
const char *feature_name(enum feature feature);
/* What it is, for people, with the first Linux that has it or the option that it takes. */
const char *feature_text(enum feature feature);

/* True where the kernel has FEATURE, or UPLUA_WITH names it, and UPLUA_WITHOUT does not. Cheap after the first call. */
bool feature_available(enum feature feature);
/*
 * 0 where it is, else -errno: what the kernel said when it was tried, -ECANCELED where UPLUA_WITHOUT names it. -EPERM
 * and -EACCES say nothing about the kernel, only that this process may not try.
 */
int feature_code(enum feature feature);
/* True where UPLUA_WITH names FEATURE, which is then there without having been tried. */
bool feature_untried(enum feature feature);
