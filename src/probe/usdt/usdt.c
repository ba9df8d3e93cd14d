/* USDT probes: from specs to places in binaries and to their arguments. */
#include "probe/usdt/usdt.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "base/array.h"
#include "base/suggest.h"
#include "probe/module/binary.h"
#include "probe/module/debug.h"
#include "probe/spec/resolve.h"
#include "probe/usdt/usdt_notes.h"
#include "sym/debugunit.h"

enum {
    MAX_PROBES = 4096,  /* programs that one spec may become */
    MAX_ARGUMENTS = 32, /* sys/sdt.h has macros for 12 */
    MAX_SYMBOLS = 256,  /* that are looked up in one file */
    LONGEST_NOP = 16,
};

/* BINARY:PROVIDER:NAME */
struct usdt_spec {
    char *text, *binary; /* binary NULL: any */
    char *provider, *name;
    bool either; /* PROVIDER may also be a binary's name */
};

struct usdt_found {
    struct usdt_probe *items;
    size_t count, sites;
    size_t notes;       /* in all files searched */
    bool provider_seen; /* that was wanted */
    struct suggest suggest;
};

/* One file while it is searched. */
struct usdt_search {
    const struct usdt_spec *wanted;
    const struct binary *binary;
    struct binary *debug; /* for symbols; opened when needed */
    bool debug_tried;
    struct debuginfo *debuginfo; /* for symbols that several source files have; the same */
    bool debuginfo_tried;
    unsigned symbols; /* looked up so far */
    struct usdt_found *found;
};

/* --- what users write --- */

static void wanted_free(struct usdt_spec *wanted)
{
    free(wanted->text);
    free(wanted->binary);
    free(wanted->provider);
    free(wanted->name);
}

/* PostgreSQL's manual and others write query-start for what the file calls query__start, as DTrace does. */
static char *name_of(const char *text)
{
    char *name = malloc(2 * strlen(text) + 1), *to = name;
    bool set = strchr(text, '[') != NULL; /* of characters, from one to another */
    for (; name && *text; text++) {
        *to++ = *text == '-' && !set ? '_' : *text;
        if (*text == '-' && !set)
            *to++ = '_';
    }
    if (name)
        *to = '\0';
    return name;
}

static bool is_file(const char *path, const char *end)
{
    char *copy = strndup(path, (size_t)(end - path));
    bool exists = copy && access(copy, F_OK) == 0;
    free(copy);
    return exists;
}

/* Where the parts of TEXT begin, from the right, since paths may have colons. */
static bool split(const char *text, const char **provider, const char **name)
{
    const char *last = strrchr(text, ':'), *middle = last ? memrchr(text, ':', (size_t)(last - text)) : NULL;
    if (!last || last == text || !last[1] || middle == text)
        return false;
    *name = last + 1;
    bool path = memchr(text, '/', (size_t)(last - text)) != NULL;
    if (middle && path && is_file(text, last) && !is_file(text, middle))
        middle = NULL;
    if (middle && !path && memchr(text, ':', (size_t)(middle - text)))
        return false;
    *provider = middle ? middle + 1 : NULL;
    return true;
}

static int parse(const char *text, struct usdt_spec *wanted, struct error *err)
{
    const char *provider, *name;
    memset(wanted, 0, sizeof *wanted);
    if (!split(text, &provider, &name))
        return error_set(err, -EINVAL,
                         "'%s' names no USDT probe; write BINARY:PROVIDER:NAME, such as libstdc++:libstdcxx:throw, or "
                         "PROVIDER:NAME of the target's",
                         text);
    wanted->text = strdup(text);
    wanted->name = name_of(name);
    wanted->either = !provider && !memchr(text, '/', (size_t)(name - text));
    const char *end = (provider ? provider : name) - 1;
    if (!wanted->either)
        wanted->binary = strndup(text, (size_t)(end - text));
    if (wanted->either)
        wanted->provider = strndup(text, (size_t)(end - text));
    else
        wanted->provider =
            provider && name - provider > 1 ? strndup(provider, (size_t)(name - 1 - provider)) : strdup("*");
    return wanted->text && wanted->name && wanted->provider && (wanted->binary || wanted->either)
               ? 0
               : error_set(err, -ENOMEM, "out of memory");
}

/* --- symbols in operands --- */

enum { MAX_VARIABLES = 64 }; /* of one name that are told apart */

