/* A handler. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argument.h"
#include "base/entry.h"
#include "compile/context/provider.h"

struct sites;

/* The program that an object has for the raw tracepoint sched_process_exit where return handlers keep calls in their
 * threads (pair_calls.c). */
#define CALLS_END_PROGRAM "uplua_threads_end"
/* Those for sched_process_exec and sched_process_exit where handlers take stacks of processes (executed_programs.c). */
#define EXECUTED_PROGRAM "uplua_executes"
#define EXECUTED_END_PROGRAM "uplua_exits"

/*
 * The counters of an object with the probes' own time, in ns, in a call of a function that does nothing: between their
 * looks at the clock, by the way in which its return is seen, and outside of their programs. COST_ENTRIES each, by enum
 * entry of probe/probe.h; written by src/lua/cost.c.
 */
#define COST_COUNTERS "uplua_costs"
/* Others: what was lost, a word for each cause (struct ledger_entry); the status that a handler ended the run with; the
 * turns of aggregations (lower/aggregate.c); and zeros that nobody changes. */
#define LEDGER_COUNTERS "uplua_ledger"
#define EXITED_COUNTERS "uplua_exited"
#define TURN_COUNTERS "uplua_turns"
#define ZERO_COUNTERS "uplua_zeros"
enum { COST_AT_RETURN, COST_AT_EXIT, COST_AROUND, COST_PARTS, COST_ENTRIES = 4 };

/* A handler. The caller fills the first part; the compiler the rest. */
struct handler {
    const struct provider *provider;
    int function;       /* handle of the host */
    const char *probe;  /* e.probe: the spec */
    const char *symbol; /* e.func, where there is one … */
    /* … and by the number of the site (sys/cookie.h) where there are several; NULL: there are not */
    const char *const *names;
    size_t name_count;
    const struct argument *arguments; /* e.args */
    size_t argument_count;
    /* of a program's function, which e.args are looked for at once a handler asks; else NULL */
    struct sites *sites;
    bool arguments_known; /* they have been */
    /* number of its probe's struct probe_state, and the version of it that runs the handler; 0: uplua's own, always
     * awake */
    size_t state;
    uint32_t version;
    /* of a system call: by a raw tracepoint of all, whose context is { registers, number or result } … */
    bool raw;
    int call;        /* … whose number this is: for the others nothing runs; negative: of any (bpf/system_calls.h) */
    bool unfiltered; /* runs whoever is traced */
    /* uplua's own: which processes are traced matters to it, whatever holds for their threads … */
    bool of_processes;
    bool of_every_cpu;     /* … and on CPUs that are not traced */
    bool no_registers;     /* of a provider with registers: those of its context tell nothing */
    bool user_memory;      /* of a provider with KERNEL_MEMORY: here addresses lead to the process's */
    bool of_kernel;        /* of another one: here they lead to the kernel's */
    int result_bits;       /* so many of e.ret count, negative if signed; 0: all */
    const char *no_result; /* there is no e.ret, since the function returns this: "double"; NULL or "": there is */
    bool maybe_no_result; /* e.ret is nil of some functions of the script's probe: of those that NO_RESULT is told of */
    unsigned value_bits;  /* of a watched place that is read or written; 0: it is executed */
    /* the function is Go's: its arguments are elsewhere, and a return handler runs at its return instructions */
    bool of_go;
    bool by_instruction; /* a return handler runs at return instructions, as Go's do */
    /* the site stands for a function's entry, where the return address is not yet below a frame … */
    bool at_entry;
    struct entry_stand stand; /* … and is so far behind it */

    /* Programs of the object to attach; "" where there is none. Each is also its ELF section's last part. */
    char program[32];       /* of the handler itself */
    char entry_program[32]; /* of a return handler that needs values of the entry and has no session to do both */
    bool session;           /* attach PROGRAM as a session */
    char names_map[16];     /* that func_names_fill has to fill; "": none */
    bool reads_registers;   /* its context must have all of the CPU's, which a link of many kprobes does not give it */
    bool reads_result;      /* it has e.ret, of which there may be something to say (lua/uplua/probe/results.lua) */
    bool net;               /* it takes what a probe costs off e.elapsed: COST_COUNTERS are to be filled */
};

/* True if addresses that HANDLER comes by lead to the kernel's memory. */
bool handler_reads_kernel(const struct handler *handler);

enum { NAMES_MAX_CAPACITY = 128 }; /* bytes of a name: a quarter of the stack */

/* Bytes of the buffer that the name of any site of HANDLER fits into, or is cut to. */
uint32_t names_capacity(const struct handler *handler);
