/* Finds programs that switch stacks, where return probes do harm. */
#include "probe/spec/switches.h"

#include <stdlib.h>
#include <string.h>

#include "probe/module/file_stamp.h"
#include "probe/module/library.h"
#include "probe/spec/resolve.h"
#include "sys/path.h"

/* Functions that begin or go on on another stack: of the C library, and of libraries for coroutines. */
static const char *const names[] = {
    "swapcontext",
    "setcontext",
    "makecontext", /* POSIX */
    "jump_fcontext",
    "ontop_fcontext",
    "make_fcontext", /* Boost.Context, and PHP's fibers */
    "libucontext_swapcontext",
    "libucontext_setcontext", /* libucontext */
    "co_switch",
    "coctx_swap",
    "coro_transfer",
    "acosw", /* libco (two of that name), libcoro, libaco */
    "coroutine_transfer",
    "_co_swap",
    "mco_resume",
    "pth_yield", /* Ruby, mpv's and others', minicoro, GNU Pth */
};
enum { NAMES = sizeof names / sizeof *names };

/* What was found out about files, which is asked for again and again, in whichever run. */
static struct known {
    char *path;
    struct stamp file; /* another run may find another one there */
    const char *name;  /* of NAMES, or NULL */
} * known;
static size_t known_count;

static const char *find_in_binary(const struct binary *binary)
{
    /* The C library defines what others call. */
    if (library_matches(path_basename(binary_module(binary)->name), "libc"))
        return NULL;
    for (size_t i = 0; i < NAMES; i++)
        if (binary_has_name(binary, names[i]))
            return names[i];
    return NULL;
}

static const char *find_in_module(const struct module *module)
{
    struct binary *binary;
    for (size_t i = 0; i < known_count; i++)
        if (strcmp(known[i].path, module->path) == 0 && stamp_compare(&known[i].file, module->path) == STAMP_SAME)
            return known[i].name;
    if (binary_open(module, &binary, NULL) < 0)
        return NULL; /* what is no ELF file */
    const char *name = find_in_binary(binary);
    const struct stamp file = stamp_of(&binary_elf(binary)->stat);
    binary_close(binary);
    struct known *grown = realloc(known, (known_count + 1) * sizeof *known);
    if (grown) {
        known = grown;
        known[known_count] = (struct known){.path = strdup(module->path), .file = file, .name = name};
        known_count += known[known_count].path != NULL;
    }
    return name;
}

const char *switches_stacks(const struct binary *binary, const struct target *target)
{
    const struct module *module = binary_module(binary);
    struct modules modules = {0};
    const char *name = find_in_module(module);
    if (name)
        return name;
    if (target && (target->count || target->command))
        resolve_all(target, false, &modules, NULL);
    else
        library_closure("", module->path, false, &modules);
    for (size_t i = 0; i < modules.count && !name; i++)
        name = find_in_module(&modules.items[i]);
    modules_free(&modules);
    return name;
}
