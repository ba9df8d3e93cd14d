/* USDT probes: from what users write to places in binaries, and to where the arguments are when one is hit. */
#pragma once

#include "arch/usdt.h"
#include "probe/probe.h"

struct usdt_argument {
    char *text;                  /* as the note has it: "-4@%eax" */
    struct usdt_operand operand; /* without a symbol: that is in its numbers */
};

/* Places in one file of one probe, at which the arguments are found in the same way. A probe has several where
 * compilers inlined it. */
struct usdt_probe {
    char *provider, *name;
    struct site *sites; /* their function: "provider:name" */
    size_t site_count;
    struct usdt_argument *arguments;
    size_t argument_count;
    const char *problem; /* why it cannot be attached; NULL: it can. Static */
};

/*
 * Finds the USDT probes that SPEC names for TARGET: *PROBES (freed by usdt_free), in the files' order. SPEC is
 * BINARY:PROVIDER:NAME, where BINARY is as probe_resolve has it and PROVIDER may be empty: any; or PROVIDER:NAME, in
 * any module of the target's; or, where none of those has such a provider or there is no target, BINARY:NAME. PROVIDER
 * and NAME may be patterns (* ? []), "-" in NAME means "__". Errors name what was searched and close matches.
 */
int usdt_find(const char *spec, const struct target *target, struct usdt_probe **probes, size_t *count,
              struct error *err);
/* The same without regard to problems, for a listing; BINARY NULL: all modules of TARGET. There may be none. */
int usdt_list(const char *binary, const char *provider, const char *name, const struct target *target,
              struct usdt_probe **probes, size_t *count, struct error *err);
void usdt_free(struct usdt_probe *probes, size_t count);
