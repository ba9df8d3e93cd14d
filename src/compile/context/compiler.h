/* The compiler's state, shared by its passes. */
#pragma once

#include <setjmp.h>

#include "compile/context/handler.h"
#include "compile/context/host.h"
#include "compile/context/options.h"
#include "compile/context/shared.h"

struct compiler {
    struct arena arena; /* of the compilation: freed whole when its result has been handed over */
    /* The state that outlives compilations: the objects, the types of loaded ones (keep.h), and the C types that were
     * used. It grows with new ones of these alone. */
    struct arena kept;
    struct host host;
    struct shared **objects; /* as this compilation sees them … */
    struct shared **before;  /* … and as they were before it */
    size_t object_count;
    const struct ctype **ctypes; /* those asked for so far */
    size_t ctype_count;
    const char **files; /* that positions which outlive a compilation are in */
    size_t file_count;
    jmp_buf failure; /* the one error exit: everything that a compilation owns is in the arena, or below */
    struct error *error;
    struct object *result; /* owned until handed over */
    struct ledger_entry *ledger;
    size_t ledger_count;
    struct kept_calls {
        const char *storage;             /* the map */
        size_t handler;                  /* number of the handler */
        unsigned ended;                  /* entry of the ledger for those that threads end in */
        const struct position *position; /* of the handler */
    } * calls;                           /* of this setup's return handlers */
    size_t calls_count;
    bool exits;                   /* a handler of this setup may end the run */
    uint32_t scratch_size;        /* bytes of the largest handler's scratch memory; 0: none needs any */
    unsigned turns;               /* words of the counters `uplua_turns` */
    bool net;                     /* a handler wants COST_COUNTERS */
    bool sums;                    /* one wants the threads' sums of what probes take (lower/elapsed.c) */
    const struct position *walks; /* of a handler that takes stacks of processes; NULL: none does */
};

/* Leaves the compilation with "FILE:LINE: TEXT" (and the inlining calls' lines) as the error. */
_Noreturn void compile_fail(struct compiler *compiler, const struct position *position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the compilation at POSITION (or NULL) where STATUS, what adding to the object has returned, is an error. */
void compile_expect(struct compiler *compiler, const struct position *position, int status);

/* Ends the compilation with "out of memory". */
_Noreturn void compile_exhausted(struct compiler *compiler);

/* The number of a new ledger entry with this text. */
unsigned ledger_add(struct compiler *compiler, const char *cause);
