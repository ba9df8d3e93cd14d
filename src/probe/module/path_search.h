/* Programs by their name, as a shell finds them. */
#pragma once

#include "base/error.h"

/*
 * The executable file that NAME stands for, by $PATH where it has no slash: malloc'd into *PATH. 0, or a negative errno
 * with ERR filled (ERR may be NULL).
 */
int program_find(const char *name, char **path, struct error *err);
