/*
 * The kernel's types and functions, as its BTF describes them. The first question opens it and makes an index of the
 * types (1 to 2 ms; before Linux 6.16 it has to be read, 6 ms and 5 MB), which is kept for the next. All return 0 or a
 * negative errno; -ENOENT: there is none of that name, or no BTF at all (kernel_types_open tells).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A type, seen through typedefs and qualifiers. */
struct kernel_type {
    enum kernel_type_kind {
        KERNEL_OTHER, /* functions, floats, 128 bits, structs that are not defined */
        KERNEL_VOID,
        KERNEL_INTEGER, /* enums too */
        KERNEL_BOOLEAN,
        KERNEL_POINTER,
        KERNEL_ARRAY,
        KERNEL_STRUCT, /* unions too */
    } kind;
    uint32_t id;
    uint64_t size;    /* bytes; 0: not known */
    int bits;         /* of an integer: 8, 16, 32, 64, negative if signed */
    uint64_t count;   /* of an array: elements */
    uint32_t element; /* what a pointer leads to, or an array consists of */
};

enum { KERNEL_TYPE_NAME = 128 };

/* Opens the kernel's BTF, unless it is. -ENOENT: this kernel has none. */
int kernel_types_open(void);
/* The type ID; 0 is void. */
int kernel_type_get(uint32_t id, struct kernel_type *result);
/* How C writes it: "struct task_struct *", "char [16]". */
const char *kernel_type_name(uint32_t id, char text[KERNEL_TYPE_NAME]);
/* What the type ID itself is called, behind its other names, "task_struct"; "" where it has no name. As long as the
 * process. */
const char *kernel_type_own_name(uint32_t id);
bool kernel_type_is_union(uint32_t id);
/* Constant NUMBER, from 0, of the enum ID; -ERANGE behind the last, and where it is none. */
int kernel_type_value_at(uint32_t id, unsigned number, const char **name, int64_t *value);
/* The struct, union, enum or typedef that NAME ("struct task_struct", "u32") names. */
int kernel_type_find(const char *name, uint32_t *id);

/* A field of a struct or union. */
struct kernel_member {
    uint32_t type;
    uint64_t offset;     /* bytes */
    int first_bit, bits; /* of a bitfield: where it starts in the byte at OFFSET, how many; BITS is 0 for others */
};

/* The field NAME of the struct ID; those of anonymous structs inside count as its own. */
int kernel_type_member(uint32_t id, const char *name, struct kernel_member *result);

/* Member NUMBER, from 0, of the struct or union ID, whose name is *NAME, which lives as long as the process; -ERANGE
 * behind the last. */
int kernel_type_member_at(uint32_t id, unsigned number, const char **name, struct kernel_member *result);

struct kernel_parameter {
    const char *name; /* "" where it has none; lives as long as the process */
    uint32_t type;
};

/* Parameter NUMBER, from 0, of the function NAME; -ERANGE behind the last. */
int kernel_function_parameter(const char *name, unsigned number, struct kernel_parameter *result);
/* The type that the function NAME returns, 0: void. 0, or -errno. */
int kernel_function_result(const char *name, uint32_t *type);
/* Calls VISIT for each function whose name begins with PREFIX. */
int kernel_btf_functions(const char *prefix, void (*visit)(const char *name, void *context), void *context);

/* A member of one of the kernel's structures. */
struct kernel_field {
    const char *type, *name; /* "vm_mm"; "context.vdso": a member of a structure that is a member */
    uint32_t offset;         /* filled in: bytes … */
    uint32_t bit;            /* … and in that byte, where it is a bitfield, the first bit */
};

/*
 * Fills in the offsets of COUNT fields; members of anonymous structures inside count as the structure's own. 0 or a
 * negative errno: -ENOENT where one of them does not exist in this kernel; its offset is UINT32_MAX, and those of the
 * others are filled in.
 */
int kernel_btf_fields(struct kernel_field *fields, size_t count);
