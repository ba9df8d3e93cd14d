/* How the entry of a function or a system call reaches its return: three ways, one file each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lower;
struct object;
struct operand;
struct program;

struct pairing {
    /* Declares where the calls are kept, if they are, in RESULT. 0 or -errno. */
    int (*declare)(struct lower *lower, struct object *result);
    /* In the entry half: keeps the saved values for the return, and ends the program, with FAILED where that will not
     * be seen. Of a thread that is not traced by its name or cgroup now it keeps no more than the pairing needs. */
    void (*save)(struct lower *lower, int64_t failed);
    /* At the return: goes on where its entry has been seen, with the saved values. */
    void (*recover)(struct lower *lower);
    bool sessions; /* one program can do both halves, where the kernel has sessions */
};

extern const struct pairing pairing_by_storage; /* pair_calls.c: functions of programs */
extern const struct pairing pairing_by_map; /* pair_by_map.c: functions of the kernel and of Go, return instructions */
extern const struct pairing pairing_of_syscall; /* pair_syscalls.c */

/* --- what they have in common (pairing.c) --- */

/* The saved values at the entry, but for the time. */
struct operand *pairing_values(struct lower *lower);
/* Ends the entry half: stores VALUES, and last of all the time, in words from BASE + OFFSET on. */
void pairing_store(struct lower *lower, struct operand base, int64_t offset, const struct operand *values);
/* At the return: loads them. */
void pairing_load(struct lower *lower, struct operand base, int64_t offset);
/* The storage MAP of the thread TASK, made where there is none if FLAGS say so; 0 where it could not. */
struct operand pairing_storage(struct program *program, const char *map, struct operand task, int64_t flags);
/* Declares the handler's storage of SIZE bytes for each thread. 0 or -errno. */
int pairing_declare_storage(struct lower *lower, struct object *result, size_t size);
