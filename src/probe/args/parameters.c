/* The parameters of a program's functions, for e.args.NAME. */
#include "probe/args/parameters.h"

#include <errno.h>
#include <string.h>

#include "arch/instruction.h"
#include "probe/args/parameter.h"
#include "probe/module/debug.h"
#include "sym/debugentry.h"
#include "sym/debugtypes.h"

/* That are compared; and whose results are looked up one by one, each some 0.1 ms. */
enum { MAX_FUNCTIONS = 64, MAX_RESULTS = 10000 };

static const char purpose[] = "by which the arguments of its functions have names";

static struct argument result_of(uint32_t number, struct arena *arena)
{
    struct argument result = {.place = ARGUMENT_NOWHERE, .type = "void"};
    struct debugtype type = {0};
    char name[DEBUGTYPE_NAME];
    if (!number)
        return result;
    debugtype_get(number, &type);
    debugtype_name(number, name);
    result.type = arena_string(arena, name, strlen(name));
    result.debug = number;
    result.bits = type.kind == DEBUGTYPE_POINTER ? 64 : type.bits;
    bool is_number = type.kind == DEBUGTYPE_INTEGER || type.kind == DEBUGTYPE_BOOLEAN;
    if (type.kind == DEBUGTYPE_POINTER || (is_number && type.size <= 8))
        result.place = ARGUMENT_CONTEXT;
    result.kind = type.kind == DEBUGTYPE_POINTER   ? ARGUMENT_POINTER
                  : type.kind == DEBUGTYPE_BOOLEAN ? ARGUMENT_BOOLEAN
                                                   : ARGUMENT_INTEGER;
    return result;
}

/* --- one function --- */

/* A compiler's name for a function that it has made of another one, with parameters left out, split or replaced. */
static bool is_variant(const char *name, size_t length)
{
    static const char *const marks[] = {".isra.", ".constprop.", ".part.", ".specialized."};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(name, length, marks[i], strlen(marks[i])))
            return true;
    return false;
}

/* Facts about a function from the symbols at its address. */
struct symbol_facts {
    uint64_t address;
    bool any, global, plain;
};

static int add_symbol(const struct function_symbol *symbol, void *context)
{
    struct symbol_facts *symbols = context;
    if (!symbol->typed || symbol->address != symbols->address)
        return 0;
    symbols->any = true;
    symbols->global |= symbol->global;
    symbols->plain |= !is_variant(symbol->name, symbol->name_length);
    return 0;
}

/* The linker's optimiser makes functions local that the source lets others call, and then drops their parameters,
 * too. */
static void ask_symbols(const struct binary *binary, const struct site *site, struct debugfunction *function)
{
    struct symbol_facts symbols = {.address = function->address};
    binary_functions(binary, add_symbol, &symbols);
    function->external &= symbols.global || !symbols.any;
    function->variant = symbols.any ? !symbols.plain : is_variant(site->function, strlen(site->function));
}

/* Where control flow is protected, functions begin with an instruction that only marks that. */
static void ask_code(const struct binary *binary, struct debugfunction *function)
{
    const struct arch_code *arch = arch_code();
    struct arch_instruction instruction;
    uint8_t code[16];
    uint64_t offset;
    if (binary_offset(binary, function->address, &offset) == 0 &&
        arch->decode(code, binary_read(binary, offset, code, sizeof code), &instruction) && instruction.landing_pad)
        function->landing = instruction.length;
}

/* True for a function of Rust's own convention: one whose name is mangled. Others are called as C's, or as they like.
 */
static bool is_rust(const struct site *site, const struct debugfunction *function)
{
    bool mangled = !strncmp(site->function, "_ZN", 3) || !strncmp(site->function, "_R", 2);
    return mangled && function->foreign && !strcmp(function->foreign, "Rust");
}

static int check(const struct site *site, const struct debugfunction *function, struct error *err)
{
    if (function->foreign && !function->of_rust && !strcmp(function->foreign, "Rust"))
        return error_set(err, -EOPNOTSUPP,
                         "%s is written in Rust, and its name does not tell whether it is called as C's functions are: "
                         "use e.arg0 …, the registers",
                         site->function);
    if (function->foreign && !function->of_rust && !function->of_go)
        return error_set(err, -EOPNOTSUPP,
                         "%s is written in %s, which has calling conventions of its own: e.args knows those of C and "
                         "C++; use e.arg0 …, the registers",
                         site->function, function->foreign);
    if (function->address != site->address - site->slid)
        return error_set(err, -EOPNOTSUPP,
                         "%s is a part of a function that is entered by a jump, where the arguments may be anywhere: "
                         "use e.arg0 …, the registers",
                         site->function);
    return 0;
}

/* What is looked for of a function: its parameters, if ARGUMENTS is not NULL, or what it returns. */
struct signature_request {
    bool at_return;
    struct argument **arguments;
    size_t *count;
    struct argument *returned;
};

