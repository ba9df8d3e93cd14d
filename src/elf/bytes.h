/*
 * A reader of bytes that may be hostile: what lies beyond the end reads as 0 and is remembered. Numbers of DWARF, and
 * the encoded pointers of .eh_frame (Linux Standard Base, "DWARF Extensions").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at, *end;
    bool failed; /* something was read that is not there, or is no such number */
};

static inline struct bytes bytes_of(const uint8_t *at, size_t size)
{
    return (struct bytes){.at = at, .end = at + size};
}

static inline size_t bytes_left(const struct bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

/* The next SIZE bytes; NULL where there are fewer, and then nothing is left. */
const uint8_t *bytes_take(struct bytes *bytes, uint64_t size);
/* The same as a reader of its own: of nothing where there are fewer. */
struct bytes bytes_inside(struct bytes *bytes, uint64_t size);
/* The next number of SIZE bytes (1, 2, 4, 8). */
uint64_t bytes_unsigned(struct bytes *bytes, size_t size);
int64_t bytes_signed(struct bytes *bytes, size_t size);
/* The next LEB128 number. Bits above 64 are an error. */
uint64_t bytes_uleb(struct bytes *bytes);
int64_t bytes_sleb(struct bytes *bytes);

enum { POINTER_OMITTED = 0xff };

/*
 * The next pointer of ENCODING (DW_EH_PE_*). ADDRESS is the ELF address of bytes->at, BASE what data-relative ones are
 * added to. Indirect and text-relative ones, which the linker makes for nothing that we read, are an error.
 */
uint64_t bytes_pointer(struct bytes *bytes, uint8_t encoding, uint64_t address, uint64_t base);
