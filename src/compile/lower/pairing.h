/* How the entry of a function or a system call reaches its return: three ways, one file each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lower;
struct object;

struct pairing {
    /* Declares where the calls are kept, if they are, in RESULT. 0 or -errno. */
    int (*declare)(struct lower *lower, struct object *result);
    /* In the entry half: keeps the saved values for the return, and ends the program, with FAILED where that will not
     * be seen. */
    void (*save)(struct lower *lower, int64_t failed);
    /* At the return: goes on where its entry has been seen, with the saved values. */
    void (*recover)(struct lower *lower);
    bool sessions; /* one program can do both halves, where the kernel has sessions */
};

extern const struct pairing pairing_by_storage; /* pair_calls.c: functions of programs */
extern const struct pairing pairing_by_map; /* pair_by_map.c: functions of the kernel and of Go, return instructions */
extern const struct pairing pairing_of_syscall; /* pair_syscalls.c */