static int read_wanted(struct debuginfo *debuginfo, const struct debugfunction *function,
                       const struct signature_request *wanted, struct arena *arena)
{
    if (wanted->arguments)
        return parameters_of(debuginfo, function, wanted->at_return, arena, wanted->arguments, wanted->count);
    *wanted->returned = result_of(function->result, arena);
    return 0;
}

static int find_of_site(const struct site *site, const struct signature_request *wanted, struct arena *arena,
                        struct error *err)
{
    struct module module = {.path = site->path, .name = site->module};
    struct debugfunction function;
    struct debuginfo *debuginfo;
    struct binary *binary;
    if (site->inside)
        return error_set(
            err, -EINVAL,
            "%s+%#llx: e.args is known where a function is entered; inside of it its arguments may be anywhere",
            site->function, (unsigned long long)site->inside);
    int result = binary_open(&module, &binary, err);
    if (result)
        return result;
    result = debug_keep(binary, site->function, purpose, &debuginfo, err);
    if (!result && debugfunction_at(debuginfo, site->address - site->slid, &function))
        result = debug_undescribed(debuginfo, site->address - site->slid, site->function, site->module, "this function",
                                   err);
    if (!result)
        function.of_rust = is_rust(site, &function);
    if (!result)
        result = check(site, &function, err);
    if (!result && function.of_go && !wanted->arguments)
        result =
            error_set(err, -EOPNOTSUPP,
                      "%s is written in Go, whose functions may return several values: e.ret is the first register",
                      site->function);
    if (!result) {
        ask_symbols(binary, site, &function);
        ask_code(binary, &function);
    }
    if (!result && read_wanted(debuginfo, &function, wanted, arena))
        result = error_set(err, -EINVAL, "%s: the debug information of %s is damaged", site->function, site->module);
    binary_close(binary);
    return result;
}

/* --- several --- */

static bool are_alike(const struct argument *a, const struct argument *b)
{
    bool named = a->name && b->name ? !strcmp(a->name, b->name) : a->name == b->name;
    return named && a->kind == b->kind && a->bits == b->bits;
}

/* True unless A and B, types of one name, lead to structs that differ: each file of a program may have its own. */
static bool lead_to_same(uint32_t a, uint32_t b)
{
    struct debugtype one = {0}, other = {0};
    Dwarf_Die of_one, of_other;
    if (!a || !b)
        return true;
    for (int depth = 0; depth < DEBUGENTRY_DEEPEST; depth++) {
        if (debugtype_get(a, &one) || debugtype_get(b, &other) || one.kind != other.kind)
            return false;
        if (one.kind != DEBUGTYPE_POINTER)
            break;
        a = one.element;
        b = other.element;
    }
    return (one.kind != DEBUGTYPE_STRUCT && !one.is_enum) || !debugtype_entry(a, &of_one) ||
           !debugtype_entry(b, &of_other) || debugtype_same(&of_one, &of_other);
}

/* Makes of ARGUMENT, of the function FIRST, what holds for that and for OTHER, of SECOND, too; false: there is no such
 * thing. */
static bool merge(struct argument *argument, const struct argument *other, const char *first, const char *second,
                  struct arena *arena)
{
    if (!are_alike(argument, other))
        return false;
    if (argument->place == ARGUMENT_NOWHERE) {
        if (argument->passed != other->passed || argument->first != other->first ||
            !argument->length != !other->length || (argument->length && strcmp(argument->length, other->length) != 0) ||
            !lead_to_same(argument->debug, other->debug))
            argument->passed = ARGUMENT_NOT_PASSED;
        return true;
    }
    if (other->place == ARGUMENT_NOWHERE) {
        *argument = *other;
        argument->type = arena_format(arena, "in %s %s", second, other->type);
    } else if (argument->place != other->place || argument->offset != other->offset || argument->base != other->base ||
               argument->step_count != other->step_count ||
               (argument->step_count &&
                memcmp(argument->steps, other->steps, argument->step_count * sizeof *argument->steps) != 0)) {
        argument->place = ARGUMENT_NOWHERE;
        argument->type = arena_format(
            arena, "%s and %s have it in other places than each other; give each a probe of its own", first, second);
    } else {
        return !strcmp(argument->type, other->type) && lead_to_same(argument->debug, other->debug);
    }
    return true;
}

