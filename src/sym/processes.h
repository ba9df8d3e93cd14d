/* The processes that the symbol cache knows, those that have exited included. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/maps.h"

struct perfmap;

/* A root directory that is not ours, or ours with other file systems mounted in it: a service's private /tmp. */
struct root {
    dev_t device;
    ino_t inode;
    ino_t namespace; /* of mounts; 0: not known */
    int fd;
    char *path; /* as we see it; "" where it is the root of another mount namespace */
};

/* What a process mapped until it executed another program, or until its number was given away again. */
struct earlier {
    uint64_t ended; /* ns, CLOCK_MONOTONIC */
    struct maps maps;
    const struct root *root;
    bool told; /* whoever watches knows of it */
};

struct process {
    pid_t pid;
    struct maps maps;        /* of the program that it executes now */
    struct earlier *earlier; /* by time */
    size_t earlier_count;
    uint64_t forgotten;      /* when the last one ended of those that were too many; 0: none were */
    uint64_t exit_time;      /* ns, CLOCK_MONOTONIC */
    uint32_t programs;       /* how many have been seen to begin */
    struct mapping *last;    /* where the last address was found */
    const struct root *root; /* NULL: ours */
    struct perfmap *perfmap; /* names of code made as it runs; NULL until they are asked for */
    pid_t inner_pid;         /* its number as it sees itself; 0: not known */
    uid_t uid;
    int64_t started;       /* s, CLOCK_REALTIME */
    uint64_t next_reading; /* ns; its mappings are not read again before then */
    bool changed;          /* and whoever watches has not been told */
    bool makes_code;       /* which no file has: its names are in a perf map, if anywhere */
    bool exited, kept;     /* kept: it was asked for, and is never forgotten */
    uint64_t exit_number;
    size_t bytes; /* of what is kept of it and no longer so: struct processes's */
};

struct processes {
    struct process **items; /* by ascending pid */
    size_t count;
    struct process *last;
    struct root **roots;
    size_t root_count;
    size_t exited_count;                    /* without those that are kept */
    uint64_t exits;                         /* so far */
    bool any_makes_code;                    /* one of them */
    uint64_t next_keeping, next_refreshing; /* ns: perfmap.h's */
    size_t kept_bytes;                      /* what those take, and what processes have mapped by earlier programs */
};

void processes_free(struct processes *processes);

/* The process PID, or NULL. */
struct process *processes_find(struct processes *processes, pid_t pid);
/* The same, created without mappings where it is not known; NULL without memory. */
struct process *processes_get(struct processes *processes, pid_t pid);

/* Notes that PROCESS has exited at TIME. */
void processes_exit(struct processes *processes, struct process *process, uint64_t time);
/* Notes that it has not: the number stands for a new process. */
void processes_revive(struct processes *processes, struct process *process);

/*
 * Notes that what PROCESS has mapped so far, unless it is nothing, was another program's, which ended at TIME. 0 or
 * -ENOMEM: then it is forgotten.
 */
int processes_execute(struct processes *processes, struct process *process, uint64_t time);

/*
 * Forgets processes that have exited, the first ones first, and mappings of programs that others have replaced, where
 * these take too much memory.
 */
void processes_forget_old(struct processes *processes);

/*
 * The mappings that PROCESS had while it executed PROGRAM (symbols_lookup), and in *ROOT its root directory then; NULL
 * where they are forgotten.
 */
struct maps *processes_maps(struct process *process, uint64_t program, const struct root **root);

/*
 * The path of MAPPING as a process with ROOT sees it: without that, where it was read in ours, and without "
 * (deleted)". COPY has PATH_MAX bytes.
 */
const char *processes_path(const struct root *root, const struct mapping *mapping, char *copy);

/* Finds out the root directory of PROCESS, its user and when it began, if it lives. */
void processes_read_identity(struct processes *processes, struct process *process);
