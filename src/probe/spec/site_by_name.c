/* Finds the sites of functions by their names. */
#include "probe/spec/site_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "base/suggest.h"
#include "probe/spec/deny.h"
#include "probe/spec/ifunc.h"
#include "probe/spec/return_sites.h"
#include "sym/demangle.h"

enum {
    MAX_MATCHES = 1 << 20,    /* the kernel's limit for one uprobe_multi link */
    MAX_INSIDE = 1 << 24,     /* no function is larger; bounds what a boundary check reads */
    LONGEST_INSTRUCTION = 16, /* 15 on x86_64, 4 on aarch64 */
    AROUND = 128,             /* bytes before and behind an instruction that tell whether it may be interrupted */
};

struct match {
    char *name;
    uint64_t address, size;
    bool ifunc, global, old;
};

struct search {
    const struct binary *binary; /* whose segments count, also for the symbols of its debug file */
    const struct spec *spec;
    struct match *matches;
    size_t count, capacity;
    bool demangled; /* the spec's name is not the symbol's but what that stands for */
    bool elsewhere; /* a symbol of that name lies outside of the code */
};

/* Whether the C++ or Rust function of the symbol NAME is meant: with its parameters only where the spec has some. */
static bool demangled_matches(const struct spec *spec, const char *name)
{
    char *text = strchr(spec->function, '(') ? demangle(name) : demangle_bare(name);
    bool matches =
        text && (strcmp(spec->function, text) == 0 || (spec->pattern && fnmatch(spec->function, text, 0) == 0));
    free(text);
    return matches;
}

static bool name_matches(const struct search *search, const struct function *function)
{
    const struct spec *spec = search->spec;
    if (search->demangled || spec->pattern) {
        char name[4096];
        if (function->name_length >= sizeof name)
            return false;
        memcpy(name, function->name, function->name_length);
        name[function->name_length] = '\0';
        if ((search->demangled || fnmatch(spec->function, name, 0) != 0) && !demangled_matches(spec, name))
            return false;
    } else if (strncmp(spec->function, function->name, function->name_length) != 0 ||
               spec->function[function->name_length]) {
        return false;
    }
    /* "malloc@GLIBC" is enough where the version is GLIBC_2.2.5. */
    return !spec->version ||
           (function->version && strncmp(function->version, spec->version, strlen(spec->version)) == 0);
}

static int collect(const struct function *function, void *context)
{
    struct search *search = context;
    if (!name_matches(search, function))
        return 0;
    uint64_t offset;
    if (function->data || binary_offset(search->binary, function->address, &offset) < 0) {
        search->elsewhere = true;
        return 0;
    }
    /* A pattern takes functions only: labels in assembly may stand inside of one, and .cold is a part of one. */
    if ((search->spec->pattern || search->demangled) &&
        (!function->typed || memmem(function->name, function->name_length, ".cold", 5)))
        return 0;
    if (search->count == MAX_MATCHES)
        return -E2BIG;
    if (search->count == search->capacity) {
        size_t capacity = search->capacity ? search->capacity * 2 : 8;
        struct match *matches = realloc(search->matches, capacity * sizeof *matches);
        if (!matches)
            return -ENOMEM;
        search->matches = matches;
        search->capacity = capacity;
    }
    struct match match = {
        .name = strndup(function->name, function->name_length),
        .address = function->address,
        .size = function->size,
        .ifunc = function->ifunc,
        .global = function->global,
        .old = function->old && !search->spec->version,
    };
    if (!match.name)
        return -ENOMEM;
    search->matches[search->count++] = match;
    return 0;
}

/* What is probed first comes first; of one address only the first is kept. */
static int by_address(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->ifunc != y->ifunc)
        return x->ifunc ? -1 : 1;
    if (x->global != y->global)
        return x->global ? -1 : 1;
    return (x->size < y->size) - (x->size > y->size);
}

/* Drops what the name does not mean, and doubles. */
static void choose(struct search *search)
{
    bool current = false, global = false;
    for (size_t i = 0; i < search->count; i++)
        current |= !search->matches[i].old;
    for (size_t i = 0; i < search->count; i++)
        global |= search->matches[i].global && !(current && search->matches[i].old);
    size_t kept = 0;
    if (search->count)
        qsort(search->matches, search->count, sizeof *search->matches, by_address);
    for (size_t i = 0; i < search->count; i++) {
        struct match *match = &search->matches[i];
        bool several = search->spec->pattern || search->demangled;
        bool wanted = (!current || !match->old) && (several || !global || match->global) &&
                      (kept == 0 || search->matches[kept - 1].address != match->address);
        if (wanted)
            search->matches[kept++] = *match;
        else
            free(match->name);
    }
    search->count = kept;
}

