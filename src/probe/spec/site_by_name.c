/* Finds the sites of functions by their names. */
#include "probe/spec/site_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/suggest.h"
#include "elf/section.h"
#include "probe/spec/deny.h"
#include "probe/spec/ifunc.h"
#include "probe/spec/return_sites.h"
#include "probe/spec/site_check.h"
#include "probe/spec/structor.h"
#include "sym/clone.h"
#include "sym/demangle.h"

enum { MAX_MATCHES = 1 << 20 }; /* the kernel's limit for one uprobe_multi link */

struct match {
    char *name;
    char *label; /* what tells it from others of that name: "memcpy@GLIBC_2.2.5" of a version that is not the default */
    char *version; /* NULL: none is known */
    uint64_t address, size;
    unsigned file; /* as struct function_symbol has it */
    bool ifunc, global, old;
    bool clone;     /* it is meant as what the function of the spec's name was made into (sym/clone.h), … */
    bool is_static; /* … of one that has that name in its own file only */
};

struct function_search {
    const struct binary *binary; /* whose segments count, also for the symbols of its debug file */
    const struct spec *spec;
    struct match *matches;
    size_t count, capacity;
    bool demangled; /* the spec's name is not the symbol's but what that stands for */
    bool elsewhere; /* a symbol of that name lies outside of the code */
};

/* Whether SPEC means what is called TEXT, which is freed; NULL is nothing. */
static bool text_matches(const struct spec *spec, char *text)
{
    bool matches =
        text && (strcmp(spec->function, text) == 0 || (spec->pattern && fnmatch(spec->function, text, 0) == 0));
    free(text);
    return matches;
}

/*
 * Whether the C++ or Rust function of the symbol NAME is meant: with its parameters only where the spec has some. Not
 * each bracket is theirs: V::operator(), (anonymous namespace)::f.
 */
static bool demangled_matches(const struct spec *spec, const char *name)
{
    return (strchr(spec->function, '(') && text_matches(spec, demangle(name))) ||
           text_matches(spec, demangle_bare(name));
}

/* Whether the spec means what the symbol NAME is called by. */
static bool is_named(const struct function_search *search, const char *name)
{
    const struct spec *spec = search->spec;
    /* Go's (*T).f looks like one of C++'s. */
    bool plain = !search->demangled || strpbrk(spec->function, "*?[");
    if (plain && (strcmp(spec->function, name) == 0 || (spec->pattern && fnmatch(spec->function, name, 0) == 0)))
        return true;
    return (search->demangled || spec->pattern) && demangled_matches(spec, name);
}

/* Whether a spec means a symbol. */
enum meant { NOT_MEANT, MEANT, MEANT_AS_CLONE };

/* Whether the spec means FUNCTION, by its own name or by that of the function that it is a clone of. */
static enum meant is_meant(const struct function_search *search, const struct function_symbol *function,
                           enum clone kind, size_t base)
{
    const struct spec *spec = search->spec;
    char name[4096];
    bool may_differ = search->demangled || spec->pattern;
    /* Most names are others, which is soon seen. */
    if (function->name_length >= sizeof name || (!may_differ && strncmp(spec->function, function->name, base) != 0))
        return NOT_MEANT;
    memcpy(name, function->name, function->name_length);
    name[function->name_length] = '\0';
    bool is_clone = kind == CLONE_WHOLE || kind == CLONE_PRIVATE;
    if (spec->alone && is_clone && search->demangled)
        return NOT_MEANT;
    if (is_named(search, name))
        return MEANT;
    name[base] = '\0';
    return is_clone && !spec->alone && is_named(search, name) ? MEANT_AS_CLONE : NOT_MEANT;
}

/* "malloc@GLIBC" is enough where the version is GLIBC_2.2.5. */
static bool version_matches(const struct spec *spec, const struct function_symbol *function)
{
    return !spec->version ||
           (function->version && strncmp(function->version, spec->version, strlen(spec->version)) == 0);
}

/* Fills MATCH from FUNCTION; false without memory. */
static bool describe(const struct function_symbol *function, struct match *match)
{
    match->name = strndup(function->name, function->name_length);
    match->version = function->version ? strdup(function->version) : NULL;
    if (!match->name || (function->version && !match->version))
        return false;
    if (!function->old || !match->version)
        match->label = strdup(match->name);
    else if (asprintf(&match->label, "%s@%s", match->name, match->version) < 0)
        match->label = NULL;
    return match->label != NULL;
}

