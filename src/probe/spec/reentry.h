/* Finds the jumps of functions to their own first instructions. */
#pragma once

#include "probe/reentry.h"
#include "probe/spec/slide.h"

/*
 * The jumps of CODE's function to its entry. NULL in *REENTRIES: its entry is come to by calls only, as far as the code
 * tells. The caller frees. 0 or -ENOMEM.
 */
int reentry_find(const struct arch_code *arch, const struct slide_code *code, struct reentries **reentries);
