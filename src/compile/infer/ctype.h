/* C types by handle, whoever knows them: the script, the kernel's BTF, or a program's debug information. */
#pragma once

#include <stdbool.h>

#include "compile/context/ctype.h"

struct compiler;
struct position;

/* The type of HANDLE; it lives as long as the compiler. */
const struct ctype *ctype_of(struct compiler *compiler, int handle);
/*
 * The type that DECLARATION names, as the script has declared it, or else, if KERNEL, as the kernel has; fails at
 * POSITION where it names none.
 */
const struct ctype *ctype_parse(struct compiler *compiler, const struct position *position, const char *declaration,
                                bool kernel);
/* The same; NULL where it names none. */
const struct ctype *ctype_find(struct compiler *compiler, const char *declaration);
/* What TYPE, a pointer or an array, leads to or consists of; fails where that is nothing that can be read. */
const struct ctype *ctype_element(struct compiler *compiler, const struct position *position, const struct ctype *type);
/* The field NAME of the struct or union TYPE; fails where it has none. */
struct ctype_field ctype_field(struct compiler *compiler, const struct position *position, const struct ctype *type,
                               const char *name);
