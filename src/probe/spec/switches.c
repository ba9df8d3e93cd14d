/* Finds programs that switch stacks, where return probes do harm. */
#include "probe/spec/switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/file_stamp.h"
#include "probe/module/library.h"
#include "probe/spec/resolve.h"

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
    "ASYNC_start_job",
    "SSL_waiting_for_async",
    "SSL_get_all_async_fds", /* OpenSSL's jobs */
};
enum { NAMES = sizeof names / sizeof *names };

/* What was found out about files, which is asked for again and again, in whichever run. */
static struct known {
    char *path;
    char *shown;       /* as its process calls it: PATH may be one of a file that is gone */
    struct stamp file; /* another run may find another one there */
    const char *name;  /* of NAMES, or NULL */
} * known;
static size_t known_count;

static int find_in_binary(const struct binary *binary, const char **name)
{
    /* They define what others call. OpenSSL's two are in many programs, and switch stacks in those alone that ask for
     * jobs. */
    static const char *const callees[] = {"libc", "libcrypto", "libssl"};
    int found = 0;
    *name = NULL;
    for (size_t i = 0; i < sizeof callees / sizeof *callees; i++)
        if (library_matches(path_basename(binary_module(binary)->name), callees[i]))
            return 0;
    for (size_t i = 0; i < NAMES && !found; i++) {
        found = binary_has_name(binary, names[i]);
        *name = found > 0 ? names[i] : NULL;
    }
    return found < 0 ? found : 0;
}

static int find_in_module(const struct module *module, struct stack_switch *result)
{
    struct binary *binary;
    *result = (struct stack_switch){0};
    for (size_t i = 0; i < known_count; i++)
        if (strcmp(known[i].path, module->path) == 0 && stamp_compare(&known[i].file, module->path) == STAMP_SAME) {
            if (known[i].name)
                *result = (struct stack_switch){known[i].name, known[i].shown};
            return 0;
        }
    int code = binary_open(module, &binary, NULL);
    if (code < 0)
        return code == -ENOMEM ? code : 0; /* what is no ELF file */
    const char *name;
    code = find_in_binary(binary, &name);
    const struct stamp file = stamp_of(&binary_elf(binary)->stat);
    binary_close(binary);
    char *path = code ? NULL : strdup(module->path), *shown = code ? NULL : strdup(module->name);
    struct known *added = path && shown ? array_add(&known, &known_count, sizeof *known) : NULL;
    if (!added) {
        free(path);
        free(shown);
        return code ? code : -ENOMEM;
    }
    *added = (struct known){.path = path, .shown = shown, .file = file, .name = name};
    if (name)
        *result = (struct stack_switch){name, shown};
    return 0;
}

int switches_stacks(const struct binary *binary, const struct target *target, struct stack_switch *result)
{
    const struct module *module = binary_module(binary);
    struct modules modules = {0};
    int code = find_in_module(module, result);
    if (code || result->function)
        return code;
    if (target && (target->count || target->command))
        code = resolve_all(target, false, &modules, NULL);
    else
        code = library_closure("", module->path, false, &modules);
    code = code == -ENOMEM ? code : 0; /* what cannot be found is not looked into */
    for (size_t i = 0; i < modules.count && !code && !result->function; i++)
        code = find_in_module(&modules.items[i], result);
    modules_free(&modules);
    return code;
}