static void match_free(struct match *match)
{
    free(match->name);
    free(match->label);
    free(match->version);
}

static int collect(const struct function_symbol *function, void *context)
{
    struct function_search *search = context;
    size_t base;
    enum clone kind = clone_of(function->name, function->name_length, &base);
    enum meant meant = is_meant(search, function, kind, base);
    if (!meant || !version_matches(search->spec, function))
        return 0;
    uint64_t offset;
    if (function->data || binary_offset(search->binary, function->address, &offset) < 0) {
        search->elsewhere = true;
        return 0;
    }
    /* A pattern takes functions only: labels in assembly may stand inside of one, and .cold is a part of one. */
    if ((search->spec->pattern || search->demangled) && (!function->typed || kind == CLONE_PART))
        return 0;
    if (search->count == MAX_MATCHES)
        return -E2BIG;
    if (!array_room(&search->matches, search->count, &search->capacity, sizeof *search->matches))
        return -ENOMEM;
    struct match match = {
        .address = function->address,
        .size = function->size,
        .file = function->file,
        .ifunc = function->ifunc,
        .global = function->global,
        .old = function->old,
        .clone = meant == MEANT_AS_CLONE,
        .is_static = kind == CLONE_PRIVATE,
    };
    bool described = describe(function, &match);
    search->matches[search->count++] = match;
    return described ? 0 : -ENOMEM;
}

/* What is probed first comes first; of one address only the first is kept. */
static int by_address(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->ifunc != y->ifunc)
        return x->ifunc ? -1 : 1;
    if (x->clone != y->clone)
        return x->clone ? 1 : -1;
    if (x->old != y->old)
        return x->old ? 1 : -1;
    if (x->global != y->global)
        return x->global ? -1 : 1;
    return (x->size < y->size) - (x->size > y->size);
}

/*
 * Whether MATCH, a clone, is one of a function that other files cannot name, and that is not the global one of the same
 * name: the symbols of a file stand together.
 */
static bool is_clone_of_local(const struct function_search *search, const struct match *match)
{
    if (match->is_static)
        return true;
    for (size_t i = 0; i < search->count && match->file; i++) {
        const struct match *other = &search->matches[i];
        if (!other->clone && !other->global && other->file == match->file)
            return true;
    }
    return false;
}

/* What all matches of a search say. */
struct census {
    bool global;   /* one of them is */
    bool current;  /* one is the version that programs are linked against */
    bool complete; /* one has the very version that the spec names, not one that begins so */
};

static bool has_version(const struct match *match, const char *version)
{
    return match->version && strcmp(match->version, version) == 0;
}

static bool is_wanted(const struct function_search *search, const struct match *match, const struct census *census)
{
    const struct spec *spec = search->spec;
    if (census->complete && !has_version(match, spec->version))
        return false;
    if (spec->alone && !spec->version && census->current && match->old)
        return false;
    if (spec->pattern || search->demangled || !census->global || match->global)
        return true;
    return match->clone && !is_clone_of_local(search, match);
}

/* Of the matches that are WANTED, leaves out those that do their work by another one. 0 or -ENOMEM. */
static int leave_out_callers(const struct function_search *search, bool *wanted)
{
    if (search->count < 2)
        return 0;
    struct structor *functions = calloc(search->count, sizeof *functions);
    if (!functions)
        return -ENOMEM;
    for (size_t i = 0; i < search->count; i++)
        functions[i] = (struct structor){search->matches[i].name, search->matches[i].address, search->matches[i].size};
    int result = structor_leave_out_callers(search->binary, functions, search->count, wanted);
    free(functions);
    return result;
}

/* Drops what the name does not mean, and doubles. 0 or -ENOMEM. */
static int choose(struct function_search *search)
{
    struct census census = {0};
    for (size_t i = 0; i < search->count; i++) {
        const struct match *match = &search->matches[i];
        census.global |= match->global && !match->clone;
        census.current |= !match->old;
        census.complete |= search->spec->version && has_version(match, search->spec->version);
    }
    size_t kept = 0;
    if (!search->count)
        return 0;
    bool *wanted = calloc(search->count, sizeof *wanted);
    if (!wanted)
        return -ENOMEM;
    qsort(search->matches, search->count, sizeof *search->matches, by_address);
    for (size_t i = 0; i < search->count; i++)
        wanted[i] = is_wanted(search, &search->matches[i], &census);
    /* At an offset each is a place of its own. */
    int result = search->spec->alone ? 0 : leave_out_callers(search, wanted);
    for (size_t i = 0; i < search->count; i++) {
        struct match *match = &search->matches[i];
        if (wanted[i] && (kept == 0 || search->matches[kept - 1].address != match->address))
            search->matches[kept++] = *match;
        else
            match_free(match);
    }
    search->count = kept;
    free(wanted);
    return result;
}

