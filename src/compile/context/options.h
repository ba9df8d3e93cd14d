/* The options of a setup's compilation: the traced processes, the kernel's features, and the causes of losses that it
 * counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "compile/context/handler.h"

/* Where the kernel keeps in how many calls a thread is whose returns it follows, and where these return to; 0: not
 * known. */
struct kernel_returns {
    uint32_t task_uprobes, uprobes_depth; /* byte offsets of task_struct's utask, and in that of its depth */
    uint64_t trampoline_fields;           /* TRAMPOLINE_FIELDS */
    uint64_t chain;                       /* RETURN_CHAIN */
};

struct compile_options {
    const pid_t *pids; /* only these processes; none: all but EXCEPT */
    size_t pid_count;
    pid_t except; /* 0: nobody is excepted */
    /* the shared object, numbered from 1, whose keys are the processes that are traced instead of PIDS; 0: none */
    size_t followed;
    const pid_t *tids; /* only these threads; none: all */
    size_t tid_count;
    /* when the TIDS, or without these the PIDS, began: see procstat_birth. FOLLOWED has it as its values */
    const uint64_t *births;
    uint32_t task_leader, task_birth; /* byte offsets of task_struct's group_leader and start_boottime; 0: not known */
    uint32_t (*task_thread)(void);    /* byte offset in task_struct of the thread pointer; 0: not known */
    const struct kernel_returns *(*returns)(void);
    /* the shared object, numbered from 1, with the ids of cgroups at CGROUP_LEVEL: only what runs below these; 0:
     * none */
    size_t cgroups;
    int cgroup_level;         /* as in bpf_get_current_ancestor_cgroup_id: 0 is the root */
    const char *const *comms; /* only threads of these names; "redis*" means all that begin so; none: all */
    size_t comm_count;
    const int *cpus; /* handlers run on these CPUs only, in ascending order; none: on all */
    size_t cpu_count;
    int session_is_return; /* BTF id of the kfunc; 0: sessions are not available */
    uint32_t session_attach_type;
    uint64_t return_trampoline; /* where the kernel's functions return to while they are followed; 0: not known */
    char stacks;                /* what e:stack() is: 'u', the program's part alone, 'k', the kernel's; 0: both */
    size_t states;              /* probes with a state (probe_state.h); 0: none */
    int states_fd;              /* the variable with them that an earlier object has; -1: there is none */
    /* Line LINE of the source FILE, for the verifier's messages; may return "". Lives as long as the compilation. */
    const char *(*source_line)(void *context, const char *file, int line);
    void *context;
    /* Looks for e.args of a handler with SITES, once it asks: parameters_find of probe/args/parameters.h. */
    int (*find_arguments)(const struct sites *sites, bool of_return, struct arena *arena,
                          const struct argument **arguments, size_t *count, struct error *err);
    /* Has probes at SITES stand at their functions' first instructions: slide_back of probe/probe.h. */
    void (*stand_at_entry)(struct sites *sites);
    /* Has those stand there that would not have at their places what a handler READS: slide_settle, ibid. */
    void (*settle)(struct sites *sites, const struct entry_reads *reads, struct arena *arena,
                   struct entry_stand *stand);
    /* Looks for the variable NAME of the program where SITES are, e.vars: locals_find of probe/args/locals.h. */
    int (*find_variable)(const struct sites *sites, const char *name, struct arena *arena,
                         const struct argument **arguments, size_t *count, struct error *err);
};

/* A counter of the object's `uplua_ledger` array, in its order. */
struct ledger_entry {
    const char *cause; /* "live is full (65,536 entries): insertions lost, a.lua:12" */
};
