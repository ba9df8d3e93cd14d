/*
 * Arguments of USDT probes, as a note of sys/sdt.h describes them in the assembler's syntax of its CPU: "-4@%eax
 * 8@-8(%rbp)". Both CPUs' syntaxes are understood on either, so that they can be tested on either. Notes are the traced
 * program's: any string may come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { USDT_MAX_OPERAND = 255 }; /* characters of one that is looked at */

struct usdt_operand {
    enum usdt_place {
        USDT_REGISTER, /* BASE */
        USDT_MEMORY,   /* at BASE + INDEX << SHIFT + DISPLACEMENT + SYMBOL's address */
        USDT_CONSTANT, /* DISPLACEMENT + SYMBOL's address */
        USDT_NOWHERE,  /* a handler cannot have it: WHY */
    } place;
    int bits; /* 8, 16, 32 or 64, negative if signed */
    /* byte offset of the register (or of a part of it) in a uprobe's context; of memory also -1: none */
    int base;
    int index;      /* the same of a register in a sum; where INDEX_BITS is not 0 */
    int index_bits; /* that count of it: 64; 32, negative if signed */
    unsigned shift;
    bool relative; /* SYMBOL is said relative to the instruction pointer, which adds nothing: symbol(%rip) */
    int64_t displacement;
    const char *symbol; /* in the text that was parsed, SYMBOL_LENGTH characters; NULL: none */
    size_t symbol_length;
    const char *why; /* static */
};

/* Cuts the first operand off *REST, at the space behind it, and returns it; NULL where there is none. */
char *usdt_next_operand(char **rest);

/* What TEXT, one operand of a note in a file for MACHINE (EM_X86_64, EM_AARCH64), says. What is not understood is
 * nowhere. */
struct usdt_operand usdt_parse(uint16_t machine, const char *text);

/* For the parsers of each CPU, which begin behind "-4@", with BITS set. False: that is no operand. */
bool usdt_parse_x86_64(const char *text, struct usdt_operand *operand);
bool usdt_parse_aarch64(const char *text, struct usdt_operand *operand);

/* Parses a sum of numbers and at most one symbol at *AT, as far as it goes, into OPERAND. False: it is none, or too
 * large. */
bool usdt_parse_sum(const char **at, struct usdt_operand *operand);
/* Makes OPERAND one that no handler can have. True, since it is understood. */
bool usdt_nowhere(struct usdt_operand *operand, const char *why);
/* Makes OPERAND the register at BASE, of which BITS can be named. True. */
bool usdt_register(struct usdt_operand *operand, int base, int bits);
