/* Completes specs: names of functions and of modules. */
#include "probe/spec/complete.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/binary.h"
#include "probe/module/ld_so_cache.h"
#include "probe/spec/resolve.h"

struct name {
    uint64_t head; /* its first eight bytes behind what all names begin with: these decide most comparisons */
    size_t at;     /* in the text */
};

struct names {
    struct name *items;
    size_t count, room;
    char *text; /* of all of them, each with a NUL behind it: 50,000 allocations would take longer than all the rest */
    size_t length, capacity;
    const char *prefix;
    size_t prefix_length;
};

static int add(struct names *names, const char *name, size_t length)
{
    if (length < names->prefix_length || memcmp(name, names->prefix, names->prefix_length) != 0)
        return 0;
    if (names->length + length >= names->capacity) {
        size_t capacity = 2 * names->capacity + length + 4096;
        char *text = realloc(names->text, capacity);
        if (!text)
            return -ENOMEM;
        names->text = text;
        names->capacity = capacity;
    }
    if (!array_room(&names->items, names->count, &names->room, sizeof *names->items))
        return -ENOMEM;
    names->items[names->count++] = (struct name){.at = names->length};
    memcpy(names->text + names->length, name, length);
    names->text[names->length + length] = '\0';
    names->length += length + 1;
    return 0;
}

/* How many bytes all names begin with. */
static size_t common_length(const struct names *names)
{
    const char *first = names->text;
    size_t common = strlen(first);
    for (size_t i = 1; i < names->count; i++) {
        const char *name = names->text + names->items[i].at;
        size_t same = 0;
        while (same < common && name[same] == first[same])
            same++;
        common = same;
    }
    return common;
}

static uint64_t head_of(const char *name)
{
    uint64_t head = 0;
    for (size_t i = 0; i < sizeof head; i++) {
        head = head << 8 | (unsigned char)*name;
        name += *name != '\0';
    }
    return head;
}

static int by_text(const void *a, const void *b, void *text)
{
    const struct name *one = a, *other = b;
    if (one->head != other->head)
        return one->head < other->head ? -1 : 1;
    return strcmp((char *)text + one->at, (char *)text + other->at);
}

/* Sorts NAMES, which begin alike in so many bytes. */
static void sort(struct names *names, size_t common)
{
    for (size_t i = 0; i < names->count; i++)
        names->items[i].head = head_of(names->text + names->items[i].at + common);
    qsort_r(names->items, names->count, sizeof *names->items, by_text, names->text);
}

/* Leaves the first name, cut to the bytes that all begin with. */
static void keep_beginning(struct names *names, size_t common)
{
    names->text[common] = '\0';
    names->count = 1;
}

/* Hands out NAMES sorted and without doubles, or, if BRIEF, what all go on with; with CODE, an error, frees them. */
static int finish(struct names *names, bool brief, int code, struct completions *completions, struct error *err)
{
    *completions = (struct completions){.text = names->text};
    if (!code && names->count) {
        size_t common = common_length(names);
        if (brief && common > names->prefix_length)
            keep_beginning(names, common);
        else
            sort(names, common);
        completions->names = malloc(names->count * sizeof *completions->names);
        code = completions->names ? 0 : -ENOMEM;
    }
    for (size_t i = 0; !code && i < names->count; i++) {
        char *name = names->text + names->items[i].at;
        if (!i || strcmp(completions->names[completions->count - 1], name))
            completions->names[completions->count++] = name;
    }
    free(names->items);
    if (code)
        completions_free(completions);
    return code == -ENOMEM ? error_set(err, code, "out of memory") : code;
}

void completions_free(struct completions *completions)
{
    free(completions->names);
    free(completions->text);
    *completions = (struct completions){0};
}

struct function_names {
    struct names *names;
    const struct binary *code; /* whose functions they are, also where a file of debug information has the names */
};

/* Labels such as _edata have no type and are no functions either: they lie outside of the code. */
static int add_function(const struct function_symbol *function, void *context)
{
    struct function_names *found = context;
    uint64_t offset;
    if (function->data || binary_offset(found->code, function->address, &offset) < 0)
        return 0;
    return add(found->names, function->name, function->name_length);
}

static int add_functions(const struct module *module, struct names *names)
{
    struct binary *binary, *debug;
    if (binary_open(module, &binary, NULL) < 0)
        return 0; /* no ELF file has no functions */
    struct function_names found = {.names = names, .code = binary};
    int code = binary_functions(binary, add_function, &found);
    if (!code && !binary_has_symbols(binary) && binary_open_debug(binary, &debug) == 0) {
        code = binary_functions(debug, add_function, &found);
        binary_close(debug);
    }
    binary_close(binary);
    return code;
}

int complete_functions(const char *binary, const char *prefix, bool brief, const struct target *target,
                       struct completions *completions, struct error *err)
{
    struct names found = {.prefix = prefix, .prefix_length = strlen(prefix)};
    struct modules modules = {0};
    struct spec spec = {.text = (char *)binary, .binary = (char *)binary};
    int code = resolve_binaries(&spec, target, &modules, err);
    for (size_t i = 0; i < modules.count && !code; i++)
        code = add_functions(&modules.items[i], &found);
    modules_free(&modules);
    return finish(&found, brief, code, completions, err);
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

int complete_modules(const char *prefix, const struct target *target, struct completions *completions,
                     struct error *err)
{
    struct names found = {.prefix = prefix, .prefix_length = strlen(prefix)};
    struct modules modules = {0};
    bool everybody = !target || (!target->command && !target->count);
    int code = everybody ? ld_so_cache_each("", add_library, &found) : resolve_all(target, true, &modules, err);
    for (size_t i = 0; i < modules.count && !code; i++)
        code = add_file(&found, path_basename(modules.items[i].name));
    modules_free(&modules);
    return finish(&found, false, code, completions, err);
}