static void search_free(struct function_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        match_free(&search->matches[i]);
    free(search->matches);
}

static int offer(const struct function_symbol *function, void *context)
{
    if (!function->typed)
        return 0;
    char *name = strndup(function->name, function->name_length), *bare = name ? demangle_bare(name) : NULL;
    if (bare)
        suggest_offer(context, bare, strlen(bare));
    else
        suggest_offer(context, function->name, function->name_length);
    free(bare);
    free(name);
    return 0;
}

/* The file has no names of its own functions: what it may have instead. */
static int stripped(const struct function_search *search, const char *names, struct error *err)
{
    const struct spec *spec = search->spec;
    const char *file = binary_module(search->binary)->name;
    bool usdt = section_find(binary_elf(search->binary), SHT_NOTE, ".note.stapsdt") != NULL;
    return error_set(err, -ENOENT,
                     "%s: no such function in %s%s\nthe file has no symbol table (stripped), so only its exported "
                     "functions can be probed; install its debug symbols%s%s%s",
                     spec->text, file, names, usdt ? ", or use its USDT probes: uplua --list 'usdt:" : "",
                     usdt ? file : "", usdt ? "'" : "");
}

/* The versions of a function that a file has, for the message. */
struct versions {
    const struct function_search *search;
    char text[512];
    size_t used;
};

static int offer_version(const struct function_symbol *function, void *context)
{
    struct versions *versions = context;
    const char *name = versions->search->spec->function;
    if (!function->version || strlen(name) != function->name_length ||
        memcmp(name, function->name, function->name_length) != 0)
        return 0;
    char one[256];
    int length = snprintf(one, sizeof one, "%s%s%s", name, function->old ? "@" : "@@", function->version);
    /* .symtab and .dynsym have the same ones. */
    for (const char *at = versions->text; (at = strstr(at, one)); at++)
        if (!at[length] || at[length] == ',')
            return 0;
    int added = snprintf(versions->text + versions->used, sizeof versions->text - versions->used, "%s%s",
                         versions->used ? ", " : "", one);
    if (added < 0 || versions->used + (size_t)added >= sizeof versions->text) {
        versions->text[versions->used] = '\0';
        return 1;
    }
    versions->used += (size_t)added;
    return 0;
}

static int not_found(const struct function_search *search, const struct binary *debug, struct error *err)
{
    const struct spec *spec = search->spec;
    const char *file = binary_module(search->binary)->name;
    struct versions versions = {.search = search};
    if (spec->version && !spec->pattern)
        binary_functions(search->binary, offer_version, &versions);
    if (versions.used)
        return error_set(err, -ENOENT, "%s: no such function in %s, which has %s", spec->text, file, versions.text);
    if (search->elsewhere && !spec->pattern)
        return error_set(err, -ENOENT, "%s: %s in %s is not a function: it is data or lies outside of the code",
                         spec->text, spec->function, file);
    struct suggest suggest;
    suggest_init(&suggest, spec->function);
    binary_functions(search->binary, offer, &suggest);
    if (debug)
        binary_functions(debug, offer, &suggest);
    const char *names = suggest_text(&suggest);
    if (!debug && !binary_has_symbols(search->binary))
        return stripped(search, names, err);
    return error_set(err, -ENOENT, "%s: no such function in %s%s", spec->text, file, names);
}

/* The names that an IFUNC's implementations have, such as __strlen_avx2. */
struct implementations {
    const char *function;
    char text[512];
    size_t used;
};

static int offer_implementation(const struct function_symbol *function, void *context)
{
    struct implementations *found = context;
    size_t length = strlen(found->function);
    const char *name = function->name, *end = name + function->name_length;
    if (!function->typed || function->ifunc)
        return 0;
    while (name < end && *name == '_')
        name++;
    if ((size_t)(end - name) < length + 2 || memcmp(name, found->function, length) != 0 || name[length] != '_')
        return 0;
    int n = snprintf(found->text + found->used, sizeof found->text - found->used, "%s%.*s", found->used ? ", " : "",
                     (int)function->name_length, function->name);
    if (n < 0 || found->used + (size_t)n >= sizeof found->text) {
        found->text[found->used] = '\0';
        return 1;
    }
    found->used += (size_t)n;
    return 0;
}

