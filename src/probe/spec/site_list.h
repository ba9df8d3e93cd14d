/* The places in a binary that a spec names. */
#ifndef UPLUA_PROBE_SPEC_SITE_LIST_H
#define UPLUA_PROBE_SPEC_SITE_LIST_H

#include "probe/module/binary.h"
#include "probe/probe.h"
#include "probe/spec/spec.h"

struct site_list {
    struct site *items;
    size_t count, capacity;
    struct skipped *skipped;
    size_t skipped_count;
    bool at_return;      /* they are for return probes … */
    bool by_instruction; /* … on return instructions; else: */
    bool may_be_left;    /* it is to be told by which other ways the functions may be left */
    const struct target *target;
    bool chosen; /* implementations of indirect functions are among them, which may be there by their own names too */
};

/*
 * Appends the sites of SPEC in BINARY to LIST. A name stands for the function of that name that the linker would take,
 * or, where only file-local ones have it, for all of them; without a version for the default version. Where the binary
 * does not know the name, its separate debug file is asked.
 */
int lookup_sites(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);

/*
 * Appends one site of BINARY to LIST: INSIDE bytes into the FUNCTION at ADDRESS - INSIDE. TEXT: the spec, for messages.
 * Where ADDRESS lies in no executable segment, where no instruction starts there, or one that does not survive a probe,
 * it is refused. SIZE: of the function, 0 where that is not known.
 */
int lookup_append(const struct binary *binary, const char *text, const char *function, uint64_t address,
                  uint64_t inside, uint64_t size, struct site_list *list, struct error *err);

/* Appends SITE, whose strings are copied, to LIST. 0 or -ENOMEM. */
int lookup_add(struct site_list *list, const struct site *site);
/* Takes the sites from number COUNT on away again. */
void lookup_cut(struct site_list *list, size_t count);

/* Adds FUNCTION, which a pattern matches, to those that are left out; WHY is static. 0 or -ENOMEM. */
int lookup_skip(struct site_list *list, const char *function, const char *why);

/* Appends the sites of SPEC, a source line, in BINARY: where its code begins in each function, and wherever one was
 * inlined. */
int lookup_line(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);

/* Appends the site that SPEC, an address, has in BINARY: in a function of its symbols or of its call frame
 * information. */
int lookup_address(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err);

/*
 * Finds out whether the last site of LIST, the beginning of something in BINARY, is jumped to, not called: by call
 * frame information, which has a frame there. So begin parts of functions that stand apart from them (.cold), and the
 * head of a procedure linkage table. A return probe there is refused. TEXT: the spec, for messages.
 */
int lookup_check_entry(const struct binary *binary, const char *text, struct site_list *list, struct error *err);

/*
 * Sets each of the COUNT OFFSETS to where in the file BINARY, which exports or contains code for it, has the function
 * of that of NAMES; -1: it has none. Of several versions it is the one that programs are linked against, of several
 * functions the global one. 0 or -errno.
 */
int lookup_offsets(const struct binary *binary, const char *const *names, size_t count, int64_t *offsets);

#endif
