/* From a spec to the binaries that it means, for each kind of target. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/suggest.h"
#include "probe/module/library.h"
#include "probe/module/path_search.h"
#include "probe/module/shebang.h"
#include "probe/probe.h"
#include "probe/spec/resolve.h"
#include "probe/spec/return_sites.h"
#include "probe/spec/site_list.h"
#include "probe/spec/switches.h"

/* Where a target's binaries are. */
struct scope {
    pid_t pid;              /* 0: a command or the whole machine */
    char root[64];          /* prefix of its paths: "/proc/4242/root" or "" */
    struct modules modules; /* what it has mapped, or will */
};

static int scope_of_process(pid_t pid, struct scope *scope, struct error *err)
{
    scope->pid = pid;
    snprintf(scope->root, sizeof scope->root, "/proc/%d/root", (int)pid);
    return modules_of_process(pid, &scope->modules, err);
}

static int scope_of_command(const char *path, struct scope *scope, struct error *err)
{
    memset(scope, 0, sizeof *scope);
    char *program = shebang_program(path), *resolved = program ? realpath(program, NULL) : NULL;
    int result = program ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (result == 0 && !resolved)
        result = error_set(err, -errno, "%s needs the interpreter %s, which cannot be found: %s", path, program,
                           error_reason(errno));
    if (result == 0) {
        result = library_closure("", resolved, true, &scope->modules);
        if (result < 0)
            error_set(err, result, "cannot read %s and its libraries: %s", resolved, error_reason(result));
    }
    free(program);
    free(resolved);
    return result;
}

static int add_module(struct modules *found, const struct module *module)
{
    return modules_add(found, module->path, module->name);
}

/* Appends FROM to TO, as a whole or with an error. */
static int add_modules(struct modules *to, const struct modules *from, struct error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        int result = add_module(to, &from->items[i]);
        if (result < 0)
            return error_set(err, result, "cannot open %s: %s", from->items[i].name, error_reason(result));
    }
    return 0;
}

/* Adds the first of CANDIDATES that SCOPE has mapped, else the first. */
static int add_mapped_or_first(const struct scope *scope, const struct modules *candidates, struct modules *found)
{
    const struct module *mapped = NULL;
    for (size_t c = 0; c < candidates->count && !mapped; c++)
        mapped = modules_find(&scope->modules, candidates->items[c].device, candidates->items[c].inode);
    /* Not mapped, or not yet: dlopen and exec may still do it. */
    return add_module(found, mapped ? mapped : &candidates->items[0]);
}

/* The path NAME, which is relative to us, from the root on; the file itself need not be there. NULL if it has no
 * folder. */
static char *absolute(const char *name)
{
    const char *file = path_basename(name);
    char *folder = strndup(name, (size_t)(file - name)), *real = folder ? realpath(folder, NULL) : NULL, *path = NULL;
    if (real && asprintf(&path, "%s/%s", strcmp(real, "/") ? real : "", file) < 0)
        path = NULL;
    free(folder);
    free(real);
    return path;
}

/*
 * The path by which we open the file NAME: free of links, but for those of /proc, where they lead to a file whose own
 * name leads to another or to none: a program that was replaced while it runs, or one of a container. NULL: there is
 * none.
 */
static char *opened_by(const char *name)
{
    struct stat of_name, of_real;
    char *real = realpath(name, NULL);
    if (stat(name, &of_name) < 0 ||
        (real && stat(real, &of_real) == 0 && of_real.st_dev == of_name.st_dev && of_real.st_ino == of_name.st_ino))
        return real;
    free(real);
    return strdup(name);
}