static void search_free(struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        free(search->matches[i].name);
    free(search->matches);
}

static int offer(const struct function *function, void *context)
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

static int not_found(const struct search *search, const struct binary *debug, struct error *err)
{
    const struct spec *spec = search->spec;
    const char *file = binary_module(search->binary)->name;
    char names[512];
    if (search->elsewhere)
        return error_set(err, -ENOENT, "%s: %s in %s is not a function: it is data or lies outside of the code",
                         spec->text, spec->function, file);
    struct suggest suggest;
    suggest_init(&suggest, spec->function);
    binary_functions(search->binary, offer, &suggest);
    if (debug)
        binary_functions(debug, offer, &suggest);
    suggest_text(&suggest, names, sizeof names);
    if (!debug && !binary_has_symbols(search->binary))
        return error_set(err, -ENOENT,
                         "%s: no such function in %s%s\nthe file has no symbol table (stripped), so only its exported "
                         "functions can be probed; install its debug symbols",
                         spec->text, file, names);
    return error_set(err, -ENOENT, "%s: no such function in %s%s", spec->text, file, names);
}

/* The names that an IFUNC's implementations have, such as __strlen_avx2. */
struct implementations {
    const char *function;
    char text[512];
    size_t used;
};

static int offer_implementation(const struct function *function, void *context)
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

static int refuse_ifunc(const struct search *search, const struct binary *debug, struct error *err)
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

/* The instruction at ADDRESS; false where there is none. */
static bool decode_at(const struct binary *binary, uint64_t address, struct arch_instruction *instruction)
{
    uint8_t code[LONGEST_INSTRUCTION];
    uint64_t offset;
    return binary_offset(binary, address, &offset) == 0 &&
           arch_code()->decode(code, binary_read(binary, offset, code, sizeof code), instruction);
}

/* Why a probe on INSTRUCTION, the first of a function or one INSIDE, would corrupt the program; NULL: it would not. */
static const char *harm_of(const struct arch_instruction *instruction, bool inside)
{
    if (instruction->mistaken)
        return instruction->mistaken;
    if (instruction->replaced && inside)
        return "Linux 6.18 makes a call of a nop of five bytes, and that overwrites what the function may keep below "
               "its stack pointer";
    return NULL;
}

/* Bytes from ADDRESS to behind what the CPU has to run without an interruption, if ADDRESS is inside of that; 0: it is
 * not. */
static size_t uninterrupted_at(const struct binary *binary, uint64_t address)
{
    uint8_t code[2 * AROUND];
    uint64_t offset;
    size_t before = AROUND;
    while (binary_offset(binary, address - before, &offset) < 0) /* it is near the start of its segment */
        if ((before /= 2) == 0)
            return 0;
    return arch_code()->uninterrupted(code, binary_read(binary, offset, code, before + AROUND), before);
}

/* 0 if the program survives a probe on the instruction at ADDRESS, which is INSIDE bytes from the start of FUNCTION. */
static int check_instruction(const struct binary *binary, const char *text, const char *function, uint64_t address,
                             uint64_t inside, struct error *err)
{
    struct arch_instruction instruction;
    if (!decode_at(binary, address, &instruction)) /* where no code is, the caller or the kernel tells */
        return 0;
    const char *harm = harm_of(&instruction, inside > 0);
    size_t length = instruction.length, left = uninterrupted_at(binary, address);
    if (left) {
        harm = "interrupted there, its exclusive store would never succeed";
        length = left;
    }
    if (!harm)
        return 0;
    return error_set(err, -EPERM,
                     "%s: a probe at +%#llx of %s would corrupt the program: %s; the next one is at +%#llx", text,
                     (unsigned long long)inside, function, harm, (unsigned long long)inside + length);
}

/* 0 if an instruction starts INSIDE bytes from the start of FUNCTION, which has SIZE bytes (0: that is not known). */
static int check_inside(const struct binary *binary, const char *text, const char *function, uint64_t address,
                        uint64_t inside, uint64_t size, struct error *err)
{
    uint64_t start;
    if (!inside)
        return 0;
    if (inside > MAX_INSIDE || (size && inside >= size))
        return error_set(err, -EINVAL, "%s: %s in %s has only %llu bytes", text, function, binary_module(binary)->name,
                         (unsigned long long)size);
    if (binary_offset(binary, address - inside, &start) < 0)
        return error_set(err, -EINVAL, "%s: outside of the code of %s", text, binary_module(binary)->name);
    size_t length = (size_t)inside + LONGEST_INSTRUCTION;
    if (size && length > size)
        length = (size_t)size;
    uint8_t *code = malloc(length);
    if (!code)
        return error_set(err, -ENOMEM, "out of memory");
    length = binary_read(binary, start, code, length);
    bool boundary = inside < length && arch_instruction_boundary(code, length, (size_t)inside);
    free(code);
    if (!boundary)
        return error_set(err, -EINVAL,
                         "%s: no instruction starts at +%#llx of %s; a probe inside of one would corrupt the program",
                         text, (unsigned long long)inside, function);
    return 0;
}

