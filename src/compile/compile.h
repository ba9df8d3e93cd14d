/*
 * Handlers → one BPF object. All handlers of a setup are compiled together, since the types of the maps that they share
 * are inferred across them. A compiler lives as long as its shared objects: later setups (the prompt) must fit the
 * types of those that are loaded. All else is the compilation's, and freed with it (compiler_begin … compiler_end).
 * README.md has the passes.
 */
#pragma once

#include "compile/context/handler.h"
#include "compile/context/host.h"
#include "compile/context/options.h"
#include "compile/context/shared.h"
#include "compile/object/object.h"

struct compiler;

struct compiler *compiler_new(struct host host);
void compiler_free(struct compiler *compiler);
/*
 * Begins a compilation: the arena in which the caller says what is to be compiled, which NO_MEMORY(CONTEXT) leaves
 * where memory is exhausted. It frees the rest of an earlier compilation.
 */
struct arena *compiler_begin(struct compiler *compiler, void (*no_memory)(void *context) __attribute__((noreturn)),
                             void *context);
/* Ends it, its result having been handed over: frees all of it. Shared objects are what they were before, but for what
 * compiler_keep has kept. */
void compiler_end(struct compiler *compiler);
/* The arena of the compilation. */
struct arena *compiler_arena(struct compiler *compiler);

/* Declares the next shared object, numbered from 0, as GIVEN has it: its kind, max, buckets and declared types. Owned
 * by the compiler; NULL if out of memory. */
struct shared *compiler_add_object(struct compiler *compiler, const struct shared *given);
struct shared *compiler_object(struct compiler *compiler, size_t number);
size_t compiler_object_count(const struct compiler *compiler);

/*
 * Compiles COUNT HANDLERS into *RESULT (owned by the caller) and *LEDGER (*LEDGER_COUNT entries, part of the
 * compilation). On failure the compilation has ended, nothing has changed and ERR has the message, with file and line.
 */
int compiler_compile(struct compiler *compiler, struct handler *handlers, size_t count,
                     const struct compile_options *options, struct object **result, const struct ledger_entry **ledger,
                     size_t *ledger_count, struct error *err);
/* The object was loaded, and shared objects have their descriptors: what these hold is fixed from here on, and outlives
 * the compilation. 0, or -ENOMEM and ERR; nothing is kept then. */
int compiler_keep(struct compiler *compiler, struct error *err);
