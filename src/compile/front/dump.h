/*
 * The bytes of a LuaJIT dump, read front to back for bytecode_decode, and the memory of what is made of them. The first
 * failure sticks: from then on every read gives 0 and every allocation NULL, so that callers check at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/front/bytecode.h"

struct dump {
    const uint8_t *at, *end;
    int code;                  /* the first failure: -EBADMSG, -ENOMEM, -ENODATA */
    const char *what;          /* what was wrong, for the message */
    const char *file;          /* of all functions, as in struct bytecode */
    struct dump_block *blocks; /* all memory taken, freed whole by dump_free_blocks */
    struct bytecode **waiting; /* functions that no parent has claimed yet, the innermost last */
    size_t waiting_count, waiting_size;
};

/* Records the failure unless there is one already. Returns NULL. */
void *dump_fail(struct dump *dump, int code, const char *what);

/* Zeroed memory for COUNT elements of SIZE bytes. Hold COUNT against dump_left first. */
void *dump_allocate(struct dump *dump, size_t count, size_t size);
void dump_free_blocks(struct dump_block *blocks);

/* Bytes not read yet. */
size_t dump_left(const struct dump *dump);
/* The next SIZE bytes, or NULL. */
const uint8_t *dump_take(struct dump *dump, size_t size);
uint8_t dump_byte(struct dump *dump);
/* A number of SIZE bytes, in the machine's byte order. */
uint32_t dump_number(struct dump *dump, size_t size);
uint32_t dump_uleb(struct dump *dump);
/* 32 bits after a bit that says whether the upper half of a double follows. */
uint32_t dump_uleb33(struct dump *dump, bool *is_double);
/* Two ULEB128 halves, the low one first. */
uint64_t dump_u64(struct dump *dump);
/* A ULEB128 count of things that take at least SIZE bytes each; 0 and a failure if they cannot all follow. */
size_t dump_count(struct dump *dump, size_t size);
/* A copy of the NUL-terminated string that follows. */
const char *dump_name(struct dump *dump);
/* A copy of the next LENGTH bytes, as a CONSTANT_STRING. */
void dump_string(struct dump *dump, size_t length, struct constant *constant);

/* One constant (dump_constants.c): a function claims the last one waiting. */
void dump_gc_constant(struct dump *dump, struct constant *constant);
void dump_number_constant(struct dump *dump, struct constant *constant);
