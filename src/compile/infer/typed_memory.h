/*
 * The place of p.field and p[i], where p is a pointer: an offset from the pointer's address, and the type at that
 * place. A struct or an array that lies there is a place again; anything else is read.
 */
#pragma once

#include "compile/ir/ir.h"

/* Bytes around a pointer that several accesses find, fetched by one call (combine_loads.c). */
struct window {
    struct value *first; /* the access that comes before the others on every way */
    int64_t start, end;  /* from the pointer, or from the element that the index says; START is a multiple of 8 */
};

struct access {
    const struct ctype *type; /* of what lies there */
    int64_t offset;           /* bytes; with an index, STRIDE times that in addition */
    uint64_t stride;
    uint64_t bound;        /* the index is below; 0: not declared */
    const char *array;     /* "int [4]": of BOUND, for messages */
    int bits;              /* of a number: negative if signed */
    int shift;             /* of a bitfield: its lowest bit in the byte at OFFSET */
    bool is_text;          /* an array of char, read as a string */
    struct value *place;   /* of IS_TEXT: the array itself, where somebody wants that */
    struct window *window; /* NULL: nothing else that is read lies close by */
};

/*
 * The type of VALUE (IR_GET_FIELD, IR_GET_ELEMENT), whose first argument is a pointer; fills VALUE->access. Fails with
 * the user's line for what C would refuse, and for types that handlers do not have.
 */
struct type access_infer(struct compiler *compiler, struct value *value);
/*
 * What VALUE reads as a string is an array of char: the value that is the array, for its address and its elements.
 * VALUE itself where it is anything else.
 */
struct value *access_place(struct function *function, struct value *value);
/* True if TYPE is that of a struct or an array in memory, which is its address. */
bool access_is_place(struct type type);
/* Accesses through places (p.header.id) become one access each from the pointer itself. */
void access_fold(struct function *function);
/* How many bytes a number takes. */
uint32_t access_bytes(const struct access *access);
/* True if A and B, operations with the same arguments, find the same. */
bool access_equal(const struct access *a, const struct access *b);
