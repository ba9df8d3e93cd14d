/* A thread's calls of traced functions between entry and return, as both sides see them: what calls.bpf.c works on, in the thread's storage. */
#ifndef UPLUA_BPF_CALLS_H
#define UPLUA_BPF_CALLS_H

#include <linux/types.h>

/* The kernel follows no more returns of a thread at one time (include/linux/uprobes.h, MAX_URETPROBE_DEPTH, since Linux 3.10). */
#define CALLS_DEEPEST 64

struct calls {
    __u64 count;                         /* the last one is the innermost */
    __u64 stack_pointers[CALLS_DEEPEST]; /* at the entry */
};

/* What uplua_call_begin and uplua_call_end return: the call's number, or CALLS_DEEPEST, and above these bits how many were forgotten. */
#define CALLS_NUMBER_BITS 8

#endif
