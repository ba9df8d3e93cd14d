/* Finds where a variable is, in its file and in a running process. */
#include "probe/args/variable.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "probe/args/variable_path.h"
#include "probe/module/binary.h"
#include "probe/module/debug.h"
#include "probe/module/module.h"
#include "probe/spec/resolve.h"
#include "sym/debugtypes.h"
#include "sym/debugvariable.h"

struct symbol_search {
    const struct spec *spec;
    bool global_only;
    uint64_t address, size;
    unsigned rank; /* of what was found: 0 is nothing */
    bool several;
};

/* A global symbol counts more than a local one, what new programs are linked against more than an old version. */
static unsigned rank_of(const struct function_symbol *variable, const struct spec *spec)
{
    return 1 + (!variable->old || spec->version) + 2 * variable->global;
}

static int collect(const struct function_symbol *variable, void *context)
{
    struct symbol_search *search = context;
    const struct spec *spec = search->spec;
    if (!variable->data || (search->global_only && !variable->global) ||
        strncmp(spec->function, variable->name, variable->name_length) || spec->function[variable->name_length] ||
        (spec->version && (!variable->version || strncmp(variable->version, spec->version, strlen(spec->version)))))
        return 0;
    unsigned rank = rank_of(variable, spec);
    if (rank < search->rank)
        return 0;
    search->several = rank == search->rank && (search->several || variable->address != search->address);
    search->rank = rank;
    search->address = variable->address;
    search->size = variable->size;
    return 0;
}

/* Opens the file of MODULE, which the caller closes, and looks for the variable there and, where that lacks it, in its
 * debug file. */
static int search_module(struct symbol_search *search, const struct module *module, struct binary **binary,
                         struct error *err)
{
    struct binary *debug;
    int rc = binary_open(module, binary, err);
    if (rc)
        return rc;
    binary_functions(*binary, collect, search);
    if (!search->rank && binary_open_debug(*binary, &debug) == 0) {
        binary_functions(debug, collect, search);
        binary_close(debug);
    }
    return 0;
}

/* True if the program's own variable of that name was found, which takes the place of a library's. */
static bool search_program(struct symbol_search *search, const struct module *program, const struct maps *maps,
                           uint64_t *bias)
{
    struct binary *binary;
    struct symbol_search own = {.spec = search->spec, .global_only = true};
    if (binary_open(program, &binary, NULL))
        return false;
    binary_functions(binary, collect, &own);
    bool found = own.rank && !own.several && binary_bias(binary, maps, bias);
    if (found)
        *search = own;
    binary_close(binary);
    return found;
}

static int find(const struct spec *spec, const struct module *module, const struct module *program,
                const struct maps *maps, uint64_t *address, struct error *err)
{
    struct binary *binary;
    struct symbol_search search = {.spec = spec};
    uint64_t bias;
    int rc = search_module(&search, module, &binary, err);
    if (rc)
        return rc;
    if (!search.rank)
        rc = -ENOENT;
    else if (search.several)
        rc = error_set(err, -ENOTUNIQ, "%s: there are several of that name, at different addresses", spec->text);
    else if (spec->offset && spec->offset >= search.size)
        rc = error_set(err, -EINVAL, "%s: %s in %s has only %llu bytes", spec->text, spec->function, module->name,
                       (unsigned long long)search.size);
    else if (!(program && module->inode != program->inode && search_program(&search, program, maps, &bias)) &&
             !binary_bias(binary, maps, &bias))
        rc = error_set(err, -ESRCH, "%s: the process has not mapped %s", spec->text, module->name);
    if (!rc)
        *address = bias + search.address + spec->offset;
    binary_close(binary);
    return rc;
}