int lookup_add(struct site_list *list, const struct site *site)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        struct site *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return -ENOMEM;
        list->items = items;
        list->capacity = capacity;
    }
    struct site *added = &list->items[list->count++];
    *added = *site;
    added->path = strdup(site->path);
    added->module = strdup(site->module);
    added->function = strdup(site->function);
    return added->path && added->module && added->function ? 0 : -ENOMEM;
}

void lookup_cut(struct site_list *list, size_t count)
{
    while (list->count > count) {
        struct site *site = &list->items[--list->count];
        free(site->path);
        free(site->module);
        free(site->function);
    }
}

int lookup_append(const struct binary *binary, const char *text, const char *function, uint64_t address,
                  uint64_t inside, uint64_t size, struct site_list *list, struct error *err)
{
    const struct module *module = binary_module(binary);
    int result = check_inside(binary, text, function, address, inside, size, err);
    if (result == 0)
        result = check_instruction(binary, text, function, address, inside, err);
    if (result < 0)
        return result;
    uint64_t offset;
    if (binary_offset(binary, address, &offset) < 0)
        return error_set(err, -EINVAL, "%s: outside of the code of %s", text, module->name);
    struct site site = {
        .path = module->path,
        .module = module->name,
        .file = stamp_of(&binary_elf(binary)->stat),
        .function = (char *)function,
        .offset = offset,
        .address = address,
        .inside = inside,
        .size = size,
        .of_go = binary_is_go(binary),
    };
    return lookup_add(list, &site) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int lookup_skip(struct site_list *list, const char *function, const char *why)
{
    /* Room for a power of two, as many as there are. */
    if ((list->skipped_count & (list->skipped_count - 1)) == 0) {
        struct skipped *skipped =
            realloc(list->skipped, (list->skipped_count ? list->skipped_count * 2 : 1) * sizeof *skipped);
        if (!skipped)
            return -ENOMEM;
        list->skipped = skipped;
    }
    char *name = strdup(function);
    if (!name)
        return -ENOMEM;
    list->skipped[list->skipped_count++] = (struct skipped){name, why};
    return 0;
}

/* Why MATCH is not probed where a pattern means it; NULL: it is. */
static const char *unfit(const struct search *search, const struct match *match, const char *denied)
{
    struct arch_instruction instruction;
    uint64_t offset;
    if (match->ifunc)
        return "it chooses an implementation when it is first used (IFUNC)";
    if (denied)
        return denied;
    if (binary_offset(search->binary, match->address, &offset) < 0)
        return NULL;
    if (!decode_at(search->binary, match->address, &instruction))
        return "no instruction begins there";
    const char *harm = harm_of(&instruction, false);
    return harm || !instruction.refused ? harm : "the kernel puts no probe on its first instruction";
}

/*
 * Appends the implementations of the indirect function MATCH that the target's processes use; without a process, or
 * before it has chosen, the one that uplua itself uses of that file, since it runs on the same CPU. *ADDED: there are
 * some.
 */
static int append_chosen(const struct search *search, const struct match *match, struct site_list *list, bool *added,
                         struct error *err)
{
    const struct target *target = list->target;
    size_t processes = target && !target->command ? target->count : 0;
    struct spec place = *search->spec;
    int result = 0;
    *added = false;
    for (size_t i = 0; i <= processes && result == 0 && !(i == processes && *added); i++) {
        pid_t pid = i < processes ? target->pids[i] : getpid();
        uint64_t last = place.address;
        if (ifunc_implementation(search->binary, match->name, match->address, pid, &place.address) < 0 ||
            place.address == last)
            continue;
        size_t before = list->count;
        struct arch_instruction instruction;
        const char *harm = search->spec->pattern && decode_at(search->binary, place.address, &instruction)
                               ? harm_of(&instruction, false)
                               : NULL;
        if (harm)
            result = lookup_skip(list, match->name, harm) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
        else
            result = lookup_address(search->binary, &place, list, err);
        for (size_t s = before; s < list->count && result == 0; s++) {
            char *name = strdup(match->name);
            if (!name)
                return error_set(err, -ENOMEM, "out of memory");
            free(list->items[s].function);
            list->items[s].function = name;
        }
        *added = list->chosen = true;
    }
    return result;
}

/* Appends where the function MATCH, whose entry is the last of LIST, returns. */
static int append_exits(const struct search *search, const struct match *match, struct site_list *list,
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
        result = lookup_skip(list, match->name, why);
    return result < 0 ? error_set(err, result, "out of memory") : 0;
}

static int append(const struct search *search, const struct match *match, const struct binary *debug,
                  struct site_list *list, struct error *err)
{
    const struct spec *spec = search->spec;
    bool chosen = false;
    int result = match->ifunc && !spec->offset ? append_chosen(search, match, list, &chosen, err) : 0;
    if (result < 0 || chosen)
        return result;
    if (match->ifunc && !spec->pattern)
        return refuse_ifunc(search, debug, err);
    const char *denied = probe_denied(match->name, list->at_return && !list->by_instruction);
    const char *why = spec->pattern ? unfit(search, match, denied) : NULL;
    if (why)
        return lookup_skip(list, match->name, why) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
    if (denied)
        return error_set(err, -EPERM, "%s: %s would crash or hang the program: %s%s", spec->text,
                         list->at_return ? "a return probe there" : "a probe there", denied,
                         list->at_return ? "; use uprobe" : "");
    result = lookup_append(search->binary, spec->text, match->name, match->address + spec->offset, spec->offset,
                           match->size, list, err);
    if (!result && !spec->offset && strstr(match->name, ".cold"))
        result = lookup_check_entry(search->binary, spec->text, list, err);
    return !result && list->at_return && return_sites_wanted(search->binary, list)
               ? append_exits(search, match, list, err)
               : result;
}

/* Collects what the spec means, in the binary or in its separate debug file, which is opened then. */
static int collect_all(struct search *search, struct binary **debug)
{
    int result = binary_functions(search->binary, collect, search);
    /* A pattern means local functions too, which only .symtab has. */
    if (result == 0 && (search->count == 0 || (search->spec->pattern && !binary_has_symbols(search->binary))) &&
        (*debug || binary_open_debug(search->binary, debug) == 0))
        result = binary_functions(*debug, collect, search);
    return result;
}

int lookup_sites(const struct binary *binary, const struct spec *spec, struct site_list *list, struct error *err)
{
    struct search search = {.binary = binary, .spec = spec, .demangled = spec->demangled};
    struct binary *debug = NULL;
    if (spec->address)
        return lookup_address(binary, spec, list, err);
    if (spec->line)
        return lookup_line(binary, spec, list, err);
    int result = collect_all(&search, &debug);
    if (result == 0 && search.count == 0 && !search.elsewhere && !spec->version && !spec->pattern) {
        search.demangled = true;
        result = collect_all(&search, &debug);
    }
    if (result < 0) {
        error_set(err, result, "%s: cannot read the symbols of %s: %s", spec->text, binary_module(binary)->name,
                  strerror(-result));
        goto out;
    }
    choose(&search);
    if (search.count == 0)
        result = not_found(&search, debug, err);
    for (size_t i = 0; result == 0 && i < search.count; i++)
        result = append(&search, &search.matches[i], debug, list, err);
out:
    search_free(&search);
    binary_close(debug);
    return result;
}

struct wanted {
    const char *name;
    int64_t *offset; /* where the answer goes */
    unsigned rank;   /* of what was found: the highest counts */
};

struct offsets {
    const struct binary *binary;
    struct wanted *wanted; /* by name */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

static int compare_name(const void *key, const void *element)
{
    const struct function *function = key;
    const char *name = ((const struct wanted *)element)->name;
    int order = strncmp(function->name, name, function->name_length);
    return order ? order : -(name[function->name_length] != '\0');
}

static int find_offset(const struct function *function, void *context)
{
    struct offsets *search = context;
    struct wanted *wanted = bsearch(function, search->wanted, search->count, sizeof *wanted, compare_name);
    unsigned rank = function->old ? 1 : function->global ? 3 : 2;
    uint64_t offset;
    if (wanted && rank > wanted->rank && !function->data &&
        binary_offset(search->binary, function->address, &offset) == 0) {
        *wanted->offset = (int64_t)offset;
        wanted->rank = rank;
    }
    return 0;
}

int lookup_offsets(const struct binary *binary, const char *const *names, size_t count, int64_t *offsets)
{
    struct offsets search = {.binary = binary, .wanted = calloc(count + 1, sizeof *search.wanted), .count = count};
    if (!search.wanted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = -1;
        search.wanted[i] = (struct wanted){.name = names[i], .offset = &offsets[i]};
    }
    qsort(search.wanted, count, sizeof *search.wanted, by_name);
    int result = binary_functions(binary, find_offset, &search);
    free(search.wanted);
    return result;
}
