/* A thread's system calls between entry and return, as both sides see them: what system_calls.bpf.c works on, in the
 * thread's storage of a handler. */
#pragma once

#include <linux/types.h>

/* A call that a signal's handler has interrupted goes on when that is over: so many lie in each other. A power of 2. */
#define SYSTEM_CALLS_DEEPEST 4

struct system_call {
    __u64 state;             /* SYSTEM_CALL_ON … */
    __u64 number;            /* e.nr */
    __u64 passed_by;         /* 1: it began while its thread was not traced, by its name or its cgroup */
    __u64 error;             /* of one that is interrupted: ERESTARTSYS … */
    __u64 ip, stack_pointer; /* … and the thread's own at the entry, which is where it enters the kernel again */
};

enum {
    SYSTEM_CALL_ON = 1,
    SYSTEM_CALL_INTERRUPTED, /* the kernel is about to decide what comes of it */
    SYSTEM_CALL_SUSPENDED,   /* a signal's handler runs; the call goes on behind it */
    SYSTEM_CALL_RESUMED,     /* the handler has ended; the thread is about to make the call again */
};

struct system_calls {
    __u64 seen;  /* 1: the thread has made a call, or one has returned, since the handler is attached */
    __u64 depth; /* calls; the last one is the innermost */
    /* Of the call that has just returned: its place among the calls, where its values lie; its number and result. */
    __u64 place, number;
    __s64 result;
    struct system_call calls[SYSTEM_CALLS_DEEPEST];
};

/* For which calls a handler is: one's number, or one of these; attempts: each return to the program's or the kernel's
 * decision is one, as strace shows them; named: the programs stand at the one's own tracepoints; compat: those by the
 * 32-bit interface alone, which are counted and no more. */
#define SYSTEM_CALL_ANY (-1)
#define SYSTEM_CALL_ATTEMPTS (-2)
#define SYSTEM_CALL_NAMED (-3)
#define SYSTEM_CALL_COMPAT (-4)

/* What the return half of a named one is attached with at signal_deliver (bpf_get_attach_cookie). */
#define SYSTEM_CALL_AT_SIGNAL 1

/*
 * What the functions return: a call's place, or one of these. Of uplua_system_call_begin the bits above count the calls
 * that have been left by a jump out of a signal's handler, and above these all that have ended without a return.
 */
#define SYSTEM_CALL_NONE SYSTEM_CALLS_DEEPEST          /* nothing is to be done */
#define SYSTEM_CALL_REFUSED (SYSTEM_CALLS_DEEPEST + 1) /* a call has returned that had no entry */
#define SYSTEM_CALL_UNSEEN (SYSTEM_CALLS_DEEPEST + 2)  /* the same, and what it was is not known */
#define SYSTEM_CALL_PLACE_BITS 8
#define SYSTEM_CALL_LEFT_BITS 8
