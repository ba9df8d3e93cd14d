/*
 * Where a variable is at one instruction, as a handler there finds it: in a register of the probe's context, in memory
 * that registers lead to, computed from these, or a constant.
 */
#pragma once

#include "base/arena.h"
#include "base/argument.h"
#include "sym/debugfunction.h"
#include "sym/debugscope.h"
#include "unwind/frame_address.h"

/* An instruction, and what is known of its function. */
struct local_context {
    struct debuginfo *debuginfo;
    const struct frame_rules *rules; /* of the file; NULL: it has none */
    struct arena *arena;
    struct debugfunction function;
    uint64_t address;      /* of the instruction, an ELF address */
    bool at_entry;         /* it stands for the function's entry: nothing that is inlined has begun */
    uint64_t prologue_end; /* the function's */
    /* how far the file's _Thread_local variables are from the thread pointer, where that is fixed: in programs */
    bool has_thread_block;
    int64_t thread_block;
};

/*
 * LOCAL, or its part PATH, ".limits[2].high", for a handler at the instruction; its place is ARGUMENT_NOWHERE, and its
 * type why, where it cannot be read.
 */
struct argument local_place(struct local_context *context, const struct debuglocal *local, const char *path);
/* True if ARGUMENT, or parts of it, may be read. */
static inline bool local_is_there(const struct argument *argument)
{
    return argument->place != ARGUMENT_NOWHERE || argument->parts;
}