/* A symbol in an operand, and the variables that are called so: each source file may have one of its own. */
struct operand_symbol {
    const char *name;
    size_t length;
    uint64_t addresses[MAX_VARIABLES];
    unsigned files[MAX_VARIABLES]; /* as struct function_symbol has it; 0: a global one, or not known */
    size_t count;
    bool more;
};

static int match_symbol(const struct function_symbol *function, void *context)
{
    struct operand_symbol *symbol = context;
    if (function->name_length != symbol->length || memcmp(function->name, symbol->name, symbol->length))
        return 0;
    for (size_t i = 0; i < symbol->count; i++)
        if (symbol->addresses[i] == function->address)
            return 0;
    symbol->more = symbol->count == MAX_VARIABLES;
    if (symbol->more)
        return 1;
    symbol->addresses[symbol->count] = function->address;
    symbol->files[symbol->count++] = function->file;
    return 0;
}

/* The code of a note, and the source file that has the function there. */
struct note_code {
    uint64_t address;
    unsigned file; /* 0: not known */
};

static int match_code(const struct function_symbol *function, void *context)
{
    struct note_code *code = context;
    if (!function->typed || code->address - function->address >= function->size)
        return 0;
    code->file = function->file;
    return 1;
}

/* The one of the variables of SYMBOL that the symbol table has beside the function at ADDRESS; -ENOENT: none. */
static int find_beside(const struct binary *file, const struct operand_symbol *symbol, uint64_t address)
{
    struct note_code code = {.address = address};
    int found = -ENOENT;
    if (binary_functions(file, match_code, &code) != 1 || !code.file)
        return -ENOENT;
    for (size_t i = 0; i < symbol->count; i++)
        if (symbol->files[i] == code.file) {
            if (found >= 0)
                return -ENOENT;
            found = (int)i;
        }
    return found;
}

/* The one that the note at ADDRESS means, which its own source file has, by what SYMBOLS or debug information say. */
static int choose_variable(struct usdt_search *search, const struct binary *symbols,
                           const struct operand_symbol *symbol, uint64_t address)
{
    static const char purpose[] = "by which variables of one name are told apart";
    struct error ignored;
    if (!search->debuginfo_tried && debug_open(search->binary, "", purpose, &search->debuginfo, &ignored) < 0)
        search->debuginfo = NULL;
    search->debuginfo_tried = true;
    int found =
        search->debuginfo ? debugunit_variable(search->debuginfo, address, symbol->addresses, symbol->count) : -ENOENT;
    return found >= 0 ? found : find_beside(symbols, symbol, address);
}

/* Finds the SYMBOL of a note at ADDRESS: its own address in *FOUND, or why there is none. */
static const char *find_symbol(struct usdt_search *search, struct operand_symbol *symbol, uint64_t address,
                               uint64_t *found)
{
    const struct binary *symbols = search->binary;
    if (search->symbols++ >= MAX_SYMBOLS)
        return "the file's notes name more symbols than are looked up";
    binary_functions(symbols, match_symbol, symbol);
    if (!symbol->count) {
        if (!search->debug_tried && binary_open_debug(search->binary, &search->debug) < 0)
            search->debug = NULL;
        search->debug_tried = true;
        symbols = search->debug;
        if (symbols)
            binary_functions(symbols, match_symbol, symbol);
    }
    if (!symbol->count)
        return "the note names a symbol for it that the file does not have (stripped)";
    int chosen = symbol->more ? -ENOENT : symbol->count == 1 ? 0 : choose_variable(search, symbols, symbol, address);
    if (chosen < 0)
        return "the note names a symbol for it that several source files of the program have, each its own, and it is "
               "not known which of them the note is in: that takes debug information (-g)";
    *found = symbol->addresses[chosen];
    return NULL;
}

static bool is_fixed(const struct binary *binary)
{
    Elf64_Ehdr header;
    return elf_file_read(binary_elf(binary), 0, &header, sizeof header) == 0 && header.e_type == ET_EXEC;
}

/*
 * Turns what OPERAND says of addresses in the file into what can be computed at the probe, which lies at ADDRESS: as
 * far from there as in the file, wherever that is mapped.
 */
