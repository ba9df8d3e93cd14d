/* Why an object could not be linked or loaded, in words for the user. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "compile/object/object.h"

/* The verifier's log: memory that is touched only if the kernel writes to it. TEXT is NULL if there is none. */
struct load_log {
    char *text;
    size_t size;
};

/* Without memory for a log, loading goes on without one. */
void load_log_open(struct load_log *log);
void load_log_close(struct load_log *log);

/* Between the two, what libbpf has to say is kept for the messages instead of printed. */
void load_error_capture(void);
void load_error_release(void);

/* bpf_linker failed with CODE. */
int load_error_link(struct error *err, int code);

/*
 * bpf_object__load of OBJECT failed with CODE; linked it was BYTES (SIZE), which are kept in a file if the verifier
 * refused it. NULL: it could not even be opened.
 */
int load_error_explain(struct error *err, int code, const struct object *object, const struct load_log *log,
                       const void *bytes, size_t size);

/* bpf_object__open_file or bpf_object__load of somebody else's object PATH failed with CODE: shows the end of what the
 * verifier said. */
int load_error_guest(struct error *err, int code, const char *path, const struct load_log *log);
