/* A handler, the kind of probe that it is for, and what events of that kind have. */
#ifndef UPLUA_COMPILE_CONTEXT_HANDLER_H
#define UPLUA_COMPILE_CONTEXT_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argument.h"
#include "compile/context/type.h"

struct sites;

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

/* Event fields, by probe kind (probe_kinds.c). */
struct event_field {
    const char *name;
    unsigned kinds; /* 1 << HANDLER_… */
    struct type type;
    bool of_entry; /* in a return handler: saved by the entry half */
    enum event_source {
        EVENT_TIME,
        EVENT_PID,
        EVENT_TID,
        EVENT_UID,
        EVENT_GID,
        EVENT_CPU,
        EVENT_COMM,
        EVENT_CGROUP,
        EVENT_PROBE,
        EVENT_FUNC,
        EVENT_ARGUMENT,
        EVENT_GIVEN,
        EVENT_RETURN,
        EVENT_ELAPSED,
        EVENT_IP,
        EVENT_STACK_POINTER,
        EVENT_CALLER,
        EVENT_PERIOD,
        EVENT_ADDRESS,
        EVENT_CALL,
        EVENT_VALUE,
    } source;
    unsigned number;                 /* EVENT_ARGUMENT: which */
    const struct argument *argument; /* EVENT_GIVEN: by the probe */
};
/* The field NAME of events of KIND; NULL if there is none. */
const struct event_field *event_field_find(const char *name, enum handler_kind kind);
/* What events of KIND have: "time, pid, …, e:stack(), e:ustack() and e:kstack()", for messages. */
const char *event_field_list(struct arena *arena, enum handler_kind kind);

enum { NAMES_MAX_CAPACITY = 128 }; /* bytes of a name: a quarter of the stack */

/* Bytes of the buffer that the name of any site of HANDLER fits into, or is cut to. */
uint32_t names_capacity(const struct handler *handler);

#endif
