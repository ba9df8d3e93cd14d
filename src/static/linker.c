/*
 * In place of the dynamic linker's functions, in the file without any library (`make static`), of which the linker has
 * all calls come here (--wrap): nothing can be loaded into it, and it has no symbols but those of a table. glibc's own
 * would load libraries of another version than the one that is linked in, and crash with them.
 */
#include <stddef.h>
#include <stdio.h>

#include "static/functions.h"

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

static _Thread_local char refusal[256]; /* what dlerror says next; "": nothing has failed */

void *__wrap_dlopen(const char *file, int mode)
{
    (void)mode;
    snprintf(refusal, sizeof refusal,
             "%s: this uplua is one file without libraries, which loads none: ffi.load and modules of C need the one "
             "that `make` builds",
             file ? file : "the program");
    return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    (void)handle; /* only ffi.C has one: that of the program */
    void *found = function_find(name);
    if (!found)
        snprintf(refusal, sizeof refusal,
                 "%s: this uplua is one file without libraries, which has no such function of C in it: that needs the "
                 "one that `make` builds",
                 name);
    return found;
}

int __wrap_dlclose(void *handle)
{
    (void)handle;
    return -1; /* nothing has been opened */
}

char *__wrap_dlerror(void)
{
    static _Thread_local char said[sizeof refusal];
    if (!*refusal)
        return NULL;
    snprintf(said, sizeof said, "%s", refusal);
    *refusal = '\0';
    return said;
}
