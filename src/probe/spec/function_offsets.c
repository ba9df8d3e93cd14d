/* Where files have functions of given names, and which files define them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/binary.h"
#include "probe/probe.h"
#include "probe/spec/resolve.h"

/* A name that is looked for. */
struct wanted_offset {
    const char *name;
    int64_t *offset; /* where the answer goes */
    unsigned rank;   /* of what was found: the highest counts */
};

struct offset_search {
    const struct binary *binary;
    struct wanted_offset *wanted; /* by name */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct wanted_offset *)a)->name, ((const struct wanted_offset *)b)->name);
}

static int compare_name(const void *key, const void *element)
{
    const struct function_symbol *function = key;
    const char *name = ((const struct wanted_offset *)element)->name;
    int order = strncmp(function->name, name, function->name_length);
    return order ? order : -(name[function->name_length] != '\0');
}

static int find_offset(const struct function_symbol *function, void *context)
{
    struct offset_search *search = context;
    struct wanted_offset *wanted = bsearch(function, search->wanted, search->count, sizeof *wanted, compare_name);
    unsigned rank = function->old ? 1 : function->global ? 3 : 2;
    uint64_t offset;
    if (wanted && rank > wanted->rank && !function->data &&
        binary_offset(search->binary, function->address, &offset) == 0) {
        *wanted->offset = (int64_t)offset;
        wanted->rank = rank;
    }
    return 0;
}

/*
 * Sets each of the COUNT OFFSETS to where in the file of MODULE, which exports or contains code for it, has the
 * function of that of NAMES; -1: it has none. Of several versions it is the one that programs are linked against, of
 * several functions the global one. 0 or -errno; -ENOEXEC: MODULE is no ELF file, as executable mappings of JIT caches
 * and of wine are.
 */
static int module_offsets(const struct module *module, const char *const *names, size_t count, int64_t *offsets)
{
    struct binary *binary;
    if (binary_open(module, &binary, NULL) < 0)
        return -ENOEXEC;
    struct offset_search search = {
        .binary = binary, .wanted = calloc(count + 1, sizeof *search.wanted), .count = count};
    for (size_t i = 0; search.wanted && i < count; i++) {
        offsets[i] = -1;
        search.wanted[i] = (struct wanted_offset){.name = names[i], .offset = &offsets[i]};
    }
    if (search.wanted)
        qsort(search.wanted, count, sizeof *search.wanted, by_name);
    int result = search.wanted ? binary_functions(binary, find_offset, &search) : -ENOMEM;
    free(search.wanted);
    binary_close(binary);
    return result;
}

static bool defines(const struct module *module, const char *const *names, size_t count)
{
    int64_t *offsets = calloc(count + 1, sizeof *offsets);
    bool found = false;
    if (offsets && module_offsets(module, names, count, offsets) == 0)
        for (size_t i = 0; i < count && !found; i++)
            found = offsets[i] >= 0;
    free(offsets);
    return found;
}

bool probe_file_defines(const char *path, const char *const *names, size_t count)
{
    return defines(&(struct module){.path = (char *)path, .name = (char *)path}, names, count);
}

int probe_offsets(const char *module, const char *const *names, size_t count, const struct target *target,
                  int64_t *offsets, struct error *err)
{
    struct spec spec = {.text = (char *)module, .binary = (char *)module};
    struct modules found = {0};
    int result = resolve_binaries(&spec, target, &found, err);
    for (size_t i = 0; i < count; i++)
        offsets[i] = -1;
    if (result == 0 && found.count && (result = module_offsets(&found.items[0], names, count, offsets)) < 0)
        error_set(err, result, "%s: cannot read its symbols: %s", module, error_reason(result));
    if (result < 0)
        error_make_printable(err);
    modules_free(&found);
    return result;
}

int probe_modules_defining(const char *const *names, size_t name_count, const struct target *target, char ***paths,
                           size_t *count, struct error *err)
{
    int result = 0;
    *paths = NULL;
    *count = 0;
    /* A process so young that its libraries are not mapped yet defines nothing at first. */
    for (int linked = 0; linked < 2 && result == 0 && *count == 0; linked++) {
        struct modules modules = {0};
        result = resolve_all(target, linked, &modules, err);
        for (size_t i = 0; i < modules.count && result == 0; i++)
            if (defines(&modules.items[i], names, name_count) &&
                array_add_string(paths, count, modules.items[i].name) < 0)
                result = error_set(err, -ENOMEM, "out of memory");
        modules_free(&modules);
    }
    if (result < 0) {
        array_free_strings(*paths, *count);
        *paths = NULL;
        *count = 0;
    }
    return result;
}
