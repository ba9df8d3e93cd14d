/*
 * The way from a function's entry along the straight line of its instructions: where the values are at a later
 * instruction that registers had at the entry. An abstract interpretation: a register, or a word of the function's own
 * frame, holds what a register had at the entry plus a constant, or nothing that is known. For the addresses of memory
 * that is there in any case, a register may also hold a place of the file or of the thread's variables, or one of a
 * span of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/instruction.h"
#include "base/entry.h"

struct way_value {
    uint8_t of;    /* the register that had it at the entry, … */
    uint32_t span; /* from PLUS to PLUS + SPAN; 0 of what a register had */
    int64_t plus;
};

/* … or one of these. */
enum {
    WAY_UNKNOWN = ARCH_WORDS,
    WAY_NUMBER,   /* nothing: PLUS is all */
    WAY_FILE,     /* where the file is mapped: PLUS is an address of it */
    WAY_POINTER,  /* the thread pointer */
    WAY_DISTANCE, /* what the loader found out: bytes from the thread pointer to the file's own thread variables */
    WAY_THREAD,   /* where these are */
    WAY_OTHER,    /* bytes from the thread pointer to a variable of another file; PLUS and SPAN are 0 */
};

enum { WAY_SLOTS = 24 };

struct way {
    struct way_value registers[ARCH_WORDS];
    struct {
        int64_t at; /* bytes from where the stack pointer was at the entry */
        struct way_value value;
    } slots[WAY_SLOTS];
    unsigned slot_count;
    bool wrote; /* memory that is not of the function's frame */
};

/* What is known of the function's file. */
struct way_file {
    void *context;
    /* Whether SIZE bytes at ADDRESS are mapped with it wherever it runs, and, WRITES, can be written. */
    bool (*mapped)(void *context, uint64_t address, uint64_t size, bool writes);
    /* Up to SIZE bytes from ADDRESS on, as the file has them, into BUFFER: how many. */
    size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
    /* The address in the word at ADDRESS, a multiple of 8, as it is where the file lies at 0; 0: there is none. */
    uint64_t (*word)(void *context, uint64_t address);
    /* Whether ADDRESS is one of code. */
    bool (*executable)(void *context, uint64_t address);
    /* Whether the loader puts a variable's distance from the thread pointer into the word at ADDRESS. *INSIDE: where
     * that is among the file's own thread variables, in bytes; -1: it may be another file's. */
    bool (*thread_offset)(void *context, uint64_t address, int64_t *inside);
    uint64_t thread_size; /* bytes of the file's own thread variables */
};

/* At the entry. */
void way_begin(struct way *way);
/*
 * Goes on past an instruction of ARCH at ADDRESS of FILE (NULL: nothing is known of it) with EFFECT; false where that
 * may fault.
 */
bool way_pass(struct way *way, const struct arch_code *arch, const struct arch_effect *effect, uint64_t address,
              const struct way_file *file);

/* Goes on past a locked instruction with EFFECT, as if its memory were there. */
void way_pass_opaque(struct way *way, const struct arch_effect *effect);

/* How to come by those registers that do not hold it themselves any more, in the order of their numbers, into VALUES:
 * how many. */
size_t way_values(const struct way *way, const struct arch_code *arch, struct entry_value values[ARCH_WORDS]);

/* The same of a site that has slid. */
struct site_way {
    bool wrote; /* memory that is not of the function's frame */
    size_t count;
    struct entry_value values[];
};