int parameters_find(const struct sites *sites, bool at_return, struct arena *arena, const struct argument **arguments,
                    size_t *count, struct error *err)
{
    struct argument *first = NULL, *other;
    size_t others;
    if (sites->count > MAX_FUNCTIONS)
        return error_set(
            err, -E2BIG,
            "e.args of %zu functions: those of at most %d are compared, which have to be the same; e.arg0 … are there "
            "for all",
            sites->count, MAX_FUNCTIONS);
    *count = 0;
    for (size_t i = 0; i < sites->count; i++) {
        struct signature_request wanted = {
            .at_return = at_return, .arguments = i ? &other : &first, .count = i ? &others : count};
        int result = find_of_site(&sites->items[i], &wanted, arena, err);
        const char *names[] = {sites->items[0].function, sites->items[i].function};
        bool same = !result && (!i || others == *count);
        for (size_t n = 0; i && same && n < others; n++)
            same = merge(&first[n], &other[n], names[0], names[1], arena);
        if (result)
            return result;
        if (!same)
            return error_set(err, -EINVAL,
                             "%s and %s have other arguments than each other: e.args of several functions needs the "
                             "same ones; give each a "
                             "probe of its own",
                             names[0], names[1]);
    }
    *arguments = first;
    return 0;
}

int parameters_result(const struct sites *sites, struct arena *arena, struct argument *result, struct error *err)
{
    if (!sites->count || sites->count > MAX_FUNCTIONS)
        return error_set(err, -E2BIG, "the results of %zu functions are too many to be compared", sites->count);
    for (size_t i = 0; i < sites->count; i++) {
        struct argument other;
        int code =
            find_of_site(&sites->items[i], &(struct signature_request){.returned = i ? &other : result}, arena, err);
        if (code)
            return code;
        if (i && (other.place != result->place || other.kind != result->kind || other.bits != result->bits ||
                  strcmp(other.type, result->type) != 0 || !lead_to_same(other.debug, result->debug)))
            result->debug = 0; /* which one it is nobody knows */
        if (i && (other.place != result->place || other.kind != result->kind || other.bits != result->bits))
            return error_set(err, -EINVAL, "%s and %s return other types than each other", sites->items[0].function,
                             sites->items[i].function);
    }
    return 0;
}

/* --- the results of many --- */

/* The debug information of a file, for one site of it after the other. */
struct opened {
    const char *path; /* NULL: of none yet */
    struct debuginfo *debuginfo;
    const char *why; /* there is no DEBUGINFO */
};

static const char too_many[] = "only the first 10,000 functions of a probe are looked up";
static const char returned[] = "by which it is known what its functions return";

/* Makes *OPENED that of SITE's file. A file is opened once for all of its sites, which stand one behind the other. */
static void open_of(const struct site *site, struct arena *arena, struct opened *opened)
{
    struct module module = {.path = site->path, .name = site->module};
    struct binary *binary = NULL;
    struct error err = {0};
    if (opened->path && !strcmp(opened->path, site->path))
        return;
    *opened = (struct opened){.path = site->path};
    int result = binary_open(&module, &binary, &err);
    if (!result)
        result = debug_keep(binary, site->function, returned, &opened->debuginfo, &err);
    if (result == -ENODATA)
        opened->why = arena_format(arena, "%s has no debug information", site->module);
    else if (result)
        opened->why = arena_string(arena, err.text, strlen(err.text));
    binary_close(binary);
}

static struct function_result result_of_function(const struct site *site, uint64_t entry, const struct opened *opened,
                                                 struct arena *arena)
{
    struct debugfunction function;
    if (!opened->debuginfo)
        return (struct function_result){.why = opened->why};
    if (debugfunction_at(opened->debuginfo, entry, &function))
        return (struct function_result){
            .why = arena_format(arena, "the debug information of %s %s", site->module,
                                debuginfo_split_file(opened->debuginfo, entry)
                                    ? "is split DWARF (-gsplit-dwarf), whose files are not read"
                                    : "does not describe it")};
    if (function.of_go)
        return (struct function_result){.why = "it is written in Go, whose functions may return several values"};
    if (function.foreign && !is_rust(site, &function))
        return (struct function_result){.why = arena_format(arena, "it is written in %s, %s", function.foreign,
                                                            strcmp(function.foreign, "Rust")
                                                                ? "which has calling conventions of its own"
                                                                : "and its name does not tell how it is called")};
    if (function.address != entry)
        return (struct function_result){.why = "it is a part of a function that is entered by a jump"};
    return (struct function_result){.type = result_of(function.result, arena)};
}

void parameters_results(const struct sites *sites, struct arena *arena, struct function_result *results)
{
    struct opened opened = {0};
    uint64_t before = 0;
    size_t looked_up = 0;
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        uint64_t entry = site->address - site->slid - (site->is_exit ? site->inside : 0);
        if (opened.path && !strcmp(opened.path, site->path) && entry == before) { /* its exits follow an entry */
            results[i] = results[i - 1];
            continue;
        }
        before = entry;
        open_of(site, arena, &opened);
        if (opened.debuginfo && ++looked_up > MAX_RESULTS)
            results[i] = (struct function_result){.why = too_many};
        else
            results[i] = result_of_function(site, entry, &opened, arena);
    }
}
