/*
 * The kernel's tracepoints, as tracefs describes them: SYSTEM:NAME, with a number to attach by and the fields of the
 * record that a hit makes. libtraceevent reads the descriptions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

struct tracepoint_field {
    char *name;
    char *type;            /* as the kernel's source has it: "pid_t", "char[16]", "__data_loc char[]" */
    unsigned offset, size; /* in the record: bytes */
    bool is_signed;
    bool common;      /* in the records of all tracepoints */
    unsigned count;   /* of an array: its elements, 0 where only the record knows … */
    unsigned element; /* … and how many bytes each has; 0: it is no array */
    /* here, or the place and the length of the bytes are here */
    enum { FIELD_HERE, FIELD_DATA_LOC, FIELD_REL_LOC } where;
};

struct tracepoint {
    char *system, *name;
    uint64_t id;
    struct tracepoint_field *fields; /* in the record's order */
    size_t field_count;
};

/*
 * Finds the tracepoint SPEC, "sched:sched_switch": *RESULT, freed by tracepoint_free. Errors name the spec, the reason
 * and close matches.
 */
int tracepoint_find(const char *spec, struct tracepoint **result, struct error *err);
/* The same from the kernel's types, which need no rights: without a number, to know its fields only. -ENOENT: these do
 * not tell, perhaps since it is not there. */
int tracepoint_of_types(const char *spec, struct tracepoint **result);
void tracepoint_free(struct tracepoint *tracepoint);

/*
 * The names of the tracepoints that PATTERN (SYSTEM:NAME, each with `*` for any characters) matches, sorted: *NAMES is
 * an array of malloc'd strings, itself malloc'd. An error where there are none.
 */
int tracepoint_match(const char *pattern, char ***names, size_t *count, struct error *err);

/* Runs PROGRAM_FD (a tracepoint handler's) at every hit of TRACEPOINT on the machine. On failure nothing stays
 * attached. */
int tracepoint_attach(int program_fd, uint64_t cookie, const struct tracepoint *tracepoint, struct probe_link **link,
                      struct error *err);
