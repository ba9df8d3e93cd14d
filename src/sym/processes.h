/* The processes that the symbol cache knows, those that have exited included. */
#ifndef UPLUA_SYM_PROCESSES_H
#define UPLUA_SYM_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/maps.h"
#include "sym/perfmap.h"

/* A root directory that is not ours, or ours with other file systems mounted in it: a service's private /tmp. */
struct root {
    dev_t device;
    ino_t inode;
    ino_t namespace; /* of mounts; 0: not known */
    int fd;
    char *path; /* as we see it; "" where it is the root of another mount namespace */
};

struct process {
    pid_t pid;
    struct maps maps;
    struct mapping *last;    /* where the last address was found */
    const struct root *root; /* NULL: ours */
    struct perfmap *perfmap; /* names of code made as it runs; NULL until they are asked for */
    pid_t inner_pid;         /* its number as it sees itself; 0: not known */
    uid_t uid;
    int64_t started;       /* s, CLOCK_REALTIME */
    uint64_t next_reading; /* ns; its mappings are not read again before then */
    bool changed;          /* and whoever watches has not been told */
    bool exited, kept;     /* kept: it was asked for, and is never forgotten */
    uint64_t exit_number;
};

struct processes {
    struct process **items; /* by ascending pid */
    size_t count;
    struct process *last;
    struct root **roots;
    size_t root_count;
    size_t exited_count; /* without those that are kept */
    uint64_t exits;      /* so far */
};

void processes_free(struct processes *processes);

/* The process PID, or NULL. */
struct process *processes_find(struct processes *processes, pid_t pid);
/* The same, created without mappings where it is not known; NULL without memory. */
struct process *processes_get(struct processes *processes, pid_t pid);

/* Notes that PROCESS has exited. Of very many such processes the first are forgotten, and with them PROCESS perhaps. */
void processes_exit(struct processes *processes, struct process *process);
/* Notes that it has not: the number stands for a new process. */
void processes_revive(struct processes *processes, struct process *process);

/* Finds out the root directory of PROCESS, its user and when it began, if it lives. */
void processes_read_identity(struct processes *processes, struct process *process);

#endif
