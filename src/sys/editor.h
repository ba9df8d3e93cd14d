/* The user's editor. */
#pragma once

#include "base/error.h"

/*
 * Lets the user edit TEXT in $VISUAL, $EDITOR or vi, in a file of its own whose name ends in SUFFIX, and waits. The
 * result in *EDITED, which the caller frees. 0, or -errno and ERR: -ECANCELED where the editor failed.
 */
int editor_edit(const char *text, const char *suffix, char **edited, struct error *err);
