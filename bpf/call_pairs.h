/* A thread's calls of traced functions between entry and return, as both sides see them: what call_pairs.bpf.c works
 * on, in the thread's storage. */
#pragma once

#include <linux/types.h>

/* The kernel follows no more returns of a thread at one time (include/linux/uprobes.h, MAX_URETPROBE_DEPTH, since
 * Linux 3.10). */
#define CALLS_DEEPEST 64

struct calls {
    __u64 count;                         /* the last one is the innermost */
    __u64 stack_pointers[CALLS_DEEPEST]; /* at the entry; with the marks below */
};

/*
 * Set in the stack pointer of a call that began before uplua_calls_settled: where entries and returns are attached one
 * after the other, the kernel may not follow its return yet.
 */
#define CALLS_UNSETTLED 1
/* Set in the stack pointer of a call that began while its thread was not traced, by its name or its cgroup. */
#define CALLS_PASSED_BY 2

/*
 * uplua_call_begin, _pass_by and _end return the call's number, or CALLS_DEEPEST, or CALLS_DETACHED, or
 * CALLS_LEFT_OUT; the bits above count forgotten calls.
 */
#define CALLS_NUMBER_BITS 8
#define CALLS_DETACHED (CALLS_DEEPEST + 1)
#define CALLS_LEFT_OUT (CALLS_DEEPEST + 2)

/* What the script's side finds by this name (stack.h). */
#define CALL_PAIRS_NAMES(name) name(uplua_calls_settled)