static void locate(struct usdt_search *search, uint64_t address, struct usdt_operand *operand)
{
    bool absolute = operand->place == USDT_MEMORY && operand->base < 0;
    if (operand->place == USDT_NOWHERE || (!operand->symbol && !absolute))
        return;
    if (operand->symbol) {
        struct operand_symbol symbol = {.name = operand->symbol, .length = operand->symbol_length};
        uint64_t found = 0;
        const char *why = find_symbol(search, &symbol, address, &found);
        if (why) {
            usdt_nowhere(operand, why);
            return;
        }
        operand->displacement += (int64_t)found;
    }
    if (absolute) {
        operand->base = arch_cpu.instruction_pointer;
        operand->displacement -= (int64_t)address;
    } else if (!is_fixed(search->binary)) {
        usdt_nowhere(operand, "it has to do with an address that is not known before the program is loaded");
    }
    operand->symbol = NULL;
    operand->relative = false;
}

/* --- where a probe is --- */

static const char *check_instruction(const struct binary *binary, uint64_t offset)
{
    uint8_t code[LONGEST_NOP];
    struct arch_instruction instruction;
    if (!arch_code()->decode(code, binary_read(binary, offset, code, sizeof code), &instruction) || !instruction.nop)
        return "its note is damaged: a probe there, where no nop is, would corrupt the program";
    if (instruction.replaced)
        return "since Linux 6.18 a probe turns its nop of five bytes into a call, which overwrites data of the "
               "function below its stack pointer";
    return NULL;
}

/* File offset of the semaphore at ADDRESS in *OFFSET, or why there is none. The kernel wants it even
 * (kernel/events/uprobes.c). */
static const char *find_semaphore(const struct binary *binary, uint64_t address, uint64_t *offset)
{
    const Elf64_Phdr *segment = elf_file_segment_at(binary_elf(binary), address, PF_W);
    *offset = 0;
    if (!address ||
        (segment && segment->p_filesz - (address - segment->p_vaddr) >= 2 &&
         !__builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) && *offset % 2 == 0))
        return NULL;
    return "its note is damaged: its semaphore is at an address where none can be";
}

static const char *locate_site(const struct binary *binary, const struct usdt_note *note, struct site *site)
{
    if (binary_offset(binary, note->address, &site->offset) < 0)
        return "its note is damaged: its address lies outside of the code";
    const char *problem = check_instruction(binary, site->offset);
    return problem ? problem : find_semaphore(binary, note->semaphore, &site->semaphore);
}

static int make_site(struct usdt_search *search, const struct usdt_note *note, struct site *site, const char **problem)
{
    const struct module *module = binary_module(search->binary);
    *site = (struct site){.path = strdup(module->path),
                          .module = strdup(module->name),
                          .file = stamp_of(&binary_elf(search->binary)->stat),
                          .address = note->address,
                          .why = "the nop that the program keeps for it"};
    if (asprintf(&site->function, "%s:%s", note->provider, note->name) < 0)
        site->function = NULL;
    *problem = locate_site(search->binary, note, site);
    return site->path && site->module && site->function ? 0 : -ENOMEM;
}

/* --- probes with equal arguments --- */

static bool same_operand(const struct usdt_operand *a, const struct usdt_operand *b)
{
    bool same_index =
        a->index_bits == b->index_bits && (!a->index_bits || (a->index == b->index && a->shift == b->shift));
    return a->place == b->place && a->bits == b->bits && a->base == b->base && same_index &&
           a->displacement == b->displacement && a->why == b->why;
}

static bool is_alike(const struct usdt_probe *a, const struct usdt_probe *b)
{
    if (strcmp(a->name, b->name) || strcmp(a->provider, b->provider) || strcmp(a->sites->path, b->sites->path) ||
        a->problem != b->problem || a->argument_count != b->argument_count)
        return false;
    for (size_t i = 0; i < a->argument_count; i++)
        if (!same_operand(&a->arguments[i].operand, &b->arguments[i].operand))
            return false;
    return true;
}

static void free_probe(struct usdt_probe *probe)
{
    sites_free(probe->sites, probe->site_count);
    for (size_t i = 0; i < probe->argument_count; i++)
        free(probe->arguments[i].text);
    free(probe->arguments);
    free(probe->provider);
    free(probe->name);
}

void usdt_free(struct usdt_probe *probes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_probe(&probes[i]);
    free(probes);
}

/* Adds PROBE, of one site, which moves into FOUND unless that fails. */
static int add_probe(struct usdt_found *found, struct usdt_probe *probe)
{
    if (found->sites >= MAX_SITES)
        return -E2BIG;
    for (size_t i = 0; i < found->count; i++) {
        struct usdt_probe *other = &found->items[i];
        if (!is_alike(other, probe))
            continue;
        struct site *site = array_add(&other->sites, &other->site_count, sizeof *site);
        if (!site)
            return -ENOMEM;
        *site = *probe->sites;
        free(probe->sites);
        probe->sites = NULL;
        probe->site_count = 0;
        free_probe(probe);
        found->sites++;
        return 0;
    }
    if (found->count == MAX_PROBES)
        return -E2BIG;
    struct usdt_probe *added = array_add(&found->items, &found->count, sizeof *added);
    if (!added)
        return -ENOMEM;
    *added = *probe;
    found->sites++;
    return 0;
}

