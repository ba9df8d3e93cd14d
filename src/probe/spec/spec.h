/* BINARY:FUNCTION[@VERSION][+OFFSET], BINARY:0xADDRESS, BINARY@FILE:LINE or BINARY:FILE:LINE, as users write it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct spec {
    char *text; /* as given */
    char *binary;
    char *function; /* with * ? [ it is a pattern, unless a function is called so; "0x…" where the spec is an address,
                       the number where it is a line */
    char *version;  /* or NULL */
    uint64_t offset;
    uint64_t address; /* as nm prints it; 0: a function is named */
    char *file;       /* of the source, or NULL */
    unsigned line;
    bool alone; /* it has an offset, maybe +0: clones of the function, and its older versions, are not meant */
    bool pattern;
    bool demangled; /* the function's name is one of C++ or Rust, as people read it */
};

/* Parses TEXT into SPEC, which spec_free releases; on an error nothing is kept. */
int spec_parse(const char *text, struct spec *spec, struct error *err);
void spec_free(struct spec *spec);
