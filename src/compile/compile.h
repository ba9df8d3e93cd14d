/*
 * Handlers → one BPF object. All handlers of a setup are compiled together, since the types of the maps that they share
 * are inferred across them. A compiler lives as long as its shared objects: later setups (the prompt) must fit the
 * types of those that are loaded.
 *
 * The passes, one file each: bytecode.c decodes what LuaJIT dumps; build.c turns it into SSA (ir.h), inlining the
 * functions called; infer.c gives each value its type; optimise.c removes what is not needed; lower.c expands values to
 * machine operations (machine.h); regalloc.c gives them registers; emit.c writes BPF instructions into an object.h
 * object.
 */
#ifndef UPLUA_COMPILE_COMPILE_H
#define UPLUA_COMPILE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/argument.h"
#include "compile/context/host.h"
#include "compile/context/type.h"
#include "compile/object/object.h"

enum object_kind {
    OBJECT_HASH,
    OBJECT_LRU,
    OBJECT_PERCPU_HASH,
    OBJECT_ARRAY, /* the maps: to here */
    OBJECT_COUNT, /* the aggregations: from here … */
    OBJECT_SUM,
    OBJECT_MIN,
    OBJECT_MAX,
    OBJECT_STATS,
    OBJECT_HIST,
    OBJECT_LHIST,
    OBJECT_HDR, /* … to here */
    OBJECT_VAR,
    OBJECT_RING,
    OBJECT_OUTPUT, /* a ring of uplua's own: what handlers print, and the wake-up when one ends the run */
    OBJECT_OTHER,  /* of a kind that handlers cannot use */
};

/* What the script makes of the record that a handler's printf emits. */
struct print {
    const char *format;   /* checked */
    size_t length, count; /* bytes of the format; its arguments */
    struct print_argument {
        char conversion; /* 'd', 's', … */
        bool is_unsigned;
        const struct captured *constant; /* NULL: it is what the tuple that is emitted has at its place, from 1 */
        struct value *value;             /* while it is compiled */
    } * args;
};

/* One shape of the records of a ring. */
struct variant {
    struct record *record;
    const struct print *print; /* NULL but in OBJECT_OUTPUT */
};

/* The buckets of an lhist: COUNT of STEP each from LOW on. Of an hdr: 2^BITS to each power of two (HdrHistogram's half
 * count). */
struct buckets {
    int64_t low;
    uint64_t step, count;
    unsigned bits;
};

/* A shared object. The caller fills the first part; the compiler the rest. */
struct shared {
    enum object_kind kind;
    uint64_t max; /* entries of a map, bytes of a ring (a power of two) */
    int fd;       /* of the kernel's map once loaded (set by the caller after the load), else -1 */
    struct buckets buckets;
    int spill_fd;                             /* the same of an aggregation's second map, else -1 */
    struct type declared_key, declared_value; /* TYPE_NONE where nothing is declared */
    struct type given_key, given_value;       /* what the script's own writes hold so far; TYPE_NONE if nothing … */
    const struct position *given_key_at, *given_value_at; /* … and where the first one was */

    const char *name; /* of the variable that held it when it was first used; NULL: no handler has used it */
    char map_name[16];
    char spill_name[16]; /* of an aggregation: the map for keys that MAP_NAME has no memory for; "" if there is none */
    /* of an aggregation: index of its word in the object's counters `uplua_turns` (compile/lower/aggregate.c), -1 if it
     * has none */
    int turn;
    uint32_t map_type, map_flags; /* BPF_MAP_TYPE_*, BPF_F_* */
    bool amounts; /* of a count or sum: handlers add more than 1 at a time, so that it may come to the end of 64 bits */
    bool used;    /* in the last setup compiled */
    bool keyed;
    struct type key, value;   /* TYPE_NONE where there is none */
    struct variant *variants; /* of a ring, by the tag of its records */
    size_t variant_count;
    const struct position *key_at, *value_at; /* where the types were first seen */
};

/* True for count, sum, min, max, stats and the histograms. */
bool object_is_aggregate(const struct shared *object);
/* The elements that the buckets of an aggregation are spread over; 1 for those without buckets. */
uint64_t aggregate_stretches(const struct shared *object);

