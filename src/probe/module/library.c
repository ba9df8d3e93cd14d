/* Finds libraries by the names that users write. */
#include "probe/module/library.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "probe/module/binary.h"
#include "probe/module/dynamic.h"
#include "probe/module/ld_so_cache.h"

enum { MAX_LIBRARIES = 4096 };

/* One loader's work. */
struct loader {
    const char *root;
    const char *library_path; /* LD_LIBRARY_PATH, or NULL */
    bool musl;
    bool exhausted; /* no memory: what was found is not what the loader would find */
    struct modules *modules;
    struct wanted {
        char *name;    /* as DT_NEEDED has it */
        size_t parent; /* index here of the file that needs it */
        struct dynamic dynamic;
        char *path; /* inside root, or NULL: not found */
    } * wanted;
    size_t count;
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_of_musl(const char *file)
{
    return starts_with(file, "ld-musl-") || starts_with(file, "libc.musl-");
}

bool library_matches(const char *file, const char *name)
{
    size_t length = strlen(name);
    if (strcmp(name, "libc") == 0 && is_of_musl(file))
        return true;
    if (strncmp(file, name, length) != 0)
        return false;
    const char *rest = file + length;
    if (*rest == '\0')
        return true;
    if (starts_with(rest, ".so") && (rest[3] == '\0' || rest[3] == '.'))
        return true;
    /* libc-2.31.so, as glibc named its files before 2.34 */
    size_t version = rest[0] == '-' && isdigit((unsigned char)rest[1]) ? 1 + strspn(rest + 1, "0123456789.") : 0;
    return version && starts_with(rest + version - 1, ".so");
}

/* PATH, inside the root, if it is a library that the loader would take: malloc'd and free of links, else NULL. */
static char *usable(struct loader *loader, const char *path)
{
    char *resolved = path_resolve(loader->root, path), *full = NULL;
    if (!resolved || asprintf(&full, "%s%s", loader->root, resolved) < 0) {
        loader->exhausted |= resolved || errno == ENOMEM;
        free(resolved);
        return NULL;
    }
    struct module module = {.path = full, .name = resolved};
    struct binary *binary;
    int result = binary_open(&module, &binary, NULL);
    if (result < 0) {
        loader->exhausted |= result == -ENOMEM;
        free(resolved);
        resolved = NULL;
    } else {
        binary_close(binary);
    }
    free(full);
    return resolved;
}

/* FOLDER/NAME, or one of its glibc-hwcaps variants for this CPU. */
static char *find_in_folder(struct loader *loader, const char *folder, size_t length, const char *name)
{
    const char *const *levels;
    size_t count = loader->musl ? 0 : arch_library_levels(&levels);
    char path[PATH_MAX], *found = NULL;
    for (size_t i = 0; i <= count && !found; i++) {
        int n = i < count ? snprintf(path, sizeof path, "%.*s/glibc-hwcaps/%s/%s", (int)length, folder, levels[i], name)
                          : snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
        if (n > 0 && (size_t)n < sizeof path)
            found = usable(loader, path);
    }
    return found;
}

/* NAME in the folders of LIST, separated by colons (and semicolons, in LD_LIBRARY_PATH). ORIGIN: the file that has the
 * list. */
static char *find_in_list(struct loader *loader, const char *list, const char *origin, const char *name)
{
    char *found = NULL;
    while (list && *list && !found) {
        size_t length = strcspn(list, ":;");
        char folder[PATH_MAX];
        if (dynamic_expand(list, length, origin, folder, sizeof folder) && (folder[0] == '/' || !*loader->root))
            found = find_in_folder(loader, folder, strlen(folder), name);
        list += length + (list[length] != '\0');
    }
    return found;
}

struct cache_search {
    struct loader *loader;
    const char *name;
    char *found;
};

static int find_in_cache(const char *name, const char *path, void *context)
{
    struct cache_search *search = context;
    if (strcmp(name, search->name) != 0 || path[0] != '/')
        return 0;
    const char *slash = strrchr(path, '/');
    search->found = find_in_folder(search->loader, path, (size_t)(slash - path), slash + 1);
    return search->found != NULL;
}

/* The standard folders, in a list with colons. */
static const char *standard_folders(const struct loader *loader, char *list, size_t size)
{
    const char *cpu = arch_cpu.library_folder;
    if (loader->musl)
        snprintf(list, size, "/lib:/usr/local/lib:/usr/lib");
    else
        snprintf(list, size, "/lib/%s:/usr/lib/%s:/lib64:/usr/lib64:/lib:/usr/lib", cpu, cpu);
    return list;
}

static char *find_library(struct loader *loader, const char *name, size_t parent)
{
    const struct wanted *needs = &loader->wanted[parent];
    if (strchr(name, '/')) {
        char path[PATH_MAX];
        bool expanded = dynamic_expand(name, strlen(name), needs->path, path, sizeof path);
        return expanded && (path[0] == '/' || !*loader->root) ? usable(loader, path) : NULL;
    }
    char *found = NULL;
    /* RPATH of the file and of those that needed it, unless a RUNPATH overrides it. */
    for (size_t i = parent; !found && !needs->dynamic.runpath; i = loader->wanted[i].parent) {
        const struct wanted *from = &loader->wanted[i];
        if (!from->dynamic.runpath)
            found = find_in_list(loader, from->dynamic.rpath, from->path, name);
        if (i == 0)
            break;
    }
    if (!found)
        found = find_in_list(loader, loader->library_path, NULL, name);
    if (!found)
        found = find_in_list(loader, needs->dynamic.runpath, needs->path, name);
    if (!found && !loader->musl) {
        struct cache_search search = {.loader = loader, .name = name};
        loader->exhausted |= ld_so_cache_each(loader->root, find_in_cache, &search) == -ENOMEM;
        found = search.found;
    }
    char list[512];
    if (!found)
        found = find_in_list(loader, standard_folders(loader, list, sizeof list), NULL, name);
    return found;
}

/* Puts NAME on the list of what is to be loaded, unless it is there. */
static int want(struct loader *loader, const char *name, size_t parent)
{
    for (size_t i = 1; i < loader->count; i++)
        if (strcmp(loader->wanted[i].name, name) == 0)
            return 0;
    if (loader->count >= MAX_LIBRARIES)
        return 0;
    struct wanted *wanted = array_add(&loader->wanted, &loader->count, sizeof *wanted);
    if (!wanted)
        return -ENOMEM;
    wanted->parent = parent;
    wanted->name = strdup(name);
    return wanted->name ? 0 : -ENOMEM;
}

/* Reads the file at wanted[I].path: what it is linked with. */
static int load(struct loader *loader, size_t i)
{
    struct wanted *wanted = &loader->wanted[i];
    char *full;
    if (asprintf(&full, "%s%s", loader->root, wanted->path) < 0)
        return -ENOMEM;
    struct module module = {.path = full, .name = wanted->path};
    struct binary *binary;
    int result = modules_add(loader->modules, full, wanted->path);
    int opened = result == 0 ? binary_open(&module, &binary, NULL) : result;
    if (opened == 0) {
        result = dynamic_read(binary, &wanted->dynamic);
        binary_close(binary);
    } else if (opened == -ENOMEM) {
        result = opened;
    }
    free(full);
    if (result == -ENOENT || result == -EINVAL || result == -E2BIG)
        return 0;
    if (i == 0 && wanted->dynamic.interpreter)
        loader->musl = strstr(wanted->dynamic.interpreter, "/ld-musl-") != NULL;
    /* WANTED moves when the list grows; the names do not. */
    char **needed = wanted->dynamic.needed;
    for (size_t n = 0; result == 0 && n < loader->wanted[i].dynamic.needed_count; n++)
        result = want(loader, needed[n], i);
    return result;
}

static int want_list(struct loader *loader, const char *list)
{
    int result = 0;
    while (list && *list && result == 0) {
        size_t length = strcspn(list, " :\t\n");
        char name[PATH_MAX];
        if (length && length < sizeof name) {
            memcpy(name, list, length);
            name[length] = '\0';
            result = want(loader, name, 0);
        }
        list += length + (list[length] != '\0');
    }
    return result;
}

/* musl's loader is its C library, under whatever name programs need it. */
static bool is_musl_libc(const char *name)
{
    return starts_with(name, "libc.") || starts_with(name, "ld-musl-");
}

int library_closure(const char *root, const char *program, bool environment, struct modules *modules)
{
    struct loader loader = {.root = root, .modules = modules};
    int result = want(&loader, program, 0);
    if (result == 0) {
        loader.wanted[0].path = path_resolve(root, program);
        result = loader.wanted[0].path ? load(&loader, 0) : -errno;
    }
    if (result == 0 && loader.wanted[0].dynamic.interpreter) {
        loader.library_path = environment ? getenv("LD_LIBRARY_PATH") : NULL;
        if (environment)
            result = want_list(&loader, getenv("LD_PRELOAD"));
        if (result == 0)
            result = want(&loader, loader.wanted[0].dynamic.interpreter, 0);
    }
    for (size_t i = 1; result == 0 && i < loader.count; i++) {
        char *name = loader.wanted[i].name;
        if (loader.musl && is_musl_libc(name))
            name = loader.wanted[0].dynamic.interpreter;
        loader.wanted[i].path = find_library(&loader, name, loader.wanted[i].parent);
        if (loader.exhausted)
            result = -ENOMEM;
        else if (loader.wanted[i].path)
            result = load(&loader, i);
    }
    for (size_t i = 0; i < loader.count; i++) {
        free(loader.wanted[i].name);
        free(loader.wanted[i].path);
        dynamic_free(&loader.wanted[i].dynamic);
    }
    free(loader.wanted);
    return result;
}

struct name_search {
    struct loader *loader;
    const char *name;
};

static int add_usable(struct loader *loader, const char *path)
{
    char *resolved = usable(loader, path), *full = NULL;
    int result = 0;
    if (resolved)
        result = asprintf(&full, "%s%s", loader->root, resolved) < 0 ? -ENOMEM
                                                                     : modules_add(loader->modules, full, resolved);
    free(full);
    free(resolved);
    return result == -ENOMEM || loader->exhausted ? -ENOMEM : 0;
}

static int add_from_cache(const char *name, const char *path, void *context)
{
    struct name_search *search = context;
    /* The cache is glibc's. Where musl is installed beside it, ldconfig lists musl's, too, which loads for others. */
    return library_matches(name, search->name) && !is_of_musl(name) ? add_usable(search->loader, path) : 0;
}

static int add_from_folder(struct loader *loader, const char *folder, const char *name)
{
    char path[PATH_MAX], *resolved = path_resolve(loader->root, folder);
    DIR *directory = NULL;
    int result = 0;
    if (resolved && (size_t)snprintf(path, sizeof path, "%s%s", loader->root, resolved) < sizeof path)
        directory = opendir(path);
    for (struct dirent *entry; directory && result == 0 && (entry = readdir(directory));)
        if (library_matches(entry->d_name, name) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", resolved, entry->d_name) < sizeof path)
            result = add_usable(loader, path);
    if (directory)
        closedir(directory);
    free(resolved);
    return result;
}

int library_find(const char *root, const char *name, struct modules *modules)
{
    struct loader loader = {.root = root, .modules = modules};
    struct name_search search = {.loader = &loader, .name = name};
    size_t before = modules->count;
    int result = ld_so_cache_each(root, add_from_cache, &search);
    char list[512];
    char *folder, *rest = (char *)standard_folders(&loader, list, sizeof list);
    while (result == 0 && modules->count == before && (folder = strsep(&rest, ":")))
        result = add_from_folder(&loader, folder, name);
    return result;
}