int variable_address(const char *text, const struct target *target, const struct maps *maps, uint64_t *address,
                     struct error *err)
{
    struct modules found = {0}, all = {0};
    struct spec spec;
    int rc = spec_parse(text, &spec, err);
    if (rc)
        return rc;
    if (spec.pattern || spec.address)
        rc = -ENOENT;
    if (!rc)
        rc = resolve_binaries(&spec, target, &found, err);
    if (!rc && found.count == 1) {
        modules_of_process(target->pids[0], &all, NULL);
        rc = find(&spec, &found.items[0], all.count ? &all.items[0] : NULL, maps, address, err);
    }
    modules_free(&all);
    modules_free(&found);
    spec_free(&spec);
    return rc;
}

static int offer(const struct function_symbol *symbol, void *context)
{
    if (symbol->data)
        suggest_offer(context, symbol->name, symbol->name_length);
    return 0;
}

static int find_function(const struct function_symbol *symbol, void *context)
{
    const char *name = context;
    return !symbol->data && strlen(name) == symbol->name_length && !memcmp(name, symbol->name, symbol->name_length);
}

static int not_found(const struct binary *binary, const struct spec *spec, struct error *err)
{
    const char *file = binary_module(binary)->name;
    struct binary *debug = NULL;
    struct suggest suggest;
    if (binary_functions(binary, find_function, spec->function) > 0)
        return error_set(err, -ENOENT, "%s: %s in %s is a function, not a variable; watch it with \"x\"", spec->text,
                         spec->function, file);
    suggest_init(&suggest, spec->function);
    binary_functions(binary, offer, &suggest);
    if (binary_open_debug(binary, &debug) == 0)
        binary_functions(debug, offer, &suggest);
    bool stripped = !debug && !binary_has_symbols(binary);
    binary_close(debug);
    return error_set(err, -ENOENT, "%s: no such variable in %s%s%s", spec->text, file, suggest_text(&suggest),
                     stripped ? "\nthe file has no symbol table (stripped): install its debug symbols" : "");
}

/* Finds the part PATH of the variable of SPEC, at ADDRESS in BINARY. */
static int find_part(const struct binary *binary, const struct spec *spec, uint64_t address, const char *path,
                     struct variable *variable, struct error *err)
{
    struct debuginfo *debuginfo;
    struct variable_field field;
    uint32_t type;
    int rc = debug_keep(binary, spec->text, "by which the fields of its variables have names", &debuginfo, err);
    if (!rc && debugvariable_find(debuginfo, spec->function, address, &type))
        rc = error_set(err, -ENOENT, "%s: the debug information of %s does not describe this variable", spec->text,
                       binary_module(binary)->name);
    if (!rc)
        rc = variable_path_find(type, spec->text, path, &field, err);
    if (rc)
        return rc;
    variable->bytes = field.bytes;
    size_t used = (size_t)snprintf(variable->spec, sizeof variable->spec, "%s+%#llx", spec->text,
                                   (unsigned long long)field.offset);
    return used < sizeof variable->spec ? 0 : error_set(err, -ENAMETOOLONG, "%s: too long a name", spec->text);
}

/* Finds the variable of SPEC in the file of MODULE, and in it the part PATH, unless that is "". */
static int find_in(const struct module *module, const struct spec *spec, const char *path, struct variable *variable,
                   struct error *err)
{
    struct binary *binary;
    struct symbol_search search = {.spec = spec};
    int rc = search_module(&search, module, &binary, err);
    if (rc)
        return rc;
    snprintf(variable->module, sizeof variable->module, "%s", module->name);
    variable->bytes = search.size ? search.size - spec->offset : 0;
    if (!search.rank)
        rc = not_found(binary, spec, err);
    else if (*path)
        rc = find_part(binary, spec, search.address, path, variable, err);
    else if (search.size && spec->offset >= search.size)
        rc = error_set(err, -EINVAL, "%s: %s has only %llu bytes", spec->text, spec->function,
                       (unsigned long long)search.size);
    binary_close(binary);
    return rc;
}

