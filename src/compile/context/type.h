/*
 * Types of values in a handler. A type is inferred once for each SSA value, each shared object's keys and values and
 * each record's fields: joined over everything that flows there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "compile/context/ctype.h"

enum type_kind {
    TYPE_NONE, /* nothing has flowed here (yet) */
    TYPE_NIL,
    TYPE_BOOLEAN,
    TYPE_NUM, /* an integer that Lua would hold in a double: literals and what is computed from them alone */
    TYPE_I64,
    TYPE_U64,
    TYPE_STRING, /* CAPACITY bytes: the text, zeros, and in the last byte 1 if the text was cut (string.c) */
    TYPE_STACK,  /* id of a call stack */
    /* an address in the traced program's memory or the kernel's; 0 is nil. Also a struct or an array that lies there */
    TYPE_POINTER,
    TYPE_RECORD, /* a pointer to a struct of fields: in the handler's frame or in a map's value */
    TYPE_STATIC, /* known to the compiler alone: the event, functions, tables, shared objects, methods */
};

enum {
    MAX_STRING = 4096,  /* bytes of a string's buffer: no more than two pages */
    MAX_BUFFER = 8192,  /* bytes that up.buf keeps, and … */
    BUFFER_HEADER = 16, /* … those before them: how many there were, and how many are kept, a word each */
    /* bytes of all that a handler makes at one time: what offsets of instructions can reach, halved */
    MAX_RECORD = 16 * 1024,
};

/* The signs of the numbers in a place of memory until now: the script reads unsigned ones as u64. */
enum sign {
    SIGN_OPEN,     /* not negative, in less than 64 bits: literals, an unsigned int */
    SIGN_UNSIGNED, /* addresses and other unsigned 64-bit integers among them */
    SIGN_SIGNED,   /* integers among them that may be negative */
};

struct type {
    enum type_kind kind;
    enum sign sign;    /* of memory; handlers compute with what they read from there as signed, whatever it is */
    bool optional;     /* may be nil at run time */
    bool declared;     /* by the script, of what lies in memory: it takes its own bytes, and widens for nothing */
    int8_t bits;       /* numbers: every value fits into so many bits, negative if signed; 0: all 64 */
    bool bytes;        /* TYPE_STRING: of up.buf: BUFFER_HEADER, then the bytes (buffer.c) */
    uint32_t capacity; /* TYPE_STRING: bytes, a multiple of 8 */
    const struct ctype *ctype; /* TYPE_POINTER: of the pointer, struct or array */
    bool kernel;               /* TYPE_POINTER: it leads into the kernel's memory, not the process's */
    struct record *record;     /* TYPE_RECORD: use record_of() to see through unification */
};

/* Where a value comes from: a line of the user's, and the call that an inlined function was reached by. */
struct position {
    const char *file;
    int line;
    const struct position *caller;
};

struct field {
    const char *name; /* NULL: a tuple's position INDEX */
    int index;
    struct type type;
    const struct position *at; /* where the type was first seen; NULL: not in a handler */
    uint32_t offset;
    int presence; /* bit in the record's presence word, -1: always there */
};

/* A record's shape. Shapes that meet (stored into one map, merged by control flow) become one, with the union of their
 * fields. */
struct record {
    struct record *same; /* unified with this one, which counts instead; NULL: this is the one */
    struct field *fields;
    size_t field_count;
    bool frozen; /* a loaded map holds such records, or they are declared: the layout stays */
    bool declared;
    bool symbol;               /* an address and whose it is, which the script side sees as the function there */
    bool indexed;              /* an array: its fields are integers, numbered from 1 on, that stand in a row */
    uint32_t size;             /* laid out: bytes; 0 before */
    int presence;              /* offset of the presence word, -1: no field is optional */
    struct conflict *conflict; /* why another shape could not become one with this; NULL: none tried in vain */
    struct record *kept;       /* its copy that outlives the compilation; itself, if it is one; NULL: there is none */
};

/* A field that two shapes use differently. */
struct conflict {
    struct field field, other;
};

struct record *record_new(struct arena *arena);
/* The record that stands for RECORD after unification. */
struct record *record_of(struct record *record);
/* The field called NAME, or tuple position INDEX where NAME is NULL; NULL if there is none. */
struct field *record_field(struct record *record, const char *name, int index);
/* The same, added (with TYPE_NONE) where absent; NULL if the record is frozen and lacks it. */
struct field *record_add_field(struct arena *arena, struct record *record, const char *name, int index);
/* Widens the field's type so that it also holds FROM, adding the field where absent; as type_join. */
bool record_join_field(struct arena *arena, struct record *record, const char *name, int index, struct type from,
                       bool *changed);
/* Assigns offsets, presence bits and sizes, below RECORD too. Idempotent. False: the record contains itself or exceeds
 * 64 optional fields. */
bool record_layout(struct record *record);

/*
 * Widens *INTO so that it also holds FROM; sets *CHANGED if that changed anything. Pointers of one type stay that; with
 * others, and with numbers, they become integers. False: the two do not go together, or a frozen record would change.
 */
bool type_join(struct arena *arena, struct type *into, struct type from, bool *changed);
/* The type that memory (map values, keys, record fields) has for a value of type TYPE: integers are 64-bit, and it has
 * their sign. */
struct type type_stored(struct type type);
/* The fields of TYPE, where it is a record, were first seen AT. */
void type_locate(struct type type, const struct position *at);
/* True if TYPE holds more than BEFORE did, records and the bits of numbers aside. */
bool type_is_wider(struct type type, struct type before);
/* TYPE with records of its own, unless they are frozen. */
struct type type_copy(struct arena *arena, struct type type);
/* The type of a value that is read from memory of type TYPE. */
struct type type_read(struct type type);
/* Bytes in memory; records must be laid out. A multiple of 8 but for declared numbers and booleans. */
uint32_t type_size(struct type type);
bool type_is_number(struct type type);
/* The type of an integer of so many BITS, negative if signed. */
struct type type_of_bits(int64_t bits);
/* The bits that NUMBER needs, as in struct type. */
int8_t type_bits(int64_t number);
/* "u32": of a declared number or boolean. */
const char *type_declared_name(struct type type);
/* "an integer", "a string", "a record { bytes, at }": for messages, in ARENA. */
const char *type_name(struct arena *arena, struct type type);