static int refuse_ifunc(const struct function_search *search, const struct binary *debug, struct error *err)
{
    const struct spec *spec = search->spec;
    struct binary *opened = NULL;
    struct implementations found = {.function = spec->function};
    if (!debug && binary_open_debug(search->binary, &opened) == 0)
        debug = opened;
    binary_functions(search->binary, offer_implementation, &found);
    if (debug && !found.used)
        binary_functions(debug, offer_implementation, &found);
    binary_close(opened);
    const char *file = binary_module(search->binary)->name;
    if (found.used)
        return error_set(
            err, -EINVAL,
            "%s: %s chooses one of several implementations when it is first used (an IFUNC), so that a "
            "probe on it would count nothing\nattach to a process that runs, or probe the implementations: %s",
            spec->text, spec->function, found.text);
    return error_set(
        err, -EINVAL,
        "%s: %s chooses one of several implementations when it is first used (an IFUNC), so that a probe "
        "on it would count nothing\nattach to a process that runs, or install the debug symbols of %s to probe the "
        "implementations by name",
        spec->text, spec->function, file);
}

/* Why MATCH is not probed where a pattern means it; NULL: it is. */
static const char *unfit(const struct function_search *search, const struct match *match, const char *denied)
{
    struct arch_instruction instruction;
    uint64_t offset;
    if (match->ifunc)
        return "it chooses an implementation when it is first used (IFUNC)";
    if (denied)
        return denied;
    if (binary_offset(search->binary, match->address, &offset) < 0)
        return NULL;
    if (site_is_writable(search->binary, match->address))
        return SITE_WRITABLE;
    if (!site_decode(search->binary, match->address, &instruction))
        return "no instruction begins there";
    const char *harm = site_harm(&instruction, false);
    return harm || !instruction.refused || site_may_pass(&instruction) ? harm : SITE_REFUSED;
}

/*
 * Appends the implementations of the indirect function MATCH that the target's processes use; without a process, or
 * before it has chosen, the one that uplua itself uses of that file, since it runs on the same CPU. *ADDED: there are
 * some.
 */
static int append_chosen(const struct function_search *search, const struct match *match, struct site_list *list,
                         bool *added, struct error *err)
{
    const struct target *target = list->target;
    size_t processes = target && !target->command ? target->count : 0;
    struct spec place = *search->spec;
    int result = 0;
    *added = false;
    for (size_t i = 0; i <= processes && result == 0 && !(i == processes && *added); i++) {
        pid_t pid = i < processes ? target->pids[i] : getpid();
        uint64_t last = place.address;
        const struct ifunc_name name = {match->name, match->version};
        int found = ifunc_implementation(search->binary, &name, match->address, pid, &place.address);
        if (found == -ENOMEM)
            return error_set(err, found, "out of memory");
        if (found < 0 || place.address == last)
            continue;
        size_t before = list->count;
        struct arch_instruction instruction;
        bool decoded = search->spec->pattern && site_decode(search->binary, place.address, &instruction);
        const char *harm = decoded ? site_harm(&instruction, false) : NULL;
        if (decoded && !harm && instruction.refused && !site_may_pass(&instruction))
            harm = SITE_REFUSED;
        if (harm)
            result = site_list_skip(list, match->label, harm) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
        else
            result = site_by_address(search->binary, &place, list, err);
        for (size_t s = before; s < list->count && result == 0; s++) {
            char *label = strdup(match->label);
            if (!label)
                return error_set(err, -ENOMEM, "out of memory");
            free(list->items[s].function);
            list->items[s].function = label;
            list->items[s].of_pattern = search->spec->pattern;
        }
        *added = list->chosen = true;
    }
    return result;
}

/* Appends where the function MATCH, whose entry is the last of LIST, returns. */
static int append_exits(const struct function_search *search, const struct match *match, struct site_list *list,
                        struct error *err)
{
    const struct spec *spec = search->spec;
    const char *why = NULL;
    if (spec->offset)
        return error_set(err, -EINVAL, "%s: a return probe has no offset", spec->text);
    int result = return_sites_append(search->binary, list, &why);
    if (result == 0 && why && !spec->pattern)
        return error_set(err, -EINVAL, "%s: %s", spec->text, why);
    if (result == 0 && why)
        result = site_list_skip(list, match->label, why);
    return result < 0 ? error_set(err, result, "out of memory") : 0;
}