/* Adds the file NAME, a path, of SCOPE. */
static int find_path(const struct scope *scope, const char *name, struct modules *found)
{
    /* A path that is a mapped file's name also stands for a file that was deleted or replaced since. */
    char *own = name[0] == '/' ? NULL : absolute(name);
    const char *mapped = own ? own : name;
    size_t known = 0;
    while (known < scope->modules.count && strcmp(scope->modules.items[known].name, mapped) != 0)
        known++;
    free(own);
    if (known < scope->modules.count)
        return add_module(found, &scope->modules.items[known]);
    struct modules candidates = {0};
    int result = -ENOENT;
    char *inside = name[0] == '/' && *scope->root ? path_resolve(scope->root, name) : NULL, *full = NULL;
    if (inside)
        result = asprintf(&full, "%s%s", scope->root, inside) < 0 ? -ENOMEM : modules_add(&candidates, full, inside);
    /* A relative path is relative to us; so may be an absolute one, where the process lives in a folder that we see. */
    char *ours = opened_by(name);
    if (ours) {
        int code = modules_add(&candidates, ours, ours);
        result = result < 0 ? code : result;
    }
    if (candidates.count)
        result = add_mapped_or_first(scope, &candidates, found);
    modules_free(&candidates);
    free(inside);
    free(full);
    free(ours);
    return result;
}

