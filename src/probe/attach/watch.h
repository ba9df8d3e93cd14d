/* Watchpoints: a handler runs when a place in a process's memory is accessed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/probe.h"
#include "sys/watchpoint.h"

struct watch {
    const char *spec; /* of a variable, or of a function that is to be executed; NULL: */
    uint64_t address; /* this address in each process */
    enum watch_access access;
    unsigned length; /* in bytes: 1, 2, 4 or 8; the address is a multiple of it */
    bool everywhere; /* the address is the kernel's, or whatever process has something there: on each CPU */
};

/*
 * Runs PROGRAM_FD (a watch handler's) at each access of WATCH's kind to its place in each of TARGET's processes, by
 * their threads and those that they create. On failure nothing stays attached, and ERR says whether nothing is mapped
 * there, it is not aligned, or no debug register is free. EVERYWHERE: TARGET's processes are not asked for.
 */
int watch_attach(int program_fd, const struct watch *watch, const struct target *target, struct probe_link **link,
                 struct error *err);