enum handler_kind {
    HANDLER_ENTRY,
    HANDLER_RETURN,
    HANDLER_KERNEL_ENTRY,   /* runs when a function of the kernel is entered … */
    HANDLER_KERNEL_RETURN,  /* … and when it returns */
    HANDLER_FENTRY,         /* the same two by calls from the function itself, which tells its arguments … */
    HANDLER_FEXIT,          /* … at the return, too */
    HANDLER_USDT,           /* runs where the program passes one of its own static probes */
    HANDLER_PROFILE,        /* runs on each CPU so many times a second, where the CPU is busy */
    HANDLER_PERF,           /* runs at events that the kernel's perf counts: one in so many */
    HANDLER_WATCH,          /* runs when a place in memory is accessed */
    HANDLER_INTERVAL,       /* runs each time that so much time has passed, whatever the CPU does then */
    HANDLER_TRACEPOINT,     /* runs where the kernel passes one of its tracepoints; the context is the record */
    HANDLER_RAW_TRACEPOINT, /* the same; the context is the words that the kernel gives the tracepoint */
    HANDLER_SYSCALL,        /* runs where a thread enters the kernel by a system call … */
    HANDLER_SYSRETURN,      /* … and where it leaves it */
    HANDLER_TEST,           /* runs when BPF_PROG_TEST_RUN asks for it, on words that the caller gives: for tests */
    HANDLER_KINDS,
};

/* What the programs of a kind of handler are, and where their events' words come from: one row each, in probe_kinds.c.
 */
struct handler;
struct probe_kind {
    const char *name;      /* of the probe's constructor: "uprobe" */
    uint32_t program_type; /* BPF_PROG_TYPE_* */
    bool of_return;        /* what it has of_entry comes from an entry half (event.c) */
    bool sleeps;           /* may be loaded sleepable, so that reading memory brings pages in */
    bool kernel_memory;    /* what addresses lead to is the kernel's memory, not the process's */
    enum {
        REGISTERS_NONE,
        REGISTERS_USER,
        REGISTERS_INTERRUPTED,
        REGISTERS_THREAD
    } registers;                 /* that the context begins with: none,
the traced program's, those of what was interrupted, in user space or in the kernel; or none, but
the kernel has kept those with which the thread entered it */
    unsigned rounds;             /* that all loops of a handler may make in one run */
    int (*argument)(unsigned n); /* byte offset in the context of e.argN; -1: it is not there */
    bool of_nobody;              /* what runs then has nothing to do with the event: its process is not asked for */
    const char *arguments;       /* what a message calls those of the handler: "field"; NULL: the kind has no e.args */
    bool numbered;               /* e.argN is the handler's argument N, and e.nargs their number */
};
/* True if addresses that HANDLER comes by lead to the kernel's memory. */
bool handler_reads_kernel(const struct handler *handler);
/* The row of KIND. */
const struct probe_kind *probe_kind_of(enum handler_kind kind);
/* The kind whose constructor is NAME; HANDLER_KINDS if there is none. */
enum handler_kind probe_kind_find(const char *name);

/* The program that an object has for the raw tracepoint sched_process_exit where return handlers keep calls in their
 * threads (pair_calls.c). */
#define CALLS_END_PROGRAM "uplua_threads_end"
/* Those for sched_process_exec and sched_process_exit where handlers take stacks of processes (executed_programs.c). */
#define EXECUTED_PROGRAM "uplua_executes"
#define EXECUTED_END_PROGRAM "uplua_exits"

/*
 * The counters of an object with what a call of a function that does nothing takes by its probes, in ns: by the way in
 * which its return is seen (enum cost_way of probe/attach/cost.h), COST_ENTRIES each, by enum entry of probe/probe.h.
 */
#define COST_COUNTERS "uplua_costs"
enum { COST_ENTRIES = 4 };

