/* Functions of the kernel: from a spec such as "vfs_read" or "tcp_*" to places, and from loaded programs to links. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

/* Functions, all probed at the same distance from their start. */
struct kernel_sites {
    struct kernel_site {
        char *function;   /* "vfs_read" */
        char *module;     /* NULL: the kernel itself */
        uint64_t address; /* 0: this process may not see it */
        bool shares_name; /* with another one of the same module: the address tells them apart */
    } * sites;
    size_t count;
    uint64_t inside;
    uint64_t trampoline; /* where functions return to while the kernel follows them; 0: not known */
    bool pattern;        /* the spec is one: a function where the kernel permits no probe is left out */
};

/*
 * Finds the functions of [MODULE:]FUNCTION[+OFFSET] in SYMBOLS, which has the form of /proc/kallsyms; FUNCTION may be a
 * pattern of * ? [. A name that several functions share stands for all. 0 and *SITES, freed by kernel_sites_free, or
 * -errno: errors name close matches.
 */
int kernel_resolve(const char *spec, const char *symbols, struct kernel_sites *sites, struct error *err);
void kernel_sites_free(struct kernel_sites *sites);
/* Drops those of SITES for which KEPT, of as many, has false. */
void kernel_sites_keep(struct kernel_sites *sites, const bool *kept);

/*
 * What this kernel, or this process, lacks for probes on kernel functions, with what there is instead: 0 where nothing
 * is missing, else -errno and the reason in ERR. KIND: the probe's constructor.
 */
int kernel_check(const char *kind, struct error *err);

enum kernel_place {
    KERNEL_ENTRY,
    KERNEL_RETURN,
    /* the entry, for what is at the return, attached before that (compile/lower/event.c), or for a handler that reads
     * registers */
    KERNEL_ENTRY_BY_EVENT,
};

/*
 * Attaches the program PROGRAM_FD at the PLACE of SITES, where bpf_get_attach_cookie gives it COOKIE. Entries share one
 * link if the kernel has that (FEATURE_KPROBE_MULTI); otherwise each has a perf event. Returns always have perf events,
 * since a link does not tell which of them it leaves out; so have handlers that read registers, of which a link has
 * only those that pass arguments (struct ftrace_regs). *LEFT_OUT: how many functions of a pattern the kernel refused.
 * On failure nothing stays attached.
 */
int kernel_attach(int program_fd, uint64_t cookie, const struct kernel_sites *sites, enum kernel_place place,
                  struct probe_link **link, size_t *left_out, struct error *err);
/* Attaches the program PROGRAM_FD to the function that it was loaded for. FUNCTION names it in errors. */
int kernel_attach_trampoline(int program_fd, const char *function, struct probe_link **link, struct error *err);
/* The same as kernel_check, for that: 0, or the reason in ERR. */
int kernel_check_trampoline(const char *kind, struct error *err);
