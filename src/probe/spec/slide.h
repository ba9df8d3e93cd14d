/*
 * From a function's entry to the next instruction that the kernel emulates. A probe on another one is single-stepped,
 * which costs ten times as much; 6 of 10 functions of Debian's libraries begin with one.
 *
 * The probe still sees every call there: the instructions before it surely end, and no jump leads to the new place, or
 * between the entry and it, as far as the file's code and data tell. Only a locked instruction, where the kernel puts
 * no probe, is passed though it may fault. What its handler reads of the entry, it reads where that is now (way.h); a
 * handler that reads what is gone stays at the entry, and so does a return probe where the stack pointer has moved.
 */
#pragma once

#include "arch/instruction.h"
#include "probe/probe.h"
#include "probe/spec/way.h"

/* How a reason begins why a probe stands at the entry. */
#define SLIDE_PRICE "its first instruction is stepped, at ten times the price"

/* A function's machine code, with what stands around it. */
struct slide_code {
    const uint8_t *bytes;
    size_t before; /* of them: instructions of others, … */
    size_t size;   /* … the function's, … */
    size_t after;  /* … and again of others */
    /* bytes from the entry to the next place in or behind the function that others are known to lead to */
    uint64_t limit;
    uint64_t
        marked; /* the same to the first of the marks by which jumps to the entry are told from calls (reentry.h) */
    uint64_t address;            /* of the function, in its file … */
    const struct way_file *file; /* … of which this tells; NULL: nothing is known of it */
};

/* Where a probe is best. */
struct slide_place {
    unsigned distance; /* bytes from the entry; 0: there */
    const char *why;   /* what to tell of it, static; NULL: nothing */
    bool wrote;        /* memory that is not of the function's frame has been written on the way there */
    size_t count;
    struct entry_value values[ARCH_WORDS]; /* as way_values has them */
};

/* Finds the place for handlers that read nothing. slide_sites (probe.h) does this for files. */
void slide_find(const struct arch_code *arch, const struct slide_code *code, enum slide slide,
                struct slide_place *place);

/* Moves SITE back to the entry if it has not what a handler READS. BEFORE: the site before it, of whose function it is
 * an exit if it is one. */
void site_expect(struct site *site, const struct site *before, const struct entry_reads *reads);