/* As variable_find, of a variable with the part PATH, or without one: "". */
static int find_with(const char *text, const char *path, const struct target *target, struct variable *variable,
                     struct error *err)
{
    struct modules found = {0};
    struct spec spec;
    int rc = spec_parse(text, &spec, err);
    if (rc)
        return rc;
    if (spec.pattern || spec.address)
        rc = error_set(err, -EINVAL, "%s: one variable is expected, such as ./app:counter, or an address, a number",
                       text);
    if (!rc)
        rc = resolve_binaries(&spec, target, &found, err);
    if (!rc)
        rc = find_in(&found.items[0], &spec, path, variable, err);
    modules_free(&found);
    spec_free(&spec);
    return rc;
}

int variable_find(const char *text, const struct target *target, struct variable *variable, struct error *err)
{
    const char *colon = strrchr(text, ':'), *at = colon ? colon + 1 : text;
    bool is_first = true;
    struct error first;
    snprintf(variable->spec, sizeof variable->spec, "%s", text);
    int rc = find_with(text, "", target, variable, err);
    if (!rc && strlen(text) >= sizeof variable->spec)
        return error_set(err, -ENAMETOOLONG, "%s: too long a name", text);
    first = *err;
    /* Names of variables have points in them, too: of those of functions, counter.0. */
    for (at += strcspn(at, ".["); rc && *at && at > colon + 1; at += 1 + strcspn(at + 1, ".[")) {
        char *name = strndup(text, (size_t)(at - text));
        int code = name ? find_with(name, "", target, variable, err) : error_set(err, -ENOMEM, "out of memory");
        if (!code)
            rc = find_with(name, at, target, variable, err);
        free(name);
        if (!code || code == -ENOMEM)
            return rc;
        if (is_first)
            first = *err;
        is_first = false;
    }
    *err = first;
    return rc;
}

struct listing {
    const struct spec *spec;
    const char *module;
    struct debuginfo *debuginfo; /* NULL: types are not asked for, or not known */
    variable_visit *visit;
    void *context;
};

/* What linkers and start files add to a program, and no source has: marks of places, and three objects. */
static bool is_linkers(const struct function_symbol *symbol, const char *name)
{
    static const char *const objects[] = {"_IO_stdin_used", "__abi_tag", "completed.0", "__dso_handle"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!strcmp(name, objects[i]))
            return true;
    return !symbol->size && (name[0] == '_' || !strcmp(name, "data_start"));
}

static int list_matching(const struct function_symbol *symbol, void *context)
{
    const struct listing *listing = context;
    char name[256]; /* longer ones fit into no spec of variable_find */
    char text[DEBUGTYPE_NAME];
    uint32_t type;
    if (!symbol->data || symbol->name_length >= sizeof name)
        return 0;
    memcpy(name, symbol->name, symbol->name_length);
    name[symbol->name_length] = 0;
    if (fnmatch(listing->spec->function, name, 0) || is_linkers(symbol, name))
        return 0;
    bool typed = listing->debuginfo && !debugvariable_find(listing->debuginfo, name, symbol->address, &type);
    listing->visit(listing->module, name, symbol->size, typed ? debugtype_name(type, text) : NULL, listing->context);
    return 0;
}

int variables_list(const char *text, const struct target *target, bool types, variable_visit *visit, void *context,
                   struct error *err)
{
    struct modules found = {0};
    struct binary *binary = NULL, *debug = NULL;
    struct spec spec;
    int rc = spec_parse(text, &spec, err);
    if (rc)
        return rc;
    rc = resolve_binaries(&spec, target, &found, err);
    if (!rc)
        rc = binary_open(&found.items[0], &binary, err);
    if (!rc) {
        struct listing listing = {&spec, found.items[0].name, NULL, visit, context};
        if (types && debug_keep(binary, spec.text, "for types", &listing.debuginfo, NULL))
            listing.debuginfo = NULL;
        binary_functions(binary, list_matching, &listing);
        if (!binary_has_symbols(binary) && binary_open_debug(binary, &debug) == 0)
            binary_functions(debug, list_matching, &listing);
    }
    binary_close(debug);
    binary_close(binary);
    modules_free(&found);
    spec_free(&spec);
    return rc;
}
