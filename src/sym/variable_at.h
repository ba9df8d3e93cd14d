/* The variable at an address of an ELF file: a global one, or one of the file's alone. */
#pragma once

#include <stdint.h>

enum { VARIABLE_NAME = 512 };

struct variable_at {
    char name[VARIABLE_NAME]; /* as the file has it; "" where it has no symbol there */
    char section[64];         /* ".bss"; "" where there is none */
    uint64_t size;            /* of the variable; 0 without one */
    uint64_t offset, place;   /* in the variable, and in the section */
    uint64_t address;         /* of the variable, as the file has it */
};

/*
 * What is DISTANCE bytes behind the place to which OFFSET of the file PATH is loaded, into *RESULT. 0; -ENOENT: neither
 * a variable nor a section; -errno.
 */
int variable_at(const char *path, uint64_t offset, int64_t distance, struct variable_at *result);
