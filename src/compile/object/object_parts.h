/* Inside of an object in the making, shared by the files that build, write and load it. */
#pragma once

#include <bpf/btf.h>

#include "compile/object/object.h"

struct object_counters {
    const char *name;
    size_t count;
    uint32_t offset; /* in .bss */
};

struct object_variable {
    const char *name, *section; /* ".data.NAME": libbpf makes a map of each such section */
    uint32_t size;              /* a multiple of 8 */
    int reuse_fd;
};

struct reused_map {
    const char *name;
    int fd;
};

struct object {
    struct object_block *blocks; /* all names, instructions, references and lines */
    struct object_program *programs;
    size_t program_count;
    struct object_map *maps;
    size_t map_count;
    struct object_counters *counters;
    size_t counters_count;
    struct object_variable *variables;
    size_t variable_count;
    struct reused_map *reused; /* maps of the library */
    size_t reused_count;
    uint32_t bss_size;
};

/* A variable lies in a section of its own. */
#define VARIABLE_SECTION ".data."

/* True if a program of OBJECT calls a function of the library. */
bool object_needs_library(const struct object *object);

/*
 * Functions lie one behind the other in .text, a program alone in its section. The section's name, and the offset there
 * of PROGRAM in bytes.
 */
const char *object_section(const struct object_program *program);
uint32_t object_offset(const struct object *object, const struct object_program *program);

/* Every map is described by as many pointers as its struct in .maps has members. */
enum { MAP_DEFINITION_SIZE = 5 * 8 };

/* Writes OBJECT alone as an ELF file into the empty file FD. LIBRARY: the library's types, NULL where it is not
 * needed. */
int object_write(const struct object *object, const struct btf *library, int fd, struct error *err);

/*
 * The types of OBJECT (programs, maps, counters, and the library functions that it calls, typed as in LIBRARY) and the
 * contents of .BTF.ext (malloc). Returns 0 or a negative errno.
 */
int object_types(const struct object *object, const struct btf *library, struct btf **types, void **extension,
                 uint32_t *extension_size, struct error *err);