static int read_arguments(struct usdt_search *search, const struct usdt_note *note, struct usdt_probe *probe)
{
    char *copy = strdup(note->arguments), *rest = copy, *text;
    probe->arguments = calloc(MAX_ARGUMENTS, sizeof *probe->arguments);
    int result = copy && probe->arguments ? 0 : -ENOMEM;
    while (result == 0 && probe->argument_count < MAX_ARGUMENTS && (text = usdt_next_operand(&rest))) {
        struct usdt_argument *argument = &probe->arguments[probe->argument_count++];
        argument->text = strdup(text);
        argument->operand = usdt_parse(arch_cpu.elf_machine, text);
        locate(search, note->address, &argument->operand);
        result = argument->text ? 0 : -ENOMEM;
    }
    free(copy);
    return result;
}

static int visit(const struct usdt_note *note, void *context)
{
    struct usdt_search *search = context;
    struct usdt_found *found = search->found;
    const struct usdt_spec *wanted = search->wanted;
    found->notes++;
    bool of_provider = fnmatch(wanted->provider, note->provider, 0) == 0;
    if (of_provider && !wanted->either)
        suggest_offer(&found->suggest, note->name, strlen(note->name));
    found->provider_seen |= of_provider;
    if (!of_provider || fnmatch(wanted->name, note->name, 0) != 0)
        return 0;
    struct usdt_probe probe = {.provider = strdup(note->provider), .name = strdup(note->name)};
    struct site *site = array_add(&probe.sites, &probe.site_count, sizeof *site);
    int result = probe.provider && probe.name && site ? 0 : -ENOMEM;
    if (result == 0)
        result = make_site(search, note, site, &probe.problem);
    if (result == 0)
        result = read_arguments(search, note, &probe);
    if (result == 0)
        result = add_probe(found, &probe);
    if (result < 0)
        free_probe(&probe);
    return result;
}

/* Searches the files of MODULES. A file that cannot be probed is an error where it was named, not where it is one of
 * all. */
static int search_modules(const struct usdt_spec *wanted, const struct modules *modules, bool named,
                          struct usdt_found *found, struct error *err)
{
    int result = 0;
    for (size_t i = 0; i < modules->count && result == 0; i++) {
        struct usdt_search search = {.wanted = wanted, .found = found};
        struct binary *binary;
        int opened = binary_open(&modules->items[i], &binary, err);
        if (opened < 0) {
            result = named || opened == -ENOMEM ? error_prefix(err, "%s: ", wanted->text) : 0;
            continue;
        }
        search.binary = binary;
        result = usdt_notes_visit(binary_elf(binary), visit, &search);
        if (result == -E2BIG)
            error_set(err, result,
                      "%s: these are more than %d probes with different arguments, or %d places; name fewer",
                      wanted->text, MAX_PROBES, MAX_SITES);
        else if (result < 0)
            error_set(err, result, "%s: %s", wanted->text, error_reason(result));
        debuginfo_free(search.debuginfo);
        binary_close(search.debug);
        binary_close(binary);
    }
    return result;
}

/* --- specs --- */

static int search_binary(const struct usdt_spec *wanted, const struct target *target, struct modules *modules,
                         struct usdt_found *found, struct error *err)
{
    struct spec spec = {.text = wanted->text, .binary = wanted->binary};
    int result = resolve_binaries(&spec, target, modules, err);
    return result < 0 ? result : search_modules(wanted, modules, true, found, err);
}

/* In all modules of the target, also in those that a process so young has not mapped yet. */
static int search_target(const struct usdt_spec *wanted, const struct target *target, struct usdt_found *found,
                         struct error *err)
{
    int result = 0;
    for (int linked = 0; linked < 2 && result == 0 && !found->count; linked++) {
        struct modules modules = {0};
        result = resolve_all(target, linked, &modules, err);
        if (result == 0)
            result = search_modules(wanted, &modules, false, found, err);
        modules_free(&modules);
    }
    return result;
}

