/* Lists of sites: adds to them, sorts them, takes sites away. */
#include "probe/spec/site_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "probe/spec/site_check.h"

static void site_free(struct site *site)
{
    free(site->path);
    free(site->module);
    free(site->function);
    free(site->way);
    free(site->reentries);
}

int site_list_add(struct site_list *list, const struct site *site)
{
    if (!array_room(&list->items, list->count, &list->capacity, sizeof *list->items))
        return -ENOMEM;
    struct site *added = &list->items[list->count++];
    *added = *site;
    added->path = strdup(site->path);
    added->module = strdup(site->module);
    added->function = strdup(site->function);
    return added->path && added->module && added->function ? 0 : -ENOMEM;
}

void site_list_cut(struct site_list *list, size_t count)
{
    while (list->count > count)
        site_free(&list->items[--list->count]);
}

int site_list_append(const struct binary *binary, const char *text, const char *function, uint64_t address,
                     uint64_t inside, uint64_t size, struct site_list *list, struct error *err)
{
    const struct module *module = binary_module(binary);
    int result = site_check(binary, text, function, address, inside, size, err);
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
    struct arch_instruction first;
    if (!inside && site_decode(binary, address, &first) && first.refused && site_may_pass(&first))
        site.refused = first.length;
    return site_list_add(list, &site) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int site_list_skip(struct site_list *list, const char *function, const char *why)
{
    char *name = strdup(function);
    if (!name || !array_room(&list->skipped, list->skipped_count, &list->skipped_capacity, sizeof *list->skipped)) {
        free(name);
        return -ENOMEM;
    }
    list->skipped[list->skipped_count++] = (struct skipped){name, why};
    return 0;
}

/* A function's first instruction may be one that it returns by, too: its entry stands before that exit. */
static int by_place(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    order = order ? order : (x->offset > y->offset) - (x->offset < y->offset);
    return order ? order : x->is_exit - y->is_exit;
}

/* The same for sorting: of two names of one place, one of an older version comes last. */
static int by_place_and_version(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    int order = by_place(a, b);
    return order ? order : !!strchr(x->function, '@') - !!strchr(y->function, '@');
}

/* Gives files that several paths lead to the first of these; 0 or -ENOMEM. */
static int unify_paths(struct site_list *list)
{
    struct modules files = {0};
    int result = 0;
    for (size_t i = 0, n; i < list->count && result == 0; i += n) {
        struct site *sites = &list->items[i];
        struct stat st;
        for (n = 1; i + n < list->count && strcmp(sites[n].path, sites->path) == 0; n++)
            continue;
        if (modules_add(&files, sites->path, sites->module) == -ENOMEM)
            result = -ENOMEM;
        const struct module *file = stat(sites->path, &st) ? NULL : modules_find(&files, st.st_dev, st.st_ino);
        bool renamed = file && strcmp(file->path, sites->path);
        for (size_t k = 0; renamed && k < n && result == 0; k++) {
            char *path = strdup(file->path);
            if (!path)
                result = -ENOMEM;
            free(path ? sites[k].path : NULL);
            sites[k].path = path ? path : sites[k].path;
        }
    }
    modules_free(&files);
    return result;
}

int site_list_drop_doubles(struct site_list *list)
{
    size_t kept = 0;
    int result = unify_paths(list);
    if (result < 0 || !list->count)
        return result;
    qsort(list->items, list->count, sizeof *list->items, by_place_and_version);
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

int probe_sites_leave_refused(struct sites *sites, struct error *err)
{
    struct site_list list = {.skipped = sites->skipped, .skipped_count = sites->skipped_count};
    list.skipped_capacity = list.skipped_count;
    bool *kept = calloc(sites->count + 1, sizeof *kept);
    size_t count = 0;
    int result = kept ? 0 : -ENOMEM;
    for (size_t i = 0; i < sites->count && result == 0; i++) {
        const struct site *site = &sites->items[i];
        kept[i] = site->is_exit && i ? kept[i - 1] : !site_is_refused(site);
        count += kept[i];
        if (kept[i] || site->is_exit)
            continue;
        if (!site->of_pattern || (!count && i + 1 == sites->count))
            result = site_refuse(site, err);
        else
            result = site_list_skip(&list, site->function, SITE_REFUSED);
    }
    sites->skipped = list.skipped;
    sites->skipped_count = list.skipped_count;
    if (result == 0)
        probe_sites_keep(sites, kept);
    free(kept);
    return result == -ENOMEM ? error_set(err, result, "out of memory") : result;
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

void sites_free(struct site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        site_free(&sites[i]);
    free(sites);
}
