/* Variables outside of functions as code names them: those of its unit, of the namespaces and classes around it, and
 * those that other units of the file export. */
#pragma once

#include "sym/debugscope.h"

/*
 * The variable that NAME, perhaps with namespaces and classes before it ("ns::counter"), means in code at ADDRESS, in
 * *RESULT, whose function is 0: of the innermost namespace or class around the function that has one, its own unit's
 * before others'. 0, or -ENOENT: the file defines none; *DECLARED: but the unit of ADDRESS declares one, of another
 * file. -ELOOP.
 */
int debugglobal_find(struct debuginfo *debuginfo, uint64_t address, const char *name, struct debuglocal *result,
                     bool *declared);

/* Calls VISIT with the name of each variable that the unit of ADDRESS defines outside of functions, or declares. */
void debugglobal_names(struct debuginfo *debuginfo, uint64_t address, void (*visit)(const char *name, void *context),
                       void *context);