static int not_found(const struct usdt_spec *wanted, const struct modules *modules, struct usdt_found *found,
                     struct error *err)
{
    const char *file = modules->count == 1 ? modules->items->name : "the target's modules";
    if (!found->notes)
        return error_set(err, -ENOENT, "%s: there are no USDT probes in %s: it was built without them", wanted->text,
                         file);
    const char *names = suggest_text(&found->suggest);
    if (!found->provider_seen)
        return error_set(err, -ENOENT, "%s: no provider '%s' in %s%s\nuplua --list usdt:… shows what there is",
                         wanted->text, wanted->provider, file, names);
    return error_set(err, -ENOENT, "%s: no such USDT probe in %s%s%s", wanted->text, file, names,
                     *names ? "" : "\nuplua --list usdt:… shows what there is");
}

static int offer_all(const struct usdt_note *note, void *context)
{
    struct usdt_found *found = context;
    found->notes++;
    suggest_offer(&found->suggest, note->provider, strlen(note->provider));
    return 0;
}

/* Providers like the one that nobody has, for the message. */
static void suggest_providers(const struct usdt_spec *wanted, const struct modules *modules, struct usdt_found *found)
{
    suggest_init(&found->suggest, wanted->provider);
    for (size_t i = 0; i < modules->count; i++) {
        struct binary *binary;
        if (binary_open(&modules->items[i], &binary, NULL) < 0)
            continue;
        usdt_notes_visit(binary_elf(binary), offer_all, found);
        binary_close(binary);
    }
}

/* A:NAME where A is a provider of the target's, or else a binary. */
static int search_either(struct usdt_spec *wanted, const struct target *target, struct modules *modules,
                         struct usdt_found *found, struct error *err)
{
    bool has_modules = target && (target->count || target->command);
    int result = has_modules ? search_target(wanted, target, found, err) : 0;
    if (result < 0 || found->count)
        return result;
    if (found->provider_seen) {
        wanted->either = false; /* names of its probes are worth telling now */
        return search_target(wanted, target, found, err);
    }
    wanted->either = false;
    wanted->binary = wanted->provider;
    wanted->provider = strdup("*");
    result = wanted->provider ? search_binary(wanted, target, modules, found, err)
                              : error_set(err, -ENOMEM, "out of memory");
    return result == -ENXIO ? -ENOENT : result; /* a provider, rather, of which there is none */
}

static int finish(int result, struct usdt_found *found, struct usdt_probe **probes, size_t *count, struct error *err)
{
    *probes = result < 0 ? NULL : found->items;
    *count = result < 0 ? 0 : found->count;
    if (result < 0) {
        usdt_free(found->items, found->count);
        error_make_printable(err);
    }
    return result;
}

int usdt_find(const char *spec, const struct target *target, struct usdt_probe **probes, size_t *count,
              struct error *err)
{
    struct usdt_found found = {0};
    struct modules modules = {0};
    struct usdt_spec wanted;
    int result = parse(spec, &wanted, err);
    suggest_init(&found.suggest, result == 0 ? wanted.name : "");
    if (result == 0 && wanted.either)
        result = search_either(&wanted, target, &modules, &found, err);
    else if (result == 0)
        result = search_binary(&wanted, target, &modules, &found, err);
    if (result == 0 && !found.count) {
        if (!found.provider_seen)
            suggest_providers(&wanted, &modules, &found);
        result = not_found(&wanted, &modules, &found, err);
    }
    for (size_t i = 0; i < found.count && result == 0; i++)
        if (found.items[i].problem)
            result =
                error_set(err, -EINVAL, "%s: %s:%s in %s cannot be probed: %s", wanted.text, found.items[i].provider,
                          found.items[i].name, found.items[i].sites->module, found.items[i].problem);
    modules_free(&modules);
    wanted_free(&wanted);
    return finish(result, &found, probes, count, err);
}

int usdt_list(const char *binary, const char *provider, const char *name, const struct target *target,
              struct usdt_probe **probes, size_t *count, struct error *err)
{
    struct usdt_found found = {0};
    struct modules modules = {0};
    struct usdt_spec wanted = {.text = (char *)(binary ? binary : name),
                               .binary = (char *)binary,
                               .provider = (char *)provider,
                               .name = (char *)name};
    suggest_init(&found.suggest, name);
    int result =
        binary ? search_binary(&wanted, target, &modules, &found, err) : search_target(&wanted, target, &found, err);
    modules_free(&modules);
    return finish(result, &found, probes, count, err);
}