static int append(const struct function_search *search, const struct match *match, const struct binary *debug,
                  struct site_list *list, struct error *err)
{
    const struct spec *spec = search->spec;
    bool chosen = false;
    int result = match->ifunc && !spec->offset ? append_chosen(search, match, list, &chosen, err) : 0;
    if (result < 0 || chosen)
        return result;
    bool is_one_of_several = spec->pattern || (match->old && !spec->version && search->count > 1);
    if (match->ifunc && !is_one_of_several)
        return refuse_ifunc(search, debug, err);
    const char *denied = probe_denied(match->name, list->at_return && !list->by_instruction);
    const char *why = is_one_of_several ? unfit(search, match, denied) : NULL;
    if (why)
        return site_list_skip(list, match->label, why) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
    if (denied)
        return error_set(err, -EPERM, "%s: %s would crash or hang the program: %s%s", spec->text,
                         list->at_return ? "a return probe there" : "a probe there", denied,
                         list->at_return ? "; use uprobe" : "");
    result = site_list_append(search->binary, spec->text, match->label, match->address + spec->offset, spec->offset,
                              match->size, list, err);
    if (!result)
        list->items[list->count - 1].of_pattern = is_one_of_several;
    if (!result && !spec->offset && strstr(match->name, ".cold"))
        result = site_check_entry(search->binary, spec->text, &list->items[list->count - 1], list->at_return, err);
    return !result && list->at_return && return_sites_wanted(search->binary, list)
               ? append_exits(search, match, list, err)
               : result;
}

/* Collects what the spec means, in the binary or in its separate debug file, which is opened then. */
static int collect_all(struct function_search *search, struct binary **debug)
{
    int result = binary_functions(search->binary, collect, search);
    /* A pattern means local functions too, which only .symtab has; so are most clones. */
    if (result == 0 && (search->count == 0 || (!search->spec->alone && !binary_has_symbols(search->binary))) &&
        (*debug || binary_open_debug(search->binary, debug) == 0))
        result = binary_functions(*debug, collect, search);
    return result;
}

/* Whether a function may be called NAME, as people read it, though that has * ? [ in it. */
static bool may_be_name(const char *name)
{
    return strpbrk(name, "(<[") || strstr(name, "operator");
}

/*
 * Collects what SPEC means. What has * ? [ in it is first taken for a function that is called so, as put(char*),
 * V::operator*(), ff<int*> and Go's (*T).f are: in EXACT, a copy that is no pattern.
 */
static int find(struct function_search *search, const struct spec *spec, struct spec *exact, struct binary **debug)
{
    *exact = *spec;
    exact->pattern = false;
    search->spec = exact;
    search->demangled = spec->demangled;
    bool is_name = !spec->pattern || may_be_name(spec->function);
    int result = is_name ? collect_all(search, debug) : 0;
    if (is_name && result == 0 && search->count == 0 && !search->elsewhere && !search->demangled && !spec->version) {
        search->demangled = true;
        result = collect_all(search, debug);
    }
    if (result < 0 || !spec->pattern || search->count > 0)
        return result;
    search->spec = spec;
    search->demangled = spec->demangled;
    search->elsewhere = false;
    return collect_all(search, debug);
}

int site_by_name(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err)
{
    struct spec exact;
    struct function_search search = {.binary = binary};
    struct binary *debug = NULL;
    int result = find(&search, spec, &exact, &debug);
    if (result >= 0 && spec->pattern && spec->alone && search.spec == spec) {
        result = error_set(err, -EINVAL, "%s: an offset needs one function, not a pattern", spec->text);
        goto out;
    }
    if (result < 0) {
        error_set(err, result, "%s: cannot read the symbols of %s: %s", spec->text, binary_module(binary)->name,
                  error_reason(result));
        goto out;
    }
    result = choose(&search);
    if (result < 0)
        error_set(err, result, "out of memory");
    else if (search.count == 0)
        result = not_found(&search, debug, err);
    for (size_t i = 0; result == 0 && i < search.count; i++)
        result = append(&search, &search.matches[i], debug, list, err);
out:
    search_free(&search);
    binary_close(debug);
    return result;
}
