/* Completes specs: names of functions and of modules. */
#include "probe/spec/complete.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/binary.h"
#include "probe/module/ld_so_cache.h"
#include "probe/spec/resolve.h"

struct names {
    char **items;
    size_t count;
    const char *prefix;
    size_t prefix_length;
};

static int add(struct names *names, const char *name, size_t length)
{
    if (length < names->prefix_length || strncmp(name, names->prefix, names->prefix_length) != 0)
        return 0;
    char **place = array_add(&names->items, &names->count, sizeof *place);
    if (!place)
        return -ENOMEM;
    *place = strndup(name, length);
    return *place ? 0 : (names->count--, -ENOMEM);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts NAMES, drops doubles, and hands them out; with CODE, an error, frees them. */
static int finish(struct names *names, int code, char ***items, size_t *count, struct error *err)
{
    size_t kept = 0;
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, by_text);
    for (size_t i = 0; i < names->count; i++) {
        if (code || (kept && !strcmp(names->items[kept - 1], names->items[i])))
            free(names->items[i]);
        else
            names->items[kept++] = names->items[i];
    }
    if (code) {
        free(names->items);
        names->items = NULL;
    }
    *items = names->items;
    *count = kept;
    return code == -ENOMEM ? error_set(err, code, "out of memory") : code;
}

static int add_function(const struct function_symbol *function, void *context)
{
    return function->data ? 0 : add(context, function->name, function->name_length);
}

static int add_functions(const struct module *module, struct names *names)
{
    struct binary *binary, *debug;
    if (binary_open(module, &binary, NULL) < 0)
        return 0; /* no ELF file has no functions */
    int code = binary_functions(binary, add_function, names);
    if (!code && !binary_has_symbols(binary) && binary_open_debug(binary, &debug) == 0) {
        code = binary_functions(debug, add_function, names);
        binary_close(debug);
    }
    binary_close(binary);
    return code;
}

int complete_functions(const char *binary, const char *prefix, const struct target *target, char ***names,
                       size_t *count, struct error *err)
{
    struct names found = {.prefix = prefix, .prefix_length = strlen(prefix)};
    struct modules modules = {0};
    struct spec spec = {.text = (char *)binary, .binary = (char *)binary};
    int code = resolve_binaries(&spec, target, &modules, err);
    for (size_t i = 0; i < modules.count && !code; i++)
        code = add_functions(&modules.items[i], &found);
    modules_free(&modules);
    return finish(&found, code, names, count, err);
}

/* The name that specs have for the file FILE: without what follows the first ".so" or "-2.31.so" of a library's. */
static int add_file(struct names *names, const char *file)
{
    size_t length = strlen(file);
    const char *end = strstr(file, ".so");
    if (!strncmp(file, "lib", 3) && end)
        length = (size_t)(end - file);
    return add(names, file, length);
}

static int add_library(const char *name, const char *path, void *context)
{
    (void)path;
    return add_file(context, name);
}

int complete_modules(const char *prefix, const struct target *target, char ***names, size_t *count, struct error *err)
{
    struct names found = {.prefix = prefix, .prefix_length = strlen(prefix)};
    struct modules modules = {0};
    bool everybody = !target || (!target->command && !target->count);
    int code = everybody ? ld_so_cache_each("", add_library, &found) : resolve_all(target, true, &modules, err);
    for (size_t i = 0; i < modules.count && !code; i++)
        code = add_file(&found, path_basename(modules.items[i].name));
    modules_free(&modules);
    return finish(&found, code, names, count, err);
}
