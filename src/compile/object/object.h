/*
 * A BPF object in the making: programs, maps, counters and the references between them, written as an ELF file with
 * BTF, linked by libbpf with the library of bpf/ and loaded by libbpf. Knows nothing of Lua or of the compiler's IR.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum reference_kind {
    REFERENCE_MAP,     /* ld_imm64 of a map's address: symbol = map name */
    REFERENCE_DATA,    /* ld_imm64 of an address inside counters or a variable: symbol = its name, the offset is in the
                          instruction's imm */
    REFERENCE_LIBRARY, /* call of a function of bpf/: symbol = its name */
    /* call of a function of the kernel, whose BTF id the instruction has: symbol = its name, for people */
    REFERENCE_KERNEL,
    REFERENCE_FUNCTION, /* ld_imm64 of a function of this object, as a callback: symbol = its name */
    REFERENCE_CALL,     /* call of a function of this object: symbol = its name */
};

struct object_reference {
    uint32_t instruction; /* index into the program's instructions */
    enum reference_kind kind;
    const char *symbol;
};

struct object_line {
    uint32_t instruction; /* strictly increasing; the first must be 0 */
    const char *file;     /* "mallocleak.lua" */
    int line;
    const char *text; /* the source line, or "" */
};

struct object_program {
    const char *name; /* a C identifier, unique */
    const char
        *section; /* ELF section, unique per program, such as "handler/h3"; NULL: a function, which only programs of
                     the object refer to, as a callback `int f(unsigned, void *)`: its type and flags do not matter */
    uint32_t type, attach_type; /* BPF_PROG_TYPE_*, expected attach type (0, 48 uprobe_multi, 57 session) */
    const char *target;         /* of BPF_PROG_TYPE_TRACING: the kernel's function that it is for; NULL otherwise */
    uint32_t flags;             /* BPF_F_SLEEPABLE or 0 */
    /* attached to functions of the kernel: of another sort than those to functions of programs */
    bool of_kernel;
    const struct bpf_insn *instructions;
    size_t instruction_count;
    const struct object_reference *references;
    size_t reference_count;
    const struct object_line *lines;
    size_t line_count;
    bool alone; /* not to be joined: another one may keep the kernel from giving it a private stack, which it needs */
    uint32_t stack_size;   /* bytes of its own frame that it uses; for people */
    uint32_t scratch_size; /* bytes of memory that it has beside the stack; for people */

    /* Set by object_merge: it has become a function, `int f(void *ctx)`, of the program JOINT, which runs it for links
     * of COOKIE. */
    const char *joint;
    uint64_t cookie;
};

struct object_map {
    const char *name; /* a C identifier, unique, at most 15 characters */
    uint32_t type, key_size, value_size, max_entries, flags;
    int reuse_fd; /* the map already exists (an earlier setup of the prompt): use it; -1: create */
};

struct object;

struct object *object_new(void);
void object_free(struct object *object);

/* What was added: PROGRAM and MAP number 0 … COUNT − 1. */
size_t object_program_count(const struct object *object);
const struct object_program *object_program(const struct object *object, size_t number);
/* The program NAME; NULL if there is none. */
const struct object_program *object_find_program(const struct object *object, const char *name);
size_t object_map_count(const struct object *object);
const struct object_map *object_map(const struct object *object, size_t number);

/* Each adder copies what it is given. 0, or -ENOMEM, -EINVAL. */
int object_add_program(struct object *object, const struct object_program *program);
int object_add_map(struct object *object, const struct object_map *map);
/* A zero-filled, user-readable array of COUNT u64 named NAME in .bss (the ledger). */
int object_add_counters(struct object *object, const char *name, size_t count);

/*
 * SIZE zeros (up to MAX_VARIABLE; a var of a script up to MAX_VARIABLE_SIZE; in whole words) named NAME, at most 15
 * characters, that programs address without a call. They are a map of their own, an array of one element that user
 * space can map: REUSE_FD if that exists already, as in struct object_map.
 */
enum { MAX_VARIABLE_SIZE = 4096, MAX_VARIABLE = 512 << 10 };
int object_add_variable(struct object *object, const char *name, uint32_t size, int reuse_fd);

/*
 * The library's map NAME ("uplua_stacks") exists already, from an earlier setup of the prompt: use FD instead of
 * creating it. Harmless where the object does not use the library.
 */
int object_reuse_map(struct object *object, const char *name, int fd);

/*
 * Writes, links with LIBRARY (an ELF object in memory; skipped where no program refers to it) into *BYTES (malloc; the
 * caller frees). Used by `--emit`.
 */
int object_link(const struct object *object, const void *library, size_t library_size, void **bytes, size_t *size,
                struct error *err);

/* Writes and links into the file PATH, replacing it. For `--emit`. */
int object_save(const struct object *object, const void *library, size_t library_size, const char *path,
                struct error *err);

/*
 * Joins programs that call a function of the library whose name begins with FUNCTION, and that are attached alike, so
 * that the kernel verifies that function once. Each must be attached as its JOINT, with its COOKIE. 0 or -ENOMEM.
 */
int object_merge(struct object *object, const char *function);

struct loaded;

/*
 * Writes, links and loads. On success *RESULT owns the kernel's programs and maps until loaded_free. A refusal by the
 * verifier is our bug: the text says so, quotes the Lua line the verifier stopped at, and names the file in which the
 * object was kept (in $TMPDIR or /tmp, mode 0600). Lack of privilege names the capability (CAP_BPF, CAP_PERFMON).
 */
int object_load(const struct object *object, const void *library, size_t library_size, struct loaded **result,
                struct error *err);
void loaded_free(struct loaded *loaded);

/*
 * File descriptors owned by LOADED; -ENOENT for an unknown name. Library maps are found by their C names; those that no
 * program needs are not created, and -ENOENT too.
 */
int loaded_program_fd(const struct loaded *loaded, const char *name);
int loaded_map_fd(const struct loaded *loaded, const char *name);
/*
 * The counters NAME, mapped while LOADED lives; NULL if unknown. COUNT receives their number. Counters that
 * the library of bpf/ declares (`__u64 stack_lost[…]` in its .bss) are found the same way.
 */
volatile uint64_t *loaded_counters(const struct loaded *loaded, const char *name, size_t *count);

struct bpf_map;
/* Maps the elements of MAP, an array that user space can map, to *VALUES: *SIZE bytes, whole pages. 0 or -errno. */
int loaded_map_values(const struct bpf_map *map, void **values, size_t *size);
