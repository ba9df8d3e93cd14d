/*
 * The user's half of the unwinder in the kernel (bpf/unwind.bpf.c): makes the tables of the files that processes
 * execute and tells the kernel which mapping has which table. It learns of mappings from the symbol cache, and of
 * processes that nobody named from the kernel's half, which asks for those that it meets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sym/symbols.h"

struct unwinder;

/* Descriptors of the library's maps of these names; borrowed. */
struct unwinder_maps {
    int slabs, tables, rules, process, files, kernel, early, wanted;
};

/*
 * Starts to load tables for what SYMBOLS follows; SYMBOLS outlives it. EVERYBODY: only for processes that the kernel's
 * half asks for. 0 or a negative errno with the reason in ERR.
 */
int unwinder_new(struct unwinder **result, struct symbols *symbols, const struct unwinder_maps *maps, bool everybody,
                 struct error *err);
void unwinder_free(struct unwinder *unwinder);

/*
 * Begins to load, in a thread, the tables of earlier runs (unwind/cache.h), so that a process that maps one of their
 * files has its table from the beginning. For runs that see processes which are not known yet. Once.
 */
void unwinder_recall(struct unwinder *unwinder);
/* Waits until that is done, for 100 ms at most. */
void unwinder_await(struct unwinder *unwinder);

/* Makes the table of the file PATH of our own root, so that a process that maps it has it from the beginning. */
void unwinder_add_file(struct unwinder *unwinder, const char *path);

/* A descriptor that is readable when unwinder_update has something to do. Owned by UNWINDER. */
int unwinder_fd(const struct unwinder *unwinder);
/* Loads what the kernel's half has asked for. */
void unwinder_update(struct unwinder *unwinder);

struct unwinder_counts {
    uint64_t tables, rows, bytes; /* loaded so far */
    uint64_t failures;            /* tables and processes for which the kernel had no room */
};
/* Whether the kernel tells that the mappings of a process have changed, so that no stack is of those before. */
bool unwinder_sees_changes(const struct unwinder *unwinder);

/* The counts now. */
struct unwinder_counts unwinder_counts(struct unwinder *unwinder);
