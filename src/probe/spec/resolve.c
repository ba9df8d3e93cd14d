/* From a spec to the binaries that it means, for each kind of target. */
#include <errno.h>
#include <limits.h>
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
struct place {
    pid_t pid;              /* 0: a command or the whole machine */
    char root[64];          /* prefix of its paths: "/proc/4242/root" or "" */
    struct modules modules; /* what it has mapped, or will */
};

static int place_of_process(pid_t pid, struct place *place, struct error *err)
{
    place->pid = pid;
    snprintf(place->root, sizeof place->root, "/proc/%d/root", (int)pid);
    return modules_of_process(pid, &place->modules, err);
}

static int place_of_command(const char *path, struct place *place, struct error *err)
{
    memset(place, 0, sizeof *place);
    char *program = shebang_program(path), *resolved = program ? realpath(program, NULL) : NULL;
    int result = program ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (result == 0 && !resolved)
        result = error_set(err, -errno, "%s needs the interpreter %s, which cannot be found: %s", path, program,
                           strerror(errno));
    if (result == 0) {
        result = library_closure("", resolved, true, &place->modules);
        if (result < 0)
            error_set(err, result, "cannot read %s and its libraries: %s", resolved, strerror(-result));
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
            return error_set(err, result, "cannot open %s: %s", from->items[i].name, strerror(-result));
    }
    return 0;
}

