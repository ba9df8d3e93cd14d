/*
 * The machine of DWARF's call frame instructions (DWARF 5, 6.4), as far as a walk up the stack needs it: the CFA, the
 * frame pointer and the return address. All other registers are read over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/bytes.h"
#include "unwind/call_frames.h"

/* Where the caller's value of a register is. */
struct saved_register {
    enum saved_kind {
        SAVED_NOWHERE,
        SAVED_UNCHANGED,
        SAVED_AT_CFA,
        SAVED_EXPRESSION, /* its address */
        SAVED_VALUE,      /* the expression is its value */
        SAVED_REGISTER,   /* in another register */
        SAVED_OTHERWISE,
    } kind;
    int64_t offset; /* from the CFA; SAVED_REGISTER: that register's number */
    struct bytes expression;
};

struct cfa_state {
    struct bytes expression; /* of nothing: CFA = base + offset */
    unsigned base;           /* a DWARF register number */
    int64_t offset;
    struct saved_register frame, link; /* the frame pointer, the return address */
};

/* What holds at the beginning of the FDEs of CIE; false where its instructions are damaged. */
bool cfa_start(const struct cie *cie, struct cfa_state *state);

/*
 * Executes the instructions of FDE, whose CIE leaves INITIAL, and calls row(context, address, rule) for each address
 * from which on another rule holds (bpf/unwind.h): ascending, the first is the FDE's start, all are below its end.
 * Damaged instructions end it: what remains is RULE_UNEXPRESSED. Returns false then.
 */
bool cfa_run(const struct cie *cie, const struct fde *fde, const struct cfa_state *initial,
             void (*row)(void *context, uint64_t address, uint64_t rule), void *context);
