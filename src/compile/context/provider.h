/*
 * A probe kind is one provider: what its constructor is called, what its programs are, what its events have, and how
 * its returns pair with their entries. Each is a row of a file in compile/providers, which providers.c lists; nobody
 * else asks of which kind a probe is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/argument.h"
#include "compile/context/type.h"

struct handler;
struct lower;
struct operand;
struct pairing;

/* Where the value of an event's field comes from. */
enum event_source {
    EVENT_TIME,
    EVENT_PID,
    EVENT_TID,
    EVENT_UID,
    EVENT_GID,
    EVENT_CPU,
    EVENT_COMM,
    EVENT_CGROUP,
    EVENT_TASK,
    EVENT_PARENT,
    EVENT_PROBE,
    EVENT_FUNC,
    EVENT_ARGUMENT,
    EVENT_GIVEN,
    EVENT_RETURN,
    EVENT_ELAPSED,
    EVENT_TAKEN_OFF,
    EVENT_IP,
    EVENT_STACK_POINTER,
    EVENT_CALLER,
    EVENT_REGISTER,
    EVENT_PERIOD,
    EVENT_ADDRESS,
    EVENT_CALL,
    EVENT_VALUE,
    EVENT_TRACED,
    EVENT_PROGRAM, /* for up.sym: which program the process executes, as stacks have it */
};

/* A field of an event. */
struct event_field {
    const char *name;
    struct type type;
    bool of_entry; /* in a return handler: saved by the entry half */
    enum event_source source;
    unsigned number;                 /* EVENT_ARGUMENT: which */
    const struct argument *argument; /* EVENT_GIVEN: by the probe */
};

/* Sets of fields, for providers. */
#define FIELD(source) (1u << EVENT_##source)
#define FIELDS_OF_ANY (FIELD(TIME) | FIELD(CPU) | FIELD(PROBE) | FIELD(TASK))
#define FIELDS_OF_THREAD                                                                                               \
    (FIELDS_OF_ANY | FIELD(PID) | FIELD(PARENT) | FIELD(TID) | FIELD(UID) | FIELD(GID) | FIELD(COMM) | FIELD(CGROUP) | \
     FIELD(TRACED))

/* In user space only the probe's own thread waits for a handler; a kind that runs in the kernel's time has 4,096
 * rounds. */
enum { USER_ROUNDS = 65536, KERNEL_ROUNDS = 4096 };

/* BPF_PROG_TEST_RUN gives a raw tracepoint program up to so many words. */
enum { TEST_WORDS = 12 };

struct provider {
    const char *name;                     /* of the probe's constructor: "uprobe" */
    uint32_t program_type;                /* BPF_PROG_TYPE_* */
    uint32_t attach_type;                 /* BPF_TRACE_*, which the programs are loaded for; 0: none … */
    uint32_t (*attach_as)(bool at_entry); /* … or it depends on the kernel */
    bool sleeps;                          /* may be loaded sleepable, so that reading memory brings pages in */
    bool kernel_memory;                   /* what addresses lead to is the kernel's memory, not the process's */
    bool of_kernel;                       /* it stands at functions of the kernel by kprobes */
    bool called;                          /* the function itself calls the handler, whose context has its arguments */
    bool of_nobody; /* what runs then has nothing to do with the event: its process is not asked for */
    bool measured;  /* what its probes take is known, and e.elapsed is net of it (probe/attach/cost.h) */
    enum {
        REGISTERS_NONE,
        REGISTERS_USER,        /* of the traced program */
        REGISTERS_INTERRUPTED, /* of what was interrupted, in user space or in the kernel */
        REGISTERS_THREAD,      /* none, but the kernel has kept those with which the thread entered it */
    } registers;               /* that the context begins with */
    unsigned rounds;           /* that all loops of a handler may make in one run */

    uint32_t fields;             /* that events have, of the set FIELD(TIME) … */
    unsigned words;              /* of e.arg0 … that lie in the context … */
    int (*argument)(unsigned n); /* … byte offset there of e.argN; -1: it is not there on this CPU */
    const char *arguments;       /* what a message calls those of the handler: "field"; NULL: the kind has no e.args */
    bool variables;              /* it stands at an instruction of a program, whose variables are e.vars */
    bool numbered;               /* e.argN is the handler's argument N, and e.nargs their number */
    struct operand (*result)(struct lower *lower); /* e.ret; NULL: there is none */
    bool word_result;                              /* … which is a whole word of whatever returns */
    struct operand (*ip)(struct lower *lower);     /* e.ip; the same */

    /* of an entry: the provider of its returns, and what returns then, for messages: "function" */
    const struct provider *at_return;
    const char *returning;
    /* of a return: how it finds what its entry has left (compile/lower/pairing.h); NULL: there is none to be found */
    const struct pairing *pairing;
};

/* The provider whose constructor is NAME; NULL if there is none. */
const struct provider *provider_find(const char *name);
/* What PROVIDER's programs are loaded to be attached as (BPF_TRACE_* or libbpf's like), at functions' entries or
 * elsewhere; 0: it does not matter. */
uint32_t provider_attach_type(const struct provider *provider, bool at_entry);
/* The provider NUMBER, from 0; NULL behind the last one. */
const struct provider *provider_at(size_t number);

/* True if events have e.regs: the context has registers that tell of the event. */
bool provider_has_registers(const struct provider *provider);

/* The field NAME of PROVIDER's events; NULL if there is none. */
const struct event_field *event_field_find(const char *name, const struct provider *provider);
/* What PROVIDER's events have: "time, pid, …, e:stack(), e:ustack() and e:kstack()", for messages. */
const char *event_field_list(struct arena *arena, const struct provider *provider);
