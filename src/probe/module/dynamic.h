/* What an ELF file says to the dynamic loader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "probe/module/binary.h"

struct dynamic {
    char *interpreter; /* the loader; NULL: a static program or a library */
    char **needed;
    size_t needed_count;
    char *rpath, *runpath; /* or NULL */
};

/* 0 or -ENOMEM; a file that says nothing gives an empty DYNAMIC. */
int dynamic_read(const struct binary *binary, struct dynamic *dynamic);
void dynamic_free(struct dynamic *dynamic);

/*
 * PATH (LENGTH characters of a list) with $ORIGIN and ${ORIGIN} replaced by the folder of the file ORIGIN. False where
 * it does not fit, has another $ word or $ORIGIN without an ORIGIN.
 */
bool dynamic_expand(const char *path, size_t length, const char *origin, char *out, size_t size);