/* Adds the first of CANDIDATES that PLACE has mapped, else the first. */
static int add_mapped_or_first(const struct place *place, const struct modules *candidates, struct modules *found)
{
    for (size_t c = 0; c < candidates->count; c++)
        for (size_t i = 0; i < place->modules.count; i++)
            if (place->modules.items[i].device == candidates->items[c].device &&
                place->modules.items[i].inode == candidates->items[c].inode)
                return add_module(found, &place->modules.items[i]);
    /* Not mapped, or not yet: dlopen and exec may still do it. */
    return add_module(found, &candidates->items[0]);
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

/* Adds the file NAME, a path, of PLACE. */
static int find_path(const struct place *place, const char *name, struct modules *found)
{
    /* A path that is a mapped file's name also stands for a file that was deleted or replaced since. */
    char *own = name[0] == '/' ? NULL : absolute(name);
    const char *mapped = own ? own : name;
    size_t known = 0;
    while (known < place->modules.count && strcmp(place->modules.items[known].name, mapped) != 0)
        known++;
    free(own);
    if (known < place->modules.count)
        return add_module(found, &place->modules.items[known]);
    struct modules candidates = {0};
    int result = -ENOENT;
    char *inside = name[0] == '/' && *place->root ? path_resolve(place->root, name) : NULL, *full = NULL;
    if (inside)
        result = asprintf(&full, "%s%s", place->root, inside) < 0 ? -ENOMEM : modules_add(&candidates, full, inside);
    /* A relative path is relative to us; so may be an absolute one, where the process lives in a folder that we see. */
    char *ours = opened_by(name);
    if (ours) {
        int code = modules_add(&candidates, ours, ours);
        result = result < 0 ? code : result;
    }
    if (candidates.count)
        result = add_mapped_or_first(place, &candidates, found);
    modules_free(&candidates);
    free(inside);
    free(full);
    free(ours);
    return result;
}

static int ambiguous(const struct modules *found, const struct spec *spec, const struct place *place, struct error *err)
{
    char list[1024];
    size_t used = 0;
    for (size_t i = 0; i < found->count && used < sizeof list; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", found->items[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
    if (place->pid)
        return error_set(err, -EINVAL, "%s: '%s' means several files of process %d\nname one of them: %s", spec->text,
                         spec->binary, (int)place->pid, list);
    return error_set(err, -EINVAL, "%s: '%s' means several files\nname one of them: %s", spec->text, spec->binary,
                     list);
}

/* The files of PLACE whose names match BINARY, exactly or as a library's short name. */
static int find_mapped(const struct place *place, const char *binary, bool exactly, struct modules *found)
{
    int result = 0;
    for (size_t i = 0; i < place->modules.count && result == 0; i++) {
        const char *file = path_basename(place->modules.items[i].name);
        if (exactly ? strcmp(file, binary) == 0 : library_matches(file, binary))
            result = add_module(found, &place->modules.items[i]);
    }
    return result;
}

/* In $PATH: of our root, or inside the process's. */
static int find_command(const struct place *place, const char *binary, struct modules *found)
{
    char *path;
    if (program_find(binary, &path, NULL) < 0)
        return -ENOENT;
    char *program = shebang_program(path);
    int result = program ? find_path(place, program, found) : -ENOMEM;
    free(program);
    free(path);
    return result;
}

/* True if the program of PLACE carries its libraries in itself: no loader will map others. */
static bool is_static(const struct place *place)
{
    struct binary *binary;
    if (!place->modules.count || binary_open(&place->modules.items[0], &binary, NULL) < 0)
        return false;
    /* The loader itself, run as a program, has no interpreter either. */
    bool dynamic = strncmp(path_basename(place->modules.items[0].name), "ld", 2) == 0 ||
                   elf_file_segment(binary_elf(binary), PT_INTERP);
    binary_close(binary);
    return !dynamic;
}

/* Whether NAME can only mean a library: a program is not loaded by another one later. */
static bool is_library_name(const char *name)
{
    return !strchr(name, '/') && (strncmp(name, "lib", 3) == 0 || strstr(name, ".so"));
}

static int no_binary(const struct place *place, const struct spec *spec, struct error *err)
{
    char names[512], where[64] = "";
    struct suggest suggest;
    suggest_init(&suggest, spec->binary);
    for (size_t i = 0; i < place->modules.count; i++) {
        const char *file = path_basename(place->modules.items[i].name);
        /* Both libssl.so.3 and its short name are worth comparing. */
        size_t length = strcspn(file, "."), whole = strlen(file);
        size_t before = suggest.count;
        suggest_offer(&suggest, file, length);
        if (suggest.count == before)
            suggest_offer(&suggest, file, whole);
    }
    suggest_text(&suggest, names, sizeof names);
    if (strchr(spec->binary, '/'))
        return error_set(err, -ENOENT, "%s: no such file: %s%s", spec->text, spec->binary, names);
    if (place->pid)
        snprintf(where, sizeof where, "process %d has no", (int)place->pid);
    else
        snprintf(where, sizeof where, place->modules.count ? "the command has no" : "there is no");
    if (place->pid && is_static(place))
        return error_set(err, -ENOENT,
                         "%s: %s library '%s': it is statically linked\nname its own functions, as in %s:main",
                         spec->text, where, spec->binary, path_basename(place->modules.items[0].name));
    return error_set(err, is_library_name(spec->binary) ? -ENXIO : -ENOENT,
                     "%s: %s program or library '%s'%s\nname a file by its path, a command, or a library "
                     "such as libc",
                     spec->text, where, spec->binary, names);
}

/* What BINARY, a path or a name, means of the files that PLACE has mapped and that cannot be reached; NULL: none. */
static const char *find_unreached(const struct place *place, const char *binary)
{
    char *own = strchr(binary, '/') && binary[0] != '/' ? absolute(binary) : NULL;
    const char *path = own ? own : binary, *found = NULL;
    for (size_t i = 0; i < place->modules.unreached_count && !found; i++) {
        const char *name = place->modules.unreached[i], *file = path_basename(name);
        if (strchr(binary, '/') ? !strcmp(name, path) : !strcmp(file, binary) || library_matches(file, binary))
            found = name;
    }
    free(own);
    return found;
}

/* Appends to FOUND the file or files that the spec's binary means in PLACE. */
static int find_binary(const struct place *place, const struct spec *spec, struct modules *found, struct error *err)
{
    const char *binary = spec->binary;
    const char *unreached = find_unreached(place, binary);
    struct modules here = {0};
    int result;
    if (unreached)
        return error_set(
            err, -EPERM,
            "%s: process %d has mapped %s, which was deleted or replaced since: to reach the file that it has needs "
            "CAP_SYS_ADMIN; run uplua as root",
            spec->text, (int)place->pid, unreached);
    if (strchr(binary, '/')) {
        result = find_path(place, binary, &here);
    } else {
        result = find_mapped(place, binary, true, &here);
        if (result == 0 && !here.count)
            result = find_mapped(place, binary, false, &here);
        /* A process so young that its libraries are not mapped yet: those that it is linked with. */
        if (result == 0 && !here.count && place->pid && place->modules.count) {
            struct place linked = {0};
            library_closure(place->root, place->modules.items[0].name, false, &linked.modules);
            result = find_mapped(&linked, binary, false, &here);
            modules_free(&linked.modules);
        }
        if (result == 0 && !here.count)
            result = find_command(place, binary, &here);
        /* Opened later by name: a plugin's libraries. */
        if ((result == -ENOENT || (result == 0 && !here.count)) && !(place->pid && is_static(place)))
            result = library_find(place->root, binary, &here);
    }
    if (result == -ENOENT || (result == 0 && !here.count))
        result = no_binary(place, spec, err);
    else if (result < 0)
        error_set(err, result, "%s: cannot probe %s: %s", spec->text, binary,
                  result == -EINVAL ? "it is not a regular file" : strerror(-result));
    else if (here.count > 1)
        result = ambiguous(&here, spec, place, err);
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
        struct place place = {0};
        if (target && target->command)
            result = place_of_command(target->program, &place, err);
        else if (target && target->count)
            result = place_of_process(target->pids[i], &place, err);
        if (result < 0)
            error_prefix(err, "%s: ", spec->text);
        else
            result = find_binary(&place, spec, found, err);
        modules_free(&place.modules);
        if (result == -ENXIO && (absent++, i + 1 < places || found->count > before))
            result = 0; /* another one has it */
    }
    return result == 0 && absent == places ? -ENXIO : result;
}

/* Names come from files of the target: nothing in them may reach a terminal as a control sequence. */
void resolve_make_printable(struct error *err)
{
    for (unsigned char *c = (unsigned char *)(err ? err->text : ""); *c; c++) {
        if ((*c < ' ' && *c != '\n') || *c == 0x7f)
            *c = '?';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F */
            c[0] = c[1] = '?';
    }
}

/* Notes by which ways functions of BINARY, whose sites are those of LIST from FIRST on, may be left that no return
 * probe survives. */
static void note_ways_out(const struct binary *binary, const struct target *target, struct site_list *list,
                          size_t first)
{
    bool unwound = binary_unwinds(binary);
    const char *switches = switches_stacks(binary, target);
    for (size_t i = first; i < list->count; i++) {
        list->items[i].unwound = unwound;
        list->items[i].switches = switches;
    }
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
        result = lookup_sites(binary, &spec, list, err);
        if (result == 0 && list->may_be_left && list->count > first && !return_sites_wanted(binary, list))
            note_ways_out(binary, target, list, first);
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

/* A function's first instruction may be one that it returns by, too: its entry stands before that exit. */
static int by_place(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    order = order ? order : (x->offset > y->offset) - (x->offset < y->offset);
    return order ? order : x->is_exit - y->is_exit;
}

static void site_free(struct site *site)
{
    free(site->path);
    free(site->module);
    free(site->function);
}

/* Gives files that several paths lead to the first of these; 0 or -ENOMEM. */
static int unify_paths(struct site_list *list)
{
    struct modules files = {0};
    int result = 0;
    const char *last = NULL;
    for (size_t i = 0; i < list->count && result == 0; i++) {
        struct site *site = &list->items[i];
        if (last && strcmp(site->path, last) == 0)
            continue;
        last = site->path;
        if (modules_add(&files, site->path, site->module) == -ENOMEM)
            result = -ENOMEM;
    }
    for (size_t i = 0; i < list->count && result == 0 && files.count > 1; i++) {
        struct site *site = &list->items[i];
        struct stat stat_of;
        for (size_t f = 0; f < files.count && result == 0; f++) {
            const struct module *file = &files.items[f];
            if (strcmp(site->path, file->path) == 0)
                break;
            if (stat(site->path, &stat_of) || stat_of.st_dev != file->device || stat_of.st_ino != file->inode)
                continue;
            char *path = strdup(file->path);
            if (!path)
                result = -ENOMEM;
            free(path ? site->path : NULL);
            site->path = path ? path : site->path;
            break;
        }
    }
    modules_free(&files);
    return result;
}

/* Of several sites at one place only the first stays. */
static int drop_doubles(struct site_list *list)
{
    size_t kept = 0;
    int result = unify_paths(list);
    if (result < 0 || !list->count)
        return result;
    qsort(list->items, list->count, sizeof *list->items, by_place);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && by_place(&list->items[kept - 1], &list->items[i]) == 0)
            site_free(&list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
    return 0;
}

void probe_sites_free(struct sites *sites)
{
    sites_free(sites->items, sites->count);
    for (size_t i = 0; i < sites->skipped_count; i++)
        free(sites->skipped[i].function);
    free(sites->skipped);
    memset(sites, 0, sizeof *sites);
}

void probe_sites_keep(struct sites *sites, const bool *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < sites->count; i++) {
        if (kept[i])
            sites->items[count++] = sites->items[i];
        else
            site_free(&sites->items[i]);
    }
    sites->count = count;
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
    if (result == 0 && (count > 1 || list.chosen) && drop_doubles(&list) < 0)
        result = error_set(err, -ENOMEM, "out of memory");
    *sites = (struct sites){list.items, list.count, list.skipped, list.skipped_count};
    if (result < 0) {
        probe_sites_free(sites);
        resolve_make_printable(err);
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

void sites_free(struct site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        site_free(&sites[i]);
    free(sites);
}

char *probe_static_command(const struct target *target)
{
    struct place place = {0};
    bool found = target && target->command && place_of_command(target->program, &place, NULL) == 0 && is_static(&place);
    char *name = found ? strdup(path_basename(place.modules.items[0].name)) : NULL;
    modules_free(&place.modules);
    return name;
}

int resolve_all(const struct target *target, bool linked, struct modules *modules, struct error *err)
{
    int result = 0;
    if (!target || (!target->count && !target->command)) {
        result = library_find("", "libc", modules);
        return result < 0 ? error_set(err, result, "cannot find the C library: %s", strerror(-result)) : 0;
    }
    for (size_t i = 0; i < target->count && result == 0; i++) {
        struct place place = {0};
        result = target->command ? place_of_command(target->program, &place, err)
                                 : place_of_process(target->pids[i], &place, err);
        if (result == 0 && linked && place.pid && place.modules.count)
            library_closure(place.root, place.modules.items[0].name, false, &place.modules);
        if (result == 0)
            result = add_modules(modules, &place.modules, err);
        modules_free(&place.modules);
    }
    return result;
}

/* Sets OFFSETS as lookup_offsets does. -ENOEXEC: MODULE is no ELF file, as executable mappings of JIT caches and of
 * wine are. */
static int module_offsets(const struct module *module, const char *const *names, size_t count, int64_t *offsets)
{
    struct binary *binary;
    if (binary_open(module, &binary, NULL) < 0)
        return -ENOEXEC;
    int result = lookup_offsets(binary, names, count, offsets);
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
        error_set(err, result, "%s: cannot read its symbols: %s", module, strerror(-result));
    if (result < 0)
        resolve_make_printable(err);
    modules_free(&found);
    return result;
}

/* Appends to PATHS the names of those of MODULES that define one of NAMES. */
static int add_defining(const char *const *names, size_t name_count, const struct modules *modules, char **paths,
                        size_t *count)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (!defines(&modules->items[i], names, name_count))
            continue;
        paths[*count] = strdup(modules->items[i].name);
        if (!paths[*count])
            return -ENOMEM;
        ++*count;
    }
    return 0;
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
        free(*paths);
        *paths = NULL;
        result = resolve_all(target, linked, &modules, err);
        if (result == 0) {
            *paths = calloc(modules.count + 1, sizeof **paths);
            result = *paths ? add_defining(names, name_count, &modules, *paths, count) : -ENOMEM;
            if (result < 0)
                error_set(err, result, "out of memory");
        }
        modules_free(&modules);
    }
    if (result < 0) {
        for (size_t i = 0; i < *count; i++)
            free((*paths)[i]);
        free(*paths);
        *paths = NULL;
        *count = 0;
    }
    return result;
}