static int ambiguous(const struct modules *found, const struct spec *spec, const struct scope *scope, struct error *err)
{
    char list[1024];
    size_t used = 0;
    for (size_t i = 0; i < found->count && used < sizeof list; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", found->items[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
    if (scope->pid)
        return error_set(err, -EINVAL, "%s: '%s' means several files of process %d\nname one of them: %s", spec->text,
                         spec->binary, (int)scope->pid, list);
    return error_set(err, -EINVAL, "%s: '%s' means several files\nname one of them: %s", spec->text, spec->binary,
                     list);
}

/* The files of SCOPE whose names match BINARY, exactly or as a library's short name. */
static int find_mapped(const struct scope *scope, const char *binary, bool exactly, struct modules *found)
{
    int result = 0;
    for (size_t i = 0; i < scope->modules.count && result == 0; i++) {
        const char *file = path_basename(scope->modules.items[i].name);
        if (exactly ? strcmp(file, binary) == 0 : library_matches(file, binary))
            result = add_module(found, &scope->modules.items[i]);
    }
    return result;
}

/* In $PATH: of our root, or inside the process's. */
static int find_command(const struct scope *scope, const char *binary, struct modules *found)
{
    char *path;
    if (program_find(binary, &path, NULL) < 0)
        return -ENOENT;
    char *program = shebang_program(path);
    int result = program ? find_path(scope, program, found) : -ENOMEM;
    free(program);
    free(path);
    return result;
}

/* True if the program of SCOPE carries its libraries in itself: no loader will map others. */
static bool is_static(const struct scope *scope)
{
    struct binary *binary;
    if (!scope->modules.count || binary_open(&scope->modules.items[0], &binary, NULL) < 0)
        return false;
    /* The loader itself, run as a program, has no interpreter either. */
    bool dynamic = strncmp(path_basename(scope->modules.items[0].name), "ld", 2) == 0 ||
                   elf_file_segment(binary_elf(binary), PT_INTERP);
    binary_close(binary);
    return !dynamic;
}

/* Whether NAME can only mean a library: a program is not loaded by another one later. */
static bool is_library_name(const char *name)
{
    return !strchr(name, '/') && (strncmp(name, "lib", 3) == 0 || strstr(name, ".so"));
}

static int no_binary(const struct scope *scope, const struct spec *spec, struct error *err)
{
    char where[64] = "";
    struct suggest suggest;
    suggest_init(&suggest, spec->binary);
    for (size_t i = 0; i < scope->modules.count; i++) {
        const char *file = path_basename(scope->modules.items[i].name);
        /* Both libssl.so.3 and its short name are worth comparing. */
        size_t length = strcspn(file, "."), whole = strlen(file);
        size_t before = suggest.count;
        suggest_offer(&suggest, file, length);
        if (suggest.count == before)
            suggest_offer(&suggest, file, whole);
    }
    const char *names = suggest_text(&suggest);
    struct stat found;
    if (strchr(spec->binary, '/') && stat(spec->binary, &found) < 0 && errno == EACCES)
        return error_set(err, -EACCES, "%s: a folder of %s is closed to this user: that needs CAP_DAC_READ_SEARCH",
                         spec->text, spec->binary);
    if (strchr(spec->binary, '/'))
        return error_set(err, -ENOENT, "%s: no such file: %s%s", spec->text, spec->binary, names);
    if (scope->pid)
        snprintf(where, sizeof where, "process %d has no", (int)scope->pid);
    else
        snprintf(where, sizeof where, scope->modules.count ? "the command has no" : "there is no");
    if (scope->pid && is_static(scope))
        return error_set(err, -ENOENT,
                         "%s: %s library '%s': it is statically linked\nname its own functions, as in %s:main",
                         spec->text, where, spec->binary, path_basename(scope->modules.items[0].name));
    return error_set(err, is_library_name(spec->binary) ? -ENXIO : -ENOENT,
                     "%s: %s program or library '%s'%s\nname a file by its path, a command, or a library "
                     "such as libc",
                     spec->text, where, spec->binary, names);
}

/* What BINARY, a path or a name, means of the files that SCOPE has mapped and that cannot be reached; NULL: none. */
static const char *find_unreached(const struct scope *scope, const char *binary)
{
    char *own = strchr(binary, '/') && binary[0] != '/' ? absolute(binary) : NULL;
    const char *path = own ? own : binary, *found = NULL;
    for (size_t i = 0; i < scope->modules.unreached_count && !found; i++) {
        const char *name = scope->modules.unreached[i], *file = path_basename(name);
        if (strchr(binary, '/') ? !strcmp(name, path) : !strcmp(file, binary) || library_matches(file, binary))
            found = name;
    }
    free(own);
    return found;
}

/* Appends to FOUND the file or files that the spec's binary means in SCOPE. */
static int find_binary(const struct scope *scope, const struct spec *spec, struct modules *found, struct error *err)
{
    const char *binary = spec->binary;
    const char *unreached = find_unreached(scope, binary);
    struct modules here = {0};
    int result;
    if (unreached)
        return error_set(
            err, -EPERM,
            "%s: process %d has mapped %s, which was deleted or replaced since: to reach the file that it has needs "
            "CAP_SYS_ADMIN; run uplua as root",
            spec->text, (int)scope->pid, unreached);
    if (strchr(binary, '/')) {
        result = find_path(scope, binary, &here);
    } else {
        result = find_mapped(scope, binary, true, &here);
        if (result == 0 && !here.count)
            result = find_mapped(scope, binary, false, &here);
        /* A process so young that its libraries are not mapped yet: those that it is linked with. */
        if (result == 0 && !here.count && scope->pid && scope->modules.count) {
            struct scope linked = {0};
            library_closure(scope->root, scope->modules.items[0].name, false, &linked.modules);
            result = find_mapped(&linked, binary, false, &here);
            modules_free(&linked.modules);
        }
        if (result == 0 && !here.count)
            result = find_command(scope, binary, &here);
        /* Opened later by name: a plugin's libraries. */
        if ((result == -ENOENT || (result == 0 && !here.count)) && !(scope->pid && is_static(scope)))
            result = library_find(scope->root, binary, &here);
    }
    if (result == -ENOENT || (result == 0 && !here.count))
        result = no_binary(scope, spec, err);
    else if (result < 0)
        error_set(err, result, "%s: cannot probe %s: %s", spec->text, binary,
                  result == -EINVAL ? "it is not a regular file" : error_reason(result));
    else if (here.count > 1)
        result = ambiguous(&here, spec, scope, err);
    else
        result = add_modules(found, &here, err);
    modules_free(&here);
    return result;
}

int resolve_binaries(const struct spec *spec, const struct target *target, struct modules *found, struct error *err)
{
    int result = 0;
    size_t places = target && target->count && !target->command ? target->count : 1, absent = 0, before = found->count;
    for (size_t i = 0; i < places && result == 0; i++) {
        struct scope scope = {0};
        if (target && target->command)
            result = scope_of_command(target->program, &scope, err);
        else if (target && target->count)
            result = scope_of_process(target->pids[i], &scope, err);
        if (result < 0)
            error_prefix(err, "%s: ", spec->text);
        else
            result = find_binary(&scope, spec, found, err);
        modules_free(&scope.modules);
        if (result == -ENXIO && (absent++, i + 1 < places || found->count > before))
            result = 0; /* another one has it */
    }
    return result == 0 && absent == places ? -ENXIO : result;
}

/* Notes by which ways functions of BINARY, whose sites are those of LIST from FIRST on, may be left that no return
 * probe survives. */
static int note_ways_out(const struct binary *binary, const struct target *target, struct site_list *list, size_t first,
                         struct error *err)
{
    struct stack_switch switches = {0};
    int unwound = binary_unwinds(binary);
    if (unwound < 0 || switches_stacks(binary, target, &switches) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = first; i < list->count; i++) {
        list->items[i].unwound = unwound;
        list->items[i].switches = switches;
    }
    return 0;
}

static int resolve_one(const char *text, const struct target *target, struct site_list *list, struct error *err)
{
    struct modules found = {0};
    struct spec spec;
    size_t before = list->count;
    int result = spec_parse(text, &spec, err);
    if (result < 0)
        return result;
    result = resolve_binaries(&spec, target, &found, err);
    for (size_t i = 0; i < found.count && result == 0; i++) {
        struct binary *binary;
        result = binary_open(&found.items[i], &binary, err);
        if (result < 0) {
            error_prefix(err, "%s: ", spec.text);
            break;
        }
        size_t first = list->count;
        result = spec.address ? site_by_address(binary, &spec, list, err)
                 : spec.line  ? site_by_line(binary, &spec, list, err)
                              : site_by_name(binary, &spec, list, err);
        if (result == 0 && list->may_be_left && list->count > first && !return_sites_wanted(binary, list))
            result = note_ways_out(binary, target, list, first, err);
        binary_close(binary);
    }
    if (result == 0 && list->count > MAX_SITES)
        result = error_set(err, -E2BIG,
                           "%s: these are %zu places, and no more than %d can be probed at once; name fewer functions",
                           text, list->count, MAX_SITES);
    if (result == 0 && list->count == before)
        result = error_set(err, -ENOENT, "%s: no function of that name can be probed: %s", text,
                           list->skipped_count ? list->skipped[list->skipped_count - 1].why : "there is none");
    modules_free(&found);
    spec_free(&spec);
    return result;
}

int probe_resolve_all(const char *const *specs, size_t count, const struct target *target, enum returns returns,
                      struct sites *sites, struct error *err)
{
    struct site_list list = {
        .at_return = returns != RETURNS_NOT_SEEN,
        .by_instruction = returns == RETURNS_BY_INSTRUCTION,
        .may_be_left = returns == RETURNS_BY_ADDRESS,
        .target = target,
    };
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = resolve_one(specs[i], target, &list, err);
    if (result == 0 && (count > 1 || list.chosen) && site_list_drop_doubles(&list) < 0)
        result = error_set(err, -ENOMEM, "out of memory");
    *sites = (struct sites){list.items, list.count, list.skipped, list.skipped_count};
    if (result < 0) {
        probe_sites_free(sites);
        error_make_printable(err);
    }
    return result;
}

int probe_resolve(const char *spec, const struct target *target, struct site **sites, size_t *count, struct error *err)
{
    struct sites all;
    int result = probe_resolve_all(&spec, 1, target, RETURNS_NOT_SEEN, &all, err);
    *sites = all.items;
    *count = all.count;
    all.items = NULL;
    all.count = 0;
    probe_sites_free(&all);
    return result;
}

char *probe_static_command(const struct target *target)
{
    struct scope scope = {0};
    bool found = target && target->command && scope_of_command(target->program, &scope, NULL) == 0 && is_static(&scope);
    char *name = found ? strdup(path_basename(scope.modules.items[0].name)) : NULL;
    modules_free(&scope.modules);
    return name;
}

int resolve_all(const struct target *target, bool linked, struct modules *modules, struct error *err)
{
    int result = 0;
    if (!target || (!target->count && !target->command)) {
        result = library_find("", "libc", modules);
        return result < 0 ? error_set(err, result, "cannot find the C library: %s", error_reason(result)) : 0;
    }
    for (size_t i = 0; i < target->count && result == 0; i++) {
        struct scope scope = {0};
        result = target->command ? scope_of_command(target->program, &scope, err)
                                 : scope_of_process(target->pids[i], &scope, err);
        if (result == 0 && linked && scope.pid && scope.modules.count)
            library_closure(scope.root, scope.modules.items[0].name, false, &scope.modules);
        if (result == 0)
            result = add_modules(modules, &scope.modules, err);
        modules_free(&scope.modules);
    }
    return result;
}