/* A handler. The caller fills the first part; the compiler the rest. */
struct handler {
    enum handler_kind kind;
    int function;       /* handle in the environment */
    const char *probe;  /* e.probe: the spec */
    const char *symbol; /* e.func, where there is one … */
    /* … and by the number of the site (sys/cookie.h) where there are several; NULL: there are not */
    const char *const *names;
    size_t name_count;
    const struct argument *arguments; /* e.args */
    size_t argument_count;
    /* of a program's function, which e.args are looked for at once a handler asks; else NULL */
    const struct sites *sites;
    bool arguments_known; /* they have been */
    /* of a system call: of any, by a raw tracepoint, whose context is { registers, number or result } */
    bool raw;
    bool unfiltered; /* runs whoever is traced: uplua's own */
    /* runs in the processes that are traced, whatever holds for their threads: uplua's own, too */
    bool of_processes;
    bool user_memory;    /* of a kind with KERNEL_MEMORY: here addresses lead to the process's */
    int result_bits;     /* so many of e.ret count, negative if signed; 0: all */
    unsigned value_bits; /* of a watched place that is read or written; 0: it is executed */
    /* the function is Go's: its arguments are elsewhere, and a return handler runs at its return instructions */
    bool of_go;
    bool by_instruction; /* a return handler runs at return instructions, as Go's do */
    bool at_entry;       /* the site stands for a function's entry: the return address is not yet below a frame … */
    int slid;            /* … and is so many bytes behind it; -1: its cookie has that (sys/cookie.h) */
    int entry;           /* of a program's function: its sites' enum entry (probe/probe.h); -1: the cookie has that */

    /* Programs of the object to attach; "" where there is none. Each is also its ELF section's last part. */
    char program[32];       /* of the handler itself */
    char entry_program[32]; /* of a return handler that needs values of the entry and has no session to do both */
    bool session;           /* attach PROGRAM as a session */
    char names_map[16];     /* that names_fill has to fill; "": none */
    bool net;               /* it takes what a probe costs off e.elapsed: COST_COUNTERS are to be filled */
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
    /* the shared object, numbered from 1, with the ids of cgroups at CGROUP_LEVEL: only what runs below these; 0:
     * none */
    size_t cgroups;
    int cgroup_level;         /* as in bpf_get_current_ancestor_cgroup_id: 0 is the root */
    const char *const *comms; /* only threads of these names; "redis*" means all that begin so; none: all */
    size_t comm_count;
    int session_is_return; /* BTF id of the kfunc; 0: sessions are not available */
    /* byte offsets of task_struct's utask, and in that of its depth; 0: not known */
    uint32_t task_uprobes, uprobes_depth;
    uint64_t trampoline_fields;           /* TRAMPOLINE_FIELDS */
    uint32_t attach_types[HANDLER_KINDS]; /* expected attach type of each kind's programs */
    uint32_t session_attach_type;
    uint64_t return_trampoline; /* where the kernel's functions return to while they are followed; 0: not known */
    /* Line LINE of the source FILE, for the verifier's messages; may return "". Lives as long as the compilation. */
    const char *(*source_line)(void *context, const char *file, int line);
    void *context;
};

/* A counter of the object's `uplua_ledger` array, in its order. */
struct ledger_entry {
    const char *cause; /* "live is full (65,536 entries): insertions lost, a.lua:12" */
};

struct compiler;

struct compiler *compiler_new(struct environment environment);
void compiler_free(struct compiler *compiler);
/* Declares the next shared object, numbered from 0. Owned by the compiler; NULL if out of memory. */
struct shared *compiler_add_object(struct compiler *compiler, enum object_kind kind, uint64_t max);
struct shared *compiler_object(struct compiler *compiler, size_t number);
size_t compiler_object_count(const struct compiler *compiler);

/* For the types in given_key and given_value. */
struct arena *compiler_arena(struct compiler *compiler);

/*
 * Compiles COUNT HANDLERS into *RESULT (owned by the caller) and *LEDGER (*LEDGER_COUNT entries, owned by the
 * compiler). On failure nothing has changed and ERR has the message, with file and line.
 */
int compiler_compile(struct compiler *compiler, struct handler *handlers, size_t count,
                     const struct compile_options *options, struct object **result, const struct ledger_entry **ledger,
                     size_t *ledger_count, struct error *err);
/* Bytes of the buffer that the name of any site of HANDLER fits into, or is cut to. */
uint32_t names_capacity(const struct handler *handler);
/* Writes the names of the handler's sites to the map that it reads them from. 0 or -errno. */
int names_fill(const struct handler *handler, const struct loaded *loaded);
/* The object was loaded: its layouts are fixed from here on. */
void compiler_freeze(struct compiler *compiler);

#endif
