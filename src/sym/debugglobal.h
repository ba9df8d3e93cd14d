/* Variables outside of functions as code names them: those of the classes and namespaces around it, those that using
 * has brought there, and those that other units of the file export. */
#pragma once

#include "sym/debugscope.h"

/* The code that a name stands in. */
struct debugglobal_code {
    uint64_t address;
    bool inlined;           /* it is of the innermost function there, else of the one that is itself not inlined */
    bool outside;           /* the name is one of a namespace, or of the unit: an extern of a block */
    const uint64_t *usings; /* entries of the using directives of the blocks around (sym/debugscope.h) */
    size_t using_count;
};

enum debugglobal_kind {
    DEBUGGLOBAL_NONE,     /* the unit of the code declares nothing of that name */
    DEBUGGLOBAL_VARIABLE, /* it is there */
    DEBUGGLOBAL_DECLARED, /* the file does not define it */
    DEBUGGLOBAL_LEFT_OUT, /* the compiler has left it out */
    DEBUGGLOBAL_NO_VALUE, /* the name is a function's or a type's there, or that of a variable of a function around */
    DEBUGGLOBAL_OTHER,    /* the name is no variable there, or it is not known which */
};

struct debugglobal {
    enum debugglobal_kind kind;
    struct debuglocal variable; /* function is 0 */
    char why[160];              /* DEBUGGLOBAL_NO_VALUE, _OTHER: for people */
};

/*
 * What NAME, perhaps with namespaces and classes before it ("ns::counter"), means in CODE, by the declarations of the
 * unit of that; the variable may be defined in another. 0 or -ELOOP.
 */
int debugglobal_find(struct debuginfo *debuginfo, const struct debugglobal_code *code, const char *name,
                     struct debugglobal *result);
/* The same of NAME where the unit of CODE declares none: the variable of another that is exported there, in the
 * innermost namespace around. DEBUGGLOBAL_NONE or DEBUGGLOBAL_VARIABLE. */
int debugglobal_find_other(struct debuginfo *debuginfo, const struct debugglobal_code *code, const char *name,
                           struct debugglobal *result);
/* The same of the variable whose declaration is ENTRY, an offset in .debug_info, of the unit of CODE. */
int debugglobal_define(struct debuginfo *debuginfo, const struct debugglobal_code *code, uint64_t entry,
                       struct debugglobal *result);

/* Calls VISIT with the name of each variable that the unit of CODE defines outside of functions, or declares. */
void debugglobal_names(struct debuginfo *debuginfo, const struct debugglobal_code *code,
                       void (*visit)(const char *name, void *context), void *context);
