/* The places in binaries that specs name, as a list that grows; and how each kind of spec adds to it. */
#pragma once

#include "probe/module/binary.h"
#include "probe/probe.h"
#include "probe/spec/spec.h"

struct site_list {
    struct site *items;
    size_t count, capacity;
    struct skipped *skipped;
    size_t skipped_count, skipped_capacity;
    bool at_return;      /* they are for return probes … */
    bool by_instruction; /* … on return instructions; else: */
    bool may_be_left;    /* it is to be told by which other ways the functions may be left */
    const struct target *target;
    bool chosen; /* implementations of indirect functions are among them, which may be there by their own names too */
};

/* Appends SITE, whose strings are copied, to LIST. 0 or -ENOMEM. */
int site_list_add(struct site_list *list, const struct site *site);

/*
 * Appends one site of BINARY to LIST: INSIDE bytes into the FUNCTION at ADDRESS - INSIDE. TEXT: the spec, for messages.
 * Where ADDRESS lies in no executable segment, where no instruction starts there, or one that does not survive a probe,
 * it is refused. SIZE: of the function, 0 where that is not known.
 */
int site_list_append(const struct binary *binary, const char *text, const char *function, uint64_t address,
                     uint64_t inside, uint64_t size, struct site_list *list, struct error *err);

/* Takes the sites from number COUNT on away again. */
void site_list_cut(struct site_list *list, size_t count);

/* Adds FUNCTION, which a pattern matches, to those that are left out; WHY is static. 0 or -ENOMEM. */
int site_list_skip(struct site_list *list, const char *function, const char *why);

/* Sorts LIST by file and place; of several sites at one place only the first stays. 0 or -ENOMEM. */
int site_list_drop_doubles(struct site_list *list);

/*
 * Appends the sites of SPEC in BINARY to LIST. A name stands for the function of that name that the linker would take,
 * or, where only file-local ones have it, for all of them; without a version for the default version. Where the binary
 * does not know the name, its separate debug file is asked.
 */
int site_by_name(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);

/* The same of a source line: where its code begins in each function, and wherever one was inlined. */
int site_by_line(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);

/* The same of an address: in a function of the symbols of BINARY or of its call frame information. */
int site_by_address(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);
